//! `ibid tools`, and the options that choose tools

use clap::Args;
use serde_json::{Value, json};

use super::{Context, Outcome};
use crate::{
    assemble,
    config::layer::Flag,
    ui::{
        printer::{FAINT, STRONG},
        table::Table,
    },
};

/// Which tools are served.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Tools")]
pub struct ToolArguments {
    /// Serve these toolsets, separated by commas, or `all`.
    #[arg(long, value_name = "NAMES")]
    pub toolsets: Option<String>,
    /// Serve only these tools of them.
    #[arg(long, value_name = "NAMES")]
    pub tools: Option<String>,
    /// Do not serve these tools.
    #[arg(long, value_name = "NAMES")]
    pub exclude_tools: Option<String>,
    /// Serve only tools that change nothing, and write nothing.
    #[arg(long)]
    pub read_only: bool,
    /// The folder to serve when there is just one.
    #[arg(long, value_name = "DIR")]
    pub vault_root: Option<String>,
    /// The file of the `text` toolset.
    #[arg(long, value_name = "FILE")]
    pub kb_file: Option<String>,
}

impl ToolArguments {
    /// The configuration keys they set.
    pub fn flags(&self) -> Vec<Flag> {
        let texts = [
            ("toolsets", "--toolsets", &self.toolsets),
            ("tools", "--tools", &self.tools),
            ("exclude_tools", "--exclude-tools", &self.exclude_tools),
            ("vault.root", "--vault-root", &self.vault_root),
            ("text.file", "--kb-file", &self.kb_file),
        ];
        let texts =
            texts.into_iter().filter_map(|(key, flag, value)| Some(Flag::new(key, flag, value.as_ref()?)));
        texts.chain(self.read_only.then(|| Flag::new("read_only", "--read-only", true))).collect()
    }
}

/// List the tools that agents see, and what each costs in tokens.
///
/// A client puts the list of tools into every conversation; the cost is its size in bytes divided by four.
#[derive(Debug, Args)]
pub struct ToolsArguments {
    /// Which tools.
    #[command(flatten)]
    pub tools: ToolArguments,
    /// Print the list as an agent gets it.
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(arguments: &ToolsArguments, context: &Context) -> Outcome {
    let table = assemble::described_tools(&context.config)?;
    let printer = &context.printer;
    if arguments.json {
        return printer.json(&json!({"tools": table.describe(), "tokens": table.tokens()}));
    }
    for toolset in table.toolsets().iter().filter(|toolset| !toolset.tools().is_empty()) {
        printer.line(format_args!("{STRONG}{}{STRONG:#}", toolset.name()))?;
        let mut rows = Table::new(&["", "", "", ""]);
        for tool in toolset.tools() {
            rows.row([
                format!("  {}", tool.spec.name),
                format!("{:>6}", tokens(&tool.describe())),
                if tool.spec.annotations()["readOnlyHint"] == json!(true) { "reads" } else { "writes" }
                    .to_owned(),
                tool.spec.title.to_owned(),
            ]);
        }
        printer.write(rows.render(printer.width()).as_bytes())?;
    }
    let n_tools = super::time::count(table.tools().len() as u64, "tool");
    printer.line(format_args!("{FAINT}{n_tools}, about {} tokens{FAINT:#}", table.tokens()))
}

fn tokens(description: &Value) -> usize {
    description.to_string().len().div_ceil(4)
}
