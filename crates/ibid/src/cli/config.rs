//! `ibid config`

use std::io::Read as _;

use clap::{Args, Subcommand};
use ibid_api::{Error, ErrorCode, Result};
use serde_json::{Map, Value, json};

use super::{Context, Failure, Outcome};
use crate::{
    config::{
        Config, PROJECT_FILE, edit,
        keys::{KEYS, Key, Kind, Scope, find},
        layer::{Flag, invalid, is_section, unknown_key},
        value::{Base, from_text, shown},
    },
    ui::printer::{FAINT, STRONG},
};

/// Show and change the configuration.
#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// What to do.
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigAction {
    /// Show every value. Secrets are shown as `set` or `unset`.
    Show {
        /// Say where each value came from.
        #[arg(long)]
        origin: bool,
        /// Only values that are not built in.
        #[arg(long)]
        changed: bool,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Show one value or one section, or everything.
    Get {
        /// A key such as `server.port`, or a section such as `server`.
        key: Option<String>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Set a value in the user file.
    Set {
        /// The key.
        key: String,
        /// The value; lists are separated by commas. `-` reads it from stdin, which keeps a secret out of
        /// the shell's history.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Set it in the project file instead.
        #[arg(long)]
        project: bool,
    },
    /// Print where the configuration files are.
    Path {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Print the key of the HTTP server. The only command that prints a secret.
    RevealApiKey {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(arguments: &ConfigArguments, context: &Context) -> Outcome {
    match &arguments.action {
        ConfigAction::Show { origin, changed, json } => show(context, *origin, *changed, *json),
        ConfigAction::Get { key, json } => get(context, key.as_deref(), *json),
        ConfigAction::Set { key, value, project } => set(context, key, value, *project),
        ConfigAction::Path { json } => path(context, *json),
        ConfigAction::RevealApiKey { json } => reveal(context, *json),
    }
}

fn show(context: &Context, origin: bool, changed: bool, json: bool) -> Outcome {
    let keys = KEYS.iter().filter(|key| !changed || context.config.settings.get(key).origin.rank() > 0);
    print(context, keys, origin, json)
}

fn print<'a>(context: &Context, keys: impl Iterator<Item = &'a Key>, origin: bool, json: bool) -> Outcome {
    let settings = &context.config.settings;
    if json {
        let mut all = Map::new();
        for key in keys {
            let setting = settings.get(key);
            let value = public(key, &setting.value);
            let value =
                if origin { json!({"value": value, "origin": setting.origin.describe()}) } else { value };
            all.insert(key.name.to_owned(), value);
        }
        return context.printer.json(&all);
    }
    for key in keys {
        let setting = settings.get(key);
        let value = shown(key, &setting.value);
        let from =
            if origin { format!("  {FAINT}# {}{FAINT:#}", setting.origin.describe()) } else { String::new() };
        context.printer.line(format_args!("{STRONG}{}{STRONG:#} = {value}{from}", key.name))?;
    }
    Ok(())
}

/// A value for programs: a secret only says whether it is set.
fn public(key: &Key, value: &Value) -> Value {
    if key.secret { json!({"set": *value != json!("")}) } else { value.clone() }
}

fn get(context: &Context, name: Option<&str>, json: bool) -> Outcome {
    let Some(name) = name else { return show(context, false, false, json) };
    if let Some(key) = find(name) {
        let value = &context.config.settings.get(key).value;
        return match value {
            _ if json => context.printer.json(&public(key, value)),
            Value::String(text) if !key.secret => context.printer.line(text),
            _ => context.printer.line(shown(key, value)),
        };
    }
    if is_section(name) {
        let inside = |key: &&Key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        return print(context, KEYS.iter().filter(inside), false, json);
    }
    Err(unknown_key(name).into())
}

/// Sets a key in the user file, the file named by `--config`, or the project file.
pub(super) fn set(context: &Context, name: &str, raw: &str, project: bool) -> Outcome {
    let key = find(name).ok_or_else(|| unknown_key(name))?;
    let raw = if raw == "-" { from_stdin()? } else { raw.to_owned() };
    // A value that makes the whole configuration invalid would lock its owner out.
    check_together(context, &[Flag::new(key.name, key.name, &raw)])?;
    store(context, key, &raw, project)
}

/// Whether the configuration holds together with these values in it.
pub(super) fn check_together(context: &Context, values: &[Flag]) -> Result<()> {
    let config = &context.config;
    Config::load(config.surroundings.clone(), config.custom_file.clone(), values).map(drop)
}

/// Writes a value that was checked.
pub(super) fn store(context: &Context, key: &Key, raw: &str, project: bool) -> Outcome {
    let surroundings = &context.config.surroundings;
    let file = if project {
        if key.scope == Scope::NotInProject {
            return Err(invalid(format!("`{}` may not be set in a project file", key.name))
                .with_hint("leave `--project` away")
                .into());
        }
        let here = || surroundings.current_dir.join(PROJECT_FILE);
        context.config.project_file.clone().unwrap_or_else(here)
    } else {
        let user = || surroundings.user_file().ok_or_else(no_home);
        context.config.custom_file.clone().map_or_else(user, Ok)?
    };
    let base = Base { folder: &surroundings.current_dir, home: surroundings.home.as_deref() };
    let value = from_text(key, raw, base).map_err(|rule| invalid(format!("`{}` {rule}", key.name)))?;
    // A path in a project file stays as it was written, so that it means the same elsewhere.
    let value = if project && matches!(key.kind, Kind::Path) { json!(raw.trim()) } else { value };
    edit::set(&file, key, &value)?;
    context.printer.note(format_args!("{} = {}", key.name, shown(key, &value)));
    let now = &context.config.settings.get(key).origin;
    if now.rank() > if project { 2 } else { 1 } {
        context.printer.note(format_args!("{} still wins for this key", now.describe()));
    }
    Ok(())
}

fn from_stdin() -> Result<String> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|_| Error::new(ErrorCode::InvalidInput, "stdin is not text that can be read"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn path(context: &Context, json: bool) -> Outcome {
    let config = &context.config;
    let user = config.surroundings.user_file();
    if json {
        return context.printer.json(&json!({
            "user": user,
            "project": config.project_file,
            "custom": config.custom_file,
        }));
    }
    let line = |name: &str, path: Option<&std::path::PathBuf>| match path {
        Some(path) => {
            let missing = if path.exists() { "" } else { "  (does not exist)" };
            context.printer.line(format_args!("{STRONG}{name:<8}{STRONG:#} {}{missing}", path.display()))
        }
        None => Ok(()),
    };
    if config.custom_file.is_some() {
        return line("custom", config.custom_file.as_ref());
    }
    line("user", user.as_ref())?;
    line("project", config.project_file.as_ref())
}

fn reveal(context: &Context, json: bool) -> Outcome {
    let Some(key) = context.config.values.server.api_key.reveal() else {
        context.printer.note("no key is set; `ibid serve` makes one when it listens beyond loopback");
        return Err(Failure::Told);
    };
    context.printer.caution("whoever has this key can read the whole knowledge base");
    if json { context.printer.json(&json!({"apiKey": key})) } else { context.printer.line(key) }
}

fn no_home() -> Error {
    invalid("there is no home folder to keep a user file in").with_hint("name a file with `--config`")
}
