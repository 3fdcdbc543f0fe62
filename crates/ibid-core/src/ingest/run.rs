//! A run: all sources, or some paths of one, brought up to date.

use std::{
    collections::HashSet,
    num::NonZero,
    sync::{Arc, atomic::AtomicU64},
    time::{SystemTime, UNIX_EPOCH},
};

use ibid_api::{Generation, RelPath, Warning, WarningCode};
use serde_json::json;

use super::{
    Progress, Step,
    fingerprint::Fingerprint,
    pipeline::{Ended, Pipeline},
    plan::{Decision, Plan, Scope},
    prepare::Recipe,
    tally::Tally,
    write::Writer,
};
use crate::{
    config::{CoreConfig, SourceConfig},
    source::{Found, SourceRoot},
    store::{Store, StoreError, StoredFile},
};

/// Setting: what the index was made with.
pub(crate) const FINGERPRINT: &str = "fingerprint";
/// Setting: present while a run over everything has begun and not ended.
pub(crate) const UNFINISHED: &str = "unfinished";
/// More decisions than this are not kept; the tree is walked a second time instead.
const MAX_DECISIONS: usize = 50_000;
/// Files that are gone are forgotten in batches of this many.
const REMOVALS: usize = 5_000;
/// More paths than this are looked up together.
const MAX_LOOKUPS: usize = 32;

/// Why a run did not end well. What it had written until then is whole and stays.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was asked to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// There is nothing to index.
    #[error("no source is configured")]
    NoSource,
    /// No source of this name is configured.
    #[error("no such source is configured")]
    UnknownSource,
    /// None of the folders can be read.
    #[error("no source folder can be read")]
    Unavailable,
}

/// One run.
pub(crate) struct Run<'a> {
    config: &'a CoreConfig,
    store: &'a dyn Store,
    progress: &'a dyn Progress,
    reads: Arc<AtomicU64>,
    max_decisions: usize,
}

/// What a run did.
pub(crate) struct Report {
    pub(crate) tally: Tally,
    /// Whether every source was looked at completely.
    pub(crate) complete: bool,
    /// The last write that is searchable because of this run. Others may have written more since.
    pub(crate) generation: Generation,
}

/// What remains to be known of a source between runs.
struct Look {
    /// When the last complete look began, nanoseconds since 1970.
    began_ns: i64,
    /// Which folder the root was: another one may be mounted there by now.
    place: String,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        config: &'a CoreConfig,
        store: &'a dyn Store,
        progress: &'a dyn Progress,
        reads: &Arc<AtomicU64>,
    ) -> Self {
        Self { config, store, progress, reads: Arc::clone(reads), max_decisions: MAX_DECISIONS }
    }

    /// Brings all sources up to date; reads every file when `again`.
    pub(crate) fn all(&self, again: bool) -> Result<Report, RunError> {
        if self.config.sources.is_empty() {
            return Err(RunError::NoSource);
        }
        let mut writer = Writer::new(self.store);
        let mut tally = Tally::default();
        let print = Fingerprint::of(self.config);
        let stored_print = self.store.setting(FINGERPRINT)?;
        let was_unfinished = self.store.setting(UNFINISHED)?.is_some();
        if stored_print.is_none() {
            writer.set(FINGERPRINT, Some(print.to_text()));
        }
        let mut available = 0;
        let mut result = Ok(());
        for source in &self.config.sources {
            match self.source(source, again, &mut writer, &mut tally) {
                Ok(()) => available += 1,
                Err(RunError::Unavailable) => {
                    let mut warning = Warning::new(
                        WarningCode::SourceUnavailable,
                        "a source folder cannot be read; what is known of it was kept",
                    );
                    warning.details = Some(json!({ "source": source.name }));
                    tally.warn(warning, None);
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        if let Err(error) = result {
            return Err(self.stop(writer, error));
        }
        if available == 0 {
            return Err(RunError::Unavailable);
        }
        let complete = available == self.config.sources.len();
        if complete {
            let stored_print = stored_print.as_deref().and_then(Fingerprint::parse);
            self.forget_others(stored_print.as_ref(), &mut writer);
            if print.replaces(stored_print.as_ref()) {
                writer.set(FINGERPRINT, Some(print.to_text()));
            }
            if was_unfinished || writer.wrote() {
                writer.set(UNFINISHED, None);
            }
        }
        writer.flush()?;
        let generation = self.settle()?;
        Ok(Report { tally, complete, generation })
    }

    /// Brings these paths of a source, and everything below them, up to date.
    pub(crate) fn paths(&self, source: &str, paths: &[RelPath]) -> Result<Report, RunError> {
        let source = self.config.sources.iter().find(|known| known.name == source);
        let source = source.ok_or(RunError::UnknownSource)?;
        let root = self.open(source)?;
        let recipe = Recipe::new(self.config, source);
        let paths = outermost(paths);
        let stored = self.stored_below(&source.name, &paths)?;
        let look = self.last_look(&source.name)?;
        let scope = Scope::Changes { checked_ns: look.map(|look| look.began_ns), now_ns: now_ns() };
        let mut plan = Plan::new(&source.name, &recipe, stored, scope);
        let mut found = Vec::new();
        for path in &paths {
            found.extend(root.walk_below(path).map_err(|_| RunError::Unavailable)?);
        }
        if !root.is_still_there() {
            return Err(RunError::Unavailable);
        }
        let mut writer = Writer::new(self.store);
        let mut tally = Tally::default();
        let decisions: Vec<_> = found.into_iter().map(|found| decide(&mut plan, found)).collect();
        let pipeline = self.pipeline(&source.name, &root, &recipe);
        let ended = pipeline.run(decisions.into_iter(), &mut writer, &mut tally);
        match ended {
            Ok(Ended::Whole) => {}
            Ok(Ended::Cancelled) => return Err(self.stop(writer, RunError::Cancelled)),
            Err(error) => return Err(self.stop(writer, error.into())),
        }
        remove(&source.name, plan.gone(), &mut writer, &mut tally)?;
        writer.flush()?;
        let generation = self.settle()?;
        Ok(Report { tally, complete: false, generation })
    }

    /// How many files differ from what is stored, as far as can be told without reading any.
    pub(crate) fn differences(&self) -> Result<u64, RunError> {
        let mut differences = 0;
        for source in &self.config.sources {
            let root = self.open(source)?;
            let recipe = Recipe::new(self.config, source);
            let stored = self.store.stored_files(&source.name)?;
            // Times are trusted here: reading to be sure is for those who write.
            let scope = Scope::Changes { checked_ns: Some(i64::MAX), now_ns: i64::MIN };
            let mut plan = Plan::new(&source.name, &recipe, stored, scope);
            for found in root.walk().map_err(|_| RunError::Unavailable)? {
                if self.progress.cancelled() {
                    return Err(RunError::Cancelled);
                }
                differences += u64::from(!matches!(plan.decide(found), Decision::Unchanged(_)));
            }
            if !root.is_still_there() {
                return Err(RunError::Unavailable);
            }
            differences += plan.gone().len() as u64;
        }
        Ok(differences)
    }

    fn source(
        &self,
        source: &SourceConfig,
        again: bool,
        writer: &mut Writer<'_>,
        tally: &mut Tally,
    ) -> Result<(), RunError> {
        let began_ns = now_ns();
        let root = self.open(source)?;
        let recipe = Recipe::new(self.config, source);
        let stored = self.store.stored_files(&source.name)?;
        let look = self.last_look(&source.name)?;
        let scope = if again {
            Scope::Everything
        } else {
            Scope::Changes { checked_ns: look.as_ref().map(|look| look.began_ns), now_ns: began_ns }
        };
        let mut plan = Plan::new(&source.name, &recipe, stored, scope);

        self.progress.begin(Step::Scan, None);
        let mut kept = Tally::default();
        let mut decisions = Some(Vec::new());
        let mut total = 0;
        for found in root.walk().map_err(|_| RunError::Unavailable)? {
            if self.progress.cancelled() {
                return Err(RunError::Cancelled);
            }
            total += 1;
            self.progress.advance(1);
            match decide(&mut plan, found) {
                (Decision::Unchanged(outcome), _) => kept.keep(&outcome),
                decision => {
                    if let Some(list) = &mut decisions {
                        list.push(decision);
                        if list.len() > self.max_decisions {
                            decisions = None;
                        }
                    }
                }
            }
        }
        self.progress.end();
        // A disk that went away looks like a folder without files.
        let place = root.place();
        let moved = look.as_ref().is_some_and(|look| look.place != place);
        if !root.is_still_there() || (total == 0 && moved && !plan.is_first()) {
            return Err(RunError::Unavailable);
        }

        let verified = tally.verified;
        let ended = if let Some(decisions) = decisions {
            tally.add(kept);
            let total = decisions.len() as u64;
            self.carry_out(source, &root, &recipe, total, decisions.into_iter(), writer, tally)?
        } else {
            let walk = root.walk().map_err(|_| RunError::Unavailable)?;
            let decisions = walk.map(|found| decide(&mut plan, found));
            self.carry_out(source, &root, &recipe, total, decisions, writer, tally)?
        };
        if let Ended::Cancelled = ended {
            return Err(RunError::Cancelled);
        }
        if !root.is_still_there() {
            return Err(RunError::Unavailable);
        }
        remove(&source.name, plan.gone(), writer, tally)?;
        if writer.wrote() || look.is_none() || moved || tally.verified > verified {
            writer.set(look_setting(&source.name), Some(Look { began_ns, place }.to_text()));
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one run, each of its own kind")]
    fn carry_out<D>(
        &self,
        source: &SourceConfig,
        root: &SourceRoot,
        recipe: &Recipe,
        total: u64,
        decisions: D,
        writer: &mut Writer<'_>,
        tally: &mut Tally,
    ) -> Result<Ended, RunError>
    where
        D: Iterator<Item = (Decision, bool)> + Send,
    {
        if total == 0 {
            return Ok(Ended::Whole);
        }
        writer.set(UNFINISHED, Some("1".to_owned()));
        self.progress.begin(Step::Parse, Some(total));
        let ended = self.pipeline(&source.name, root, recipe).run(decisions, writer, tally)?;
        self.progress.end();
        Ok(ended)
    }

    fn pipeline<'b>(&'b self, source: &'b str, root: &'b SourceRoot, recipe: &'b Recipe) -> Pipeline<'b> {
        Pipeline { source, root, recipe, threads: threads(self.config), progress: self.progress }
    }

    fn open(&self, source: &SourceConfig) -> Result<SourceRoot, RunError> {
        match SourceRoot::open(source, Arc::clone(&self.reads)) {
            Ok(root) => Ok(root.without_index(&self.config.data_dir)),
            Err(error) => {
                tracing::warn!(source = source.name, kind = ?error.kind(), "a source folder cannot be opened");
                Err(RunError::Unavailable)
            }
        }
    }

    fn stored_below(&self, source: &str, paths: &[RelPath]) -> Result<Vec<StoredFile>, RunError> {
        if paths.len() <= MAX_LOOKUPS {
            let mut stored = Vec::new();
            for path in paths {
                stored.extend(self.store.stored_files_below(source, path.as_str())?);
            }
            return Ok(stored);
        }
        let wanted: HashSet<&str> = paths.iter().map(RelPath::as_str).collect();
        let mut stored = self.store.stored_files(source)?;
        stored.retain(|file| around(&file.path).any(|path| wanted.contains(path)));
        Ok(stored)
    }

    /// Forgets sources that were indexed once and are not configured any more.
    fn forget_others(&self, stored: Option<&Fingerprint>, writer: &mut Writer<'_>) {
        for name in stored.into_iter().flat_map(Fingerprint::sources) {
            if !self.config.sources.iter().any(|source| source.name == name) {
                writer.forget(vec![name.to_owned()]);
                writer.set(look_setting(name), None);
            }
        }
    }

    /// Keeps what was done until now, and makes it searchable.
    fn stop(&self, mut writer: Writer<'_>, error: RunError) -> RunError {
        if matches!(error, RunError::Cancelled) {
            let kept = writer.flush().map_err(RunError::from).and_then(|()| self.settle());
            if let Err(kept) = kept {
                return kept;
            }
        }
        error
    }

    /// Makes what was written searchable, by this run or by one that was cut short. Costs nothing when
    /// there is nothing to do.
    fn settle(&self) -> Result<Generation, RunError> {
        self.progress.begin(Step::Index, None);
        let generation = self.store.settle()?;
        self.progress.end();
        Ok(generation)
    }

    fn last_look(&self, source: &str) -> Result<Option<Look>, RunError> {
        Ok(self.store.setting(&look_setting(source))?.as_deref().and_then(Look::parse))
    }
}

impl Look {
    fn parse(text: &str) -> Option<Self> {
        let (began_ns, place) = text.split_once(' ')?;
        Some(Self { began_ns: began_ns.parse().ok()?, place: place.to_owned() })
    }

    fn to_text(&self) -> String {
        format!("{} {}", self.began_ns, self.place)
    }
}

/// Forgets files that are gone.
fn remove(
    source: &str,
    gone: Vec<String>,
    writer: &mut Writer<'_>,
    tally: &mut Tally,
) -> Result<(), RunError> {
    for (index, path) in gone.into_iter().enumerate() {
        if index % REMOVALS == REMOVALS - 1 {
            writer.flush()?;
        }
        writer.remove(source, path);
        tally.removed += 1;
    }
    Ok(())
}

fn look_setting(source: &str) -> String {
    format!("source.{source}")
}

fn decide(plan: &mut Plan<'_>, found: Found) -> (Decision, bool) {
    let known = plan.knows(&found.path);
    (plan.decide(found), known)
}

/// The paths that are not below another one of them.
fn outermost(paths: &[RelPath]) -> Vec<RelPath> {
    let all: HashSet<&str> = paths.iter().map(RelPath::as_str).collect();
    let mut kept: Vec<_> = paths
        .iter()
        .filter(|path| !around(path.as_str()).skip(1).any(|outer| all.contains(outer)))
        .cloned()
        .collect();
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// A path, and the folders around it.
fn around(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rfind('/').map(|slash| &path[..slash]))
}

/// How many threads work.
pub(crate) fn threads(config: &CoreConfig) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, NonZero::get);
    config.threads.unwrap_or_else(all).max(1)
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ingest::Silent,
        store::{EmbeddedStore, OpenOptions},
    };

    #[test]
    fn a_tree_too_large_to_remember_is_walked_twice_with_the_same_result() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("notes");
        std::fs::create_dir(&root).unwrap();
        for index in 0..50 {
            std::fs::write(root.join(format!("n{index:02}.md")), format!("note {index}")).unwrap();
        }
        let mut results = Vec::new();
        for (name, max_decisions) in [("kept", MAX_DECISIONS), ("forgotten", 7)] {
            let config =
                CoreConfig::new(folder.path().join(name)).with_source(SourceConfig::new("notes", &root));
            let options = OpenOptions { create: true, read_only: false };
            let store = EmbeddedStore::open(&config.data_dir, options).unwrap();
            let run = Run { max_decisions, ..Run::new(&config, &store, &Silent, &Arc::default()) };
            let first = run.all(false).unwrap().tally;
            let again = run.all(true).unwrap().tally;
            let files = store.stored_files("notes").unwrap();
            results.push((first.added, first.unchanged, again.changed, again.unchanged, files));
        }
        assert_eq!(results[0], results[1]);
        assert_eq!((results[0].0, results[0].1, results[0].2, results[0].3), (50, 0, 50, 0));
    }

    #[test]
    fn paths_below_others_are_dropped() {
        let paths =
            ["b/c", "a", "a/b", "a/b/c", "ab", "b/c", "b/cd"].map(|path| RelPath::parse(path).unwrap());
        let kept: Vec<_> = outermost(&paths).iter().map(ToString::to_string).collect();
        assert_eq!(kept, ["a", "ab", "b/c", "b/cd"]);
    }

    #[test]
    fn a_look_is_kept_as_text() {
        let look = Look::parse(&Look { began_ns: -5, place: "1:2".to_owned() }.to_text()).unwrap();
        assert_eq!((look.began_ns, look.place.as_str()), (-5, "1:2"));
        assert!(Look::parse("nonsense").is_none());
    }
}
