//! Walking a source: every file that its rules show, in the same order each time.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    fs::{self, FileType, Metadata},
    io,
    path::{Path, PathBuf},
    vec,
};

use ibid_api::{RelPath, SkipReason};

use super::{
    SourceRoot, modified_ns,
    rules::{FolderRules, Rules},
};

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Path below the root. Bytes that are no text are written as `\xNN`.
    pub path: String,
    /// The same as a path that may be joined to a root, where it can be.
    pub rel: Option<RelPath>,
    /// Size in bytes.
    pub size: u64,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Whether it can be read.
    pub state: FoundState,
}

/// Whether a found file can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundState {
    /// A regular file inside the root.
    File,
    /// Not to be read, for this reason.
    Skip(SkipReason),
    /// A file that cannot be looked at.
    Unreadable,
    /// A folder that cannot be looked into: whatever is known of its files still holds.
    UnreadableFolder,
}

/// The files of a source, folder by folder, names in byte order.
#[derive(Debug)]
pub struct Walk<'a> {
    root: &'a SourceRoot,
    levels: Vec<Level>,
    /// Names still to go down by, innermost first; empty when everything is wanted.
    down: Vec<String>,
}

#[derive(Debug)]
struct Level {
    entries: vec::IntoIter<(OsString, FileType)>,
    /// Path of the folder with a slash at its end, or empty for the root.
    prefix: String,
    folder: PathBuf,
    rules: FolderRules,
    /// Whether the folder was reached by a link. Links to folders are not followed from there, so that a
    /// walk ends however the links are laid.
    linked: bool,
}

impl<'a> Walk<'a> {
    /// Everything. Fails when the root itself cannot be listed.
    pub(super) fn all(root: &'a SourceRoot) -> io::Result<Self> {
        let mut walk = Self { root, levels: Vec::new(), down: Vec::new() };
        walk.enter(String::new(), root.path().to_owned(), false)?;
        Ok(walk)
    }

    /// What is at this path and below it. Fails when the root itself cannot be listed.
    pub(super) fn below(root: &'a SourceRoot, path: &RelPath) -> io::Result<Self> {
        let down = path.segments().rev().map(str::to_owned).collect();
        let mut walk = Self { root, levels: Vec::new(), down };
        walk.enter(String::new(), root.path().to_owned(), false)?;
        Ok(walk)
    }

    fn rules(&self) -> &'a Rules {
        self.root.rules()
    }

    fn enter(&mut self, prefix: String, folder: PathBuf, linked: bool) -> io::Result<()> {
        let parent = self.levels.last().map(|level| level.rules.clone()).unwrap_or_default();
        let entries;
        let rules;
        if let Some(name) = self.down.pop() {
            rules = self.rules().enter(&parent, &prefix, &folder, |_| true);
            entries = match fs::symlink_metadata(folder.join(&name)) {
                Ok(metadata) => vec![(OsString::from(name), metadata.file_type())],
                Err(error) if prefix.is_empty() && !folder.is_dir() => return Err(error),
                Err(error) if is_gone(&error) => Vec::new(),
                Err(error) => return Err(error),
            };
        } else {
            entries = list(&folder)?;
            let holds = |name: &str| {
                entries.binary_search_by(|(it, _)| it.as_encoded_bytes().cmp(name.as_bytes())).is_ok()
            };
            rules = self.rules().enter(&parent, &prefix, &folder, holds);
        }
        self.levels.push(Level { entries: entries.into_iter(), prefix, folder, rules, linked });
        Ok(())
    }

    /// Goes into a folder; what cannot be looked into is yielded instead.
    fn descend(&mut self, path: String, folder: PathBuf, linked: bool) -> Option<Found> {
        // Not a place that could be read back: skipped as a whole.
        if RelPath::parse(&path).is_err() {
            return Some(found(path, None, FoundState::Skip(SkipReason::BadName)));
        }
        match self.enter(format!("{path}/"), folder, linked) {
            Ok(()) => None,
            Err(error) if is_gone(&error) => None,
            Err(_) => Some(found(path, None, FoundState::UnreadableFolder)),
        }
    }

    fn visit(&mut self, name: OsString, kind: FileType) -> Option<Found> {
        let level = self.levels.last()?;
        let shown = shown_name(&name);
        let path = format!("{}{shown}", level.prefix);
        let at = level.folder.join(&name);
        // A link may lead to a folder: what it is decides which patterns can match.
        let target = if kind.is_symlink() { fs::metadata(&at).ok() } else { None };
        let is_folder = target.as_ref().map_or(kind.is_dir(), Metadata::is_dir);
        if !self.rules().shows(&level.rules, &path, &shown, is_folder) {
            return None;
        }
        if name.to_str().is_none() {
            return Some(found(path, None, FoundState::Skip(SkipReason::BadName)));
        }
        if kind.is_symlink() {
            return self.visit_link(path, at, target);
        }
        if kind.is_dir() {
            let linked = level.linked;
            return self.descend(path, at, linked);
        }
        match fs::symlink_metadata(&at) {
            Ok(metadata) => Some(file(path, &metadata)),
            Err(error) if is_gone(&error) => None,
            Err(_) => Some(found(path, None, FoundState::Unreadable)),
        }
    }

    fn visit_link(&mut self, path: String, at: PathBuf, target: Option<Metadata>) -> Option<Found> {
        let level = self.levels.last()?;
        if !self.root.follows_links() {
            return Some(found(path, None, FoundState::Skip(SkipReason::NotAFile)));
        }
        let outside = |path| Some(found(path, None, FoundState::Skip(SkipReason::LinkOutside)));
        let (Some(target), Ok(real)) = (target, fs::canonicalize(&at)) else { return outside(path) };
        // What the rules hide stays hidden, by whatever name it is reached.
        let inside = real.strip_prefix(self.root.path()).ok().and_then(Path::to_str);
        let Some(inside) = inside.and_then(|inside| RelPath::parse(inside).ok()) else {
            return outside(path);
        };
        if !self.rules().shows_path(self.root.path(), &inside, target.is_dir()) {
            return outside(path);
        }
        if !target.is_dir() {
            return Some(file(path, &target));
        }
        // A folder around this one would never end; links from linked folders are not followed at all.
        if level.linked || level.folder.starts_with(&real) {
            return Some(found(path, None, FoundState::Skip(SkipReason::NotAFile)));
        }
        self.descend(path, at, true)
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        while let Some(level) = self.levels.last_mut() {
            match level.entries.next() {
                Some((name, kind)) => {
                    let found = self.visit(name, kind);
                    let on_the_way = !self.down.is_empty();
                    match found {
                        Some(found) if !on_the_way || found.state == FoundState::UnreadableFolder => {
                            return Some(found);
                        }
                        _ => {}
                    }
                }
                None => {
                    self.levels.pop();
                }
            }
        }
        None
    }
}

/// The entries of a folder, in the order of their bytes.
fn list(folder: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        entries.push((entry.file_name(), entry.file_type()?));
    }
    entries.sort_unstable_by(|a, b| a.0.as_encoded_bytes().cmp(b.0.as_encoded_bytes()));
    Ok(entries)
}

fn file(path: String, metadata: &Metadata) -> Found {
    if !metadata.is_file() {
        return found(path, Some(metadata), FoundState::Skip(SkipReason::NotAFile));
    }
    found(path, Some(metadata), FoundState::File)
}

fn found(path: String, metadata: Option<&Metadata>, state: FoundState) -> Found {
    // Only a path that reads back as itself may be joined to the root again.
    let rel = RelPath::parse(&path).ok().filter(|rel| rel.as_str() == path);
    let state = if rel.is_none() && state == FoundState::File {
        FoundState::Skip(SkipReason::BadName)
    } else {
        state
    };
    Found {
        path,
        rel,
        size: metadata.map_or(0, Metadata::len),
        modified_ns: metadata.map_or(0, modified_ns),
        state,
    }
}

/// Removed while the walk was on its way to it.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A name as text; bytes that are none become `\xNN`, which no valid path can hold.
fn shown_name(name: &OsStr) -> String {
    if let Some(text) = name.to_str() {
        return text.to_owned();
    }
    let mut shown = String::new();
    for part in name.as_encoded_bytes().utf8_chunks() {
        shown.push_str(part.valid());
        for byte in part.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02X}");
        }
    }
    shown
}
