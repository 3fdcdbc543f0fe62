//! A synthetic vault with everything the contract speaks of.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use ibid_api::{NoteId, RelPath};
use tempfile::TempDir;

use super::{Server, Stdio};

const HOME: &str = "\
---
title: Homestead
aliases: [Start, Farm]
tags: [\"#farm\", journal/daily]
date: 2024-05-01
created: 2024-04-30
updated: 2024-05-02
secret_field: not shown
---
Opening words about the homestead before any heading.

# Homestead overview

The homestead has a vegetable garden, an orchard and six hens. The garden is planned in [[Garden plan]] and
the beds in [[Garden plan#Beds|the beds]]. Nothing is written yet about the [[Windmill]].

![[plan.png]] and [a photo](images/my%20photo.jpg), and https://example.org/page.

## Hens

The hens lay about four eggs a day in spring. They eat layer pellets, grit and kitchen scraps. In winter the
coop gets a second layer of straw and the water is changed twice a day so that it does not freeze. The fox
came once in March and was kept out by the electric fence, which is checked every Sunday evening.
";

const GARDEN: &str = "\
# Garden plan

Vegetables rotate through four beds so that no family of plants grows in the same soil two years in a row.

## Beds

Bed one has tomatoes and basil, bed two has beans, bed three has cabbage and kale, bed four rests under clover.
Each bed is three metres long and is mulched with straw after planting. The irrigation runs at dawn for twenty
minutes, and the rain barrel is filled from the roof of the shed, which holds about three hundred litres.

```sh
# This is not a heading
irrigate --bed 1 --minutes 20
```

## Compost

The compost heap is turned every second week. Kitchen scraps, straw and grass go in; meat does not.
";

const RECIPES: &str = "\
# Tomato soup

Roast two kilograms of tomatoes with garlic and olive oil until they blister, then blend them with basil and
a little stock. Serve with bread. Leftovers freeze well and keep for three months in the small boxes that fit
the lower drawer of the freezer, where the labels face the front.
";

const CHICKENS: &str = "\
# Poultry keeping

Chickens need a dry coop, clean water and grain. A hen lays an egg roughly every day in the warm season. Predators
such as foxes are kept away by a fence that carries a current; the charger is tested with the small blue meter
that hangs beside the door of the barn.
";

/// A vault, a data folder and a home in a temporary folder.
pub(crate) struct Vault {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// The identifier of the note at a path.
pub(crate) fn note_id(path: &str) -> String {
    NoteId::of(&RelPath::parse(path).unwrap()).to_string()
}

impl Vault {
    /// An empty one.
    pub(crate) fn empty() -> Self {
        let vault = Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        for folder in ["vault", "home"] {
            fs::create_dir(vault.folder.path().join(folder)).unwrap();
        }
        let root = vault.root().to_str().unwrap().to_owned();
        vault.set("VAULT_AGENT_VAULT_ROOT", &root).set("VAULT_AGENT_WATCH_ENABLED", "false")
    }

    /// One with notes and attachments, not indexed.
    pub(crate) fn new() -> Self {
        let vault = Self::empty();
        vault.write("Home.md", HOME);
        vault.write("Projects/Garden plan.md", GARDEN);
        vault.write("Projects/Tomato soup.markdown", RECIPES);
        vault.write("Animals/Poultry.MD", CHICKENS);
        vault.write("Empty thoughts.md", "");
        vault.write(
            "Broken.md",
            "---\ntitle: [unclosed\n---\n# Broken header\n\nIts body about thatching is found.\n",
        );
        vault.write_bytes("images/plan.png", b"\x89PNG\r\n\x1a\nplan");
        vault.write_bytes("images/my photo.jpg", b"\xff\xd8\xffphoto");
        vault.write_bytes("data.unknownkind", b"\x00\x01\x02");
        vault.write(".obsidian/workspace.json", "{\"secret\": true}");
        vault.write("images/.hidden.png", "hidden");
        vault.write("node_modules/package/logo.png", "excluded");
        vault
    }

    /// One with notes and attachments, indexed.
    pub(crate) fn indexed() -> Self {
        let vault = Self::new();
        vault.index();
        vault
    }

    /// Sets an environment variable for every program that is run.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(one, _)| one != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder of the notes.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    /// A folder beside it, which no tool may reach.
    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    /// The temporary folder of all this.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub(crate) fn write_bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A file that the program keeps beside its index.
    #[track_caller]
    pub(crate) fn data_file(&self, name: &str) -> PathBuf {
        let mut folders = vec![self.folder.path().join("data")];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.ends_with(name) {
                    return path;
                }
                folders.extend(Some(path).filter(|path| path.is_dir()));
            }
        }
        panic!("there is no {name} in the data folder");
    }

    /// A file of this size that takes no space.
    pub(crate) fn write_sparse(&self, path: &str, bytes: u64) {
        self.write_bytes(path, b"");
        fs::File::options().write(true).open(self.root().join(path)).unwrap().set_len(bytes).unwrap();
    }

    /// The program, ready to run.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ibid"));
        command
            .args(arguments)
            .current_dir(self.folder.path().join("home"))
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("VAULT_AGENT_INDEX_DIR", self.folder.path().join("data"))
            .env("IBID_TOOLSETS", "vault")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        command
    }

    /// Runs the program to its end, which must be a good one.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "ibid {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Brings the index up to date.
    #[track_caller]
    pub(crate) fn index(&self) {
        self.run(&["index"]);
    }

    /// `ibid mcp`, with the handshake done.
    pub(crate) fn mcp(&self) -> Stdio {
        Stdio::start(self.command(&["mcp"]))
    }

    /// `ibid serve` on a free port, with these further arguments.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Server {
        Server::start(self.serve_command(arguments))
    }

    pub(crate) fn serve_command(&self, arguments: &[&str]) -> Command {
        self.command(&[&["serve", "--port", "0"], arguments].concat())
    }
}
