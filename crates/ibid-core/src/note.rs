//! Notes: small files beside the record, by which processes tell each other what the record cannot hold, such
//! as that it could not be written.
//!
//! They are a convenience. One that cannot be read says nothing, and one that cannot be written makes nothing
//! fail.

use std::{
    fs,
    io::Write as _,
    marker::PhantomData,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

/// A note of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Note<T> {
    folder: PathBuf,
    name: &'static str,
    kind: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Note<T> {
    /// The note of this name in a folder, whether it is there or not.
    pub(crate) fn new(folder: &Path, name: &'static str) -> Self {
        Self { folder: folder.to_owned(), name, kind: PhantomData }
    }

    /// What it says.
    pub(crate) fn read(&self) -> Option<T> {
        serde_json::from_slice(&fs::read(self.path()).ok()?).ok()
    }

    /// Replaces what it says, whole or not at all; whether that worked. Makes no folder: where there is none, there is no record.
    pub(crate) fn write(&self, value: &T) -> bool {
        let written = self.try_write(value).is_some();
        if !written {
            tracing::warn!(note = self.name, "a note could not be written");
        }
        written
    }

    fn try_write(&self, value: &T) -> Option<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).ok()?;
        file.write_all(&serde_json::to_vec(value).ok()?).ok()?;
        file.persist(self.path()).ok()?;
        Some(())
    }

    /// Takes it back.
    pub(crate) fn remove(&self) {
        // Usually there is none.
        let _ = fs::remove_file(self.path());
    }

    fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_was_written_last_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, reader) = (Note::new(folder.path(), "n.json"), Note::new(folder.path(), "n.json"));
        assert_eq!(reader.read(), None);
        for number in [1_u32, 2] {
            assert!(writer.write(&number));
            assert_eq!(reader.read(), Some(number));
        }
        fs::write(folder.path().join("n.json"), "not a note").unwrap();
        assert_eq!(reader.read(), None);
        writer.remove();
        writer.remove();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(!Note::new(&folder.path().join("nowhere"), "n.json").write(&1_u32));
        assert!(!folder.path().join("nowhere").exists());
    }
}
