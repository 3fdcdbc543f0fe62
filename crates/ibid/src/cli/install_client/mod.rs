//! `ibid install-client`

mod clients;
mod edit;

use std::{fs, path::Path};

use clap::{Args, ValueEnum};
use ibid_api::{Error, ErrorCode, Result};

use super::{Context, Outcome};
use crate::ui::printer::{GOOD, PLACE, STRONG};
pub(super) use clients::{CLIENTS, Client};
use clients::{Entry, Target};
use edit::Change;

/// Register ibid with an MCP client.
///
/// Writes one entry into the client's own configuration and leaves everything else in it as it is. The file
/// as it was is kept beside it, with `.ibid-backup` at its end. Running it again changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ibid install-client claude-code
  ibid install-client cursor --scope project
  ibid install-client claude-desktop --dry-run
  ibid install-client codex -- --toolsets vault --read-only")]
pub struct InstallClientArguments {
    /// The client.
    #[arg(value_name = "NAME", value_parser = clients::parser())]
    pub client: String,
    /// For all your projects, or for this folder and whoever shares it.
    #[arg(long, default_value = "user")]
    pub scope: Scope,
    /// Name of the entry.
    #[arg(long, default_value = "ibid")]
    pub name: String,
    /// Show what would be written, and where.
    #[arg(long)]
    pub dry_run: bool,
    /// More options for `ibid mcp`, after `--`.
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

/// Whose configuration is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Yours; the entry names this folder.
    User,
    /// This folder's; the file may be shared.
    Project,
}

pub(super) fn run(arguments: &InstallClientArguments, context: &Context) -> Outcome {
    let client = CLIENTS.iter().find(|client| client.name == arguments.client).ok_or_else(Error::internal)?;
    let target = client.target(arguments.scope, &context.config)?;
    let entry = Entry::new(client, arguments.scope, &arguments.options, &context.config)?;
    install(client, &target, &arguments.name, &entry, arguments.dry_run, context)
}

/// Registers this folder with a client for the user, with the usual options.
pub(super) fn register(client: &Client, context: &Context) -> Outcome {
    let target = client.target(Scope::User, &context.config)?;
    let entry = Entry::new(client, Scope::User, &[], &context.config)?;
    install(client, &target, "ibid", &entry, false, context)
}

fn install(
    client: &Client,
    target: &Target,
    name: &str,
    entry: &Entry,
    dry_run: bool,
    context: &Context,
) -> Outcome {
    let printer = &context.printer;
    let before = read(&target.file)?;
    let change = edit::add(&before, target, name, entry)?;
    let file = target.file.display();
    let after = match change {
        Change::None => {
            printer.line(format_args!(
                "{GOOD}already there{GOOD:#}: {} in {PLACE}{file}{PLACE:#}",
                client.title
            ))?;
            return Ok(());
        }
        Change::To(after) => after,
    };
    if dry_run {
        printer.note(format_args!(
            "{STRONG}{}{STRONG:#} would have this in {PLACE}{file}{PLACE:#}:",
            client.title
        ));
        return printer.line(edit::snippet(target, name, entry));
    }
    write(&target.file, &before, &after)?;
    printer.line(format_args!("{GOOD}registered{GOOD:#} with {} in {PLACE}{file}{PLACE:#}", client.title))?;
    printer.note(client.then);
    Ok(())
}

fn read(file: &Path) -> Result<String> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(_) => {
            Err(Error::new(ErrorCode::StorageUnavailable, "the client's configuration could not be read"))
        }
    }
}

/// Writes in one step, with the old content kept beside it and its permissions kept.
fn write(file: &Path, before: &str, after: &str) -> Result<()> {
    let unwritable = |_| {
        Error::new(ErrorCode::StorageUnavailable, "the client's configuration could not be written")
            .with_hint("`--dry-run` prints the entry, to be added by hand")
    };
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let permissions = fs::metadata(&file).ok().map(|metadata| metadata.permissions());
    if permissions.is_some() {
        let mut backup = file.clone().into_os_string();
        backup.push(".ibid-backup");
        crate::config::edit::write(Path::new(&backup), before)?;
    }
    crate::config::edit::write(&file, after)?;
    if let Some(permissions) = permissions {
        fs::set_permissions(&file, permissions).map_err(unwritable)?;
    }
    Ok(())
}

/// Whether a client has an entry that starts ibid, and whether what it starts exists.
pub(super) fn registered(client: &Client, context: &Context) -> Option<bool> {
    let target = client.target(Scope::User, &context.config).ok()?;
    let text = fs::read_to_string(&target.file).ok()?;
    let command = edit::command_of(&text, &target)?;
    let command = Path::new(&command);
    Some(!command.is_absolute() || command.exists())
}

#[cfg(test)]
mod tests;
