//! The tree that is measured, and the engine over it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ibid_api::{Engine, IndexReply, IndexRequest, IndexScope, RelPath, SearchReply, SearchRequest, Status};
use ibid_core::{
    CoreConfig, EmbeddingConfig, LocalEngine, SourceConfig, WatchConfig,
    eval::{Corpus, Shape, Written},
    parse::{Outcome as Parse, ParseOptions, Parsed, RawFile, parse},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::Outcome;

/// Name of the one source.
pub(crate) const SOURCE: &str = "tree";
/// Measured: how many chunks a page of the corpus becomes.
const CHUNKS_PER_PAGE: f64 = 5.0;
const SEED: u64 = 20;

/// A made tree of files and the place of its index.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) corpus: Corpus,
    written: Written,
    folder: Folder,
}

/// Where it all lies.
#[derive(Debug)]
enum Folder {
    /// Gone with the run.
    Passing(TempDir),
    /// Kept for the next run, which finds the tree and its index there.
    Kept(PathBuf),
}

impl World {
    pub(crate) fn pages(files: usize) -> Outcome<Self> {
        Self::new(Corpus::new(SEED, files, Shape::Pages), passing()?)
    }

    pub(crate) fn notes(files: usize) -> Outcome<Self> {
        Self::new(Corpus::new(SEED, files, Shape::Notes), passing()?)
    }

    /// A tree of about so many chunks, kept in a folder if one is given.
    pub(crate) fn chunks(chunks: usize, keep: Option<&Path>) -> Outcome<Self> {
        let files = (chunks as f64 / CHUNKS_PER_PAGE).round() as usize;
        let folder = match keep {
            Some(keep) => Folder::Kept(keep.join(format!("{files}-pages"))),
            None => passing()?,
        };
        Self::new(Corpus::new(SEED, files, Shape::Pages), folder)
    }

    fn new(corpus: Corpus, folder: Folder) -> Outcome<Self> {
        let root = folder.path().join("tree");
        if root.is_dir() {
            let sizes =
                (0..corpus.pages()).map(|number| Ok(fs::metadata(root.join(corpus.path(number)))?.len()));
            let bytes = sizes.sum::<std::io::Result<u64>>()?;
            return Ok(Self { written: Written { files: corpus.pages(), bytes }, corpus, folder });
        }
        let written = corpus.write(&root)?;
        // Files that changed a moment ago are looked at twice; these are as old as files usually are.
        let long_ago = SystemTime::now() - Duration::from_secs(3_600);
        for number in 0..corpus.pages() {
            fs::File::options().append(true).open(root.join(corpus.path(number)))?.set_modified(long_ago)?;
        }
        Ok(Self { corpus, written, folder })
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A folder for a floor.
    pub(crate) fn beside(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.folder.path().join(name);
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// An empty folder for a floor, whatever an earlier run left.
    pub(crate) fn anew(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.folder.path().join(name);
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        self.beside(name)
    }

    pub(crate) fn files(&self) -> usize {
        self.written.files
    }

    pub(crate) fn megabytes(&self) -> f64 {
        self.written.bytes as f64 / 1e6
    }

    /// Every page read from the disk and parsed, one after the other.
    pub(crate) fn parsed(&self) -> impl Iterator<Item = Outcome<(String, Parsed)>> {
        let root = self.root();
        (0..self.corpus.pages()).map(move |number| {
            let path = self.corpus.path(number);
            let bytes = fs::read(root.join(&path))?;
            let raw = RawFile { path: RelPath::parse(&path)?, bytes };
            match parse(&raw, &ParseOptions::default()) {
                Parse::Parsed(parsed, _) => Ok((path, *parsed)),
                Parse::Skipped(reason) => Err(format!("{path} was skipped: {reason:?}").into()),
            }
        })
    }
}

fn passing() -> Outcome<Folder> {
    Ok(Folder::Passing(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?))
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Passing(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}

/// An engine and what its calls run on.
pub(crate) struct Knowledge {
    engine: LocalEngine,
    runtime: Runtime,
}

impl Knowledge {
    /// Opens the engine over a tree, by words only.
    pub(crate) fn open(root: &Path, data: &Path) -> Outcome<Self> {
        Self::with(root, data, WatchConfig::default())
    }

    /// The same, with this patience of a watcher.
    pub(crate) fn with(root: &Path, data: &Path, watch: WatchConfig) -> Outcome<Self> {
        let mut config = CoreConfig::new(data).with_source(SourceConfig::new(SOURCE, root));
        config.embedding = EmbeddingConfig::Disabled;
        config.watch = watch;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { engine: LocalEngine::open(config)?, runtime })
    }

    pub(crate) fn index(&self, scope: IndexScope) -> Outcome<IndexReply> {
        Ok(self.runtime.block_on(self.engine.index(IndexRequest { scope, require_embeddings: false }))?)
    }

    pub(crate) fn engine(&self) -> &LocalEngine {
        &self.engine
    }

    pub(crate) fn status(&self) -> Outcome<Status> {
        Ok(self.runtime.block_on(self.engine.status())?)
    }

    /// How many files were read so far.
    pub(crate) fn files_read(&self) -> u64 {
        self.engine.files_read()
    }

    pub(crate) fn search(&self, request: SearchRequest) -> Outcome<SearchReply> {
        Ok(self.runtime.block_on(self.engine.search(request))?)
    }
}
