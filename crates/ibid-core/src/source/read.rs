//! Reading a file of a source, and nothing else: whatever is replaced or linked meanwhile, no byte from
//! outside the root is ever returned.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ibid_api::RelPath;

use super::{LeftOut, Walk, modified_ns, rules::Rules};
use crate::config::SourceConfig;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Nothing is there.
    #[error("the file is gone")]
    NotFound,
    /// The path leads out of the root.
    #[error("the path leads out of the source")]
    Outside,
    /// The path is a link to something the rules hide, or links are not followed.
    #[error("the path leads to something that is not shown")]
    Hidden,
    /// A folder.
    #[error("the path is a folder")]
    Folder,
    /// Neither a file nor a folder.
    #[error("the path is not a regular file")]
    NotAFile,
    /// Larger than the caller allows.
    #[error("the file has {size} bytes")]
    TooLarge {
        /// Its size.
        size: u64,
    },
    /// The file system refuses.
    #[error("the file cannot be read: {0}")]
    Io(io::ErrorKind),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
                Self::NotFound
            }
            kind => Self::Io(kind),
        }
    }
}

/// A file's bytes and what the file system said about it before they were read.
#[derive(Debug)]
pub struct FileBytes {
    /// All of them.
    pub bytes: Vec<u8>,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: i64,
}

/// The root of a source that was there when this was opened.
#[derive(Debug)]
pub struct SourceRoot {
    path: PathBuf,
    rules: Rules,
    follow_links: bool,
    /// The place it was when it was opened.
    opened: String,
    reads: Arc<AtomicU64>,
    #[cfg(target_os = "linux")]
    folder: rustix::fd::OwnedFd,
}

impl SourceRoot {
    /// Opens the root. `reads` counts the files whose content is read.
    pub fn open(config: &SourceConfig, reads: Arc<AtomicU64>) -> io::Result<Self> {
        let path = fs::canonicalize(&config.root)?;
        if !fs::metadata(&path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            #[cfg(target_os = "linux")]
            folder: {
                use rustix::fs::{Mode, OFlags};
                rustix::fs::open(&path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?
            },
            opened: place(&path).unwrap_or_default(),
            path,
            rules: Rules::new(config),
            follow_links: config.follow_links,
            reads,
        })
    }

    /// Hides the folder of the index, should it lie inside the source.
    #[must_use]
    pub fn without_index(mut self, data_dir: &Path) -> Self {
        let real = fs::canonicalize(data_dir).ok();
        let inside = real.as_deref().and_then(|real| real.strip_prefix(&self.path).ok()?.to_str());
        if let Some(path) = inside.and_then(|inside| RelPath::parse(inside).ok()) {
            self.rules.hide_index(path);
        }
        self
    }

    /// The real path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which folder this is, whatever its path: another disk mounted there is another place.
    pub(crate) fn place(&self) -> String {
        place(&self.path).unwrap_or_default()
    }

    /// Whether the folder that was opened is still at its path.
    pub(crate) fn is_still_there(&self) -> bool {
        place(&self.path).is_some_and(|place| place == self.opened)
    }

    /// All files. Fails when the root cannot be listed.
    pub fn walk(&self) -> io::Result<Walk<'_>> {
        Walk::all(self)
    }

    /// The file at this path, or all files below it. Fails when the root cannot be listed.
    pub fn walk_below(&self, path: &RelPath) -> io::Result<Walk<'_>> {
        Walk::below(self, path)
    }

    /// Links that are followed at this path and below it (everywhere without one), and where each really leads.
    pub(super) fn links(&self, path: Option<&RelPath>) -> Vec<(RelPath, RelPath)> {
        let walk = path.map_or_else(|| self.walk(), |path| self.walk_below(path));
        if self.follow_links { walk.map(Walk::into_links).unwrap_or_default() } else { Vec::new() }
    }

    /// What the rules keep from being shown, a folder with everything in it as one. Fails when the root cannot be
    /// listed.
    pub fn left_out(&self) -> io::Result<Vec<LeftOut>> {
        Ok(self.walk()?.into_left_out())
    }

    /// Whether the rules show this path, whether it exists or not.
    pub fn shows(&self, path: &RelPath, is_folder: bool) -> bool {
        self.rules.shows_path(&self.path, path, is_folder)
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(super) fn follows_links(&self) -> bool {
        self.follow_links
    }

    /// Whether there is a folder at this path.
    pub fn is_folder(&self, path: &RelPath) -> bool {
        fs::metadata(self.path.join(path.as_str())).is_ok_and(|metadata| metadata.is_dir())
    }

    /// Size of a file.
    pub fn size(&self, path: &RelPath) -> Result<u64, ReadError> {
        Ok(self.open_file(path)?.1.len())
    }

    /// All bytes of a file that has at most `max_bytes`.
    pub fn read(&self, path: &RelPath, max_bytes: u64) -> Result<FileBytes, ReadError> {
        let (file, metadata) = self.open_file(path)?;
        if metadata.len() > max_bytes {
            return Err(ReadError::TooLarge { size: metadata.len() });
        }
        self.reads.fetch_add(1, Ordering::Relaxed);
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        // It may grow while it is read.
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            return Err(ReadError::TooLarge { size: bytes.len() as u64 });
        }
        Ok(FileBytes { bytes, modified_ns: modified_ns(&metadata) })
    }

    fn open_file(&self, path: &RelPath) -> Result<(File, fs::Metadata), ReadError> {
        let file = self.open_beneath(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(ReadError::Folder);
        }
        if !metadata.is_file() {
            return Err(ReadError::NotAFile);
        }
        Ok((file, metadata))
    }

    /// Where a path really leads: itself, or the target of links that may be followed.
    pub fn real(&self, path: &RelPath) -> Result<RelPath, ReadError> {
        let real = fs::canonicalize(self.path.join(path.as_str())).map_err(|error| {
            // A circle of links leads nowhere.
            if is_loop(&error) { ReadError::Outside } else { error.into() }
        })?;
        let inside = real.strip_prefix(&self.path).map_err(|_| ReadError::Outside)?;
        let inside = inside.to_str().and_then(|inside| RelPath::parse(inside).ok());
        let inside = inside.ok_or(ReadError::Outside)?;
        if inside == *path {
            return Ok(inside);
        }
        if !self.follow_links || !self.shows(&inside, false) {
            return Err(ReadError::Hidden);
        }
        Ok(inside)
    }

    /// The kernel resolves the path and refuses each step through a link, so nothing can be swapped in
    /// between the check and the opening.
    #[cfg(target_os = "linux")]
    fn open_beneath(&self, path: &RelPath) -> Result<File, ReadError> {
        use rustix::{fs::ResolveFlags, io::Errno};
        let open = |path: &RelPath| {
            rustix::fs::openat2(
                &self.folder,
                path.as_str(),
                open_flags(),
                rustix::fs::Mode::empty(),
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
            )
        };
        match open(path) {
            Ok(file) => Ok(File::from(file)),
            Err(Errno::LOOP | Errno::XDEV) => match open(&self.real(path)?) {
                Ok(file) => Ok(File::from(file)),
                Err(Errno::LOOP | Errno::XDEV | Errno::AGAIN) => Err(ReadError::Outside),
                Err(errno) => Err(io::Error::from(errno).into()),
            },
            // An old kernel, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => self.open_checked(path),
            Err(Errno::NXIO | Errno::NODEV) => Err(ReadError::NotAFile),
            Err(errno) => Err(io::Error::from(errno).into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_beneath(&self, path: &RelPath) -> Result<File, ReadError> {
        self.open_checked(path)
    }

    /// Without help of the kernel: resolve, check, open without following, and check again.
    fn open_checked(&self, path: &RelPath) -> Result<File, ReadError> {
        let real = self.real(path)?;
        let at = self.path.join(real.as_str());
        #[cfg(unix)]
        let file = {
            let file = rustix::fs::open(&at, open_flags(), rustix::fs::Mode::empty());
            match file {
                Ok(file) => File::from(file),
                Err(rustix::io::Errno::LOOP) => return Err(ReadError::Outside),
                Err(rustix::io::Errno::NXIO) => return Err(ReadError::NotAFile),
                Err(errno) => return Err(io::Error::from(errno).into()),
            }
        };
        #[cfg(not(unix))]
        let file = File::open(&at)?;
        if self.real(path)? != real {
            return Err(ReadError::Outside);
        }
        Ok(file)
    }
}

/// A pipe or a device must not make the caller wait; nothing is ever written.
#[cfg(unix)]
fn open_flags() -> rustix::fs::OFlags {
    use rustix::fs::OFlags;
    OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::NOFOLLOW
}

/// Device and number of a folder; where there is no such thing, that it is there.
fn place(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some(format!("{}:{}", metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    Some(String::from("there"))
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_: &io::Error) -> bool {
    false
}
