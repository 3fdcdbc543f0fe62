//! Indexing: what is read, what is written, what is left alone.

use std::{
    fs::{self, File},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use ibid_api::{Engine as _, ErrorCode, FileOutcome, Freshness, IndexScope, SkipReason, WarningCode};
use ibid_core::{
    LocalEngine, SourceConfig,
    ingest::{Progress, Silent, Step},
};

use crate::{
    knowledge::{
        NOTES, age, call, config, counts, documents, engine, find, outcomes, paths, request, update,
    },
    tree::{Tree, fingerprint},
};

fn aged(files: &[(&str, &str)]) -> Tree {
    let tree = Tree::new(files);
    for (path, _) in files {
        age(&tree.path(path));
    }
    tree
}

#[test]
fn an_unchanged_tree_is_not_read_again() {
    let tree = aged(&[("a.md", "# Alpha\n\napple"), ("b/c.md", "# Beta\n\nbanana"), ("d.png", "x")]);
    let engine = engine(&tree);
    let first = update(&engine);
    assert_eq!((counts(&first), first.skipped, first.documents), ((2, 0, 0, 0), 1, 2));
    assert_eq!(engine.files_read(), 2);

    let again = update(&engine);
    assert_eq!((counts(&again), again.skipped), ((0, 0, 0, 2), 1));
    assert_eq!(engine.files_read(), 2, "nothing is read");
    assert_eq!(again.generation, first.generation, "nothing is written");

    // Another process knows as well.
    let other = self::engine(&tree);
    assert_eq!(counts(&update(&other)), (0, 0, 0, 2));
    assert_eq!(other.files_read(), 0);
}

#[test]
fn files_as_young_as_the_index_are_read_to_be_sure_and_then_trusted() {
    let tree = Tree::new(&[("a.md", "apple")]);
    let engine = engine(&tree);
    update(&engine);
    // Same size and same time, other content: what a quick editor can do within one tick.
    let time = fs::metadata(tree.path("a.md")).unwrap().modified().unwrap();
    tree.write("a.md", "grape");
    File::options().write(true).open(tree.path("a.md")).unwrap().set_modified(time).unwrap();
    assert_eq!(counts(&update(&engine)), (0, 1, 0, 0));
    assert_eq!(find(&engine, "grape"), ["a.md"]);
    assert_eq!(find(&engine, "apple"), Vec::<String>::new());
}

#[test]
fn a_file_that_is_only_touched_is_read_and_keeps_its_document() {
    let tree = aged(&[("a.md", "apple")]);
    let engine = engine(&tree);
    update(&engine);
    let store = engine.store().unwrap();
    let id = |path: &str| {
        let key = ibid_api::DocumentKey::Path(ibid_api::RelPath::parse(path).unwrap());
        store.document(&key).unwrap().unwrap().summary.id
    };
    let before = id("a.md");
    File::options()
        .write(true)
        .open(tree.path("a.md"))
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    assert_eq!(counts(&update(&engine)), (0, 1, 0, 0));
    assert_eq!(id("a.md"), before);
    assert_eq!(counts(&update(&engine)), (0, 0, 0, 1));
    assert_eq!(find(&engine, "apple"), ["a.md"]);
}

#[test]
fn edits_additions_removals_and_moves_are_followed() {
    let tree = aged(&[("a.md", "apple"), ("b.md", "banana"), ("folder/c.md", "cherry")]);
    let engine = engine(&tree);
    update(&engine);

    tree.write("a.md", "apricot instead");
    tree.remove("b.md");
    tree.write("d.md", "damson");
    tree.rename("folder", "moved/deep");
    let reply = update(&engine);
    assert_eq!(counts(&reply), (2, 1, 2, 0));
    assert_eq!(documents(&engine), ["a.md", "d.md", "moved/deep/c.md"]);
    for (query, want) in [
        ("apple", vec![]),
        ("apricot", vec!["a.md"]),
        ("banana", vec![]),
        ("damson", vec!["d.md"]),
        ("cherry", vec!["moved/deep/c.md"]),
    ] {
        assert_eq!(find(&engine, query), want, "{query}");
    }
}

#[test]
fn a_file_becomes_a_folder_and_a_folder_a_file() {
    let tree = aged(&[("a.md", "apple"), ("b.md/c.md", "cherry")]);
    let engine = engine(&tree);
    update(&engine);
    tree.remove("a.md");
    tree.write("a.md/x.md", "xigua");
    fs::remove_dir_all(tree.path("b.md")).unwrap();
    tree.write("b.md", "banana");
    update(&engine);
    assert_eq!(documents(&engine), ["a.md/x.md", "b.md"]);
}

#[test]
fn some_paths_are_updated_without_looking_at_others() {
    let tree = aged(&[("a.md", "apple"), ("b/c.md", "cherry"), ("b/d.md", "damson")]);
    let engine = engine(&tree);
    update(&engine);
    tree.write("a.md", "apricot");
    tree.write("b/c.md", "cranberry");
    tree.remove("b/d.md");
    tree.write("b/e/f.md", "fig");

    let reply = engine.index_blocking(&request(paths(&["b", "missing", "b/c.md"])), &Silent).unwrap();
    assert_eq!(counts(&reply), (1, 1, 1, 0));
    assert_eq!(documents(&engine), ["a.md", "b/c.md", "b/e/f.md"]);
    assert_eq!(find(&engine, "apple"), ["a.md"], "not asked for");
    assert_eq!(find(&engine, "cranberry"), ["b/c.md"]);

    assert_eq!(counts(&update(&engine)), (0, 1, 0, 2));
    assert_eq!(find(&engine, "apricot"), ["a.md"]);

    let unknown = IndexScope::Paths { source: "other".to_owned(), paths: Vec::new() };
    let error = engine.index_blocking(&request(unknown), &Silent).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn many_paths_at_once_are_the_same_as_each_alone() {
    let tree = Tree::new(&[]);
    let names: Vec<String> = (0..100).map(|index| format!("folder{}/note{index}.md", index % 7)).collect();
    for name in &names {
        tree.write(name, "before");
    }
    let engine = engine(&tree);
    update(&engine);
    for (index, name) in names.iter().enumerate() {
        if index % 3 == 0 { tree.remove(name) } else { tree.write(name, "after all") }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let reply = engine.index_blocking(&request(paths(&names)), &Silent).unwrap();
    assert_eq!(counts(&reply), (0, 66, 34, 0));
}

#[test]
fn a_missing_root_deletes_nothing() {
    let tree = aged(&[("a.md", "apple")]);
    let engine = engine(&tree);
    update(&engine);
    let away = tree.beside("away");
    fs::rename(tree.root(), &away).unwrap();
    for scope in [IndexScope::Changes, IndexScope::Everything, paths(&["a.md"])] {
        let error = engine.index_blocking(&request(scope), &Silent).unwrap_err();
        assert_eq!(error.code, ErrorCode::VaultNotConfigured);
    }
    assert_eq!(find(&engine, "apple"), ["a.md"]);
    let status = call(engine.status()).unwrap();
    assert!(!status.sources[0].available);
    assert_eq!(status.index.freshness, Freshness::Stale);

    // An empty folder in its place is not the source emptied: a disk may not be mounted.
    fs::create_dir(tree.root()).unwrap();
    assert!(engine.index_blocking(&request(IndexScope::Changes), &Silent).is_err());
    assert_eq!(find(&engine, "apple"), ["a.md"]);

    fs::remove_dir(tree.root()).unwrap();
    fs::rename(&away, tree.root()).unwrap();
    assert_eq!(counts(&update(&engine)), (0, 0, 0, 1));
    // Emptied in place, it is empty.
    tree.remove("a.md");
    assert_eq!(counts(&update(&engine)), (0, 0, 1, 0));
}

#[test]
fn one_missing_source_does_not_keep_the_others_back() {
    let tree = aged(&[("a.md", "apple")]);
    fs::create_dir(tree.beside("second")).unwrap();
    fs::write(tree.beside("second/b.md"), "banana").unwrap();
    let both = config(&tree).with_source(SourceConfig::new("second", tree.beside("second")));
    let engine = LocalEngine::open(both).unwrap();
    assert_eq!(update(&engine).documents, 2);
    fs::rename(tree.beside("second"), tree.beside("away")).unwrap();
    tree.write("a.md", "apricot");
    let reply = update(&engine);
    assert_eq!(counts(&reply), (0, 1, 0, 0));
    assert_eq!(reply.warnings[0].code, WarningCode::SourceUnavailable);
    assert_eq!(find(&engine, "banana"), ["b.md"]);

    // A source that is configured no more is forgotten.
    let engine = self::engine(&tree);
    update(&engine);
    assert_eq!(documents(&engine), ["a.md"]);
}

#[test]
fn every_file_is_accounted_for() {
    let tree = Tree::new(&[
        ("good.md", "apple"),
        ("empty.md", ""),
        ("blank.md", " \n\n"),
        ("picture.png", "x"),
        ("large.md", &"x".repeat(3 * 1024 * 1024)),
    ]);
    fs::write(tree.path("binary.md"), b"a\0b\0c").unwrap();
    let engine = engine(&tree);
    let reply = update(&engine);
    let skipped = |reason| FileOutcome::Skipped { reason };
    let outcomes = outcomes(&engine);
    for (path, want) in [
        ("good.md", FileOutcome::Indexed { chunks: 1 }),
        ("empty.md", skipped(SkipReason::Empty)),
        ("blank.md", skipped(SkipReason::Empty)),
        ("picture.png", skipped(SkipReason::UnsupportedType)),
        ("large.md", skipped(SkipReason::TooLarge)),
        ("binary.md", skipped(SkipReason::Binary)),
    ] {
        assert_eq!(outcomes.get(path), Some(&want), "{path}");
    }
    assert_eq!(outcomes.len(), 6);
    assert_eq!((reply.added, reply.skipped, reply.failed), (1, 5, 0));
    let mut codes: Vec<_> = reply.warnings.iter().map(|warning| warning.code).collect();
    codes.sort_by_key(|code| format!("{code:?}"));
    assert_eq!(codes, [WarningCode::FileBinary, WarningCode::FileTooLargeForIndexing]);
    // Names of files without text can be found.
    assert_eq!(documents(&engine), ["blank.md", "empty.md", "good.md", "large.md"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_fails_alone_and_is_tried_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = aged(&[("a.md", "apple"), ("b.md", "banana")]);
    let forbid = |mode| fs::set_permissions(tree.path("a.md"), fs::Permissions::from_mode(mode)).unwrap();
    forbid(0o000);
    if File::open(tree.path("a.md")).is_ok() {
        eprintln!("skipped: permissions do not bind this user");
        return;
    }
    let engine = engine(&tree);
    let reply = update(&engine);
    assert_eq!((reply.added, reply.failed), (1, 1));
    assert!(matches!(outcomes(&engine)["a.md"], FileOutcome::Failed { .. }));
    assert_eq!(update(&engine).generation, reply.generation, "the same failure is not written twice");
    forbid(0o644);
    update(&engine);
    assert_eq!(find(&engine, "apple"), ["a.md"]);
}

#[test]
fn the_source_is_never_written() {
    let tree = aged(&[("a.md", "[[b]]"), ("b.md", "banana"), ("c/.gitignore", "x\n"), ("c/d.png", "x")]);
    #[cfg(unix)]
    tree.link("link.md", "a.md");
    let before = fingerprint(&tree.root());
    set_writable(&tree, false);
    let engine = engine(&tree);
    update(&engine);
    engine.index_blocking(&request(IndexScope::Everything), &Silent).unwrap();
    find(&engine, "banana");
    let key = ibid_api::DocumentKey::Path(ibid_api::RelPath::parse("a.md").unwrap());
    call(engine.document(key, 1_000)).unwrap();
    set_writable(&tree, true);
    assert_eq!(fingerprint(&tree.root()), before);
}

/// Makes the folders of a tree read-only, or writable as they were.
fn set_writable(tree: &Tree, writable: bool) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for folder in [tree.root(), tree.path("c")] {
            let mode = if writable { 0o755 } else { 0o555 };
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
    #[cfg(not(unix))]
    let _ = (tree, writable);
}

/// Asks to stop after so many steps forward.
struct StopAfter(AtomicU64);

impl Progress for StopAfter {
    fn begin(&self, step: Step, _: Option<u64>) {
        if step == Step::Parse {
            self.0.fetch_or(1 << 32, Ordering::Relaxed);
        }
    }

    fn advance(&self, by: u64) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left >> 32 == 1).then(|| (left & 0xFFFF_FFFF).saturating_sub(by) | 1 << 32)
        });
    }

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1 << 32
    }
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_did() {
    let tree = Tree::new(&[]);
    for index in 0..1_000 {
        tree.write(&format!("note{index:04}.md"), &format!("number{index} of many"));
    }
    let engine = engine(&tree);
    let stop = StopAfter(AtomicU64::new(600));
    let error = engine.index_blocking(&request(IndexScope::Changes), &stop).unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled);
    let kept = documents(&engine).len();
    assert!((600..1_000).contains(&kept), "{kept}");
    assert_eq!(find(&engine, "number0")[0], "note0000.md", "what was done is searchable");
    assert_eq!(call(engine.status()).unwrap().index.freshness, Freshness::Stale);
    // A later process is told as well.
    assert_eq!(call(self::engine(&tree).status()).unwrap().index.freshness, Freshness::Stale);

    let reply = update(&engine);
    assert_eq!(reply.added, 1_000 - kept as u64);
    assert_eq!(documents(&engine).len(), 1_000);
    assert_eq!(call(engine.status()).unwrap().index.freshness, Freshness::Fresh);
    assert_eq!(call(self::engine(&tree).status()).unwrap().index.freshness, Freshness::Unknown);
}

#[test]
fn dropping_the_call_stops_the_work() {
    let tree = Tree::new(&[]);
    for index in 0..2_000 {
        tree.write(&format!("note{index:04}.md"), &"some words to parse\n\n".repeat(50));
    }
    let engine = engine(&tree);
    call(async {
        let indexing = engine.index(request(IndexScope::Changes));
        // Polled once, so that the work begins, and dropped.
        tokio::select! {
            biased;
            _ = indexing => {}
            () = std::future::ready(()) => {}
        }
    });
    // The next run takes over from wherever the first one stopped.
    let reply = update(&engine);
    assert_eq!(reply.documents, 2_000);
}

#[test]
fn equal_trees_give_equal_indexes() {
    let numbered = || {
        let tree = Tree::new(&[]);
        for index in 0..300 {
            tree.write(&format!("f{}/n{index}.md", index % 13), &"word ".repeat((index * 7919) % 500 + 1));
        }
        let engine = engine(&tree);
        update(&engine);
        let store = engine.store().unwrap();
        let page = store
            .documents(&ibid_api::DocumentFilter::default(), ibid_api::Paging { limit: 1_000, offset: 0 })
            .unwrap();
        page.items.into_iter().map(|document| (document.id, document.path)).collect::<Vec<_>>()
    };
    assert_eq!(numbered(), numbered());
}

#[test]
fn an_index_inside_its_source_does_not_index_itself() {
    let tree = aged(&[("a.md", "apple")]);
    let mut config = config(&tree);
    config.data_dir = tree.path("index");
    let engine = LocalEngine::open(config).unwrap();
    update(&engine);
    update(&engine);
    assert_eq!(outcomes(&engine).into_keys().collect::<Vec<_>>(), ["a.md"]);
}

#[test]
fn two_sources_may_have_files_of_the_same_name() {
    let tree = aged(&[("a.md", "apple")]);
    fs::create_dir(tree.beside("second")).unwrap();
    fs::write(tree.beside("second/a.md"), "apple pie").unwrap();
    let both = config(&tree).with_source(SourceConfig::new("second", tree.beside("second")));
    let engine = LocalEngine::open(both).unwrap();
    assert_eq!(update(&engine).documents, 2);
    let status = call(engine.status()).unwrap();
    let names: Vec<_> = status.sources.iter().map(|source| (source.name.as_str(), source.indexed)).collect();
    assert_eq!(names, [(NOTES, 1), ("second", 1)]);
}
