//! How an update of the index speaks of files that it could not read as they are.

use ibid_api::{Warning, WarningCode};

/// Warnings of indexing as an incremental update says them; a full one says them as they are.
pub fn said_by_update(mut warnings: Vec<Warning>) -> Vec<Warning> {
    for warning in &mut warnings {
        warning.code = match warning.code {
            WarningCode::FileReadFailed => WarningCode::IndexFileReadFailed,
            WarningCode::FileNotUtf8 => WarningCode::IndexFileNotUtf8,
            WarningCode::FileBinary => WarningCode::IndexFileBinary,
            WarningCode::FileTooLargeForIndexing => WarningCode::IndexFileTooLarge,
            WarningCode::FrontmatterParseFailed => WarningCode::IndexFrontmatterParseFailed,
            other => other,
        };
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_files_is_said_in_the_words_of_an_update_and_the_rest_as_it_is() {
        for (engine, update) in [
            (WarningCode::FileReadFailed, "INDEX_FILE_READ_FAILED"),
            (WarningCode::FileNotUtf8, "INDEX_FILE_NOT_UTF8"),
            (WarningCode::FileBinary, "INDEX_FILE_BINARY"),
            (WarningCode::FileTooLargeForIndexing, "INDEX_FILE_TOO_LARGE"),
            (WarningCode::FrontmatterParseFailed, "INDEX_FRONTMATTER_PARSE_FAILED"),
            (WarningCode::SourceUnavailable, "SOURCE_UNAVAILABLE"),
            (WarningCode::WarningsTruncated, "WARNINGS_TRUNCATED"),
        ] {
            let said = said_by_update(vec![Warning::new(engine, "a sentence")]);
            assert_eq!((said[0].code.as_str(), said[0].message.as_str()), (update, "a sentence"));
        }
    }
}
