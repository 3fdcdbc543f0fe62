//! The page of hits: duplicates folded, documents kept apart, passages loaded and cut.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
};

use ibid_api::{ChunkRef, DocumentId, DocumentSummary, Explain, Hit, MatchReason, SearchRequest, Snippet};

use super::{SearchError, fusion::Ranked, query::ParsedQuery, second_look::Summaries, snippet};
use crate::{
    lexical::{Language, Sought},
    store::{Store, StoredChunk},
};

/// Candidates loaded beyond what is still wanted: some repeat a text or fill a page with one document.
const SPARE: usize = 4;

/// Builds one page of hits from ranked candidates.
pub(super) fn build(
    store: &dyn Store,
    query: &ParsedQuery,
    mut ranked: &[Ranked],
    mut known: Summaries,
    request: &SearchRequest,
    reason: MatchReason,
) -> Result<Vec<Hit>, SearchError> {
    let wanted = (request.offset + request.limit) as usize;
    let mut page = Page::default();
    while page.hits.len() < wanted && !ranked.is_empty() {
        let (part, rest) = ranked.split_at(ranked.len().min(wanted - page.hits.len() + SPARE));
        ranked = rest;
        let chunks = load(store, part, &mut known)?;
        for candidate in part {
            // A document that vanished between the two reads is not a hit any more.
            let Some(document) = known.get(&candidate.chunk.document) else { continue };
            let passage = chunks.get(&candidate.chunk).map(|chunk| (chunk, identity(&chunk.text)));
            if page.repeats(candidate, passage) || page.hits.len() >= wanted {
                continue;
            }
            page.take(candidate, document, passage, query, request, reason);
        }
    }
    Ok(page.hits.into_iter().skip(request.offset as usize).collect())
}

/// Loads the passages, and the documents that are not known yet.
fn load(
    store: &dyn Store,
    part: &[Ranked],
    known: &mut Summaries,
) -> Result<HashMap<ChunkRef, StoredChunk>, SearchError> {
    let refs: Vec<ChunkRef> = part.iter().map(|candidate| candidate.chunk).collect();
    let mut ids: Vec<DocumentId> = refs.iter().map(|chunk| chunk.document).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|id| !known.contains_key(id));
    if !ids.is_empty() {
        known.extend(store.summaries(&ids)?.into_iter().map(|summary| (summary.id, summary)));
    }
    Ok(store.chunks(&refs)?.into_iter().map(|chunk| (chunk.chunk, chunk)).collect())
}

#[derive(Default)]
struct Page {
    hits: Vec<Hit>,
    /// Passages already shown, by their text.
    texts: HashMap<u64, usize>,
    per_document: HashMap<DocumentId, u32>,
    /// The words of the query as each language reads them.
    sought: HashMap<Language, Sought>,
}

impl Page {
    fn take(
        &mut self,
        candidate: &Ranked,
        document: &DocumentSummary,
        passage: Option<(&StoredChunk, u64)>,
        query: &ParsedQuery,
        request: &SearchRequest,
        reason: MatchReason,
    ) {
        let shown = self.per_document.entry(document.id).or_default();
        if request.per_document > 0 && *shown >= request.per_document {
            return;
        }
        *shown += 1;
        if let Some((_, identity)) = passage {
            self.texts.insert(identity, self.hits.len());
        }
        let chunk = passage.map(|(chunk, _)| chunk);
        let language = Language::from_code(document.language.as_deref());
        let sought = self.sought.entry(language).or_insert_with(|| Sought::new(&query.words, language));
        self.hits.push(Hit {
            chunk: chunk.map(|chunk| chunk.chunk),
            document: document.clone(),
            heading_path: chunk.map(|chunk| chunk.heading_path.clone()).unwrap_or_default(),
            anchor: chunk.and_then(|chunk| chunk.anchor.clone()),
            lines: chunk.map(|chunk| chunk.lines),
            snippet: chunk.map_or_else(Snippet::default, |chunk| {
                snippet::cut(&chunk.text, sought, request.whole_snippets)
            }),
            score: squash(candidate.score),
            reason,
            duplicates: 0,
            explain: request.explain.then(|| Explain { legs: candidate.legs.clone() }),
        });
    }

    /// Counts a passage whose text is already shown; tells whether it was one.
    fn repeats(&mut self, candidate: &Ranked, passage: Option<(&StoredChunk, u64)>) -> bool {
        let Some((_, identity)) = passage else { return false };
        let Some(&shown) = self.texts.get(&identity) else { return false };
        let hit = &mut self.hits[shown];
        if hit.document.id != candidate.chunk.document {
            hit.duplicates += 1;
        }
        true
    }
}

/// Identity of a passage, whatever its blanks and case.
fn identity(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut lowered = String::new();
    for word in text.split_whitespace() {
        lowered.clear();
        if word.is_ascii() {
            lowered.push_str(word);
            lowered.make_ascii_lowercase();
        } else {
            lowered.extend(word.chars().flat_map(char::to_lowercase));
        }
        lowered.push(' ');
        hasher.write(lowered.as_bytes());
    }
    hasher.finish()
}

/// Any score to 0–1, keeping order.
fn squash(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}
