//! `Writer`: collects what is to be written into batches of a bounded size and applies them.

use crate::store::{FileWrite, SettingWrite, Store, StoreResult, WriteBatch};

/// A batch is applied when its texts have this many bytes,
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// or when it has this many files.
const BATCH_FILES: usize = 500;
/// What was applied is made searchable after this many bytes, so that the rest stays small.
const SETTLE_BYTES: usize = 256 * 1024 * 1024;
/// A chunk weighs more than its text.
const CHUNK_OVERHEAD: usize = 256;

/// The one writer of a run.
pub(super) struct Writer<'a> {
    store: &'a dyn Store,
    batch: WriteBatch,
    bytes: usize,
    unsettled: usize,
    wrote: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(store: &'a dyn Store) -> Self {
        Self { store, batch: WriteBatch::default(), bytes: 0, unsettled: 0, wrote: false }
    }

    /// Whether anything was written, or waits to be.
    pub(super) fn wrote(&self) -> bool {
        self.wrote || self.bytes > 0
    }

    /// Adds a file.
    pub(super) fn add(&mut self, write: FileWrite) -> StoreResult<()> {
        let texts: usize = write
            .document
            .iter()
            .flat_map(|document| &document.chunks)
            .map(|chunk| chunk.text.len() + CHUNK_OVERHEAD)
            .sum();
        self.bytes += texts + CHUNK_OVERHEAD;
        self.batch.files.push(write);
        if self.bytes >= BATCH_BYTES || self.batch.files.len() >= BATCH_FILES {
            self.flush()?;
        }
        Ok(())
    }

    /// Adds a file that is gone.
    pub(super) fn remove(&mut self, source: &str, path: String) {
        self.bytes += CHUNK_OVERHEAD;
        self.batch.remove.push((source.to_owned(), path));
    }

    /// Adds a setting.
    pub(super) fn set(&mut self, name: impl Into<String>, value: Option<String>) {
        self.bytes += 1;
        self.batch.settings.push(SettingWrite { name: name.into(), value });
    }

    /// Forgets sources.
    pub(super) fn forget(&mut self, sources: Vec<String>) {
        self.bytes += sources.len();
        self.batch.forget_sources.extend(sources);
    }

    /// Applies what was collected.
    pub(super) fn flush(&mut self) -> StoreResult<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        self.store.apply(std::mem::take(&mut self.batch))?;
        self.wrote = true;
        self.unsettled += self.bytes;
        self.bytes = 0;
        if self.unsettled >= SETTLE_BYTES {
            self.store.settle()?;
            self.unsettled = 0;
        }
        Ok(())
    }
}
