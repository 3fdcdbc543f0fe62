//! Pulls between repositories in temporary folders.

use std::{fs, path::Path};

use tempfile::TempDir;

use super::*;
use crate::sync::git_for_tests::{git, try_git};

/// A bare repository, the worktree that follows it, and one that pushes to it.
struct Repositories {
    folder: TempDir,
}

const ENOUGH: Duration = Duration::from_secs(60);

impl Repositories {
    fn new() -> Self {
        let repositories = Self { folder: tempfile::tempdir().unwrap() };
        let folder = repositories.folder.path();
        git(folder, &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
        git(folder, &["clone", "--quiet", "remote.git", "author"]);
        git(&repositories.author(), &["checkout", "--quiet", "-B", "main"]);
        repositories.publish("first.md", "# First");
        git(folder, &["clone", "--quiet", "remote.git", "notes"]);
        repositories
    }

    fn author(&self) -> std::path::PathBuf {
        self.folder.path().join("author")
    }

    fn notes(&self) -> std::path::PathBuf {
        self.folder.path().join("notes")
    }

    fn publish(&self, name: &str, content: &str) {
        commit(&self.author(), name, content);
        git(&self.author(), &["push", "--quiet", "origin", "main"]);
    }

    fn config(&self) -> SyncConfig {
        SyncConfig { enabled: true, ..SyncConfig::new(self.notes(), self.folder.path().join("data")) }
    }

    fn pull(&self) -> Result<Pulled, ErrorCode> {
        pull(&self.config(), ENOUGH).map_err(|error| error.code)
    }

    fn head(&self) -> String {
        git(&self.notes(), &["rev-parse", "HEAD"])
    }
}

fn commit(folder: &Path, name: &str, content: &str) {
    fs::write(folder.join(name), content).unwrap();
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", "change"]);
}

#[test]
fn new_commits_of_the_remote_arrive_once() {
    let repositories = Repositories::new();
    assert_eq!(repositories.pull(), Ok(Pulled::NothingNew));
    repositories.publish("second.md", "# Second");
    assert_eq!(repositories.pull(), Ok(Pulled::FastForwarded));
    assert_eq!(fs::read_to_string(repositories.notes().join("second.md")).unwrap(), "# Second");
    assert_eq!(repositories.pull(), Ok(Pulled::NothingNew));
}

#[test]
fn changed_and_untracked_files_stop_the_pull_and_stay() {
    for name in ["first.md", "untracked.md"] {
        let repositories = Repositories::new();
        repositories.publish("second.md", "# Second");
        fs::write(repositories.notes().join(name), "mine").unwrap();
        let head = repositories.head();
        assert_eq!(repositories.pull(), Err(ErrorCode::SyncWorktreeDirty), "{name}");
        assert_eq!(repositories.head(), head);
        assert_eq!(fs::read_to_string(repositories.notes().join(name)).unwrap(), "mine");
    }
}

#[test]
fn diverged_branches_stop_the_pull_and_local_commits_alone_do_not() {
    let repositories = Repositories::new();
    commit(&repositories.notes(), "mine.md", "# Mine");
    assert_eq!(repositories.pull(), Ok(Pulled::NothingNew));
    repositories.publish("second.md", "# Second");
    let head = repositories.head();
    assert_eq!(repositories.pull(), Err(ErrorCode::SyncNonFastForward));
    assert_eq!(repositories.head(), head);
}

#[test]
fn a_detached_head_stops_the_pull() {
    let repositories = Repositories::new();
    git(&repositories.notes(), &["checkout", "--quiet", "--detach"]);
    assert_eq!(repositories.pull(), Err(ErrorCode::SyncDetachedHead));
}

/// The local branch and another one each changed the same line.
fn disagreeing() -> Repositories {
    let repositories = Repositories::new();
    let notes = repositories.notes();
    git(&notes, &["checkout", "--quiet", "-b", "other"]);
    commit(&notes, "first.md", "# Other");
    git(&notes, &["checkout", "--quiet", "main"]);
    commit(&notes, "first.md", "# Mine");
    repositories
}

#[test]
fn what_is_under_way_is_told_from_files_that_are_only_changed() {
    for (arguments, abort) in [
        (&["merge", "other"][..], &["merge", "--abort"][..]),
        (&["cherry-pick", "other"], &["cherry-pick", "--abort"]),
        (&["revert", "--no-edit", "HEAD~1"], &["revert", "--abort"]),
        (&["rebase", "other"], &["rebase", "--abort"]),
        (&["rebase", "--apply", "other"], &["rebase", "--abort"]),
    ] {
        let repositories = disagreeing();
        let notes = repositories.notes();
        assert!(try_git(&notes, arguments).is_err(), "{arguments:?}");
        let head = repositories.head();
        assert_eq!(repositories.pull(), Err(ErrorCode::SyncConflict), "{arguments:?}");
        let checked = check(&repositories.config(), ENOUGH).map_err(|error| error.code);
        assert_eq!(checked, Err(ErrorCode::SyncConflict), "{arguments:?}");
        assert_eq!(repositories.head(), head);
        git(&notes, abort);
        assert_eq!(repositories.pull(), Ok(Pulled::NothingNew), "{arguments:?}");
    }
    // Conflicts that nothing under way explains.
    let repositories = disagreeing();
    let notes = repositories.notes();
    fs::write(notes.join("first.md"), "# Neither").unwrap();
    git(&notes, &["stash", "--quiet"]);
    commit(&notes, "first.md", "# Again");
    assert!(try_git(&notes, &["stash", "pop"]).is_err());
    assert_eq!(repositories.pull(), Err(ErrorCode::SyncConflict));
}

#[test]
fn unmerged_paths_are_told_by_their_state_and_not_by_their_name() {
    for (status, expected) in [
        ("", false),
        (" M a.md\0?? b.md\0", false),
        ("R  new.md\0UU old.md\0", false),
        ("R  new.md\0old.md\0UU a.md\0", true),
        ("AA a.md\0", true),
        ("DD a.md\0", true),
        (" M UU.md\0A  AA.md\0", false),
        ("UD a.md\0", true),
    ] {
        assert_eq!(has_unmerged(status), expected, "{status:?}");
    }
}

#[test]
fn a_folder_outside_git_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = SyncConfig { enabled: true, ..SyncConfig::new(folder.path(), folder.path().join("data")) };
    assert_eq!(pull(&config, ENOUGH).unwrap_err().code, ErrorCode::SyncGitUnavailable);
}

#[test]
fn nothing_is_pulled_unless_sync_is_configured() {
    let repositories = Repositories::new();
    let config = SyncConfig::new(repositories.notes(), repositories.folder.path().join("data"));
    assert_eq!(pull(&config, ENOUGH).unwrap_err().code, ErrorCode::SyncNotConfigured);
    let manual = SyncConfig { branch: Some("main".to_owned()), ..config };
    assert_eq!(pull(&manual, ENOUGH), Ok(Pulled::NothingNew));
}

#[test]
fn what_is_wrong_with_the_remote_is_told_without_its_address() {
    let check = |change: &dyn Fn(&mut SyncConfig), address: Option<&str>, expected: ErrorCode| {
        let repositories = Repositories::new();
        if let Some(address) = address {
            git(&repositories.notes(), &["remote", "set-url", "origin", address]);
        }
        let mut config = repositories.config();
        change(&mut config);
        let error = pull(&config, ENOUGH).unwrap_err();
        assert_eq!(error.code, expected);
        let shown = serde_json::to_string(&error).unwrap();
        for private in ["marked-secret", &*repositories.folder.path().to_string_lossy()] {
            assert!(!shown.contains(private), "{shown}");
        }
    };
    let branch = |name: &'static str| move |config: &mut SyncConfig| config.branch = Some(name.to_owned());
    let remote = |name: &'static str| move |config: &mut SyncConfig| config.remote = name.to_owned();
    let same = |_: &mut SyncConfig| {};
    check(&branch("marked-secret"), None, ErrorCode::SyncRemoteRefMissing);
    check(&branch("--upload-pack=marked-secret"), None, ErrorCode::ConfigInvalid);
    check(&remote("marked-secret"), None, ErrorCode::SyncNotConfigured);
    check(&remote("--marked-secret"), None, ErrorCode::ConfigInvalid);
    check(&same, Some("/nowhere/marked-secret.git"), ErrorCode::SyncNetworkFailed);
    check(
        &same,
        Some("https://user:marked-secret@host.invalid/x.git"),
        ErrorCode::SyncRemoteUrlContainsCredentials,
    );
    check(&same, Some("ext::sh -c marked-secret"), ErrorCode::SyncInvalidRemoteUrl);
    let other =
        |config: &mut SyncConfig| config.repository = Some("https://host.invalid/marked-secret".to_owned());
    check(&other, None, ErrorCode::SyncInvalidRemoteUrl);
}

#[test]
fn a_pull_out_of_time_ends() {
    let repositories = Repositories::new();
    assert_eq!(pull(&repositories.config(), Duration::ZERO).unwrap_err().code, ErrorCode::SyncTimeout);
}

#[cfg(unix)]
#[test]
fn hooks_of_the_repository_do_not_run() {
    use std::os::unix::fs::PermissionsExt;

    let repositories = Repositories::new();
    let hook = repositories.notes().join(".git/hooks/post-merge");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch ran\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    repositories.publish("second.md", "# Second");
    assert_eq!(repositories.pull(), Ok(Pulled::FastForwarded));
    assert!(!repositories.notes().join("ran").exists());
}
