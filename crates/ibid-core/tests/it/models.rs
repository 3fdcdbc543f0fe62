//! Another model: the one before it answers until its vectors are complete, and never both together.

use std::fs;

use ibid_api::{EmbeddingState, Engine as _, Mode, SearchReply, SearchRequest, WarningCode};
use ibid_core::{EmbeddingConfig, LocalEngine, ingest::Silent};

use crate::{
    knowledge::{call, config, find, update},
    tiny_model,
    tree::Tree,
};

const TOPICS: [&str; 12] = [
    "bread is baked with yeast and flour",
    "the engine of a car burns petrol",
    "stars are born in clouds of gas",
    "a mutex protects shared memory",
    "the river floods in spring",
    "violins are made of spruce and maple",
    "keys are rotated every ninety days",
    "whales breathe air at the surface",
    "the parliament votes on the budget",
    "coffee is roasted before it is ground",
    "volcanoes form where plates meet",
    "a backup is worth nothing until restored",
];

fn tree() -> Tree {
    let tree = Tree::new(&[]);
    for (number, text) in TOPICS.iter().enumerate() {
        tree.write(&format!("{number}.md"), &format!("# Page {number}\n\n{text}\n"));
    }
    tree
}

fn with(tree: &Tree, embedding: EmbeddingConfig) -> LocalEngine {
    let mut config = config(tree);
    config.embedding = embedding;
    LocalEngine::open(config).unwrap()
}

fn ask(engine: &LocalEngine, mode: Mode) -> SearchReply {
    let mut request = SearchRequest::new("how is coffee made", 12);
    request.mode = Some(mode);
    call(engine.search(request)).unwrap()
}

/// What a search by meaning finds, with the scores of its model.
fn found(engine: &LocalEngine) -> Vec<(String, String)> {
    let mut request = SearchRequest::new("how is coffee made", 12);
    request.mode = Some(Mode::Embedding);
    request.explain = true;
    let reply = call(engine.search(request)).unwrap();
    reply.hits.iter().map(|hit| (hit.document.path.to_string(), format!("{:.4}", hit.score))).collect()
}

fn missing(engine: &LocalEngine) -> (EmbeddingState, u64) {
    let index = call(engine.status()).unwrap().index;
    (index.embedding_state, index.embeddings_missing)
}

#[test]
fn the_model_before_answers_until_the_new_one_is_complete() {
    let tree = tree();
    let count = TOPICS.len() as u64;
    let local = EmbeddingConfig::Local(tiny_model::write(&tree.beside("models"), "tiny", 7));
    let builtin = with(&tree, EmbeddingConfig::Builtin);
    update(&builtin);
    assert_eq!(builtin.embed_pending_blocking(&Silent, None).unwrap().embedded, count);
    let before = found(&builtin);
    assert_eq!((before.len(), before[0].0.as_str()), (TOPICS.len(), "9.md"));

    let changed = with(&tree, local.clone());
    assert_eq!(missing(&changed), (EmbeddingState::Stale, count));
    assert_eq!(found(&changed), before, "nothing of the new model is there");
    let warnings = call(changed.status()).unwrap().warnings;
    let stale = |warning: &ibid_api::Warning| warning.code == WarningCode::IndexEmbeddingsStale;
    assert!(warnings.iter().any(stale), "{warnings:?}");
    for (mode, told) in [(Mode::Lexical, false), (Mode::Embedding, true), (Mode::Hybrid, true)] {
        assert_eq!(ask(&changed, mode).warnings.iter().any(stale), told, "{mode:?}");
    }
    // Some vectors of the new model do not change an answer, here or in another process.
    for _ in 0..2 {
        changed.embed_pending_blocking(&Silent, Some(4)).unwrap();
        assert_eq!(found(&changed), before);
        assert_eq!(found(&with(&tree, local.clone())), before);
    }
    assert_eq!(missing(&changed), (EmbeddingState::Stale, count - 8));
    let other_process = with(&tree, local.clone());
    assert_eq!(found(&other_process), before);

    let rest = changed.embed_pending_blocking(&Silent, None).unwrap();
    assert_eq!((rest.embedded, rest.remaining), (count - 8, 0));
    let after = found(&changed);
    assert_eq!(after.len(), TOPICS.len());
    assert_ne!(after, before, "the new model answers");
    assert!(!ask(&changed, Mode::Hybrid).warnings.iter().any(stale));
    assert_eq!(found(&other_process), after, "a process that was open all along follows");
    assert_eq!(missing(&other_process), (EmbeddingState::Ready, 0));

    // Back to the first: its vectors are all there still, and nothing is embedded again.
    let back = with(&tree, EmbeddingConfig::Builtin);
    assert_eq!(missing(&back), (EmbeddingState::Ready, 0));
    assert_eq!(found(&back), before);
    assert_eq!(back.embed_pending_blocking(&Silent, None).unwrap().embedded, 0);
}

#[test]
fn a_model_that_changed_in_its_folder_is_another_model() {
    let tree = tree();
    let folder = tiny_model::write(&tree.beside("models"), "tiny", 1);
    let engine = with(&tree, EmbeddingConfig::Local(folder.clone()));
    update(&engine);
    engine.embed_pending_blocking(&Silent, None).unwrap();
    drop(engine);
    tiny_model::write(&tree.beside("models"), "tiny", 2);
    let engine = with(&tree, EmbeddingConfig::Local(folder));
    assert_eq!(missing(&engine), (EmbeddingState::Stale, TOPICS.len() as u64));
    // The model before is gone with its folder: words answer, and the reply says so.
    let reply = ask(&engine, Mode::Hybrid);
    assert_eq!(reply.used_mode, Mode::Lexical);
    assert!(reply.warnings.iter().any(|warning| warning.code == WarningCode::EmbeddingIncomplete));
}

/// A way to damage a file.
type Damage = fn(&[u8]) -> Vec<u8>;

#[test]
fn a_damaged_model_is_a_warning_and_words_answer() {
    let damage: [(&str, Damage); 4] = [
        ("cut short", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("empty", |_| Vec::new()),
        ("cut in its table", |bytes| bytes[..20].to_vec()),
        ("not a number", |bytes| {
            let mut bytes = bytes.to_vec();
            let end = bytes.len();
            bytes[end / 2..].chunks_exact_mut(4).for_each(|number| number.fill(0xff));
            bytes
        }),
    ];
    for (name, damage) in damage {
        let tree = tree();
        let folder = tiny_model::write(&tree.beside("models"), "tiny", 1);
        let file = folder.join("model.safetensors");
        fs::write(&file, damage(&fs::read(&file).unwrap())).unwrap();
        let engine = with(&tree, EmbeddingConfig::Local(folder));
        update(&engine);
        assert!(engine.embed_pending_blocking(&Silent, None).is_err(), "{name}");
        assert_eq!(missing(&engine).0, EmbeddingState::Unavailable, "{name}");
        assert_eq!(find(&engine, "coffee"), ["9.md"], "{name}");
        let reply = ask(&engine, Mode::Hybrid);
        assert_eq!(reply.used_mode, Mode::Lexical, "{name}");
        assert!(
            reply.warnings.iter().any(|warning| warning.code == WarningCode::EmbeddingUnavailable),
            "{name}: {:?}",
            reply.warnings
        );
    }
}

#[test]
fn a_model_that_breaks_leaves_the_one_before_answering() {
    let tree = tree();
    let builtin = with(&tree, EmbeddingConfig::Builtin);
    update(&builtin);
    builtin.embed_pending_blocking(&Silent, None).unwrap();
    let before = found(&builtin);
    let broken = with(&tree, EmbeddingConfig::Local(tree.beside("nowhere")));
    assert_eq!(found(&broken), before);
    assert_eq!(missing(&broken).0, EmbeddingState::Unavailable);
}
