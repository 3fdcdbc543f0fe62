//! Git sync: a source that is a git worktree follows its remote, by fetch and fast-forward and nothing else.
//!
//! Nothing is ever pushed, stashed, reset or merged, and what git prints is never shown.

mod clone;
mod git;
#[cfg(test)]
mod git_for_tests;
mod pull;
mod record;
mod remote;
mod schedule;
mod syncer;

use std::{path::PathBuf, time::Duration};

pub use clone::{CloneRequest, clone};
pub use pull::{Pulled, check, pull};
pub use record::SyncRecord;
pub use remote::{check_address, check_name};
pub use schedule::{RateLimit, Schedule, WEBHOOK_DEBOUNCE};
pub use syncer::{OnSynced, SyncOutcome, Syncer};

/// What is synchronised, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncConfig {
    /// A folder inside the git worktree.
    pub root: PathBuf,
    /// Address the remote must have; any without credentials when `None`.
    pub repository: Option<String>,
    /// Name of the remote.
    pub remote: String,
    /// Branch of the remote to follow; the one of the same name as the local branch when `None`.
    pub branch: Option<String>,
    /// Whether the schedule runs.
    pub enabled: bool,
    /// Time from one pull to the next.
    pub interval: Duration,
    /// Longest time one pull may take.
    pub pull_timeout: Duration,
    /// Time from one pull to the next after repeated failures.
    pub failure_backoff: Duration,
    /// Where syncs are remembered and kept one at a time, whichever process makes them.
    pub state_folder: PathBuf,
}

impl SyncConfig {
    /// A worktree that follows `origin`, once it is asked to.
    pub fn new(root: impl Into<PathBuf>, state_folder: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            repository: None,
            remote: "origin".to_owned(),
            branch: None,
            enabled: false,
            interval: Duration::from_secs(900),
            pull_timeout: Duration::from_secs(120),
            failure_backoff: Duration::from_secs(3_600),
            state_folder: state_folder.into(),
        }
    }

    /// Whether sync was asked for at all. Being in a worktree is not enough: pulling changes its files.
    pub fn is_configured(&self) -> bool {
        self.enabled || self.repository.is_some() || self.branch.is_some()
    }
}
