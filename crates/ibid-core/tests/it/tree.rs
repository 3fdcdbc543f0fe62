//! Temporary folders to index, and how to look at them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// A temporary folder that holds a vault and, beside it, a place for the index.
pub(crate) struct Tree {
    folder: TempDir,
}

impl Tree {
    /// With these files: path and content.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(tree.root()).unwrap();
        for (path, content) in files {
            tree.write(path, content);
        }
        tree
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A place beside the vault.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let to = self.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.path(from), to).unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }
}

/// Every file below a folder with its bytes, times and permissions, links as links.
pub(crate) fn fingerprint(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mut says = format!("{:?} {:?}", metadata.permissions(), metadata.modified().unwrap());
            if metadata.is_dir() {
                folders.push(path.clone());
            } else if metadata.is_symlink() {
                says.push_str(&format!(" -> {}", fs::read_link(&path).unwrap().display()));
            } else {
                says.push_str(&format!(" {:?}", fs::read(&path).unwrap()));
            }
            found.insert(path, says);
        }
    }
    found
}
