//! Every code of the contract has its place: an error, a code of a table, or the list of those never answered.

use std::collections::BTreeSet;

use ibid_api::{ErrorCode, ReindexReason, UpdateError, WarningCode, WatchError};

const ERRORS: &str = "INDEX_NOT_FOUND INDEX_INCOMPATIBLE PATH_OUTSIDE_VAULT NOTE_NOT_FOUND CHUNK_NOT_FOUND \
    ATTACHMENT_NOT_FOUND EMBEDDING_UNAVAILABLE QUERY_TOO_LARGE NOTE_TOO_LARGE ATTACHMENT_TOO_LARGE \
    ATTACHMENT_NOT_ALLOWED INTERNAL_ERROR TIMEOUT VAULT_NOT_CONFIGURED AUTH_REQUIRED AUTH_FAILED INVALID_QUERY \
    INVALID_MODE INVALID_LIMIT INVALID_ID INVALID_TYPE INVALID_PATH INVALID_PARAMETER INVALID_REQUEST \
    CONFIG_INVALID API_KEY_REQUIRED INDEX_BUSY ID_COLLISION UNAUTHORIZED SERVER_UNAVAILABLE \
    EMBEDDING_CONFIG_INVALID EMBEDDING_FAILED \
    SYNC_IN_PROGRESS SYNC_WORKTREE_DIRTY SYNC_DETACHED_HEAD SYNC_NON_FAST_FORWARD SYNC_CONFLICT \
    SYNC_GIT_UNAVAILABLE SYNC_AUTH_FAILED SYNC_NETWORK_FAILED SYNC_TIMEOUT SYNC_REMOTE_REF_MISSING \
    SYNC_INVALID_REMOTE_URL SYNC_REMOTE_URL_CONTAINS_CREDENTIALS SYNC_GIT_FAILED SYNC_NOT_CONFIGURED \
    WEBHOOK_DISABLED WEBHOOK_SECRET_NOT_CONFIGURED WEBHOOK_SECRET_INVALID WEBHOOK_BODY_TOO_LARGE \
    WEBHOOK_SYNC_NOT_CONFIGURED WEBHOOK_SYNC_IN_PROGRESS WEBHOOK_RATE_LIMITED WEBHOOK_INVALID_METHOD \
    WEBHOOK_UNKNOWN_ERROR";

const UPDATES: &str = "INDEX_UPDATE_FAILED INDEX_WRITER_BUSY INDEX_REINDEX_REQUIRED INDEX_SCHEMA_INCOMPATIBLE \
    INDEX_CONFIG_CHANGED INDEX_EXCLUDES_CHANGED INDEX_CHUNKING_CHANGED INDEX_EMBEDDINGS_STALE \
    INDEX_EMBEDDING_DIMENSION_MISMATCH INDEX_VAULT_IDENTITY_CHANGED INDEX_ID_COLLISION INDEX_FILE_READ_FAILED \
    INDEX_FILE_NOT_UTF8 INDEX_FILE_BINARY INDEX_FILE_TOO_LARGE INDEX_FRONTMATTER_PARSE_FAILED";

const WATCHER: &str = "WATCHER_UNAVAILABLE WATCHER_PERMISSION_DENIED WATCHER_TOO_MANY_FILES \
    WATCHER_EVENT_OVERFLOW WATCHER_PATH_OUTSIDE_VAULT WATCHER_UNKNOWN_ERROR";

const WARNINGS: &str = "INDEX_STALE INDEX_PENDING INDEX_UPDATING INDEX_UNKNOWN EMBEDDING_UNAVAILABLE \
    WARNINGS_TRUNCATED SERVER_UNREACHABLE FILE_NOT_UTF8 FILE_BINARY FILE_TOO_LARGE_FOR_INDEXING \
    FRONTMATTER_PARSE_FAILED FILE_READ_FAILED";

/// The reasons are in `docs/decisions/0006-codes-of-the-vault.md`.
const NEVER_ANSWERED: &[&str] = &["WEBHOOK_SYNC_IN_PROGRESS"];

macro_rules! names {
    ($($table:ident),*) => { [$($table::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>()),*].concat() };
}

#[test]
fn every_code_of_the_contract_has_its_place() {
    let known: BTreeSet<&str> =
        names!(ErrorCode, WarningCode, ReindexReason, UpdateError, WatchError).into_iter().collect();
    for code in [ERRORS, UPDATES, WATCHER, WARNINGS].iter().flat_map(|codes| codes.split_whitespace()) {
        assert_ne!(known.contains(code), NEVER_ANSWERED.contains(&code), "{code}");
    }
    let decision = include_str!("../../../../../docs/decisions/0006-codes-of-the-vault.md");
    for code in NEVER_ANSWERED {
        assert!(decision.contains(code), "the decision says why {code} is never answered");
    }
}

#[test]
fn each_kind_of_code_is_in_its_table() {
    let check = |codes: &str, tables: &[&str]| {
        for code in codes.split_whitespace().filter(|code| !NEVER_ANSWERED.contains(code)) {
            assert!(tables.contains(&code), "{code}");
        }
    };
    check(ERRORS, &names!(ErrorCode));
    check(UPDATES, &names!(WarningCode, ReindexReason, UpdateError));
    check(WATCHER, &names!(WatchError));
    check(WARNINGS, &names!(WarningCode));
}
