//! Reading documents, chunks and attachments.

use std::sync::Arc;

use ibid_api::{
    Attachment, AttachmentBody, Chunk, ChunkRef, Document, DocumentKey, DocumentSummary, Error, ErrorCode,
    Freshness, Link, LinkTarget, NoteId, RelPath, Result,
};
use serde_json::json;

use super::Shared;
use crate::{
    attachment,
    config::SourceConfig,
    error,
    parse::{Legacy, Outcome, ParseOptions, RawFile, parse_as},
    source::{ReadError, SourceRoot},
    store::{StoredDocument, StoredLink},
};

impl Shared {
    /// A document with its content as it is in the file now.
    pub(super) fn document(&self, key: &DocumentKey, max_bytes: u64) -> Result<Document> {
        let store = self.reading()?.store;
        if let DocumentKey::Note(note) = key
            && self.freshness(store.as_ref())? == Freshness::Incompatible
        {
            return self.unindexed(*note, max_bytes);
        }
        let stored = store.document(key).map_err(error::store)?.ok_or_else(no_note)?;
        let content = self.content(&stored, max_bytes)?;
        let links = store.links_from(stored.summary.id).map_err(error::store)?;
        Ok(Document {
            summary: stored.summary,
            content,
            headings: stored.headings,
            links: links.into_iter().map(link).collect(),
            attachments: stored.attachments,
        })
    }

    fn content(&self, stored: &StoredDocument, max_bytes: u64) -> Result<String> {
        let summary = &stored.summary;
        let source = self.config.sources.iter().find(|source| source.name == summary.source);
        let root = self.root(source.ok_or_else(no_note)?).ok_or_else(no_note)?;
        let bytes = root.read(&summary.path, max_bytes).map_err(unreadable)?.bytes;
        let options = ParseOptions { legacy: Legacy::Always, max_bytes: u64::MAX };
        let raw = RawFile { path: summary.path.clone(), bytes };
        Ok(match parse_as(summary.kind, &raw, &options) {
            Outcome::Parsed(parsed, _) => parsed.text,
            Outcome::Skipped(_) => String::from_utf8_lossy(&raw.bytes).into_owned(),
        })
    }

    /// A document without its content, as it was indexed.
    pub(super) fn summary(&self, key: &DocumentKey) -> Result<DocumentSummary> {
        let store = self.reading()?.store;
        Ok(store.document(key).map_err(error::store)?.ok_or_else(no_note)?.summary)
    }

    /// A chunk as it was indexed.
    pub(super) fn chunk(&self, chunk: ChunkRef) -> Result<Chunk> {
        let (opened, _) = self.queryable()?;
        let store = opened.store;
        let stored = store.chunks(&[chunk]).map_err(error::store)?.pop().ok_or_else(no_chunk)?;
        let document = store.document(&DocumentKey::Id(chunk.document)).map_err(error::store)?;
        let document = document.ok_or_else(no_chunk)?;
        let links = store.links_from(chunk.document).map_err(error::store)?;
        let links = links.into_iter().filter(|link| link.chunk == Some(chunk.index)).map(self::link);
        Ok(Chunk {
            chunk: stored.chunk,
            links: links.collect(),
            attachments: attachments_in(&stored.text, &document),
            document: document.summary,
            heading_path: stored.heading_path,
            anchor: stored.anchor,
            lines: stored.lines,
            text: stored.text,
            hash: stored.hash,
        })
    }

    /// A file beside the documents, from the first source that has it.
    pub(super) fn attachment(&self, path: &RelPath, body: AttachmentBody) -> Result<Attachment> {
        if self.config.sources.is_empty() {
            return Err(Error::new(ErrorCode::VaultNotConfigured, "no source folder is configured")
                .with_hint("name a folder in the configuration"));
        }
        let mut refused = None;
        for source in &self.config.sources {
            let Some(root) = self.root(source) else { continue };
            match attachment::attachment(&root, path, body) {
                Ok(attachment) => return Ok(attachment),
                Err(error) if error.code == ErrorCode::AttachmentNotFound => {}
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(attachment::missing))
    }

    pub(super) fn root(&self, source: &SourceConfig) -> Option<SourceRoot> {
        let root = SourceRoot::open(source, Arc::clone(&self.reads)).ok()?;
        Some(root.without_index(&self.config.data_dir))
    }
}

/// The attachments of a document that this part of its text refers to.
fn attachments_in(text: &str, document: &StoredDocument) -> Vec<String> {
    if document.attachments.is_empty() {
        return Vec::new();
    }
    let summary = &document.summary;
    let raw = RawFile { path: summary.path.clone(), bytes: text.as_bytes().to_vec() };
    let options = ParseOptions { legacy: Legacy::Never, max_bytes: u64::MAX };
    let Outcome::Parsed(parsed, _) = parse_as(summary.kind, &raw, &options) else { return Vec::new() };
    // A part cut out of a code block may look like a reference; the whole document knows better.
    parsed.attachments.into_iter().filter(|path| document.attachments.contains(path)).collect()
}

pub(super) fn link(link: StoredLink) -> Link {
    Link {
        name: link.name,
        fragment: link.fragment,
        label: link.label,
        embed: link.embed,
        line: link.line,
        target: link.target.map(|(_, path, title)| LinkTarget { note_id: NoteId::of(&path), path, title }),
    }
}

/// Why a note cannot be had.
pub(super) fn unreadable(error: ReadError) -> Error {
    match error {
        ReadError::TooLarge { size } => {
            Error::new(ErrorCode::NoteTooLarge, "the note is larger than allowed")
                .with_hint("ask for it with large notes allowed, or read it chunk by chunk")
                .with_details(json!({ "size": size }))
        }
        ReadError::Outside => Error::new(ErrorCode::PathOutsideVault, "the note leads out of the source"),
        ReadError::Io(kind) => {
            tracing::warn!(?kind, "a document could not be read");
            no_note()
        }
        ReadError::NotFound | ReadError::Hidden | ReadError::Folder | ReadError::NotAFile => no_note(),
    }
}

pub(super) fn no_note() -> Error {
    Error::new(ErrorCode::NoteNotFound, "no note has this identifier")
        .with_hint("search again; a renamed note has another identifier")
}

fn no_chunk() -> Error {
    Error::new(ErrorCode::ChunkNotFound, "no chunk has this identifier")
        .with_hint("search again; a changed note may have other chunks")
}
