//! Ingestion: files to a `WriteBatch`.

mod progress;

pub use progress::{Progress, Silent, Step};
