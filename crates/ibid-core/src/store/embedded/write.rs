//! Writing: a batch becomes one transaction.

use std::time::{SystemTime, UNIX_EPOCH};

use ibid_api::{ContentHash, DocumentId, FileOutcome, Generation, NoteId};
use rusqlite::{Connection, OptionalExtension, params};

use super::{embeddings, names};
use crate::store::{
    Applied, ChunkWrite, DocumentWrite, EmbeddingWrite, FileWrite, LinkWrite, SettingWrite, StoreResult,
    WriteBatch,
};

/// Applies a batch inside a transaction.
pub(super) fn apply(connection: &Connection, batch: &WriteBatch) -> StoreResult<Applied> {
    let generation: i64 =
        connection.prepare_cached("SELECT generation + 1 FROM state")?.query_row([], |row| row.get(0))?;
    let mut write = Write { connection, generation, text_changed: false };
    for source in &batch.forget_sources {
        write.forget_source(source)?;
    }
    for (source, path) in &batch.remove {
        write.remove_file(source, path)?;
    }
    let mut documents = Vec::with_capacity(batch.files.len());
    for file in &batch.files {
        documents.extend(write.file(file)?);
    }
    for model in &batch.forget_models {
        embeddings::forget(connection, model)?;
        // What waits for an embedding is known as of the last text: everything waits again.
        write.text_changed = true;
    }
    write.embeddings(&batch.embeddings)?;
    write.settings(&batch.settings)?;
    connection
        .prepare_cached(
            "UPDATE state SET generation = ?1, written_ms = ?2,
             text_generation = CASE WHEN ?3 THEN ?1 ELSE text_generation END",
        )?
        .execute(params![generation, now_ms(), write.text_changed])?;
    Ok(Applied { generation: Generation(generation as u64), documents })
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

struct Write<'a> {
    connection: &'a Connection,
    generation: i64,
    /// Whether anything changed that is searched by words.
    text_changed: bool,
}

impl Write<'_> {
    fn forget_source(&mut self, source: &str) -> StoreResult<()> {
        let removed = self
            .connection
            .prepare_cached("INSERT INTO removed SELECT id, ?2 FROM documents WHERE source = ?1")?
            .execute(params![source, self.generation])?;
        self.text_changed |= removed > 0;
        self.connection.prepare_cached("DELETE FROM documents WHERE source = ?1")?.execute([source])?;
        self.connection.prepare_cached("DELETE FROM files WHERE source = ?1")?.execute([source])?;
        Ok(())
    }

    fn remove_file(&mut self, source: &str, path: &str) -> StoreResult<()> {
        self.connection
            .prepare_cached("DELETE FROM files WHERE source = ?1 AND path = ?2")?
            .execute([source, path])?;
        self.remove_document(source, path)
    }

    fn remove_document(&mut self, source: &str, path: &str) -> StoreResult<()> {
        let removed = self
            .connection
            .prepare_cached(
                "INSERT INTO removed SELECT id, ?3 FROM documents WHERE source = ?1 AND path = ?2",
            )?
            .execute(params![source, path, self.generation])?;
        if removed > 0 {
            self.text_changed = true;
            self.connection
                .prepare_cached("DELETE FROM documents WHERE source = ?1 AND path = ?2")?
                .execute([source, path])?;
        }
        Ok(())
    }

    fn file(&mut self, file: &FileWrite) -> StoreResult<Option<DocumentId>> {
        let state = match file.outcome {
            FileOutcome::Indexed { .. } => 0,
            FileOutcome::Skipped { .. } => 1,
            FileOutcome::Failed { .. } => 2,
        };
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
            .execute(params![
            file.source,
            file.path,
            file.size as i64,
            file.modified_ns,
            file.hash.as_ref().map(ContentHash::as_bytes),
            state,
            serde_json::to_string(&file.outcome)?,
        ])?;
        match &file.document {
            Some(document) => self.document(file, document).map(Some),
            None if file.keep_document => Ok(None),
            None => self.remove_document(&file.source, &file.path).map(|()| None),
        }
    }

    fn document(&mut self, file: &FileWrite, document: &DocumentWrite) -> StoreResult<DocumentId> {
        let digest = digest(file, document)?;
        let stored: Option<(i64, [u8; 16])> = self
            .connection
            .prepare_cached("SELECT id, digest FROM documents WHERE source = ?1 AND path = ?2")?
            .query_row([file.source.as_str(), document.path.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((id, stored)) = stored {
            if stored == *digest.as_bytes() {
                return Ok(DocumentId(id));
            }
            for table in ["names", "tags", "chunks", "links"] {
                self.connection
                    .prepare_cached(&format!("DELETE FROM {table} WHERE document = ?1"))?
                    .execute([id])?;
            }
        }
        self.text_changed = true;
        let id = self.document_row(stored.map(|(id, _)| id), file, document, digest)?;
        self.names(id, document)?;
        self.tags(id, &document.metadata.tags)?;
        self.chunks(id, &document.chunks)?;
        self.links(id, &document.links)?;
        Ok(DocumentId(id))
    }

    fn document_row(
        &self,
        id: Option<i64>,
        file: &FileWrite,
        document: &DocumentWrite,
        digest: ContentHash,
    ) -> StoreResult<i64> {
        let id = self
            .connection
            .prepare_cached(
                "INSERT INTO documents
                 (id, source, path, note_id, title, kind, language, size, modified_ms, chunk_count, metadata,
                  generation, hash, digest, lookup, headings, fields, attachments)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
                 ON CONFLICT (id) DO UPDATE SET
                  title = excluded.title, kind = excluded.kind, language = excluded.language,
                  size = excluded.size, modified_ms = excluded.modified_ms,
                  chunk_count = excluded.chunk_count, metadata = excluded.metadata,
                  generation = excluded.generation, hash = excluded.hash, digest = excluded.digest,
                  lookup = excluded.lookup, headings = excluded.headings, fields = excluded.fields,
                  attachments = excluded.attachments
                 RETURNING id",
            )?
            .query_row(
                params![
                    id,
                    file.source,
                    document.path.as_str(),
                    NoteId::of(&document.path).as_bytes(),
                    document.title,
                    document.kind.as_str(),
                    document.language,
                    file.size as i64,
                    modified_ms(file),
                    document.chunks.len() as i64,
                    serde_json::to_string(&document.metadata)?,
                    self.generation,
                    file.hash.as_ref().map(ContentHash::as_bytes),
                    digest.as_bytes(),
                    lookup(document),
                    serde_json::to_string(&document.headings)?,
                    serde_json::to_string(&document.fields)?,
                    serde_json::to_string(&document.attachments)?,
                ],
                |row| row.get(0),
            )?;
        Ok(id)
    }

    fn names(&self, id: i64, document: &DocumentWrite) -> StoreResult<()> {
        let mut insert = self.connection.prepare_cached("INSERT OR IGNORE INTO names VALUES (?1, ?2, ?3)")?;
        let own = [document.path.stem(), document.title.as_str()];
        let all = own.into_iter().chain(document.metadata.aliases.iter().map(String::as_str));
        for name in all.map(str::trim).filter(|name| !name.is_empty()) {
            insert.execute(params![name, id, names::fold(name)])?;
        }
        Ok(())
    }

    fn tags(&self, id: i64, tags: &[String]) -> StoreResult<()> {
        let mut insert = self.connection.prepare_cached("INSERT INTO tags VALUES (?1, ?2)")?;
        for tag in names::with_ancestors(tags) {
            insert.execute(params![id, tag])?;
        }
        Ok(())
    }

    fn chunks(&self, id: i64, chunks: &[ChunkWrite]) -> StoreResult<()> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO chunks
             (document, idx, hash, byte_start, byte_end, line_start, line_end, anchor, heading_path, text)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?;
        for (index, chunk) in chunks.iter().enumerate() {
            insert.execute(params![
                id,
                index as i64,
                chunk.hash.as_bytes(),
                chunk.bytes.0 as i64,
                chunk.bytes.1 as i64,
                chunk.lines.start,
                chunk.lines.end,
                chunk.anchor,
                serde_json::to_string(&chunk.heading_path)?,
                chunk.text,
            ])?;
        }
        Ok(())
    }

    fn links(&self, id: i64, links: &[LinkWrite]) -> StoreResult<()> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO links VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
        for (ord, link) in links.iter().enumerate() {
            let label_key = link.label.as_deref().filter(|_| link.wiki).map(names::link_key);
            insert.execute(params![
                id,
                ord as i64,
                link.name,
                link.fragment,
                link.label,
                link.embed,
                link.wiki,
                link.line,
                link.chunk,
                super::links::name_key(&link.name, link.wiki),
                label_key,
            ])?;
        }
        Ok(())
    }

    /// A text that has an embedding keeps it: the same model makes the same of the same text.
    fn embeddings(&self, embeddings: &[EmbeddingWrite]) -> StoreResult<()> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO embeddings (hash, model, generation, vector) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (hash, model) DO UPDATE SET unused_since_ms = NULL",
        )?;
        let mut last: Option<(&str, i64)> = None;
        for embedding in embeddings {
            let model = match last {
                Some((name, id)) if name == embedding.model => id,
                _ => embeddings::model_for_writing(self.connection, &embedding.model)?,
            };
            last = Some((&embedding.model, model));
            let vector = embeddings::to_halves(&embedding.vector);
            insert.execute(params![embedding.hash.as_bytes(), model, self.generation, vector])?;
        }
        Ok(())
    }

    fn settings(&self, settings: &[SettingWrite]) -> StoreResult<()> {
        for setting in settings {
            match &setting.value {
                Some(value) => self
                    .connection
                    .prepare_cached("INSERT OR REPLACE INTO settings VALUES (?1, ?2)")?
                    .execute([&setting.name, value])?,
                None => self
                    .connection
                    .prepare_cached("DELETE FROM settings WHERE name = ?1")?
                    .execute([&setting.name])?,
            };
        }
        Ok(())
    }
}

fn modified_ms(file: &FileWrite) -> i64 {
    file.modified_ns.div_euclid(1_000_000)
}

fn lookup(document: &DocumentWrite) -> String {
    let parts = [document.title.as_str(), document.path.as_str()];
    let metadata = document.metadata.aliases.iter().chain(&document.metadata.tags).map(String::as_str);
    names::fold(&parts.into_iter().chain(metadata).collect::<Vec<_>>().join("\n"))
}

/// Identity of everything that is stored of a document, so that writing the same again changes nothing.
fn digest(file: &FileWrite, document: &DocumentWrite) -> StoreResult<ContentHash> {
    let chunks: Vec<_> = document
        .chunks
        .iter()
        .map(|chunk| (chunk.hash, &chunk.heading_path, &chunk.anchor, chunk.bytes, chunk.lines))
        .collect();
    let links: Vec<_> = document
        .links
        .iter()
        .map(|link| (&link.name, &link.fragment, &link.label, link.embed, link.wiki, link.line, link.chunk))
        .collect();
    let everything = serde_json::to_vec(&(
        (file.size, modified_ms(file), file.hash),
        (&document.title, document.kind, &document.language, &document.metadata),
        (&document.fields, &document.headings, &document.attachments),
        chunks,
        links,
    ))?;
    Ok(ContentHash::of(&everything))
}
