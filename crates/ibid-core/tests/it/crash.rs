//! Processes that are killed, and processes that write and read at once.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ibid_api::{DocumentKey, Engine as _, Freshness, RelPath};

use crate::{
    children::{Place, Role, done, long, note, number_in},
    knowledge::{call, find, update},
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
        let wait = points.next(Duration::from_millis(700));
        let killer = std::thread::spawn(move || {
            let start = Instant::now();
            while start.elapsed() < wait {
                std::thread::park_timeout(wait.saturating_sub(start.elapsed()));
            }
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let acknowledged: Vec<u64> = done(stdout).collect();
        killer.join().unwrap();
        let last = acknowledged.last().copied();
        killed_early += u64::from(last.is_none());
        check_round(&place, next, last, round);
        next = last.unwrap_or(next) + 100;
    }
    assert!(killed_early < rounds, "no round got anywhere");
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
