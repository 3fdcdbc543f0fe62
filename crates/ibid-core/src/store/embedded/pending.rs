//! Texts that wait for an embedding: which come next, and how many there are.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use ibid_api::{ContentHash, Generation};
use rusqlite::Connection;

use super::{embeddings, read};
use crate::store::{Pending, StoreResult};

/// What is known about texts that wait, so that asking again and again does not start from the beginning.
#[derive(Debug, Default)]
pub(super) struct PendingCache {
    /// Per model: as of which text, and where the first waiting text was.
    places: Mutex<HashMap<String, (Generation, Place)>>,
    /// Per model: the last count.
    counts: Mutex<HashMap<String, Counted>>,
}

/// How many texts waited as of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// The last write that was looked at.
    pub(super) generation: Generation,
    /// Texts without an embedding.
    pub(super) texts: u64,
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
        let model = embeddings::model(connection, name)?;
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

    /// How many texts wait. `counted` is what the vector files say; counting anew is the last resort, since
    /// it reads the whole list.
    pub(super) fn count(
        &self,
        connection: &Connection,
        name: &str,
        counted: Option<Counted>,
    ) -> StoreResult<u64> {
        if let Some(count) = self.count_without_scan(connection, name, counted)? {
            return Ok(count);
        }
        let generation = read::state(connection)?.generation;
        let count: i64 = connection
            .prepare_cached(
                "SELECT count(*) FROM (SELECT DISTINCT hash FROM chunks) AS texts WHERE NOT EXISTS
                 (SELECT 1 FROM embeddings WHERE embeddings.hash = texts.hash AND model = ?1)",
            )?
            .query_row([embeddings::model(connection, name)?], |row| row.get(0))?;
        self.remember(name, Counted { generation, texts: count as u64 });
        Ok(count as u64)
    }

    /// The same where an earlier count and what was written since tell; `None` where they do not.
    pub(super) fn count_without_scan(
        &self,
        connection: &Connection,
        name: &str,
        counted: Option<Counted>,
    ) -> StoreResult<Option<u64>> {
        let state = read::state(connection)?;
        let known = self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied();
        // Whatever is ahead was counted in a record that this one has replaced.
        let usable = [known, counted].into_iter().flatten().filter(|one| one.generation <= state.generation);
        let Some(base) = usable.max_by_key(|one| one.generation) else { return Ok(None) };
        let since = base.generation.0 as i64;
        let texts = if base.generation == state.generation {
            base.texts
        } else if base.generation >= state.text_generation {
            let embedded: i64 = connection
                .prepare_cached(
                    "SELECT count(*) FROM embeddings WHERE generation > ?1 AND model = ?2
                     AND EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = embeddings.hash)",
                )?
                .query_row([since, embeddings::model(connection, name)?], |row| row.get(0))?;
            base.texts.saturating_sub(embedded as u64)
        } else if base.texts == 0 && was_there(connection, name, since)? {
            // Nothing waited, so whatever waits now has come with a document since.
            let new: i64 = connection
                .prepare_cached(
                    "SELECT count(DISTINCT c.hash) FROM documents d CROSS JOIN chunks c ON c.document = d.id
                     WHERE d.generation > ?1 AND NOT EXISTS
                     (SELECT 1 FROM embeddings e WHERE e.hash = c.hash AND e.model = ?2)",
                )?
                .query_row([since, embeddings::model(connection, name)?], |row| row.get(0))?;
            new as u64
        } else {
            return Ok(None);
        };
        self.remember(name, Counted { generation: state.generation, texts });
        Ok(Some(texts))
    }

    fn remember(&self, name: &str, counted: Counted) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), counted);
    }
}

/// Whether embeddings of then are there still: those of a model can be forgotten.
fn was_there(connection: &Connection, name: &str, generation: i64) -> StoreResult<bool> {
    // In this index the rows of all models are mixed, so that one of them is found soon.
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM embeddings INDEXED BY sqlite_autoindex_embeddings_1
             WHERE model = ?1 AND generation <= ?2)",
        )?
        .query_row([embeddings::model(connection, name)?, generation], |row| row.get(0))?)
}
