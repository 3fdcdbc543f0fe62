//! `CoreConfig`: everything the engine needs to know, handed in as plain values by its caller.

use std::{fmt, path::PathBuf, time::Duration};

use ibid_api::DocumentKind;

use crate::{chunk::ChunkPolicy, parse::Legacy};

/// Folders and files that no source shows unless its own patterns take them back in, in gitignore syntax.
pub const DEFAULT_EXCLUDES: &[&str] = &[
    ".obsidian/",
    ".git/",
    "node_modules/",
    ".DS_Store",
    "Thumbs.db",
    "__pycache__/",
    ".cache/",
    ".tmp/",
    "dist/",
    "build/",
    ".next/",
    ".nuxt/",
    "target/",
    "out/",
];

/// A knowledge base: where its data lives, what it is made from, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreConfig {
    /// Folder of the index. It is created by the first write and by nothing else.
    pub data_dir: PathBuf,
    /// Folders to index; each name is used once.
    pub sources: Vec<SourceConfig>,
    /// Only files with one of these extensions (lower case, without dot) become documents; all the engine
    /// can read when `None`.
    pub extensions: Option<Vec<String>>,
    /// Which texts in UTF-16 or an older encoding are decoded; others are left out as not UTF-8.
    pub legacy: Legacy,
    /// How documents are cut.
    pub chunk_policy: ChunkPolicy,
    /// Where vectors come from.
    pub embedding: EmbeddingConfig,
    /// Whether nothing at all may be written, index included.
    pub read_only: bool,
    /// Threads for parsing and embedding; as many as the machine has when `None`.
    pub threads: Option<usize>,
    /// Threads for embedding alone; as many as for everything else when `None`.
    pub embedding_threads: Option<usize>,
    /// How changes of files are collected.
    pub watch: WatchConfig,
}

impl CoreConfig {
    /// How the vault contract cuts notes.
    pub const HEADING_CHUNKS: ChunkPolicy = ChunkPolicy::Heading { target: 2_000, max: 4_000 };

    /// A configuration without sources that keeps its data in this folder.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            sources: Vec::new(),
            extensions: None,
            legacy: Legacy::default(),
            chunk_policy: Self::HEADING_CHUNKS,
            embedding: EmbeddingConfig::Builtin,
            read_only: false,
            threads: None,
            embedding_threads: None,
            watch: WatchConfig::default(),
        }
    }

    /// Adds a source.
    pub fn with_source(mut self, source: SourceConfig) -> Self {
        self.sources.push(source);
        self
    }

    /// Restricts documents to Markdown in UTF-8, as a vault does.
    pub fn markdown_only(mut self) -> Self {
        self.legacy = Legacy::Never;
        self.extensions = Some(vec!["md".to_owned(), "markdown".to_owned()]);
        self
    }
}

/// A folder that is indexed and never written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceConfig {
    /// Name under which its documents are stored.
    pub name: String,
    /// The folder.
    pub root: PathBuf,
    /// What to leave out besides [`DEFAULT_EXCLUDES`], in gitignore syntax. `!pattern` takes a default
    /// back in; hidden files stay hidden.
    pub exclude: Vec<String>,
    /// Whether names that start with a dot are shown.
    pub include_hidden: bool,
    /// Whether symbolic links are followed, when what they lead to is inside the root.
    pub follow_links: bool,
    /// Larger files are found by name only.
    pub max_file_bytes: u64,
    /// Whether `.gitignore` files and `.git/info/exclude` hold. `.ibidignore` always does.
    pub respect_gitignore: bool,
    /// Only documents of these kinds; all when `None`.
    pub kinds: Option<Vec<DocumentKind>>,
}

impl SourceConfig {
    /// Largest file that is read unless configured otherwise.
    pub const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024;

    /// A folder with the usual rules.
    pub fn new(name: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            root: root.into(),
            exclude: Vec::new(),
            include_hidden: false,
            follow_links: true,
            max_file_bytes: Self::MAX_FILE_BYTES,
            respect_gitignore: true,
            kinds: None,
        }
    }
}

/// Where vectors come from.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum EmbeddingConfig {
    /// Search by words only.
    Disabled,
    /// The model that is part of the program.
    #[default]
    Builtin,
    /// A model of the same family in a folder or packed file.
    Local(PathBuf),
    /// An OpenAI-compatible endpoint.
    Endpoint(EndpointConfig),
}

/// An OpenAI-compatible embedding endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointConfig {
    /// Address to post to, such as `http://127.0.0.1:11434/v1/embeddings`.
    pub url: String,
    /// Name of the model.
    pub model: String,
    /// Sent as a bearer token.
    pub key: Option<String>,
    /// Whether the host may be in a private network; otherwise it must be this machine.
    pub allow_private_network: bool,
    /// Put in front of every query.
    pub query_prefix: String,
    /// Put in front of every passage.
    pub passage_prefix: String,
    /// Longest wait for an answer.
    pub timeout: Duration,
}

impl EndpointConfig {
    /// A model behind an address on this machine.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            allow_private_network: false,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            timeout: Duration::from_mins(2),
        }
    }
}

impl fmt::Debug for EndpointConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key, and the address that may hold one, stay out of logs.
        f.debug_struct("EndpointConfig").field("model", &self.model).finish_non_exhaustive()
    }
}

/// How changes of files are collected before they are indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchConfig {
    /// Indexing starts once nothing has changed for this long.
    pub debounce: Duration,
    /// It starts at the latest this long after the first change.
    pub max_batch_delay: Duration,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self { debounce: Duration::from_secs(10), max_batch_delay: Duration::from_mins(1) }
    }
}
