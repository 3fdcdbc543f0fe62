//! Many processes at once: eight that search while two write.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::sandbox::{Sandbox, long, paths};

const READERS: usize = 8;
const WRITERS: usize = 2;

/// What a writer has been told is stored.
#[derive(Debug, Clone, Copy, Default)]
struct Acknowledged {
    writes: usize,
    generation: u64,
}

/// A word that occurs in one file, and is nobody else's stem.
fn mark(writer: usize, write: usize) -> String {
    let letters: String = write.to_string().bytes().map(|digit| char::from(digit - b'0' + b'k')).collect();
    format!("zq{}vy{letters}ok", ["ab", "cd"][writer])
}

#[test]
fn eight_search_while_two_write_without_errors_or_stale_answers() {
    let time = Duration::from_secs(if long() { 60 } else { 10 });
    let sandbox = Sandbox::new();
    for file in 0..200 {
        sandbox
            .write(&format!("still/{file}.md"), format!("# Page {file}\n\nevery page says quillonberry\n"));
    }
    let generation = sandbox.index()["generation"].as_u64().expect("a generation");
    let acknowledged = [0; WRITERS].map(|_| Mutex::new(Acknowledged { writes: 0, generation }));
    let (searches, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let started = Instant::now();
    thread::scope(|scope| {
        for (writer, acknowledged) in acknowledged.iter().enumerate() {
            let (sandbox, ended) = (&sandbox, &ended);
            scope.spawn(move || {
                let _ends = EndsOnDrop(ended);
                while started.elapsed() < time {
                    write(sandbox, writer, acknowledged);
                }
            });
        }
        for reader in 0..READERS {
            let (sandbox, acknowledged, searches, ended) = (&sandbox, &acknowledged, &searches, &ended);
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) && started.elapsed() < time {
                    read(sandbox, reader, acknowledged);
                    searches.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let mut total = 0;
    for (writer, acknowledged) in acknowledged.iter().enumerate() {
        let writes = acknowledged.lock().expect("a count").writes;
        assert!(writes > 0, "writer {writer} never got its turn");
        for write in 0..writes {
            assert_eq!(
                sandbox.found(&format!("\"{}\"", mark(writer, write))),
                [format!("writer-{writer}/{write}.md")]
            );
        }
        total += writes as u64;
    }
    assert!(searches.load(Ordering::Relaxed) >= READERS as u64);
    assert_eq!(sandbox.status()["index"]["documents"].as_u64(), Some(200 + total));
}

/// A writer that fails ends the test at once instead of leaving the readers at it.
struct EndsOnDrop<'a>(&'a AtomicBool);

impl Drop for EndsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn write(sandbox: &Sandbox, writer: usize, acknowledged: &Mutex<Acknowledged>) {
    let write = acknowledged.lock().expect("a count").writes;
    sandbox.write(
        &format!("writer-{writer}/{write}.md"),
        format!("# Write {write}\n\nonly this page says {}\n", mark(writer, write)),
    );
    let generation = sandbox.index()["generation"].as_u64().expect("a generation");
    *acknowledged.lock().expect("a count") = Acknowledged { writes: write + 1, generation };
}

fn read(sandbox: &Sandbox, reader: usize, acknowledged: &[Mutex<Acknowledged>; WRITERS]) {
    let writer = reader % WRITERS;
    let before = *acknowledged[writer].lock().expect("a count");
    let (query, want) = match before.writes {
        0 => ("quillonberry".to_owned(), None),
        // In quotes, it stands for nothing but itself.
        writes => {
            (format!("\"{}\"", mark(writer, writes - 1)), Some(format!("writer-{writer}/{}.md", writes - 1)))
        }
    };
    let reply = sandbox.search(&query);
    let generation = reply["generation"].as_u64().expect("a generation");
    assert!(generation >= before.generation, "{generation} is older than {}", before.generation);
    let found = paths(&reply);
    match want {
        Some(want) => assert_eq!(found, [want], "after generation {}", before.generation),
        None => assert!(!found.is_empty()),
    }
}
