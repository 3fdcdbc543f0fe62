//! Arguments of the command line: the root, the options every command has, and the list of commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ibid_api::{Error, ErrorCode, Result};

use crate::{
    cli::{
        bundle::BundleArguments,
        call::CallArguments,
        completions::CompletionsArguments,
        config::ConfigArguments,
        doctor::DoctorArguments,
        eval::EvalArguments,
        get::GetArguments,
        index::{IndexArguments, ReindexArguments},
        init::InitArguments,
        install_client::InstallClientArguments,
        list::ListArguments,
        man::ManArguments,
        mcp::McpArguments,
        model::ModelArguments,
        related::RelatedArguments,
        search::SearchArguments,
        serve::ServeArguments,
        status::StatusArguments,
        sync::SyncArguments,
        tools::ToolsArguments,
    },
    config::layer::Flag,
};

/// The knowledge base that agents and people share.
///
/// ibid reads folders of notes, documentation and code, finds passages in them by words and by meaning, and
/// serves them to agents over MCP. Without configuration the current folder is the knowledge base:
///
///   ibid search how do I rotate the keys
///
/// indexes it the first time and then answers. Nothing is ever written into the folder.
#[derive(Debug, Parser)]
#[command(name = "ibid", version, max_term_width = 100, verbatim_doc_comment, disable_help_subcommand = true)]
pub struct Arguments {
    /// Options every command has.
    #[command(flatten)]
    pub global: GlobalArguments,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options every command has.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct GlobalArguments {
    /// Work as if started in this folder.
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Read this configuration file instead of the user and project files.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Keep the index in this folder.
    #[arg(long, global = true, value_name = "DIR", visible_alias = "index-dir")]
    pub data_dir: Option<String>,
    /// Set a configuration key for this run; may be repeated.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: Color,
    /// Print results and errors only.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// How much to log on stderr.
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
}

impl GlobalArguments {
    /// The configuration keys they set.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        let mut flags = Vec::new();
        for pair in &self.set {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                Error::new(ErrorCode::InvalidInput, "`--set` wants a key and a value")
                    .with_hint("for example `--set server.port=9000`")
            })?;
            flags.push(Flag::new(key.trim(), &format!("--set {}", key.trim()), value));
        }
        if let Some(folder) = &self.data_dir {
            flags.push(Flag::new("data_dir", "--data-dir", folder));
        }
        Ok(flags)
    }
}

/// When to use colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the names say it")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    /// The name in a log filter.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set up a folder: find out what it is and write an `ibid.toml`.
    Init(InitArguments),
    /// Bring the index up to date.
    Index(IndexArguments),
    /// Read everything again, as if for the first time.
    Reindex(ReindexArguments),
    /// Find passages.
    #[command(visible_alias = "s")]
    Search(SearchArguments),
    /// Print a document, a section, a range of lines or a chunk.
    Get(GetArguments),
    /// List documents.
    #[command(visible_alias = "ls")]
    List(ListArguments),
    /// Find what is near a document or a chunk.
    Related(RelatedArguments),
    /// Measure how well searches find what they should.
    Eval(EvalArguments),
    /// Show how fresh the index is and what is in it.
    Status(StatusArguments),
    /// Check that everything works and say how to fix what does not.
    Doctor(DoctorArguments),
    /// Keep a source that is a git worktree in step with its remote.
    Sync(SyncArguments),
    /// Show and change the configuration.
    Config(ConfigArguments),
    /// Show, install, choose and measure embedding models.
    Model(ModelArguments),
    /// Serve MCP on stdin and stdout, for an agent that starts ibid itself.
    Mcp(McpArguments),
    /// Serve HTTP, and MCP over HTTP when enabled.
    Serve(ServeArguments),
    /// List the tools that agents see, and what each costs in tokens.
    Tools(ToolsArguments),
    /// Call a tool as an agent would.
    Call(CallArguments),
    /// Register ibid with an MCP client.
    InstallClient(InstallClientArguments),
    /// Make an `.mcpb` bundle and a `server.json` for MCP registries.
    Bundle(BundleArguments),
    /// Print a completion script for a shell.
    Completions(CompletionsArguments),
    /// Print the manual page, or write all of them to a folder.
    Man(ManArguments),
}

impl Command {
    /// The configuration keys that the command's own flags set.
    pub fn flags(&self) -> Vec<Flag> {
        match self {
            Self::Mcp(arguments) => arguments.flags(),
            Self::Serve(arguments) => arguments.flags(),
            Self::Tools(arguments) => arguments.tools.flags(),
            Self::Call(arguments) => arguments.tools.flags(),
            _ => Vec::new(),
        }
    }

    /// The level to log at when no filter is set: servers follow the configuration, the rest keeps quiet.
    pub fn log_level(&self, asked: Option<LogLevel>) -> Option<LogLevel> {
        match self {
            Self::Mcp(_) | Self::Serve(_) => asked,
            _ => asked.or(Some(LogLevel::Error)),
        }
    }
}
