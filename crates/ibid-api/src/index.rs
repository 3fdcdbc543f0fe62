//! Indexing: what is asked for, and what became of every file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Generation, RelPath, Warning};

/// How much is indexed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexScope {
    /// What changed since last time.
    Changes,
    /// Exactly these paths of one source (and everything below them).
    Paths {
        /// Name of the source.
        source: String,
        /// Paths below it.
        paths: Vec<RelPath>,
    },
    /// Everything, as if for the first time.
    Everything,
}

/// An order to index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexRequest {
    /// How much.
    pub scope: IndexScope,
    /// Whether a failure to embed fails the order.
    #[serde(default)]
    pub require_embeddings: bool,
}

/// Why a file is not searchable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The kind of file is not read.
    UnsupportedType,
    /// It looks like binary data.
    Binary,
    /// Its text is in no encoding that could be told.
    NotUtf8,
    /// It is larger than the limit; its name is searchable, its text is not.
    TooLarge,
    /// It is empty; its name is searchable.
    Empty,
    /// A link that leads out of the source, or nowhere.
    LinkOutside,
    /// Its name cannot be a path here.
    BadName,
    /// Neither a file nor a folder.
    NotAFile,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum FileOutcome {
    /// Searchable.
    Indexed {
        /// How many chunks it has.
        chunks: u32,
    },
    /// Left out for a reason.
    Skipped {
        /// The reason.
        reason: SkipReason,
    },
    /// Could not be read.
    Failed {
        /// What went wrong, without paths.
        reason: String,
    },
}

/// A file and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileReport {
    /// Name of the source.
    pub source: String,
    /// Path below it.
    pub path: String,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: FileOutcome,
}

/// What an order to index did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexReply {
    /// Whether everything was indexed anew, or for the first time.
    pub full: bool,
    /// Files that were added.
    pub added: u64,
    /// Files that were read again because they changed.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that are as they were.
    pub unchanged: u64,
    /// Files left out, each for a reason.
    pub skipped: u64,
    /// Files that could not be read.
    pub failed: u64,
    /// Documents there are now.
    pub documents: u64,
    /// Chunks there are now.
    pub chunks: u64,
    /// The last committed write.
    pub generation: Generation,
    /// At most a hundred warnings, and one more that counts the rest.
    pub warnings: Vec<Warning>,
}
