//! Candidates by meaning: filters, changes, removals and several models, settled or not.

use ibid_api::{ChunkRef, ContentHash, DocumentKind, Filter};

use super::{Check, samples::*};
use crate::store::{Candidate, EmbeddingWrite, FileWrite, Store, VectorQuery, WriteBatch};

pub(super) const ALL: &[Check] = &[
    ("meaning finds the same before and after settling", settling_changes_nothing),
    ("filters act inside the leg of meaning", filters_act_inside),
    ("what changed or is gone is not found by its old meaning", changes_and_removals_count),
    ("models do not mix", models_do_not_mix),
    ("a text keeps the vector it has", a_text_keeps_its_vector),
    ("a model that is forgotten starts anew, with vectors of any length", a_forgotten_model_starts_anew),
];

const DIMENSIONS: usize = 48;

/// Unit vectors that look random and are the same in every run.
fn direction(seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let vector: Vec<f32> = (0..DIMENSIONS).map(|_| next()).collect();
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.into_iter().map(|number| number / length).collect()
}

/// The vector that a text has in a model.
fn vector_of(model: &str, hash: ContentHash) -> Vec<f32> {
    let bytes = [model.as_bytes(), hash.as_bytes()].concat();
    let digest = ContentHash::of(&bytes);
    let mut seed = [0; 8];
    seed.copy_from_slice(&digest.as_bytes()[..8]);
    direction(u64::from_le_bytes(seed))
}

fn files(range: std::ops::Range<usize>) -> Vec<FileWrite> {
    range
        .map(|number| {
            let texts = [format!("text {number} a"), format!("text {number} b"), "shared".to_owned()];
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            document(&format!("{}/{number}.md", number % 3), &format!("T{number}"), &texts)
        })
        .collect()
}

/// Embeds up to so many texts that wait.
fn embed(store: &dyn Store, model: &str, limit: usize) -> usize {
    let pending = store.pending_embeddings(model, limit).unwrap();
    let embeddings = pending
        .iter()
        .map(|pending| EmbeddingWrite {
            hash: pending.hash,
            model: model.to_owned(),
            vector: vector_of(model, pending.hash),
        })
        .collect();
    store.apply(WriteBatch { embeddings, ..WriteBatch::default() }).unwrap();
    pending.len()
}

fn question(model: &str, seed: u64, limit: usize) -> VectorQuery {
    VectorQuery { model: model.to_owned(), vector: direction(seed), limit, ..meaning(&[]) }
}

/// What must be found, by plain arithmetic over everything that is stored.
fn expected(store: &dyn Store, query: &VectorQuery) -> Vec<Candidate> {
    let filter = ibid_api::DocumentFilter { filter: query.filter.clone(), name: None };
    let paging = ibid_api::Paging { offset: 0, limit: 10_000 };
    let mut all = Vec::new();
    for summary in store.documents(&filter, paging).unwrap().items {
        if query.without_document == Some(summary.id) {
            continue;
        }
        let chunks = store.chunks_of(summary.id).unwrap();
        let hashes: Vec<ContentHash> = chunks.iter().map(|chunk| chunk.hash).collect();
        for (chunk, vector) in chunks.iter().zip(store.embeddings(&query.model, &hashes).unwrap()) {
            let Some(vector) = vector else { continue };
            let score = vector.iter().zip(&query.vector).map(|(left, right)| left * right).sum();
            all.push(Candidate { chunk: chunk.chunk, score });
        }
    }
    all.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.chunk.cmp(&right.chunk)));
    all.truncate(query.limit);
    all
}

#[track_caller]
fn check(store: &dyn Store, query: &VectorQuery) -> Vec<ChunkRef> {
    let found = store.nearest(query).unwrap();
    let want = expected(store, query);
    let chunks = |list: &[Candidate]| list.iter().map(|one| one.chunk).collect::<Vec<_>>();
    assert_eq!(chunks(&found.list), chunks(&want), "{:?}", query.filter);
    for (found, want) in found.list.iter().zip(&want) {
        assert!((found.score - want.score).abs() < 1e-3, "{found:?} {want:?}");
    }
    assert!(!found.behind);
    assert_eq!(found.generation, store.generation().unwrap());
    chunks(&found.list)
}

fn settling_changes_nothing(store: &dyn Store) {
    store_all(store, files(0..60));
    // Twice sixty texts and the one they share.
    assert_eq!(store.count_pending_embeddings("m").unwrap(), 60 * 3);
    for round in 0..6 {
        let embedded = embed(store, "m", 50);
        for seed in 0..5 {
            check(store, &question("m", seed, 20));
        }
        if round % 2 == 0 {
            store.settle().unwrap();
            for seed in 0..5 {
                check(store, &question("m", seed, 20));
            }
        }
        let waiting = 180_u64.saturating_sub(50 * (round + 1));
        assert_eq!(store.count_pending_embeddings("m").unwrap(), waiting, "after {embedded} more");
    }
    store.settle().unwrap();
    assert_eq!(check(store, &question("m", 9, 500)).len(), 180);
    assert_eq!(store.count_pending_embeddings("m").unwrap(), 0);
}

fn filters_act_inside(store: &dyn Store) {
    let mut all = files(0..90);
    for (number, file) in all.iter_mut().enumerate() {
        let mut changed = file.clone();
        if number % 30 == 7 {
            changed = changed.tags(&["rare"]);
        }
        if number % 2 == 0 {
            changed = changed.kind(DocumentKind::Text).source("other");
        }
        *file = changed;
    }
    let ids = store_all(store, all);
    embed(store, "m", 1_000);
    let texts = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
    let filter = Filter::default;
    let filters = [
        (Filter { tags: texts(&["rare"]), ..filter() }, 9),
        (Filter { tags: texts(&["absent"]), ..filter() }, 0),
        (Filter { sources: texts(&["other"]), ..filter() }, 135),
        (Filter { kinds: vec![DocumentKind::Markdown], ..filter() }, 135),
        (Filter { paths: texts(&["1/*.md"]), ..filter() }, 90),
        (Filter { paths: texts(&["1/**"]), sources: texts(&["other"]), ..filter() }, 45),
    ];
    for settled in [false, true] {
        if settled {
            store.settle().unwrap();
        }
        for (filter, count) in &filters {
            // Asked again, with another limit, and for a document to leave out.
            for limit in [3, 7, 500] {
                let query = VectorQuery { filter: filter.clone(), ..question("m", 4, limit) };
                assert_eq!(check(store, &query).len(), limit.min(*count), "{filter:?}");
                check(store, &VectorQuery { without_document: Some(ids[7]), ..query });
            }
        }
    }
}

fn changes_and_removals_count(store: &dyn Store) {
    let ids = store_all(store, files(0..40));
    embed(store, "m", 1_000);
    store.settle().unwrap();
    let rounds: [WriteBatch; 5] = [
        // A new text, an old text elsewhere, fewer chunks, none at all.
        batch(vec![document("0/0.md", "T0", &["something new", "text 0 a"])]),
        batch(vec![document("1/1.md", "T1", &["text 1 b"]), document("moved.md", "T2", &["text 2 a"])]),
        WriteBatch { remove: vec![(SOURCE.to_owned(), "0/3.md".to_owned())], ..WriteBatch::default() },
        batch(vec![document("1/4.md", "T4", &[])]),
        WriteBatch { forget_sources: vec![SOURCE.to_owned()], ..batch(files(10..30)) },
    ];
    for (round, batch) in rounds.into_iter().enumerate() {
        store.apply(batch).unwrap();
        for step in 0..3 {
            for seed in 0..4 {
                check(store, &question("m", seed, 15));
                check(store, &VectorQuery { without_document: Some(ids[5]), ..question("m", seed, 15) });
            }
            match (step, round % 2) {
                (0, 0) | (1, 1) => drop(store.settle().unwrap()),
                _ => drop(embed(store, "m", 1_000)),
            }
        }
        assert_eq!(store.count_pending_embeddings("m").unwrap(), 0, "round {round}");
    }
    assert_eq!(check(store, &question("m", 1, 500)).len(), 60);
}

fn models_do_not_mix(store: &dyn Store) {
    store_all(store, files(0..30));
    embed(store, "one", 1_000);
    store.settle().unwrap();
    assert_eq!(store.count_pending_embeddings("two").unwrap(), 90);
    assert_eq!(check(store, &question("two", 1, 10)), []);
    for _ in 0..3 {
        embed(store, "two", 20);
        store.settle().unwrap();
        assert_eq!(check(store, &question("one", 1, 100)).len(), 90);
        check(store, &question("two", 1, 100));
    }
    assert_eq!(check(store, &question("two", 1, 100)).len(), 60);
    assert_eq!(store.count_pending_embeddings("two").unwrap(), 30);
    assert_eq!(store.count_pending_embeddings("one").unwrap(), 0);
    // A model of another length, in the same store.
    let short =
        EmbeddingWrite { hash: hash_of("T1", "shared"), model: "short".to_owned(), vector: vec![1.0] };
    store.apply(WriteBatch { embeddings: vec![short], ..WriteBatch::default() }).unwrap();
    store.settle().unwrap();
    let query = VectorQuery { model: "short".to_owned(), vector: vec![1.0], ..meaning(&[]) };
    assert_eq!(check(store, &query).len(), 1);
    assert_eq!(store.nearest(&question("short", 1, 10)).unwrap().list, [], "of another length");
}

fn a_text_keeps_its_vector(store: &dyn Store) {
    store_all(store, vec![document("a.md", "A", &["alpha"])]);
    for vector in [[1.0, 0.0], [0.0, 1.0]] {
        let embeddings = vec![embedding("A", "alpha", &vector)];
        store.apply(WriteBatch { embeddings, ..WriteBatch::default() }).unwrap();
        store.settle().unwrap();
    }
    let stored = store.embeddings("model-a", &[hash_of("A", "alpha")]).unwrap();
    assert_eq!(stored, [Some(vec![1.0, 0.0])]);
    let found = store.nearest(&meaning(&[1.0, 0.0])).unwrap().list;
    assert_eq!((found.len(), found[0].score), (1, 1.0));
}

fn a_forgotten_model_starts_anew(store: &dyn Store) {
    store_all(store, files(0..20));
    for model in ["m", "other"] {
        while embed(store, model, 50) > 0 {}
    }
    store.settle().unwrap();
    assert_eq!(store.count_pending_embeddings("m").unwrap(), 0);
    assert_eq!(store.embedding_length("m").unwrap(), Some(DIMENSIONS));
    store.apply(WriteBatch { forget_models: vec!["m".to_owned()], ..WriteBatch::default() }).unwrap();
    for settled in [false, true] {
        if settled {
            store.settle().unwrap();
        }
        assert_eq!(store.embedding_length("m").unwrap(), None);
        assert_eq!(store.count_pending_embeddings("m").unwrap(), 20 * 3);
        assert_eq!(check(store, &question("m", 1, 10)), []);
        assert_eq!(check(store, &question("other", 1, 10)).len(), 10);
    }
    let pending = store.pending_embeddings("m", 100).unwrap();
    assert_eq!(pending.len(), 20 * 3);
    let half = |hash| vector_of("m", hash)[..DIMENSIONS / 2].to_vec();
    let embeddings = pending.iter().map(|pending| EmbeddingWrite {
        hash: pending.hash,
        model: "m".to_owned(),
        vector: half(pending.hash),
    });
    store.apply(WriteBatch { embeddings: embeddings.collect(), ..WriteBatch::default() }).unwrap();
    let shorter = VectorQuery { vector: direction(1)[..DIMENSIONS / 2].to_vec(), ..question("m", 1, 10) };
    let before = check(store, &shorter);
    store.settle().unwrap();
    assert_eq!(check(store, &shorter), before);
    assert_eq!(before.len(), 10);
    assert_eq!(store.embedding_length("m").unwrap(), Some(DIMENSIONS / 2));
    assert_eq!(store.count_pending_embeddings("m").unwrap(), 0);
}
