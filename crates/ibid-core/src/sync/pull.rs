//! One pull: checks, fetch, fast-forward.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use ibid_api::{Error, ErrorCode, Result};

use super::{
    SyncConfig, git,
    remote::{check_address, check_name, fetch_failure},
};

/// What a pull did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled {
    /// The local branch has everything the remote has.
    NothingNew,
    /// The local branch was moved forward, and its files with it.
    FastForwarded,
}

/// Files in the folder of git that are there while something is under way.
const UNDER_WAY: [&str; 5] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

/// Fetches the remote branch and moves the local one forward to it, if that is all it takes.
///
/// Blocks for at most `timeout`. Changes nothing but the remote-tracking branch when it fails.
pub fn pull(config: &SyncConfig, timeout: Duration) -> Result<Pulled> {
    if !config.is_configured() {
        return Err(not_configured());
    }
    let worktree = Worktree { root: &config.root, deadline: Instant::now() + timeout };
    let branch = worktree.ready(config)?;
    worktree.require_clean()?;
    worktree.fetch(&config.remote, &branch)?;
    let pulled = worktree.fast_forward(&config.remote, &branch)?;
    tracing::info!(changed = pulled == Pulled::FastForwarded, "git sync finished");
    Ok(pulled)
}

/// Whether a pull could begin: a worktree on a branch, with the remote that is meant. Asks the remote nothing.
pub fn check(config: &SyncConfig, timeout: Duration) -> Result<()> {
    let worktree = Worktree { root: &config.root, deadline: Instant::now() + timeout };
    worktree.ready(config).map(drop)
}

fn not_configured() -> Error {
    Error::new(ErrorCode::SyncNotConfigured, "git sync is not configured")
        .with_hint("`ibid sync configure --branch NAME` sets it up, `ibid sync enable` turns the schedule on")
}

struct Worktree<'a> {
    root: &'a Path,
    deadline: Instant,
}

impl Worktree<'_> {
    fn git(&self, arguments: &[&str]) -> Result<git::Output> {
        git::run(self.root, arguments, self.deadline)
    }

    /// The branch of the remote to follow, when everything is there to follow it.
    fn ready(&self, config: &SyncConfig) -> Result<String> {
        self.require_repository()?;
        // Before anything else: a rebase leaves the branch, and that is not what to tell.
        self.require_nothing_under_way()?;
        let local = self.branch()?;
        let branch = config.branch.clone().unwrap_or(local);
        check_name(&branch)?;
        check_name(&config.remote)?;
        self.check_remote(config)?;
        Ok(branch)
    }

    fn require_repository(&self) -> Result<()> {
        let output = self.git(&["rev-parse", "--is-inside-work-tree"])?;
        if output.succeeded() && output.stdout.trim() == "true" {
            return Ok(());
        }
        Err(Error::new(ErrorCode::SyncGitUnavailable, "the source is not a git worktree that git trusts")
            .with_hint("clone the repository there, as the user that runs ibid"))
    }

    /// Somebody is in the middle of something that only they can end.
    fn require_nothing_under_way(&self) -> Result<()> {
        let mut arguments = vec!["rev-parse"];
        for mark in UNDER_WAY {
            arguments.extend(["--git-path", mark]);
        }
        let output = self.git(&arguments)?;
        if !output.succeeded() {
            return Err(failed("git could not read the state of the worktree"));
        }
        let found = output.stdout.lines().any(|mark| self.root.join(mark).exists());
        if found { Err(conflict()) } else { Ok(()) }
    }

    fn branch(&self) -> Result<String> {
        let output = self.git(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        if output.succeeded() {
            return Ok(output.stdout.trim().to_owned());
        }
        Err(Error::new(ErrorCode::SyncDetachedHead, "the git worktree is not on a branch")
            .with_hint("check out the branch that is to follow the remote"))
    }

    fn check_remote(&self, config: &SyncConfig) -> Result<()> {
        let output = self.git(&["remote", "get-url", "--", &config.remote])?;
        if !output.succeeded() {
            return Err(Error::new(
                ErrorCode::SyncNotConfigured,
                "the repository has no remote of that name",
            )
            .with_hint("check `sync.remote`, or add it with `git remote add`"));
        }
        let address = output.stdout.trim();
        check_address(address)?;
        match &config.repository {
            Some(expected) => {
                check_address(expected)?;
                if expected.trim() == address {
                    return Ok(());
                }
                Err(Error::new(
                    ErrorCode::SyncInvalidRemoteUrl,
                    "the remote is another repository than `sync.repo`",
                )
                .with_hint("correct `sync.repo`, or the address of the remote"))
            }
            None => Ok(()),
        }
    }

    /// Untracked files count: a pull must not be able to meet them half way.
    fn require_clean(&self) -> Result<()> {
        let output = self.git(&["status", "--porcelain", "-z", "--untracked-files=normal"])?;
        if !output.succeeded() {
            return Err(failed("git could not read the state of the worktree"));
        }
        if output.stdout.is_empty() {
            Ok(())
        } else if has_unmerged(&output.stdout) {
            Err(conflict())
        } else {
            Err(dirty())
        }
    }

    fn fetch(&self, remote: &str, branch: &str) -> Result<()> {
        let refspec = format!("+refs/heads/{branch}:{}", tracking(remote, branch));
        let output =
            self.git(&["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote, &refspec])?;
        if output.succeeded() { Ok(()) } else { Err(fetch_failure(&output.stderr)) }
    }

    fn fast_forward(&self, remote: &str, branch: &str) -> Result<Pulled> {
        let theirs = tracking(remote, branch);
        if self.is_ancestor(&theirs, "HEAD")? {
            return Ok(Pulled::NothingNew);
        }
        if !self.is_ancestor("HEAD", &theirs)? {
            return Err(Error::new(
                ErrorCode::SyncNonFastForward,
                "the local branch has commits that the remote does not have",
            )
            .with_hint("merge or rebase by hand; ibid only moves forward"));
        }
        // Something may have been written while the fetch ran.
        self.require_clean()?;
        let output = self.git(&["merge", "--ff-only", "--quiet", "--no-stat", &theirs])?;
        if output.succeeded() {
            return Ok(Pulled::FastForwarded);
        }
        let overwrites = output.stderr.contains("would be overwritten");
        Err(if overwrites { dirty() } else { failed("git could not move the branch forward") })
    }

    fn is_ancestor(&self, first: &str, second: &str) -> Result<bool> {
        match self.git(&["merge-base", "--is-ancestor", first, second])?.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed("git could not compare the branches")),
        }
    }
}

fn tracking(remote: &str, branch: &str) -> String {
    format!("refs/remotes/{remote}/{branch}")
}

/// Whether a list of `git status --porcelain -z` has a path that two sides changed.
fn has_unmerged(status: &str) -> bool {
    let mut entries = status.split('\0');
    while let Some(entry) = entries.next() {
        let Some(state) = entry.get(..2) else { continue };
        if state.contains('U') || state == "AA" || state == "DD" {
            return true;
        }
        // The name before the renaming is an entry of its own, without a state.
        if state.contains(['R', 'C']) {
            entries.next();
        }
    }
    false
}

fn conflict() -> Error {
    Error::new(
        ErrorCode::SyncConflict,
        "the git worktree has conflicts, or a merge, rebase, cherry-pick or revert is under way",
    )
    .with_hint("finish or abort it by hand; `git status` in the source says how")
}

fn dirty() -> Error {
    Error::new(ErrorCode::SyncWorktreeDirty, "the git worktree has uncommitted or untracked files")
        .with_hint("commit, ignore or remove them")
}

fn failed(message: &str) -> Error {
    Error::new(ErrorCode::SyncGitFailed, message).with_hint("run `git status` in the source to see why")
}

#[cfg(test)]
mod tests;
