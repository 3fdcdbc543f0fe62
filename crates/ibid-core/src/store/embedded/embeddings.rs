//! Embeddings by content: kept in the record, never made twice, dropped when nothing has used them for long.

use ibid_api::ContentHash;
use rusqlite::{Connection, OptionalExtension, params};

use super::{error, halves, write};
use crate::store::StoreResult;

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
pub(super) fn model(connection: &Connection, name: &str) -> StoreResult<i64> {
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

/// Length of the vectors of a model: that of any of them.
pub(super) fn length(connection: &Connection, model_name: &str) -> StoreResult<Option<usize>> {
    // The inner statement reads an index only, where the rows of all models are mixed.
    let bytes: Option<i64> = connection
        .prepare_cached(
            "SELECT length(vector) FROM embeddings WHERE id =
             (SELECT id FROM embeddings INDEXED BY sqlite_autoindex_embeddings_1 WHERE model = ?1 LIMIT 1)",
        )?
        .query_row([model(connection, model_name)?], |row| row.get(0))
        .optional()?;
    Ok(bytes.map(|bytes| bytes as usize / 2))
}

/// Forgets a model with everything it made.
pub(super) fn forget(connection: &Connection, model_name: &str) -> StoreResult<()> {
    let model = model(connection, model_name)?;
    connection.prepare_cached("DELETE FROM embeddings WHERE model = ?1")?.execute([model])?;
    connection.prepare_cached("DELETE FROM models WHERE id = ?1")?.execute([model])?;
    Ok(())
}

/// A vector as it is stored.
pub(super) fn vector(bytes: &[u8]) -> StoreResult<Vec<f32>> {
    halves::from_halves(bytes).ok_or_else(|| error::corrupt("a stored vector is cut off"))
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
    connection.execute(
        "DELETE FROM models WHERE NOT EXISTS (SELECT 1 FROM embeddings WHERE embeddings.model = models.id)",
        [],
    )?;
    connection.execute("UPDATE state SET swept_ms = ?1", [now_ms])?;
    Ok(())
}
