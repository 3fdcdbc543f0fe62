//! `ibid status`

mod coverage;
mod links;
mod server;

use std::sync::Arc;

use clap::Args;
use ibid_api::{EmbeddingState, Freshness, Status, WatchState};
use ibid_core::sync::Syncer;

use super::{
    Context, Outcome,
    knowledge::Knowledge,
    time::{ago, bytes, count},
};
use crate::{
    serving,
    ui::{
        printer::{BAD, CAUTION, FAINT, GOOD, PLACE, STRONG},
        text::safe,
    },
};

/// Show how fresh the index is and what is in it.
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Say what became of every file: indexed, left out and why, or failed and why.
    #[arg(long)]
    pub coverage: bool,
    /// List the links that lead to no document, or could lead to several.
    #[arg(long)]
    pub links: bool,
    /// Ask a running server instead: the one that the configuration names, or the one at this address.
    #[arg(long, value_name = "URL", num_args = 0..=1, conflicts_with_all = ["coverage", "links"])]
    pub server: Option<Option<String>>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(arguments: &StatusArguments, context: &Context) -> Outcome {
    if let Some(url) = &arguments.server {
        return server::run(url.as_deref(), arguments.json, context).await;
    }
    let knowledge = Knowledge::open(context)?;
    // A new process knows nothing of what changed since; a look at names and times tells.
    let _ = context.interrupt.or(knowledge.base.verify()).await;
    let mut status = context.interrupt.or(knowledge.engine.status()).await?;
    let sync = serving::sync_config(&context.config.values.sync, &knowledge.place);
    status.sync = Syncer::new(sync, Arc::clone(&knowledge.engine)).status();
    let coverage = if arguments.coverage { Some(coverage::ask(&knowledge, context).await?) } else { None };
    let links = if arguments.links { Some(context.interrupt.or(knowledge.links()).await?) } else { None };
    if arguments.json {
        let mut value = serde_json::to_value(&status).map_err(|_| ibid_api::Error::internal())?;
        if let Some(coverage) = &coverage {
            value["coverage"] = serde_json::to_value(coverage).map_err(|_| ibid_api::Error::internal())?;
        }
        if let Some(links) = &links {
            value["links"] = links::json(links);
        }
        return context.printer.json(&value);
    }
    overview(&status, &knowledge, context)?;
    if let Some(coverage) = &coverage {
        coverage::show(coverage, context)?;
    }
    if let Some(links) = &links {
        links::show(links, context)?;
    }
    context.printer.warnings(&status.warnings);
    Ok(())
}

fn overview(status: &Status, knowledge: &Knowledge<'_>, context: &Context) -> Outcome {
    let index = &status.index;
    let updated = index
        .last_update_ms
        .map_or_else(|| "never indexed".to_owned(), |time| format!("updated {}", ago(time)));
    let waiting = match index.pending_changes {
        0 => String::new(),
        changes => format!(", {} waiting", count(changes, "change")),
    };
    let mut rows = vec![
        ("index", format!("{}, {updated}{waiting}", freshness(index.freshness))),
        ("documents", format!("{} in {}", count(index.documents, "document"), count(index.chunks, "chunk"))),
        ("meaning", meaning(status)),
        (
            "on disk",
            format!(
                "{} {FAINT}in{FAINT:#} {PLACE}{}{PLACE:#}",
                bytes(index.disk_bytes),
                knowledge.place.data_dir.display()
            ),
        ),
    ];
    if status.watch.state != WatchState::Disabled {
        let state = serde_json::to_value(status.watch.state).ok();
        rows.push(("watching", state.and_then(|state| Some(state.as_str()?.to_owned())).unwrap_or_default()));
    }
    if let Some(failure) = &index.last_error {
        rows.push(("update", format!("{BAD}failed{BAD:#}: {}: {}", failure.code, failure.message)));
    }
    if let Some(code) = &status.sync.last_error {
        rows.push(("git sync", format!("{BAD}failed{BAD:#}: {code}; `ibid sync status` says more")));
    }
    for reason in &index.reindex_reasons {
        rows.push(("rebuild", format!("{BAD}needed{BAD:#}: {reason}; run `ibid reindex`")));
    }
    for (name, value) in rows {
        context.printer.line(format_args!("{STRONG}{name:<10}{STRONG:#} {value}"))?;
    }
    for source in &status.sources {
        let root = knowledge.place.sources.iter().find(|known| known.name == source.name);
        let root = root.map_or_else(String::new, |known| known.root.display().to_string());
        let available = if source.available { String::new() } else { format!(" {BAD}cannot be read{BAD:#}") };
        let failed = match source.failed {
            0 => String::new(),
            failed => format!(", {CAUTION}{failed} failed{CAUTION:#}"),
        };
        context.printer.line(format_args!(
            "{STRONG}{:<10}{STRONG:#} {}: {} indexed, {} left out{failed}{available} {FAINT}in{FAINT:#} {PLACE}{root}{PLACE:#}",
            "source",
            safe(&source.name),
            source.indexed,
            source.skipped,
        ))?;
    }
    Ok(())
}

fn freshness(freshness: Freshness) -> String {
    match freshness {
        Freshness::Fresh => format!("{GOOD}fresh{GOOD:#}"),
        Freshness::Pending => format!("{CAUTION}changes are waiting{CAUTION:#}"),
        Freshness::Updating => format!("{CAUTION}being updated{CAUTION:#}"),
        Freshness::Stale => format!("{CAUTION}files may have changed{CAUTION:#}"),
        Freshness::Incompatible => format!("{BAD}must be rebuilt{BAD:#}"),
        Freshness::Unknown => "not known to be fresh".to_owned(),
    }
}

fn meaning(status: &Status) -> String {
    let index = &status.index;
    let model = index.embedding_model.as_deref().unwrap_or("no model");
    match index.embedding_state {
        EmbeddingState::Disabled => "off; search is by words".to_owned(),
        EmbeddingState::Ready => format!("{GOOD}ready{GOOD:#}, {model}"),
        EmbeddingState::Unavailable => format!("{BAD}not available{BAD:#}, {model}"),
        EmbeddingState::Stale => {
            format!("{CAUTION}{} waiting{CAUTION:#}, {model}", count(index.embeddings_missing, "text"))
        }
        EmbeddingState::Incompatible => format!("{BAD}made by another model{BAD:#}; run `ibid reindex`"),
    }
}
