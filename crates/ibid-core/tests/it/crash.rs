//! Processes that are killed, and processes that write and read at once.

use std::{
    collections::BTreeMap,
    fs,
    process::{Child, ChildStdout},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ibid_api::{DocumentFilter, DocumentKey, Engine as _, Filter, Freshness, Paging, RelPath};
use ibid_core::{LocalEngine, ingest::Silent, store::VectorQuery};

use crate::{
    children::{Place, Role, done, long, note, number_in},
    knowledge::{call, find, update},
    tiny_model,
    tree::Tree,
};

/// A different point to be killed at each time, spread evenly.
struct Points(u64);

impl Points {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Self(now.as_nanos() as u64 | 1)
    }

    fn next(&mut self, below: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        below.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let rounds = if long() { 200 } else { 20 };
    let tree = Tree::new(&[]);
    for index in 0..300 {
        tree.write(&format!("filler/f{index}.md"), &"filling words to parse and to store\n\n".repeat(40));
    }
    let mut points = Points::new();
    let mut next = 1;
    let mut killed_early = 0;
    for round in 0..rounds {
        // Every fourth round begins with an index that does not exist yet.
        if round % 4 == 0 {
            fs::remove_dir_all(tree.data()).ok();
        }
        let place = Place { root: tree.root(), data: tree.data() };
        let mut child = place.start(Role::Endless, next, Duration::ZERO);
        let stdout = child.stdout.take().unwrap();
        let acknowledged = killed_after(child, stdout, points.next(Duration::from_millis(700)));
        let last = acknowledged.last().copied();
        killed_early += u64::from(last.is_none());
        check_round(&place, next, last, round);
        next = last.unwrap_or(next) + 100;
    }
    assert!(killed_early < rounds, "no round got anywhere");
}

/// What a child said was done before it was killed.
fn killed_after(mut child: Child, stdout: ChildStdout, wait: Duration) -> Vec<u64> {
    let killer = std::thread::spawn(move || {
        let start = Instant::now();
        while start.elapsed() < wait {
            std::thread::park_timeout(wait.saturating_sub(start.elapsed()));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let acknowledged = done(stdout).collect();
    killer.join().unwrap();
    acknowledged
}

#[test]
fn a_killed_process_that_embeds_leaves_right_answers_and_repeats_nothing() {
    let rounds = if long() { 150 } else { 15 };
    let tree = Tree::new(&[]);
    for index in 0..60 {
        tree.write(&format!("filler/f{index}.md"), &format!("# Filler {index}\n\nwords of page {index}\n"));
    }
    tiny_model::write(tree.root().parent().unwrap(), "tiny", 5);
    let place = Place { root: tree.root(), data: tree.data() };
    let (mut points, mut next, mut embedded) = (Points::new(), 1, 0);
    for round in 0..rounds {
        let mut child = place.start(Role::Embedding, next, Duration::ZERO);
        let stdout = child.stdout.take().unwrap();
        let acknowledged = killed_after(child, stdout, points.next(Duration::from_millis(700)));
        next = acknowledged.last().copied().unwrap_or(next) + 100;
        embedded += acknowledged.len();
        let engine = place.engine_with_model();
        // An engine that finds no index says so; there is nothing to check yet.
        if engine.store().is_err() {
            continue;
        }
        nearest_is_right(&engine, round);
        update(&engine);
        let waiting = call(engine.status()).unwrap().index.embeddings_missing;
        let done = engine.embed_pending_blocking(&Silent, None).unwrap();
        assert_eq!((done.embedded, done.remaining), (waiting, 0), "round {round}");
        nearest_is_right(&engine, round);
    }
    assert!(embedded > 0, "no round got anywhere");
}

/// Compares what a search by meaning finds with plain arithmetic over everything stored.
fn nearest_is_right(engine: &LocalEngine, round: u64) {
    let store = engine.store().unwrap();
    let model = call(engine.status()).unwrap().index.embedding_model.unwrap();
    let page = store.documents(&DocumentFilter::default(), Paging { offset: 0, limit: 1_000 }).unwrap();
    let mut stored = Vec::new();
    for document in page.items {
        for chunk in store.chunks_of(document.id).unwrap() {
            let vector = store.embeddings(&model, &[chunk.hash]).unwrap().remove(0);
            stored.extend(vector.map(|vector| (chunk.chunk, vector)));
        }
    }
    for (_, vector) in stored.iter().step_by(9) {
        let score = |other: &[f32]| other.iter().zip(vector).map(|(left, right)| left * right).sum::<f32>();
        let mut best: Vec<_> = stored.iter().map(|(chunk, other)| (score(other), *chunk)).collect();
        best.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let query = VectorQuery {
            model: model.clone(),
            vector: vector.clone(),
            filter: Filter::default(),
            without_document: None,
            limit: 5,
        };
        let found = store.nearest(&query).unwrap().list;
        assert_eq!(found.len(), best.len().min(5), "round {round}");
        for (found, best) in found.iter().zip(&best) {
            // Texts may be equally near; how near is what counts.
            assert!((found.score - best.0).abs() < 1e-3, "round {round}: {found:?} instead of {best:?}");
        }
    }
}

fn check_round(place: &Place, first: u64, last: Option<u64>, round: u64) {
    let engine = place.engine();
    // What was acknowledged is there before anything heals it.
    if let Some(last) = last {
        let mut newest = BTreeMap::new();
        for count in first..=last {
            newest.insert(count % 40, count);
        }
        let store = engine.store().unwrap();
        for (slot, count) in newest {
            let key = DocumentKey::Path(RelPath::parse(&format!("note{slot}.md")).unwrap());
            let document = store.document(&key).unwrap().expect("an acknowledged note is stored");
            let chunks = store.chunks_of(document.summary.id).unwrap();
            let stored = number_in(&chunks[0].text).unwrap();
            assert!(stored >= count, "round {round}: note{slot} has {stored}, {count} was acknowledged");
            let status =
                call(engine.search(ibid_api::SearchRequest::new(format!("slot{slot}x"), 1))).unwrap();
            assert!(!status.hits.is_empty(), "round {round}: note{slot} is not found");
        }
    }
    // The next run heals whatever is left over.
    update(&engine);
    let again = update(&engine);
    assert_eq!((again.added, again.changed, again.removed), (0, 0, 0), "round {round}");
    // An empty note, left by a child that was killed while it wrote, is left out but known by its name.
    assert_eq!(again.unchanged + again.skipped, again.documents, "round {round}");
    let status = call(engine.status()).unwrap();
    assert_eq!(status.index.freshness, Freshness::Fresh, "round {round}");
    assert!(status.warnings.is_empty(), "round {round}: {:?}", status.warnings);
    for entry in fs::read_dir(&place.root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(slot) = name.strip_prefix("note").and_then(|rest| rest.strip_suffix(".md")) else {
            continue;
        };
        // A child that is killed while it writes a note leaves an empty one.
        if fs::metadata(&path).unwrap().len() > 0 {
            assert_eq!(find(&engine, &format!("slot{slot}x"))[0], name, "round {round}");
        }
    }
}

#[test]
fn readers_and_writers_in_many_processes_do_not_disturb_each_other() {
    let time = Duration::from_secs(if long() { 60 } else { 10 });
    let tree = Tree::new(&[]);
    for index in 0..200 {
        tree.write(&format!("filler/f{index}.md"), &"filling words\n\n".repeat(20));
    }
    for name in 0..2 {
        tree.write(&format!("note{name}.md"), &note(name, 0));
    }
    let place = Place { root: tree.root(), data: tree.data() };
    update(&place.engine());
    let mut children = Vec::new();
    for name in 0..2 {
        children.push(("writer", place.start(Role::Writer, name, time)));
    }
    for name in 0..8 {
        children.push(("reader", place.start(Role::Reader, name, time)));
    }
    let mut written = Vec::new();
    for (kind, mut child) in children {
        let said = done(child.stdout.take().unwrap()).last();
        assert!(child.wait().unwrap().success(), "a {kind} failed");
        let said = said.unwrap_or_default();
        assert!(said > 0, "a {kind} got nothing done");
        if kind == "writer" {
            written.push(said);
        }
    }
    // Nothing is lost.
    let engine = place.engine();
    let store = engine.store().unwrap();
    for (name, count) in written.into_iter().enumerate() {
        let key = DocumentKey::Path(RelPath::parse(&format!("note{name}.md")).unwrap());
        let document = store.document(&key).unwrap().unwrap();
        assert_eq!(number_in(&store.chunks_of(document.summary.id).unwrap()[0].text), Some(count));
    }
    assert_eq!(update(&engine).documents, 202);
}
