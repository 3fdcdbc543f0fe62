//! A second look at the best candidates: a page that is named in the query belongs above one that only
//! uses the same words.

use std::collections::{HashMap, HashSet};

use ibid_api::{ChunkRef, DocumentId, DocumentSummary, LegScore};

use super::{SearchError, fusion, fusion::Ranked, query::ParsedQuery};
use crate::{
    lexical::{Language, View, analyze, is_stop_word},
    store::Store,
};

/// Candidates that are looked at again.
const DEPTH: usize = 50;
/// What a name that makes up the whole query adds, in deviations of the fused score.
const NAMED: f32 = 5.0;
/// A file's name counts less than a title or alias, which somebody chose for readers.
const FILE_NAME: f32 = 0.8;
/// Words of a query that may begin a name, and words of the longest name looked up.
const MOST_WORDS: usize = 24;
const LONGEST_NAME: usize = 8;
/// A name that more documents have names none of them.
const MOST_NAMESAKES: usize = 5;

/// Adds the bonus for named documents and sorts again.
pub(super) fn rank(
    store: &dyn Store,
    query: &ParsedQuery,
    ranked: &mut Vec<Ranked>,
) -> Result<(), SearchError> {
    let asked = stems(&query.words);
    if asked.is_empty() || ranked.is_empty() {
        return Ok(());
    }
    // Where something is filtered, a document the legs did not find may not pass.
    if query.filter.is_empty() && query.clauses.len() == 1 {
        add_called(store, &query.words, ranked)?;
    }
    let mut seen = HashSet::new();
    let top = ranked.len().min(DEPTH);
    let added = ranked.iter().skip(top).filter(|candidate| candidate.legs.is_empty());
    let looked_at = ranked[..top].iter().chain(added);
    let ids: Vec<DocumentId> =
        looked_at.map(|candidate| candidate.chunk.document).filter(|id| seen.insert(*id)).collect();
    let bonuses: HashMap<DocumentId, f32> =
        store.summaries(&ids)?.iter().map(|summary| (summary.id, bonus(&asked, summary))).collect();
    for candidate in ranked.iter_mut() {
        if let Some(&bonus) = bonuses.get(&candidate.chunk.document)
            && bonus > 0.0
        {
            candidate.score += bonus;
            candidate.legs.push(LegScore {
                leg: "named".to_owned(),
                rank: None,
                score: bonus / NAMED,
                weight: bonus,
            });
        }
    }
    fusion::sort(ranked);
    Ok(())
}

/// Adds documents that are called like a part of the query and that no leg found.
fn add_called(store: &dyn Store, words: &str, ranked: &mut Vec<Ranked>) -> Result<(), SearchError> {
    let names = possible_names(words);
    if names.is_empty() {
        return Ok(());
    }
    let known: HashSet<DocumentId> = ranked.iter().map(|candidate| candidate.chunk.document).collect();
    let lowest = ranked.last().map_or(0.0, |candidate| candidate.score);
    for document in store.called(&names, MOST_NAMESAKES)? {
        if !known.contains(&document) {
            let chunk = ChunkRef { document, index: 0 };
            ranked.push(Ranked { chunk, score: lowest, legs: Vec::new() });
        }
    }
    Ok(())
}

/// Every stretch of the query that could be a name: whole words, not only words of grammar.
fn possible_names(words: &str) -> Vec<&str> {
    let bounds: Vec<(usize, usize)> = words
        .split_whitespace()
        .map(|word| {
            let start = word.as_ptr() as usize - words.as_ptr() as usize;
            (start, start + word.len())
        })
        .take(MOST_WORDS)
        .collect();
    let mut names = Vec::new();
    for (index, &(start, _)) in bounds.iter().enumerate() {
        for &(_, end) in bounds[index..].iter().take(LONGEST_NAME) {
            let name = words[start..end].trim_matches(|c: char| c.is_ascii_punctuation());
            let grammar = |word: &str| is_stop_word(&word.to_lowercase(), Language::English);
            if !name.is_empty() && !name.split_whitespace().all(grammar) {
                names.push(name);
            }
        }
    }
    names
}

fn bonus(asked: &[String], summary: &DocumentSummary) -> f32 {
    let stem = summary.path.stem();
    let title = if summary.title == stem { FILE_NAME } else { 1.0 };
    let names = std::iter::once((summary.title.as_str(), title))
        .chain(summary.metadata.aliases.iter().map(|alias| (alias.as_str(), 1.0)))
        .chain(std::iter::once((stem, FILE_NAME)));
    names.map(|(name, worth)| share(asked, name) * worth).fold(0.0, f32::max) * NAMED
}

/// How much of the query a name makes up, when the query holds all of it, in order.
fn share(asked: &[String], name: &str) -> f32 {
    let name = stems(name);
    let held = !name.is_empty() && asked.windows(name.len()).any(|window| window == name);
    if held { name.len() as f32 / asked.len() as f32 } else { 0.0 }
}

/// Stems of whole words; the parts of an identifier share its position and are left out.
fn stems(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut last_position = usize::MAX;
    analyze(text, Language::English, View::Stemmed, &mut |token| {
        if token.position != last_position {
            last_position = token.position;
            found.push(token.term.to_owned());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_by_how_much_of_the_query_it_is() {
        let asked = stems("how do I use Office Hours and what does it do");
        assert!((share(&asked, "Office Hours") - 2.0 / 3.0).abs() < 1e-6);
        assert!(share(&asked, "Hours Office") <= 0.0);
        assert!(share(&asked, "Office Hours 2021") <= 0.0);
    }

    #[test]
    fn every_stretch_of_the_query_may_be_a_name() {
        let names = possible_names("what is if let?");
        assert!(names.contains(&"if let") && names.contains(&"let"));
        assert!(!names.contains(&"what is"));
    }
}
