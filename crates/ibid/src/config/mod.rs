//! Configuration: one table of keys, layers that set them, and the values the program works with.

pub mod edit;
pub mod env;
pub mod keys;
pub mod layer;
pub mod place;
pub mod reference;
pub mod secret;
mod validate;
pub mod value;

use std::path::{Path, PathBuf};

use ibid_api::Result;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use env::Surroundings;
use keys::KEYS;
use layer::{Flag, Origin, Settings};

/// Name of the project file.
pub const PROJECT_FILE: &str = "ibid.toml";

/// Everything the program was told, and where each value came from.
#[derive(Debug, Clone)]
pub struct Config {
    /// The values, typed.
    pub values: Values,
    /// The same values with their origins.
    pub settings: Settings,
    /// What the process was started with.
    pub surroundings: Surroundings,
    /// The file named by `--config`, which stands in for the user and project files.
    pub custom_file: Option<PathBuf>,
    /// The nearest `ibid.toml`.
    pub project_file: Option<PathBuf>,
}

impl Config {
    /// Reads all layers. `custom_file` is what `--config` names.
    pub fn load(surroundings: Surroundings, custom_file: Option<PathBuf>, flags: &[Flag]) -> Result<Self> {
        let custom_file = custom_file
            .or_else(|| surroundings.get(env::CONFIG.name).map(PathBuf::from))
            .map(|path| surroundings.current_dir.join(path));
        let mut settings = Settings::built_in();
        let mut project_file = None;
        if let Some(path) = &custom_file {
            settings.add_file(&Origin::CustomFile(path.clone()), &surroundings)?;
        } else {
            if let Some(path) = surroundings.user_file().filter(|path| path.exists()) {
                settings.add_file(&Origin::UserFile(path), &surroundings)?;
            }
            project_file = nearest_project_file(&surroundings.current_dir);
            if let Some(path) = &project_file {
                settings.add_file(&Origin::ProjectFile(path.clone()), &surroundings)?;
            }
        }
        settings.add_environment(&surroundings)?;
        settings.add_flags(flags, &surroundings)?;
        let values = Values::of(&settings);
        validate::check(&values)?;
        Ok(Self { values, settings, surroundings, custom_file, project_file })
    }
}

/// The `ibid.toml` in this folder or the nearest one above it.
pub fn nearest_project_file(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|file| file.is_file())
}

/// The values of all keys, in the shape of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table of keys documents each of them")]
pub struct Values {
    pub sources: Vec<SourceValues>,
    #[serde(deserialize_with = "filled_path")]
    pub data_dir: Option<PathBuf>,
    pub read_only: bool,
    pub toolsets: Vec<String>,
    pub tools: Vec<String>,
    pub exclude_tools: Vec<String>,
    pub vault: VaultValues,
    pub index: IndexValues,
    pub search: SearchValues,
    pub embedding: EmbeddingValues,
    pub server: ServerValues,
    pub cors: CorsValues,
    pub mcp: McpValues,
    pub watch: WatchValues,
    pub sync: SyncValues,
    pub text: TextValues,
    pub engine: EngineValues,
}

impl Values {
    fn of(settings: &Settings) -> Self {
        let mut root = Map::new();
        for key in KEYS {
            let mut table = &mut root;
            let mut name = key.name;
            while let Some((section, rest)) = name.split_once('.') {
                table = table
                    .entry(section)
                    .or_insert_with(|| Value::Object(Map::new()))
                    .as_object_mut()
                    .expect("a section is never a key");
                name = rest;
            }
            table.insert(name.to_owned(), settings.get(key).value.clone());
        }
        serde_json::from_value(Value::Object(root)).expect("values were checked against their kinds")
    }
}

/// A secret: it cannot be printed by accident.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// A secret with this value.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, when there is one. Only for comparing and sending.
    pub fn reveal(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|value| !value.is_empty())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "unset" } else { "set" })
    }
}

macro_rules! values {
    ($($name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* })*) => {$(
        #[derive(Debug, Clone, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(missing_docs, reason = "the table of keys documents each of them")]
        pub struct $name { $($(#[$meta])* pub $field: $type,)* }
    )*};
}

values! {
    SourceValues {
        path: PathBuf,
        name: String,
        exclude: Vec<String>,
        include_hidden: bool,
        follow_links: bool,
        respect_gitignore: bool,
        kinds: Vec<String>,
        max_file_bytes: u64,
    }
    VaultValues {
        #[serde(deserialize_with = "filled_path")]
        root: Option<PathBuf>,
        exclude: Vec<String>,
    }
    IndexValues { max_file_bytes: u64, legacy_encodings: String, chunk_target: usize, chunk_max: usize, }
    SearchValues { mode: String, limit: u32, per_document: u32, format: String, }
    EmbeddingValues {
        enabled: bool,
        #[serde(deserialize_with = "filled_text")]
        endpoint: Option<String>,
        #[serde(deserialize_with = "filled_text")]
        model: Option<String>,
        #[serde(deserialize_with = "filled_path")]
        path: Option<PathBuf>,
        timeout_seconds: u64,
        threads: usize,
        api_key: Secret,
        query_prefix: String,
        passage_prefix: String,
        require: bool,
        allow_private_network_endpoint: bool,
    }
    ServerValues {
        endpoint: String,
        host: String,
        port: u16,
        api_key: Secret,
        allowed_hosts: Vec<String>,
        log_level: String,
    }
    CorsValues { enabled: bool, allowed_origins: Vec<String>, }
    McpValues { enabled: Option<bool>, http: McpHttpValues, api_key: Secret, }
    McpHttpValues { endpoint: String, stateless: bool, }
    WatchValues { enabled: bool, debounce_ms: u64, max_batch_delay_ms: u64, ignore_initial: bool, }
    SyncValues {
        enabled: bool,
        #[serde(deserialize_with = "filled_text")]
        repo: Option<String>,
        remote: String,
        #[serde(deserialize_with = "filled_text")]
        branch: Option<String>,
        interval_seconds: u64,
        webhook_enabled: bool,
        webhook_secret: Secret,
        pull_timeout_seconds: u64,
        failure_backoff_seconds: u64,
    }
    TextValues {
        #[serde(deserialize_with = "filled_path")]
        file: Option<PathBuf>,
        description: String,
    }
    EngineValues {
        #[serde(deserialize_with = "filled_text")]
        url: Option<String>,
        api_key: Secret,
    }
}

fn filled_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Some(String::deserialize(deserializer)?).filter(|text| !text.is_empty()))
}

fn filled_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    Ok(filled_text(deserializer)?.map(PathBuf::from))
}

#[cfg(test)]
mod tests;
