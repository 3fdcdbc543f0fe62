//! Layers of configuration, lowest first: built-in, user file, project file, environment, flags.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ibid_api::{Error, ErrorCode, Result};
use serde_json::Value;
use toml_edit::{Document, Item};

use super::{
    env::Surroundings,
    keys::{KEYS, Key, Scope, find, suggestion},
    value::{Base, from_text, from_toml},
};

/// Where a value came from. Later ones win.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Built in.
    Default,
    /// The user's configuration file.
    UserFile(PathBuf),
    /// The nearest `ibid.toml`.
    ProjectFile(PathBuf),
    /// The file named by `--config` or its variable.
    CustomFile(PathBuf),
    /// An environment variable.
    Variable(String),
    /// A flag.
    Flag(String),
}

impl Origin {
    /// Rank of the layer; a higher one wins.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::UserFile(_) => 1,
            Self::ProjectFile(_) | Self::CustomFile(_) => 2,
            Self::Variable(_) => 3,
            Self::Flag(_) => 4,
        }
    }

    /// The file it came from.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::UserFile(path) | Self::ProjectFile(path) | Self::CustomFile(path) => Some(path),
            _ => None,
        }
    }

    /// For people.
    pub fn describe(&self) -> String {
        match self {
            Self::Default => "built-in".to_owned(),
            Self::UserFile(path) => format!("user file {}", path.display()),
            Self::ProjectFile(path) => format!("project file {}", path.display()),
            Self::CustomFile(path) => format!("file {}", path.display()),
            Self::Variable(name) => format!("environment {name}"),
            Self::Flag(name) => format!("flag {name}"),
        }
    }
}

/// A value and where it came from.
#[derive(Clone)]
pub struct Setting {
    /// The value, checked against its key's kind.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

/// A value for every key.
#[derive(Clone, Default)]
pub struct Settings(BTreeMap<&'static str, Setting>);

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets; whoever prints the settings wants to know where they came from.
        f.debug_map().entries(self.0.iter().map(|(name, setting)| (name, &setting.origin))).finish()
    }
}

impl Settings {
    /// The built-in ones.
    pub fn built_in() -> Self {
        let setting = |key: &Key| Setting { value: key.default(), origin: Origin::Default };
        Self(KEYS.iter().map(|key| (key.name, setting(key))).collect())
    }

    /// The setting of a key.
    pub fn get(&self, key: &Key) -> &Setting {
        self.0.get(key.name).expect("the built-in layer holds every key")
    }

    /// The setting of a key by its name in the table.
    pub fn named(&self, name: &'static str) -> &Setting {
        self.0.get(name).expect("the name stands in the table of keys")
    }

    fn set(&mut self, key: &'static Key, value: Value, origin: Origin) {
        self.0.insert(key.name, Setting { value, origin });
    }

    /// Lays a file over what is there.
    pub fn add_file(&mut self, origin: &Origin, surroundings: &Surroundings) -> Result<()> {
        let path = origin.file().expect("only files are added as files");
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let source = std::fs::read_to_string(path).map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => "does not exist",
                std::io::ErrorKind::PermissionDenied => "may not be read",
                _ => "could not be read",
            };
            invalid(format!("the configuration file `{name}` {what}"))
        })?;
        let document = Document::parse(source.as_str()).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(&source, span.start));
            invalid(format!("{name}:{line}: {}", error.message().lines().next().unwrap_or("not TOML")))
        })?;
        let base =
            Base { folder: path.parent().unwrap_or(Path::new(".")), home: surroundings.home.as_deref() };
        let file = File { name: &name, source: &source, origin, base };
        file.add_table(self, "", document.as_table())
    }

    /// Lays the environment over what is there.
    pub fn add_environment(&mut self, surroundings: &Surroundings) -> Result<()> {
        for key in KEYS {
            if let Some((variable, raw)) = surroundings.variable_of(key) {
                let value = from_text(key, raw, surroundings.base())
                    .map_err(|rule| invalid(format!("the environment variable `{variable}` {rule}")))?;
                self.set(key, value, Origin::Variable(variable));
            }
        }
        Ok(())
    }

    /// Lays flags over what is there: each a key, the flag's name and its value.
    pub fn add_flags(&mut self, flags: &[Flag], surroundings: &Surroundings) -> Result<()> {
        for flag in flags {
            let key = find(&flag.key).ok_or_else(|| unknown_key(&flag.key))?;
            let value = from_text(key, &flag.value, surroundings.base())
                .map_err(|rule| invalid(format!("`{}` {rule}", flag.name)))?;
            self.set(key, value, Origin::Flag(flag.name.clone()));
        }
        Ok(())
    }
}

impl Surroundings {
    fn base(&self) -> Base<'_> {
        Base { folder: &self.current_dir, home: self.home.as_deref() }
    }
}

/// A key that a flag sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The key.
    pub key: String,
    /// The flag as typed, for messages.
    pub name: String,
    /// Its value as typed.
    pub value: String,
}

impl Flag {
    /// A flag that sets a key.
    pub fn new(key: &str, name: &str, value: impl ToString) -> Self {
        Self { key: key.to_owned(), name: name.to_owned(), value: value.to_string() }
    }
}

struct File<'a> {
    name: &'a str,
    source: &'a str,
    origin: &'a Origin,
    base: Base<'a>,
}

impl File<'_> {
    fn add_table(
        &self,
        settings: &mut Settings,
        prefix: &str,
        table: &dyn toml_edit::TableLike,
    ) -> Result<()> {
        for (name, item) in table.iter() {
            let dotted = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            let span = table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let line = span.map_or(1, |span| line_of(self.source, span.start));
            let at = |rule: &str| invalid(format!("{}:{line}: `{dotted}` {rule}", self.name));
            if let Some(key) = find(&dotted) {
                if key.scope == Scope::NotInProject && matches!(self.origin, Origin::ProjectFile(_)) {
                    return Err(at("may not be set in a project file")
                        .with_hint(format!("set it for yourself with `ibid config set {dotted} …`")));
                }
                let value = from_toml(key, item, self.base).map_err(|rule| at(&rule))?;
                settings.set(key, value, self.origin.clone());
            } else if is_section(&dotted) {
                let inner = match item {
                    Item::Table(table) => table as &dyn toml_edit::TableLike,
                    Item::Value(toml_edit::Value::InlineTable(table)) => table,
                    _ => return Err(at("is a section and must be a table")),
                };
                self.add_table(settings, &dotted, inner)?;
            } else {
                let mut error = invalid(format!("{}:{line}: unknown key `{dotted}`", self.name));
                error.hint = unknown_key(&dotted).hint;
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Whether keys stand below this name.
pub fn is_section(dotted: &str) -> bool {
    let below = |name: &str| name.strip_prefix(dotted).is_some_and(|rest| rest.starts_with('.'));
    KEYS.iter().any(|key| below(key.name) || key.aliases.iter().any(|alias| below(alias)))
}

/// The error for a key that does not exist.
pub fn unknown_key(name: &str) -> Error {
    let error = invalid(format!("unknown key `{name}`"));
    match suggestion(name, KEYS.iter().map(|key| key.name)) {
        Some(known) => error.with_hint(format!("did you mean `{known}`?")),
        None => error.with_hint("`ibid config show` lists every key"),
    }
}

/// An error in the configuration.
pub fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::ConfigInvalid, message)
}

fn line_of(source: &str, offset: usize) -> usize {
    source
        .char_indices()
        .take_while(|(at, _)| *at < offset)
        .filter(|(_, character)| *character == '\n')
        .count()
        + 1
}
