//! `ibid model`

mod bench;
mod choose;
mod install;
mod list;
mod shelf;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Context, Outcome};

/// Show, install, choose and measure embedding models.
///
/// The built-in model needs nothing. Another one of its family (BERT with WordPiece, as most small sentence
/// encoders are) is installed from a folder on this machine. Nothing is ever downloaded.
#[derive(Debug, Args)]
pub struct ModelArguments {
    /// What to do.
    #[command(subcommand)]
    pub action: ModelAction,
}

/// What to do with models.
#[derive(Debug, Subcommand)]
pub enum ModelAction {
    /// List the models there are, and which one is in use.
    List {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Copy a model from a folder with `config.json`, `tokenizer.json` and `model.safetensors`.
    Install {
        /// The folder.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Name to install it under; otherwise that of the folder.
        #[arg(long)]
        name: Option<String>,
        /// Replace a model of the same name.
        #[arg(long)]
        force: bool,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Use a model: sets `embedding.path` in the user file. The vectors of the model before it answer until
    /// those of the new one are complete.
    Use {
        /// Its name, as `ibid model list` shows it; `builtin` is the one inside the program.
        name: String,
        /// Set it in the project file instead.
        #[arg(long)]
        project: bool,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Measure a model on this machine: time to load, time of a query, speed with long texts, memory.
    Bench {
        /// The model; otherwise the one in use.
        name: Option<String>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(arguments: &ModelArguments, context: &Context) -> Outcome {
    match &arguments.action {
        ModelAction::List { json } => list::run(context, *json),
        ModelAction::Install { folder, name, force, json } => {
            install::run(context, folder, name.as_deref(), *force, *json)
        }
        ModelAction::Use { name, project, json } => choose::run(context, name, *project, *json),
        ModelAction::Bench { name, json } => bench::run(context, name.as_deref(), *json),
    }
}
