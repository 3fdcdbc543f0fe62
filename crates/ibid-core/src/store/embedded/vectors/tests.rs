//! The index as its users see it.

#![allow(clippy::needless_range_loop, reason = "a number stands for a key and a vector alike")]

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use roaring::RoaringBitmap;
use tempfile::TempDir;

use super::*;

const MODEL: &str = "test";

/// Numbers between -1 and 1 that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        unit((0..dimensions).map(|_| self.next()).collect())
    }

    fn near(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
        let noise = self.vector(centre.len());
        unit(centre.iter().zip(noise).map(|(centre, noise)| centre + spread * noise).collect())
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    for value in &mut vector {
        *value /= length;
    }
    vector
}

fn key(number: usize) -> RowKey {
    let chunk = ChunkRef { document: DocumentId(number as i64 / 4), index: number as u32 % 4 };
    RowKey { chunk, hash: ContentHash::of(&number.to_le_bytes()) }
}

fn write(
    directory: &Path,
    generation: u64,
    numbers: std::ops::Range<usize>,
    vectors: &[Vec<f32>],
) -> Committed {
    let mut writer = VectorWriter::open(directory, MODEL, vectors[0].len()).unwrap();
    for number in numbers {
        writer.push(key(number), &vectors[number]).unwrap();
    }
    writer.commit(generation).unwrap()
}

fn open(directory: &Path) -> VectorIndex {
    VectorIndex::open(directory).unwrap().unwrap()
}

fn found(index: &VectorIndex, query: &[f32], filter: Option<&RoaringBitmap>, limit: usize) -> Vec<RowKey> {
    index.nearest(query, filter, limit).unwrap().into_iter().map(|hit| hit.key).collect()
}

fn exact(vectors: &[Vec<f32>], query: &[f32], limit: usize, passes: impl Fn(usize) -> bool) -> Vec<RowKey> {
    let score = |vector: &[f32]| vector.iter().zip(query).map(|(left, right)| left * right).sum::<f32>();
    let mut scored: Vec<(f32, usize)> = (0..vectors.len())
        .filter(|number| passes(*number))
        .map(|number| (score(&vectors[number]), number))
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    scored.into_iter().take(limit).map(|(_, number)| key(number)).collect()
}

fn files(directory: &Path, kind: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(kind)).collect()
}

#[test]
fn an_empty_directory_has_no_index() {
    let directory = TempDir::new().unwrap();
    assert!(VectorIndex::open(directory.path()).unwrap().is_none());
    assert!(VectorIndex::open(&directory.path().join("missing")).unwrap().is_none());
    let writer = VectorWriter::open(directory.path(), MODEL, 8).unwrap();
    assert_eq!((writer.generation(), writer.len()), (0, 0));
    writer.commit(3).unwrap();
    let index = open(directory.path());
    assert_eq!((index.generation(), index.len(), index.model(), index.dimensions()), (3, 0, MODEL, 8));
    assert!(index.nearest(&[1.0; 8], None, 10).unwrap().is_empty());
}

#[test]
fn rows_are_found_by_meaning_with_their_keys() {
    let directory = TempDir::new().unwrap();
    let mut random = Random(1);
    // Not a multiple of anything, to meet the padding.
    let vectors: Vec<Vec<f32>> = (0..300).map(|_| random.vector(100)).collect();
    write(directory.path(), 7, 0..300, &vectors);
    let index = open(directory.path());
    assert_eq!((index.generation(), index.len()), (7, 300));
    for (number, vector) in vectors.iter().enumerate() {
        let hits = index.nearest(vector, None, 3).unwrap();
        assert_eq!((hits[0].key, hits.len()), (key(number), 3));
        assert!((hits[0].score - 1.0).abs() < 0.01, "{}", hits[0].score);
    }
    assert_eq!(index.nearest(&vectors[0], None, 1_000).unwrap().len(), 300);
    assert!(index.nearest(&vectors[0], None, 0).unwrap().is_empty());
}

#[test]
fn equal_scores_come_in_the_order_of_the_chunks() {
    let directory = TempDir::new().unwrap();
    let mut writer = VectorWriter::open(directory.path(), MODEL, 4).unwrap();
    for number in [9, 3, 7, 1, 5] {
        writer.push(key(number), &[0.5; 4]).unwrap();
    }
    writer.commit(1).unwrap();
    let index = open(directory.path());
    assert_eq!(found(&index, &[0.5; 4], None, 3), [1, 3, 5].map(key));
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let directory = TempDir::new().unwrap();
    let mut writer = VectorWriter::open(directory.path(), MODEL, 3).unwrap();
    for bad in
        [&[1.0, 2.0][..], &[1.0, 2.0, 3.0, 4.0], &[0.0; 3], &[f32::NAN, 1.0, 1.0], &[f32::INFINITY, 1.0, 1.0]]
    {
        assert!(matches!(writer.push(key(0), bad), Err(VectorError::Unfit)), "{bad:?}");
    }
    writer.push(key(0), &[1.0, 0.0, 0.0]).unwrap();
    writer.commit(1).unwrap();
    let index = open(directory.path());
    for bad in [&[1.0, 2.0][..], &[0.0; 3], &[f32::NAN, 1.0, 1.0]] {
        assert!(matches!(index.nearest(bad, None, 5), Err(VectorError::Unfit)), "{bad:?}");
    }
    assert!(matches!(VectorWriter::open(directory.path(), MODEL, 0), Err(VectorError::Unfit)));
}

#[test]
fn a_scan_with_and_without_selection_finds_what_an_exact_one_finds() {
    let directory = TempDir::new().unwrap();
    let mut random = Random(2);
    let centres: Vec<Vec<f32>> = (0..300).map(|_| random.vector(384)).collect();
    let vectors: Vec<Vec<f32>> =
        (0..24_000).map(|number| random.near(&centres[number % centres.len()], 0.8)).collect();
    write(directory.path(), 1, 0..vectors.len(), &vectors);
    let index = open(directory.path());
    let recall = |filter: Option<&RoaringBitmap>, passes: &dyn Fn(usize) -> bool, seed: u64| {
        let mut random = Random(seed);
        let (mut hits, mut wanted) = (0, 0);
        for centre in centres.iter().step_by(10) {
            let query = random.near(centre, 0.8);
            let expected = exact(&vectors, &query, 10, passes);
            let found: HashSet<_> = found(&index, &query, filter, 10).iter().map(|key| key.chunk).collect();
            hits += expected.iter().filter(|key| found.contains(&key.chunk)).count();
            wanted += expected.len();
        }
        hits as f64 / wanted as f64
    };
    let check = |name: &str, recall: f64| assert!(recall >= 0.95, "{name}: {recall}");
    check("sign bits first", recall(None, &|_| true, 3));
    let most: RoaringBitmap = (0..24_000).filter(|slot| slot % 11 != 0).collect();
    check("sign bits first, filtered", recall(Some(&most), &|number| number % 11 != 0, 4));
    let some: RoaringBitmap = (0..24_000).filter(|slot| slot % 7 < 3).collect();
    check("all codes, filtered", recall(Some(&some), &|number| number % 7 < 3, 5));
}

#[test]
fn a_filter_lets_nothing_else_pass() {
    let directory = TempDir::new().unwrap();
    let mut random = Random(6);
    let vectors: Vec<Vec<f32>> = (0..400).map(|_| random.vector(64)).collect();
    write(directory.path(), 1, 0..400, &vectors);
    let index = open(directory.path());
    let filter = index.slots_where(|key| key.chunk.document.0 % 5 == 0);
    let hits = found(&index, &vectors[1], Some(&filter), 1_000);
    assert_eq!(hits.len(), 80);
    assert!(hits.iter().all(|key| key.chunk.document.0 % 5 == 0));
    // Rows that do not exist are no rows.
    let beyond: RoaringBitmap = [3, 399, 400, 5_000_000].into_iter().collect();
    assert_eq!(found(&index, &vectors[1], Some(&beyond), 10).len(), 2);
    assert!(found(&index, &vectors[1], Some(&RoaringBitmap::new()), 10).is_empty());
}

#[test]
fn removed_rows_are_not_found_and_later_rows_are_appended() {
    let directory = TempDir::new().unwrap();
    let mut random = Random(7);
    let vectors: Vec<Vec<f32>> = (0..100).map(|_| random.vector(32)).collect();
    write(directory.path(), 1, 0..60, &vectors);
    let before = open(directory.path());

    let mut writer = VectorWriter::open(directory.path(), MODEL, 32).unwrap();
    assert_eq!(writer.remove_where(|key| key.chunk.document.0 == 2).unwrap(), 4);
    assert_eq!(writer.remove_where(|key| key.chunk.document.0 == 2).unwrap(), 0);
    for number in 60..100 {
        writer.push(key(number), &vectors[number]).unwrap();
    }
    assert_eq!(writer.remove_where(|key| key.chunk.document.0 == 20).unwrap(), 4);
    assert_eq!(writer.commit(2).unwrap(), Committed { rows: 92, compacted: false });

    let after = open(directory.path());
    assert_eq!((after.len(), after.generation()), (92, 2));
    for (number, vector) in vectors.iter().enumerate() {
        let gone = [2, 20].contains(&(number / 4));
        assert_eq!(found(&after, vector, None, 1)[0] == key(number), !gone, "{number}");
        if number < 60 {
            assert_eq!(found(&before, vector, None, 1)[0], key(number));
        }
    }
    assert_eq!(after.slots_where(|_| true).len(), 92);
}

#[test]
fn many_dead_rows_are_compacted_while_readers_keep_theirs() {
    let directory = TempDir::new().unwrap();
    let mut random = Random(8);
    let vectors: Vec<Vec<f32>> = (0..4_000).map(|_| random.vector(32)).collect();
    write(directory.path(), 1, 0..4_000, &vectors);
    let before = open(directory.path());
    let mut writer = VectorWriter::open(directory.path(), MODEL, 32).unwrap();
    assert_eq!(writer.remove_where(|key| key.chunk.index == 1 || key.chunk.index == 2).unwrap(), 2_000);
    assert_eq!(writer.commit(2).unwrap(), Committed { rows: 2_000, compacted: true });

    let after = open(directory.path());
    assert_eq!((after.len(), files(directory.path(), "codes").len()), (2_000, 1));
    assert_eq!(fs::metadata(&files(directory.path(), "codes")[0]).unwrap().len(), 2_000 * 32);
    for number in (0..4_000).step_by(97) {
        let kept = ![1, 2].contains(&(number % 4));
        assert_eq!(found(&after, &vectors[number], None, 1)[0] == key(number), kept);
        assert_eq!(found(&before, &vectors[number], None, 1)[0], key(number));
    }
    // Writing goes on in the new files.
    write(directory.path(), 3, 1..2, &vectors);
    assert_eq!(found(&open(directory.path()), &vectors[1], None, 1)[0], key(1));
}

#[test]
fn what_was_not_committed_leaves_no_trace() {
    let directory = TempDir::new().unwrap();
    let mut random = Random(9);
    let vectors: Vec<Vec<f32>> = (0..20).map(|_| random.vector(16)).collect();
    write(directory.path(), 1, 0..5, &vectors);
    let mut writer = VectorWriter::open(directory.path(), MODEL, 16).unwrap();
    for number in 5..10 {
        writer.push(key(number), &vectors[number]).unwrap();
    }
    // Rows reach the files, the process ends in the middle of another one.
    writer.remove_where(|_| false).unwrap();
    drop(writer);
    for path in files(directory.path(), "codes") {
        let torn = [fs::read(&path).unwrap(), vec![1; 7]].concat();
        fs::write(&path, torn).unwrap();
    }
    fs::write(directory.path().join("head-abcdef"), b"half").unwrap();
    assert_eq!(open(directory.path()).len(), 5);
    write(directory.path(), 2, 10..20, &vectors);
    let index = open(directory.path());
    assert_eq!(index.len(), 15);
    assert_eq!(files(directory.path(), "").len(), 4);
    for number in 10..20 {
        assert_eq!(found(&index, &vectors[number], None, 1)[0], key(number));
    }
}

#[test]
fn another_model_or_length_begins_anew() {
    let directory = TempDir::new().unwrap();
    let vectors = [vec![1.0, 0.5], vec![0.5, 1.0]];
    write(directory.path(), 5, 0..2, &vectors);
    let writer = VectorWriter::open(directory.path(), MODEL, 2).unwrap();
    assert_eq!((writer.generation(), writer.len()), (5, 2));
    let mut writer = VectorWriter::open(directory.path(), "other", 2).unwrap();
    assert_eq!((writer.generation(), writer.len()), (0, 0));
    writer.push(key(9), &vectors[0]).unwrap();
    // The old rows answer until the new ones are complete.
    assert_eq!(open(directory.path()).model(), MODEL);
    writer.commit(6).unwrap();
    let index = open(directory.path());
    assert_eq!((index.model(), index.len(), index.generation()), ("other", 1, 6));
    assert_eq!(VectorWriter::open(directory.path(), "other", 3).unwrap().len(), 0);
    assert_eq!(VectorWriter::create(directory.path(), "other", 2).unwrap().len(), 0);
    assert_eq!(open(directory.path()).len(), 1);
}

#[test]
fn damaged_files_ask_to_be_written_again() {
    let mut random = Random(10);
    let vectors: Vec<Vec<f32>> = (0..50).map(|_| random.vector(48)).collect();
    let check = |kind: &str, damage: &dyn Fn(&Path, Vec<u8>)| {
        let directory = TempDir::new().unwrap();
        write(directory.path(), 1, 0..50, &vectors);
        let path = files(directory.path(), kind).pop().unwrap();
        damage(&path, fs::read(&path).unwrap());
        assert!(matches!(VectorIndex::open(directory.path()), Err(VectorError::Damaged(_))), "{kind}");
        let writer = VectorWriter::open(directory.path(), MODEL, 48).unwrap();
        assert_eq!((writer.generation(), writer.len()), (0, 0));
        drop(writer);
        write(directory.path(), 2, 0..50, &vectors);
        assert_eq!(found(&open(directory.path()), &vectors[3], None, 1)[0], key(3));
    };
    for kind in ["codes", "signs", "keys", "head"] {
        for share in [0, 1, 50, 99] {
            check(kind, &|path, bytes| fs::write(path, &bytes[..bytes.len() * share / 100]).unwrap());
        }
    }
    for kind in ["codes", "signs", "keys"] {
        check(kind, &|path, _| fs::remove_file(path).unwrap());
    }
    for at in (0..60).step_by(3) {
        check("head", &|path, mut bytes| {
            bytes[at] ^= 0x55;
            fs::write(path, bytes).unwrap();
        });
    }
}

#[test]
fn readers_see_whole_commits_while_a_writer_works() {
    let directory = TempDir::new().unwrap();
    let vectors: Vec<Vec<f32>> = (0..4_000).map(|number| Random(number).vector(32)).collect();
    write(directory.path(), 0, 0..0, &vectors);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut last = 0;
                    while last < 20 {
                        let index = open(directory.path());
                        assert!(index.generation() >= last);
                        last = index.generation();
                        // Each commit leaves exactly this many rows.
                        assert_eq!(index.len(), if last == 0 { 0 } else { 1_500 });
                        let hits = index.nearest(&vectors[0], None, 10).unwrap();
                        assert_eq!(hits.len(), if last == 0 { 0 } else { 10 });
                    }
                })
            })
            .collect();
        for generation in 1..=20 {
            let mut writer = VectorWriter::open(directory.path(), MODEL, 32).unwrap();
            writer.remove_where(|_| true).unwrap();
            for number in 0..1_500 {
                writer.push(key(number), &vectors[number]).unwrap();
            }
            writer.commit(generation).unwrap();
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
}
