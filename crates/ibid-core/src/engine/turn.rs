//! `Turn`: one at a time, waiting for a while and not for ever.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// Something only one thread may do at once.
#[derive(Debug, Default)]
pub(super) struct Turn {
    taken: Mutex<bool>,
    free: Condvar,
}

/// Gives the turn back when it goes.
#[derive(Debug)]
pub(super) struct Taken<'a>(&'a Turn);

impl Turn {
    /// Waits up to `patience` for the turn.
    pub(super) fn take(&self, patience: Duration) -> Option<Taken<'_>> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut taken, waited) = self
            .free
            .wait_timeout_while(taken, patience, |taken| *taken)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && *taken {
            return None;
        }
        *taken = true;
        Some(Taken(self))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_given_to_one_at_a_time() {
        let turn = Turn::default();
        let first = turn.take(Duration::ZERO).unwrap();
        assert!(turn.take(Duration::ZERO).is_none());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| turn.take(Duration::from_secs(60)).is_some());
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(turn.take(Duration::ZERO).is_some());
    }
}
