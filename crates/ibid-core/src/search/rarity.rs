//! Why few texts have the words of a query: because the words are rare, or because they are the wrong ones.
//!
//! Where the best hit has every word that was asked for, the words are rare: that most texts have none of them
//! says much, and the few that do stand out. Where it has only some, the texts put it in other words, and a
//! short list is no better than a long one.

use std::collections::HashSet;

use super::{SearchError, second_look::stems};
use crate::store::{Candidate, Store};

/// How many of the texts that could have been found are known to have none of the words.
pub(super) fn without_words(
    store: &dyn Store,
    words: &str,
    lexical: &[Candidate],
    could_be_found: usize,
) -> Result<usize, SearchError> {
    let absent = could_be_found.saturating_sub(lexical.len());
    let Some(best) = lexical.first().filter(|_| absent > 0) else { return Ok(0) };
    let asked = stems(words);
    if asked.is_empty() {
        return Ok(0);
    }
    let mut held = HashSet::new();
    for chunk in store.chunks(&[best.chunk])? {
        held.extend(stems(&chunk.text));
        held.extend(chunk.heading_path.iter().flat_map(|heading| stems(heading)));
    }
    for document in store.summaries(&[best.chunk.document])? {
        held.extend(stems(&document.title));
    }
    Ok(if asked.iter().all(|stem| held.contains(stem)) { absent } else { 0 })
}
