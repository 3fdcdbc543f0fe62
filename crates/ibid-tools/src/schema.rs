//! Schemas from types, in the shape every client takes: object root, no `$ref`, no combinators at the root,
//! no nullable arguments, enumerations as plain lists.

use std::fmt;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::JsonObject;

/// Why a type cannot be a tool's input or output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SchemaError {
    /// The type contains itself, so it cannot be written without references.
    Recursive,
    /// The root is not a plain object.
    RootNotObject,
    /// The validator does not know this keyword, so it must not be published as a rule.
    Unsupported(String),
    /// The reply has an `error` of its own, where failures would be.
    ErrorTaken,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recursive => f.write_str("the type contains itself"),
            Self::RootNotObject => f.write_str("the type is not a struct with named fields"),
            Self::ErrorTaken => f.write_str("the reply has an `error` of its own; use another error style"),
            Self::Unsupported(keyword) => write!(f, "the schema keyword `{keyword}` is not validated"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

/// The schema of a tool's arguments.
pub(crate) fn input<T: JsonSchema>() -> Result<JsonObject, SchemaError> {
    generate::<T>(Direction::Input)
}

/// The schema of a tool's reply.
pub(crate) fn output<T: JsonSchema>() -> Result<JsonObject, SchemaError> {
    generate::<T>(Direction::Output)
}

/// Says in the schema that further arguments are refused.
pub(crate) fn close(schema: &mut JsonObject) {
    if schema.contains_key("properties") && !schema.contains_key("additionalProperties") {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    each_subschema(schema, &mut close);
}

/// Makes room for `error` in the schema of a reply. A reply with a field of that name has none.
pub(crate) fn with_error(schema: &mut JsonObject) -> Result<(), SchemaError> {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let properties = properties.ok_or(SchemaError::RootNotObject)?;
    if properties.contains_key("error") {
        return Err(SchemaError::ErrorTaken);
    }
    let error = json!({"type": "object", "description": "Why the call failed; nothing else is there then."});
    properties.insert("error".to_owned(), error);
    schema.remove("required");
    schema.remove("additionalProperties");
    Ok(())
}

fn generate<T: JsonSchema>(direction: Direction) -> Result<JsonObject, SchemaError> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        // 2020-12 is the dialect MCP assumes; saying so on every tool costs tokens.
        settings.meta_schema = None;
    });
    let settings = match direction {
        Direction::Input => settings.for_deserialize(),
        Direction::Output => settings.for_serialize(),
    };
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let Value::Object(mut schema) = schema else { return Err(SchemaError::RootNotObject) };
    if schema.contains_key("$defs") {
        return Err(SchemaError::Recursive);
    }
    // The type's own comment speaks to the reader of the code; the tool has its own description.
    schema.remove("description");
    tidy(&mut schema, direction)?;
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    if !is_object || COMBINATORS.iter().any(|keyword| schema.contains_key(*keyword)) {
        return Err(SchemaError::RootNotObject);
    }
    schema.entry("properties").or_insert_with(|| json!({}));
    Ok(schema)
}

const COMBINATORS: [&str; 7] = ["anyOf", "oneOf", "allOf", "not", "if", "then", "else"];

/// Keywords an input schema may use; the validator enforces those that are rules.
const INPUT_KEYWORDS: [&str; 18] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "anyOf",
    "description",
    "default",
    "examples",
    "title",
];

fn tidy(schema: &mut JsonObject, direction: Direction) -> Result<(), SchemaError> {
    if schema.contains_key("$ref") {
        return Err(SchemaError::Recursive);
    }
    schema.remove("title");
    list_variants(schema);
    if let Some(alternatives) = schema.remove("oneOf") {
        schema.insert("anyOf".to_owned(), alternatives);
    }
    integer_bounds(schema);
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if direction == Direction::Input
        && let Some(keyword) = schema.keys().find(|keyword| !INPUT_KEYWORDS.contains(&keyword.as_str()))
    {
        return Err(SchemaError::Unsupported(keyword.clone()));
    }
    let required: Vec<String> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, property) in properties.iter_mut() {
            // `true` is how schemars writes "anything"; a schema object is what clients expect.
            if property.is_boolean() {
                *property = json!({});
            }
            let Some(property) = property.as_object_mut() else { continue };
            // A reply field that is always there may be null; anything optional is left out instead.
            if direction == Direction::Input || !required.contains(name) {
                not_null(property);
            }
        }
    }
    let mut result = Ok(());
    each_subschema(schema, &mut |subschema| {
        if result.is_ok() {
            result = tidy(subschema, direction);
        }
    });
    result
}

/// Turns `oneOf` over documented constants into one `enum`, keeping what was said about each.
fn list_variants(schema: &mut JsonObject) {
    let Some(variants) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let mut names = Vec::new();
    let mut notes = Vec::new();
    for variant in variants {
        let documented = variant.get("const").cloned().map(|name| vec![name]);
        let Some(listed) = documented.or_else(|| variant.get("enum").and_then(Value::as_array).cloned())
        else {
            return;
        };
        if let (Some(note), [name]) = (variant.get("description").and_then(Value::as_str), listed.as_slice())
        {
            notes.push(format!("`{}`: {note}", name.as_str().unwrap_or_default()));
        }
        names.extend(listed);
    }
    let own = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = [own].into_iter().chain(notes.iter().map(String::as_str));
    let description = description.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    schema.remove("oneOf");
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("enum".to_owned(), Value::Array(names));
    if !description.is_empty() {
        schema.insert("description".to_owned(), Value::String(description));
    }
}

/// Replaces the Rust integer formats, which validators do not know, by the bounds they stand for.
fn integer_bounds(schema: &mut JsonObject) {
    let bounds: (Option<i64>, Option<i64>) = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => (Some(0), Some(i64::from(u8::MAX))),
        Some("uint16") => (Some(0), Some(i64::from(u16::MAX))),
        Some("uint32") => (Some(0), Some(i64::from(u32::MAX))),
        Some("uint64" | "uint") => (Some(0), None),
        Some("int8") => (Some(i64::from(i8::MIN)), Some(i64::from(i8::MAX))),
        Some("int16") => (Some(i64::from(i16::MIN)), Some(i64::from(i16::MAX))),
        Some("int32") => (Some(i64::from(i32::MIN)), Some(i64::from(i32::MAX))),
        Some("int64" | "int" | "double" | "float") => (None, None),
        _ => return,
    };
    schema.remove("format");
    for (keyword, bound) in [("minimum", bounds.0), ("maximum", bounds.1)] {
        if let Some(bound) = bound {
            schema.entry(keyword).or_insert_with(|| json!(bound));
        }
    }
}

/// Removes "or null".
fn not_null(schema: &mut JsonObject) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.retain(|alternative| alternative.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = alternatives.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (keyword, value) in only {
                schema.entry(keyword).or_insert(value);
            }
        }
    }
}

fn each_subschema(schema: &mut JsonObject, visit: &mut dyn FnMut(&mut JsonObject)) {
    for (keyword, value) in schema.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().filter_map(Value::as_object_mut).for_each(&mut *visit);
            }
            ("items" | "additionalProperties", Value::Object(subschema)) => visit(subschema),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(subschemas)) => {
                subschemas.iter_mut().filter_map(Value::as_object_mut).for_each(&mut *visit);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        /// By words.
        Lexical,
        /// By meaning.
        Embedding,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Nested {
        depth: u8,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Everything {
        /// What to look for.
        #[schemars(length(min = 1, max = 10))]
        query: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nested: Option<Nested>,
        always: Option<String>,
        tags: Vec<String>,
        labels: BTreeMap<String, String>,
    }

    #[test]
    fn arguments_are_flat_inlined_and_never_null() {
        insta::assert_json_snapshot!(input::<Everything>().unwrap());
    }

    #[test]
    fn a_reply_keeps_null_only_where_the_field_is_always_there() {
        insta::assert_json_snapshot!(output::<Everything>().unwrap());
    }

    #[test]
    fn closing_reaches_nested_objects_but_not_maps() {
        let mut schema = input::<Everything>().unwrap();
        close(&mut schema);
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["nested"]["additionalProperties"], false);
        assert!(schema["properties"]["labels"]["additionalProperties"].is_object());
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Tree {
        children: Vec<Tree>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its schema matters")]
    enum Either {
        Left { left: String },
        Right { right: String },
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Patterned {
        #[schemars(regex(pattern = "^a"))]
        text: String,
    }

    #[test]
    fn shapes_that_break_clients_are_refused() {
        assert_eq!(input::<Tree>(), Err(SchemaError::Recursive));
        assert_eq!(input::<Either>(), Err(SchemaError::RootNotObject));
        assert_eq!(input::<String>(), Err(SchemaError::RootNotObject));
        assert_eq!(input::<Patterned>(), Err(SchemaError::Unsupported("pattern".to_owned())));
    }
}
