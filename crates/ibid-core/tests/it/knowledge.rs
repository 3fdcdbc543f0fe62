//! A knowledge base over a temporary folder, and short ways to ask it things.

use std::{
    collections::BTreeMap,
    fs::File,
    path::Path,
    time::{Duration, SystemTime},
};

use ibid_api::{
    DocumentFilter, Engine as _, FileOutcome, IndexReply, IndexRequest, IndexScope, Mode, Paging, RelPath,
    SearchRequest,
};
use ibid_core::{CoreConfig, EmbeddingConfig, LocalEngine, SourceConfig, ingest::Silent};

use crate::tree::Tree;

/// The name of the one source.
pub(crate) const NOTES: &str = "notes";

/// A configuration over this tree that does not embed.
pub(crate) fn config(tree: &Tree) -> CoreConfig {
    let mut config = CoreConfig::new(tree.data()).with_source(SourceConfig::new(NOTES, tree.root()));
    config.embedding = EmbeddingConfig::Disabled;
    config
}

pub(crate) fn engine(tree: &Tree) -> LocalEngine {
    LocalEngine::open(config(tree)).unwrap()
}

pub(crate) fn request(scope: IndexScope) -> IndexRequest {
    IndexRequest { scope, require_embeddings: false }
}

pub(crate) fn paths(paths: &[&str]) -> IndexScope {
    IndexScope::Paths {
        source: NOTES.to_owned(),
        paths: paths.iter().map(|path| RelPath::parse(path).unwrap()).collect(),
    }
}

/// Indexes what changed.
pub(crate) fn update(engine: &LocalEngine) -> IndexReply {
    engine.index_blocking(&request(IndexScope::Changes), &Silent).unwrap()
}

/// Added, changed, removed, unchanged.
pub(crate) fn counts(reply: &IndexReply) -> (u64, u64, u64, u64) {
    (reply.added, reply.changed, reply.removed, reply.unchanged)
}

/// Runs a call of the service API.
pub(crate) fn call<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Paths of the documents that a search by words finds, best first, each once.
pub(crate) fn find(engine: &LocalEngine, query: &str) -> Vec<String> {
    let mut request = SearchRequest::new(query, 50);
    request.mode = Some(Mode::Lexical);
    let reply = call(engine.search(request)).unwrap();
    let mut found: Vec<String> = Vec::new();
    for hit in reply.hits {
        let path = hit.document.path.to_string();
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Paths of all documents.
pub(crate) fn documents(engine: &LocalEngine) -> Vec<String> {
    let paging = Paging { limit: 100_000, offset: 0 };
    let page = call(engine.documents(DocumentFilter::default(), paging)).unwrap();
    page.items.into_iter().map(|document| document.path.to_string()).collect()
}

/// What became of every file.
pub(crate) fn outcomes(engine: &LocalEngine) -> BTreeMap<String, FileOutcome> {
    let paging = Paging { limit: 100_000, offset: 0 };
    let page = call(engine.files(paging)).unwrap();
    page.items.into_iter().map(|report| (report.path, report.outcome)).collect()
}

/// Gives a file a time long past, so that nobody has to doubt it.
pub(crate) fn age(path: &Path) {
    let past = SystemTime::now() - Duration::from_secs(3_600);
    File::options().write(true).open(path).unwrap().set_modified(past).unwrap();
}
