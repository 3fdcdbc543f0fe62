//! Reading: state, documents and chunks.

use ibid_api::{
    ChunkRef, ContentHash, DocumentFilter, DocumentId, DocumentKey, DocumentKind, DocumentSummary,
    Generation, LineRange, NoteId, Page, Paging, RelPath,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{error, filter, names};
use crate::store::{StoreResult, StoredChunk, StoredDocument};

/// Where the record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    /// Tells this record from every other one.
    pub(super) record: [u8; 16],
    /// The last write.
    pub(super) generation: Generation,
    /// The last write that changed what is searched by words.
    pub(super) text_generation: Generation,
    /// What was removed up to here is no longer listed.
    pub(super) pruned_generation: Generation,
    /// When the last write was.
    pub(super) written_ms: Option<i64>,
}

/// Where the record stands.
pub(super) fn state(connection: &Connection) -> StoreResult<State> {
    let state = connection
        .prepare_cached(
            "SELECT record, generation, text_generation, pruned_generation, written_ms FROM state",
        )?
        .query_row([], |row| {
            Ok(State {
                record: row.get(0)?,
                generation: generation(row, 1)?,
                text_generation: generation(row, 2)?,
                pruned_generation: generation(row, 3)?,
                written_ms: row.get(4)?,
            })
        })?;
    Ok(state)
}

fn generation(row: &Row<'_>, column: usize) -> rusqlite::Result<Generation> {
    row.get::<_, i64>(column).map(|number| Generation(number as u64))
}

/// A setting.
pub(super) fn setting(connection: &Connection, name: &str) -> StoreResult<Option<String>> {
    Ok(connection
        .prepare_cached("SELECT value FROM settings WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?)
}

/// Columns that [`summary`] reads, in its order.
const SUMMARY: &str =
    "id, note_id, source, path, title, kind, language, size, modified_ms, chunk_count, metadata";

/// One document.
pub(super) fn document(connection: &Connection, key: &DocumentKey) -> StoreResult<Option<StoredDocument>> {
    // The same path may exist in several sources; the first source by name wins.
    let query = |condition: &str| {
        format!(
            "SELECT {SUMMARY}, headings, fields, attachments, hash FROM documents WHERE {condition}
             ORDER BY source LIMIT 1"
        )
    };
    let stored =
        |row: &Row<'_>| -> rusqlite::Result<StoreResult<StoredDocument>> { Ok(stored_document(row)) };
    let found = match key {
        DocumentKey::Id(id) => {
            connection.prepare_cached(&query("id = ?1"))?.query_row([id.0], stored).optional()?
        }
        DocumentKey::Note(note) => connection
            .prepare_cached(&query("note_id = ?1"))?
            .query_row([note.as_bytes()], stored)
            .optional()?,
        DocumentKey::Path(path) => {
            connection.prepare_cached(&query("path = ?1"))?.query_row([path.as_str()], stored).optional()?
        }
    };
    found.transpose()
}

fn stored_document(row: &Row<'_>) -> StoreResult<StoredDocument> {
    Ok(StoredDocument {
        summary: summary(row)?,
        headings: serde_json::from_str(row.get_ref(11)?.as_str().map_err(rusqlite::Error::from)?)?,
        fields: serde_json::from_str(row.get_ref(12)?.as_str().map_err(rusqlite::Error::from)?)?,
        attachments: serde_json::from_str(row.get_ref(13)?.as_str().map_err(rusqlite::Error::from)?)?,
        hash: row.get::<_, Option<[u8; 16]>>(14)?.map(ContentHash::from_bytes),
    })
}

fn summary(row: &Row<'_>) -> StoreResult<DocumentSummary> {
    let path: String = row.get(3)?;
    let kind = row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?;
    Ok(DocumentSummary {
        id: DocumentId(row.get(0)?),
        note_id: NoteId::from_bytes(row.get(1)?),
        source: row.get(2)?,
        path: RelPath::parse(&path).map_err(|_| error::corrupt("a stored path has an unexpected form"))?,
        title: row.get(4)?,
        kind: DocumentKind::parse(kind).ok_or_else(|| error::corrupt("a document has an unknown kind"))?,
        language: row.get(6)?,
        size: row.get::<_, i64>(7)? as u64,
        modified_ms: row.get(8)?,
        chunk_count: row.get(9)?,
        metadata: serde_json::from_str(row.get_ref(10)?.as_str().map_err(rusqlite::Error::from)?)?,
    })
}

/// Summaries of these documents, in this order.
pub(super) fn summaries(connection: &Connection, ids: &[DocumentId]) -> StoreResult<Vec<DocumentSummary>> {
    let mut select = connection.prepare_cached(&format!("SELECT {SUMMARY} FROM documents WHERE id = ?1"))?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let mut rows = select.query([id.0])?;
        if let Some(row) = rows.next()? {
            found.push(summary(row)?);
        }
    }
    Ok(found)
}

/// Documents with exactly this stem, title or alias.
pub(super) fn named(connection: &Connection, name: &str) -> StoreResult<Vec<DocumentSummary>> {
    let mut select =
        connection.prepare_cached("SELECT document FROM names WHERE name = ?1 ORDER BY document")?;
    let ids = select.query_map([name.trim()], |row| row.get(0).map(DocumentId))?;
    summaries(connection, &ids.collect::<Result<Vec<_>, _>>()?)
}

/// Documents with one of these stems, titles or aliases, whatever the case, by number. A name that follows
/// its own beginning is not looked up where nothing begins like that.
pub(super) fn called(connection: &Connection, names: &[&str], most: usize) -> StoreResult<Vec<DocumentId>> {
    let mut next =
        connection.prepare_cached("SELECT folded FROM names WHERE folded >= ?1 ORDER BY folded LIMIT 1")?;
    let mut select =
        connection.prepare_cached("SELECT DISTINCT document FROM names WHERE folded = ?1 LIMIT ?2")?;
    let mut found = Vec::new();
    let mut unknown: Option<String> = None;
    for name in names {
        let name = names::fold(name);
        if unknown.as_ref().is_some_and(|beginning| name.starts_with(beginning)) {
            continue;
        }
        let nearest: Option<String> = next.query_row([&name], |row| row.get(0)).optional()?;
        if !nearest.as_ref().is_some_and(|nearest| nearest.starts_with(&name)) {
            unknown = Some(name);
            continue;
        }
        if nearest.as_deref() != Some(&name) {
            continue;
        }
        let ids = select.query_map((name, most as i64 + 1), |row| row.get(0).map(DocumentId))?;
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        if ids.len() <= most {
            found.extend(ids);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Documents in source and path order.
pub(super) fn documents(
    connection: &Connection,
    wanted: &DocumentFilter,
    paging: Paging,
) -> StoreResult<Page<DocumentSummary>> {
    let mut conditions = filter::Conditions::of(&wanted.filter);
    if let Some(name) = wanted.name.as_deref().map(names::fold).filter(|name| !name.is_empty()) {
        conditions.add("instr(lookup, ?) > 0", [name.into()]);
    }
    let (ids, total) = if wanted.filter.paths.is_empty() {
        let total = conditions.count(connection)?;
        (conditions.ids(connection, "source, path", Some(paging))?, total)
    } else {
        let all =
            conditions.ids_matching(connection, "source, path", &filter::globs(&wanted.filter.paths))?;
        let total = all.len() as u64;
        let page = all.into_iter().skip(paging.offset as usize).take(paging.limit as usize);
        (page.collect(), total)
    };
    Ok(Page { items: summaries(connection, &ids)?, total })
}

/// Columns that [`chunk`] reads, in its order.
const CHUNK: &str =
    "document, idx, heading_path, anchor, byte_start, byte_end, line_start, line_end, text, hash";

/// These chunks, in this order.
pub(super) fn chunks(connection: &Connection, refs: &[ChunkRef]) -> StoreResult<Vec<StoredChunk>> {
    let mut select =
        connection.prepare_cached(&format!("SELECT {CHUNK} FROM chunks WHERE document = ?1 AND idx = ?2"))?;
    let mut found = Vec::with_capacity(refs.len());
    for wanted in refs {
        let mut rows = select.query(params![wanted.document.0, wanted.index])?;
        if let Some(row) = rows.next()? {
            found.push(chunk(row)?);
        }
    }
    Ok(found)
}

/// All chunks of a document, in order.
pub(super) fn chunks_of(connection: &Connection, document: DocumentId) -> StoreResult<Vec<StoredChunk>> {
    let mut select =
        connection.prepare_cached(&format!("SELECT {CHUNK} FROM chunks WHERE document = ?1 ORDER BY idx"))?;
    let mut rows = select.query([document.0])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(chunk(row)?);
    }
    Ok(found)
}

fn chunk(row: &Row<'_>) -> StoreResult<StoredChunk> {
    Ok(StoredChunk {
        chunk: ChunkRef { document: DocumentId(row.get(0)?), index: row.get(1)? },
        heading_path: serde_json::from_str(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?,
        anchor: row.get(3)?,
        bytes: (row.get::<_, i64>(4)? as u64, row.get::<_, i64>(5)? as u64),
        lines: LineRange { start: row.get(6)?, end: row.get(7)? },
        text: row.get(8)?,
        hash: ContentHash::from_bytes(row.get(9)?),
    })
}
