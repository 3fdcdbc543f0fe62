//! The watcher, on real file events.

use std::{
    fs,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, unbounded};
use ibid_api::{Engine as _, Freshness, IndexReply, Result, WatchState};
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

/// Watches a tree that is indexed already, quick to react.
fn watch(tree: &Tree, catch_up: bool) -> Watched {
    let mut config = config(tree);
    config.watch =
        WatchConfig { debounce: Duration::from_millis(50), max_batch_delay: Duration::from_millis(500) };
    let engine = LocalEngine::open(config).unwrap();
    let (sender, updates) = unbounded();
    let options = WatchOptions {
        heartbeat: Duration::from_millis(100),
        catch_up,
        on_update: Some(Box::new(move |reply| {
            let _ = sender.send(reply.clone());
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
