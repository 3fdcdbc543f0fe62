//! Counts answers under way, so that a server that is ending can wait for the last of them.

use std::sync::Arc;

use tokio::sync::watch;

/// The count. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct UnderWay(Arc<watch::Sender<usize>>);

/// Counts as one until dropped.
#[derive(Debug)]
pub(crate) struct Answering(Arc<watch::Sender<usize>>);

impl Default for UnderWay {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl UnderWay {
    /// One more.
    pub(super) fn begin(&self) -> Answering {
        self.0.send_modify(|count| *count += 1);
        Answering(self.0.clone())
    }

    /// Returns when there are none.
    pub(crate) async fn none_left(&self) {
        // Fails only without a sender, and `self` is one.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
