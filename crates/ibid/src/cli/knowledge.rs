//! The knowledge base as commands see it: opened on use, and indexed first when it never was.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ibid_api::{Engine, ErrorCode, IndexReply, IndexRequest, IndexScope, Result};
use ibid_core::{EmbedReply, LocalEngine, engine::LinkReport};

use super::{
    Context, Failure, Outcome,
    time::{count, seconds},
};
use crate::{
    assemble::{self, KnowledgeBase},
    config::place::Place,
    ui::progress::Bar,
};

/// Somebody who searches wants an answer: beside the words, this long may go into meanings before it.
const PATIENCE: Duration = Duration::from_secs(1);
/// A look at names and times may take this long before a search; longer means a large folder, and then the
/// answer says that nothing is known.
const GLANCE: Duration = Duration::from_millis(25);
/// Texts embedded between two looks at the clock.
const EMBED_STEP: u64 = 32;

/// An open knowledge base.
pub(super) struct Knowledge<'a> {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) base: KnowledgeBase,
    pub(super) place: Place,
    context: &'a Context,
}

impl<'a> Knowledge<'a> {
    /// Opens the knowledge base that the configuration names.
    pub(super) fn open(context: &'a Context) -> Result<Self> {
        let place = context.config.place()?;
        let base = assemble::open_engine(&context.config, &place)?;
        Ok(Self { engine: base.engine(), base, place, context })
    }

    /// Asks the engine; when it says that there is no index yet, makes one and asks again.
    pub(super) async fn ask<T, F>(&self, question: impl Fn(Arc<dyn Engine>) -> F) -> Outcome<T>
    where
        F: Future<Output = Result<T>>,
    {
        let interrupt = &self.context.interrupt;
        let first = question(Arc::clone(&self.engine));
        let answer = tokio::select! {
            answer = first => answer,
            () = interrupt.wanted() => return Err(Failure::Interrupted),
        };
        match answer {
            Err(error) if error.code == ErrorCode::IndexNotFound && !self.context.config.values.read_only => {
                self.index_first().await?;
                interrupt.or(question(Arc::clone(&self.engine))).await
            }
            other => interrupt.told(other),
        }
    }

    async fn index_first(&self) -> Outcome {
        let printer = &self.context.printer;
        printer.note("this folder was never indexed; doing that first");
        let started = Instant::now();
        let progress = self.progress();
        let reply = self.index_showing(IndexScope::Changes, false, progress.clone()).await?;
        let words_are_there = Instant::now();
        while words_are_there.elapsed() < PATIENCE
            && self.embed_showing(Some(EMBED_STEP), progress.clone()).await?.remaining > 0
        {}
        drop(progress);
        let documents = count(reply.documents, "document");
        printer.note(format_args!("indexed {documents} in {}\n", seconds(started.elapsed())));
        Ok(())
    }

    /// Looks whether files changed since the index was made, if that is quickly done.
    pub(super) async fn glance(&self) {
        // What goes wrong here goes wrong again in the question that follows, and is told then.
        let _ = tokio::time::timeout(GLANCE, self.base.verify()).await;
    }

    /// Indexes words. This is never dropped half way: Ctrl-C reaches it through its progress.
    pub(super) async fn index(&self, scope: IndexScope, require_embeddings: bool) -> Outcome<IndexReply> {
        self.index_showing(scope, require_embeddings, self.progress()).await
    }

    async fn index_showing(
        &self,
        scope: IndexScope,
        require_embeddings: bool,
        progress: Arc<Bar>,
    ) -> Outcome<IndexReply> {
        let require_embeddings = require_embeddings || self.context.config.values.embedding.require;
        let request = IndexRequest { scope, require_embeddings };
        self.context.interrupt.told(self.base.index(request, progress).await)
    }

    /// Makes all embeddings. Search by words works without.
    pub(super) async fn embed(&self) -> Outcome<EmbedReply> {
        self.embed_showing(None, self.progress()).await
    }

    async fn embed_showing(&self, limit: Option<u64>, progress: Arc<Bar>) -> Outcome<EmbedReply> {
        let nothing = EmbedReply { embedded: 0, remaining: 0 };
        if !self.context.config.values.embedding.enabled {
            return Ok(nothing);
        }
        match self.base.embed(progress, limit).await {
            Err(error)
                if matches!(
                    error.code,
                    ErrorCode::EmbeddingUnavailable
                        | ErrorCode::EmbeddingFailed
                        | ErrorCode::EmbeddingConfigInvalid
                ) =>
            {
                self.context.printer.note(format_args!("warning: {}; search is by words", error.message));
                Ok(nothing)
            }
            // Somebody else is at it already.
            Err(error) if error.code == ErrorCode::IndexBusy => Ok(nothing),
            other => self.context.interrupt.told(other),
        }
    }

    /// Follows every link.
    pub(super) async fn links(&self) -> Result<LinkReport> {
        self.base.local().links().await
    }

    /// The engine in this process, for those who measure it.
    pub(super) fn local(&self) -> LocalEngine {
        self.base.local()
    }

    pub(super) fn progress(&self) -> Arc<Bar> {
        Arc::new(Bar::new(&self.context.printer, self.context.interrupt.flag()))
    }
}
