//! How the index relates to the files: six states, and what moves between them.

use ibid_api::{Freshness, Warning, WarningCode};

/// Something that happened to the files or to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A change of the files was seen.
    Changed,
    /// A look at the files found nothing that the index does not know.
    Verified,
    /// The files may have changed unseen.
    MayHaveChanged,
    /// A writer began.
    WriterBegan,
    /// A writer ended well.
    Committed {
        /// Whether it looked at everything.
        complete: bool,
    },
    /// A writer failed or was stopped.
    WriterFailed,
    /// The index does not fit the configuration.
    ReindexNeeded,
}

/// The state, and what has to be remembered while a writer runs.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    state: Freshness,
    /// The state that the running writer began in.
    before: Freshness,
    /// Whether something changed while the writer ran.
    changed_meanwhile: bool,
}

impl Tracker {
    pub(crate) fn new(state: Freshness) -> Self {
        Self { state, before: state, changed_meanwhile: false }
    }

    pub(crate) fn state(&self) -> Freshness {
        self.state
    }

    /// Moves on. What cannot happen in a state changes nothing.
    pub(crate) fn on(&mut self, event: Event) {
        use Freshness::{Fresh, Incompatible, Pending, Stale, Unknown, Updating};
        self.state = match (self.state, event) {
            (Updating, Event::Changed) => {
                self.changed_meanwhile = true;
                Updating
            }
            (Fresh | Unknown, Event::Changed) => Pending,
            (Unknown | Stale | Pending, Event::Verified) => Fresh,
            (Fresh | Pending | Stale | Unknown | Incompatible, Event::WriterBegan) => {
                self.before = self.state;
                self.changed_meanwhile = false;
                Updating
            }
            (Updating, Event::Committed { complete }) => {
                let whole = complete || matches!(self.before, Fresh | Pending);
                match (whole, self.changed_meanwhile) {
                    (true, false) => Fresh,
                    (true, true) => Pending,
                    (false, _) => self.before,
                }
            }
            // Half a rebuild does not make an index fit.
            (Updating, Event::WriterFailed) if self.before == Incompatible => Incompatible,
            (Updating, Event::WriterFailed) | (Fresh, Event::MayHaveChanged) => Stale,
            (Fresh | Stale | Pending | Unknown, Event::ReindexNeeded) => Incompatible,
            (state, _) => state,
        };
    }
}

/// What a searcher is told about an index in this state.
pub(crate) fn warning(state: Freshness) -> Option<Warning> {
    let (code, message) = match state {
        Freshness::Fresh | Freshness::Incompatible => return None,
        Freshness::Pending => (WarningCode::IndexPending, "some changes of the files wait to be indexed"),
        Freshness::Updating => (WarningCode::IndexUpdating, "the index is being updated"),
        Freshness::Stale => (WarningCode::IndexStale, "files may have changed since the index was updated"),
        Freshness::Unknown => (WarningCode::IndexUnknown, "it is not known whether the index is up to date"),
    };
    Some(Warning::new(code, message))
}

#[cfg(test)]
mod tests {
    use Freshness::{Fresh, Incompatible, Pending, Stale, Unknown, Updating};

    use super::*;

    fn check(from: Freshness, events: &[Event], want: Freshness) {
        let mut tracker = Tracker::new(from);
        for event in events {
            tracker.on(*event);
        }
        assert_eq!(tracker.state(), want, "{from:?} then {events:?}");
    }

    const ALL: [Freshness; 6] = [Fresh, Pending, Updating, Stale, Incompatible, Unknown];
    const WHOLE: Event = Event::Committed { complete: true };
    const PART: Event = Event::Committed { complete: false };

    #[test]
    fn a_change_that_is_seen_waits() {
        for (from, want) in [
            (Fresh, Pending),
            (Unknown, Pending),
            (Pending, Pending),
            (Stale, Stale),
            (Updating, Updating),
            (Incompatible, Incompatible),
        ] {
            check(from, &[Event::Changed], want);
        }
    }

    #[test]
    fn a_writer_that_ends_well_makes_the_index_fresh() {
        for from in [Fresh, Pending, Stale, Unknown, Incompatible] {
            check(from, &[Event::WriterBegan], Updating);
            check(from, &[Event::WriterBegan, WHOLE], Fresh);
        }
    }

    #[test]
    fn a_writer_of_some_paths_does_not_vouch_for_the_rest() {
        check(Pending, &[Event::WriterBegan, PART], Fresh);
        check(Fresh, &[Event::WriterBegan, PART], Fresh);
        check(Stale, &[Event::WriterBegan, PART], Stale);
        check(Unknown, &[Event::WriterBegan, PART], Unknown);
    }

    #[test]
    fn a_change_while_writing_waits_afterwards() {
        check(Pending, &[Event::WriterBegan, Event::Changed, WHOLE], Pending);
        check(Pending, &[Event::WriterBegan, Event::Changed, WHOLE, Event::WriterBegan, WHOLE], Fresh);
    }

    #[test]
    fn a_writer_that_fails_leaves_the_index_stale() {
        for from in [Fresh, Pending, Stale, Unknown] {
            check(from, &[Event::WriterBegan, Event::WriterFailed], Stale);
        }
        check(Incompatible, &[Event::WriterBegan, Event::WriterFailed], Incompatible);
    }

    #[test]
    fn an_index_that_does_not_fit_stays_so_until_it_is_written_anew() {
        for from in [Fresh, Stale, Pending, Unknown] {
            check(from, &[Event::ReindexNeeded], Incompatible);
        }
        check(Incompatible, &[Event::Changed, Event::Verified, Event::MayHaveChanged], Incompatible);
        check(Incompatible, &[Event::WriterBegan, WHOLE], Fresh);
    }

    #[test]
    fn a_look_at_the_files_settles_doubts() {
        for from in [Unknown, Stale, Pending] {
            check(from, &[Event::Verified], Fresh);
        }
        check(Fresh, &[Event::MayHaveChanged], Stale);
        check(Updating, &[Event::Verified], Updating);
    }

    #[test]
    fn every_state_that_may_mislead_has_its_warning() {
        for state in ALL {
            let silent = matches!(state, Fresh | Incompatible);
            assert_eq!(warning(state).is_none(), silent, "{state:?}");
        }
    }
}
