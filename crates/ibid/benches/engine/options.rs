//! What to run and how large.

use std::path::PathBuf;

use super::Outcome;

/// A part of the benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// First index.
    Index,
    /// Updates of what was indexed.
    Update,
    /// Many small files.
    Notes,
    /// Queries of an open engine.
    Query,
    /// A query by a new process.
    Cold,
}

const GROUPS: [(&str, Group); 5] = [
    ("index", Group::Index),
    ("update", Group::Update),
    ("notes", Group::Notes),
    ("query", Group::Query),
    ("cold", Group::Cold),
];

/// Sizes and choices of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// Files of the first index, about five kilobytes each.
    pub(crate) files: usize,
    /// Files of the tree of small notes.
    pub(crate) notes: usize,
    /// Chunks that queries run over, about.
    pub(crate) chunks: usize,
    /// Queries of each kind.
    pub(crate) queries: usize,
    /// How often something short is repeated.
    pub(crate) rounds: usize,
    /// Whether to print JSON.
    pub(crate) json: bool,
    /// Where the tree that queries run over stays for the next run.
    pub(crate) keep: Option<PathBuf>,
    only: Vec<Group>,
}

impl Options {
    pub(crate) fn from_arguments(arguments: &[String]) -> Outcome<Self> {
        let mut options = Self {
            files: 10_000,
            notes: 40_000,
            chunks: 200_000,
            queries: 500,
            rounds: 20,
            json: false,
            keep: None,
            only: Vec::new(),
        };
        if arguments.iter().any(|argument| argument == "--quick") {
            options = Self { files: 400, notes: 1_000, chunks: 4_000, queries: 40, rounds: 5, ..options };
        }
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("`{argument}` needs a value"));
            match argument.as_str() {
                // Cargo adds `--bench`.
                "--quick" | "--bench" => {}
                "--json" => options.json = true,
                "--files" => options.files = value()?.parse()?,
                "--notes" => options.notes = value()?.parse()?,
                "--chunks" => options.chunks = value()?.parse()?,
                "--queries" => options.queries = value()?.parse()?,
                "--keep" => options.keep = Some(value()?.into()),
                "--rounds" => options.rounds = value()?.parse()?,
                "--only" => {
                    let name = value()?;
                    let group = GROUPS.iter().find(|(known, _)| known == name);
                    options.only.push(group.ok_or_else(|| format!("there is no group `{name}`"))?.1);
                }
                other => {
                    return Err(
                        format!("`{other}` is not known; see the top of benches/engine/main.rs").into()
                    );
                }
            }
        }
        Ok(options)
    }

    pub(crate) fn runs(&self, group: Group) -> bool {
        self.only.is_empty() || self.only.contains(&group)
    }
}
