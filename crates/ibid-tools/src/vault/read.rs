//! `get_note` and `get_chunk`: what was explicitly asked for, whole.

use std::sync::Arc;

use ibid_api::{
    ChunkRef, Document, DocumentKey, DocumentKind, Error, ErrorCode, Freshness, Link, Metadata, NoteId,
    RelPath, Result, Warning,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    NOTE_BYTES, RESULT_BYTES, Vault,
    answer::{self, WarningShape},
    incompatible,
};
use crate::{Route, Spec};

pub(super) const GET_NOTE: Spec = Spec::read(
    "get_note",
    "Read a note",
    "Returns one note: its Markdown with frontmatter, title, metadata, links to other notes (resolved and \
     unresolved) and the attachments it names. Refuses notes over 200 KiB unless allow_large is true; \
     get_chunk reads one passage of a large note.",
)
.http(Route::get("/notes/{note_id}"))
.examples(&[r#"{"note_id":"0123456789abcdef0123456789abcdef"}"#]);

pub(super) const GET_CHUNK: Spec = Spec::read(
    "get_chunk",
    "Read a passage",
    "Returns one passage of a note as it stands in the file, with the headings above it and the links and \
     attachments in it. Identifiers come from search or related; passages are numbered from 0 in the order \
     of the note.",
)
.http(Route::get("/chunks/{note_id}/{chunk_index}"))
.examples(&[r#"{"note_id":"0123456789abcdef0123456789abcdef","chunk_index":0}"#]);

const CONTENT_TYPE: &str = "text/markdown; charset=utf-8";

/// Arguments of `get_note`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GetNote {
    /// The `noteId` of a search result: 32 lower-case hexadecimal digits.
    note_id: String,
    /// Whether a note over 200 KiB is wanted all the same.
    #[serde(default)]
    allow_large: bool,
}

/// Arguments of `get_chunk`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GetChunk {
    /// The `noteId` of a search result: 32 lower-case hexadecimal digits.
    note_id: String,
    /// The `chunkIndex` of a search result, from 0.
    chunk_index: u32,
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note {
    /// The note id.
    id: NoteId,
    /// Path inside the vault.
    path: RelPath,
    title: Option<String>,
    metadata: Metadata,
    /// The whole file, frontmatter included.
    content: String,
    content_type: &'static str,
    /// Size of the file in bytes.
    size: u64,
    links: Links,
    /// Files the note names that are not notes.
    attachments: Vec<String>,
    /// How the index relates to the files.
    freshness: Freshness,
    /// What else to know about the answer.
    #[schemars(with = "Vec<WarningShape>")]
    warnings: Vec<Warning>,
}

/// Links of a note.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Links {
    /// Those that lead to exactly one note.
    resolved: Vec<ResolvedLink>,
    /// Those that lead to none, or could lead to several.
    unresolved: Vec<UnresolvedLink>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResolvedLink {
    #[serde(flatten)]
    written: UnresolvedLink,
    /// The note it leads to.
    note_id: NoteId,
    /// That note's path.
    path: RelPath,
    /// That note's title.
    title: String,
}

/// A link as it is written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UnresolvedLink {
    /// What the link names.
    target: String,
    /// Heading or block after `#`.
    #[serde(skip_serializing_if = "Option::is_none")]
    heading: Option<String>,
    /// Text shown instead of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<String>,
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Passage {
    /// `noteId:chunkIndex`.
    id: String,
    note_id: NoteId,
    chunk_index: u32,
    /// Path inside the vault.
    path: RelPath,
    title: Option<String>,
    /// The heading it stands under.
    heading: Option<String>,
    /// All headings above it, outermost first.
    heading_path: Vec<String>,
    metadata: Metadata,
    /// The passage as it stands in the file.
    content: String,
    content_type: &'static str,
    /// Size of the passage in bytes.
    size: u64,
    /// Links that stand in the passage.
    links: Links,
    /// Files the passage names that are not notes.
    attachments: Vec<String>,
    /// How the index relates to the files.
    freshness: Freshness,
    /// What else to know about the answer.
    #[schemars(with = "Vec<WarningShape>")]
    warnings: Vec<Warning>,
}

pub(super) async fn get_note(vault: Arc<Vault>, input: GetNote) -> Result<Note> {
    let id: NoteId = input.note_id.parse()?;
    let status = vault.status().await?;
    let limit = if input.allow_large { RESULT_BYTES } else { NOTE_BYTES };
    let document = vault.engine.document(DocumentKey::Note(id), limit).await.map_err(|error| {
        if error.code == ErrorCode::NoteTooLarge { note_too_large(input.allow_large) } else { error }
    })?;
    if document.summary.kind != DocumentKind::Markdown {
        return Err(no_note());
    }
    let freshness = status.index.freshness;
    let note = note(document, freshness);
    if note.size > RESULT_BYTES / 16 && result_bytes(&note)? > RESULT_BYTES {
        return Err(note_too_large(true));
    }
    Ok(note)
}

pub(super) async fn get_chunk(vault: Arc<Vault>, input: GetChunk) -> Result<Passage> {
    let id: NoteId = input.note_id.parse()?;
    let status = vault.status().await?;
    let freshness = status.index.freshness;
    // Passages exist in the index only; a note can be found among the files without it.
    if freshness == Freshness::Incompatible {
        return Err(incompatible());
    }
    let document = vault.engine.summary(DocumentKey::Note(id)).await?;
    if document.kind != DocumentKind::Markdown {
        return Err(no_note());
    }
    let chunk = ChunkRef { document: document.id, index: input.chunk_index };
    let chunk = vault.engine.chunk(chunk).await?;
    Ok(Passage {
        id: format!("{id}:{}", input.chunk_index),
        note_id: id,
        chunk_index: input.chunk_index,
        path: chunk.document.path,
        title: Some(chunk.document.title),
        heading: chunk.heading_path.last().cloned(),
        heading_path: chunk.heading_path,
        metadata: chunk.document.metadata,
        size: chunk.text.len() as u64,
        content: chunk.text,
        content_type: CONTENT_TYPE,
        links: links(chunk.links),
        attachments: chunk.attachments,
        freshness,
        warnings: answer::warnings(freshness, Vec::new()),
    })
}

fn links(all: Vec<Link>) -> Links {
    let mut links = Links::default();
    for Link { name, fragment, label, target, .. } in all {
        let written = UnresolvedLink { target: name, heading: fragment, display: label };
        match target {
            Some(target) => links.resolved.push(ResolvedLink {
                written,
                note_id: target.note_id,
                path: target.path,
                title: target.title,
            }),
            None => links.unresolved.push(written),
        }
    }
    links
}

fn note(document: Document, freshness: Freshness) -> Note {
    Note {
        id: document.summary.note_id,
        path: document.summary.path,
        title: Some(document.summary.title),
        metadata: document.summary.metadata,
        size: document.content.len() as u64,
        content: document.content,
        content_type: CONTENT_TYPE,
        links: links(document.links),
        attachments: document.attachments,
        freshness,
        warnings: answer::warnings(freshness, Vec::new()),
    }
}

/// Size of a tool result: the reply as an object, and once more as text inside a string.
fn result_bytes(reply: &impl Serialize) -> Result<u64> {
    let text = serde_json::to_string(reply).map_err(|_| Error::internal())?;
    let quoted = serde_json::to_string(&text).map_err(|_| Error::internal())?;
    Ok((text.len() + quoted.len()) as u64)
}

fn note_too_large(allowed_large: bool) -> Error {
    if allowed_large {
        let limit = RESULT_BYTES >> 20;
        return Error::new(
            ErrorCode::NoteTooLarge,
            format!("the note does not fit in an answer of {limit} MiB"),
        )
        .with_hint("read its passages with `get_chunk`");
    }
    let limit = NOTE_BYTES >> 10;
    Error::new(ErrorCode::NoteTooLarge, format!("the note is larger than {limit} KiB"))
        .with_hint("ask again with `allow_large`, or read one passage with `get_chunk`")
}

fn no_note() -> Error {
    Error::new(ErrorCode::NoteNotFound, "no note has that identifier")
        .with_hint("search again; a renamed note has a new identifier")
}
