//! State of a knowledge base: how fresh, how much, and what is running.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Generation, ReindexReason, UpdateError, Warning, WatchError};

/// How the index relates to the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Freshness {
    /// The committed index is the last known state of the files.
    Fresh,
    /// Known changes wait.
    Pending,
    /// A writer runs.
    Updating,
    /// Changes may exist.
    Stale,
    /// The index must not be queried.
    Incompatible,
    /// Nothing is known.
    Unknown,
}

/// Whether search by meaning works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingState {
    /// Turned off.
    Disabled,
    /// Works; all texts have embeddings.
    Ready,
    /// Configured and not working.
    Unavailable,
    /// Works; some texts have no embedding of the current model yet.
    Stale,
    /// The stored embeddings do not fit the model.
    Incompatible,
}

/// The index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// How the index relates to the files.
    pub freshness: Freshness,
    /// Last completed update, in milliseconds since 1970.
    pub last_update_ms: Option<i64>,
    /// Why the last update in the background failed, unless one succeeded since.
    #[serde(default)]
    pub last_error: Option<UpdateFailure>,
    /// Known changes that wait.
    pub pending_changes: u64,
    /// Why a rebuild is needed; empty when it is not.
    pub reindex_reasons: Vec<ReindexReason>,
    /// Whether search by meaning works.
    pub embedding_state: EmbeddingState,
    /// Name of the embedding model.
    pub embedding_model: Option<String>,
    /// Texts that still wait for an embedding.
    pub embeddings_missing: u64,
    /// The last committed write.
    pub generation: Generation,
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

/// An update in the background that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateFailure {
    /// Why.
    pub code: UpdateError,
    /// What went wrong, in one sentence.
    pub message: String,
    /// When, as an ISO 8601 time.
    pub at: String,
}

/// One source folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// Its name.
    pub name: String,
    /// Whether it can be read now.
    pub available: bool,
    /// Files indexed.
    pub indexed: u64,
    /// Files left out.
    pub skipped: u64,
    /// Files that could not be read.
    pub failed: u64,
}

/// Life of the watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WatchState {
    /// Turned off.
    Disabled,
    /// Not there yet.
    Starting,
    /// Proven alive.
    Running,
    /// Lost events; rescans make up for it.
    Degraded,
    /// Ended.
    Stopped,
    /// Cannot run here.
    Unavailable,
}

/// The watcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchStatus {
    /// Its life.
    pub state: WatchState,
    /// Last event, in milliseconds since 1970.
    pub last_event_ms: Option<i64>,
    /// Last proof of life, in milliseconds since 1970.
    pub last_heartbeat_ms: Option<i64>,
    /// Changes that wait for the debounce.
    pub pending: u64,
    /// Events that led out of every source and were dropped.
    #[serde(default)]
    pub events_outside: u64,
    /// Code of the last error.
    pub last_error: Option<WatchError>,
}

/// Git sync.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncStatus {
    /// Whether the schedule runs.
    pub enabled: bool,
    /// Whether it could run.
    pub configured: bool,
    /// Whether one is running now.
    pub running: bool,
    /// Whether one is waiting.
    pub pending: bool,
    /// Last success, in milliseconds since 1970.
    pub last_success_ms: Option<i64>,
    /// Failures since then.
    pub consecutive_failures: u32,
    /// Code of the last error.
    pub last_error: Option<String>,
}

/// Everything about a knowledge base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Version of ibid.
    pub version: String,
    /// The index.
    pub index: IndexStatus,
    /// Its sources.
    pub sources: Vec<SourceStatus>,
    /// The watcher.
    pub watch: WatchStatus,
    /// Git sync.
    pub sync: SyncStatus,
    /// What else to know.
    pub warnings: Vec<Warning>,
}
