//! What only vector files can get wrong: damage, crashes, other processes, and records that were exchanged.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use ibid_api::Generation;
use rusqlite::Connection;

use super::{EmbeddedStore, OpenOptions, connections::RECORD, opened_vectors::DIRECTORY};
use crate::store::{
    Store, VectorQuery, WriteBatch,
    contract::{batch, by_meaning, document, embedding},
};

const MODEL: &str = "model-a";

fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory, OpenOptions { create: true, read_only: false }).unwrap()
}

/// A direction for each number, far from all others.
fn vector(number: usize) -> Vec<f32> {
    let mut state = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let numbers: Vec<f32> = (0..24).map(|_| next()).collect();
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    numbers.into_iter().map(|number| number / length).collect()
}

/// Documents of one text each, with their vectors.
fn add(store: &EmbeddedStore, numbers: std::ops::Range<usize>) {
    let title = |number: usize| format!("T{number}");
    let files =
        numbers.clone().map(|number| document(&format!("{number}.md"), &title(number), &["text"])).collect();
    let embeddings = numbers.map(|number| embedding(&title(number), "text", &vector(number))).collect();
    store.apply(WriteBatch { embeddings, ..batch(files) }).unwrap();
}

/// Whether a document is the nearest to its own direction.
fn finds(store: &EmbeddedStore, number: usize) -> bool {
    let found = store.nearest(&VectorQuery { limit: 1, ..by_meaning(&vector(number)) }).unwrap();
    let ids: Vec<_> = found.list.iter().map(|one| one.chunk.document).collect();
    let titles = store.summaries(&ids).unwrap();
    assert_eq!(titles.len(), 1, "something is always the nearest");
    titles[0].title == format!("T{number}")
}

/// The directory of the model's files.
fn files(directory: &Path) -> PathBuf {
    let found: Vec<_> = fs::read_dir(directory.join(DIRECTORY)).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// The write that the files include.
fn included(directory: &Path) -> Option<Generation> {
    let index = super::vectors::VectorIndex::open(&files(directory)).ok()??;
    Some(Generation(index.generation()))
}

#[test]
fn settling_writes_files_that_later_writes_follow() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    add(&store, 0..50);
    assert!(!directory.path().join(DIRECTORY).exists());
    assert!(finds(&store, 7));
    store.settle().unwrap();
    assert_eq!(included(directory.path()), Some(store.generation().unwrap()));
    assert!(finds(&store, 7));
    // A crash before settling: a new process answers at once, and catches up.
    add(&store, 50..60);
    store.apply(WriteBatch { remove: vec![("notes".into(), "7.md".into())], ..batch(vec![]) }).unwrap();
    drop(store);
    let store = open(directory.path());
    assert!(included(directory.path()) < Some(store.generation().unwrap()));
    assert!(finds(&store, 55) && !finds(&store, 7));
    store.settle().unwrap();
    assert_eq!(included(directory.path()), Some(store.generation().unwrap()));
    assert!(finds(&store, 55) && !finds(&store, 7));
    // Nothing new, nothing written.
    let before = fs::metadata(files(directory.path()).join("head")).unwrap().modified().unwrap();
    store.settle().unwrap();
    assert_eq!(fs::metadata(files(directory.path()).join("head")).unwrap().modified().unwrap(), before);
}

/// A way to damage the files of a model, with its name.
type Damage = (&'static str, fn(&Path));

fn each_file(directory: &Path, change: impl Fn(&Path, Vec<u8>)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        change(&path, bytes);
    }
}

#[test]
fn damaged_or_missing_files_answer_right_and_heal() {
    let damage: &[Damage] = &[
        ("removed", |index| fs::remove_dir_all(index).unwrap()),
        ("empty folder", |index| {
            fs::remove_dir_all(index).unwrap();
            fs::create_dir(index).unwrap();
        }),
        ("a file instead", |index| {
            fs::remove_dir_all(index).unwrap();
            fs::write(index, "x").unwrap();
        }),
        ("emptied", |index| each_file(index, |path, _| fs::write(path, b"").unwrap())),
        ("cut short", |index| {
            each_file(index, |path, bytes| fs::write(path, &bytes[..bytes.len() / 2]).unwrap());
        }),
        ("garbled", |index| {
            each_file(index, |path, bytes| {
                fs::write(path, bytes.iter().map(|byte| byte ^ 0x5a).collect::<Vec<_>>()).unwrap();
            });
        }),
        ("garbled rows", |index| {
            each_file(index, |path, bytes| {
                if !path.ends_with("head") {
                    fs::write(path, bytes.iter().map(|byte| byte ^ 0x15).collect::<Vec<_>>()).unwrap();
                }
            });
        }),
        ("no head", |index| fs::remove_file(index.join("head")).unwrap()),
    ];
    for (name, damage) in damage {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        add(&store, 0..80);
        store.settle().unwrap();
        drop(store);
        damage(&files(directory.path()));

        let store = open(directory.path());
        assert!(finds(&store, 33), "{name}, damaged");
        assert_eq!(store.count_pending_embeddings(MODEL).unwrap(), 0, "{name}");
        store.settle().unwrap();
        assert_eq!(included(directory.path()), Some(store.generation().unwrap()), "{name}, healed");
        assert!(finds(&store, 33), "{name}, healed");
        let names: Vec<_> =
            fs::read_dir(files(directory.path())).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 4, "{name}: {names:?}");
    }
}

#[test]
fn a_record_that_was_exchanged_does_not_use_the_files_of_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    add(&store, 0..10);
    store.settle().unwrap();
    drop(store);
    let old = directory.path().join("old.sqlite");
    let record = directory.path().join(RECORD);
    fs::copy(&record, &old).unwrap();
    // An older copy of the same record comes back.
    let store = open(directory.path());
    add(&store, 10..20);
    store.apply(WriteBatch { remove: vec![("notes".into(), "3.md".into())], ..batch(vec![]) }).unwrap();
    store.settle().unwrap();
    assert!(!finds(&store, 3));
    drop(store);
    fs::rename(&old, &record).unwrap();
    let store = open(directory.path());
    assert!(finds(&store, 3) && !finds(&store, 15));
    store.settle().unwrap();
    assert!(finds(&store, 3) && !finds(&store, 15));
    assert_eq!(included(directory.path()), Some(store.generation().unwrap()));
    drop(store);
    // Another record altogether.
    fs::remove_file(&record).unwrap();
    let store = open(directory.path());
    add(&store, 30..40);
    assert!(!finds(&store, 3) && finds(&store, 30));
    store.settle().unwrap();
    assert!(!finds(&store, 3) && finds(&store, 30));
    assert_eq!(included(directory.path()), Some(store.generation().unwrap()));
}

#[test]
fn removals_that_are_forgotten_make_the_files_anew() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    add(&store, 0..10);
    store.settle().unwrap();
    store.apply(WriteBatch { remove: vec![("notes".into(), "3.md".into())], ..batch(vec![]) }).unwrap();
    let connection = Connection::open(directory.path().join(RECORD)).unwrap();
    connection.execute_batch("DELETE FROM removed; UPDATE state SET pruned_generation = generation").unwrap();
    assert!(!finds(&store, 3));
    store.settle().unwrap();
    assert!(!finds(&store, 3));
}

#[test]
fn files_are_compacted_as_documents_go() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    add(&store, 0..2_500);
    store.settle().unwrap();
    let bytes = || -> u64 {
        let entries = fs::read_dir(files(directory.path())).unwrap();
        entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    };
    let before = bytes();
    let remove = (0..2_000).map(|number| ("notes".to_owned(), format!("{number}.md"))).collect();
    store.apply(WriteBatch { remove, ..batch(vec![]) }).unwrap();
    store.settle().unwrap();
    assert!(bytes() < before / 3, "{before} bytes became {}", bytes());
    assert!(finds(&store, 2_200) && !finds(&store, 1_200));
}

#[test]
fn a_process_that_only_reads_answers_with_files_and_without() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    add(&store, 0..20);
    store.settle().unwrap();
    add(&store, 20..30);
    drop(store);
    let reader =
        EmbeddedStore::open(directory.path(), OpenOptions { create: false, read_only: true }).unwrap();
    assert!(finds(&reader, 5) && finds(&reader, 25));
}

#[test]
fn readers_find_everything_while_a_writer_works() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, reader) = (open(directory.path()), open(directory.path()));
    add(&writer, 0..100);
    writer.settle().unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|start| {
                let (reader, done) = (&reader, &done);
                scope.spawn(move || {
                    let mut number = start;
                    while !done.load(Ordering::Relaxed) {
                        number = (number + 7) % 100;
                        assert!(finds(reader, number), "{number}");
                    }
                })
            })
            .collect();
        for round in 1..15 {
            // Elsewhere than what the readers look for.
            add(&writer, 100 + round * 10..110 + round * 10);
            if round % 3 == 0 {
                let remove = vec![("notes".to_owned(), format!("{}.md", 90 + round * 10))];
                writer.apply(WriteBatch { remove, ..batch(vec![]) }).unwrap();
            }
            writer.settle().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        for thread in readers {
            thread.join().unwrap();
        }
    });
}

#[test]
fn counting_what_waits_needs_no_look_at_every_text() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    add(&store, 0..30);
    store.apply(batch(vec![document("new.md", "New", &["one", "two"])])).unwrap();
    store.settle().unwrap();
    let writes: [WriteBatch; 4] = [
        WriteBatch { embeddings: vec![embedding("New", "one", &vector(91))], ..WriteBatch::default() },
        WriteBatch { embeddings: vec![embedding("New", "two", &vector(92))], ..WriteBatch::default() },
        batch(vec![document("more.md", "More", &["three", "four", "three"])]),
        WriteBatch { embeddings: vec![embedding("More", "four", &vector(93))], ..WriteBatch::default() },
    ];
    for (batch, want) in writes.into_iter().zip([1, 0, 2, 1]) {
        store.apply(batch).unwrap();
        // A new process each time, which knows only what the files say.
        let fresh = open(directory.path());
        let record = fresh.connections.read(super::read::state).unwrap().record;
        let counted = fresh.vectors.open(record, MODEL).unwrap().counted();
        assert!(counted.is_some());
        let cheap = fresh
            .connections
            .snapshot(|connection| fresh.pending.count_without_scan(connection, MODEL, counted))
            .unwrap();
        assert_eq!(cheap, Some(want));
        assert_eq!(open(directory.path()).count_pending_embeddings(MODEL).unwrap(), want);
        store.settle().unwrap();
    }
}
