//! Sources: folders that are read and never written.

mod branch;
mod read;
mod rules;
mod walk;
mod watch;

pub use branch::{Head, head};
pub use read::{FileBytes, ReadError, SourceRoot};
pub use rules::Rule;
pub use walk::{Found, FoundState, LeftOut, Walk};
pub use watch::{OnUpdate, WatchHandle, WatchOptions, Watcher};

use std::{fs::Metadata, time::UNIX_EPOCH};

/// Last change of a file in nanoseconds since 1970; 0 where the file system does not say.
fn modified_ns(metadata: &Metadata) -> i64 {
    let Ok(modified) = metadata.modified() else { return 0 };
    match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}
