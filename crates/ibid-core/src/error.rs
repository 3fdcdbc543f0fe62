//! The one place where errors of the engine's parts become errors that are safe to show.
//!
//! Messages are built here from what is known to be harmless. What the parts say about themselves goes to
//! the log, and only where it holds neither paths nor content.

use ibid_api::{Error, ErrorCode};

use crate::{
    embed::EmbedError,
    ingest::{EmbedRunError, RunError},
    search::SearchError,
    store::StoreError,
};

/// From storage.
pub(crate) fn store(error: StoreError) -> Error {
    // That nothing was indexed yet is how every knowledge base begins.
    if !matches!(error, StoreError::Missing) {
        tracing::warn!(code = store_code(&error).as_str(), "storage failed");
    }
    match error {
        StoreError::Busy => Error::new(ErrorCode::IndexBusy, "another process is writing to the index")
            .with_hint("try again in a moment"),
        StoreError::Corrupt(reason) => {
            tracing::error!(reason, "the record is damaged");
            Error::new(ErrorCode::StoreCorrupt, "the index is damaged")
                .with_hint("move the data directory away and index again; the files themselves are untouched")
        }
        StoreError::TooNew { found, known } => Error::new(
            ErrorCode::StoreTooNew,
            format!("the index has format {found}, this version of ibid knows up to {known}"),
        )
        .with_hint("use a newer version of ibid, or another data directory"),
        StoreError::Full => Error::new(ErrorCode::StorageUnavailable, "the disk is full")
            .with_hint("make room and try again; nothing that was stored is lost"),
        StoreError::ReadOnly => {
            Error::new(ErrorCode::StorageUnavailable, "the data directory cannot be written")
                .with_hint("check its permissions, or choose another data directory")
        }
        StoreError::Missing => Error::new(ErrorCode::IndexNotFound, "there is no index yet")
            .with_hint("run `ibid index` to make one"),
        StoreError::Other(reason) => {
            tracing::error!(reason, "storage failed in an unexpected way");
            Error::internal()
        }
    }
}

fn store_code(error: &StoreError) -> ErrorCode {
    match error {
        StoreError::Busy => ErrorCode::IndexBusy,
        StoreError::Corrupt(_) => ErrorCode::StoreCorrupt,
        StoreError::TooNew { .. } => ErrorCode::StoreTooNew,
        StoreError::Full | StoreError::ReadOnly => ErrorCode::StorageUnavailable,
        StoreError::Missing => ErrorCode::IndexNotFound,
        StoreError::Other(_) => ErrorCode::Internal,
    }
}

/// From searching.
pub(crate) fn search(error: SearchError) -> Error {
    match error {
        SearchError::Store(error) => store(error),
        SearchError::Refused(error) => error,
    }
}

/// From indexing.
pub(crate) fn run(error: RunError) -> Error {
    match error {
        RunError::Store(error) => store(error),
        RunError::Cancelled => cancelled(),
        RunError::NoSource => Error::new(ErrorCode::VaultNotConfigured, "no source folder is configured")
            .with_hint("name a folder in the configuration"),
        RunError::UnknownSource => Error::new(ErrorCode::NotFound, "no source has this name")
            .with_hint("the status lists the sources"),
        RunError::Unavailable => {
            Error::new(ErrorCode::VaultNotConfigured, "the source folder is not there or cannot be read")
                .with_hint("check that it exists; what is indexed of it was kept")
        }
    }
}

/// From embedding what waits.
pub(crate) fn embed_run(error: EmbedRunError) -> Error {
    match error {
        EmbedRunError::Store(error) => store(error),
        EmbedRunError::Model(error) => embed(&error),
        EmbedRunError::Cancelled => cancelled(),
    }
}

/// From a model.
pub(crate) fn embed(error: &EmbedError) -> Error {
    tracing::warn!(%error, "embedding failed");
    let hint = "search by words keeps working";
    match error {
        EmbedError::Config(reason) => Error::new(ErrorCode::EmbeddingConfigInvalid, reason.clone()),
        EmbedError::Damaged(what) => {
            Error::new(ErrorCode::EmbeddingFailed, format!("the model data is damaged: {what}"))
                .with_hint(hint)
        }
        EmbedError::Unreachable(_) => {
            Error::new(ErrorCode::EmbeddingFailed, "the embedding endpoint does not answer").with_hint(hint)
        }
        EmbedError::OtherLength { .. } => Error::new(
            ErrorCode::EmbeddingFailed,
            "the embedding endpoint gives vectors of another length than those stored",
        )
        .with_hint("serve the model it was before, or run `ibid reindex`; search by words keeps working"),
        EmbedError::BadAnswer(what) => {
            let message = format!("the embedding endpoint gave an unusable answer: {what}");
            Error::new(ErrorCode::EmbeddingFailed, message).with_hint(hint)
        }
    }
}

fn cancelled() -> Error {
    Error::new(ErrorCode::Cancelled, "the work was stopped; what was done until then is kept")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_storage_says_about_itself_is_not_shown() {
        for error in [StoreError::Corrupt("/secret/path".to_owned()), StoreError::Other("/secret".to_owned())]
        {
            let shown = store(error);
            assert!(!format!("{shown:?}").contains("secret"));
        }
    }

    #[test]
    fn every_storage_failure_keeps_its_code() {
        for (error, code) in [
            (StoreError::Busy, ErrorCode::IndexBusy),
            (StoreError::Corrupt(String::new()), ErrorCode::StoreCorrupt),
            (StoreError::TooNew { found: 2, known: 1 }, ErrorCode::StoreTooNew),
            (StoreError::Full, ErrorCode::StorageUnavailable),
            (StoreError::ReadOnly, ErrorCode::StorageUnavailable),
            (StoreError::Missing, ErrorCode::IndexNotFound),
            (StoreError::Other(String::new()), ErrorCode::Internal),
        ] {
            assert_eq!(store_code(&error), code);
            assert_eq!(store(error).code, code);
        }
    }
}
