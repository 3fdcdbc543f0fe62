//! Changes that were seen and are not indexed yet, and when their time has come.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use ibid_api::{IndexScope, RelPath};

use crate::config::WatchConfig;

/// More paths than this are not worth telling apart from everything.
const MAX_PATHS: usize = 1_000;

/// Changes that wait.
#[derive(Debug)]
pub(super) struct Gathered {
    config: WatchConfig,
    paths: BTreeMap<String, BTreeSet<RelPath>>,
    /// Whether anything may have changed.
    everything: bool,
    first: Option<Instant>,
    last: Option<Instant>,
    /// Not before this, after a failure.
    not_before: Option<Instant>,
}

impl Gathered {
    pub(super) fn new(config: WatchConfig) -> Self {
        Self { config, paths: BTreeMap::new(), everything: false, first: None, last: None, not_before: None }
    }

    /// A path of a source changed, or something below it.
    pub(super) fn add(&mut self, source: &str, path: RelPath, now: Instant) {
        self.touch(now);
        if !self.everything {
            self.paths.entry(source.to_owned()).or_default().insert(path);
            self.everything = self.count() > MAX_PATHS;
        }
        if self.everything {
            self.paths.clear();
        }
    }

    /// Anything may have changed.
    pub(super) fn add_everything(&mut self, now: Instant) {
        self.touch(now);
        self.everything = true;
        self.paths.clear();
    }

    fn touch(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Whether this path waits already.
    pub(super) fn has(&self, source: &str, path: &RelPath) -> bool {
        self.everything || self.paths.get(source).is_some_and(|paths| paths.contains(path))
    }

    /// Holds everything back until then.
    pub(super) fn not_before(&mut self, then: Instant) {
        self.not_before = Some(then);
    }

    /// How many changes wait.
    pub(super) fn waiting(&self) -> u64 {
        if self.everything { 1 } else { self.count() as u64 }
    }

    fn count(&self) -> usize {
        self.paths.values().map(BTreeSet::len).sum()
    }

    /// When what was gathered is to be indexed.
    pub(super) fn due(&self) -> Option<Instant> {
        let quiet = self.last? + self.config.debounce;
        let latest = self.first? + self.config.max_batch_delay;
        Some(quiet.min(latest).max(self.not_before.unwrap_or(quiet.min(latest))))
    }

    /// What to index now. It is gone from here and comes back with `put_back` when it did not work out.
    pub(super) fn take(&mut self) -> Vec<IndexScope> {
        let everything = std::mem::take(&mut self.everything);
        let paths = std::mem::take(&mut self.paths);
        (self.first, self.last, self.not_before) = (None, None, None);
        if everything {
            return vec![IndexScope::Changes];
        }
        paths
            .into_iter()
            .map(|(source, paths)| IndexScope::Paths { source, paths: paths.into_iter().collect() })
            .collect()
    }

    /// It did not work out; try again, but not before.
    pub(super) fn put_back(&mut self, scope: IndexScope, now: Instant, not_before: Instant) {
        match scope {
            IndexScope::Changes | IndexScope::Everything => self.add_everything(now),
            IndexScope::Paths { source, paths } => {
                for path in paths {
                    self.add(&source, path, now);
                }
            }
        }
        self.not_before = Some(not_before);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn gathered() -> Gathered {
        Gathered::new(WatchConfig { debounce: SECOND, max_batch_delay: 3 * SECOND })
    }

    fn rel(path: &str) -> RelPath {
        RelPath::parse(path).unwrap()
    }

    #[test]
    fn changes_wait_until_it_is_quiet_and_no_longer_than_allowed() {
        let start = Instant::now();
        let mut gathered = gathered();
        assert_eq!(gathered.due(), None);
        gathered.add("a", rel("x"), start);
        assert_eq!(gathered.due(), Some(start + SECOND));
        gathered.add("a", rel("y"), start + SECOND / 2);
        assert_eq!(gathered.due(), Some(start + SECOND + SECOND / 2));
        gathered.add("a", rel("y"), start + 3 * SECOND);
        assert_eq!(gathered.due(), Some(start + 3 * SECOND));
        assert_eq!(gathered.waiting(), 2);
    }

    #[test]
    fn what_is_taken_is_gone_and_can_come_back() {
        let start = Instant::now();
        let mut gathered = gathered();
        gathered.add("a", rel("x"), start);
        gathered.add("b", rel("y"), start);
        let mut scopes = gathered.take();
        assert_eq!(scopes.len(), 2);
        assert_eq!((gathered.waiting(), gathered.due()), (0, None));
        let later = start + 60 * SECOND;
        gathered.put_back(scopes.remove(1), start, later);
        assert_eq!((gathered.waiting(), gathered.due()), (1, Some(later)));
        let want = IndexScope::Paths { source: "b".to_owned(), paths: vec![rel("y")] };
        assert_eq!(gathered.take(), [want]);
    }

    #[test]
    fn too_many_paths_become_everything() {
        let start = Instant::now();
        let mut gathered = gathered();
        for index in 0..=MAX_PATHS {
            gathered.add("a", rel(&index.to_string()), start);
        }
        gathered.add("a", rel("one more"), start);
        assert_eq!(gathered.take(), [IndexScope::Changes]);
    }
}
