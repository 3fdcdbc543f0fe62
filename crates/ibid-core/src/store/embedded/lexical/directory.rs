//! The index files as readers see them: without locks, and where nothing can be written.

use std::{io, path::Path, sync::Arc};

use tantivy::{
    Directory,
    directory::{
        DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
        error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError},
    },
};

/// A directory that is only read. A reader that loses a race against a writer's clean-up finds a file gone
/// and simply opens the index again; so it needs no lock, and no place to put one.
#[derive(Debug, Clone)]
pub(super) struct ReadDirectory(MmapDirectory);

impl ReadDirectory {
    /// Opens an existing directory.
    pub(super) fn open(path: &Path) -> Result<Self, OpenDirectoryError> {
        MmapDirectory::open(path).map(Self)
    }
}

fn refused() -> io::Error {
    io::ErrorKind::ReadOnlyFilesystem.into()
}

impl Directory for ReadDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(refused()), filepath: path.to_owned() })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::IoError { io_error: Arc::new(refused()), filepath: path.to_owned() })
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.0.atomic_read(path)
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(refused())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
