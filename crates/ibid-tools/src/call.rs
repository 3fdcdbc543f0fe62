//! What a tool may know about the call it serves: whether someone follows its progress, and whether it was
//! called off.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::BoxFuture;

/// One step of a long call.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How far it is; grows with every report.
    pub done: f64,
    /// How far it goes, where known.
    pub total: Option<f64>,
    /// What it is doing.
    pub message: Option<String>,
}

/// Delivers progress to whoever asked for it.
pub type ProgressSink = Arc<dyn Fn(Progress) -> BoxFuture<'static, ()> + Send + Sync>;

/// Tells work that does not await whether to go on. Work that awaits is dropped instead.
#[derive(Debug, Clone, Default)]
pub struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    /// Whether the call was called off.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Calls it off.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The call a tool serves.
#[derive(Clone, Default)]
pub struct Call {
    sink: Option<ProgressSink>,
    last: Arc<Mutex<Option<f64>>>,
    cancelled: Cancelled,
}

impl Call {
    /// A call nobody follows.
    pub fn detached() -> Self {
        Self::default()
    }

    /// A call whose progress goes to `sink`, if there is one.
    pub fn new(sink: Option<ProgressSink>, cancelled: Cancelled) -> Self {
        Self { sink, last: Arc::default(), cancelled }
    }

    /// Whether anyone asked for progress; making the reports can be skipped otherwise.
    pub fn wants_progress(&self) -> bool {
        self.sink.is_some()
    }

    /// Reports progress. A report that does not go beyond the last one is dropped, as the protocol asks.
    pub async fn report(&self, progress: Progress) {
        let Some(sink) = &self.sink else { return };
        {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|last| progress.done <= last) || !progress.done.is_finite() {
                return;
            }
            *last = Some(progress.done);
        }
        sink(progress).await;
    }

    /// The flag for work that does not await.
    pub fn cancelled(&self) -> &Cancelled {
        &self.cancelled
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("wants_progress", &self.wants_progress())
            .field("cancelled", &self.cancelled.is_cancelled())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn progress_that_does_not_grow_is_dropped() {
        let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
        let sink: ProgressSink = {
            let seen = seen.clone();
            Arc::new(move |progress: Progress| {
                seen.lock().unwrap().push(progress.done);
                Box::pin(async {})
            })
        };
        let call = Call::new(Some(sink), Cancelled::default());
        for done in [0.0, 1.0, 1.0, 0.5, f64::NAN, 2.0] {
            call.report(Progress { done, total: None, message: None }).await;
        }
        assert_eq!(*seen.lock().unwrap(), [0.0, 1.0, 2.0]);
    }
}
