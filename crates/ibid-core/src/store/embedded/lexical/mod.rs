//! The lexical index: derived from the record, one entry per chunk, thrown away and made anew when needed.

mod directory;
mod entry;
mod fields;
mod filter;
mod index;
mod query;
mod search;
mod sums;
mod terms;
mod tokens;
mod weights;
mod words;

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock, TryLockError},
};

pub use weights::Weights;

pub(super) use index::{Load, Loaded, Origin, Writer};
pub(super) use search::search;
pub(super) use terms::similar;

use index::Stamp;

/// Name of the index inside the data directory.
pub(super) const DIRECTORY: &str = "lexical";
/// A file of this name in the index says that a reader found it damaged.
const DAMAGED: &str = "damaged";

/// The index as this process last opened it.
pub(super) struct Lexical {
    directory: PathBuf,
    loaded: RwLock<Option<Arc<Loaded>>>,
    loading: Mutex<()>,
}

impl std::fmt::Debug for Lexical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lexical").finish_non_exhaustive()
    }
}

impl Lexical {
    /// The index in this directory; nothing is opened yet.
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, loaded: RwLock::default(), loading: Mutex::default() }
    }

    /// The index of this record, opened again if a newer one than the last is wanted and there.
    pub(super) fn at(&self, wanted: Origin) -> Option<Arc<Loaded>> {
        let of_this_record = |loaded: &Arc<Loaded>| loaded.origin.record == wanted.record;
        let current = self.current();
        if let Some(current) = current.as_ref().filter(|current| of_this_record(current)) {
            let is_newest = || Stamp::of(&self.directory).is_none_or(|stamp| stamp == current.stamp);
            if current.origin.generation >= wanted.generation || is_newest() {
                return Some(Arc::clone(current));
            }
        }
        // Whoever has something to answer with does not wait for another thread that is opening the index.
        let _loading = match (self.loading.try_lock(), &current) {
            (Ok(guard), _) => guard,
            (Err(TryLockError::Poisoned(poisoned)), _) => poisoned.into_inner(),
            (Err(TryLockError::WouldBlock), Some(_)) => return current.filter(of_this_record),
            (Err(TryLockError::WouldBlock), None) => {
                let guard = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(loaded) = self.current() {
                    return Some(loaded).filter(of_this_record);
                }
                guard
            }
        };
        if let Some(loaded) = Loaded::open(&self.directory) {
            let loaded = Arc::new(loaded);
            *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&loaded));
            return Some(loaded).filter(of_this_record);
        }
        current.filter(of_this_record)
    }

    /// Forgets what is open, after it turned out to be damaged, and lets the next writer know.
    pub(super) fn found_damaged(&self) {
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = None;
        // Where nothing can be written there is no writer to tell.
        let _ = fs::write(self.directory.join(DAMAGED), b"");
    }

    /// Whether a reader found the index damaged.
    pub(super) fn is_marked_damaged(&self) -> bool {
        self.directory.join(DAMAGED).exists()
    }

    /// The directory of the index.
    pub(super) fn directory(&self) -> &PathBuf {
        &self.directory
    }

    fn current(&self) -> Option<Arc<Loaded>> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Runs work on index files. Damaged files can make the library panic; that is an answer too.
pub(super) fn undisturbed<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
