//! Steps that run in a process of their own, so that memory and CPU time are theirs alone.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use ibid_api::{IndexReply, IndexScope, SearchRequest};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    Outcome,
    measure::{Cost, Memory, PeakMemory, measured},
    world::Knowledge,
};

/// What a process of its own does.
#[derive(Debug)]
pub(crate) enum Job {
    /// Indexes everything.
    Index { root: PathBuf, data: PathBuf },
    /// Opens, searches once and waits.
    Reader { root: PathBuf, data: PathBuf, query: String },
}

/// What indexing cost.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Indexed {
    pub(crate) cost: Cost,
    /// Largest own memory, in megabytes.
    pub(crate) peak: f64,
    pub(crate) reply: IndexReply,
}

/// What an idle reader holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Idle {
    pub(crate) opened: Option<Memory>,
    pub(crate) searched: Option<Memory>,
}

impl Job {
    pub(crate) fn from_arguments(arguments: &[String]) -> Outcome<Option<Self>> {
        let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Ok(match names[..] {
            ["--child", "index", root, data] => Some(Self::Index { root: root.into(), data: data.into() }),
            ["--child", "reader", root, data, query] => {
                Some(Self::Reader { root: root.into(), data: data.into(), query: query.to_owned() })
            }
            ["--child", ..] => return Err("`--child` is only for the benchmark itself".into()),
            _ => None,
        })
    }

    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Index { root, data } => {
                let watched = PeakMemory::watch();
                let (reply, cost) =
                    measured(|| Knowledge::open(&root, &data)?.index(IndexScope::Everything))?;
                answer(&Indexed { cost, peak: watched.end(), reply })
            }
            Self::Reader { root, data, query } => {
                let knowledge = Knowledge::open(&root, &data)?;
                let opened = Memory::now();
                knowledge.search(SearchRequest::new(query, 10))?;
                answer(&Idle { opened, searched: Memory::now() })
            }
        }
    }
}

/// Indexes a tree in a process of its own.
pub(crate) fn index(root: &Path, data: &Path) -> Outcome<Indexed> {
    ask(Command::new(std::env::current_exe()?).args(["--child", "index"]).arg(root).arg(data))
}

/// Memory of a process that searched once.
pub(crate) fn reader(root: &Path, data: &Path, query: &str) -> Outcome<Idle> {
    ask(Command::new(std::env::current_exe()?).args(["--child", "reader"]).arg(root).arg(data).arg(query))
}

fn answer(value: &impl Serialize) -> Outcome {
    println!("{}", serde_json::to_string(value)?);
    Ok(())
}

fn ask<T: DeserializeOwned>(command: &mut Command) -> Outcome<T> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("a step failed with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
