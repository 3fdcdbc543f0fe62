//! Keeps a source in step with its remote: one pull at a time, on schedule or on request, then an index.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ibid_api::{Engine, Error, ErrorCode, Freshness, IndexRequest, IndexScope, Result, SyncStatus};
use tokio::sync::{Mutex as Turn, Notify};

use super::{Pulled, RateLimit, Schedule, SyncConfig, pull};

/// Webhooks beyond this in a minute are refused.
const WEBHOOKS_PER_MINUTE: usize = 60;

/// What a sync did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncOutcome {
    /// What the pull did.
    pub pulled: Pulled,
    /// State of the index afterwards.
    pub freshness: Freshness,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When it ended, in milliseconds since 1970.
    pub finished_ms: i64,
}

/// Synchronises one source.
pub struct Syncer {
    config: SyncConfig,
    engine: Arc<dyn Engine>,
    began: Instant,
    /// Held by the pull that runs.
    turn: Turn<()>,
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    schedule: Schedule,
    webhooks: RateLimit,
    last_success_ms: Option<i64>,
    last_error: Option<ErrorCode>,
}

impl Syncer {
    /// A syncer that pulls when asked, and on schedule while [`Syncer::run`] is polled.
    pub fn new(config: SyncConfig, engine: Arc<dyn Engine>) -> Self {
        let state = State {
            schedule: Schedule::new(&config, Duration::ZERO),
            webhooks: RateLimit::per_minute(WEBHOOKS_PER_MINUTE),
            last_success_ms: None,
            last_error: None,
        };
        Self {
            config,
            engine,
            began: Instant::now(),
            turn: Turn::new(()),
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    /// How it stands.
    pub fn status(&self) -> SyncStatus {
        let running = self.turn.try_lock().is_err();
        let state = self.state();
        SyncStatus {
            enabled: self.config.enabled,
            configured: self.config.is_configured(),
            running,
            pending: state.schedule.is_asked(),
            last_success_ms: state.last_success_ms,
            consecutive_failures: state.schedule.failures(),
            last_error: state.last_error.map(|code| code.as_str().to_owned()),
        }
    }

    /// Pulls and indexes now. While another pull runs it is refused, or with `wait` comes after it.
    pub async fn pull(&self, wait: bool, timeout: Option<Duration>) -> Result<SyncOutcome> {
        if !self.config.is_configured() {
            // Says what to configure.
            return Err(pull(&self.config, Duration::ZERO).err().unwrap_or_else(Error::internal));
        }
        let deadline =
            Instant::now() + timeout.unwrap_or(self.config.pull_timeout).min(self.config.pull_timeout);
        let turn = if wait {
            tokio::time::timeout_at(deadline.into(), self.turn.lock()).await.map_err(|_| {
                Error::new(ErrorCode::SyncTimeout, "the sync that runs took longer than allowed to wait")
            })?
        } else {
            self.turn.try_lock().map_err(|_| {
                Error::new(ErrorCode::SyncInProgress, "a sync is already running")
                    .with_hint("ask again later, or with `wait`")
            })?
        };
        let outcome = self.pull_and_index(deadline).await;
        drop(turn);
        outcome
    }

    /// A webhook asks for a pull soon. Too many in a minute are refused.
    pub fn ask(&self) -> Result<()> {
        if !self.config.is_configured() {
            return Err(Error::new(ErrorCode::SyncNotConfigured, "git sync is not configured"));
        }
        let now = self.began.elapsed();
        let mut state = self.state();
        if !state.webhooks.pass(now) {
            return Err(Error::new(ErrorCode::WebhookRateLimited, "too many webhooks in a minute"));
        }
        state.schedule.ask(now);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Runs the schedule. Ends only by being dropped.
    pub async fn run(&self) {
        loop {
            let due = self.state().schedule.due();
            match due {
                None => self.changed.notified().await,
                Some(due) => {
                    let wait = due.saturating_sub(self.began.elapsed());
                    let sooner = tokio::time::timeout(wait, self.changed.notified()).await.is_ok();
                    if sooner {
                        continue;
                    }
                    let turn = self.turn.lock().await;
                    let deadline = Instant::now() + self.config.pull_timeout;
                    if let Err(error) = self.pull_and_index(deadline).await {
                        tracing::warn!(code = error.code.as_str(), "git sync failed");
                    }
                    drop(turn);
                }
            }
        }
    }

    async fn pull_and_index(&self, deadline: Instant) -> Result<SyncOutcome> {
        let started_ms = now_ms();
        self.state().schedule.started();
        let outcome = self.work(deadline, started_ms).await;
        let now = self.began.elapsed();
        let mut state = self.state();
        state.schedule.finished(now, outcome.is_ok());
        match &outcome {
            Ok(outcome) => {
                state.last_success_ms = Some(outcome.finished_ms);
                state.last_error = None;
            }
            Err(error) => state.last_error = Some(error.code),
        }
        drop(state);
        self.changed.notify_one();
        outcome
    }

    async fn work(&self, deadline: Instant, started_ms: i64) -> Result<SyncOutcome> {
        let config = self.config.clone();
        let pulled = tokio::task::spawn_blocking(move || {
            pull(&config, deadline.saturating_duration_since(Instant::now()))
        });
        let pulled = pulled.await.map_err(|_| Error::internal())??;
        if pulled == Pulled::FastForwarded {
            let request = IndexRequest { scope: IndexScope::Changes, require_embeddings: false };
            match self.engine.index(request).await {
                // Whoever writes now, or the watcher, sees the new files too.
                Err(error) if error.code != ErrorCode::IndexBusy => return Err(error),
                _ => {}
            }
        }
        let freshness = self.engine.status().await?.index.freshness;
        Ok(SyncOutcome { pulled, freshness, started_ms, finished_ms: now_ms() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
