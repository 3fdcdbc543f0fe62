//! Folders that only their owner can look into.

use std::{fs, io, path::Path};

/// Makes a folder and those above it that are missing, all closed to others: an index holds the texts it was made
/// from. A folder that exists stays as it is.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
