//! `Progress`: what long work reports while it runs, and how it is asked to stop.

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Looking for files.
    Scan,
    /// Reading and parsing files.
    Parse,
    /// Making texts searchable.
    Index,
    /// Embedding texts.
    Embed,
}

/// Receives progress. All methods may be called from any thread.
pub trait Progress: Send + Sync {
    /// A step begins.
    fn begin(&self, step: Step, total: Option<u64>);
    /// The step went on.
    fn advance(&self, by: u64);
    /// The step is over.
    fn end(&self) {}
    /// Whether the work should stop at the next point where everything is whole.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Reports nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: Step, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
}
