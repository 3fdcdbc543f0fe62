//! The clients that are known: where their configuration is and what an entry looks like there.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use ibid_api::{Error, ErrorCode, Result};
use serde_json::{Map, Value, json};

use super::Scope;
use crate::config::Config;

/// A client.
#[derive(Debug)]
pub(in crate::cli) struct Client {
    /// Its name on the command line.
    pub(in crate::cli) name: &'static str,
    /// Its name for people.
    pub(in crate::cli) title: &'static str,
    /// What to do after registering.
    pub(super) then: &'static str,
    /// Language of its configuration.
    pub(super) format: Format,
    /// Where the entries are inside it.
    section: &'static str,
    /// Whether an entry says `"type": "stdio"`.
    typed: bool,
    user_file: fn(&Config) -> Option<PathBuf>,
    project_file: Option<&'static str>,
    /// What stands for the project's folder in a project file; nothing when the client starts servers there.
    project_folder: Option<&'static str>,
}

/// Language of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Toml,
}

/// Where an entry goes.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) format: Format,
    pub(super) section: &'static str,
}

/// What is written: how to start ibid.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    typed: bool,
}

/// All known clients.
pub(in crate::cli) const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        then: "start a new session; `claude mcp list` shows it",
        format: Format::Json,
        section: "mcpServers",
        typed: true,
        user_file: |config| {
            let folder = config.surroundings.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
            Some(folder.or_else(|| config.surroundings.home.clone())?.join(".claude.json"))
        },
        project_file: Some(".mcp.json"),
        project_folder: None,
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        then: "quit Claude Desktop and start it again",
        format: Format::Json,
        section: "mcpServers",
        typed: false,
        user_file: |config| Some(application_data(config)?.join("Claude").join("claude_desktop_config.json")),
        project_file: None,
        project_folder: None,
    },
    Client {
        name: "cursor",
        title: "Cursor",
        then: "Cursor asks whether to enable it; see Settings, MCP",
        format: Format::Json,
        section: "mcpServers",
        typed: true,
        user_file: |config| Some(config.surroundings.home.as_ref()?.join(".cursor").join("mcp.json")),
        project_file: Some(".cursor/mcp.json"),
        project_folder: Some("${workspaceFolder}"),
    },
    Client {
        name: "vscode",
        title: "VS Code",
        then: "run `MCP: List Servers` in VS Code to start it",
        format: Format::Json,
        section: "servers",
        typed: true,
        user_file: |config| Some(application_data(config)?.join("Code").join("User").join("mcp.json")),
        project_file: Some(".vscode/mcp.json"),
        project_folder: Some("${workspaceFolder}"),
    },
    Client {
        name: "codex",
        title: "Codex",
        then: "start a new session; `codex mcp list` shows it",
        format: Format::Toml,
        section: "mcp_servers",
        typed: false,
        user_file: |config| {
            let folder = config.surroundings.get("CODEX_HOME").map(PathBuf::from);
            let folder = folder.or_else(|| Some(config.surroundings.home.as_ref()?.join(".codex")));
            Some(folder?.join("config.toml"))
        },
        project_file: Some(".codex/config.toml"),
        project_folder: None,
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        then: "start a new session; `gemini mcp list` shows it",
        format: Format::Json,
        section: "mcpServers",
        typed: false,
        user_file: |config| Some(config.surroundings.home.as_ref()?.join(".gemini").join("settings.json")),
        project_file: Some(".gemini/settings.json"),
        project_folder: None,
    },
];

/// The names, for the command line.
pub(super) fn parser() -> PossibleValuesParser {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
}

/// Where applications with windows keep their files.
fn application_data(config: &Config) -> Option<PathBuf> {
    let surroundings = &config.surroundings;
    if cfg!(target_os = "macos") {
        Some(surroundings.home.as_ref()?.join("Library").join("Application Support"))
    } else if cfg!(windows) {
        surroundings.get("APPDATA").map(PathBuf::from)
    } else {
        surroundings.config_home.clone()
    }
}

impl Client {
    /// Where its entry goes.
    pub(super) fn target(&self, scope: Scope, config: &Config) -> Result<Target> {
        let file = match scope {
            Scope::User => (self.user_file)(config).ok_or_else(|| {
                Error::new(ErrorCode::ConfigInvalid, "there is no home folder to look for the client in")
            })?,
            Scope::Project => {
                let file = self.project_file.ok_or_else(|| {
                    Error::new(
                        ErrorCode::InvalidParameter,
                        format!("{} has no project configuration", self.title),
                    )
                    .with_hint("leave `--scope project` away")
                })?;
                config.place()?.root.join(file)
            }
        };
        Ok(Target { file, format: self.format, section: self.section })
    }

    /// Whether it seems to be installed: its configuration, or the folder for it, exists.
    pub(in crate::cli) fn is_present(&self, config: &Config) -> bool {
        let Some(file) = (self.user_file)(config) else { return false };
        let own_folder = file.parent().filter(|folder| Some(*folder) != config.surroundings.home.as_deref());
        file.exists() || own_folder.is_some_and(std::path::Path::exists)
    }
}

impl Entry {
    pub(super) fn new(client: &Client, scope: Scope, options: &[String], config: &Config) -> Result<Self> {
        let (command, folder) = match scope {
            // Applications with windows often have no `PATH` to speak of.
            Scope::User => {
                let program = config.surroundings.executable.as_ref();
                let command = program.map_or_else(|| "ibid".to_owned(), |path| path.display().to_string());
                (command, Some(config.place()?.root.display().to_string()))
            }
            Scope::Project => ("ibid".to_owned(), client.project_folder.map(str::to_owned)),
        };
        let mut args = Vec::new();
        if let Some(folder) = folder {
            args.extend(["-C".to_owned(), folder]);
        }
        args.push("mcp".to_owned());
        args.extend(options.iter().cloned());
        Ok(Self { command, args, typed: client.typed })
    }

    /// The entry as JSON.
    pub(super) fn json(&self) -> Value {
        let mut entry = Map::new();
        if self.typed {
            entry.insert("type".to_owned(), json!("stdio"));
        }
        entry.insert("command".to_owned(), json!(self.command));
        entry.insert("args".to_owned(), json!(self.args));
        Value::Object(entry)
    }
}
