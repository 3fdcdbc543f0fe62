//! Changing a configuration file without disturbing what else stands in it.

use std::{fs, io::Write as _, path::Path};

use ibid_api::{Error, ErrorCode, Result};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, value};

use super::{keys::Key, layer::invalid};

/// Sets a key in a file, creating the file if needed, readable by its owner alone.
pub fn set(file: &Path, key: &Key, new: &Value) -> Result<()> {
    let source = match fs::read_to_string(file) {
        Ok(source) => source,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(_) => return Err(unwritable()),
    };
    let mut document: DocumentMut =
        source.parse().map_err(|_| invalid("the configuration file is not TOML; correct it first"))?;
    // The spelling that is already there keeps its place.
    let name = key.aliases.iter().find(|alias| holds(&document, alias)).copied().unwrap_or(key.name);
    let (sections, last) = name.rsplit_once('.').unwrap_or(("", name));
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for section in sections.split('.').filter(|section| !section.is_empty()) {
        let new_section = || {
            let mut table = Table::new();
            table.set_implicit(false);
            Item::Table(table)
        };
        table = table
            .entry(section)
            .or_insert_with(new_section)
            .as_table_like_mut()
            .ok_or_else(|| invalid(format!("`{section}` is a section and must be a table")))?;
    }
    let new = to_toml(new);
    match table.get_mut(last) {
        Some(old) => {
            // The comment behind the old value stays.
            let decor = old.as_value().map(|value| value.decor().clone());
            *old = new;
            if let (Some(value), Some(decor)) = (old.as_value_mut(), decor) {
                *value.decor_mut() = decor;
            }
        }
        None => {
            table.insert(last, new);
        }
    }
    write(file, &document.to_string())
}

fn holds(document: &DocumentMut, dotted: &str) -> bool {
    let mut item = Some(document.as_item());
    for segment in dotted.split('.') {
        item = item.and_then(|item| item.get(segment));
    }
    item.is_some()
}

fn to_toml(new: &Value) -> Item {
    match new {
        Value::Bool(flag) => value(*flag),
        Value::Number(number) => value(number.as_i64().unwrap_or_default()),
        Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<toml_edit::Array>()),
        Value::String(text) => value(text.as_str()),
        Value::Null | Value::Object(_) => value(""),
    }
}

/// Writes a file in one step: a reader sees the old one or the new one, and nobody but the owner may read it.
pub fn write(file: &Path, content: &str) -> Result<()> {
    let folder = file.parent().ok_or_else(unwritable)?;
    fs::create_dir_all(folder).map_err(|_| unwritable())?;
    // A linked file (dotfiles are often links) is replaced where it really is.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().unwrap_or(folder);
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(|_| unwritable())?;
    temporary.write_all(content.as_bytes()).map_err(|_| unwritable())?;
    temporary.as_file().sync_all().map_err(|_| unwritable())?;
    temporary.persist(&target).map_err(|_| unwritable())?;
    Ok(())
}

fn unwritable() -> Error {
    Error::new(ErrorCode::StorageUnavailable, "the configuration file could not be written")
        .with_hint("check the permissions of its folder; `ibid config path` names it")
}
