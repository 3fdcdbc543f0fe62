//! `Error`, and the closed table that gives each code its meaning on every transport.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Result of every service call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])* $variant:ident $wire:literal $http:literal $rpc:literal $exit:literal;)*) => {
        /// Stable error codes. A code cannot exist without its HTTP status, JSON-RPC code and exit code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorCode { $($(#[doc = $doc])* #[serde(rename = $wire)] $variant),* }

        impl ErrorCode {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
            /// The name on the wire.
            pub const fn as_str(self) -> &'static str { match self { $(Self::$variant => $wire),* } }
            /// Status of an HTTP answer.
            pub const fn http_status(self) -> u16 { match self { $(Self::$variant => $http),* } }
            /// Code of a JSON-RPC error.
            pub const fn rpc_code(self) -> i32 { match self { $(Self::$variant => $rpc),* } }
            /// Exit code of the command line.
            pub const fn exit_code(self) -> u8 { match self { $(Self::$variant => $exit),* } }
            /// What the code means, for the reference.
            pub const fn about(self) -> &'static str { match self { $(Self::$variant => concat!($($doc),*)),* } }
        }
    };
}

impl ErrorCode {
    /// The name in a JSON-RPC error: there, everything too large for an answer has one name.
    pub const fn rpc_name(self) -> &'static str {
        match self {
            Self::NoteTooLarge | Self::AttachmentTooLarge => Self::QueryTooLarge.as_str(),
            other => other.as_str(),
        }
    }
}

// Exit codes: 1 failure while running, 2 bad input or configuration, 3 not authorised, 4 not found,
// 5 already in progress, 70 a defect in ibid itself.
error_codes! {
    //                                                              HTTP  JSON-RPC exit
    /// An argument is missing, unknown or of the wrong type.
    InvalidInput           "INVALID_INPUT"                           400  -32602   2;
    /// The query is empty, blank or too long.
    InvalidQuery           "INVALID_QUERY"                           400  -32000   2;
    /// The search mode is unknown.
    InvalidMode            "INVALID_MODE"                            400  -32000   2;
    /// The limit is out of range.
    InvalidLimit           "INVALID_LIMIT"                           400  -32000   2;
    /// The identifier is malformed.
    InvalidId              "INVALID_ID"                              400  -32000   2;
    /// The type is unknown.
    InvalidType            "INVALID_TYPE"                            400  -32000   2;
    /// The path is empty, absolute, climbs out, or is otherwise malformed.
    InvalidPath            "INVALID_PATH"                            400  -32000   2;
    /// A parameter has a value that is not allowed.
    InvalidParameter       "INVALID_PARAMETER"                       400  -32000   2;
    /// The request body is malformed or has unknown fields.
    InvalidRequest         "INVALID_REQUEST"                         400  -32600   2;
    /// A configuration value is invalid or unknown.
    ConfigInvalid          "CONFIG_INVALID"                          400  -32000   2;
    /// A key is needed before the server may listen beyond loopback.
    ApiKeyRequired         "API_KEY_REQUIRED"                        400  -32000   2;
    /// The request carries no valid key.
    Unauthorized           "UNAUTHORIZED"                            401  -32020   3;
    /// The MCP endpoint needs a key and none was given.
    AuthRequired           "AUTH_REQUIRED"                           401  -32020   3;
    /// The key given to the MCP endpoint is wrong.
    AuthFailed             "AUTH_FAILED"                             403  -32021   3;
    /// The request came with a Host or Origin that is not allowed.
    Forbidden              "FORBIDDEN"                               403  -32000   3;
    /// Nothing was found under that name.
    NotFound               "NOT_FOUND"                               404  -32004   4;
    /// No index exists yet.
    IndexNotFound          "INDEX_NOT_FOUND"                         409  -32001   4;
    /// The index does not fit the configuration and must be rebuilt.
    IndexIncompatible      "INDEX_INCOMPATIBLE"                      409  -32002   1;
    /// The path resolves outside the source.
    PathOutsideVault       "PATH_OUTSIDE_VAULT"                      403  -32003   2;
    /// No note has that identifier.
    NoteNotFound           "NOTE_NOT_FOUND"                          404  -32004   4;
    /// No chunk has that identifier.
    ChunkNotFound          "CHUNK_NOT_FOUND"                         404  -32005   4;
    /// No attachment has that path.
    AttachmentNotFound     "ATTACHMENT_NOT_FOUND"                    404  -32006   4;
    /// Search by meaning is not available.
    EmbeddingUnavailable   "EMBEDDING_UNAVAILABLE"                   503  -32007   1;
    /// The answer would be larger than allowed.
    QueryTooLarge          "QUERY_TOO_LARGE"                         413  -32008   1;
    /// The note is larger than allowed without asking for it.
    NoteTooLarge           "NOTE_TOO_LARGE"                          413  -32008   1;
    /// The attachment is larger than allowed without asking for it.
    AttachmentTooLarge     "ATTACHMENT_TOO_LARGE"                    413  -32008   1;
    /// The file may not be served as an attachment.
    AttachmentNotAllowed   "ATTACHMENT_NOT_ALLOWED"                  403  -32009   2;
    /// The call took longer than allowed.
    Timeout                "TIMEOUT"                                 504  -32012   1;
    /// No source folder is configured.
    VaultNotConfigured     "VAULT_NOT_CONFIGURED"                    503  -32013   2;
    /// Another process is writing to the index.
    IndexBusy              "INDEX_BUSY"                              409  -32000   5;
    /// Two notes have the same identifier.
    IdCollision            "ID_COLLISION"                            409  -32000   1;
    /// The embedding configuration is invalid.
    EmbeddingConfigInvalid "EMBEDDING_CONFIG_INVALID"                400  -32000   2;
    /// Making embeddings failed.
    EmbeddingFailed        "EMBEDDING_FAILED"                        503  -32000   1;
    /// The knowledge base's record is damaged.
    StoreCorrupt           "STORE_CORRUPT"                           500  -32000   1;
    /// The knowledge base was written by a newer version of ibid.
    StoreTooNew            "STORE_TOO_NEW"                           409  -32000   1;
    /// The disk is full, read-only or not accessible.
    StorageUnavailable     "STORAGE_UNAVAILABLE"                     507  -32000   1;
    /// The server or engine cannot be reached.
    ServerUnavailable      "SERVER_UNAVAILABLE"                      503  -32000   1;
    /// The call was cancelled by its caller.
    Cancelled              "CANCELLED"                               499  -32000   1;
    /// A sync is already running.
    SyncInProgress         "SYNC_IN_PROGRESS"                        409  -32000   5;
    /// Git sync is not configured.
    SyncNotConfigured      "SYNC_NOT_CONFIGURED"                     400  -32000   2;
    /// The git worktree has uncommitted or untracked files.
    SyncWorktreeDirty      "SYNC_WORKTREE_DIRTY"                     409  -32000   1;
    /// The git worktree has conflicts, or a merge, rebase, cherry-pick or revert is under way.
    SyncConflict           "SYNC_CONFLICT"                           409  -32000   1;
    /// The git repository is not on a branch.
    SyncDetachedHead       "SYNC_DETACHED_HEAD"                      409  -32000   1;
    /// The remote branch is not a fast-forward of the local one.
    SyncNonFastForward     "SYNC_NON_FAST_FORWARD"                   409  -32000   1;
    /// Git is not installed or not a repository.
    SyncGitUnavailable     "SYNC_GIT_UNAVAILABLE"                    409  -32000   1;
    /// Git could not authenticate to the remote.
    SyncAuthFailed         "SYNC_AUTH_FAILED"                        409  -32000   1;
    /// The remote could not be reached.
    SyncNetworkFailed      "SYNC_NETWORK_FAILED"                     409  -32000   1;
    /// The sync took longer than allowed.
    SyncTimeout            "SYNC_TIMEOUT"                            409  -32000   1;
    /// The configured branch does not exist on the remote.
    SyncRemoteRefMissing   "SYNC_REMOTE_REF_MISSING"                 409  -32000   1;
    /// The remote address is not acceptable.
    SyncInvalidRemoteUrl   "SYNC_INVALID_REMOTE_URL"                 400  -32000   2;
    /// The remote address contains credentials.
    SyncRemoteUrlContainsCredentials "SYNC_REMOTE_URL_CONTAINS_CREDENTIALS" 400 -32000 2;
    /// Git failed for another reason.
    SyncGitFailed          "SYNC_GIT_FAILED"                         409  -32000   1;
    /// Webhooks are not enabled.
    WebhookDisabled        "WEBHOOK_DISABLED"                        403  -32000   1;
    /// Webhooks are enabled without a secret.
    WebhookSecretNotConfigured "WEBHOOK_SECRET_NOT_CONFIGURED"       503  -32000   1;
    /// The webhook secret is wrong.
    WebhookSecretInvalid   "WEBHOOK_SECRET_INVALID"                  401  -32000   3;
    /// The webhook body is too large.
    WebhookBodyTooLarge    "WEBHOOK_BODY_TOO_LARGE"                  413  -32000   1;
    /// Too many webhooks in a minute.
    WebhookRateLimited     "WEBHOOK_RATE_LIMITED"                    429  -32000   1;
    /// A webhook asks for a sync that nobody configured.
    WebhookSyncNotConfigured "WEBHOOK_SYNC_NOT_CONFIGURED"           409  -32000   2;
    /// A webhook is a POST.
    WebhookInvalidMethod   "WEBHOOK_INVALID_METHOD"                  405  -32000   2;
    /// Handling a webhook failed in a way that is not expected; the log has more.
    WebhookUnknownError    "WEBHOOK_UNKNOWN_ERROR"                   500  -32000   1;
    /// A defect in ibid; the log has more.
    Internal               "INTERNAL_ERROR"                          500  -32011  70;
}

/// An error that is safe to show: it holds nothing its caller did not already know.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[error("{message}")]
pub struct Error {
    /// What kind of failure it is.
    pub code: ErrorCode,
    /// What went wrong, in one sentence.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Typed facts about the failure, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Error {
    /// An error with a message and nothing else.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, details: None }
    }

    /// Adds what to do next.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds typed facts.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// A defect: the details belong in the log, never in the answer.
    pub fn internal() -> Self {
        Self::new(ErrorCode::Internal, "something went wrong inside ibid; the log has more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_names_are_unique_and_match_serde() {
        let mut seen = std::collections::BTreeSet::new();
        for &code in ErrorCode::ALL {
            assert!(seen.insert(code.as_str()), "{} twice", code.as_str());
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(!code.about().trim().is_empty());
        }
    }
}
