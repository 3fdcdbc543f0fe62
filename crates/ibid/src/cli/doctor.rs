//! `ibid doctor`

use std::{fs, path::Path, time::Duration};

use clap::Args;
use ibid_api::{EmbeddingState, Freshness, SearchRequest, Status};
use serde::Serialize;

use super::{Context, Failure, Outcome, install_client, knowledge::Knowledge, time::bytes};
use crate::{
    config::place::Place,
    http::{auth, is_loopback},
    serving,
    ui::printer::{BAD, CAUTION, FAINT, GOOD},
};

/// Fewer watches than this are soon used up.
const FEW_WATCHES: u64 = 16_384;
/// Git looks at its own files only, which takes no longer.
const GIT_PATIENCE: Duration = Duration::from_secs(10);

/// Check that everything works and say how to fix what does not.
///
/// Looks at the data folder, the store, the indexes, the model, the sources and the clients. Exits with 1
/// when something fails.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Finding {
    verdict: Verdict,
    subject: &'static str,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Debug, Default)]
struct Report(Vec<Finding>);

impl Report {
    fn ok(&mut self, subject: &'static str, finding: impl Into<String>) {
        self.0.push(Finding { verdict: Verdict::Ok, subject, what: finding.into(), fix: None });
    }

    fn warn(&mut self, subject: &'static str, finding: impl Into<String>, fix: impl Into<String>) {
        self.0.push(Finding { verdict: Verdict::Warn, subject, what: finding.into(), fix: Some(fix.into()) });
    }

    fn fail(&mut self, subject: &'static str, finding: impl Into<String>, fix: impl Into<String>) {
        self.0.push(Finding { verdict: Verdict::Fail, subject, what: finding.into(), fix: Some(fix.into()) });
    }

    fn failed(&mut self, subject: &'static str, error: &ibid_api::Error, fix: &str) {
        self.fail(subject, error.message.clone(), error.hint.clone().unwrap_or_else(|| fix.to_owned()));
    }
}

pub(super) async fn run(arguments: &DoctorArguments, context: &Context) -> Outcome {
    let mut report = Report::default();
    configuration(&mut report, context);
    match context.config.place() {
        Err(error) => report.failed("sources", &error, "run `ibid init` in the folder that is meant"),
        Ok(place) => {
            sources(&mut report, &place);
            data_folder(&mut report, &place, context.config.values.read_only);
            knowledge_base(&mut report, context).await?;
            git_sync(&mut report, context, &place);
        }
    }
    watches(&mut report, Path::new("/proc/sys/fs/inotify/max_user_watches"), context);
    server(&mut report, context);
    clients(&mut report, context);
    let is_bad = report.0.iter().any(|finding| finding.verdict == Verdict::Fail);
    if arguments.json {
        context.printer.json(&report.0)?;
    } else {
        print(&report, context)?;
    }
    if is_bad { Err(Failure::Told) } else { Ok(()) }
}

fn print(report: &Report, context: &Context) -> Outcome {
    for finding in &report.0 {
        let verdict = match finding.verdict {
            Verdict::Ok => format!("{GOOD}ok  {GOOD:#}"),
            Verdict::Warn => format!("{CAUTION}warn{CAUTION:#}"),
            Verdict::Fail => format!("{BAD}fail{BAD:#}"),
        };
        context.printer.line(format_args!("{verdict}  {:<14} {}", finding.subject, finding.what))?;
        if let Some(fix) = &finding.fix {
            context.printer.line(format_args!("{:<20} {FAINT}fix:{FAINT:#} {fix}", ""))?;
        }
    }
    Ok(())
}

fn configuration(report: &mut Report, context: &Context) {
    let config = &context.config;
    let user = config.surroundings.user_file().filter(|file| file.exists() && config.custom_file.is_none());
    let files = [config.custom_file.clone(), user, config.project_file.clone()];
    let files: Vec<_> = files.into_iter().flatten().map(|file| file.display().to_string()).collect();
    let from = if files.is_empty() { "built-in values only".to_owned() } else { files.join(", ") };
    report.ok("configuration", from);
}

fn sources(report: &mut Report, place: &Place) {
    for source in &place.sources {
        match fs::read_dir(&source.root) {
            Ok(_) => report.ok("source", format!("{}: {}", source.name, source.root.display())),
            Err(_) => report.fail(
                "source",
                format!("{} cannot be read", source.name),
                format!("check the permissions of {}", source.root.display()),
            ),
        }
    }
}

fn data_folder(report: &mut Report, place: &Place, read_only: bool) {
    let folder = &place.data_dir;
    if place.sources.iter().any(|source| folder.starts_with(&source.root)) {
        report.warn("data folder", "lies inside a source", "set `data_dir` to a folder outside");
    }
    let exists = folder.is_dir();
    // What does not exist yet is made by the first write; then the nearest folder above it counts.
    let nearest = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder);
    if !read_only && tempfile::tempfile_in(nearest).is_err() {
        report.fail(
            "data folder",
            "cannot be written to",
            format!("check permissions and space of {}, or set `data_dir`", nearest.display()),
        );
        return;
    }
    match open_to_others(folder) {
        Some(true) => report.warn(
            "data folder",
            "others on this machine can read it",
            format!("chmod 700 {}", folder.display()),
        ),
        _ if exists => report.ok("data folder", folder.display().to_string()),
        _ => report.ok("data folder", format!("{} (made by the first index)", folder.display())),
    }
}

#[cfg(unix)]
fn open_to_others(folder: &Path) -> Option<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(fs::metadata(folder).ok()?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Option<bool> {
    None
}

async fn knowledge_base(report: &mut Report, context: &Context) -> Outcome {
    let knowledge = match Knowledge::open(context) {
        Ok(knowledge) => knowledge,
        Err(error) => {
            report.failed("store", &error, "keep a copy of the data folder and run `ibid reindex`");
            return Ok(());
        }
    };
    // What is wrong with the store, the status says better.
    let _ = knowledge.base.verify().await;
    let status = tokio::select! {
        status = knowledge.engine.status() => status,
        () = context.interrupt.wanted() => return Err(Failure::Interrupted),
    };
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            report.failed("store", &error, "keep a copy of the data folder and run `ibid reindex`");
            return Ok(());
        }
    };
    report.ok("store", format!("opens; {} on disk", bytes(status.index.disk_bytes)));
    if status.index.last_update_ms.is_none() {
        report.warn("index", "this folder was never indexed", "ibid index");
        return Ok(());
    }
    index(report, &status);
    model(report, &status);
    let request = SearchRequest::new("ibid", 1);
    match context.interrupt.or(knowledge.engine.search(request)).await {
        Ok(_) => report.ok("search", "answers"),
        Err(Failure::Error(error)) => report.failed("search", &error, "ibid reindex"),
        Err(other) => return Err(other),
    }
    Ok(())
}

fn index(report: &mut Report, status: &Status) {
    let index = &status.index;
    let size = format!("{} documents, {} chunks", index.documents, index.chunks);
    let reasons: Vec<_> = index.reindex_reasons.iter().map(|reason| reason.as_str()).collect();
    if !reasons.is_empty() || index.freshness == Freshness::Incompatible {
        report.fail("index", format!("must be rebuilt: {}", reasons.join(", ")), "ibid reindex");
    } else if index.freshness == Freshness::Fresh || index.freshness == Freshness::Updating {
        report.ok("index", size);
    } else {
        report.warn("index", format!("{size}; files may have changed"), "ibid index");
    }
    for source in status.sources.iter().filter(|source| source.failed > 0) {
        report.warn(
            "index",
            format!("{} files of {} could not be read", source.failed, source.name),
            "`ibid status --coverage` names them",
        );
    }
}

fn model(report: &mut Report, status: &Status) {
    let index = &status.index;
    let name = index.embedding_model.as_deref().unwrap_or("none");
    match index.embedding_state {
        EmbeddingState::Ready => report.ok("model", name),
        EmbeddingState::Disabled => report.ok("model", "off; search is by words"),
        EmbeddingState::Stale => {
            report.warn("model", format!("{name}; {} texts wait", index.embeddings_missing), "ibid index");
        }
        EmbeddingState::Unavailable => report.fail(
            "model",
            format!("{name} does not answer"),
            "start what `embedding.endpoint` names, or unset it to use the built-in model",
        ),
        EmbeddingState::Incompatible => {
            report.fail("model", "another model made the embeddings", "ibid reindex");
        }
    }
}

/// Whether a pull could begin, where one was asked for. Asks the remote nothing.
fn git_sync(report: &mut Report, context: &Context, place: &Place) {
    let config = serving::sync_config(&context.config.values.sync, place);
    if !config.is_configured() {
        return;
    }
    match ibid_core::sync::check(&config, GIT_PATIENCE) {
        Ok(()) if config.enabled => report.ok("git sync", "on, and ready"),
        Ok(()) => report.ok("git sync", "ready; `ibid sync enable` turns the schedule on"),
        Err(error) => report.failed("git sync", &error, "ibid sync status"),
    }
}

fn watches(report: &mut Report, file: &Path, context: &Context) {
    let limit = fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u64>().ok());
    match limit {
        Some(limit) if limit < FEW_WATCHES && context.config.values.watch.enabled => report.warn(
            "watching",
            format!("the system allows {limit} watched folders per user"),
            "sudo sysctl fs.inotify.max_user_watches=524288",
        ),
        Some(limit) => report.ok("watching", format!("up to {limit} folders")),
        None => {}
    }
}

fn server(report: &mut Report, context: &Context) {
    let server = &context.config.values.server;
    if is_loopback(&server.host) {
        return;
    }
    match server.api_key.reveal().map(|key| key.chars().count()) {
        Some(length) if length >= auth::MIN_KEY => report.ok("server", "listens beyond loopback with a key"),
        Some(_) => report.fail(
            "server",
            "listens beyond loopback with a short key",
            "set `server.api_key` to at least 32 characters",
        ),
        None => {
            report.warn("server", "listens beyond loopback; a key is made on the first start", "ibid serve");
        }
    }
}

fn clients(report: &mut Report, context: &Context) {
    for client in install_client::CLIENTS.iter().filter(|client| client.is_present(&context.config)) {
        let fix = format!("ibid install-client {}", client.name);
        match install_client::registered(client, context) {
            Some(true) => report.ok("client", format!("{} knows ibid", client.title)),
            Some(false) => {
                report.warn("client", format!("{} starts an ibid that is gone", client.title), fix);
            }
            None => report.ok("client", format!("{} does not know ibid yet; `{fix}`", client.title)),
        }
    }
}
