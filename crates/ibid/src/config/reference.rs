//! `docs/config.md`, made from the table of keys.

use std::fmt::Write as _;

use super::{
    env::{VARIABLES, twin},
    keys::{KEYS, Key, Kind, SOURCE_FIELDS, Scope},
};

/// The whole page.
pub fn page() -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         <!-- Made from the table of keys by `./check --update`; do not edit. -->\n\n\
         Layers, lowest first: built-in, user file (`$XDG_CONFIG_HOME/ibid/config.toml`), project file (the\n\
         nearest `ibid.toml` in the current folder or above it), environment, flags. A key that does not exist\n\
         is an error that names the nearest one. `ibid config show --origin` says where each value came from.\n\n\
         - `--config FILE` (or `IBID_CONFIG`) reads that file instead of the user and project files.\n\
         - `--set KEY=VALUE` sets any key from the command line; the common ones have a flag of their own.\n\
         - Every key has an environment variable `IBID_…`, which wins over the other names listed with it.\n\
         \u{20} Booleans there are `true`, `false`, `1` or `0`; lists are separated by commas.\n\
         - Relative paths start at the folder of the file that holds them, or at the current folder; `~` is\n\
         \u{20} the home folder.\n\
         - Secrets are shown as `set` or `unset`, and may not stand in a project file.\n\n\
         ## Keys\n",
    );
    let mut section = None;
    for key in KEYS {
        let this = key.name.rsplit_once('.').map_or("", |(section, _)| section);
        if section != Some(this) {
            section = Some(this);
            let title = if this.is_empty() { "Top level".to_owned() } else { format!("`[{this}]`") };
            let _ = write!(page, "\n### {title}\n\n");
        }
        entry(&mut page, key);
    }
    page.push_str("\n## `[[sources]]`\n\n| field | value | default | |\n| --- | --- | --- | --- |\n");
    for field in SOURCE_FIELDS {
        let key = Key {
            name: field.name,
            aliases: &[],
            kind: field.kind,
            env: &[],
            secret: false,
            scope: Scope::Anywhere,
            about: field.about,
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            field.name,
            cell(&key.kind_name()),
            default(&key),
            field.about
        );
    }
    page.push_str("\n## Other environment variables\n\n| variable | |\n| --- | --- |\n");
    for variable in VARIABLES {
        let _ = writeln!(page, "| `{}` | {} |", variable.name, variable.about);
    }
    page
}

fn entry(page: &mut String, key: &Key) {
    let _ = writeln!(page, "**`{}`** — {}  ", key.name, key.about);
    let _ = write!(page, "{}, default {}.", key.kind_name(), default(key));
    if !matches!(key.kind, Kind::Sources) {
        let names: Vec<_> = [twin(key)]
            .into_iter()
            .chain(key.env.iter().map(|name| (*name).to_owned()))
            .map(|name| format!("`{name}`"))
            .collect();
        let _ = write!(page, " Environment: {}.", names.join(", "));
    }
    if !key.aliases.is_empty() {
        let names: Vec<_> = key.aliases.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(page, " Also spelled {}.", names.join(", "));
    }
    if key.secret {
        page.push_str(" Secret.");
    } else if key.scope == Scope::NotInProject {
        page.push_str(" Not in a project file.");
    }
    page.push_str("\n\n");
}

fn default(key: &Key) -> String {
    match key.default() {
        serde_json::Value::Null => "unset".to_owned(),
        value if value == serde_json::json!("") => "empty".to_owned(),
        value => format!("`{value}`"),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
