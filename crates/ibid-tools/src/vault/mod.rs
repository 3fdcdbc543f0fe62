//! Toolset `vault`: a folder of Markdown notes, found and read in stages, never written.
//!
//! Lists are compact; a body comes only to whoever asks for it. Every answer says how fresh it is. Failures
//! are JSON-RPC errors and hold nothing of notes, queries or folders.

mod answer;
mod attachment;
mod find;
mod path;
mod read;
mod update;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ibid_api::{Engine, Error, ErrorCode, Result, Status};

use crate::{Envelope, ErrorStyle, Toolset, UnknownArguments};

pub use attachment::{AttachmentReply, DownloadLimit, read_attachment};
pub use update::said_by_update;

/// Notes up to this many bytes are returned without being asked for with `allow_large`.
pub const NOTE_BYTES: u64 = 200 * 1024;
/// Attachments up to this many bytes are downloaded without being asked for with `allow_large`.
pub const ATTACHMENT_BYTES: u64 = 10 * 1024 * 1024;
/// No tool result is larger than this, whatever is asked for.
pub const RESULT_BYTES: u64 = 50 * 1024 * 1024;
/// Longest query, in characters.
pub const QUERY_CHARS: usize = 1_000;

const INSTRUCTIONS: &str = "Read-only retrieval from a vault of Markdown notes, in stages: `search` (or \
    `related`, from a note or chunk already known) gives short candidates; `get_chunk` reads one passage; \
    `get_note` reads a whole note; `get_attachment` describes or downloads a file beside the notes. \
    `freshness` and `warnings` of an answer say whether files may have changed since they were indexed. \
    Identifiers change when a file is renamed: take them from a recent answer.";

const ARGUMENT_CODES: &[(&str, ErrorCode)] = &[
    ("query", ErrorCode::InvalidQuery),
    ("mode", ErrorCode::InvalidMode),
    ("limit", ErrorCode::InvalidLimit),
    ("note_id", ErrorCode::InvalidId),
    ("id", ErrorCode::InvalidId),
    ("type", ErrorCode::InvalidType),
    ("vault_relative_path", ErrorCode::InvalidPath),
];

/// The toolset, on any engine.
pub fn toolset(engine: Arc<dyn Engine>) -> Toolset {
    let vault = Arc::new(Vault { engine, configured: AtomicBool::new(false) });
    Toolset::build("vault", vault)
        .instructions(INSTRUCTIONS)
        .errors(ErrorStyle::JsonRpc)
        .unknown_arguments(UnknownArguments::Ignore)
        .envelope(Envelope::DataAndWarnings)
        .argument_codes(ARGUMENT_CODES, ErrorCode::InvalidParameter)
        .tool(find::SEARCH, find::search)
        .tool(read::GET_NOTE, read::get_note)
        .tool(read::GET_CHUNK, read::get_chunk)
        .tool(attachment::GET_ATTACHMENT, attachment::get_attachment)
        .tool(find::RELATED, find::related)
        .finish()
}

/// What every tool works on.
struct Vault {
    engine: Arc<dyn Engine>,
    /// Whether a source was seen; sources do not go away while a process runs.
    configured: AtomicBool,
}

impl Vault {
    /// The engine, once it is known to have a source.
    async fn engine(&self) -> Result<&dyn Engine> {
        if !self.configured.load(Ordering::Relaxed) {
            self.status().await?;
        }
        Ok(self.engine.as_ref())
    }

    /// The state of the vault; an error when there is none.
    async fn status(&self) -> Result<Status> {
        let status = self.engine.status().await?;
        if status.sources.is_empty() {
            return Err(not_configured());
        }
        self.configured.store(true, Ordering::Relaxed);
        Ok(status)
    }
}

/// There is no folder to read.
pub fn not_configured() -> Error {
    Error::new(ErrorCode::VaultNotConfigured, "no vault is configured").with_hint(
        "name the folder of notes with `vault.root` in the configuration or with \
         `VAULT_AGENT_VAULT_ROOT`, then start again",
    )
}

/// The index does not fit the configuration.
fn incompatible() -> Error {
    Error::new(ErrorCode::IndexIncompatible, "the index does not fit the configuration any more")
        .with_hint("run `ibid reindex` or POST /reindex")
}

#[cfg(test)]
mod tests;
