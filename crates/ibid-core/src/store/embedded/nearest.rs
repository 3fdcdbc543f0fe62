//! Best chunks by meaning: the vector files tell which are worth a look, the record tells how near they are.
//!
//! What the files do not have yet is compared one by one, and so is everything where there are no files: the
//! answer is the same, it only takes longer.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    sync::Arc,
};

use ibid_api::{ChunkRef, ContentHash, DocumentId, Generation};
use roaring::RoaringTreemap;
use rusqlite::{Connection, Params, params};

use super::{
    embeddings, halves,
    opened_vectors::OpenedVectors,
    read::{self, State},
    vectors::Hit,
};
use crate::store::{Candidate, StoreResult, VectorQuery};

/// The files know a score to about two digits: so many more than wanted may be rescored.
const SOME_MORE: usize = 40;
/// What follows in the files is not rescored once it is this far behind the last that is wanted. Rounding to eight
/// bits moves the score of a unit vector by a tenth of this.
const BEHIND: f32 = 0.005;
/// A score of the files that is further off than this belongs to another vector.
const TOLERANCE: f32 = 0.1;

/// Compares the question with every vector.
pub(super) fn exact(
    connection: &Connection,
    query: &VectorQuery,
    documents: Option<&RoaringTreemap>,
) -> StoreResult<Vec<Candidate>> {
    let mut best = Best { query, documents, heap: BinaryHeap::new() };
    if query.limit > 0 && !query.vector.is_empty() {
        let model = embeddings::model(connection, &query.model)?;
        best.compare(connection, EVERYTHING, params![model])?;
    }
    Ok(best.into_list())
}

/// Searches with the files of the model, which can answer this question; `None` when they contradict the
/// record.
pub(super) fn with_files(
    connection: &Connection,
    state: &State,
    query: &VectorQuery,
    opened: &OpenedVectors,
    documents: Option<&Arc<RoaringTreemap>>,
) -> StoreResult<Option<Vec<Candidate>>> {
    let since = opened.generation();
    let changed = changed_documents(connection, state, since)?;
    let slots = opened.slots(documents, &changed);
    let left_out = match query.without_document {
        Some(document) => read::summaries(connection, &[document])?
            .first()
            .map_or(0, |summary| summary.chunk_count as usize),
        None => 0,
    };
    let wanted = query.limit.saturating_add(query.limit / 2).saturating_add(SOME_MORE + left_out);
    let Ok(hits) = opened.index.nearest(&query.vector, slots.as_deref(), wanted) else { return Ok(None) };
    let model = embeddings::model(connection, &query.model)?;
    let mut best = Best { query, documents: documents.map(Arc::as_ref), heap: BinaryHeap::new() };
    if !best.rescore(connection, model, opened, &hits)? {
        return Ok(None);
    }
    if state.generation > since {
        let since = since.0 as i64;
        best.compare(connection, NEW_EMBEDDINGS, params![model, since])?;
        if !changed.is_empty() {
            best.compare(connection, NEW_DOCUMENTS, params![model, since])?;
        }
    }
    Ok(Some(best.into_list()))
}

/// Whether the files can answer a question: they are of this record and vectors of this length.
pub(super) fn can_answer(opened: &OpenedVectors, state: &State, query: &VectorQuery) -> bool {
    let generation = opened.generation();
    generation <= state.generation
        && generation >= state.pruned_generation
        && opened.index.dimensions() == query.vector.len()
        && query.limit > 0
        // A question without a direction is as near to one text as to another.
        && query.vector.iter().all(|number| number.is_finite())
        && query.vector.iter().any(|number| *number != 0.0)
}

/// All chunks that have a vector.
const EVERYTHING: &str = "
    SELECT c.document, c.idx, e.vector FROM embeddings e CROSS JOIN chunks c ON c.hash = e.hash
    WHERE e.model = ?1";
/// Chunks whose vector is new.
const NEW_EMBEDDINGS: &str = "
    SELECT c.document, c.idx, e.vector FROM embeddings e CROSS JOIN chunks c ON c.hash = e.hash
    WHERE e.generation > ?2 AND e.model = ?1";
/// Chunks of new documents whose vector is not.
const NEW_DOCUMENTS: &str = "
    SELECT c.document, c.idx, e.vector FROM documents d CROSS JOIN chunks c ON c.document = d.id
    CROSS JOIN embeddings e ON e.hash = c.hash AND e.model = ?1
    WHERE d.generation > ?2 AND e.generation <= ?2";

/// Documents that were written or removed since the files were.
fn changed_documents(
    connection: &Connection,
    state: &State,
    since: Generation,
) -> StoreResult<RoaringTreemap> {
    if state.text_generation <= since {
        return Ok(RoaringTreemap::new());
    }
    let mut select = connection.prepare_cached(
        "SELECT id FROM documents WHERE generation > ?1
         UNION ALL SELECT document FROM removed WHERE generation > ?1",
    )?;
    let ids = select.query_map([since.0 as i64], |row| row.get::<_, i64>(0))?;
    let mut changed = RoaringTreemap::new();
    for id in ids {
        changed.insert(id? as u64);
    }
    Ok(changed)
}

/// The best chunks seen so far.
struct Best<'a> {
    query: &'a VectorQuery,
    documents: Option<&'a RoaringTreemap>,
    heap: BinaryHeap<Reverse<Ranked>>,
}

impl Best<'_> {
    fn passes(&self, document: DocumentId) -> bool {
        self.query.without_document != Some(document)
            && self.documents.is_none_or(|set| set.contains(document.0 as u64))
    }

    fn add(&mut self, chunk: ChunkRef, score: f32) {
        self.heap.push(Reverse(Ranked(Candidate { chunk, score })));
        if self.heap.len() > self.query.limit {
            self.heap.pop();
        }
    }

    /// Compares with every vector that a statement lists as document, index and vector.
    fn compare(&mut self, connection: &Connection, sql: &str, values: impl Params) -> StoreResult<()> {
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query(values)?;
        while let Some(row) = rows.next()? {
            let document = DocumentId(row.get(0)?);
            if !self.passes(document) {
                continue;
            }
            let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            if let Some(score) = halves::dot(&self.query.vector, bytes) {
                self.add(ChunkRef { document, index: row.get(1)? }, score);
            }
        }
        Ok(())
    }

    /// Scores what the files found with the vectors of the record; `false` when the two contradict.
    fn rescore(
        &mut self,
        connection: &Connection,
        model: i64,
        opened: &OpenedVectors,
        hits: &[Hit],
    ) -> StoreResult<bool> {
        let mut vectors =
            connection.prepare_cached("SELECT vector FROM embeddings WHERE hash = ?1 AND model = ?2")?;
        let mut texts =
            connection.prepare_cached("SELECT hash FROM chunks WHERE document = ?1 AND idx = ?2")?;
        let mut confirmed = Vec::new();
        for hit in hits {
            let ChunkRef { document, index } = hit.key.chunk;
            if self.query.without_document == Some(document) {
                continue;
            }
            if self.is_full_above(hit.score + BEHIND) {
                break;
            }
            if !opened.confirmed().contains(hit.slot) {
                let mut rows = texts.query(params![document.0, index])?;
                let Some(row) = rows.next()? else { return Ok(false) };
                if ContentHash::from_bytes(row.get(0)?) != hit.key.hash {
                    return Ok(false);
                }
                confirmed.push(hit.slot);
            }
            let mut rows = vectors.query(params![hit.key.hash.as_bytes(), model])?;
            let Some(row) = rows.next()? else { return Ok(false) };
            let bytes = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            match halves::dot(&self.query.vector, bytes) {
                // A score that is no number is as far off as can be.
                Some(score) if (score - hit.score).abs() <= TOLERANCE => self.add(hit.key.chunk, score),
                _ => return Ok(false),
            }
        }
        opened.confirmed().extend(confirmed);
        Ok(true)
    }

    /// Whether there are as many as wanted, all of them above this score.
    fn is_full_above(&self, score: f32) -> bool {
        self.heap.len() >= self.query.limit
            && self.heap.peek().is_some_and(|Reverse(Ranked(last))| last.score > score)
    }

    fn into_list(self) -> Vec<Candidate> {
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().map(|Reverse(Ranked(candidate))| candidate).collect()
    }
}

/// Greater is better: a higher score, then an earlier chunk.
struct Ranked(Candidate);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.score.total_cmp(&other.0.score).then_with(|| other.0.chunk.cmp(&self.0.chunk))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}
