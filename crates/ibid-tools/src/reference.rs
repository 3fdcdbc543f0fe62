//! The reference page, made from the same tables as everything else.

use std::fmt::Write;

use serde_json::Value;

use crate::{Effect, JsonObject, Method, Tool, ToolTable, coerce};

/// The page in Markdown: every toolset, tool, argument and example.
pub fn markdown(table: &ToolTable) -> String {
    let mut page = String::from("# Tools\n\nGenerated from the tool tables; do not edit.\n");
    for toolset in table.toolsets() {
        let _ = write!(page, "\n## Toolset `{}`\n", toolset.name());
        if !toolset.instructions().is_empty() {
            let _ = write!(page, "\n{}\n", toolset.instructions());
        }
        for tool in toolset.tools() {
            write_tool(&mut page, tool);
        }
    }
    page
}

fn write_tool(page: &mut String, tool: &Tool) {
    let spec = &tool.spec;
    let effect = match spec.effect {
        Effect::Read => "reads only",
        Effect::Write => "writes",
        Effect::Destroy => "removes or overwrites",
    };
    let _ = write!(page, "\n### `{}`\n\n{} *({effect}", spec.name, spec.about);
    if spec.idempotent && spec.effect != Effect::Read {
        page.push_str(", safe to repeat");
    }
    if spec.open_world {
        page.push_str(", reaches beyond the knowledge base");
    }
    page.push_str(")*\n");
    if let Some(route) = spec.http {
        let method = match route.method {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        };
        let _ = write!(page, "\nHTTP: `{method} {}`\n", route.path);
    }
    if !spec.aliases.is_empty() {
        let names: Vec<String> = spec.aliases.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(page, "\nFormer names: {}\n", names.join(", "));
    }
    write_fields(page, "Argument", &tool.input, true);
    write_fields(page, "Reply field", &tool.output, false);
    for example in spec.examples {
        let _ = write!(page, "\n```sh\nibid call {} --json '{example}'\n```\n", spec.name);
    }
}

fn write_fields(page: &mut String, heading: &str, schema: &JsonObject, arguments: bool) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty())
    else {
        if arguments {
            page.push_str("\nTakes no arguments.\n");
        }
        return;
    };
    let required = schema.get("required").and_then(Value::as_array);
    let _ = write!(page, "\n| {heading} | Type | | Meaning |\n| --- | --- | --- | --- |\n");
    for (name, property) in properties {
        let always = required.is_some_and(|names| names.iter().any(|one| one == name));
        let presence = match (arguments, always, property.get("default")) {
            (true, true, _) => "required".to_owned(),
            (true, false, Some(default)) => format!("default `{default}`"),
            (true, false, None) => "optional".to_owned(),
            (false, true, _) => String::new(),
            (false, false, _) => "may be absent".to_owned(),
        };
        let about = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = about.replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(page, "| `{name}` | {} | {presence} | {about} |", type_of(property));
    }
}

fn type_of(property: &Value) -> String {
    let mut text = match property.get("anyOf").and_then(Value::as_array) {
        Some(alternatives) => alternatives.iter().map(type_of).collect::<Vec<_>>().join(" or "),
        None => coerce::kind(property).to_owned(),
    };
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`").replace('"', "")).collect();
        text = values.join(", ");
    }
    if let Some(items) = property.get("items") {
        text = format!("array of {}", type_of(items));
    }
    let bound = |keyword: &str| property.get(keyword).map(Value::to_string);
    let range = match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    };
    let length = match bound("maxLength") {
        Some(most) => format!(", up to {most} characters"),
        None => String::new(),
    };
    format!("{text}{range}{length}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn table() -> ToolTable {
        ToolTable::new([text::toolset(text::TextConfig::new(None))]).unwrap()
    }

    #[test]
    fn the_page_lists_every_tool_with_its_fields() {
        insta::assert_snapshot!(markdown(&table()));
    }

    #[test]
    fn the_list_of_tools_keeps_its_shape_and_price() {
        for tool in table().tools() {
            insta::assert_json_snapshot!(tool.spec.name, tool.describe());
        }
        insta::assert_snapshot!(format!("{} tokens", table().tokens()));
    }
}
