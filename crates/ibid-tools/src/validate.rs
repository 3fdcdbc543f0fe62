//! Checks arguments against the published schema, and says what is wrong in words that lead to a valid call.

use std::fmt;

use ibid_api::{Error, ErrorCode};
use serde_json::{Value, json};

use crate::{JsonObject, spec::Spec, suggest};

/// What is wrong with an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is required and was not given.
    Missing,
    /// It has the wrong JSON type.
    Type,
    /// Its value is not allowed.
    Value,
    /// The tool has no such argument.
    Unknown,
}

/// One broken rule. Holds no value the caller gave: it may be private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The argument, with the way into it: `filter.tags[2]`.
    pub(crate) field: String,
    /// What is wrong.
    pub(crate) kind: Kind,
    rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            write!(f, "the arguments {}", self.rule)
        } else {
            write!(f, "`{}` {}", self.field, self.rule)
        }
    }
}

impl Violation {
    pub(crate) fn new(field: impl Into<String>, kind: Kind, rule: impl Into<String>) -> Self {
        Self { field: field.into(), kind, rule: rule.into() }
    }

    /// The outermost argument concerned.
    pub(crate) fn argument(&self) -> &str {
        self.field.split(['.', '[']).next().unwrap_or_default()
    }

    /// The error to answer with; the hint is an example call that is valid.
    pub(crate) fn into_error(self, code: ErrorCode, schema: &JsonObject, spec: &Spec) -> Error {
        let example =
            spec.examples.first().map_or_else(|| sample_arguments(schema), |text| (*text).to_owned());
        let details = json!({ "field": self.field, "rule": self.rule });
        Error::new(code, self.to_string())
            .with_hint(format!("a valid call has arguments such as {example}"))
            .with_details(details)
    }
}

/// Checks `arguments`; the first broken rule is reported.
pub(crate) fn arguments(schema: &JsonObject, arguments: &mut Value) -> Result<(), Violation> {
    check(schema, arguments, "")
}

fn check(schema: &JsonObject, value: &mut Value, field: &str) -> Result<(), Violation> {
    if let Some(alternatives) = schema.get("anyOf").and_then(Value::as_array) {
        return any_of(alternatives, value, field);
    }
    if let Some(allowed) = schema.get("const")
        && value != allowed
    {
        return Err(Violation::new(field, Kind::Value, format!("must be {allowed}")));
    }
    if let Some(kinds) = schema.get("type") {
        check_type(kinds, value, field)?;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        return Err(Violation::new(field, Kind::Value, format!("must be one of {}", allowed.join(", "))));
    }
    match value {
        Value::String(text) => check_length(schema, text, field),
        Value::Number(_) => check_range(schema, value, field),
        Value::Array(items) => check_items(schema, items, field),
        Value::Object(object) => check_object(schema, object, field),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn any_of(alternatives: &[Value], value: &mut Value, field: &str) -> Result<(), Violation> {
    let mut first = None;
    for alternative in alternatives.iter().filter_map(Value::as_object) {
        match check(alternative, value, field) {
            Ok(()) => return Ok(()),
            // The alternative of the right type says best what is wrong.
            Err(violation) if violation.kind != Kind::Type => return Err(violation),
            Err(violation) => first = first.or(Some(violation)),
        }
    }
    first.map_or(Ok(()), Err)
}

fn check_type(kinds: &Value, value: &mut Value, field: &str) -> Result<(), Violation> {
    let kinds: Vec<&str> = match kinds {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    // 5.0 is an integer in JSON Schema, but not to serde.
    if kinds.contains(&"integer")
        && let Some(whole) = value.as_f64().filter(|_| value.is_f64()).and_then(whole)
    {
        *value = whole.into();
    }
    let given = kind_of(value);
    let fits = |kind: &&str| *kind == given || (*kind == "number" && given == "integer");
    if kinds.iter().any(fits) {
        return Ok(());
    }
    let expected = kinds.iter().map(|kind| with_article(kind)).collect::<Vec<_>>().join(" or ");
    Err(Violation::new(field, Kind::Type, format!("must be {expected}, not {}", with_article(given))))
}

fn whole(number: f64) -> Option<i64> {
    // Beyond 2^53 a float no longer says which integer was meant.
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "integer" | "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn check_length(schema: &JsonObject, text: &str, field: &str) -> Result<(), Violation> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let length = text.chars().count() as u64;
    if let Some(least) = bound("minLength").filter(|least| length < *least) {
        let rule = match least {
            1 => "must not be empty".to_owned(),
            _ => format!("must have at least {least} characters, has {length}"),
        };
        return Err(Violation::new(field, Kind::Value, rule));
    }
    if let Some(most) = bound("maxLength").filter(|most| length > *most) {
        let rule = format!("must have at most {most} characters, has {length}");
        return Err(Violation::new(field, Kind::Value, rule));
    }
    Ok(())
}

fn check_range(schema: &JsonObject, value: &Value, field: &str) -> Result<(), Violation> {
    let bound = |keyword: &str| schema.get(keyword).filter(|bound| bound.is_number());
    let number = value.as_f64().unwrap_or(f64::NAN);
    let below = |bound: &Value| bound.as_f64().is_some_and(|bound| number < bound);
    let above = |bound: &Value| bound.as_f64().is_some_and(|bound| number > bound);
    let (least, most) = (bound("minimum"), bound("maximum"));
    if !least.is_some_and(below) && !most.is_some_and(above) {
        return Ok(());
    }
    let rule = match (least, most) {
        (Some(least), Some(most)) => format!("must be from {least} to {most}"),
        (Some(least), None) => format!("must be at least {least}"),
        (None, Some(most)) => format!("must be at most {most}"),
        (None, None) => return Ok(()),
    };
    Err(Violation::new(field, Kind::Value, rule))
}

fn check_items(schema: &JsonObject, items: &mut [Value], field: &str) -> Result<(), Violation> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let count = items.len() as u64;
    if let Some(least) = bound("minItems").filter(|least| count < *least) {
        return Err(Violation::new(field, Kind::Value, format!("must have at least {least} items")));
    }
    if let Some(most) = bound("maxItems").filter(|most| count > *most) {
        return Err(Violation::new(field, Kind::Value, format!("must have at most {most} items")));
    }
    let Some(schema) = schema.get("items").and_then(Value::as_object) else { return Ok(()) };
    items
        .iter_mut()
        .enumerate()
        .try_for_each(|(index, item)| check(schema, item, &format!("{field}[{index}]")))
}

fn check_object(schema: &JsonObject, object: &mut JsonObject, field: &str) -> Result<(), Violation> {
    let inside = |name: &str| if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in object.iter_mut() {
        if let Some(property) = properties.and_then(|properties| properties.get(name)) {
            if let Some(property) = property.as_object() {
                check(property, value, &inside(name))?;
            }
            continue;
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => {
                let known = properties.into_iter().flat_map(|properties| properties.keys());
                let rule = match suggest::nearest(name, known.clone().map(String::as_str)) {
                    Some(meant) => format!("is not an argument; did you mean `{meant}`?"),
                    None if known.clone().next().is_none() => {
                        "is not an argument; there are none to give".to_owned()
                    }
                    None => {
                        let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
                        format!("is not an argument; there are {}", known.join(", "))
                    }
                };
                return Err(Violation::new(inside(&shortened(name)), Kind::Unknown, rule));
            }
            Some(Value::Object(other)) => check(other, value, &inside(&shortened(name)))?,
            _ => {}
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            let expected = properties
                .and_then(|properties| properties.get(name)?.get("type")?.as_str())
                .map_or_else(String::new, |kind| format!(" and must be {}", with_article(kind)));
            return Err(Violation::new(inside(name), Kind::Missing, format!("is required{expected}")));
        }
    }
    Ok(())
}

/// A name as the caller gave it, short enough to be shown.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// The smallest arguments the schema accepts.
fn sample_arguments(schema: &JsonObject) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let mut arguments = JsonObject::new();
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if let Some(property) = properties.and_then(|properties| properties.get(name)?.as_object()) {
            arguments.insert(name.to_owned(), sample(property));
        }
    }
    Value::Object(arguments).to_string()
}

fn sample(schema: &JsonObject) -> Value {
    let first = |keyword: &str| schema.get(keyword)?.as_array()?.first().cloned();
    if let Some(value) =
        first("examples").or_else(|| schema.get("default").cloned()).or_else(|| first("enum"))
    {
        return value;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> JsonObject {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["query"],
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 5},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                "score": {"type": "number", "minimum": 0},
                "mode": {"type": "string", "enum": ["lexical", "hybrid"]},
                "deep": {"type": "boolean"},
                "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
                "filter": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {"path": {"type": "string"}},
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "either": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer"}]},
            },
        });
        schema.as_object().cloned().unwrap()
    }

    #[track_caller]
    fn accepted(given: Value) {
        assert_eq!(arguments(&schema(), &mut given.clone()), Ok(()), "{given}");
    }

    #[track_caller]
    fn refused(mut given: Value, kind: Kind, message: &str) {
        let violation = arguments(&schema(), &mut given).unwrap_err();
        assert_eq!((violation.kind, violation.to_string().as_str()), (kind, message));
    }

    #[test]
    fn what_fits_is_accepted() {
        accepted(json!({"query": "ibid"}));
        accepted(json!({"query": "größe", "limit": 50, "score": 0.5, "mode": "hybrid", "deep": false}));
        accepted(json!({"query": "a", "limit": 5.0, "score": 1, "tags": ["a", "b"], "labels": {"x": "y"}}));
        accepted(json!({"query": "a", "either": 7}));
        accepted(json!({"query": "a", "either": "ab", "filter": {"path": "notes"}}));
    }

    #[test]
    fn a_whole_float_becomes_an_integer() {
        let mut given = json!({"query": "a", "limit": 5.0});
        arguments(&schema(), &mut given).unwrap();
        assert_eq!(given, json!({"query": "a", "limit": 5}));
    }

    #[test]
    fn every_broken_rule_is_named_with_its_field() {
        refused(json!({}), Kind::Missing, "`query` is required and must be a string");
        refused(json!({"query": 1}), Kind::Type, "`query` must be a string, not an integer");
        refused(json!({"query": null}), Kind::Type, "`query` must be a string, not null");
        refused(json!({"query": ""}), Kind::Value, "`query` must not be empty");
        refused(json!({"query": "toolong"}), Kind::Value, "`query` must have at most 5 characters, has 7");
        refused(json!({"query": "a", "limit": 0}), Kind::Value, "`limit` must be from 1 to 50");
        refused(json!({"query": "a", "limit": 51}), Kind::Value, "`limit` must be from 1 to 50");
        refused(json!({"query": "a", "limit": 1.5}), Kind::Type, "`limit` must be an integer, not a number");
        refused(json!({"query": "a", "limit": "5"}), Kind::Type, "`limit` must be an integer, not a string");
        refused(
            json!({"query": "a", "limit": 1e300}),
            Kind::Type,
            "`limit` must be an integer, not a number",
        );
        refused(json!({"query": "a", "score": -1}), Kind::Value, "`score` must be at least 0");
        refused(json!({"query": "a", "deep": "yes"}), Kind::Type, "`deep` must be a boolean, not a string");
        refused(
            json!({"query": "a", "mode": "magic"}),
            Kind::Value,
            "`mode` must be one of \"lexical\", \"hybrid\"",
        );
        refused(
            json!({"query": "a", "tags": ["a", 1]}),
            Kind::Type,
            "`tags[1]` must be a string, not an integer",
        );
        refused(json!({"query": "a", "tags": ["", "", ""]}), Kind::Value, "`tags` must have at most 2 items");
        refused(
            json!({"query": "a", "labels": {"x": 1}}),
            Kind::Type,
            "`labels.x` must be a string, not an integer",
        );
        refused(
            json!({"query": "a", "either": "a"}),
            Kind::Value,
            "`either` must have at least 2 characters, has 1",
        );
        refused(
            json!({"query": "a", "either": true}),
            Kind::Type,
            "`either` must be a string, not a boolean",
        );
        refused(json!([]), Kind::Type, "the arguments must be an object, not an array");
    }

    #[test]
    fn unknown_arguments_are_refused_by_name_with_what_was_probably_meant() {
        refused(
            json!({"query": "a", "limits": 1}),
            Kind::Unknown,
            "`limits` is not an argument; did you mean `limit`?",
        );
        refused(
            json!({"query": "a", "filter": {"folder": "x"}}),
            Kind::Unknown,
            "`filter.folder` is not an argument; there are `path`",
        );
    }

    #[test]
    fn the_error_shows_a_valid_call_and_no_given_value() {
        const SPEC: Spec = Spec::read("t", "T", "About.");
        let violation = arguments(&schema(), &mut json!({"query": "secret words"})).unwrap_err();
        assert_eq!(violation.argument(), "query");
        let error = violation.into_error(ErrorCode::InvalidInput, &schema(), &SPEC);
        assert_eq!(error.hint.as_deref(), Some(r#"a valid call has arguments such as {"query":"text"}"#));
        assert!(!serde_json::to_string(&error).unwrap().contains("secret"));
    }

    proptest::proptest! {
        #[test]
        fn the_sample_call_of_any_schema_like_ours_is_valid(least in 1_u8..40, extra in 0_u8..40) {
            let schema = json!({
                "type": "object",
                "required": ["limit", "mode"],
                "properties": {
                    "limit": {"type": "integer", "minimum": least, "maximum": least + extra},
                    "mode": {"type": "string", "enum": ["a", "b"]},
                },
            });
            let schema = schema.as_object().cloned().unwrap();
            let mut sample: Value = serde_json::from_str(&sample_arguments(&schema)).unwrap();
            proptest::prop_assert_eq!(arguments(&schema, &mut sample), Ok(()));
        }
    }
}
