//! Brings the names of arguments to the published spelling.

use serde_json::Value;

use crate::{
    JsonObject,
    spec::{Spec, UnknownArguments},
    validate::{Kind, Violation},
};

/// The published name of an argument, if it has one.
pub(crate) fn published<'a>(schema: &'a JsonObject, spec: &Spec, name: &str) -> Option<&'a str> {
    let properties = schema.get("properties").and_then(Value::as_object)?;
    let find = |name: &str| properties.get_key_value(name).map(|(key, _)| key.as_str());
    find(name)
        .or_else(|| {
            let (_, target) = spec.parameter_aliases.iter().find(|(alias, _)| *alias == name)?;
            find(target)
        })
        .or_else(|| find(&snake_case(name)))
        .or_else(|| find(&camel_case(name)))
}

/// Renames every argument to its published name, and drops what means "not given".
pub(crate) fn canonical(
    schema: &JsonObject,
    spec: &Spec,
    unknown: UnknownArguments,
    arguments: JsonObject,
) -> Result<JsonObject, Violation> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let mut result = JsonObject::new();
    for (name, value) in arguments {
        let Some(published) = published(schema, spec, &name) else {
            if unknown == UnknownArguments::Refuse {
                result.insert(name, value);
            }
            continue;
        };
        // Many clients send null for what the model left out.
        if value.is_null() && !is_required(published) {
            continue;
        }
        if result.insert(published.to_owned(), value).is_some() {
            return Err(Violation::new(published, Kind::Value, "is given in two spellings; give it once"));
        }
    }
    Ok(result)
}

fn snake_case(name: &str) -> String {
    let mut result = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            if !result.is_empty() {
                result.push('_');
            }
            result.push(character.to_ascii_lowercase());
        } else {
            result.push(character);
        }
    }
    result
}

fn camel_case(name: &str) -> String {
    let mut result = String::with_capacity(name.len());
    let mut raise = false;
    for character in name.chars() {
        if character == '_' && !result.is_empty() {
            raise = true;
        } else if raise {
            result.push(character.to_ascii_uppercase());
            raise = false;
        } else {
            result.push(character);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SPEC: Spec = Spec::read("t", "T", "About.").parameter_aliases(&[("path", "vault_relative_path")]);

    fn schema() -> JsonObject {
        let schema = json!({
            "type": "object",
            "required": ["note_id"],
            "properties": {
                "note_id": {"type": "string"},
                "docType": {"type": "string"},
                "vault_relative_path": {"type": "string"},
            },
        });
        schema.as_object().cloned().unwrap()
    }

    #[track_caller]
    fn check(unknown: UnknownArguments, given: Value, expected: Value) {
        let given = given.as_object().cloned().unwrap();
        let result = canonical(&schema(), &SPEC, unknown, given);
        assert_eq!(result.map(Value::Object).map_err(|violation| violation.to_string()), Ok(expected));
    }

    #[test]
    fn both_cases_and_listed_aliases_reach_the_published_name() {
        check(UnknownArguments::Refuse, json!({"noteId": "a"}), json!({"note_id": "a"}));
        check(UnknownArguments::Refuse, json!({"doc_type": "a"}), json!({"docType": "a"}));
        check(UnknownArguments::Refuse, json!({"path": "a"}), json!({"vault_relative_path": "a"}));
        check(
            UnknownArguments::Refuse,
            json!({"vaultRelativePath": "a"}),
            json!({"vault_relative_path": "a"}),
        );
    }

    #[test]
    fn unknown_arguments_are_kept_for_the_validator_or_dropped() {
        check(UnknownArguments::Refuse, json!({"other": 1}), json!({"other": 1}));
        check(UnknownArguments::Ignore, json!({"other": 1}), json!({}));
    }

    #[test]
    fn null_means_not_given_for_optional_arguments_only() {
        check(UnknownArguments::Refuse, json!({"note_id": null, "doc_type": null}), json!({"note_id": null}));
    }

    #[test]
    fn two_spellings_of_one_argument_are_refused() {
        let given = json!({"noteId": "a", "note_id": "b"});
        let result =
            canonical(&schema(), &SPEC, UnknownArguments::Refuse, given.as_object().cloned().unwrap());
        assert_eq!(result.unwrap_err().to_string(), "`note_id` is given in two spellings; give it once");
    }
}
