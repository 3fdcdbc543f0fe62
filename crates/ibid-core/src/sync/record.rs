//! What is remembered of syncs between processes, and the lock that keeps them one at a time.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use ibid_api::{Error, ErrorCode, Result};
use serde::{Deserialize, Serialize};

use crate::{note::Note, private};

const RECORD: &str = "sync.json";
const LOCK: &str = "sync.lock";
/// Between two looks at a lock that somebody else holds.
const PAUSE: Duration = Duration::from_millis(50);

/// How the last syncs went, whichever process made them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncRecord {
    /// Last success, in milliseconds since 1970.
    pub last_success_ms: Option<i64>,
    /// Failures since then.
    pub consecutive_failures: u32,
    /// Code of the last failure, unless a success came after it.
    pub last_error: Option<String>,
}

/// The folder that holds the record and the lock.
#[derive(Debug, Clone)]
pub(super) struct Ledger(PathBuf);

impl Ledger {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The record; that nothing happened when there is none that can be read.
    pub(super) fn read(&self) -> SyncRecord {
        Note::new(&self.0, RECORD).read().unwrap_or_default()
    }

    /// Notes how a sync ended. It is a convenience: a disk that is full must not make a sync fail.
    pub(super) fn note(&self, ended: std::result::Result<i64, ErrorCode>) {
        let mut record = self.read();
        match ended {
            Ok(finished_ms) => record = SyncRecord { last_success_ms: Some(finished_ms), ..<_>::default() },
            Err(code) => {
                record.consecutive_failures = record.consecutive_failures.saturating_add(1);
                record.last_error = Some(code.as_str().to_owned());
            }
        }
        Note::new(&self.0, RECORD).write(&record);
    }

    /// Waits for the turn of this process until the deadline; none when another one has it.
    pub(super) fn take_turn(&self, deadline: Instant) -> Result<Option<Turn>> {
        let file = open_lock(&self.0)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Turn(file))),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(_)) => return Err(unusable()),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            thread::sleep(PAUSE.min(left));
        }
    }

    /// Whether any process is at it now. Creates nothing.
    pub(super) fn is_taken(&self) -> bool {
        let file = File::open(self.0.join(LOCK));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }
}

/// Held while it lives; the system gives it back when the process dies.
#[derive(Debug)]
pub(super) struct Turn(#[expect(dead_code, reason = "closing the file gives the turn back")] File);

fn open_lock(folder: &Path) -> Result<File> {
    private::create_folder(folder).map_err(|_| unusable())?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.open(folder.join(LOCK)).map_err(|_| unusable())
}

fn unusable() -> Error {
    Error::new(ErrorCode::StorageUnavailable, "the data folder cannot be written to")
        .with_hint("`ibid doctor` says which one it is and what is wrong with it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_add_up_until_a_success() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(folder.path());
        assert_eq!(ledger.read(), SyncRecord::default());
        ledger.note(Err(ErrorCode::SyncNetworkFailed));
        ledger.note(Err(ErrorCode::SyncWorktreeDirty));
        let record = ledger.read();
        assert_eq!(record.consecutive_failures, 2);
        assert_eq!(record.last_error.as_deref(), Some("SYNC_WORKTREE_DIRTY"));
        ledger.note(Ok(7));
        assert_eq!(ledger.read(), SyncRecord { last_success_ms: Some(7), ..SyncRecord::default() });
        std::fs::write(folder.path().join(RECORD), "not a record").unwrap();
        assert_eq!(ledger.read(), SyncRecord::default());
    }

    #[test]
    fn one_has_the_turn_and_others_see_it() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(&folder.path().join("data"));
        assert!(!ledger.is_taken());
        assert!(!folder.path().join("data").exists());
        let turn = ledger.take_turn(Instant::now()).unwrap().unwrap();
        assert!(ledger.is_taken());
        assert!(ledger.take_turn(Instant::now()).unwrap().is_none());
        drop(turn);
        assert!(!ledger.is_taken());
        assert!(ledger.take_turn(Instant::now()).unwrap().is_some());
    }
}
