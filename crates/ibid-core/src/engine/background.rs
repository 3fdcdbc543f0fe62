//! What became of updates that nobody waited for: `status` tells, in this process and in others.

use ibid_api::{Error, ErrorCode, Freshness, IndexReply, Result, UpdateError, UpdateFailure};
use jiff::Timestamp;

use super::{LocalEngine, Shared, lock};
use crate::freshness::Event;

/// Name of the note that holds the last failure.
pub(super) const FAILURE: &str = "update.json";

impl LocalEngine {
    /// Notes how an update in the background ended. Those who wait for one are told by its error instead.
    pub fn note_update(&self, update: &Result<IndexReply>) {
        // A success takes the note back by itself, whoever asked for it.
        if let Err(error) = update
            && let Some(code) = code(error.code)
        {
            tracing::warn!(code = code.as_str(), cause = error.code.as_str(), "an update failed");
            self.shared.note_failure(code, error);
        }
    }
}

impl Shared {
    fn note_failure(&self, code: UpdateError, error: &Error) {
        {
            let mut tracker = lock(&self.tracker);
            // Whoever writes now says how it ended.
            if tracker.state() != Freshness::Updating {
                tracker.on(Event::WriterBegan);
                tracker.on(Event::WriterFailed);
            }
        }
        let failure =
            UpdateFailure { code, message: error.message.clone(), at: Timestamp::now().to_string() };
        // A disk that is full must not keep it from being told here.
        let noted = !self.config.read_only && self.failure.write(&failure);
        *lock(&self.failure_here) = Some(failure).filter(|_| !noted);
    }

    /// An update ended well.
    pub(super) fn forget_failure(&self) {
        self.failure.remove();
        *lock(&self.failure_here) = None;
    }

    /// Why the last update in the background failed, unless one ended well since.
    pub(super) fn last_failure(&self) -> Option<UpdateFailure> {
        self.failure.read().or_else(|| lock(&self.failure_here).clone())
    }
}

/// What the failure of an update is called; nothing where it is no failure: somebody wanted it to stop, or there
/// is nothing to update before the user decides what.
fn code(error: ErrorCode) -> Option<UpdateError> {
    match error {
        ErrorCode::Cancelled | ErrorCode::IndexNotFound | ErrorCode::IndexIncompatible => None,
        ErrorCode::IndexBusy => Some(UpdateError::WriterBusy),
        ErrorCode::IdCollision => Some(UpdateError::IdCollision),
        _ => Some(UpdateError::UpdateFailed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_code_and_what_is_none_has_none() {
        for (error, expected) in [
            (ErrorCode::IndexBusy, Some(UpdateError::WriterBusy)),
            (ErrorCode::IdCollision, Some(UpdateError::IdCollision)),
            (ErrorCode::StorageUnavailable, Some(UpdateError::UpdateFailed)),
            (ErrorCode::VaultNotConfigured, Some(UpdateError::UpdateFailed)),
            (ErrorCode::Internal, Some(UpdateError::UpdateFailed)),
            (ErrorCode::Cancelled, None),
            (ErrorCode::IndexIncompatible, None),
        ] {
            assert_eq!(code(error), expected, "{error:?}");
        }
    }
}
