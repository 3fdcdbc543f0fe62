//! The watcher, on real file events.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, unbounded};
use ibid_api::{ChunkRef, DocumentKey, Engine as _, Freshness, IndexReply, RelPath, Result, WatchState};
use ibid_core::{
    LocalEngine, WatchConfig,
    source::{WatchHandle, WatchOptions, Watcher},
};

use crate::{
    knowledge::{call, config, documents, find, update},
    tree::Tree,
};

const PATIENCE: Duration = Duration::from_secs(60);

struct Watched {
    engine: LocalEngine,
    updates: Receiver<Result<IndexReply>>,
    handle: WatchHandle,
}

const DEBOUNCE: Duration = Duration::from_millis(50);

/// Watches a tree that is indexed already, quick to react.
fn watch(tree: &Tree, catch_up: bool) -> Watched {
    watch_telling(tree, catch_up, |_| {})
}

/// The same; what is told of each update is told on the watcher's thread.
fn watch_telling(
    tree: &Tree,
    catch_up: bool,
    tell: impl Fn(&Result<IndexReply>) + Send + 'static,
) -> Watched {
    let mut config = config(tree);
    config.watch = WatchConfig { debounce: DEBOUNCE, max_batch_delay: Duration::from_millis(500) };
    let engine = LocalEngine::open(config).unwrap();
    let (sender, updates) = unbounded();
    let options = WatchOptions {
        heartbeat: Duration::from_millis(100),
        catch_up,
        on_update: Some(Box::new(move |reply| {
            let _ = sender.send(reply.clone());
            tell(reply);
        })),
        ..WatchOptions::default()
    };
    let handle = Watcher::start(&engine, options);
    let watched = Watched { engine, updates, handle };
    watched.until(|| watched.state() == WatchState::Running);
    watched
}

impl Watched {
    fn state(&self) -> WatchState {
        call(self.engine.status()).unwrap().watch.state
    }

    /// Waits for updates until this holds.
    fn until(&self, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < PATIENCE, "nothing happened in time");
            // Woken early by an update; looks again in any case.
            let _ = self.updates.recv_timeout(Duration::from_millis(20));
        }
    }
}

#[test]
fn changes_are_followed_while_they_happen() {
    let tree = Tree::new(&[("a.md", "apple"), ("folder/b.md", "banana")]);
    update(&crate::knowledge::engine(&tree));
    let watched = watch(&tree, false);
    let engine = &watched.engine;

    tree.write("a.md", "apricot");
    watched.until(|| find(engine, "apricot") == ["a.md"]);
    tree.write("new/deep/c.md", "cherry");
    watched.until(|| find(engine, "cherry") == ["new/deep/c.md"]);
    tree.rename("folder", "moved/folder");
    watched.until(|| documents(engine) == ["a.md", "moved/folder/b.md", "new/deep/c.md"]);
    tree.remove("new/deep/c.md");
    watched.until(|| find(engine, "cherry").is_empty());
    tree.write(".ibidignore", "moved/\n");
    watched.until(|| documents(engine) == ["a.md"]);

    let status = call(engine.status()).unwrap();
    assert!(status.watch.last_event_ms.is_some() && status.watch.last_heartbeat_ms.is_some());
    watched.until(|| call(engine.status()).unwrap().index.freshness == Freshness::Fresh);
    watched.handle.stop();
    assert_eq!(call(engine.status()).unwrap().watch.state, WatchState::Stopped);
}

#[test]
fn what_is_left_out_causes_no_update() {
    let tree = Tree::new(&[("a.md", "apple"), (".gitignore", "ignored/\n")]);
    update(&crate::knowledge::engine(&tree));
    let watched = watch(&tree, false);
    for path in ["ignored/x.md", ".hidden/x.md", "node_modules/x/y.md", ".secret.md"] {
        tree.write(path, "nothing");
    }
    // The first update that comes is that of a file which counts.
    tree.write("b.md", "banana");
    watched.until(|| find(&watched.engine, "banana") == ["b.md"]);
    assert_eq!(documents(&watched.engine), ["a.md", "b.md"]);
}

#[test]
fn changes_made_while_nobody_watched_are_caught_up_with_if_asked() {
    let tree = Tree::new(&[("a.md", "apple")]);
    update(&crate::knowledge::engine(&tree));
    tree.write("b.md", "banana");
    {
        let watched = watch(&tree, true);
        watched.until(|| documents(&watched.engine) == ["a.md", "b.md"]);
    }
    tree.write("c.md", "cherry");
    let watched = watch(&tree, false);
    let status = call(watched.engine.status()).unwrap();
    assert!(matches!(status.index.freshness, Freshness::Pending | Freshness::Updating | Freshness::Fresh));
}

#[test]
fn a_root_that_goes_away_and_comes_back_is_watched_again() {
    let tree = Tree::new(&[("a.md", "apple")]);
    update(&crate::knowledge::engine(&tree));
    let watched = watch(&tree, false);
    let engine = &watched.engine;
    fs::rename(tree.root(), tree.beside("away")).unwrap();
    watched.until(|| watched.state() == WatchState::Degraded);
    assert_eq!(documents(engine), ["a.md"], "nothing is forgotten");
    fs::rename(tree.beside("away"), tree.root()).unwrap();
    watched.until(|| watched.state() == WatchState::Running);
    tree.write("b.md", "banana");
    watched.until(|| find(engine, "banana") == ["b.md"]);
}

/// Tells those who ask to stop, also when a test fails half way.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asks until it is told to stop, as quickly as answers come; says how many came.
fn ask_at_full_speed(engine: &LocalEngine, stop: &AtomicBool) -> u64 {
    let mut answers = 0;
    while !stop.load(Ordering::Relaxed) {
        find(engine, "meadow brook");
        answers += 1;
    }
    answers
}

/// The text of a document as it is indexed.
fn indexed(engine: &LocalEngine, path: &str) -> Option<String> {
    let key = DocumentKey::Path(RelPath::parse(path).unwrap());
    let document = call(engine.summary(key)).ok()?.id;
    Some(call(engine.chunk(ChunkRef { document, index: 0 })).ok()?.text)
}

#[test]
fn an_edit_is_searchable_within_a_second_of_the_debounce_while_queries_run() {
    const NOTES: usize = 300;
    let tree = Tree::new(&[]);
    for note in 0..NOTES {
        tree.write(
            &format!("{note}.md"),
            &format!("# Note {note}\n\nA meadow and a brook, number {note}.\n"),
        );
    }
    update(&crate::knowledge::engine(&tree));
    let watched = watch(&tree, false);
    let engine = &watched.engine;
    let stop = AtomicBool::new(false);
    let (took, answers) = std::thread::scope(|scope| {
        let stopping = StopOnDrop(&stop);
        let asking: Vec<_> = (0..2).map(|_| scope.spawn(|| ask_at_full_speed(engine, &stop))).collect();
        let took: Vec<Duration> = ["kingfisher", "heron", "otter", "dragonfly", "trout"]
            .into_iter()
            .map(|word| {
                let began = Instant::now();
                tree.write("7.md", &format!("# Note 7\n\nA {word} at the brook.\n"));
                watched.until(|| find(engine, word) == ["7.md"]);
                began.elapsed()
            })
            .collect();
        drop(stopping);
        (took, asking.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>())
    });
    eprintln!("edit to searchable with a debounce of {DEBOUNCE:?}: {took:?}; {answers} queries meanwhile");
    assert!(answers > 0);
    // The machine may be busy with something else for a while, but not during every edit.
    let best = took.iter().min().unwrap();
    assert!(*best < DEBOUNCE + Duration::from_secs(1), "{took:?}");
}

#[cfg(unix)]
#[test]
fn a_change_is_seen_through_every_link_to_it() {
    let tree = Tree::new(&[("projects/garden/beds.md", "tomatoes"), ("journal/monday.md", "rain")]);
    tree.link("shelf/current", tree.path("projects/garden"));
    tree.link("today.md", tree.path("journal/monday.md"));
    update(&crate::knowledge::engine(&tree));
    let watched = watch(&tree, false);
    let engine = &watched.engine;
    let both = |word: &str, paths: [&str; 2]| {
        paths.iter().all(|path| indexed(engine, path).as_deref() == Some(word))
    };
    tree.write("projects/garden/beds.md", "aubergines");
    watched.until(|| both("aubergines", ["projects/garden/beds.md", "shelf/current/beds.md"]));
    tree.write("projects/garden/compost.md", "worms");
    watched.until(|| both("worms", ["projects/garden/compost.md", "shelf/current/compost.md"]));
    tree.write("journal/monday.md", "sunshine");
    watched.until(|| both("sunshine", ["journal/monday.md", "today.md"]));
    tree.remove("projects/garden/compost.md");
    watched.until(|| indexed(engine, "shelf/current/compost.md").is_none());

    // A link that is made while watching counts from then on, and one that is gone no longer.
    tree.link("later", tree.path("journal"));
    watched.until(|| indexed(engine, "later/monday.md").as_deref() == Some("sunshine"));
    tree.write("journal/monday.md", "thunder");
    watched.until(|| both("thunder", ["today.md", "later/monday.md"]));
    tree.remove("shelf/current");
    watched.until(|| !documents(engine).iter().any(|path| path.starts_with("shelf/")));

    // The folder behind a link moves: what the link led to is gone with it.
    tree.rename("journal", "diary");
    watched.until(|| documents(engine) == ["diary/monday.md", "projects/garden/beds.md"]);
}

#[test]
fn more_events_than_there_is_room_for_are_made_up_for_by_one_look() {
    const FILES: usize = 4_000;
    let tree = Tree::new(&[("a.md", "apple")]);
    update(&crate::knowledge::engine(&tree));
    // The watcher's thread stands still in its first update until it may go on.
    let (arrived, at_work) = unbounded();
    let (go, may_go) = unbounded::<()>();
    let watched = watch_telling(&tree, false, move |_| {
        let _ = arrived.send(());
        let _ = may_go.recv();
    });
    let engine = &watched.engine;
    tree.write("a.md", "apricot");
    at_work.recv_timeout(PATIENCE).unwrap();
    for file in 0..FILES {
        tree.write(&format!("many/{file}.md"), &format!("plum {file}"));
    }
    drop(go);
    watched.until(|| documents(engine).len() == FILES + 1);
    watched.until(|| {
        let status = call(engine.status()).unwrap();
        status.watch.state == WatchState::Running
            && status.watch.last_error.is_none()
            && status.index.freshness == Freshness::Fresh
    });
    tree.write("many/7.md", "damson");
    watched.until(|| find(engine, "damson") == ["many/7.md"]);
}
