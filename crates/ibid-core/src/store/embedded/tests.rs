//! What only this store can get wrong: files, processes and crashes.

use std::{fs, path::Path, sync::Arc, thread};

use ibid_api::{Filter, Generation, Paging};
use rusqlite::Connection;

use super::{EmbeddedStore, OpenOptions, StoreError, connections::RECORD, lexical::DIRECTORY};
use crate::store::{
    LexicalQuery, Store, WriteBatch,
    contract::{self, batch, document, words},
};

const CREATE: OpenOptions = OpenOptions { create: true, read_only: false };
const READ: OpenOptions = OpenOptions { create: false, read_only: true };

fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory, CREATE).unwrap()
}

fn add(store: &EmbeddedStore, path: &str, text: &str) {
    store.apply(batch(vec![document(path, path, &[text])])).unwrap();
}

fn count(store: &EmbeddedStore, text: &str) -> usize {
    store.lexical(&words(text)).unwrap().list.len()
}

/// A store that takes its directory with it.
struct Temporary {
    store: EmbeddedStore,
    _directory: tempfile::TempDir,
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        impl Store for Temporary {
            $(fn $name(&self $(, $argument: $kind)*) -> crate::store::StoreResult<$result> {
                self.store.$name($($argument),*)
            })*
        }
    };
}

forward! {
    apply(batch: WriteBatch) -> crate::store::Applied;
    settle() -> Generation;
    generation() -> Generation;
    summary() -> crate::store::StoreSummary;
    setting(name: &str) -> Option<String>;
    stored_files(source: &str) -> Vec<crate::store::StoredFile>;
    file_reports(paging: Paging) -> ibid_api::Page<ibid_api::FileReport>;
    document(key: &ibid_api::DocumentKey) -> Option<crate::store::StoredDocument>;
    summaries(ids: &[ibid_api::DocumentId]) -> Vec<ibid_api::DocumentSummary>;
    documents(filter: &ibid_api::DocumentFilter, paging: Paging) -> ibid_api::Page<ibid_api::DocumentSummary>;
    chunks(refs: &[ibid_api::ChunkRef]) -> Vec<crate::store::StoredChunk>;
    chunks_of(document: ibid_api::DocumentId) -> Vec<crate::store::StoredChunk>;
    named(name: &str) -> Vec<ibid_api::DocumentSummary>;
    called(names: &[&str], most: usize) -> Vec<ibid_api::DocumentId>;
    links_from(document: ibid_api::DocumentId) -> Vec<crate::store::StoredLink>;
    links_to(document: ibid_api::DocumentId) -> Vec<ibid_api::DocumentId>;
    lexical(query: &LexicalQuery) -> crate::store::Candidates;
    similar_terms(term: &str, limit: usize) -> Vec<(String, u64)>;
    nearest(query: &crate::store::VectorQuery) -> crate::store::Candidates;
    pending_embeddings(model: &str, limit: usize) -> Vec<crate::store::Pending>;
    count_pending_embeddings(model: &str) -> u64;
    embedding_length(model: &str) -> Option<usize>;
    embeddings(model: &str, hashes: &[ibid_api::ContentHash]) -> Vec<Option<Vec<f32>>>;
}

#[test]
fn the_embedded_store_does_what_every_backend_must() {
    contract::run_all(|| {
        let directory = tempfile::tempdir().unwrap();
        Box::new(Temporary { store: open(directory.path()), _directory: directory })
    });
}

#[test]
fn a_second_handle_sees_what_the_first_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (open(directory.path()), open(directory.path()));
    assert_eq!(count(&second, "alpha"), 0);
    add(&first, "a.md", "alpha");
    let answer = second.lexical(&words("alpha")).unwrap();
    assert!(answer.behind && answer.list.is_empty());
    assert_eq!(second.documents(&ibid_api::DocumentFilter::default(), Paging::default()).unwrap().total, 1);
    first.settle().unwrap();
    assert_eq!(count(&second, "alpha"), 1);
    // And the other way round, on top of what is open already.
    add(&second, "b.md", "alpha");
    first.settle().unwrap();
    for store in [&first, &second] {
        assert_eq!(count(store, "alpha"), 2);
    }
}

#[test]
fn a_crash_between_writing_and_settling_heals() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    add(&store, "a.md", "alpha");
    store.settle().unwrap();
    add(&store, "a.md", "beta");
    add(&store, "b.md", "alpha");
    store
        .apply(WriteBatch { remove: vec![("notes".into(), "b.md".into())], ..WriteBatch::default() })
        .unwrap();
    drop(store);

    let store = open(directory.path());
    let answer = store.lexical(&words("alpha")).unwrap();
    assert!(answer.behind, "it must be said that the index lags");
    store.settle().unwrap();
    assert_eq!((count(&store, "alpha"), count(&store, "beta")), (0, 1));
    assert!(!store.lexical(&words("beta")).unwrap().behind);
}

/// A way to damage an index, with its name.
type Damage = (&'static str, fn(&Path));

#[test]
fn a_missing_or_garbled_index_heals() {
    let damage: &[Damage] = &[
        ("removed", |index| fs::remove_dir_all(index).unwrap()),
        ("empty", |index| {
            fs::remove_dir_all(index).unwrap();
            fs::create_dir(index).unwrap();
        }),
        ("a file", |index| {
            fs::remove_dir_all(index).unwrap();
            fs::write(index, "x").unwrap();
        }),
        ("no list", |index| fs::write(index.join("meta.json"), "{").unwrap()),
        ("cut off", |index| {
            for entry in fs::read_dir(index).unwrap().flatten() {
                fs::OpenOptions::new().write(true).open(entry.path()).unwrap().set_len(3).unwrap();
            }
        }),
        ("other record", |index| {
            let meta = fs::read_to_string(index.join("meta.json")).unwrap();
            let start = meta.find("\"payload\"").unwrap();
            let garbled = format!("{}\"payload\": \"1 {} 2\"}}", &meta[..start], "0".repeat(32));
            fs::write(index.join("meta.json"), garbled).unwrap();
        }),
    ];
    for (name, damage) in damage {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        add(&store, "a.md", "alpha");
        store.settle().unwrap();
        add(&store, "b.md", "alpha");
        store.settle().unwrap();
        drop(store);
        damage(&directory.path().join(DIRECTORY));

        let store = open(directory.path());
        let answer = store.lexical(&words("alpha")).unwrap();
        assert!(answer.behind && answer.list.is_empty(), "{name}");
        store.settle().unwrap();
        assert_eq!(count(&store, "alpha"), 2, "{name}");
        assert!(!store.lexical(&words("alpha")).unwrap().behind, "{name}");
    }
}

#[test]
fn bytes_garbled_inside_the_index_never_fail_a_search() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for n in 0..50 {
        add(&store, &format!("{n}.md"), &format!("alpha beta gamma word{n}"));
    }
    store.settle().unwrap();
    drop(store);
    for entry in fs::read_dir(directory.path().join(DIRECTORY)).unwrap().flatten() {
        let mut bytes = fs::read(entry.path()).unwrap();
        let footer = bytes.len().saturating_sub(120);
        if entry.path().extension().is_some_and(|extension| extension != "json") {
            bytes[..footer].iter_mut().for_each(|byte| *byte ^= 0x5a);
            fs::write(entry.path(), bytes).unwrap();
        }
    }
    let store = open(directory.path());
    let answer = store.lexical(&words("alpha word7")).unwrap();
    if answer.behind {
        store.settle().unwrap();
        assert_eq!(store.lexical(&words("alpha word7")).unwrap().list.len(), 20);
    }
}

#[test]
fn an_index_that_is_ahead_of_an_older_record_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let store = open(directory.path());
    add(&store, "a.md", "alpha");
    store.settle().unwrap();
    Connection::open(directory.path().join(RECORD))
        .unwrap()
        .execute("VACUUM INTO ?1", [copy.to_str().unwrap()])
        .unwrap();
    add(&store, "b.md", "alpha");
    store.settle().unwrap();
    drop(store);
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(directory.path().join(format!("{RECORD}{suffix}")));
    }
    fs::rename(copy, directory.path().join(RECORD)).unwrap();

    let store = open(directory.path());
    store.settle().unwrap();
    assert_eq!(count(&store, "alpha"), 1);
}

#[test]
fn removals_are_forgotten_once_the_index_has_seen_them() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let files = (0..1200).map(|n| document(&format!("{n}.md"), "T", &["alpha"])).collect();
    store.apply(batch(files)).unwrap();
    store.settle().unwrap();
    let forget = WriteBatch { forget_sources: vec!["notes".into()], ..WriteBatch::default() };
    store.apply(forget).unwrap();
    store.settle().unwrap();
    let listed: i64 = Connection::open(directory.path().join(RECORD))
        .unwrap()
        .query_row("SELECT count(*) FROM removed", [], |row| row.get(0))
        .unwrap();
    assert_eq!((listed, count(&store, "alpha")), (0, 0));
    add(&store, "a.md", "alpha");
    store.settle().unwrap();
    assert_eq!(count(&store, "alpha"), 1);
}

#[test]
fn unused_embeddings_are_dropped_after_a_month() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let vector = |text: &str| crate::store::EmbeddingWrite {
        hash: ibid_api::ContentHash::of(text.as_bytes()),
        model: "m".into(),
        vector: vec![1.0],
    };
    let embeddings = vec![vector("a.md\nalpha"), vector("unused")];
    store.apply(WriteBatch { embeddings, ..batch(vec![document("a.md", "a.md", &["alpha"])]) }).unwrap();
    let connection = Connection::open(directory.path().join(RECORD)).unwrap();
    let left =
        || -> i64 { connection.query_row("SELECT count(*) FROM embeddings", [], |row| row.get(0)).unwrap() };
    let day = 24 * 60 * 60 * 1000;
    for (days, want) in [(0, 2), (29, 2), (31, 1), (90, 1)] {
        super::embeddings::sweep(&connection, days * day).unwrap();
        assert_eq!(left(), want, "after {days} days");
    }
    assert!(store.embeddings("m", &[vector("a.md\nalpha").hash]).unwrap()[0].is_some());
}

#[test]
fn a_read_only_store_reads_and_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(EmbeddedStore::open(directory.path(), READ), Err(StoreError::Missing)));
    assert!(matches!(
        EmbeddedStore::open(directory.path(), OpenOptions::default()),
        Err(StoreError::Missing)
    ));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);

    let store = open(directory.path());
    add(&store, "a.md", "alpha");
    store.settle().unwrap();
    drop(store);
    let listing = || -> Vec<_> {
        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = listing();
    let store = EmbeddedStore::open(directory.path(), READ).unwrap();
    assert_eq!(count(&store, "alpha"), 1);
    assert_eq!(store.settle().unwrap(), Generation(1));
    assert!(matches!(store.apply(WriteBatch::default()), Err(StoreError::ReadOnly)));
    drop(store);
    assert_eq!(
        listing().iter().filter(|name| !name.to_string_lossy().contains("record.sqlite-")).count(),
        before.len()
    );
}

#[test]
fn a_record_of_a_newer_version_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    Connection::open(directory.path().join(RECORD))
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    let outcome = EmbeddedStore::open(directory.path(), CREATE);
    assert!(matches!(outcome, Err(StoreError::TooNew { found: 99, known: 1 })), "{outcome:?}");
}

#[test]
fn a_file_that_is_no_record_is_reported_and_left_alone() {
    for (bytes, name) in [(vec![b'x'; 5000], "garbage"), (b"SQLite format 3\0broken".repeat(99), "broken")] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(RECORD);
        fs::write(&file, &bytes).unwrap();
        for options in [CREATE, READ] {
            let outcome = EmbeddedStore::open(directory.path(), options);
            assert!(matches!(outcome, Err(StoreError::Corrupt(_))), "{name}: {outcome:?}");
        }
        assert_eq!(fs::read(&file).unwrap(), bytes, "{name}");
    }
    let directory = tempfile::tempdir().unwrap();
    let foreign = Connection::open(directory.path().join(RECORD)).unwrap();
    foreign.execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(EmbeddedStore::open(directory.path(), CREATE), Err(StoreError::Corrupt(_))));
}

#[test]
fn a_record_of_version_1_opens_and_answers() {
    let directory = tempfile::tempdir().unwrap();
    let dump = include_str!("../../../../../fixtures/record/v1.sql");
    Connection::open(directory.path().join(RECORD)).unwrap().execute_batch(dump).unwrap();
    let store = open(directory.path());
    assert!(store.lexical(&words("bread")).unwrap().behind);
    store.settle().unwrap();
    assert_eq!(count(&store, "bread"), 1);
    let page = store.documents(&ibid_api::DocumentFilter::default(), Paging::default()).unwrap();
    let titles: Vec<_> = page.items.iter().map(|item| item.title.as_str()).collect();
    assert_eq!(titles, ["Baking", "Flour"]);
    let links = store.links_from(page.items[0].id).unwrap();
    assert_eq!(links[0].target.as_ref().map(|(_, path, _)| path.as_str()), Some("kitchen/flour.md"));
    let tagged = Filter { tags: vec!["food".into()], ..Filter::default() };
    assert_eq!(store.lexical(&LexicalQuery { filter: tagged, ..words("flour") }).unwrap().list.len(), 2);
    assert_eq!(store.count_pending_embeddings("all-minilm-l6-v2").unwrap(), 1);
    add(&store, "new.md", "bread");
    store.settle().unwrap();
    assert_eq!(count(&store, "bread"), 2);
}

#[test]
fn readers_and_writers_do_not_disturb_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    let second = Arc::new(open(directory.path()));
    add(&store, "start.md", "alpha");
    store.settle().unwrap();
    let writers = [(&store, "x"), (&second, "y")].map(|(store, name)| {
        let store = Arc::clone(store);
        thread::spawn(move || {
            for n in 0..12 {
                add(&store, &format!("{name}{n}.md"), "alpha beta");
                store.settle().unwrap();
            }
        })
    });
    let readers: Vec<_> = (0..8)
        .map(|n| {
            let store = Arc::clone(if n % 2 == 0 { &store } else { &second });
            thread::spawn(move || {
                let mut last = Generation::default();
                for _ in 0..40 {
                    let answer = store.lexical(&words("alpha")).unwrap();
                    assert!(!answer.list.is_empty());
                    assert!(answer.generation >= last, "an answer was older than the one before");
                    last = answer.generation;
                    store.documents(&ibid_api::DocumentFilter::default(), Paging::default()).unwrap();
                    store.summary().unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().chain(readers).for_each(|thread| thread.join().unwrap());
    store.settle().unwrap();
    let all = LexicalQuery { limit: 100, ..words("alpha") };
    for store in [&store, &second] {
        assert_eq!(store.lexical(&all).unwrap().list.len(), 25);
    }
}
