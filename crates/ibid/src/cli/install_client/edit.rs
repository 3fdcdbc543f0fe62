//! Adding one entry to a client's configuration and leaving the rest as it is.

use std::path::Path;

use ibid_api::{Error, ErrorCode, Result};
use serde::Serialize as _;
use serde_json::{Map, Value, ser::PrettyFormatter};
use toml_edit::{DocumentMut, Item, Table, value};

use super::clients::{Entry, Format, Target};

/// What adding an entry comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The entry is there already.
    None,
    /// The whole file as it should be.
    To(String),
}

/// The file with the entry in it.
pub(super) fn add(before: &str, target: &Target, name: &str, entry: &Entry) -> Result<Change> {
    match target.format {
        Format::Json => add_json(before, target, name, entry),
        Format::Toml => add_toml(before, target, name, entry),
    }
}

/// The entry alone, as it would stand in a file of its own.
pub(super) fn snippet(target: &Target, name: &str, entry: &Entry) -> String {
    match add("", target, name, entry) {
        Ok(Change::To(text)) => text.trim_end().to_owned(),
        _ => String::new(),
    }
}

/// The program that an entry which starts ibid names.
pub(super) fn command_of(text: &str, target: &Target) -> Option<String> {
    let commands: Vec<String> = match target.format {
        Format::Json => {
            let root: Value = serde_json::from_str(text).ok()?;
            let entries = root.get(target.section)?.as_object()?;
            entries.values().filter_map(|entry| Some(entry.get("command")?.as_str()?.to_owned())).collect()
        }
        Format::Toml => {
            let root: DocumentMut = text.parse().ok()?;
            let entries = root.get(target.section)?.as_table_like()?;
            entries.iter().filter_map(|(_, entry)| Some(entry.get("command")?.as_str()?.to_owned())).collect()
        }
    };
    commands.into_iter().find(|command| is_ours(command))
}

fn is_ours(command: &str) -> bool {
    Path::new(command).file_stem().is_some_and(|stem| stem == "ibid")
}

fn add_json(before: &str, target: &Target, name: &str, entry: &Entry) -> Result<Change> {
    let mut root = match before.trim() {
        "" => Value::Object(Map::new()),
        text => serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|_| unreadable(target, name, entry))?,
    };
    let entries = root
        .as_object_mut()
        .map(|root| root.entry(target.section).or_insert_with(|| Value::Object(Map::new())))
        .and_then(Value::as_object_mut)
        .ok_or_else(|| unreadable(target, name, entry))?;
    let new = entry.json();
    match entries.get_mut(name) {
        Some(old) => {
            refuse_foreign(name, old.get("command").and_then(Value::as_str))?;
            let old = old.as_object_mut().ok_or_else(|| unreadable(target, name, entry))?;
            let fields = new.as_object().into_iter().flatten();
            let mut changed = false;
            // Fields that somebody added, such as an environment, stay.
            for (field, value) in fields {
                changed |= old.insert(field.clone(), value.clone()).as_ref() != Some(value);
            }
            if !changed {
                return Ok(Change::None);
            }
        }
        None => {
            entries.insert(name.to_owned(), new);
        }
    }
    let mut text = Vec::new();
    let indent = indentation(before);
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(indent.as_bytes()));
    root.serialize(&mut serializer).map_err(|_| Error::internal())?;
    let mut text = String::from_utf8(text).map_err(|_| Error::internal())?;
    if before.is_empty() || before.ends_with('\n') {
        text.push('\n');
    }
    Ok(Change::To(text))
}

/// The indentation that the file uses.
fn indentation(text: &str) -> String {
    let indented = text.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let blank = |line: &str| line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    indented.map_or_else(|| "  ".to_owned(), blank)
}

fn add_toml(before: &str, target: &Target, name: &str, entry: &Entry) -> Result<Change> {
    let mut root: DocumentMut = before.parse().map_err(|_| unreadable(target, name, entry))?;
    let section = root.entry(target.section).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let section = section.as_table_like_mut().ok_or_else(|| unreadable(target, name, entry))?;
    let args: toml_edit::Array = entry.args.iter().collect();
    if let Some(old) = section.get_mut(name) {
        refuse_foreign(name, old.get("command").and_then(Item::as_str))?;
        let old = old.as_table_like_mut().ok_or_else(|| unreadable(target, name, entry))?;
        let same_command = old.get("command").and_then(Item::as_str) == Some(&entry.command);
        let old_args = old.get("args").and_then(Item::as_array);
        let same_args = old_args.is_some_and(|old| {
            old.iter().map(toml_edit::Value::as_str).eq(entry.args.iter().map(|arg| Some(arg.as_str())))
        });
        if same_command && same_args {
            return Ok(Change::None);
        }
        old.insert("command", value(&entry.command));
        old.insert("args", value(args));
    } else {
        let mut table = Table::new();
        table.insert("command", value(&entry.command));
        table.insert("args", value(args));
        section.insert(name, Item::Table(table));
    }
    Ok(Change::To(root.to_string()))
}

fn refuse_foreign(name: &str, command: Option<&str>) -> Result<()> {
    if command.is_some_and(is_ours) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::InvalidParameter,
        format!("an entry `{name}` is there already and is not ours"),
    )
    .with_hint("choose another name with `--name`"))
}

fn unreadable(target: &Target, name: &str, entry: &Entry) -> Error {
    let language = match target.format {
        Format::Json => "plain JSON",
        Format::Toml => "TOML of the expected shape",
    };
    let added = match target.format {
        Format::Json => entry.json().to_string(),
        Format::Toml => format!("[{}.{name}]", target.section),
    };
    Error::new(
        ErrorCode::ConfigInvalid,
        format!("the client's configuration is not {language}; it was left as it is"),
    )
    .with_hint(format!("add it by hand under `{}` as `{name}`: {added}", target.section))
}
