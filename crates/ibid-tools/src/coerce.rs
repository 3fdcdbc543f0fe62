//! Turns strings (flags, query parameters, path parameters) into the JSON a tool's schema asks for.

use ibid_api::{Error, ErrorCode, Result};
use serde_json::Value;

use crate::{JsonObject, Tool, names};

/// Arguments from `(name, text)` pairs. A name given more than once makes an array where the schema has one.
///
/// Names the tool does not know are passed on as strings, for the tool to refuse or ignore.
pub fn arguments(tool: &Tool, pairs: impl IntoIterator<Item = (String, String)>) -> Result<JsonObject> {
    let properties = tool.input.get("properties").and_then(Value::as_object);
    let mut result = JsonObject::new();
    for (name, text) in pairs {
        let published = names::published(&tool.input, &tool.spec, &name).map(str::to_owned);
        let Some(published) = published else {
            result.insert(name, Value::String(text));
            continue;
        };
        let property = properties.and_then(|properties| properties.get(&published)).unwrap_or(&Value::Null);
        if kind(property) == "array" && !text.trim_start().starts_with('[') {
            let item = scalar(property.get("items").unwrap_or(&Value::Null), text);
            match result.entry(published).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(items) => items.push(item),
                other => *other = Value::Array(vec![item]),
            }
        } else if result.contains_key(&published) {
            return Err(Error::new(
                ErrorCode::InvalidInput,
                format!("`{published}` is given twice; give it once"),
            ));
        } else {
            result.insert(published, scalar(property, text));
        }
    }
    Ok(result)
}

/// The JSON type a property asks for; `string` where it leaves it open.
pub fn kind(property: &Value) -> &str {
    match property.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("string")
        }
        _ => "string",
    }
}

/// Text that does not read as the wanted type stays text, so that the validator can name field and rule.
fn scalar(property: &Value, text: String) -> Value {
    match kind(property) {
        "string" => Value::String(text),
        _ => serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::{Call, Spec, Toolset};

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Everything {
        text: String,
        #[serde(default)]
        count: u32,
        #[serde(default)]
        allow_large: bool,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(default)]
        ids: Vec<u32>,
    }

    fn toolset() -> Toolset {
        Toolset::build("test", ())
            .tool(Spec::read("echo", "Echo", "Returns its input."), async |(), input: Everything| Ok(input))
            .finish()
    }

    #[track_caller]
    fn check(pairs: &[(&str, &str)], expected: Value) {
        let pairs = pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let result = arguments(&toolset().tools()[0], pairs);
        assert_eq!(result.map(Value::Object), Ok(expected));
    }

    #[test]
    fn text_takes_the_type_of_the_schema() {
        check(
            &[("text", "7"), ("count", "7"), ("allowLarge", "true")],
            json!({"text": "7", "count": 7, "allow_large": true}),
        );
        check(&[("tags", "a"), ("tags", "7")], json!({"tags": ["a", "7"]}));
        check(&[("ids", "1"), ("ids", "2")], json!({"ids": [1, 2]}));
        check(&[("ids", "[1, 2]")], json!({"ids": [1, 2]}));
        check(&[("text", "null"), ("other", "1")], json!({"text": "null", "other": "1"}));
    }

    #[test]
    fn an_argument_given_twice_is_refused() {
        let pairs = [("count", "1"), ("count", "2")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        let error = arguments(&toolset().tools()[0], pairs).unwrap_err();
        assert_eq!(error.message, "`count` is given twice; give it once");
    }

    #[tokio::test]
    async fn text_of_the_wrong_type_is_named_by_the_validator() {
        let toolset = toolset();
        let tool = &toolset.tools()[0];
        let pairs = [("text", "a"), ("count", "many")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        let failure = tool.call(arguments(tool, pairs).unwrap(), Call::detached()).await.unwrap_err();
        assert_eq!(failure.error.message, "`count` must be an integer, not a string");
    }

    proptest::proptest! {
        #[test]
        fn any_strings_give_arguments_or_an_error(
            pairs in proptest::collection::vec((".{0,12}", ".{0,24}"), 0..6)
        ) {
            let _ = arguments(&toolset().tools()[0], pairs);
        }
    }
}
