//! A second look at the best candidates: a page that is named in the query belongs above one that only
//! uses the same words.

use std::collections::{HashMap, HashSet};

use ibid_api::{ChunkRef, DocumentId, DocumentKind, DocumentSummary, LegScore};

use super::{SearchError, fusion, fusion::Ranked, query::ParsedQuery};
use crate::{
    lexical::{Language, Sought, View, analyze, is_stop_word},
    store::Store,
};

/// Candidates that are looked at again.
const DEPTH: usize = 50;
/// What a name that makes up the whole query adds, in deviations of the fused score. The best hit by words
/// stands up to seven deviations above the last, and a page that is named by half of the query should pass it
/// when it has some of these words itself. Judged sets do not change between 3 and 12.
const NAMED: f32 = 9.0;
/// A file's name counts less than a title or alias, which somebody chose for readers.
const FILE_NAME: f32 = 0.8;
/// Source files are called by words that questions use without meaning the file: `crash.rs`, `index.ts`.
/// Where such a word is less than half of what is asked, it names the file no more than this.
const CODE_NAME: f32 = 0.3;
/// A name in another form, such as the singular for the plural, counts less than the name as written.
const OTHER_FORM: f32 = 0.8;
/// The same name with other capitals: `Web` is not `web`, where both are names.
const OTHER_CASE: f32 = 0.95;
/// Words of a query that may begin a name, and words of the longest name looked up.
const MOST_WORDS: usize = 24;
const LONGEST_NAME: usize = 8;
/// A name that more documents have names none of them.
const MOST_NAMESAKES: usize = 5;

/// Documents that were looked at.
pub(super) type Summaries = HashMap<DocumentId, DocumentSummary>;

/// Adds the bonus for named documents and sorts again. Returns what it loaded.
pub(super) fn rank(
    store: &dyn Store,
    query: &ParsedQuery,
    ranked: &mut Vec<Ranked>,
) -> Result<Summaries, SearchError> {
    let asked = Asked::new(&query.words);
    if asked.stems.is_empty() || ranked.is_empty() {
        return Ok(Summaries::new());
    }
    // Where something is filtered, a document the legs did not find may not pass.
    let called = if query.filter.is_empty() && query.clauses.len() == 1 {
        add_called(store, &query.words, ranked)?
    } else {
        Vec::new()
    };
    let mut seen = HashSet::new();
    let top = ranked.iter().take(DEPTH).map(|candidate| candidate.chunk.document);
    let ids: Vec<DocumentId> = top.chain(called).filter(|id| seen.insert(*id)).collect();
    let summaries = store.summaries(&ids)?;
    let named: Vec<(DocumentId, Named)> =
        summaries.iter().filter_map(|summary| Some((summary.id, named(&asked, summary)?))).collect();
    let bonuses: HashMap<DocumentId, f32> = named
        .iter()
        // "Publish Pod" names neither "Publish" nor "Pod" where there is a page called by the whole.
        .filter(|(_, name)| !named.iter().any(|(_, other)| other.covers(name)))
        .map(|(id, name)| (*id, name.worth * NAMED))
        .collect();
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
    Ok(summaries.into_iter().map(|summary| (summary.id, summary)).collect())
}

/// The words of a query, as names are compared with them.
struct Asked {
    written: String,
    lowered: String,
    stems: Vec<String>,
    sought: Sought,
}

impl Asked {
    fn new(words: &str) -> Self {
        Self {
            written: words.to_owned(),
            lowered: words.to_lowercase(),
            stems: stems(words),
            sought: Sought::new(words, Language::English),
        }
    }

    /// Whether a name begins like a word of the query; most do not, and are not taken apart.
    fn may_hold(&self, name: &str) -> bool {
        name.chars().find(|c| c.is_alphanumeric()).is_some_and(|initial| self.sought.may_begin(initial))
    }
}

/// Finds documents that are called like a part of the query, and adds those that no leg found.
fn add_called(
    store: &dyn Store,
    words: &str,
    ranked: &mut Vec<Ranked>,
) -> Result<Vec<DocumentId>, SearchError> {
    let names = possible_names(words);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let known: HashSet<DocumentId> = ranked.iter().map(|candidate| candidate.chunk.document).collect();
    let lowest = ranked.last().map_or(0.0, |candidate| candidate.score);
    let called = store.called(&names, MOST_NAMESAKES)?;
    for &document in called.iter().filter(|document| !known.contains(document)) {
        let chunk = ChunkRef { document, index: 0 };
        ranked.push(Ranked { chunk, score: lowest, legs: Vec::new() });
    }
    Ok(called)
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

/// Where in the query a document is named, and what that is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Named {
    start: usize,
    length: usize,
    worth: f32,
}

impl Named {
    /// Whether this name is longer and holds the other one.
    fn covers(&self, other: &Self) -> bool {
        self.length > other.length
            && self.start <= other.start
            && other.start + other.length <= self.start + self.length
    }
}

/// The best of a document's names that the query holds, in order and whole.
fn named(asked: &Asked, summary: &DocumentSummary) -> Option<Named> {
    let stem = summary.path.stem();
    // A plain word has one stem.
    let in_passing = asked.stems.len() > 2 && is_plain_code(asked, summary);
    let file_name = if in_passing { CODE_NAME } else { FILE_NAME };
    let title = if summary.title == stem { file_name } else { 1.0 };
    let names = std::iter::once((summary.title.as_str(), title))
        .chain(summary.metadata.aliases.iter().map(|alias| (alias.as_str(), 1.0)))
        .chain(std::iter::once((stem, file_name)));
    names
        .filter(|(name, _)| asked.may_hold(name))
        .filter_map(|(name, worth)| {
            let (start, length) = place(&asked.stems, name)?;
            let written = if holds(&asked.written, name) {
                1.0
            } else if holds(&asked.lowered, &name.to_lowercase()) {
                OTHER_CASE
            } else {
                OTHER_FORM
            };
            Some(Named { start, length, worth: worth * written * length as f32 / asked.stems.len() as f32 })
        })
        .max_by(|a, b| a.worth.total_cmp(&b.worth))
}

/// Whether a document is a source file with a plain word for its name, which the query does not call by its
/// whole file name. `second_look` and `HttpServer` are no plain words: who writes them means the file.
fn is_plain_code(asked: &Asked, summary: &DocumentSummary) -> bool {
    let plain =
        |name: &str| name.chars().all(char::is_alphabetic) && !name.chars().skip(1).any(char::is_uppercase);
    summary.kind == DocumentKind::Code
        && plain(summary.path.stem())
        && !holds(&asked.lowered, &summary.path.file_name().to_lowercase())
}

/// Whether a text has a name in it as it is written, between the bounds of words: `pods` does not hold `pod`.
fn holds(text: &str, name: &str) -> bool {
    let name = name.trim();
    let is_edge = |next: Option<char>| !next.is_some_and(char::is_alphanumeric);
    text.match_indices(name).any(|(at, _)| {
        is_edge(text[..at].chars().next_back()) && is_edge(text[at + name.len()..].chars().next())
    })
}

/// Where the query holds all of a name, and how many words of it that is.
fn place(asked: &[String], name: &str) -> Option<(usize, usize)> {
    let name = stems(name);
    if name.is_empty() {
        return None;
    }
    let start = asked.windows(name.len()).position(|window| window == name)?;
    Some((start, name.len()))
}

/// Stems of whole words; the parts of an identifier share its position and are left out.
pub(super) fn stems(text: &str) -> Vec<String> {
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
    use ibid_api::{Metadata, NoteId, RelPath};

    use super::*;

    #[test]
    fn a_name_counts_when_the_query_holds_all_of_it_in_order() {
        let asked = stems("how do I use Office Hours and what does it do");
        assert_eq!(asked.len(), 3);
        assert_eq!(place(&asked, "Office Hours"), Some((1, 2)));
        assert_eq!(place(&asked, "Hours Office"), None);
        assert_eq!(place(&asked, "Office Hours 2021"), None);
    }

    #[test]
    fn a_name_is_written_only_between_the_bounds_of_words() {
        for (text, name, want) in [
            ("how do I use Pods and", "Pods", true),
            ("how do I use Pods and", "Pod", false),
            ("the subpod, a pod", "pod", true),
            ("Pods", "pods", false),
            ("über-Öl", "Öl", true),
            ("", "pod", false),
        ] {
            assert_eq!(holds(text, name), want, "{text:?} {name:?}");
        }
    }

    #[test]
    fn a_source_file_with_a_plain_name_is_named_less_than_a_page() {
        let worth = |query: &str, path: &str, kind: DocumentKind| {
            let path = RelPath::parse(path).unwrap();
            let summary = DocumentSummary {
                id: DocumentId(1),
                note_id: NoteId::of(&path),
                source: "notes".to_owned(),
                title: path.stem().to_owned(),
                path,
                kind,
                language: None,
                size: 1,
                modified_ms: 0,
                chunk_count: 1,
                metadata: Metadata::default(),
            };
            named(&Asked::new(query), &summary).map_or(0.0, |named| named.worth)
        };
        let (code, page) = (DocumentKind::Code, DocumentKind::Markdown);
        let question = "how does a crash leave the index";
        assert!(worth(question, "src/crash.rs", code) > 0.0);
        assert!(worth(question, "src/crash.rs", code) < worth(question, "docs/crash.md", page) / 2.0);
        for (query, path) in [
            ("how do I use crash", "src/crash.rs"),
            ("what does crash.rs do", "src/crash.rs"),
            ("who calls second_look", "second_look.rs"),
        ] {
            let close = (worth(query, path, code) - worth(query, path, page)).abs() < f32::EPSILON;
            assert!(close && worth(query, path, code) > 0.0, "{query}");
        }
    }

    #[test]
    fn a_longer_name_covers_the_names_inside_it() {
        let name = |start, length| Named { start, length, worth: 0.5 };
        assert!(name(1, 3).covers(&name(2, 2)));
        assert!(!name(1, 2).covers(&name(2, 2)));
        assert!(!name(1, 2).covers(&name(1, 2)));
    }

    #[test]
    fn every_stretch_of_the_query_may_be_a_name() {
        let names = possible_names("what is if let?");
        assert!(names.contains(&"if let") && names.contains(&"let"));
        assert!(!names.contains(&"what is"));
    }
}
