//! What the process was started with: the only file that reads the environment.
//!
//! Everything is read once, at the start, into [`Surroundings`]; the rest of the program gets values. Each
//! configuration key has an `IBID_` variable made from its name, which wins over the other names the key
//! answers to (column `env` of [`super::keys::KEYS`]). The variables below belong to no key.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use ibid_api::{Error, ErrorCode, Result};

use super::keys::Key;

/// A variable that belongs to no configuration key.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// The configuration file to read instead of the user and project files; `--config` wins over it.
pub const CONFIG: Variable = Variable {
    name: "IBID_CONFIG",
    about: "Configuration file to read instead of the user and project files; `--config` wins over it.",
};
/// Turns colour off.
pub const NO_COLOR: Variable =
    Variable { name: "NO_COLOR", about: "Any value turns colour off, unless `--color always` is given." };
/// Turns colour on.
pub const CLICOLOR_FORCE: Variable = Variable {
    name: "CLICOLOR_FORCE",
    about: "Any value but `0` turns colour on even when the output is not a terminal.",
};
/// Width of the output.
pub const COLUMNS: Variable =
    Variable { name: "COLUMNS", about: "Width of the output when it is not a terminal." };
/// Log filter in the syntax of `tracing`.
pub const LOG: Variable = Variable {
    name: "IBID_LOG",
    about: "Log filter by module (`info,ibid_core=debug`); wins over `server.log_level`.",
};

/// All variables that belong to no key.
pub const VARIABLES: &[Variable] = &[CONFIG, NO_COLOR, CLICOLOR_FORCE, COLUMNS, LOG];

/// The variable of a key that is ours: `IBID_` and the key's name.
pub fn twin(key: &Key) -> String {
    format!("IBID_{}", key.name.replace('.', "_").to_uppercase())
}

/// What the process was started with.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The environment; variables that are not Unicode are left out.
    pub variables: BTreeMap<String, String>,
    /// The current folder.
    pub current_dir: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Where the user's configuration files are.
    pub config_home: Option<PathBuf>,
    /// Where the user's data is.
    pub data_home: Option<PathBuf>,
    /// This program.
    pub executable: Option<PathBuf>,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets.
        f.debug_struct("Surroundings").field("variables", &self.variables.len()).finish_non_exhaustive()
    }
}

impl Surroundings {
    /// Reads them from the process; `directory` stands in for the current folder.
    pub fn of_process(directory: Option<&Path>) -> Result<Self> {
        let current_dir = std::env::current_dir()
            .map_err(|_| Error::new(ErrorCode::ConfigInvalid, "the current folder cannot be read"))?;
        let current_dir = match directory {
            Some(directory) => {
                let directory = current_dir.join(directory);
                if !directory.is_dir() {
                    return Err(Error::new(ErrorCode::InvalidPath, "`--directory` is not a folder"));
                }
                directory
            }
            None => current_dir,
        };
        let strategy = etcetera::choose_base_strategy().ok();
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Self {
            variables,
            current_dir,
            home: strategy.as_ref().map(|strategy| strategy.home_dir().to_owned()),
            config_home: strategy.as_ref().map(BaseStrategy::config_dir),
            data_home: strategy.as_ref().map(BaseStrategy::data_dir),
            executable: std::env::current_exe().ok(),
        })
    }

    /// The value of a variable; an empty one counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The variable that sets a key, and its value: ours first, then the other names in their order.
    pub fn variable_of(&self, key: &Key) -> Option<(String, &str)> {
        let ours = twin(key);
        if let Some(value) = self.get(&ours) {
            return Some((ours, value));
        }
        key.env.iter().find_map(|name| Some(((*name).to_owned(), self.get(name)?)))
    }

    /// The user's configuration file.
    pub fn user_file(&self) -> Option<PathBuf> {
        Some(self.config_home.as_ref()?.join("ibid").join("config.toml"))
    }
}
