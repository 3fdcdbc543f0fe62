//! Errors of SQLite, Tantivy and the file system as errors of storage, without paths or content.

use std::io;

use rusqlite::ErrorCode;
use tantivy::{
    TantivyError,
    directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError},
};

use crate::store::StoreError;

/// What to do about a record that cannot be read.
const RESTORE: &str = "restore the data directory from a backup, or move it away and index again";

/// A damaged record; the file is left as it is.
pub(super) fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(format!("{what}; {RESTORE}"))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let (rusqlite::Error::SqliteFailure(code, _) | rusqlite::Error::SqlInputError { error: code, .. }) =
            &error
        else {
            return corrupt("a stored value has an unexpected form");
        };
        match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => Self::ReadOnly,
            ErrorCode::DatabaseCorrupt => corrupt("the database is malformed"),
            ErrorCode::NotADatabase => corrupt("the file is not a database"),
            // The text of the library may hold a path, its code never does.
            _ => Self::Other(format!("sqlite error {}: {code}", code.extended_code)),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(_: serde_json::Error) -> Self {
        corrupt("a stored value has an unexpected form")
    }
}

/// An error of the file system.
pub(super) fn file(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly,
        kind => StoreError::Other(format!("file error: {kind}")),
    }
}

/// An error of the lexical index.
pub(super) fn index(error: &TantivyError) -> StoreError {
    match error {
        TantivyError::IoError(io) => file(io),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. })
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. })
        | TantivyError::LockFailure(LockError::IoError(io_error), _) => file(io_error),
        TantivyError::LockFailure(LockError::LockBusy, _) => StoreError::Busy,
        TantivyError::DataCorruption(_) => StoreError::Other("the lexical index is damaged".into()),
        TantivyError::IncompatibleIndex(_) => {
            StoreError::Other("the lexical index is of another version".into())
        }
        TantivyError::ErrorInThread(_) => StoreError::Other("writing the lexical index failed".into()),
        _ => StoreError::Other("the lexical index cannot be used".into()),
    }
}
