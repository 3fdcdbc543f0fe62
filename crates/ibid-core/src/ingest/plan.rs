//! Found against stored: what has to be read, what is written without reading, what is gone.

use std::collections::{HashMap, hash_map::Entry};

use ibid_api::{ContentHash, FileOutcome, SkipReason};

use super::prepare::Recipe;
use crate::{
    source::{Found, FoundState},
    store::{FileWrite, StoredFile},
};

/// A file system may tell times only to two seconds.
const COARSEST_TIME_NS: i64 = 2_000_000_000;
/// A clock of another machine may be this much ahead.
const CLOCK_SKEW_NS: i64 = 60_000_000_000;

/// What is to be done about a found file.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Nothing; this is what became of it before.
    Unchanged(FileOutcome),
    /// Write this; its content is not needed.
    Record(Box<FileWrite>),
    /// Read it.
    Read(ReadTask),
}

/// A file to read.
#[derive(Debug)]
pub(crate) struct ReadTask {
    /// The file.
    pub(crate) found: Found,
    /// What is stored about it.
    pub(crate) known: Option<Known>,
}

/// What is stored about a file that has to be read.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// Identity of the bytes that were read then. Equal bytes keep their document.
    pub(crate) hash: Option<ContentHash>,
    /// What became of it then.
    pub(crate) outcome: FileOutcome,
    /// Whether size and time are the same, so that equal bytes mean no write at all.
    pub(crate) same: bool,
}

/// Decides file by file. Deciding twice about the same file gives the same answer.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    source: &'a str,
    recipe: &'a Recipe,
    stored: HashMap<String, Stored>,
    /// Folders that could not be looked into.
    closed: Vec<String>,
    scope: Scope,
}

#[derive(Debug)]
struct Stored {
    size: u64,
    modified_ns: i64,
    hash: Option<ContentHash>,
    outcome: FileOutcome,
    seen: bool,
}

/// How much is read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    /// Every file.
    Everything,
    /// What changed.
    Changes {
        /// When the last complete look at the source began; files changed since then or just before may
        /// have changed again without a trace in size and time.
        checked_ns: Option<i64>,
        /// The time now.
        now_ns: i64,
    },
}

impl<'a> Plan<'a> {
    pub(crate) fn new(source: &'a str, recipe: &'a Recipe, stored: Vec<StoredFile>, scope: Scope) -> Self {
        let stored = stored
            .into_iter()
            .map(|file| {
                let StoredFile { path, size, modified_ns, hash, outcome } = file;
                (path, Stored { size, modified_ns, hash, outcome, seen: false })
            })
            .collect();
        Self { source, recipe, stored, closed: Vec::new(), scope }
    }

    /// Whether nothing is stored of the source.
    pub(crate) fn is_first(&self) -> bool {
        self.stored.is_empty()
    }

    /// Whether this path is stored.
    pub(crate) fn knows(&self, path: &str) -> bool {
        self.stored.contains_key(path)
    }

    /// What to do about a file.
    pub(crate) fn decide(&mut self, found: Found) -> Decision {
        let stored = match self.stored.entry(found.path.clone()) {
            Entry::Occupied(entry) => {
                let stored = entry.into_mut();
                stored.seen = true;
                Some(&*stored)
            }
            Entry::Vacant(_) => None,
        };
        let skip = match found.state {
            FoundState::File => match &found.rel {
                None => Some(SkipReason::BadName),
                Some(rel) if self.recipe.kind(rel).is_none() => Some(SkipReason::UnsupportedType),
                Some(_) if found.size > self.recipe.max_bytes() => Some(SkipReason::TooLarge),
                Some(_) if found.size == 0 => Some(SkipReason::Empty),
                Some(_) => None,
            },
            FoundState::Skip(reason) => Some(reason),
            FoundState::Unreadable | FoundState::UnreadableFolder => {
                if found.state == FoundState::UnreadableFolder {
                    self.closed.push(format!("{}/", found.path));
                }
                let outcome = FileOutcome::Failed { reason: "the file system refuses to show it".to_owned() };
                let known = stored.is_some_and(|stored| stored.outcome == outcome);
                if known && !matches!(self.scope, Scope::Everything) {
                    return Decision::Unchanged(outcome);
                }
                return Decision::Record(self.record(&found, outcome));
            }
        };
        let same =
            stored.is_some_and(|stored| stored.size == found.size && stored.modified_ns == found.modified_ns);
        if let Some(reason) = skip {
            let outcome = FileOutcome::Skipped { reason };
            let known = stored.is_some_and(|stored| stored.outcome == outcome);
            return if same && known && !matches!(self.scope, Scope::Everything) {
                Decision::Unchanged(outcome)
            } else {
                Decision::Record(self.record(&found, outcome))
            };
        }
        let known = stored.map(|stored| Known { hash: stored.hash, outcome: stored.outcome.clone(), same });
        match (self.scope, stored) {
            (Scope::Everything, stored) => {
                // Read for its content: equal bytes are made into a document again all the same, and a failure
                // that is known is told again.
                let known =
                    stored.map(|stored| Known { hash: None, outcome: stored.outcome.clone(), same: false });
                Decision::Read(ReadTask { found, known })
            }
            (Scope::Changes { checked_ns, now_ns }, Some(stored))
                if same
                    && was_read(&stored.outcome)
                    && !could_hide_a_change(found.modified_ns, checked_ns, now_ns) =>
            {
                Decision::Unchanged(stored.outcome.clone())
            }
            _ => Decision::Read(ReadTask { found, known }),
        }
    }

    fn record(&self, found: &Found, outcome: FileOutcome) -> Box<FileWrite> {
        let document = match (&outcome, &found.rel) {
            (FileOutcome::Skipped { reason }, Some(rel)) => self.recipe.name_only(rel, *reason),
            _ => None,
        };
        Box::new(FileWrite {
            source: self.source.to_owned(),
            path: found.path.clone(),
            size: found.size,
            modified_ns: found.modified_ns,
            hash: None,
            // What cannot be looked at now is still what it was.
            keep_document: matches!(outcome, FileOutcome::Failed { .. }),
            outcome,
            document,
        })
    }

    /// Stored files that were not found, in path order.
    pub(crate) fn gone(self) -> Vec<String> {
        let closed = self.closed;
        let mut gone: Vec<_> = self
            .stored
            .into_iter()
            .filter(|(path, stored)| !stored.seen && !closed.iter().any(|folder| path.starts_with(folder)))
            .map(|(path, _)| path)
            .collect();
        gone.sort_unstable();
        gone
    }
}

/// Whether the outcome came from the file's bytes, so that it holds as long as they do.
fn was_read(outcome: &FileOutcome) -> bool {
    match outcome {
        FileOutcome::Indexed { .. } => true,
        FileOutcome::Skipped { reason } => {
            matches!(reason, SkipReason::Binary | SkipReason::NotUtf8 | SkipReason::Empty)
        }
        FileOutcome::Failed { .. } => false,
    }
}

/// A file that changed about when it was read may have changed again in the same tick of its clock.
fn could_hide_a_change(modified_ns: i64, checked_ns: Option<i64>, now_ns: i64) -> bool {
    let since = checked_ns.map_or(i64::MIN, |checked| checked.saturating_sub(COARSEST_TIME_NS));
    (since..=now_ns.saturating_add(CLOCK_SKEW_NS)).contains(&modified_ns)
}

#[cfg(test)]
mod tests {
    use ibid_api::RelPath;

    use super::*;
    use crate::config::{CoreConfig, SourceConfig};

    const LONG_AGO: i64 = 1_000_000_000_000;
    const CHECKED: i64 = 2_000_000_000_000_000_000;
    const INDEXED: FileOutcome = FileOutcome::Indexed { chunks: 1 };

    fn recipe() -> Recipe {
        Recipe::new(&CoreConfig::new("unused"), &SourceConfig::new("notes", "unused"))
    }

    fn found(path: &str, size: u64, modified_ns: i64) -> Found {
        Found {
            path: path.to_owned(),
            rel: RelPath::parse(path).ok(),
            size,
            modified_ns,
            state: FoundState::File,
        }
    }

    fn stored(path: &str, size: u64, modified_ns: i64, outcome: FileOutcome) -> StoredFile {
        StoredFile { path: path.to_owned(), size, modified_ns, hash: None, outcome }
    }

    fn name(decision: &Decision) -> String {
        match decision {
            Decision::Unchanged(_) => "unchanged".to_owned(),
            Decision::Record(write) => format!("record {:?}", write.outcome),
            Decision::Read(task) => {
                format!("read same={}", task.known.as_ref().is_some_and(|known| known.same))
            }
        }
    }

    fn check(stored: Option<StoredFile>, found: Found, want: &str) {
        let recipe = recipe();
        let scope = Scope::Changes { checked_ns: Some(CHECKED), now_ns: CHECKED + CLOCK_SKEW_NS };
        let mut plan = Plan::new("notes", &recipe, stored.into_iter().collect(), scope);
        assert_eq!(name(&plan.decide(found.clone())), want, "{found:?}");
        assert_eq!(name(&plan.decide(found)), want, "the second time");
    }

    #[test]
    fn only_new_changed_and_doubtful_files_are_read() {
        check(None, found("a.md", 5, LONG_AGO), "read same=false");
        check(Some(stored("a.md", 5, LONG_AGO, INDEXED)), found("a.md", 5, LONG_AGO), "unchanged");
        check(Some(stored("a.md", 6, LONG_AGO, INDEXED)), found("a.md", 5, LONG_AGO), "read same=false");
        check(Some(stored("a.md", 5, LONG_AGO + 1, INDEXED)), found("a.md", 5, LONG_AGO), "read same=false");
        let failed = FileOutcome::Failed { reason: "no".to_owned() };
        check(Some(stored("a.md", 5, LONG_AGO, failed)), found("a.md", 5, LONG_AGO), "read same=true");
    }

    #[test]
    fn a_time_about_that_of_the_last_look_is_not_trusted() {
        let same = |time| (Some(stored("a.md", 5, time, INDEXED)), found("a.md", 5, time));
        for (time, want) in [
            (CHECKED - 3 * COARSEST_TIME_NS, "unchanged"),
            (CHECKED - COARSEST_TIME_NS, "read same=true"),
            (CHECKED, "read same=true"),
            (CHECKED + 1, "read same=true"),
            // A time in the far future cannot be given to a file by changing it now.
            (CHECKED + 10 * CLOCK_SKEW_NS, "unchanged"),
        ] {
            let (stored, found) = same(time);
            check(stored, found, want);
        }
    }

    #[test]
    fn what_is_never_read_is_recorded_once() {
        let skipped = |reason| FileOutcome::Skipped { reason };
        for (path, size, reason) in [
            ("a.png", 5, SkipReason::UnsupportedType),
            ("a.md", u64::MAX, SkipReason::TooLarge),
            ("a.md", 0, SkipReason::Empty),
            ("a\\b.md", 5, SkipReason::BadName),
        ] {
            let outcome = skipped(reason);
            check(None, found(path, size, LONG_AGO), &format!("record {outcome:?}"));
            check(Some(stored(path, size, LONG_AGO, outcome)), found(path, size, LONG_AGO), "unchanged");
        }
    }

    #[test]
    fn what_is_not_found_is_gone_unless_its_folder_is_closed() {
        let recipe = recipe();
        let known = ["a.md", "b/c.md", "b.md", "locked/d.md"];
        let known = known.map(|path| stored(path, 5, LONG_AGO, INDEXED)).to_vec();
        let scope = Scope::Changes { checked_ns: Some(CHECKED), now_ns: CHECKED };
        let mut plan = Plan::new("notes", &recipe, known, scope);
        plan.decide(found("a.md", 5, LONG_AGO));
        plan.decide(Found { state: FoundState::UnreadableFolder, ..found("locked", 0, 0) });
        assert_eq!(plan.gone(), ["b.md", "b/c.md"]);
    }

    #[test]
    fn everything_is_read_when_everything_is_asked_for() {
        let recipe = recipe();
        let mut plan =
            Plan::new("notes", &recipe, vec![stored("a.md", 5, LONG_AGO, INDEXED)], Scope::Everything);
        assert_eq!(name(&plan.decide(found("a.md", 5, LONG_AGO))), "read same=false");
    }
}
