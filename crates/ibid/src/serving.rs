//! What servers keep open: the engine, the watcher that keeps it fresh, and git sync.

use std::{sync::Arc, time::Duration};

use ibid_api::{Engine, ErrorCode, IndexRequest, IndexScope, Result};
use ibid_core::{
    source::WatchHandle,
    sync::{SyncConfig, Syncer},
};

use crate::{
    absent::AbsentEngine,
    assemble::{self, KnowledgeBase},
    config::{Config, SyncValues, place::Place},
    http::vault::Webhook,
};

/// A knowledge base that is served. Dropping it stops the watcher.
pub struct Serving {
    /// The service API.
    pub engine: Arc<dyn Engine>,
    /// Git sync, where it was asked for.
    pub syncer: Option<Arc<Syncer>>,
    base: Option<KnowledgeBase>,
    watching: Option<WatchHandle>,
}

impl Serving {
    /// Opens the knowledge base. One that is not configured is served as absent: a server starts anyway.
    pub fn open(config: &Config) -> Result<Self> {
        let place = match config.place() {
            Ok(place) => place,
            Err(error) if error.code == ErrorCode::VaultNotConfigured => {
                tracing::warn!(code = error.code.as_str(), "no knowledge base is configured");
                let engine = Arc::new(AbsentEngine::new(error));
                return Ok(Self { engine, syncer: None, base: None, watching: None });
            }
            Err(error) => return Err(error),
        };
        let base = assemble::open_engine(config, &place)?;
        let engine = base.engine();
        let sync = sync_config(&config.values.sync, &place);
        let syncer = sync.is_configured().then(|| Arc::new(Syncer::new(sync, engine.clone())));
        Ok(Self { engine, syncer, base: Some(base), watching: None })
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
            let on_update = |update: &Result<ibid_api::IndexReply>| {
                if let Err(error) = update {
                    tracing::warn!(code = error.code.as_str(), "an update failed");
                }
            };
            self.watching = Some(base.watch(!watch.ignore_initial, Box::new(on_update)));
        }
    }
}

/// Whether and how a webhook may ask for a sync.
pub fn webhook(values: &SyncValues) -> Webhook {
    Webhook { enabled: values.webhook_enabled, secret: values.webhook_secret.reveal().map(str::to_owned) }
}

fn sync_config(values: &SyncValues, place: &Place) -> SyncConfig {
    SyncConfig {
        root: place.root.clone(),
        repository: values.repo.clone(),
        remote: values.remote.clone(),
        branch: values.branch.clone(),
        enabled: values.enabled,
        interval: Duration::from_secs(values.interval_seconds),
        pull_timeout: Duration::from_secs(values.pull_timeout_seconds),
        failure_backoff: Duration::from_secs(values.failure_backoff_seconds),
    }
}
