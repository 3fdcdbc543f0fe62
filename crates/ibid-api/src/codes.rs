//! The codes that are no errors of a call: of warnings, of reasons to rebuild, of the watcher, and of updates
//! in the background. Each table is closed: a code cannot exist without a sentence about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $doc:literal])* $variant:ident $wire:literal;)*
    }) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name { $($(#[doc = $doc])* #[serde(rename = $wire)] $variant),* }

        impl $name {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
            /// The name on the wire.
            pub const fn as_str(self) -> &'static str { match self { $(Self::$variant => $wire),* } }
            /// What the code means, for the reference.
            pub const fn about(self) -> &'static str { match self { $(Self::$variant => concat!($($doc),*)),* } }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

codes! {
    /// Codes of warnings: what to know about an answer that is not an error.
    WarningCode {
        /// Files may have changed since the index was made.
        IndexStale "INDEX_STALE";
        /// Known changes wait to be indexed.
        IndexPending "INDEX_PENDING";
        /// The index is being written.
        IndexUpdating "INDEX_UPDATING";
        /// It is not known whether the index is current.
        IndexUnknown "INDEX_UNKNOWN";
        /// The search index lags behind the record and is being caught up.
        IndexCatchingUp "INDEX_CATCHING_UP";
        /// Meaning was asked for and is not available.
        EmbeddingUnavailable "EMBEDDING_UNAVAILABLE";
        /// Some texts have no embedding yet.
        EmbeddingIncomplete "EMBEDDING_INCOMPLETE";
        /// The model before the configured one answers until all texts have an embedding of the new one.
        IndexEmbeddingsStale "INDEX_EMBEDDINGS_STALE";
        /// The model gives vectors of another length than those stored under its name; words answer.
        IndexEmbeddingDimensionMismatch "INDEX_EMBEDDING_DIMENSION_MISMATCH";
        /// Nothing matched as typed; similar words were used.
        QueryCorrected "QUERY_CORRECTED";
        /// Only so many warnings are shown; `details.omitted` counts the others.
        WarningsTruncated "WARNINGS_TRUNCATED";
        /// The server cannot be reached.
        ServerUnreachable "SERVER_UNREACHABLE";
        /// A file is not UTF-8.
        FileNotUtf8 "FILE_NOT_UTF8";
        /// A file is binary.
        FileBinary "FILE_BINARY";
        /// A file is too large.
        FileTooLargeForIndexing "FILE_TOO_LARGE_FOR_INDEXING";
        /// Frontmatter could not be read; the text below it was.
        FrontmatterParseFailed "FRONTMATTER_PARSE_FAILED";
        /// A file could not be read.
        FileReadFailed "FILE_READ_FAILED";
        /// `FILE_NOT_UTF8`, as an update of the vault's index says it.
        IndexFileNotUtf8 "INDEX_FILE_NOT_UTF8";
        /// `FILE_BINARY`, as an update of the vault's index says it.
        IndexFileBinary "INDEX_FILE_BINARY";
        /// `FILE_TOO_LARGE_FOR_INDEXING`, as an update of the vault's index says it.
        IndexFileTooLarge "INDEX_FILE_TOO_LARGE";
        /// `FRONTMATTER_PARSE_FAILED`, as an update of the vault's index says it.
        IndexFrontmatterParseFailed "INDEX_FRONTMATTER_PARSE_FAILED";
        /// `FILE_READ_FAILED`, as an update of the vault's index says it.
        IndexFileReadFailed "INDEX_FILE_READ_FAILED";
        /// A source folder could not be read.
        SourceUnavailable "SOURCE_UNAVAILABLE";
    }
}

codes! {
    /// Why an index must be made anew.
    ReindexReason {
        /// Another version of ibid made it, and would make it differently now.
        SchemaIncompatible "INDEX_SCHEMA_INCOMPATIBLE";
        /// Texts are cut into passages of another size.
        ChunkingChanged "INDEX_CHUNKING_CHANGED";
        /// Which files are read, or how, was configured differently.
        ConfigChanged "INDEX_CONFIG_CHANGED";
        /// The source is another folder than the one that was indexed.
        VaultIdentityChanged "INDEX_VAULT_IDENTITY_CHANGED";
        /// Other files are excluded.
        ExcludesChanged "INDEX_EXCLUDES_CHANGED";
        /// The model gives vectors of another length than those stored under its name. Words answer meanwhile.
        EmbeddingDimensionMismatch "INDEX_EMBEDDING_DIMENSION_MISMATCH";
        /// It does not fit, for a reason that is not told apart.
        ReindexRequired "INDEX_REINDEX_REQUIRED";
    }
}

codes! {
    /// What is wrong with the watcher.
    WatchError {
        /// Events cannot be had here, or a source folder is not there.
        Unavailable "WATCHER_UNAVAILABLE";
        /// A folder may not be watched by this user.
        PermissionDenied "WATCHER_PERMISSION_DENIED";
        /// The system allows fewer watches than there are folders.
        TooManyFiles "WATCHER_TOO_MANY_FILES";
        /// Events were lost; everything is looked at to make up for it.
        EventOverflow "WATCHER_EVENT_OVERFLOW";
        /// An event led out of every source and was dropped.
        PathOutsideVault "WATCHER_PATH_OUTSIDE_VAULT";
        /// It fails for another reason; the log has more.
        UnknownError "WATCHER_UNKNOWN_ERROR";
    }
}

codes! {
    /// Why the last update in the background failed.
    UpdateError {
        /// It failed; the message says more, and the next one tries again.
        UpdateFailed "INDEX_UPDATE_FAILED";
        /// Another writer kept the index for longer than is waited for.
        WriterBusy "INDEX_WRITER_BUSY";
        /// Two notes have the same identifier.
        IdCollision "INDEX_ID_COLLISION";
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    macro_rules! check {
        ($table:ident) => {
            let mut seen = BTreeSet::new();
            for &code in $table::ALL {
                assert!(seen.insert(code.as_str()), "{code} twice");
                assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
                assert!(!code.about().trim().is_empty());
            }
        };
    }

    #[test]
    fn wire_names_are_unique_in_each_table_and_match_serde() {
        check!(WarningCode);
        check!(ReindexReason);
        check!(WatchError);
        check!(UpdateError);
    }
}
