//! Terms of the index: what begins like a word, and what is nearly a word.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
};

use tantivy::{Searcher, Term, query::FuzzyTermQuery, schema::Field};

use super::index::Loaded;
use crate::lexical::{Language, views};

/// A dictionary is not read further than this for one prefix.
const LONGEST_WALK: usize = 20_000;

/// The most frequent terms that begin like this, with how many entries hold them.
pub(super) fn beginning_with(
    searcher: &Searcher,
    field: Field,
    prefix: &str,
    limit: usize,
) -> tantivy::Result<Vec<(String, u64)>> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for segment in searcher.segment_readers() {
        let inverted = segment.inverted_index(field)?;
        let mut terms = inverted.terms().range().ge(prefix.as_bytes()).into_stream()?;
        // The most frequent of this part of the index, so that few of the terms passed by are copied.
        let mut most: BinaryHeap<Reverse<(u32, Reverse<Vec<u8>>)>> = BinaryHeap::with_capacity(limit + 1);
        for _ in 0..LONGEST_WALK {
            let Some((term, info)) = terms.next() else { break };
            if !term.starts_with(prefix.as_bytes()) {
                break;
            }
            let least = most.peek().map_or(0, |Reverse((count, _))| *count);
            if most.len() < limit || info.doc_freq > least {
                most.push(Reverse((info.doc_freq, Reverse(term.to_vec()))));
                if most.len() > limit {
                    most.pop();
                }
            }
        }
        for Reverse((count, Reverse(term))) in most {
            if let Ok(term) = String::from_utf8(term) {
                *counts.entry(term).or_default() += u64::from(count);
            }
        }
    }
    Ok(best(counts, limit))
}

/// Terms that are nearly this word, when neither it nor a form of it occurs: one letter wrong in a word of
/// four to seven, up to two in a longer one. The nearer come first, then the more frequent.
pub(in super::super) fn similar(
    loaded: &Loaded,
    word: &str,
    limit: usize,
) -> tantivy::Result<Vec<(String, u64)>> {
    if occurs(loaded, word)? {
        return Ok(Vec::new());
    }
    let views = views(word, Language::Other);
    let Some(word) = views.exact.get(0).map(|token| token.term.to_owned()) else { return Ok(Vec::new()) };
    let furthest = match word.chars().count() {
        4..8 => 1,
        8..64 => 2,
        // A short word is near too many others, and nobody types a longer one by hand.
        _ => 0,
    };
    let field = loaded.fields.exact;
    let mut found: Vec<(String, u64)> = Vec::new();
    let mut known: HashSet<String> = HashSet::from([word.clone()]);
    for distance in 1..=furthest {
        if found.len() >= limit {
            break;
        }
        let query = FuzzyTermQuery::new(Term::from_field_text(field, &word), distance, true);
        let mut counts: HashMap<String, u64> = HashMap::new();
        for segment in loaded.searcher.segment_readers() {
            let inverted = segment.inverted_index(field)?;
            let mut terms = inverted.terms().search(query.automaton()?).into_stream()?;
            while let Some((term, info)) = terms.next() {
                if let Ok(term) = std::str::from_utf8(term)
                    && !known.contains(term)
                {
                    *counts.entry(term.to_owned()).or_default() += u64::from(info.doc_freq);
                }
            }
        }
        known.extend(counts.keys().cloned());
        found.extend(best(counts, limit));
    }
    found.truncate(limit);
    Ok(found)
}

/// Whether a text holds this word, or one with the same stem.
fn occurs(loaded: &Loaded, word: &str) -> tantivy::Result<bool> {
    for &language in loaded.languages.iter().chain(&[Language::Other]) {
        let views = views(word, language);
        for (field, terms) in [(loaded.fields.exact, &views.exact), (loaded.fields.stemmed, &views.stemmed)] {
            for token in terms.iter() {
                let term = Term::from_field_text(field, token.term);
                // The largest part of the index holds most words, and is enough.
                for segment in loaded.searcher.segment_readers() {
                    if segment.inverted_index(field)?.get_term_info(&term)?.is_some() {
                        return Ok(true);
                    }
                }
            }
        }
    }
    Ok(false)
}

fn best(counts: HashMap<String, u64>, limit: usize) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = counts.into_iter().collect();
    all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.truncate(limit);
    all
}
