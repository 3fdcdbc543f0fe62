//! The vector files as this process last opened them, one directory for each model of the record.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use ibid_api::{ContentHash, Generation};
use roaring::{RoaringBitmap, RoaringTreemap};

use super::{
    pending::Counted,
    vectors::{HEAD, VectorIndex},
};

/// Name of the folder of all models inside the data directory.
pub(super) const DIRECTORY: &str = "vectors";
/// A file of this name among those of a model says that a reader found them damaged.
const DAMAGED: &str = "damaged";
/// Filters whose rows are remembered for each model.
const REMEMBERED_FILTERS: usize = 8;

/// The files of all models.
#[derive(Debug)]
pub(super) struct Vectors {
    root: PathBuf,
    opened: Mutex<HashMap<PathBuf, Arc<OpenedVectors>>>,
}

/// The files of one model as they were at one moment.
pub(super) struct OpenedVectors {
    pub(super) index: VectorIndex,
    stamp: Stamp,
    /// Filters and the rows that pass them.
    filters: Mutex<Vec<(Arc<RoaringTreemap>, Arc<RoaringBitmap>)>>,
    /// Rows whose passage was seen to have their text. As long as its document does not change it keeps it.
    confirmed: Mutex<RoaringBitmap>,
}

impl fmt::Debug for OpenedVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedVectors").finish_non_exhaustive()
    }
}

/// Tells one state of the files from the next: their head is replaced as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    file: u64,
}

impl Stamp {
    fn of(directory: &Path) -> Option<Self> {
        let metadata = fs::metadata(directory.join(HEAD)).ok()?;
        #[cfg(unix)]
        let file = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let file = 0;
        Some(Self { modified: metadata.modified().ok(), length: metadata.len(), file })
    }
}

impl Vectors {
    /// The files below this directory; nothing is opened yet.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, opened: Mutex::default() }
    }

    /// The folder of all models.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the files of a model of this record are. Those of another record are never taken for them.
    pub(super) fn directory(&self, record: [u8; 16], model: &str) -> PathBuf {
        let owner = [&record[..], model.as_bytes()].concat();
        self.root.join(ContentHash::of(&owner).to_string())
    }

    /// The files of a model as they are now; `None` when there are none that can be read.
    pub(super) fn open(&self, record: [u8; 16], model: &str) -> Option<Arc<OpenedVectors>> {
        let directory = self.directory(record, model);
        let stamp = Stamp::of(&directory)?;
        if let Some(opened) = self.opened().get(&directory)
            && opened.stamp == stamp
        {
            return Some(Arc::clone(opened));
        }
        let index = read(&directory, model)?;
        let opened =
            Arc::new(OpenedVectors { index, stamp, filters: Mutex::default(), confirmed: Mutex::default() });
        self.opened().insert(directory, Arc::clone(&opened));
        Some(opened)
    }

    /// Forgets what is open, after it turned out to be damaged, and lets the next writer know.
    pub(super) fn found_damaged(&self, record: [u8; 16], model: &str) {
        let directory = self.directory(record, model);
        self.opened().remove(&directory);
        // Where nothing can be written there is no writer to tell.
        let _ = fs::write(directory.join(DAMAGED), b"");
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<OpenedVectors>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the files of a model; `None` when there are none that can be used.
pub(super) fn read(directory: &Path, model: &str) -> Option<VectorIndex> {
    if directory.join(DAMAGED).exists() {
        return None;
    }
    VectorIndex::open(directory).ok().flatten().filter(|index| index.model() == model)
}

/// Takes back that the files are damaged, after they were made anew.
pub(super) fn forget_damage(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(DAMAGED)) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
        _ => Ok(()),
    }
}

impl OpenedVectors {
    /// The last write that the files include.
    pub(super) fn generation(&self) -> Generation {
        Generation(self.index.generation())
    }

    /// Rows that need no look at the record any more to know that they belong to their passage.
    pub(super) fn confirmed(&self) -> MutexGuard<'_, RoaringBitmap> {
        self.confirmed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many texts waited when the files were written.
    pub(super) fn counted(&self) -> Option<Counted> {
        self.index.waiting().map(|texts| Counted { generation: self.generation(), texts })
    }

    /// The rows of documents that pass a filter and have not changed; `None` when all do.
    pub(super) fn slots(
        &self,
        documents: Option<&Arc<RoaringTreemap>>,
        changed: &RoaringTreemap,
    ) -> Option<Arc<RoaringBitmap>> {
        let passing = documents.map(|documents| self.passing(documents));
        if changed.is_empty() {
            return passing;
        }
        let mut unchanged = self.index.slots_where(|key| !changed.contains(key.chunk.document.0 as u64));
        if let Some(passing) = passing {
            unchanged &= passing.as_ref();
        }
        Some(Arc::new(unchanged))
    }

    fn passing(&self, documents: &Arc<RoaringTreemap>) -> Arc<RoaringBitmap> {
        let filters = || self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        // The same set of documents is handed out as long as the filter and the texts are the same.
        let known =
            filters().iter().find(|(set, _)| Arc::ptr_eq(set, documents)).map(|(_, slots)| Arc::clone(slots));
        if let Some(slots) = known {
            return slots;
        }
        let slots = self.index.slots_where(|key| documents.contains(key.chunk.document.0 as u64));
        let slots = Arc::new(slots);
        let mut filters = filters();
        if filters.len() >= REMEMBERED_FILTERS {
            filters.remove(0);
        }
        filters.push((Arc::clone(documents), Arc::clone(&slots)));
        slots
    }
}
