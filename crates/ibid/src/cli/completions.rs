//! `ibid completions`

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::{Context, Outcome};
use crate::args::Arguments;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bash    ibid completions bash > ~/.local/share/bash-completion/completions/ibid
  zsh     ibid completions zsh > ~/.zfunc/_ibid
  fish    ibid completions fish > ~/.config/fish/completions/ibid.fish")]
pub struct CompletionsArguments {
    /// The shell.
    pub shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArguments, context: &Context) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "ibid", &mut script);
    context.printer.raw(&script)
}
