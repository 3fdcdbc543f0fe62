//! Embeddings by content: kept in the record, found by exact comparison, never made twice.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use ibid_api::{ChunkRef, ContentHash, DocumentId, Generation};
use roaring::RoaringTreemap;
use rusqlite::{Connection, OptionalExtension, params};

use super::{error, halves, read, write};
use crate::store::{Candidate, Pending, StoreResult, VectorQuery};

pub(super) use halves::to_halves;

/// Embeddings of texts that no chunk has any more are kept this long: a rename or a change of branch and
/// back must not embed anything again.
const KEEP_UNUSED_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// Looking for unused embeddings reads the whole list, so it is not done more often than this.
const SWEEP_EVERY_MS: i64 = 24 * 60 * 60 * 1000;

/// The number of a model, which gets one if it has none.
pub(super) fn model_for_writing(connection: &Connection, name: &str) -> StoreResult<i64> {
    connection.prepare_cached("INSERT OR IGNORE INTO models (name) VALUES (?1)")?.execute([name])?;
    Ok(connection
        .prepare_cached("SELECT id FROM models WHERE name = ?1")?
        .query_row([name], |row| row.get(0))?)
}

/// The number of a model; a model that never wrote anything has none, and no row carries 0.
fn model(connection: &Connection, name: &str) -> StoreResult<i64> {
    Ok(connection
        .prepare_cached("SELECT id FROM models WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?
        .unwrap_or(0))
}

/// Stored vectors of these texts.
pub(super) fn embeddings(
    connection: &Connection,
    model_name: &str,
    hashes: &[ContentHash],
) -> StoreResult<Vec<Option<Vec<f32>>>> {
    let model = model(connection, model_name)?;
    let mut select =
        connection.prepare_cached("SELECT vector FROM embeddings WHERE hash = ?1 AND model = ?2")?;
    let mut found = Vec::with_capacity(hashes.len());
    for hash in hashes {
        let mut rows = select.query(params![hash.as_bytes(), model])?;
        let vector = match rows.next()? {
            Some(row) => Some(vector(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)?),
            None => None,
        };
        found.push(vector);
    }
    Ok(found)
}

fn vector(bytes: &[u8]) -> StoreResult<Vec<f32>> {
    halves::from_halves(bytes).ok_or_else(|| error::corrupt("a stored vector is cut off"))
}

/// Best chunks by meaning, among these documents if given.
pub(super) fn nearest(
    connection: &Connection,
    query: &VectorQuery,
    documents: Option<&RoaringTreemap>,
) -> StoreResult<Vec<Candidate>> {
    if query.limit == 0 || query.vector.is_empty() {
        return Ok(Vec::new());
    }
    let model = model(connection, &query.model)?;
    let mut select = connection.prepare_cached(
        "SELECT c.document, c.idx, e.vector FROM embeddings e CROSS JOIN chunks c ON c.hash = e.hash
         WHERE e.model = ?1",
    )?;
    let mut rows = select.query([model])?;
    let mut best: BinaryHeap<Reverse<Ranked>> = BinaryHeap::new();
    while let Some(row) = rows.next()? {
        let document = DocumentId(row.get(0)?);
        let passes = documents.is_none_or(|set| set.contains(document.0 as u64));
        if !passes || query.without_document == Some(document) {
            continue;
        }
        let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let Some(score) = halves::dot(&query.vector, bytes) else { continue };
        best.push(Reverse(Ranked(Candidate { chunk: ChunkRef { document, index: row.get(1)? }, score })));
        if best.len() > query.limit {
            best.pop();
        }
    }
    Ok(best.into_sorted_vec().into_iter().map(|Reverse(Ranked(candidate))| candidate).collect())
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

/// What is known about texts that wait, so that asking again and again does not start from the beginning.
#[derive(Debug, Default)]
pub(super) struct PendingCache {
    /// Per model: as of which text, and where the first waiting text was.
    places: Mutex<HashMap<String, (Generation, Place)>>,
    /// Per model: as of which write, and how many wait.
    counts: Mutex<HashMap<String, (Generation, u64)>>,
}

/// A document in the order newest first: generation and number.
type Place = (i64, i64);

impl PendingCache {
    /// Texts that wait, most recently changed first.
    pub(super) fn list(
        &self,
        connection: &Connection,
        name: &str,
        limit: usize,
    ) -> StoreResult<Vec<Pending>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let state = read::state(connection)?;
        let model = model(connection, name)?;
        let start = {
            let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            places.get(name).filter(|known| known.0 == state.text_generation).map(|known| known.1)
        };
        let mut documents = connection.prepare_cached(
            "SELECT generation, id, title FROM documents WHERE (generation, id) <= (?1, ?2)
             ORDER BY generation DESC, id DESC",
        )?;
        let mut chunks = connection.prepare_cached(
            "SELECT hash, heading_path, text FROM chunks WHERE document = ?1 AND NOT EXISTS
             (SELECT 1 FROM embeddings WHERE embeddings.hash = chunks.hash AND model = ?2) ORDER BY idx",
        )?;
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        let mut first = None;
        let mut rows = documents.query(start.unwrap_or((i64::MAX, i64::MAX)))?;
        while let Some(row) = rows.next()? {
            let place: Place = (row.get(0)?, row.get(1)?);
            let mut waiting = chunks.query([place.1, model])?;
            while let Some(chunk) = waiting.next()? {
                first.get_or_insert(place);
                let hash = ContentHash::from_bytes(chunk.get(0)?);
                if found.len() < limit && seen.insert(hash) {
                    found.push(Pending {
                        hash,
                        title: row.get(2)?,
                        heading_path: serde_json::from_str(
                            chunk.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?,
                        )?,
                        text: chunk.get(2)?,
                    });
                }
            }
            if found.len() >= limit {
                break;
            }
        }
        let place = (state.text_generation, first.unwrap_or((i64::MIN, i64::MIN)));
        self.places.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), place);
        Ok(found)
    }

    /// How many texts wait.
    pub(super) fn count(&self, connection: &Connection, name: &str) -> StoreResult<u64> {
        let generation = read::state(connection)?.generation;
        let known = self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied();
        if let Some((_, count)) = known.filter(|known| known.0 == generation) {
            return Ok(count);
        }
        let count: i64 = connection
            .prepare_cached(
                "SELECT count(*) FROM (SELECT DISTINCT hash FROM chunks) AS texts WHERE NOT EXISTS
                 (SELECT 1 FROM embeddings WHERE embeddings.hash = texts.hash AND model = ?1)",
            )?
            .query_row([model(connection, name)?], |row| row.get(0))?;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.insert(name.to_owned(), (generation, count as u64));
        Ok(count as u64)
    }
}

/// Whether it is time to look for embeddings that nothing uses.
pub(super) fn sweep_is_due(connection: &Connection) -> StoreResult<bool> {
    let (swept, any): (Option<i64>, bool) = connection
        .prepare_cached("SELECT swept_ms, EXISTS (SELECT 1 FROM embeddings) FROM state")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(any && swept.is_none_or(|then| write::now_ms().saturating_sub(then) >= SWEEP_EVERY_MS))
}

/// Notes which embeddings nothing uses, and drops those that nothing has used for long.
pub(super) fn sweep(connection: &Connection, now_ms: i64) -> StoreResult<()> {
    let used = "EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = embeddings.hash)";
    connection.execute(
        &format!("UPDATE embeddings SET unused_since_ms = NULL WHERE unused_since_ms IS NOT NULL AND {used}"),
        [],
    )?;
    connection.execute(
        &format!("UPDATE embeddings SET unused_since_ms = ?1 WHERE unused_since_ms IS NULL AND NOT {used}"),
        [now_ms],
    )?;
    connection.execute("DELETE FROM embeddings WHERE unused_since_ms < ?1", [now_ms - KEEP_UNUSED_MS])?;
    connection.execute("UPDATE state SET swept_ms = ?1", [now_ms])?;
    Ok(())
}
