//! What servers keep open: the engine, the watcher that keeps it fresh, and git sync.

use std::{sync::Arc, time::Duration};

use ibid_api::{Engine, Error, ErrorCode, IndexRequest, IndexScope, Result};
use ibid_core::{
    ingest::Silent,
    source::WatchHandle,
    sync::{SyncConfig, Syncer},
};
use ibid_tools::vault;
use tokio::sync::Notify;

use crate::{
    absent::AbsentEngine,
    assemble::{self, KnowledgeBase},
    config::{Config, SyncValues, place::Place},
    http::vault::Webhook,
    profile,
};

/// Texts without a meaning are looked for this often, although nobody said that there are any: another process
/// may have indexed them, or the model may answer again.
const LOOK_FOR_TEXTS: Duration = Duration::from_secs(60);

/// A knowledge base that is served. Dropping it stops the watcher.
pub struct Serving {
    /// The service API.
    pub engine: Arc<dyn Engine>,
    /// Git sync, where it was asked for.
    pub syncer: Option<Arc<Syncer>>,
    /// Told whenever something was indexed.
    pub indexed: Arc<Notify>,
    base: Option<KnowledgeBase>,
    watching: Option<WatchHandle>,
}

impl Serving {
    /// Opens the knowledge base if anything served asks it. One that is not configured is served as absent: a
    /// server starts anyway.
    pub fn open(config: &Config) -> Result<Self> {
        if !profile::needs_knowledge_base(config) {
            return Ok(Self::absent(vault::not_configured()));
        }
        let place = match config.place() {
            Ok(place) => place,
            Err(error) if error.code == ErrorCode::VaultNotConfigured => {
                tracing::warn!(code = error.code.as_str(), "no knowledge base is configured");
                return Ok(Self::absent(error));
            }
            Err(error) => return Err(error),
        };
        let base = assemble::open_engine(config, &place)?;
        let engine = base.engine();
        let sync = sync_config(&config.values.sync, &place);
        // A pull writes: into the worktree, and what it brought into the index.
        let may_pull = sync.is_configured() && !config.values.read_only;
        let syncer = may_pull.then(|| {
            let local = base.local();
            let tell = move |update: &Result<ibid_api::IndexReply>| local.note_update(update);
            Arc::new(Syncer::new(sync, engine.clone()).telling(Box::new(tell)))
        });
        Ok(Self { engine, syncer, indexed: Arc::default(), base: Some(base), watching: None })
    }

    fn absent(error: Error) -> Self {
        let engine = Arc::new(AbsentEngine::new(error));
        Self { engine, syncer: None, indexed: Arc::default(), base: None, watching: None }
    }

    /// Indexes what was never indexed, so that a server has answers from its first request on.
    pub async fn index_first(&self, config: &Config) {
        let Some(base) = &self.base else { return };
        if config.values.read_only {
            return;
        }
        let never = self.engine.status().await.is_ok_and(|status| status.index.generation.0 == 0);
        if !never {
            return;
        }
        let request =
            IndexRequest { scope: IndexScope::Changes, require_embeddings: config.values.embedding.require };
        if let Err(error) = base.engine().index(request).await {
            tracing::warn!(code = error.code.as_str(), "the first index could not be made");
        }
    }

    /// Follows changes of files, if that is wanted.
    pub fn watch(&mut self, config: &Config) {
        let watch = &config.values.watch;
        if let Some(base) = self.base.as_ref().filter(|_| watch.enabled && !config.values.read_only) {
            let indexed = Arc::clone(&self.indexed);
            let on_update = move |update: &Result<ibid_api::IndexReply>| {
                if update.is_ok() {
                    indexed.notify_one();
                }
            };
            self.watching = Some(base.watch(!watch.ignore_initial, false, Box::new(on_update)));
        }
    }

    /// Makes the meanings of what is indexed, whoever indexed it. Ends only by being dropped.
    pub async fn embed(&self, config: &Config) {
        let wanted = config.values.embedding.enabled && !config.values.read_only;
        let Some(base) = self.base.as_ref().filter(|_| wanted) else { return std::future::pending().await };
        loop {
            match base.embed(Arc::new(Silent), None).await {
                Ok(_) => {}
                Err(error) if matches!(error.code, ErrorCode::IndexNotFound | ErrorCode::IndexBusy) => {}
                Err(error) => tracing::warn!(code = error.code.as_str(), "embedding stopped"),
            }
            let _ = tokio::time::timeout(LOOK_FOR_TEXTS, self.indexed.notified()).await;
        }
    }
}

/// Whether and how a webhook may ask for a sync.
pub fn webhook(values: &SyncValues) -> Webhook {
    Webhook { enabled: values.webhook_enabled, secret: values.webhook_secret.reveal().map(str::to_owned) }
}

/// What is synchronised, and how.
pub fn sync_config(values: &SyncValues, place: &Place) -> SyncConfig {
    SyncConfig {
        root: place.root.clone(),
        repository: values.repo.clone(),
        remote: values.remote.clone(),
        branch: values.branch.clone(),
        enabled: values.enabled,
        interval: Duration::from_secs(values.interval_seconds),
        pull_timeout: Duration::from_secs(values.pull_timeout_seconds),
        failure_backoff: Duration::from_secs(values.failure_backoff_seconds),
        state_folder: place.data_dir.clone(),
    }
}
