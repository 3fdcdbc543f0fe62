//! Values of keys: from TOML, from one line of text, and back to text with secrets kept back.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toml_edit::Item;

use super::keys::{Key, Kind, SOURCE_FIELDS, suggestion};

/// Where relative paths start, and what `~` stands for.
#[derive(Debug, Clone, Copy)]
pub struct Base<'a> {
    /// Folder that relative paths start at.
    pub folder: &'a Path,
    /// The user's home folder.
    pub home: Option<&'a Path>,
}

impl Base<'_> {
    fn path(&self, raw: &str) -> String {
        if raw.is_empty() {
            return String::new();
        }
        let path = match (raw.strip_prefix('~'), self.home) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
            _ => self.folder.join(raw),
        };
        clean(&path).to_string_lossy().into_owned()
    }
}

/// The path without `.` segments; `..` is kept, because a link may stand before it.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}

/// The value of a key from a line of text: an environment variable or a flag.
pub fn from_text(key: &Key, raw: &str, base: Base<'_>) -> Result<Value, String> {
    // A prefix may end in a space that is meant.
    let whole = raw;
    let raw = raw.trim();
    match key.kind {
        Kind::Text(_) => Ok(json!(whole)),
        Kind::Path => Ok(json!(base.path(raw))),
        Kind::Choice { values, .. } => choice(values, raw),
        Kind::Bool(_) | Kind::Switch => match raw {
            "true" | "1" => Ok(json!(true)),
            "false" | "0" => Ok(json!(false)),
            _ => Err("must be `true`, `false`, `1` or `0`".to_owned()),
        },
        Kind::Integer { min, max, .. } => {
            let number = raw.parse().map_err(|_| "must be a whole number".to_owned())?;
            integer(number, min, max)
        }
        Kind::List(_) => {
            let items: Vec<_> = raw.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
            Ok(json!(items))
        }
        Kind::Sources => Err("can only be set in a file; see `ibid init`".to_owned()),
    }
}

/// The value of a key from a TOML file.
pub fn from_toml(key: &Key, item: &Item, base: Base<'_>) -> Result<Value, String> {
    match key.kind {
        Kind::Sources => sources(item, base),
        kind => scalar(kind, item, base),
    }
}

fn scalar(kind: Kind, item: &Item, base: Base<'_>) -> Result<Value, String> {
    let text = || item.as_str().ok_or_else(|| "must be a text in quotes".to_owned());
    match kind {
        Kind::Text(_) => Ok(json!(text()?)),
        Kind::Path => Ok(json!(base.path(text()?))),
        Kind::Choice { values, .. } => choice(values, text()?),
        Kind::Bool(_) | Kind::Switch => {
            item.as_bool().map(|value| json!(value)).ok_or_else(|| "must be `true` or `false`".to_owned())
        }
        Kind::Integer { min, max, .. } => {
            integer(item.as_integer().ok_or_else(|| "must be a whole number".to_owned())?, min, max)
        }
        Kind::List(_) => {
            let list = item.as_array().ok_or_else(|| "must be a list of texts in quotes".to_owned())?;
            list.iter()
                .map(|entry| entry.as_str().map(|text| json!(text)))
                .collect::<Option<Vec<_>>>()
                .map(Value::Array)
                .ok_or_else(|| "must hold texts in quotes only".to_owned())
        }
        Kind::Sources => Err("must be `[[sources]]` tables".to_owned()),
    }
}

fn choice(values: &[&str], raw: &str) -> Result<Value, String> {
    if values.contains(&raw) {
        return Ok(json!(raw));
    }
    let names: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
    Err(format!("must be one of {}", names.join(", ")))
}

fn integer(number: i64, min: i64, max: i64) -> Result<Value, String> {
    if (min..=max).contains(&number) {
        Ok(json!(number))
    } else if max == i64::MAX {
        Err(format!("must be at least {min}"))
    } else {
        Err(format!("must be from {min} to {max}"))
    }
}

fn sources(item: &Item, base: Base<'_>) -> Result<Value, String> {
    let tables: Vec<&dyn toml_edit::TableLike> = match item {
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| table as &dyn toml_edit::TableLike).collect()
        }
        Item::Value(toml_edit::Value::Array(array)) => array
            .iter()
            .map(|value| value.as_inline_table().map(|table| table as &dyn toml_edit::TableLike))
            .collect::<Option<_>>()
            .ok_or_else(|| "must hold tables with a `path`".to_owned())?,
        _ => return Err("must be `[[sources]]` tables".to_owned()),
    };
    tables.into_iter().map(|table| source(table, base)).collect::<Result<Vec<_>, _>>().map(Value::Array)
}

fn source(table: &dyn toml_edit::TableLike, base: Base<'_>) -> Result<Value, String> {
    let names = || SOURCE_FIELDS.iter().map(|field| field.name);
    if let Some((unknown, _)) = table.iter().find(|(name, _)| !names().any(|known| known == *name)) {
        let hint = suggestion(unknown, names()).map(|known| format!("; did you mean `{known}`?"));
        return Err(format!("has no field `{unknown}`{}", hint.unwrap_or_default()));
    }
    let mut fields = Map::new();
    for field in SOURCE_FIELDS {
        let value = match table.get(field.name) {
            Some(item) => {
                scalar(field.kind, item, base).map_err(|rule| format!("`{}` {rule}", field.name))?
            }
            None => match field.kind {
                Kind::Bool(default) => json!(default),
                Kind::Integer { default, .. } => json!(default),
                Kind::List(default) => json!(default),
                _ => json!(""),
            },
        };
        fields.insert(field.name.to_owned(), value);
    }
    if fields["path"] == "" {
        return Err("needs a `path` in every table".to_owned());
    }
    Ok(Value::Object(fields))
}

/// A value on one line, as it would stand in a TOML file; never a secret.
pub fn shown(key: &Key, value: &Value) -> String {
    if key.secret {
        return if *value == json!("") { "unset".to_owned() } else { "set".to_owned() };
    }
    match value {
        Value::Null => "unset".to_owned(),
        other => other.to_string(),
    }
}
