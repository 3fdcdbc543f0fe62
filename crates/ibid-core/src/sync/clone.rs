//! The first copy of a repository, whole or not at all.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ibid_api::{Error, ErrorCode, Result};

use super::{
    git,
    remote::{check_address, check_name, fetch_failure},
};

/// What to clone, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneRequest {
    /// Address of the repository.
    pub repository: String,
    /// Name its remote gets.
    pub remote: String,
    /// Branch to check out; the remote's own choice when `None`.
    pub branch: Option<String>,
    /// The folder: one that does not exist yet, or an empty one.
    pub folder: PathBuf,
}

/// Clones a repository into an empty or new folder.
///
/// Blocks for at most `timeout`. The folder is as it was when it fails.
pub fn clone(request: &CloneRequest, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    check_address(&request.repository)?;
    check_name(&request.remote)?;
    if let Some(branch) = &request.branch {
        check_name(branch)?;
    }
    // An empty folder behind a link is filled where it really is.
    let folder = fs::canonicalize(&request.folder).unwrap_or_else(|_| request.folder.clone());
    require_empty(&folder)?;
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).ok_or_else(unusable)?;
    fs::create_dir_all(parent).map_err(|_| unusable())?;
    // Made beside its place and moved there, so that nobody ever sees half of it.
    let beside =
        tempfile::Builder::new().prefix(".ibid-clone-").tempdir_in(parent).map_err(|_| unusable())?;
    let mut arguments = vec![
        "clone",
        "--quiet",
        "--no-tags",
        "--template=",
        "--no-recurse-submodules",
        "--origin",
        &request.remote,
    ];
    if let Some(branch) = &request.branch {
        arguments.extend(["--branch", branch]);
    }
    arguments.extend(["--", request.repository.trim(), "worktree"]);
    let output = git::run(beside.path(), &arguments, deadline)?;
    if !output.succeeded() {
        return Err(fetch_failure(&output.stderr));
    }
    // Over an empty folder this is one step; over one that was filled meanwhile it fails.
    fs::rename(beside.path().join("worktree"), &folder).map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => not_empty(),
        _ => unusable(),
    })
}

fn require_empty(folder: &Path) -> Result<()> {
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_none() {
                Ok(())
            } else {
                Err(not_empty())
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => Err(unusable()),
    }
}

fn not_empty() -> Error {
    Error::new(ErrorCode::InvalidInput, "the folder to clone into is not empty")
        .with_hint("name one that is empty or does not exist yet; nothing is ever overwritten")
}

fn unusable() -> Error {
    Error::new(ErrorCode::InvalidInput, "the folder to clone into cannot be made")
        .with_hint("check its parent folder and the permissions there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::git_for_tests::git;

    const ENOUGH: Duration = Duration::from_secs(60);

    /// A bare repository with a note on two branches.
    fn remote(folder: &Path) -> String {
        git(folder, &["init", "--quiet", "--initial-branch=main", "author"]);
        let author = folder.join("author");
        fs::write(author.join("note.md"), "# Note").unwrap();
        git(&author, &["add", "--all"]);
        git(&author, &["commit", "--quiet", "--message", "first"]);
        git(&author, &["branch", "drafts"]);
        git(folder, &["clone", "--quiet", "--bare", "author", "remote.git"]);
        folder.join("remote.git").to_str().unwrap().to_owned()
    }

    fn request(repository: &str, folder: PathBuf) -> CloneRequest {
        CloneRequest { repository: repository.to_owned(), remote: "origin".to_owned(), branch: None, folder }
    }

    #[test]
    fn new_and_empty_folders_are_filled() {
        let place = tempfile::tempdir().unwrap();
        let address = remote(place.path());
        clone(&request(&address, place.path().join("deep/new")), ENOUGH).unwrap();
        assert_eq!(fs::read_to_string(place.path().join("deep/new/note.md")).unwrap(), "# Note");
        let empty = place.path().join("empty");
        fs::create_dir(&empty).unwrap();
        let drafts = CloneRequest { branch: Some("drafts".to_owned()), ..request(&address, empty.clone()) };
        clone(&drafts, ENOUGH).unwrap();
        assert_eq!(fs::read_to_string(empty.join(".git/HEAD")).unwrap(), "ref: refs/heads/drafts\n");
    }

    #[test]
    fn what_fails_leaves_nothing_and_tells_no_address() {
        let place = tempfile::tempdir().unwrap();
        let address = remote(place.path());
        let target = place.path().join("notes");
        let missing = place.path().join("marked-secret.git").to_str().unwrap().to_owned();
        let branch = CloneRequest { branch: Some("none".to_owned()), ..request(&address, target.clone()) };
        for (request, expected) in [
            (request(&missing, target.clone()), ErrorCode::SyncNetworkFailed),
            (branch, ErrorCode::SyncRemoteRefMissing),
            (
                request("https://user:marked-secret@host.invalid/x", target.clone()),
                ErrorCode::SyncRemoteUrlContainsCredentials,
            ),
            (request("ext::sh -c marked-secret", target.clone()), ErrorCode::SyncInvalidRemoteUrl),
            (request(&address, place.path().join("author")), ErrorCode::InvalidInput),
        ] {
            let error = clone(&request, ENOUGH).unwrap_err();
            assert_eq!(error.code, expected);
            let shown = serde_json::to_string(&error).unwrap();
            assert!(!shown.contains("marked-secret") && !shown.contains("author"), "{shown}");
        }
        let slow = clone(&request(&address, target.clone()), Duration::ZERO).unwrap_err();
        assert_eq!(slow.code, ErrorCode::SyncTimeout);
        let mut left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["author", "remote.git"]);
    }
}
