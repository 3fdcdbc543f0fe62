//! `ibid mcp`

use std::time::Duration;

use clap::Args;

use super::{Context, Outcome, tools::ToolArguments};
use crate::{
    assemble,
    config::layer::Flag,
    mcp::{McpOptions, stdio},
    serving::Serving,
};

/// Serve MCP on stdin and stdout, for an agent that starts ibid itself.
///
/// stdout carries the protocol and nothing else; the log goes to stderr. When stdin closes, every call that
/// was accepted is answered and ibid ends with 0. `ibid install-client` registers it with a client.
#[derive(Debug, Args)]
#[command(after_help = "\
Configuration of a client:
  {\"mcpServers\": {\"ibid\": {\"command\": \"ibid\", \"args\": [\"-C\", \"/path/to/notes\", \"mcp\"]}}}")]
pub struct McpArguments {
    /// Which tools.
    #[command(flatten)]
    pub tools: ToolArguments,
    /// How to answer.
    #[command(flatten)]
    pub calls: CallOptions,
}

/// How calls are answered, on every transport.
#[derive(Debug, Clone, Copy, Args)]
pub struct CallOptions {
    /// Answer a call with an error when it takes longer than this.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub call_timeout: u64,
    /// The same in milliseconds, for tests.
    #[arg(long, hide = true, value_name = "MILLISECONDS")]
    pub call_deadline_ms: Option<u64>,
    /// Offer the tools that the conformance suite calls.
    #[arg(long, hide = true)]
    pub conformance_fixtures: bool,
}

impl CallOptions {
    pub(super) fn options(self) -> McpOptions {
        let in_seconds = Duration::from_secs(self.call_timeout);
        McpOptions {
            call_deadline: self.call_deadline_ms.map_or(in_seconds, Duration::from_millis),
            conformance_fixtures: self.conformance_fixtures,
        }
    }
}

impl McpArguments {
    /// The configuration keys its flags set.
    pub fn flags(&self) -> Vec<Flag> {
        self.tools.flags()
    }
}

pub(super) fn run(arguments: &McpArguments, context: &Context) -> Outcome {
    // Nothing is watched here: a client that closes stdin must not wait for an update or for embeddings.
    let serving = Serving::open(&context.config)?;
    let table =
        assemble::served_tools(context, serving.engine.clone(), arguments.calls.conformance_fixtures)?;
    Ok(stdio::run(table, &arguments.calls.options())?)
}
