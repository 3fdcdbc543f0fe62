//! `ibid sync`

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::{Args, Subcommand};
use ibid_api::{Error, ErrorCode, Result};
use ibid_core::sync::{self, CloneRequest, Pulled, SyncConfig, Syncer, check_address, check_name};
use serde_json::json;

use super::{Context, Outcome, config, knowledge::Knowledge, time::ago};
use crate::{
    config::{keys::find, layer::Flag},
    http::vault::{PullAnswer, sync_status},
    serving,
    ui::{
        printer::{BAD, CAUTION, FAINT, GOOD, PLACE, STRONG},
        text::safe,
    },
};

/// A look at the worktree, which asks the remote nothing, takes no longer.
const LOOK: Duration = Duration::from_secs(30);

/// Keep a source that is a git worktree in step with its remote.
///
/// Only ever fetches and moves forward: nothing is pushed, stashed, reset or merged, and a worktree with changes
/// of its own is left alone. Off by default; `ibid serve` pulls on a schedule once it is enabled.
#[derive(Debug, Args)]
pub struct SyncArguments {
    /// What to do.
    #[command(subcommand)]
    pub action: SyncAction,
}

/// What to do about git sync.
#[derive(Debug, Subcommand)]
pub enum SyncAction {
    /// Show whether and how it is set up, and how the last syncs went.
    Status {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Say what to follow. Does not turn the schedule on.
    Configure(ConfigureArguments),
    /// Make the first copy of the repository in an empty or new folder.
    Clone(CloneArguments),
    /// Fetch and move forward now, then index what is new.
    Pull(PullArguments),
    /// Let `ibid serve` pull on a schedule.
    Enable,
    /// Stop pulling on a schedule. What is configured stays.
    Disable,
}

/// What to follow.
#[derive(Debug, Args)]
pub struct ConfigureArguments {
    /// Address of the repository, without credentials; the remote must have it.
    #[arg(long, value_name = "ADDRESS")]
    pub repo: Option<String>,
    /// Name of the remote.
    #[arg(long, value_name = "NAME")]
    pub remote: Option<String>,
    /// Branch of the remote; the one of the same name as the local branch when empty.
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Time between two pulls.
    #[arg(long, value_name = "SECONDS")]
    pub interval: Option<u64>,
    /// Time between two pulls after repeated failures.
    #[arg(long, value_name = "SECONDS")]
    pub failure_backoff: Option<u64>,
    /// Longest time one pull may take.
    #[arg(long, value_name = "SECONDS")]
    pub pull_timeout: Option<u64>,
    /// Whether a webhook may ask for a pull; its secret is set with `ibid config set sync.webhook_secret -`.
    #[arg(long, value_name = "BOOL")]
    pub webhook: Option<bool>,
}

impl ConfigureArguments {
    /// The keys they set, with the flags that set them.
    fn changes(&self) -> Vec<Flag> {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let all = [
            ("sync.repo", "--repo", self.repo.clone()),
            ("sync.remote", "--remote", self.remote.clone()),
            ("sync.branch", "--branch", self.branch.clone()),
            ("sync.interval_seconds", "--interval", number(self.interval)),
            ("sync.failure_backoff_seconds", "--failure-backoff", number(self.failure_backoff)),
            ("sync.pull_timeout_seconds", "--pull-timeout", number(self.pull_timeout)),
            ("sync.webhook_enabled", "--webhook", self.webhook.map(|value| value.to_string())),
        ];
        all.into_iter().filter_map(|(key, flag, value)| Some(Flag::new(key, flag, value?))).collect()
    }
}

/// What to clone, and where to.
#[derive(Debug, Args)]
pub struct CloneArguments {
    /// The folder; `vault.root` when not given.
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Address of the repository; `sync.repo` when not given.
    #[arg(long, value_name = "ADDRESS")]
    pub repo: Option<String>,
    /// Branch to check out; `sync.branch` when not given, else the remote's own choice.
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Longest time it may take; `sync.pull_timeout_seconds` when not given.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
}

/// How to pull.
#[derive(Debug, Args)]
pub struct PullArguments {
    /// Wait for a sync that is running already, instead of being refused.
    #[arg(long)]
    pub wait: bool,
    /// Longest time it may take, up to `sync.pull_timeout_seconds`.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(arguments: &SyncArguments, context: &Context) -> Outcome {
    match &arguments.action {
        SyncAction::Status { json } => status(context, *json),
        SyncAction::Configure(arguments) => configure(context, arguments),
        SyncAction::Clone(arguments) => clone(context, arguments).await,
        SyncAction::Pull(arguments) => pull(context, arguments).await,
        SyncAction::Enable => enable(context).await,
        SyncAction::Disable => config::set(context, "sync.enabled", "false", false),
    }
}

fn status(context: &Context, json: bool) -> Outcome {
    let knowledge = Knowledge::open(context)?;
    let values = &context.config.values.sync;
    let sync = serving::sync_config(values, &knowledge.place);
    let state = Syncer::new(sync, Arc::clone(&knowledge.engine)).status();
    if json {
        let mut all = sync_status(&state);
        all["repo"] = json!(values.repo);
        all["remote"] = json!(values.remote);
        all["branch"] = json!(values.branch);
        all["intervalSeconds"] = json!(values.interval_seconds);
        all["webhook"] = json!({
            "enabled": values.webhook_enabled,
            "secret": { "set": values.webhook_secret.reveal().is_some() },
        });
        return context.printer.json(&all);
    }
    let schedule = match (state.enabled, state.configured) {
        (true, _) => format!("{GOOD}on{GOOD:#}, every {} s while `ibid serve` runs", values.interval_seconds),
        (false, true) => "off; `ibid sync pull` works, `ibid sync enable` turns it on".to_owned(),
        (false, false) => "off; `ibid sync configure` says what to follow".to_owned(),
    };
    let branch = values.branch.as_deref().map_or("the branch of the same name".into(), safe);
    let follows = match &values.repo {
        Some(repo) => format!("{branch} of {PLACE}{}{PLACE:#}", safe(repo)),
        None => format!("{branch} of the remote {}", safe(&values.remote)),
    };
    let webhook = match (values.webhook_enabled, values.webhook_secret.reveal().is_some()) {
        (false, _) => "off".to_owned(),
        (true, true) => format!("{GOOD}on{GOOD:#}"),
        (true, false) => format!("{CAUTION}on, and refused{CAUTION:#}: `sync.webhook_secret` is not set"),
    };
    let last = match (state.last_success_ms, &state.last_error) {
        _ if state.running => "running now".to_owned(),
        (None, None) => "never".to_owned(),
        (Some(time), None) => format!("{GOOD}succeeded{GOOD:#} {}", ago(time)),
        (before, Some(code)) => format!(
            "{BAD}failed{BAD:#} {} in a row: {code}{FAINT}, {}{FAINT:#}",
            times(state.consecutive_failures),
            before.map_or("never succeeded".to_owned(), |time| format!("succeeded {}", ago(time))),
        ),
    };
    for (name, value) in
        [("schedule", schedule), ("follows", follows), ("webhook", webhook), ("last sync", last)]
    {
        context.printer.line(format_args!("{STRONG}{name:<10}{STRONG:#} {value}"))?;
    }
    Ok(())
}

fn times(number: u32) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

fn configure(context: &Context, arguments: &ConfigureArguments) -> Outcome {
    let changes = arguments.changes();
    if changes.is_empty() {
        return Err(Error::new(ErrorCode::InvalidInput, "nothing to configure was given")
            .with_hint("for example `ibid sync configure --branch main`; `--help` lists what there is")
            .into());
    }
    if let Some(repo) = arguments.repo.as_deref().filter(|repo| !repo.is_empty()) {
        check_address(repo)?;
    }
    for name in [&arguments.remote, &arguments.branch].into_iter().flatten().filter(|name| !name.is_empty()) {
        check_name(name)?;
    }
    // All of them together must make sense before the first is written.
    config::check_together(context, &changes)?;
    for change in &changes {
        let key = find(&change.key).expect("every flag above names a key of the table");
        config::store(context, key, &change.value, false)?;
    }
    Ok(())
}

async fn clone(context: &Context, arguments: &CloneArguments) -> Outcome {
    let values = &context.config.values;
    let here = &context.config.surroundings.current_dir;
    let folder = arguments.folder.as_ref().map(|folder| here.join(folder)).or(values.vault.root.clone());
    let folder = folder.ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, "no folder to clone into was named")
            .with_hint("name one, or set `vault.root`")
    })?;
    let repository = arguments.repo.clone().or(values.sync.repo.clone()).ok_or_else(|| {
        Error::new(ErrorCode::SyncNotConfigured, "no repository to clone was named")
            .with_hint("give `--repo ADDRESS`, or set `sync.repo`")
    })?;
    // A path is meant from here; git runs elsewhere.
    let local = here.join(&repository);
    let repository = match local.to_str() {
        Some(path) if !repository.contains("://") && local.is_dir() => path.to_owned(),
        _ => repository,
    };
    let request = CloneRequest {
        repository,
        remote: values.sync.remote.clone(),
        branch: arguments.branch.clone().or(values.sync.branch.clone()),
        folder: folder.clone(),
    };
    let timeout = Duration::from_secs(arguments.timeout.unwrap_or(values.sync.pull_timeout_seconds));
    blocking(move || sync::clone(&request, timeout)).await?;
    context.printer.line(format_args!("cloned into {PLACE}{}{PLACE:#}", folder.display()))?;
    context.printer.note("`ibid sync enable` there keeps it in step, `ibid index` makes it searchable");
    Ok(())
}

async fn pull(context: &Context, arguments: &PullArguments) -> Outcome {
    let knowledge = Knowledge::open(context)?;
    if context.config.values.read_only {
        return Err(Error::new(ErrorCode::ConfigInvalid, "nothing is written while `read_only` is set")
            .with_hint("`ibid config show --origin` says where it is set")
            .into());
    }
    let config = serving::sync_config(&context.config.values.sync, &knowledge.place);
    let syncer = Syncer::new(config, Arc::clone(&knowledge.engine));
    // Not dropped half way by Ctrl-C: git ends by itself and leaves the worktree whole.
    let outcome = syncer.pull(arguments.wait, arguments.timeout.map(Duration::from_secs)).await?;
    if arguments.json {
        return context.printer.json(&PullAnswer::of(&outcome));
    }
    let what = match outcome.pulled {
        Pulled::FastForwarded => "moved forward; what is new is indexed",
        Pulled::NothingNew => "nothing new",
    };
    context.printer.line(what)
}

async fn enable(context: &Context) -> Outcome {
    let place = context.config.place()?;
    let sync = SyncConfig { enabled: true, ..serving::sync_config(&context.config.values.sync, &place) };
    // Better told now than by a server's log at night.
    blocking(move || sync::check(&sync, LOOK)).await?;
    config::set(context, "sync.enabled", "true", false)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::internal())?
}
