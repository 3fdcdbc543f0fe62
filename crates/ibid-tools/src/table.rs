//! Several toolsets served together.

use std::{collections::BTreeMap, sync::Arc};

use ibid_api::{Error, ErrorCode, Result};
use serde_json::Value;

use crate::{Tool, Toolset, suggest};

/// Clients cut what they show of a server's instructions near this many characters.
pub const MAX_INSTRUCTIONS: usize = 2_000;

/// The tools one server offers. Never changes while it runs.
#[derive(Debug, Clone, Default)]
pub struct ToolTable {
    toolsets: Vec<Toolset>,
    by_name: BTreeMap<&'static str, Arc<Tool>>,
    aliases: BTreeMap<&'static str, &'static str>,
}

impl ToolTable {
    /// Puts toolsets together. Two tools of one name are refused.
    pub fn new(toolsets: impl IntoIterator<Item = Toolset>) -> Result<Self> {
        let mut table = Self { toolsets: toolsets.into_iter().collect(), ..Self::default() };
        for tool in table.toolsets.iter().flat_map(Toolset::tools) {
            if let Some(other) = table.by_name.insert(tool.spec.name, tool.clone()) {
                let message = format!(
                    "toolsets `{}` and `{}` both have a tool `{}`; serve them apart",
                    other.toolset(),
                    tool.toolset(),
                    tool.spec.name
                );
                return Err(Error::new(ErrorCode::ConfigInvalid, message));
            }
        }
        for tool in table.by_name.values() {
            table.aliases.extend(tool.spec.aliases.iter().map(|alias| (*alias, tool.spec.name)));
        }
        Ok(table)
    }

    /// The toolsets, in the order given.
    pub fn toolsets(&self) -> &[Toolset] {
        &self.toolsets
    }

    /// All tools, by name.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Arc<Tool>> + Clone {
        self.by_name.values()
    }

    /// The tool of that name or former name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name).or_else(|| self.by_name.get(self.aliases.get(name)?))
    }

    /// What to say about a name that is no tool.
    pub fn unknown_tool(&self, name: &str) -> Error {
        let shown: String = name.chars().take(128).collect();
        let error = Error::new(ErrorCode::InvalidInput, format!("there is no tool `{shown}`"));
        match suggest::nearest(name, self.by_name.keys().copied()) {
            Some(meant) => error.with_hint(format!("did you mean `{meant}`?")),
            None => error.with_hint("`tools/list` names the tools there are"),
        }
    }

    /// A table of one of the toolsets.
    pub fn only(&self, toolset: &str) -> Option<Self> {
        let toolset = self.toolsets.iter().find(|one| one.name() == toolset)?;
        Self::new([toolset.clone()]).ok()
    }

    /// How to use the tools together, from the toolsets that have any left.
    pub fn instructions(&self) -> String {
        let parts = self.toolsets.iter().filter(|toolset| !toolset.tools().is_empty());
        let parts = parts.map(Toolset::instructions).filter(|text| !text.is_empty());
        let text = parts.collect::<Vec<_>>().join("\n\n");
        shorten(text)
    }

    /// The answer to `tools/list`, as MCP clients see it.
    pub fn describe(&self) -> Value {
        Value::Array(self.tools().map(|tool| tool.describe()).collect())
    }

    /// Roughly how many tokens the list of tools costs a model: its bytes divided by four.
    pub fn tokens(&self) -> usize {
        self.describe().to_string().len().div_ceil(4)
    }
}

/// Ends a text that is too long after its last whole sentence.
fn shorten(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_INSTRUCTIONS) else { return text };
    let head = &text[..end];
    let sentence = head.rfind(". ").or_else(|| head.rfind(".\n")).map_or(end, |dot| dot + 1);
    text[..sentence].to_owned()
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::Spec;

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Nothing {}

    fn toolset(name: &'static str, instructions: &'static str, specs: &[Spec]) -> Toolset {
        let mut builder = Toolset::build(name, ()).instructions(instructions);
        for spec in specs {
            builder = builder.tool(spec.clone(), async |(), input: Nothing| Ok(input));
        }
        builder.finish()
    }

    const B: Spec = Spec::read("b_tool", "B", "B.").aliases(&["old_b"]);
    const A: Spec = Spec::read("a_tool", "A", "A.");

    #[test]
    fn tools_are_listed_by_name_and_found_by_former_names() {
        let table = ToolTable::new([toolset("x", "", &[B, A])]).unwrap();
        assert_eq!(table.tools().map(|tool| tool.spec.name).collect::<Vec<_>>(), ["a_tool", "b_tool"]);
        assert_eq!(table.get("old_b").unwrap().spec.name, "b_tool");
        assert!(table.get("c_tool").is_none());
        assert_eq!(table.unknown_tool("c_tool").hint.as_deref(), Some("did you mean `a_tool`?"));
    }

    #[test]
    fn two_tools_of_one_name_are_refused() {
        let error = ToolTable::new([toolset("x", "", &[A]), toolset("y", "", &[A])]).unwrap_err();
        assert_eq!(error.message, "toolsets `x` and `y` both have a tool `a_tool`; serve them apart");
    }

    #[test]
    fn instructions_come_from_the_toolsets_served_and_stay_short() {
        let table = ToolTable::new([toolset("x", "Use a.", &[A]), toolset("y", "Use b.", &[B])]).unwrap();
        assert_eq!(table.instructions(), "Use a.\n\nUse b.");
        assert_eq!(table.only("y").unwrap().instructions(), "Use b.");
        assert!(table.only("z").is_none());

        let long: &'static str = Box::leak("One sentence. ".repeat(500).into_boxed_str());
        let shortened = ToolTable::new([toolset("x", long, &[A])]).unwrap().instructions();
        assert!(shortened.chars().count() <= MAX_INSTRUCTIONS && shortened.ends_with("sentence."));
    }
}
