//! The service API in process.

use std::fs;

use ibid_api::{
    ChunkRef, DocumentKey, EmbeddingState, Engine as _, ErrorCode, Freshness, IndexScope, NoteId,
    ReindexReason, RelPath, SearchRequest, WarningCode,
};
use ibid_core::{CoreConfig, EmbeddingConfig, LocalEngine, SourceConfig, chunk::ChunkPolicy, ingest::Silent};

use crate::{
    knowledge::{age, call, config, documents, engine, find, request, update},
    tree::Tree,
};

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

#[test]
fn reading_creates_nothing() {
    let tree = Tree::new(&[("a.md", "apple")]);
    let engine = engine(&tree);
    let status = call(engine.status()).unwrap();
    assert_eq!((status.index.freshness, status.index.documents), (Freshness::Unknown, 0));
    assert!(status.sources[0].available);
    let missing = [
        call(engine.search(SearchRequest::new("apple", 5))).unwrap_err(),
        call(engine.document(DocumentKey::Path(rel("a.md")), 100)).unwrap_err(),
        call(engine.files(ibid_api::Paging::default())).unwrap_err(),
        call(engine.verify()).unwrap_err(),
        call(engine.embed_pending(std::sync::Arc::new(Silent), None)).unwrap_err(),
    ];
    for error in missing {
        assert_eq!(error.code, ErrorCode::IndexNotFound);
    }
    assert!(!tree.data().exists());
}

#[test]
fn an_engine_that_may_not_write_says_so() {
    let tree = Tree::new(&[("a.md", "apple")]);
    update(&engine(&tree));
    let read_only = CoreConfig { read_only: true, ..config(&tree) };
    let engine = LocalEngine::open(read_only).unwrap();
    assert_eq!(find(&engine, "apple"), ["a.md"]);
    let error = engine.index_blocking(&request(IndexScope::Changes), &Silent).unwrap_err();
    assert_eq!(error.code, ErrorCode::StorageUnavailable);
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let tree = Tree::new(&[]);
    let twice = config(&tree).with_source(SourceConfig::new("notes", "elsewhere"));
    assert_eq!(LocalEngine::open(twice).err().unwrap().code, ErrorCode::ConfigInvalid);
    let unnamed = CoreConfig::new(tree.data()).with_source(SourceConfig::new(" ", "x"));
    assert_eq!(LocalEngine::open(unnamed).err().unwrap().code, ErrorCode::ConfigInvalid);
    let none = LocalEngine::open(CoreConfig::new(tree.data())).unwrap();
    let error = none.index_blocking(&request(IndexScope::Changes), &Silent).unwrap_err();
    assert_eq!(error.code, ErrorCode::VaultNotConfigured);
}

#[test]
fn a_document_is_read_as_it_is_now() {
    let text = "---\ntitle: Fruit\n---\n# Apples\n\nSee [[b]] and ![[c.png]].\n";
    let tree = Tree::new(&[("a.md", text), ("b.md", "# Bananas\n")]);
    let engine = engine(&tree);
    update(&engine);
    for key in [DocumentKey::Path(rel("a.md")), DocumentKey::Note(NoteId::of(&rel("a.md")))] {
        let document = call(engine.document(key, 1_000)).unwrap();
        assert_eq!((document.summary.title.as_str(), document.content.as_str()), ("Fruit", text));
        assert_eq!(document.headings[0].text, "Apples");
        let target = document.links[0].target.as_ref().unwrap();
        assert_eq!((target.path.as_str(), target.note_id), ("b.md", NoteId::of(&rel("b.md"))));
        assert_eq!(document.attachments, ["c.png"]);
    }
    let key = || DocumentKey::Path(rel("a.md"));
    let error = call(engine.document(key(), 10)).unwrap_err();
    assert_eq!(
        (error.code, error.details.unwrap()["size"].as_u64()),
        (ErrorCode::NoteTooLarge, Some(text.len() as u64))
    );
    tree.write("a.md", "changed since");
    assert_eq!(call(engine.document(key(), 1_000)).unwrap().content, "changed since");
    tree.remove("a.md");
    assert_eq!(call(engine.document(key(), 1_000)).unwrap_err().code, ErrorCode::NoteNotFound);
    let unknown = DocumentKey::Path(rel("unknown.md"));
    assert_eq!(call(engine.document(unknown, 1_000)).unwrap_err().code, ErrorCode::NoteNotFound);
}

#[test]
fn chunks_are_had_as_they_were_indexed() {
    let tree = Tree::new(&[("a.md", "# One\n\nfirst\n\n# Two\n\nsecond\n")]);
    let engine = engine(&tree);
    update(&engine);
    let document = call(engine.document(DocumentKey::Path(rel("a.md")), 1_000)).unwrap().summary.id;
    let chunk = call(engine.chunk(ChunkRef { document, index: 1 })).unwrap();
    assert_eq!(chunk.heading_path, ["Two"]);
    assert!(chunk.text.contains("second"));
    assert_eq!(chunk.document.path, rel("a.md"));
    let error = call(engine.chunk(ChunkRef { document, index: 9 })).unwrap_err();
    assert_eq!(error.code, ErrorCode::ChunkNotFound);
}

#[test]
fn an_index_that_does_not_fit_is_not_queried_and_made_anew_on_request() {
    let tree = Tree::new(&[("a.md", "# One\n\napple\n"), ("drafts/b.md", "banana\n")]);
    assert!(update(&engine(&tree)).full, "the first one reads everything");
    let mut changed = config(&tree);
    changed.chunk_policy = ChunkPolicy::Heading { target: 50, max: 100 };
    changed.sources[0].exclude.push("drafts/".to_owned());
    let engine = LocalEngine::open(changed).unwrap();

    let status = call(engine.status()).unwrap().index;
    assert_eq!(status.freshness, Freshness::Incompatible);
    assert_eq!(status.reindex_reasons, [ReindexReason::ChunkingChanged, ReindexReason::ExcludesChanged]);
    let error = call(engine.search(SearchRequest::new("apple", 5))).unwrap_err();
    assert_eq!(error.code, ErrorCode::IndexIncompatible);
    let some = crate::knowledge::paths(&["a.md"]);
    let error = engine.index_blocking(&request(some), &Silent).unwrap_err();
    assert_eq!(error.code, ErrorCode::IndexIncompatible);
    // A note can be read all the same.
    call(engine.document(DocumentKey::Path(rel("a.md")), 1_000)).unwrap();

    let reply = update(&engine);
    assert!(reply.full);
    assert_eq!(documents(&engine), ["a.md"]);
    assert_eq!(call(engine.status()).unwrap().index.freshness, Freshness::Fresh);
    assert_eq!(find(&engine, "apple"), ["a.md"]);
    assert!(!update(&engine).full);
}

#[test]
fn answers_say_how_fresh_the_index_is() {
    let tree = Tree::new(&[("a.md", "apple")]);
    age(&tree.path("a.md"));
    let first = engine(&tree);
    update(&first);
    let asked = |engine: &LocalEngine| {
        let reply = call(engine.search(SearchRequest::new("apple", 5))).unwrap();
        let codes: Vec<_> = reply.warnings.iter().map(|warning| warning.code).collect();
        (reply.freshness, codes)
    };
    assert_eq!(asked(&first), (Freshness::Fresh, vec![]));

    let second = engine(&tree);
    assert_eq!(asked(&second), (Freshness::Unknown, vec![WarningCode::IndexUnknown]));
    assert_eq!(call(second.verify()).unwrap(), Freshness::Fresh);
    assert_eq!(asked(&second), (Freshness::Fresh, vec![]));

    tree.write("b.md", "banana");
    assert_eq!(call(second.verify()).unwrap(), Freshness::Pending);
    assert_eq!(call(second.status()).unwrap().index.pending_changes, 1);
    assert_eq!(asked(&second), (Freshness::Pending, vec![WarningCode::IndexPending]));
    update(&second);
    assert_eq!(asked(&second), (Freshness::Fresh, vec![]));
    second.note_doubt();
    assert_eq!(asked(&second), (Freshness::Stale, vec![WarningCode::IndexStale]));
    assert_eq!(second.files_read(), 1, "verifying reads nothing");
}

#[test]
fn texts_are_embedded_once_whatever_happens_to_their_files() {
    let tree = Tree::new(&[("a.md", "The cat sat on the mat."), ("b/c.md", "Stock markets fell today.")]);
    let mut with_meaning = config(&tree);
    with_meaning.embedding = EmbeddingConfig::Builtin;
    let engine = LocalEngine::open(with_meaning).unwrap();
    update(&engine);
    let status = call(engine.status()).unwrap().index;
    assert_eq!((status.embedding_state, status.embeddings_missing), (EmbeddingState::Stale, 2));

    let done = engine.embed_pending_blocking(&Silent, Some(1)).unwrap();
    assert_eq!((done.embedded, done.remaining), (1, 1));
    let done = engine.embed_pending_blocking(&Silent, None).unwrap();
    assert_eq!((done.embedded, done.remaining), (1, 0));
    assert_eq!(call(engine.status()).unwrap().index.embedding_state, EmbeddingState::Ready);

    tree.rename("b", "moved");
    update(&engine);
    assert_eq!(documents(&engine), ["a.md", "moved/c.md"]);
    assert_eq!(call(engine.status()).unwrap().index.embeddings_missing, 0, "a move embeds nothing");

    let mut question = SearchRequest::new("a kitten resting", 5);
    question.mode = Some(ibid_api::Mode::Embedding);
    let reply = call(engine.search(question)).unwrap();
    assert_eq!(reply.hits[0].document.path, rel("a.md"));
}

#[test]
fn embeddings_that_are_required_are_made_or_the_order_fails() {
    let tree = Tree::new(&[("a.md", "apple")]);
    let mut required = request(IndexScope::Changes);
    required.require_embeddings = true;
    let error = engine(&tree).index_blocking(&required, &Silent).unwrap_err();
    assert_eq!(error.code, ErrorCode::EmbeddingUnavailable);

    let mut with_meaning = config(&tree);
    with_meaning.embedding = EmbeddingConfig::Builtin;
    let engine = LocalEngine::open(with_meaning).unwrap();
    engine.index_blocking(&required, &Silent).unwrap();
    assert_eq!(call(engine.status()).unwrap().index.embedding_state, EmbeddingState::Ready);
}

#[test]
fn an_endpoint_that_does_not_answer_leaves_words_working() {
    let tree = Tree::new(&[("a.md", "apple")]);
    let mut config = config(&tree);
    // A port that was free a moment ago: nobody listens.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}/v1/embeddings");
    config.embedding = EmbeddingConfig::Endpoint(ibid_core::EndpointConfig::new(url, "none"));
    let engine = LocalEngine::open(config).unwrap();
    update(&engine);
    let error = engine.embed_pending_blocking(&Silent, None).unwrap_err();
    assert_eq!(error.code, ErrorCode::EmbeddingFailed);
    assert_eq!(call(engine.status()).unwrap().index.embedding_state, EmbeddingState::Unavailable);
    assert_eq!(find(&engine, "apple"), ["a.md"]);
}

#[test]
fn nothing_private_is_in_an_error() {
    let tree = Tree::new(&[("a.md", "apple")]);
    let engine = engine(&tree);
    fs::write(tree.data(), "a file where the folder of the index should be").unwrap();
    let errors = [
        engine.index_blocking(&request(IndexScope::Changes), &Silent).unwrap_err(),
        call(engine.search(SearchRequest::new("secretquery", 5))).unwrap_err(),
    ];
    for error in errors {
        let shown = format!("{error:?}");
        for mark in [tree.root().to_str().unwrap(), tree.data().to_str().unwrap(), "secretquery", "apple"] {
            assert!(!shown.contains(mark), "{shown}");
        }
    }
}
