//! Files as last seen, and the counts and sizes of everything.

use std::{fs, path::Path};

use ibid_api::{ContentHash, FileReport, Generation, Page, Paging};
use rusqlite::{Connection, Rows};

use super::read;
use crate::store::{StoreResult, StoreSummary, StoredFile};

/// Every file of a source, in path order.
pub(super) fn stored_files(connection: &Connection, source: &str) -> StoreResult<Vec<StoredFile>> {
    let mut select = connection.prepare_cached(
        "SELECT path, size, modified_ns, hash, outcome FROM files WHERE source = ?1 ORDER BY path",
    )?;
    collect(select.query([source])?)
}

/// Every file of a source at this path or below it, in path order.
pub(super) fn stored_files_below(
    connection: &Connection,
    source: &str,
    path: &str,
) -> StoreResult<Vec<StoredFile>> {
    // `0` follows `/`, so the range holds exactly what begins with the path and a slash.
    let mut select = connection.prepare_cached(
        "SELECT path, size, modified_ns, hash, outcome FROM files WHERE source = ?1 AND path = ?2
         UNION ALL
         SELECT path, size, modified_ns, hash, outcome FROM files
         WHERE source = ?1 AND path > ?2 || '/' AND path < ?2 || '0'",
    )?;
    collect(select.query([source, path])?)
}

fn collect(mut rows: Rows<'_>) -> StoreResult<Vec<StoredFile>> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(StoredFile {
            path: row.get(0)?,
            size: row.get::<_, i64>(1)? as u64,
            modified_ns: row.get(2)?,
            hash: row.get::<_, Option<[u8; 16]>>(3)?.map(ContentHash::from_bytes),
            outcome: serde_json::from_str(row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?)?,
        });
    }
    Ok(found)
}

/// What became of every file, in source and path order.
pub(super) fn reports(connection: &Connection, paging: Paging) -> StoreResult<Page<FileReport>> {
    let total: i64 =
        connection.prepare_cached("SELECT count(*) FROM files")?.query_row([], |row| row.get(0))?;
    let mut select = connection
        .prepare_cached("SELECT source, path, outcome FROM files ORDER BY source, path LIMIT ?1 OFFSET ?2")?;
    let mut rows = select.query([paging.limit, paging.offset])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.push(FileReport {
            source: row.get(0)?,
            path: row.get(1)?,
            outcome: serde_json::from_str(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?,
        });
    }
    Ok(Page { items, total: total as u64 })
}

/// Counts and sizes; `searchable` is what the lexical index includes.
pub(super) fn summary(
    connection: &Connection,
    directory: &Path,
    searchable: Generation,
) -> StoreResult<StoreSummary> {
    let state = read::state(connection)?;
    let (documents, chunks): (i64, i64) = connection
        .prepare_cached("SELECT count(*), coalesce(sum(chunk_count), 0) FROM documents")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut select = connection.prepare_cached(
        "SELECT source, sum(state = 0), sum(state = 1), sum(state = 2) FROM files GROUP BY source ORDER BY source",
    )?;
    let sources = select.query_map([], |row| {
        Ok((
            row.get(0)?,
            row.get::<_, i64>(1)? as u64,
            row.get::<_, i64>(2)? as u64,
            row.get::<_, i64>(3)? as u64,
        ))
    })?;
    Ok(StoreSummary {
        generation: state.generation,
        searchable,
        documents: documents as u64,
        chunks: chunks as u64,
        sources: sources.collect::<Result<_, _>>()?,
        last_write_ms: state.written_ms,
        disk_bytes: bytes_below(directory),
    })
}

/// Sizes of all files of a directory; what cannot be read counts nothing.
fn bytes_below(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
