//! Paths that lead out of every source.

use std::{fs, path::Path};

use ibid_api::{FileOutcome, RelPath, SkipReason};

use super::WatchedRoot;
use crate::engine::LocalEngine;

/// Whether a path lies outside every root once links are followed. Something that is gone is judged by its
/// folder.
pub(super) fn leads_out(path: &Path, roots: &[WatchedRoot]) -> bool {
    let real = fs::canonicalize(path).or_else(|error| match path.parent() {
        Some(folder) => fs::canonicalize(folder),
        None => Err(error),
    });
    real.is_ok_and(|real| !roots.iter().any(|watched| real.starts_with(watched.root.path())))
}

/// Whether something is indexed at this path or below it, by an index that can be asked.
pub(super) fn is_indexed(engine: &LocalEngine, source: &str, path: &RelPath) -> bool {
    let left_out = FileOutcome::Skipped { reason: SkipReason::LinkOutside };
    let stored = engine.store().ok().and_then(|store| store.stored_files_below(source, path.as_str()).ok());
    stored.is_none_or(|files| files.iter().any(|file| file.outcome != left_out))
}
