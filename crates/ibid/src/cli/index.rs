//! `ibid index` and `ibid reindex`

use std::time::Instant;

use clap::Args;
use ibid_api::{IndexReply, IndexScope};
use ibid_core::EmbedReply;
use serde::Serialize;

use super::{
    Context, Failure, Outcome,
    knowledge::Knowledge,
    time::{count, seconds},
};

/// Bring the index up to date.
///
/// Only what changed since last time is read. Interrupting is safe: what is done is kept, and the next run
/// goes on from there.
#[derive(Debug, Args)]
pub struct IndexArguments {
    /// Read everything again, as if for the first time.
    #[arg(long)]
    pub full: bool,
    /// Stay and index every change as it happens.
    #[arg(short, long)]
    pub watch: bool,
    /// How to index and print.
    #[command(flatten)]
    pub shared: SharedArguments,
}

/// Read everything again, as if for the first time: `index --full`.
#[derive(Debug, Args)]
pub struct ReindexArguments {
    /// How to index and print.
    #[command(flatten)]
    pub shared: SharedArguments,
}

/// What `index` and `reindex` both take.
#[derive(Debug, Clone, Copy, Args)]
pub struct SharedArguments {
    /// Fail when texts cannot be embedded.
    #[arg(long)]
    pub require_embeddings: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

impl ReindexArguments {
    pub(super) fn into_full(self) -> IndexArguments {
        IndexArguments { full: true, watch: false, shared: self.shared }
    }
}

pub(super) async fn run(arguments: &IndexArguments, context: &Context) -> Outcome {
    let knowledge = Knowledge::open(context)?;
    let started = Instant::now();
    let scope = if arguments.full { IndexScope::Everything } else { IndexScope::Changes };
    let reply = knowledge.index(scope, arguments.shared.require_embeddings).await?;
    // Ctrl-C only pauses this part: what was found is told anyway, and the next run goes on.
    let (embedded, paused) = match knowledge.embed().await {
        Err(Failure::Interrupted) => {
            let waiting = knowledge.engine.status().await?.index.embeddings_missing;
            (EmbedReply { embedded: 0, remaining: waiting }, true)
        }
        other => (other?, false),
    };
    let waiting = embedded.remaining;
    if arguments.shared.json {
        context.printer.json(&Printed {
            reply: &reply,
            embedded: embedded.embedded,
            embeddings_missing: waiting,
        })?;
    } else {
        context.printer.line(format_args!("{} in {}", summary(&reply), seconds(started.elapsed())))?;
        if reply.skipped + reply.failed > 0 {
            let left_out = count(reply.skipped + reply.failed, "file");
            context.printer.note(format_args!("{left_out} left out; `ibid status --coverage` lists them"));
        }
        if waiting > 0 {
            let next = if paused { "; `ibid index` goes on" } else { "" };
            context
                .printer
                .note(format_args!("{} still wait to be found by meaning{next}", count(waiting, "text")));
        }
        context.printer.warnings(&reply.warnings);
    }
    if paused {
        return Err(Failure::Interrupted);
    }
    if arguments.watch { watch(&knowledge, arguments, context).await } else { Ok(()) }
}

/// What is printed as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    #[serde(flatten)]
    reply: &'a IndexReply,
    /// Texts that got an embedding.
    embedded: u64,
    /// Texts that have none yet.
    embeddings_missing: u64,
}

fn summary(reply: &IndexReply) -> String {
    let changes: Vec<_> = [(reply.added, "added"), (reply.changed, "changed"), (reply.removed, "removed")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    let changes = if changes.is_empty() { "nothing changed".to_owned() } else { changes.join(", ") };
    format!("{}, {} ({changes})", count(reply.documents, "document"), count(reply.chunks, "chunk"))
}

async fn watch(knowledge: &Knowledge<'_>, arguments: &IndexArguments, context: &Context) -> Outcome {
    let printer = context.printer.clone();
    let json = arguments.shared.json;
    let handle = knowledge.base.watch(
        true,
        true,
        Box::new(move |update| {
            // A closed output ends the command below; there is nothing to do about it here.
            let _ = match update {
                Ok(reply) if json => printer.json_line(reply),
                Ok(reply) => printer.line(summary(reply)),
                Err(error) => {
                    printer.error(error);
                    Ok(())
                }
            };
        }),
    );
    context.printer.note("watching for changes; Ctrl-C ends");
    context.interrupt.wanted().await;
    // Stopping waits for an update under way; the runtime's threads must not.
    tokio::task::spawn_blocking(move || handle.stop()).await.map_err(|_| ibid_api::Error::internal())?;
    Ok(())
}
