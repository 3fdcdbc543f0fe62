//! Writing: indexing, embedding, and looking whether there is something to index.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ibid_api::{Error, ErrorCode, Freshness, IndexReply, IndexRequest, IndexScope, Result};

use super::{LocalEngine, Opened, Shared, incompatible};
use crate::{
    error,
    freshness::Event,
    ingest::{
        EmbedRunError, FINGERPRINT, Progress, Report, Run, RunError, Silent, Step, embed_pending, threads,
    },
};

/// A second run waits this long for the first, as it would for another process.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an order to embed did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedReply {
    /// Texts that got a vector.
    pub embedded: u64,
    /// Texts that still wait.
    pub remaining: u64,
}

impl LocalEngine {
    /// Brings the index up to date and reports how it goes. Dropping the future stops the work at the next
    /// point where everything is whole.
    pub async fn index_with_progress(
        &self,
        request: IndexRequest,
        progress: Arc<dyn Progress>,
    ) -> Result<IndexReply> {
        let stop = StopOnDrop::default();
        let watched = Stoppable { progress, stop: Arc::clone(&stop.0) };
        self.blocking(move |shared| shared.index(&request, &watched)).await
    }

    /// The same on the calling thread.
    pub fn index_blocking(&self, request: &IndexRequest, progress: &dyn Progress) -> Result<IndexReply> {
        self.shared.index(request, progress)
    }

    /// Embeds what has no vector yet, up to `limit` texts. What is done is kept, whatever happens.
    pub async fn embed_pending(&self, progress: Arc<dyn Progress>, limit: Option<u64>) -> Result<EmbedReply> {
        let stop = StopOnDrop::default();
        let watched = Stoppable { progress, stop: Arc::clone(&stop.0) };
        self.blocking(move |shared| shared.embed_pending(&watched, limit)).await
    }

    /// The same on the calling thread.
    pub fn embed_pending_blocking(&self, progress: &dyn Progress, limit: Option<u64>) -> Result<EmbedReply> {
        self.shared.embed_pending(progress, limit)
    }

    /// Looks whether files differ from the index, by size and time and without reading any; says how the
    /// index stands afterwards.
    pub async fn verify(&self) -> Result<Freshness> {
        let stop = StopOnDrop::default();
        let watched = Stoppable { progress: Arc::new(Silent), stop: Arc::clone(&stop.0) };
        self.blocking(move |shared| shared.verify(&watched)).await
    }

    /// The same on the calling thread.
    pub fn verify_blocking(&self) -> Result<Freshness> {
        self.shared.verify(&Silent)
    }
}

impl Shared {
    pub(super) fn index(&self, request: &IndexRequest, progress: &dyn Progress) -> Result<IndexReply> {
        let Some(_turn) = self.writing.take(PATIENCE) else {
            return Err(Error::new(ErrorCode::IndexBusy, "the index is being updated already")
                .with_hint("try again when it is done"));
        };
        let partial = matches!(request.scope, IndexScope::Paths { .. });
        // Some paths of nothing are no index.
        let opened = if partial {
            self.reading()?;
            self.writing()?
        } else {
            self.writing()?
        };
        let fits = self.reindex_reasons(opened.store.as_ref())?.is_empty();
        if partial && !fits {
            return Err(incompatible());
        }
        let full = request.scope == IndexScope::Everything || !fits;
        let first = opened.store.setting(FINGERPRINT).map_err(error::store)?.is_none();
        if !fits {
            self.on(Event::ReindexNeeded);
        }
        self.on(Event::WriterBegan);
        let run = Run::new(&self.config, opened.store.as_ref(), progress, &self.reads);
        let result = match &request.scope {
            IndexScope::Changes | IndexScope::Everything => run.all(full),
            IndexScope::Paths { source, paths } => run.paths(source, paths),
        };
        let report = match result {
            Ok(report) => report,
            Err(failed) => {
                self.on(Event::WriterFailed);
                return Err(error::run(failed));
            }
        };
        self.on(Event::Committed { complete: report.complete });
        self.forget_failure();
        if report.complete {
            self.pending.store(0, Ordering::Relaxed);
        }
        if full {
            self.forget_other_length(opened.store.as_ref())?;
        }
        if request.require_embeddings {
            self.embed_all(&opened, progress)?;
        }
        reply(&opened, report, full || first)
    }

    fn embed_all(&self, opened: &Opened, progress: &dyn Progress) -> Result<()> {
        if self.embedder()?.is_none() {
            return Err(Error::new(ErrorCode::EmbeddingUnavailable, "search by meaning is turned off")
                .with_hint("configure an embedding model, or do not require embeddings"));
        }
        self.embed(opened, progress, None).map(|_| ())
    }

    pub(super) fn embed_pending(&self, progress: &dyn Progress, limit: Option<u64>) -> Result<EmbedReply> {
        let opened = self.reading()?;
        if self.config.read_only {
            return Err(error::store(crate::store::StoreError::ReadOnly));
        }
        self.embed(&opened, progress, limit)
    }

    fn embed(&self, opened: &Opened, progress: &dyn Progress, limit: Option<u64>) -> Result<EmbedReply> {
        let Some(embedder) = self.embedder()? else { return Ok(EmbedReply { embedded: 0, remaining: 0 }) };
        let Some(_turn) = self.embedding.take(PATIENCE) else {
            return Err(Error::new(ErrorCode::IndexBusy, "embeddings are being made already")
                .with_hint("try again when it is done"));
        };
        let store = opened.store.as_ref();
        // Knows the length that its vectors must have.
        self.searcher(opened)?;
        self.expect_stored_length(store, embedder.as_ref())?;
        self.note_answering(store, embedder.as_ref(), false)?;
        let threads = self.config.embedding_threads.unwrap_or_else(|| threads(&self.config));
        let done = embed_pending(store, embedder.as_ref(), threads, limit, progress);
        self.embedder_failed.store(matches!(done, Err(EmbedRunError::Model(_))), Ordering::Relaxed);
        let embedded = done.map_err(error::embed_run)?;
        let remaining = store.count_pending_embeddings(embedder.model()).map_err(error::store)?;
        if remaining == 0 {
            self.note_answering(store, embedder.as_ref(), true)?;
        }
        Ok(EmbedReply { embedded, remaining })
    }

    fn verify(&self, progress: &dyn Progress) -> Result<Freshness> {
        let opened = self.reading()?;
        let store = opened.store.as_ref();
        let state = self.freshness(store)?;
        if matches!(state, Freshness::Incompatible | Freshness::Updating) {
            return Ok(state);
        }
        let run = Run::new(&self.config, store, progress, &self.reads);
        match run.differences() {
            Ok(0) => {
                self.pending.store(0, Ordering::Relaxed);
                self.on(Event::Verified);
            }
            Ok(differences) => {
                self.pending.store(differences, Ordering::Relaxed);
                self.on(Event::Changed);
            }
            Err(RunError::Unavailable) => self.on(Event::MayHaveChanged),
            Err(failed) => return Err(error::run(failed)),
        }
        self.freshness(store)
    }
}

fn reply(opened: &Opened, mut report: Report, full: bool) -> Result<IndexReply> {
    let summary = opened.store.summary().map_err(error::store)?;
    Ok(IndexReply {
        full,
        added: report.tally.added,
        changed: report.tally.changed,
        removed: report.tally.removed,
        unchanged: report.tally.unchanged,
        skipped: report.tally.skipped,
        failed: report.tally.failed,
        documents: summary.documents,
        chunks: summary.chunks,
        generation: report.generation,
        warnings: report.tally.take_warnings(),
    })
}

/// Tells work to stop when the one who waits for it is gone.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Progress that can also be stopped by the one who waits.
struct Stoppable {
    progress: Arc<dyn Progress>,
    stop: Arc<AtomicBool>,
}

impl Progress for Stoppable {
    fn begin(&self, step: Step, total: Option<u64>) {
        self.progress.begin(step, total);
    }

    fn advance(&self, by: u64) {
        self.progress.advance(by);
    }

    fn end(&self) {
        self.progress.end();
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.progress.cancelled()
    }
}
