//! Which git branch a folder is on, from git's own files and without running git.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What `HEAD` points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// A branch, by its full name below `refs/heads/`.
    Branch(String),
    /// A commit that no branch is at.
    Detached(String),
}

/// What the repository around this folder has checked out; `None` where there is none.
pub fn head(folder: &Path) -> Option<Head> {
    let git = folder.ancestors().find_map(git_folder)?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref:") {
        Some(reference) => {
            let reference = reference.trim();
            Some(Head::Branch(reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned()))
        }
        None => (head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| Head::Detached(head.to_owned())),
    }
}

/// The folder with `HEAD` in it: `.git` itself, or where a worktree's `.git` file says.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let kind = fs::metadata(&git).ok()?;
    if kind.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    Some(folder.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head_file: &str, want: Option<Head>) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
        fs::write(folder.path().join("repo/.git/HEAD"), head_file).unwrap();
        fs::create_dir_all(folder.path().join("repo/docs/deep")).unwrap();
        assert_eq!(head(&folder.path().join("repo/docs/deep")), want, "{head_file:?}");
    }

    #[test]
    fn head_names_a_branch_or_a_commit() {
        check("ref: refs/heads/main\n", Some(Head::Branch("main".to_owned())));
        check("ref: refs/heads/feature/a b\n", Some(Head::Branch("feature/a b".to_owned())));
        let commit = "0123456789abcdef0123456789abcdef01234567";
        check(&format!("{commit}\n"), Some(Head::Detached(commit.to_owned())));
        check("nonsense", None);
        check("", None);
    }

    #[test]
    fn a_worktree_has_its_own_head() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join("main/.git/worktrees/side");
        fs::create_dir_all(&git).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        let side = folder.path().join("side");
        fs::create_dir_all(&side).unwrap();
        fs::write(side.join(".git"), "gitdir: ../main/.git/worktrees/side\n").unwrap();
        assert_eq!(head(&side), Some(Head::Branch("side".to_owned())));
    }

    #[test]
    fn a_folder_without_repository_has_no_head() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(git_folder(folder.path()), None);
    }
}
