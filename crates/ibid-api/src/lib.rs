//! The vocabulary of ibid: every type that crosses a process border, and the service trait.
//!
//! The rule of this crate: no I/O, and no logic beyond validation. The types here are the wire types; there
//! is no second set.

mod codes;
mod document;
mod engine;
mod error;
mod id;
mod index;
mod page;
mod path;
mod search;
mod status;
mod warning;

pub use codes::{ReindexReason, UpdateError, WarningCode, WatchError};
pub use document::{
    Attachment, AttachmentBody, Chunk, Document, DocumentFilter, DocumentKind, DocumentSummary, Heading,
    LineRange, Link, LinkTarget, Metadata,
};
pub use engine::Engine;
pub use error::{Error, ErrorCode, Result};
pub use id::{ChunkRef, ContentHash, DocumentId, DocumentKey, Generation, NoteId, Space};
pub use index::{FileOutcome, FileReport, IndexReply, IndexRequest, IndexScope, SkipReason};
pub use page::{Page, Paging};
pub use path::{RelPath, RelPathError};
pub use search::{
    Explain, Filter, Hit, LegScore, MatchReason, Mode, RelatedRequest, SearchReply, SearchRequest, Snippet,
};
pub use status::{
    EmbeddingState, Freshness, IndexStatus, SourceStatus, Status, SyncStatus, UpdateFailure, WatchState,
    WatchStatus,
};
pub use warning::{MAX_WARNINGS, Warning};
