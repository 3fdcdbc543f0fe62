//! `ibid init`

mod survey;

use std::fmt::Write as _;

use clap::Args;
use ibid_api::{Error, ErrorCode};

use super::{Context, Outcome, install_client};
use crate::{
    config::{PROJECT_FILE, edit},
    ui::printer::{GOOD, PLACE, STRONG},
};
use survey::{Nature, Survey};

/// Set up a folder: find out what it is and write an `ibid.toml`.
///
/// The file is commented, says what was found, and can be shared. On a terminal ibid then offers to register
/// itself with the MCP clients that are installed; nothing is registered without asking.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// Replace an `ibid.toml` that is there.
    #[arg(long)]
    pub force: bool,
    /// Do not ask anything.
    #[arg(short, long)]
    pub yes: bool,
}

pub(super) fn run(arguments: &InitArguments, context: &Context) -> Outcome {
    let folder = &context.config.surroundings.current_dir;
    let file = folder.join(PROJECT_FILE);
    if file.exists() && !arguments.force {
        return Err(Error::new(ErrorCode::InvalidInput, "there is an `ibid.toml` in this folder already")
            .with_hint("edit it, or replace it with `ibid init --force`")
            .into());
    }
    let survey = Survey::of(folder);
    edit::write(&file, &project_file(&survey))?;
    share(&file);
    let printer = &context.printer;
    printer
        .line(format_args!("{GOOD}wrote{GOOD:#} {PLACE}{PROJECT_FILE}{PLACE:#}: {}", survey.describe()))?;
    if !arguments.yes {
        offer_clients(context)?;
    }
    printer.line(format_args!("\nNext: {STRONG}ibid search{STRONG:#} something you know is in here"))
}

/// Project files are for everybody who has the folder.
fn share(file: &std::path::Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The file is usable either way.
        let _ = std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644));
    }
    #[cfg(not(unix))]
    let _ = file;
}

fn offer_clients(context: &Context) -> Outcome {
    for client in install_client::CLIENTS.iter().filter(|client| client.is_present(&context.config)) {
        if install_client::registered(client, context) == Some(true) {
            continue;
        }
        if context.printer.ask(format_args!("Register this folder with {}?", client.title)) == Some(true) {
            // The new project file decides what is registered.
            let config = crate::config::Config::load(
                context.config.surroundings.clone(),
                context.config.custom_file.clone(),
                &[],
            )?;
            install_client::register(client, &Context::new(config, context.printer.clone()))?;
        }
    }
    Ok(())
}

fn project_file(survey: &Survey) -> String {
    let mut text = String::from(
        "# Configuration of ibid for this folder. Every key is described by `ibid config show` and in docs/config.md.\n",
    );
    let _ = writeln!(text, "# Found by `ibid init`: {}.\n", survey.describe());
    text.push_str("# The folders of this knowledge base. Paths start at this file.\n");
    for (name, path) in survey.sources() {
        let _ = writeln!(text, "[[sources]]\nname = {name:?}\npath = {path:?}");
        let exclude = survey.exclude();
        if exclude.is_empty() {
            text.push_str("# Left out besides what .gitignore and .ibidignore name, in the same syntax.\n# exclude = [\"drafts/\"]\n");
        } else {
            let _ = writeln!(
                text,
                "# Left out besides what .gitignore and .ibidignore name, in the same syntax.\nexclude = {exclude:?}"
            );
        }
        match survey.nature {
            Nature::ObsidianVault | Nature::Documentation => {
                text.push_str("# Add \"code\" to search source files too.\nkinds = [\"markdown\", \"text\", \"pdf\", \"office\", \"html\"]\n");
            }
            Nature::Mixed | Nature::Notes => {
                text.push_str("# Only these kinds of documents; all when left out.\n# kinds = [\"markdown\", \"text\"]\n");
            }
        }
        text.push('\n');
    }
    text.push_str(
        "# What a search shows when a request does not say.\n\
         # [search]\n\
         # limit = 10\n\n\
         # Find texts by meaning as well as by words.\n\
         # [embedding]\n\
         # enabled = true\n\n\
         # What agents are offered; `ibid tools` lists it.\n\
         # toolsets = [\"all\"]     # has to stand above the first table when enabled\n\
         # read_only = true        # likewise\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, env::Surroundings};

    #[test]
    fn the_file_that_is_written_can_be_read() {
        for nature in [Nature::ObsidianVault, Nature::Documentation, Nature::Mixed, Nature::Notes] {
            let folder = tempfile::tempdir().unwrap();
            let mut survey = Survey::of(folder.path());
            survey.nature = nature;
            let file = folder.path().join(PROJECT_FILE);
            edit::write(&file, &project_file(&survey)).unwrap();
            let surroundings = Surroundings {
                current_dir: folder.path().to_owned(),
                data_home: Some(folder.path().join("data")),
                ..Surroundings::default()
            };
            let config = Config::load(surroundings, None, &[]).unwrap();
            assert_eq!(config.place().unwrap().sources.len(), 1, "{nature:?}");
        }
    }
}
