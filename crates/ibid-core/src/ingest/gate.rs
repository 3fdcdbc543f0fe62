//! `Gate`: bounds the bytes that are on their way through the pipeline.

use std::sync::{Condvar, Mutex, PoisonError};

/// Lets work in while there is room for its bytes. One piece of work always gets in, however large.
#[derive(Debug)]
pub(super) struct Gate {
    room: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    closed: bool,
}

impl Gate {
    pub(super) fn new(room: u64) -> Self {
        Self { room, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits for room; false when the gate was closed meanwhile.
    pub(super) fn enter(&self, bytes: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.closed && state.used > 0 && state.used + bytes > self.room {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.used += bytes;
        !state.closed
    }

    /// Gives room back.
    pub(super) fn leave(&self, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.used = state.used.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Turns away everybody from now on.
    pub(super) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_for_room_and_the_first_always_gets_in() {
        let gate = Gate::new(10);
        assert!(gate.enter(100));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.enter(1));
            gate.leave(100);
            assert!(waiting.join().unwrap());
        });
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.enter(10));
            gate.close();
            assert!(!waiting.join().unwrap());
        });
    }
}
