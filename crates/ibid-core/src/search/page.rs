//! The page of hits: duplicates folded, documents kept apart, passages loaded and cut.

use std::collections::HashMap;

use ibid_api::{
    ChunkRef, ContentHash, DocumentId, DocumentSummary, Explain, Hit, MatchReason, SearchRequest, Snippet,
};

use super::{SearchError, fusion::Ranked, query::ParsedQuery, snippet};
use crate::{
    lexical::Language,
    store::{Store, StoredChunk},
};

/// Candidates loaded at once while a page fills.
const STRIDE: usize = 32;

/// Builds one page of hits from ranked candidates.
pub(super) fn build(
    store: &dyn Store,
    query: &ParsedQuery,
    ranked: Vec<Ranked>,
    request: &SearchRequest,
    reason: MatchReason,
) -> Result<Vec<Hit>, SearchError> {
    let wanted = (request.offset + request.limit) as usize;
    let stride = STRIDE.max(wanted);
    let mut page = Page { hits: Vec::new(), texts: HashMap::new(), per_document: HashMap::new() };
    for part in ranked.chunks(stride) {
        if page.hits.len() >= wanted {
            break;
        }
        let loaded = Loaded::load(store, part)?;
        for candidate in part {
            if page.hits.len() < wanted {
                page.take(candidate, &loaded, query, request, reason);
            } else {
                page.fold(candidate, &loaded);
            }
        }
    }
    Ok(page.hits.into_iter().skip(request.offset as usize).collect())
}

struct Loaded {
    chunks: HashMap<ChunkRef, StoredChunk>,
    documents: HashMap<DocumentId, DocumentSummary>,
}

impl Loaded {
    fn load(store: &dyn Store, part: &[Ranked]) -> Result<Self, SearchError> {
        let refs: Vec<ChunkRef> = part.iter().map(|r| r.chunk).collect();
        let mut ids: Vec<DocumentId> = refs.iter().map(|r| r.document).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(Self {
            chunks: store.chunks(&refs)?.into_iter().map(|chunk| (chunk.chunk, chunk)).collect(),
            documents: store.summaries(&ids)?.into_iter().map(|summary| (summary.id, summary)).collect(),
        })
    }
}

struct Page {
    hits: Vec<Hit>,
    /// Passages already shown, by their text.
    texts: HashMap<ContentHash, usize>,
    per_document: HashMap<DocumentId, u32>,
}

impl Page {
    fn take(
        &mut self,
        candidate: &Ranked,
        loaded: &Loaded,
        query: &ParsedQuery,
        request: &SearchRequest,
        reason: MatchReason,
    ) {
        // A document that vanished between the two reads is not a hit any more.
        let Some(document) = loaded.documents.get(&candidate.chunk.document) else { return };
        let chunk = loaded.chunks.get(&candidate.chunk);
        if self.fold(candidate, loaded) {
            return;
        }
        let shown = self.per_document.entry(document.id).or_default();
        if request.per_document > 0 && *shown >= request.per_document {
            return;
        }
        *shown += 1;
        if let Some(chunk) = chunk {
            self.texts.insert(identity(&chunk.text), self.hits.len());
        }
        let language = Language::from_code(document.language.as_deref());
        let wanted = snippet::Wanted::new(&query.words, language);
        self.hits.push(Hit {
            chunk: chunk.map(|chunk| chunk.chunk),
            document: document.clone(),
            heading_path: chunk.map(|chunk| chunk.heading_path.clone()).unwrap_or_default(),
            anchor: chunk.and_then(|chunk| chunk.anchor.clone()),
            lines: chunk.map(|chunk| chunk.lines),
            snippet: chunk.map_or_else(Snippet::default, |chunk| {
                snippet::cut(&chunk.text, &wanted, language, request.whole_snippets)
            }),
            score: squash(candidate.score),
            reason,
            duplicates: 0,
            explain: request.explain.then(|| Explain { legs: candidate.legs.clone() }),
        });
    }

    /// Counts a passage whose text is already shown; tells whether it was one.
    fn fold(&mut self, candidate: &Ranked, loaded: &Loaded) -> bool {
        let Some(chunk) = loaded.chunks.get(&candidate.chunk) else { return false };
        let Some(&shown) = self.texts.get(&identity(&chunk.text)) else { return false };
        let hit = &mut self.hits[shown];
        if hit.document.id != candidate.chunk.document {
            hit.duplicates += 1;
        }
        true
    }
}

/// Identity of a passage, whatever its blanks and case.
fn identity(text: &str) -> ContentHash {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        plain.push_str(&word.to_lowercase());
        plain.push(' ');
    }
    ContentHash::of(plain.as_bytes())
}

/// Any score to 0–1, keeping order.
fn squash(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}
