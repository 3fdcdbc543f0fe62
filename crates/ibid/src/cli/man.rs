//! `ibid man`

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use ibid_api::{Error, ErrorCode};

use super::{Context, Outcome};
use crate::args::Arguments;

/// Print the manual page, or write the pages of all commands to a folder.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ibid man | man -l -")]
pub struct ManArguments {
    /// Write the pages of all commands here.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

pub(super) fn run(arguments: &ManArguments, context: &Context) -> Outcome {
    let command = Arguments::command();
    let unwritable = |_| Error::new(ErrorCode::StorageUnavailable, "the manual pages could not be written");
    if let Some(folder) = &arguments.output {
        let folder = context.config.surroundings.current_dir.join(folder);
        std::fs::create_dir_all(&folder).map_err(unwritable)?;
        clap_mangen::generate_to(command, folder).map_err(unwritable)?;
        return Ok(());
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(unwritable)?;
    context.printer.raw(&page)
}
