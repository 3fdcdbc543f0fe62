//! Chooses which tools are offered: at start from configuration, and per request from headers that can only
//! narrow the choice.

use ibid_api::{Error, ErrorCode, Result};

use crate::{Effect, ToolTable, suggest};

/// A choice of tools. The default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these toolsets; `all`, or none named, means every one.
    pub toolsets: Option<Vec<String>>,
    /// Only these tools.
    pub tools: Option<Vec<String>>,
    /// None of these tools.
    pub exclude_tools: Vec<String>,
    /// Only tools that change nothing. Wins over everything else.
    pub read_only: bool,
}

impl Selection {
    /// The choice the `X-MCP-*` headers of a request ask for, if any does.
    pub fn from_headers<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let list = |name: &str| header(name).map(split);
        let selection = Self {
            toolsets: list("x-mcp-toolsets"),
            tools: list("x-mcp-tools"),
            exclude_tools: list("x-mcp-exclude-tools").unwrap_or_default(),
            read_only: header("x-mcp-readonly").is_some_and(|value| {
                // An unreadable wish for safety is taken as one.
                !matches!(value.trim().to_ascii_lowercase().as_str(), "false" | "0" | "")
            }),
        };
        (selection != Self::default()).then_some(selection)
    }

    /// Refuses names that are neither a toolset nor a tool of the table.
    pub fn check(&self, table: &ToolTable) -> Result<()> {
        let toolsets = || table.toolsets().iter().map(crate::Toolset::name);
        for name in self.named_toolsets() {
            if !toolsets().any(|known| known == name) {
                return Err(unknown("toolset", name, toolsets()));
            }
        }
        let tools = || table.tools().map(|tool| tool.spec.name);
        for name in self.tools.iter().flatten().chain(&self.exclude_tools) {
            if table.get(name).is_none() {
                return Err(unknown("tool", name, tools()));
            }
        }
        Ok(())
    }

    fn named_toolsets(&self) -> impl Iterator<Item = &str> {
        let all = self.toolsets.iter().flatten().any(|name| name == "all");
        self.toolsets.iter().flatten().map(String::as_str).filter(move |_| !all)
    }
}

impl ToolTable {
    /// The same table with only the tools chosen. Names it does not have choose nothing.
    pub fn select(&self, selection: &Selection) -> Self {
        let every = selection.toolsets.as_ref().is_none_or(|names| names.iter().any(|name| name == "all"));
        let chosen = |name: &str| every || selection.named_toolsets().any(|named| named == name);
        let named = |names: &[String], tool: &str| {
            names.iter().any(|name| self.get(name).is_some_and(|found| found.spec.name == tool))
        };
        let toolsets = self.toolsets().iter().filter(|toolset| chosen(toolset.name())).map(|toolset| {
            toolset.retain(|tool| {
                let name = tool.spec.name;
                selection.tools.as_ref().is_none_or(|tools| named(tools, name))
                    && !named(&selection.exclude_tools, name)
                    && (!selection.read_only || tool.spec.effect == Effect::Read)
            })
        });
        // Fewer tools than a table that was accepted cannot clash.
        Self::new(toolsets).unwrap_or_default()
    }
}

/// The names in a comma-separated list.
fn split(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Error {
    let error = Error::new(ErrorCode::ConfigInvalid, format!("there is no {what} `{name}`"));
    match suggest::nearest(name, known.clone()) {
        Some(meant) => error.with_hint(format!("did you mean `{meant}`?")),
        None => error.with_hint(format!("there are {}", known.collect::<Vec<_>>().join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{Spec, Toolset};

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Nothing {}

    fn table() -> ToolTable {
        let toolset = |name, specs: [Spec; 2]| {
            let [first, second] = specs;
            Toolset::build(name, ())
                .tool(first, async |(), input: Nothing| Ok(input))
                .tool(second, async |(), input: Nothing| Ok(input))
                .finish()
        };
        ToolTable::new([
            toolset("one", [Spec::read("find", "F", "F.").aliases(&["look"]), Spec::write("put", "P", "P.")]),
            toolset("two", [Spec::read("get", "G", "G."), Spec::destroy("drop", "D", "D.")]),
        ])
        .unwrap()
    }

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: &[&str]) {
        let header = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let selection = Selection::from_headers(header).unwrap_or_default();
        let selected = table().select(&selection);
        assert_eq!(selected.tools().map(|tool| tool.spec.name).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn each_header_narrows_the_table() {
        check(&[], &["drop", "find", "get", "put"]);
        check(&[("x-mcp-toolsets", "one")], &["find", "put"]);
        check(&[("x-mcp-toolsets", "all")], &["drop", "find", "get", "put"]);
        check(&[("x-mcp-toolsets", "one, nothing")], &["find", "put"]);
        check(&[("x-mcp-toolsets", "nothing")], &[]);
        check(&[("x-mcp-tools", "get,look")], &["find", "get"]);
        check(&[("x-mcp-exclude-tools", "get,drop")], &["find", "put"]);
        check(&[("x-mcp-readonly", "true")], &["find", "get"]);
        check(&[("x-mcp-readonly", "yes please")], &["find", "get"]);
        check(&[("x-mcp-readonly", "false")], &["drop", "find", "get", "put"]);
        check(&[("x-mcp-tools", "put,get"), ("x-mcp-readonly", "1")], &["get"]);
        check(&[("x-mcp-tools", "")], &[]);
    }

    #[test]
    fn a_second_choice_cannot_widen_the_first() {
        let first = Selection { read_only: true, ..Selection::default() };
        let second = Selection { tools: Some(vec!["put".to_owned()]), ..Selection::default() };
        assert_eq!(table().select(&first).select(&second).tools().len(), 0);
    }

    #[test]
    fn names_that_do_not_exist_are_refused_at_start() {
        let selection = Selection { toolsets: Some(vec!["ones".to_owned()]), ..Selection::default() };
        let error = selection.check(&table()).unwrap_err();
        assert_eq!(error.message, "there is no toolset `ones`");
        assert_eq!(error.hint.as_deref(), Some("did you mean `one`?"));
        let selection = Selection { exclude_tools: vec!["banana".to_owned()], ..Selection::default() };
        let error = selection.check(&table()).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("there are drop, find, get, put"));
    }
}
