//! Runs the real program in a world of its own: a temporary home, a temporary folder, no inherited settings.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// A temporary home with a folder `vault` in it.
pub(crate) struct World {
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// What a run of the program left behind.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        fs::create_dir_all(root.path().join("vault")).unwrap();
        Self { root, variables: Vec::new() }
    }

    /// A world with these files in its vault.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (path, content) in files {
            world.write(path, content);
        }
        world
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.root.path().join("vault")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.vault().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The program, ready to run in the vault.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ibid"));
        command
            .args(arguments)
            .current_dir(self.vault())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        finish(self.command(arguments).spawn().unwrap())
    }

    /// Runs the program with something to read.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Run {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        finish(child)
    }

    /// Runs the program, which must succeed, and returns what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "ibid {}: {}{}", arguments.join(" "), run.out, run.err);
        run.out
    }

    /// Runs the program, which must succeed and print JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let out = self.ok(arguments);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Runs the program, which must fail with this exit code and message on stderr.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str], code: i32, message: &str) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, code, "ibid {}: {}{}", arguments.join(" "), run.out, run.err);
        assert!(run.err.contains(message), "ibid {}: {}", arguments.join(" "), run.err);
        assert_eq!(run.out, "", "errors belong on stderr");
        run
    }
}

fn finish(child: std::process::Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
