//! A folder to index, a place for its data and the program, shut off from the machine around them.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// Exit code of a defect.
pub(crate) const DEFECT: i32 = 70;

/// A knowledge base of its own.
#[derive(Debug)]
pub(crate) struct Sandbox {
    folder: TempDir,
    data: PathBuf,
    root: PathBuf,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (root, data) = (folder.path().join("tree"), folder.path().join("data"));
        fs::create_dir(&root).expect("a folder to index");
        Self { folder, data, root }
    }

    /// Keeps the data somewhere else.
    pub(crate) fn with_data(mut self, data: PathBuf) -> Self {
        self.data = data;
        self
    }

    /// Indexes a folder that is there already.
    pub(crate) fn with_root(mut self, root: PathBuf) -> Self {
        self.root = root;
        self
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// A place beside the tree and the data.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the tree with the folders it needs.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a path below the root")).expect("the folder of a file");
        fs::write(path, text).expect("a file of the tree");
    }

    /// The program, working in the tree; nothing of the surroundings reaches it.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ibid"));
        command
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .env("HOME", self.beside("home"))
            .env("IBID_DATA_DIR", &self.data)
            .env("IBID_EMBEDDING_ENABLED", "false")
            .stdin(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Ran {
        Ran::from(self.command(arguments).output().expect("the program starts"))
    }

    /// Indexes what changed, which must work, and returns the reply.
    pub(crate) fn index(&self) -> Value {
        self.run(&["index", "--json"]).json()
    }

    /// Searches, which must work, and returns the reply.
    pub(crate) fn search(&self, query: &str) -> Value {
        self.run(&["search", "--json", "--", query]).json()
    }

    /// Paths of the documents that a search finds, best first.
    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        paths(&self.search(query))
    }

    /// The whole state.
    pub(crate) fn status(&self) -> Value {
        self.run(&["status", "--json"]).json()
    }
}

/// Paths of the hits of a reply.
pub(crate) fn paths(reply: &Value) -> Vec<String> {
    let hits = reply["hits"].as_array().expect("a list of hits");
    hits.iter().map(|hit| hit["document"]["path"].as_str().expect("a path").to_owned()).collect()
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// What it printed; it must have ended well.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {}", self.stdout))
    }

    /// It ended by itself, well or with an error that is meant for people.
    pub(crate) fn is_orderly(&self) -> bool {
        let panicked = self.stderr.contains("panicked at") || self.stderr.contains("INTERNAL_ERROR");
        self.code.is_some_and(|code| code != DEFECT && code != 101) && !panicked
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Whether the long rounds were asked for.
pub(crate) fn long() -> bool {
    std::env::var_os("IBID_LONG").is_some_and(|value| value == "1")
}
