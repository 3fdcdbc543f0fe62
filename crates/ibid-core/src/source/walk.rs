//! Walking a source: every file that its rules show, in the same order each time.

use std::{
    borrow::Cow,
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
    rules::{FolderRules, Rule, Rules},
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
    /// Links that were followed, and where each really leads.
    links: Vec<(RelPath, RelPath)>,
    /// What the rules did not show, when somebody wants to know.
    left_out: Option<Vec<LeftOut>>,
}

/// Something that a rule keeps from being shown: a file, or a folder with everything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Path below the root.
    pub path: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// The rule.
    pub rule: Rule,
}

#[derive(Debug)]
struct Level {
    entries: vec::IntoIter<Entry>,
    /// Path of the folder with a slash at its end, or empty for the root.
    prefix: String,
    folder: PathBuf,
    rules: FolderRules,
    /// Whether the folder was reached by a link. Links to folders are not followed from there, so that a
    /// walk ends however the links are laid.
    linked: bool,
}

#[derive(Debug)]
struct Entry {
    name: OsString,
    kind: FileType,
    /// For a file; nothing for one that cannot be looked at.
    facts: Option<Facts>,
}

#[derive(Debug, Clone, Copy)]
struct Facts {
    size: u64,
    modified_ns: i64,
}

impl<'a> Walk<'a> {
    /// Everything. Fails when the root itself cannot be listed.
    pub(super) fn all(root: &'a SourceRoot) -> io::Result<Self> {
        let mut walk = Self { root, levels: Vec::new(), down: Vec::new(), links: Vec::new(), left_out: None };
        walk.enter(String::new(), root.path().to_owned(), false)?;
        Ok(walk)
    }

    /// What is at this path and below it. Fails when the root itself cannot be listed.
    pub(super) fn below(root: &'a SourceRoot, path: &RelPath) -> io::Result<Self> {
        let down = path.segments().rev().map(str::to_owned).collect();
        let mut walk = Self { root, levels: Vec::new(), down, links: Vec::new(), left_out: None };
        walk.enter(String::new(), root.path().to_owned(), false)?;
        Ok(walk)
    }

    /// Goes to the end; says which links were followed on the way, and where each really leads.
    pub(super) fn into_links(mut self) -> Vec<(RelPath, RelPath)> {
        while self.next().is_some() {}
        self.links
    }

    /// Goes to the end; says what the rules did not show on the way.
    pub(super) fn into_left_out(mut self) -> Vec<LeftOut> {
        self.left_out = Some(Vec::new());
        while self.next().is_some() {}
        self.left_out.unwrap_or_default()
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
                Ok(metadata) => vec![Entry {
                    name: OsString::from(name),
                    kind: metadata.file_type(),
                    facts: Some(Facts::of(&metadata)),
                }],
                Err(error) if prefix.is_empty() && !folder.is_dir() => return Err(error),
                Err(error) if is_gone(&error) => Vec::new(),
                Err(error) => return Err(error),
            };
        } else {
            entries = list(&folder)?;
            let holds = |name: &str| {
                entries.binary_search_by(|it| it.name.as_encoded_bytes().cmp(name.as_bytes())).is_ok()
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

    fn visit(&mut self, entry: Entry) -> Option<Found> {
        let Entry { name, kind, facts } = entry;
        let level = self.levels.last()?;
        let shown = shown_name(&name);
        let path = format!("{}{shown}", level.prefix);
        // A link may lead to a folder: what it is decides which patterns can match.
        let target = if kind.is_symlink() { fs::metadata(level.folder.join(&name)).ok() } else { None };
        let is_folder = target.as_ref().map_or(kind.is_dir(), Metadata::is_dir);
        if let Some(rule) = self.rules().against(&level.rules, &path, &shown, is_folder) {
            if let Some(left_out) = &mut self.left_out {
                left_out.push(LeftOut { path, is_folder, rule });
            }
            return None;
        }
        if name.to_str().is_none() {
            return Some(found(path, None, FoundState::Skip(SkipReason::BadName)));
        }
        if kind.is_symlink() {
            let at = level.folder.join(&name);
            return self.visit_link(path, at, target);
        }
        if kind.is_dir() {
            let (at, linked) = (level.folder.join(&name), level.linked);
            return self.descend(path, at, linked);
        }
        let state = match facts {
            _ if !kind.is_file() => FoundState::Skip(SkipReason::NotAFile),
            Some(_) => FoundState::File,
            None => FoundState::Unreadable,
        };
        Some(found(path, facts, state))
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
        if let Ok(link) = RelPath::parse(&path) {
            self.links.push((link, inside));
        }
        if !target.is_dir() {
            let regular = target.is_file();
            let state = if regular { FoundState::File } else { FoundState::Skip(SkipReason::NotAFile) };
            return Some(found(path, Some(Facts::of(&target)), state));
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
                Some(entry) => {
                    let found = self.visit(entry);
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

impl Facts {
    fn of(metadata: &Metadata) -> Self {
        Self { size: metadata.len(), modified_ns: modified_ns(metadata) }
    }
}

/// The entries of a folder, in the order of their bytes.
fn list(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        // Looked at while its folder is open, which is quicker than by its whole path later on.
        let facts = if kind.is_file() {
            match entry.metadata() {
                Ok(metadata) => Some(Facts::of(&metadata)),
                Err(error) if is_gone(&error) => continue,
                Err(_) => None,
            }
        } else {
            None
        };
        entries.push(Entry { name: entry.file_name(), kind, facts });
    }
    entries.sort_unstable_by(|a, b| a.name.as_encoded_bytes().cmp(b.name.as_encoded_bytes()));
    Ok(entries)
}

fn found(path: String, facts: Option<Facts>, state: FoundState) -> Found {
    // Only a path that reads back as itself may be joined to the root again.
    let rel = RelPath::parse(&path).ok().filter(|rel| rel.as_str() == path);
    let state = if rel.is_none() && state == FoundState::File {
        FoundState::Skip(SkipReason::BadName)
    } else {
        state
    };
    let Facts { size, modified_ns } = facts.unwrap_or(Facts { size: 0, modified_ns: 0 });
    Found { path, rel, size, modified_ns, state }
}

/// Removed while the walk was on its way to it.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A name as text; bytes that are none become `\xNN`, which no valid path can hold.
fn shown_name(name: &OsStr) -> Cow<'_, str> {
    if let Some(text) = name.to_str() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for part in name.as_encoded_bytes().utf8_chunks() {
        shown.push_str(part.valid());
        for byte in part.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02X}");
        }
    }
    Cow::Owned(shown)
}
