//! The write lock of the derived indexes: one process at a time brings them up to date.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::error;
use crate::store::{StoreError, StoreResult};

/// How long a writer waits for another one.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Held while it lives; the system releases it when the process dies.
#[derive(Debug)]
pub(super) struct WriteLock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

impl WriteLock {
    /// Waits for the lock, at most this long.
    pub(super) fn acquire(directory: &Path, patience: Duration) -> StoreResult<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(directory.join("write.lock"))
            .map_err(|error| error::file(&error))?;
        let deadline = Instant::now() + patience;
        let mut pause = FIRST_PAUSE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(StoreError::Busy),
                Err(TryLockError::WouldBlock) => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(TryLockError::Error(error)) => return Err(error::file(&error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_is_told_that_another_one_writes() {
        let directory = tempfile::tempdir().unwrap();
        let held = WriteLock::acquire(directory.path(), Duration::ZERO).unwrap();
        let second = WriteLock::acquire(directory.path(), Duration::ZERO);
        assert!(matches!(second, Err(StoreError::Busy)), "{second:?}");
        drop(held);
        WriteLock::acquire(directory.path(), Duration::ZERO).unwrap();
    }
}
