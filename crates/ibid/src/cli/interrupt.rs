//! Ctrl-C: the first one asks, the second one ends.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ibid_api::ErrorCode;
use tokio_util::sync::CancellationToken;

use super::{Failure, Outcome};

/// The user's wish to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    token: CancellationToken,
}

impl Interrupt {
    /// A flag that long work polls.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether the user wants to stop.
    pub fn is_wanted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Resolves when the user wants to stop.
    pub async fn wanted(&self) {
        self.token.cancelled().await;
    }

    /// Starts listening for Ctrl-C. Needs a runtime.
    pub fn listen(&self) {
        let this = self.clone();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if this.stop.swap(true, Ordering::Relaxed) {
                    // The second Ctrl-C means now.
                    end_now();
                }
                this.token.cancel();
            }
        });
    }

    /// Runs work that may be dropped at any point.
    pub async fn or<T>(&self, work: impl Future<Output = ibid_api::Result<T>>) -> Outcome<T> {
        tokio::select! {
            result = work => self.told(result),
            () = self.wanted() => Err(Failure::Interrupted),
        }
    }

    /// A result, where a cancellation that the user asked for is no error to tell.
    pub fn told<T>(&self, result: ibid_api::Result<T>) -> Outcome<T> {
        match result {
            Err(error) if error.code == ErrorCode::Cancelled && self.is_wanted() => Err(Failure::Interrupted),
            other => Ok(other?),
        }
    }
}

#[expect(clippy::exit, reason = "whoever asks twice does not want to wait for anything")]
fn end_now() -> ! {
    std::process::exit(130)
}
