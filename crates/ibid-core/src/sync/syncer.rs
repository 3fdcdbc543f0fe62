//! Keeps a source in step with its remote: one pull at a time, on schedule or on request, then an index.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ibid_api::{
    Engine, Error, ErrorCode, Freshness, IndexReply, IndexRequest, IndexScope, Result, SyncStatus,
};
use tokio::sync::{Mutex as Turn, Notify};

use super::{
    Pulled, RateLimit, Schedule, SyncConfig, pull,
    record::{Ledger, Turn as SharedTurn},
};

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

/// Hears of each update that follows a pull.
pub type OnSynced = Box<dyn Fn(&Result<IndexReply>) + Send + Sync>;

/// Synchronises one source.
pub struct Syncer {
    config: SyncConfig,
    engine: Arc<dyn Engine>,
    ledger: Ledger,
    on_update: Option<OnSynced>,
    began: Instant,
    /// Held by the pull that runs.
    turn: Turn<()>,
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    schedule: Schedule,
    webhooks: RateLimit,
}

impl Syncer {
    /// A syncer that pulls when asked, and on schedule while [`Syncer::run`] is polled.
    pub fn new(config: SyncConfig, engine: Arc<dyn Engine>) -> Self {
        let ledger = Ledger::new(&config.state_folder);
        let failures = ledger.read().consecutive_failures;
        let state = State {
            schedule: Schedule::new(&config, Duration::ZERO).resume(failures),
            webhooks: RateLimit::per_minute(WEBHOOKS_PER_MINUTE),
        };
        Self {
            config,
            engine,
            ledger,
            on_update: None,
            began: Instant::now(),
            turn: Turn::new(()),
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    /// Tells of each update that follows a pull.
    #[must_use]
    pub fn telling(mut self, on_update: OnSynced) -> Self {
        self.on_update = Some(on_update);
        self
    }

    /// How it stands.
    pub fn status(&self) -> SyncStatus {
        let running = self.turn.try_lock().is_err() || self.ledger.is_taken();
        let record = self.ledger.read();
        SyncStatus {
            enabled: self.config.enabled,
            configured: self.config.is_configured(),
            running,
            pending: self.state().schedule.is_asked(),
            last_success_ms: record.last_success_ms,
            consecutive_failures: record.consecutive_failures,
            last_error: record.last_error,
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
            tokio::time::timeout_at(deadline.into(), self.turn.lock()).await.map_err(|_| out_of_patience())?
        } else {
            self.turn.try_lock().map_err(|_| in_progress())?
        };
        let shared = self.take_turn(if wait { deadline } else { Instant::now() }).await?;
        let shared = shared.ok_or_else(|| if wait { out_of_patience() } else { in_progress() })?;
        let outcome = self.pull_and_index(deadline).await;
        drop((shared, turn));
        outcome
    }

    /// The turn among processes, waited for until then.
    async fn take_turn(&self, until: Instant) -> Result<Option<SharedTurn>> {
        let ledger = self.ledger.clone();
        let taken = tokio::task::spawn_blocking(move || ledger.take_turn(until));
        taken.await.map_err(|_| Error::internal())?
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
                    match self.take_turn(deadline).await {
                        Ok(Some(_shared)) => {
                            if let Err(error) = self.pull_and_index(deadline).await {
                                tracing::warn!(code = error.code.as_str(), "git sync failed");
                            }
                        }
                        // Another process does what is due.
                        Ok(None) => self.state().schedule.finished(self.began.elapsed(), true),
                        Err(error) => {
                            tracing::warn!(code = error.code.as_str(), "git sync could not begin");
                            self.ended(Err(error.code));
                        }
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
        self.ended(outcome.as_ref().map(|outcome| outcome.finished_ms).map_err(|error| error.code));
        outcome
    }

    /// Notes how a sync ended, for the schedule and for whoever asks.
    fn ended(&self, how: std::result::Result<i64, ErrorCode>) {
        self.ledger.note(how);
        let now = self.began.elapsed();
        self.state().schedule.finished(now, how.is_ok());
        self.changed.notify_one();
    }

    async fn work(&self, deadline: Instant, started_ms: i64) -> Result<SyncOutcome> {
        let config = self.config.clone();
        let pulled = tokio::task::spawn_blocking(move || {
            pull(&config, deadline.saturating_duration_since(Instant::now()))
        });
        let pulled = pulled.await.map_err(|_| Error::internal())??;
        if pulled == Pulled::FastForwarded {
            let request = IndexRequest { scope: IndexScope::Changes, require_embeddings: false };
            let update = self.engine.index(request).await;
            if let Some(tell) = &self.on_update {
                tell(&update);
            }
            match update {
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

fn in_progress() -> Error {
    Error::new(ErrorCode::SyncInProgress, "a sync is already running")
        .with_hint("ask again later, or wait for it")
}

fn out_of_patience() -> Error {
    Error::new(ErrorCode::SyncTimeout, "the sync that runs took longer than allowed to wait")
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
