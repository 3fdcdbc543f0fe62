//! `Tally`: what a run did, file by file, and the warnings it leaves.

use ibid_api::{FileOutcome, MAX_WARNINGS, SkipReason, Warning, WarningCode};
use serde_json::json;

/// Counts of a run. Each file that was found is in exactly one of the first five.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) unchanged: u64,
    pub(crate) skipped: u64,
    pub(crate) failed: u64,
    pub(crate) removed: u64,
    /// Files among the unchanged that were read to be sure.
    pub(crate) verified: u64,
    warnings: Vec<Warning>,
    /// More than an answer shows are only counted.
    more_warnings: u64,
}

impl Tally {
    /// A file that is as it was.
    pub(crate) fn keep(&mut self, outcome: &FileOutcome) {
        self.count(outcome, |tally| &mut tally.unchanged);
    }

    /// A file that was written.
    pub(crate) fn write(&mut self, path: &str, outcome: &FileOutcome, known: bool) {
        self.count(outcome, |tally| if known { &mut tally.changed } else { &mut tally.added });
        let (code, message) = match outcome {
            FileOutcome::Skipped { reason: SkipReason::NotUtf8 } => {
                (WarningCode::FileNotUtf8, "a file is not UTF-8 and was left out")
            }
            FileOutcome::Skipped { reason: SkipReason::Binary } => {
                (WarningCode::FileBinary, "a file is binary and was left out")
            }
            FileOutcome::Skipped { reason: SkipReason::TooLarge } => {
                (WarningCode::FileTooLargeForIndexing, "a file is too large; only its name can be found")
            }
            FileOutcome::Failed { .. } => (WarningCode::FileReadFailed, "a file could not be read"),
            FileOutcome::Indexed { .. } | FileOutcome::Skipped { .. } => return,
        };
        self.warn(Warning::new(code, message), Some(path));
    }

    /// Adds what another one counted.
    pub(crate) fn add(&mut self, mut other: Self) {
        self.added += other.added;
        self.changed += other.changed;
        self.unchanged += other.unchanged;
        self.skipped += other.skipped;
        self.failed += other.failed;
        self.removed += other.removed;
        self.verified += other.verified;
        for warning in std::mem::take(&mut other.warnings) {
            self.warn(warning, None);
        }
        self.more_warnings += other.more_warnings;
    }

    /// Something to know, about a file where one is given.
    pub(crate) fn warn(&mut self, mut warning: Warning, path: Option<&str>) {
        if self.warnings.len() >= MAX_WARNINGS {
            self.more_warnings += 1;
            return;
        }
        if let (None, Some(path)) = (&warning.details, path) {
            warning.details = Some(json!({ "path": path }));
        }
        self.warnings.push(warning);
    }

    /// The warnings, and one more that counts those which are not shown.
    pub(crate) fn take_warnings(&mut self) -> Vec<Warning> {
        let mut warnings = std::mem::take(&mut self.warnings);
        if self.more_warnings > 0 {
            warnings.push(Warning::omitted(std::mem::take(&mut self.more_warnings)));
        }
        warnings
    }

    fn count(&mut self, outcome: &FileOutcome, indexed: impl Fn(&mut Self) -> &mut u64) {
        *match outcome {
            FileOutcome::Indexed { .. } => indexed(self),
            FileOutcome::Skipped { .. } => &mut self.skipped,
            FileOutcome::Failed { .. } => &mut self.failed,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_warnings_are_kept_and_the_rest_counted() {
        let mut tally = Tally::default();
        for _ in 0..150 {
            tally.write("a.md", &FileOutcome::Skipped { reason: SkipReason::Binary }, false);
        }
        let warnings = tally.take_warnings();
        assert_eq!(warnings[100..], [Warning::omitted(50)]);
        assert_eq!(warnings[0].details, Some(json!({ "path": "a.md" })));
        assert_eq!(tally.skipped, 150);
    }
}
