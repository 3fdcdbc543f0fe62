//! `ibid status`

use std::{collections::BTreeMap, sync::Arc};

use clap::Args;
use ibid_api::{EmbeddingState, FileOutcome, FileReport, Freshness, Paging, SkipReason, Status, WatchState};
use ibid_core::{
    engine::{LinkReport, LostLink},
    sync::Syncer,
};
use serde::Serialize;
use serde_json::{Value, json};

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
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Files are asked for in pages of this size.
const PAGE: u32 = 1000;

#[derive(Serialize)]
struct Coverage {
    indexed: u64,
    skipped: BTreeMap<&'static str, u64>,
    failed: u64,
    files: Vec<FileReport>,
}

pub(super) async fn run(arguments: &StatusArguments, context: &Context) -> Outcome {
    let knowledge = Knowledge::open(context)?;
    // A new process knows nothing of what changed since; a look at names and times tells.
    let _ = context.interrupt.or(knowledge.base.verify()).await;
    let mut status = context.interrupt.or(knowledge.engine.status()).await?;
    let sync = serving::sync_config(&context.config.values.sync, &knowledge.place);
    status.sync = Syncer::new(sync, Arc::clone(&knowledge.engine)).status();
    let coverage = if arguments.coverage { Some(coverage(&knowledge, context).await?) } else { None };
    let links = if arguments.links { Some(context.interrupt.or(knowledge.links()).await?) } else { None };
    if arguments.json {
        let mut value = serde_json::to_value(&status).map_err(|_| ibid_api::Error::internal())?;
        if let Some(coverage) = &coverage {
            value["coverage"] = serde_json::to_value(coverage).map_err(|_| ibid_api::Error::internal())?;
        }
        if let Some(links) = &links {
            value["links"] = links_json(links);
        }
        return context.printer.json(&value);
    }
    overview(&status, &knowledge, context)?;
    if let Some(coverage) = &coverage {
        show_coverage(coverage, context)?;
    }
    if let Some(links) = &links {
        show_links(links, context)?;
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

async fn coverage(knowledge: &Knowledge<'_>, context: &Context) -> Outcome<Coverage> {
    let mut coverage = Coverage { indexed: 0, skipped: BTreeMap::new(), failed: 0, files: Vec::new() };
    loop {
        let offset = u32::try_from(coverage.files.len()).unwrap_or(u32::MAX);
        let page = context.interrupt.or(knowledge.engine.files(Paging { limit: PAGE, offset })).await?;
        let is_last = page.items.len() < PAGE as usize;
        coverage.files.extend(page.items);
        if is_last {
            break;
        }
    }
    for file in &coverage.files {
        match &file.outcome {
            FileOutcome::Indexed { .. } => coverage.indexed += 1,
            FileOutcome::Skipped { reason } => *coverage.skipped.entry(skipped(*reason)).or_default() += 1,
            FileOutcome::Failed { .. } => coverage.failed += 1,
        }
    }
    Ok(coverage)
}

fn skipped(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::UnsupportedType => "of a kind that is not read",
        SkipReason::Binary => "binary",
        SkipReason::NotUtf8 => "in an unknown encoding",
        SkipReason::TooLarge => "too large",
        SkipReason::Empty => "empty",
        SkipReason::LinkOutside => "a link that leads out",
        SkipReason::BadName => "named in a way that cannot be a path",
        SkipReason::NotAFile => "not a file",
    }
}

fn show_coverage(coverage: &Coverage, context: &Context) -> Outcome {
    let printer = &context.printer;
    let total = coverage.files.len() as u64;
    printer.line(format_args!("\n{} seen, {} indexed", count(total, "file"), coverage.indexed))?;
    for (reason, number) in &coverage.skipped {
        printer.line(format_args!("{number:>8} left out: {reason}"))?;
    }
    if coverage.failed > 0 {
        printer.line(format_args!("{BAD}{:>8} failed{BAD:#}", coverage.failed))?;
    }
    for file in &coverage.files {
        let what = match &file.outcome {
            FileOutcome::Indexed { .. } => continue,
            FileOutcome::Skipped { reason } => skipped(*reason).to_owned(),
            FileOutcome::Failed { reason } => format!("{BAD}{}{BAD:#}", safe(reason)),
        };
        printer.line(format_args!("  {PLACE}{}{PLACE:#}  {what}", safe(&file.path)))?;
    }
    Ok(())
}

fn links_json(links: &LinkReport) -> Value {
    let lost = |lost: &LostLink| {
        json!({
            "source": lost.source,
            "path": lost.path,
            "line": lost.link.line,
            "target": lost.link.name,
            "heading": lost.link.fragment,
        })
    };
    json!({
        "resolved": links.resolved,
        "unresolved": links.unresolved.iter().map(lost).collect::<Vec<_>>(),
    })
}

fn show_links(links: &LinkReport, context: &Context) -> Outcome {
    let lost = links.unresolved.len() as u64;
    let all = count(links.resolved + lost, "link");
    context
        .printer
        .line(format_args!("\n{all}, {lost} that lead to no document or could lead to several"))?;
    for LostLink { path, link, .. } in &links.unresolved {
        let heading = link.fragment.as_ref().map_or_else(String::new, |heading| format!("#{heading}"));
        let target = format!("{}{heading}", link.name);
        context.printer.line(format_args!(
            "  {PLACE}{}:{}{PLACE:#}  {}",
            safe(path.as_str()),
            link.line,
            safe(&target)
        ))?;
    }
    Ok(())
}
