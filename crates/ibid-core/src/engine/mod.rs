//! `LocalEngine`: the service API over a store on this machine.
//!
//! Opening one does nothing: the store is opened by the first call that needs it, and created only by the
//! first write.

mod answering;
mod background;
mod documents;
mod index;
mod left_out;
mod length;
mod links;
mod status;
mod turn;
mod unindexed;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use ibid_api::{
    Attachment, AttachmentBody, Chunk, ChunkRef, Document, DocumentFilter, DocumentKey, DocumentSummary,
    Engine, Error, ErrorCode, FileReport, Freshness, IndexReply, IndexRequest, Mode, Page, Paging,
    ReindexReason, RelPath, RelatedRequest, Result, SearchReply, SearchRequest, Status, SyncStatus,
    UpdateFailure, Warning, WatchState, WatchStatus,
};

pub use index::EmbedReply;
pub use links::{LinkReport, LostLink};

use self::{answering::Searching, length::Mismatch, turn::Turn};
use crate::{
    config::CoreConfig,
    embed::{self, Embedder},
    error,
    freshness::{self, Event, Tracker},
    ingest::{FINGERPRINT, Fingerprint, Silent, UNFINISHED},
    note::Note,
    store::{EmbeddedStore, OpenOptions, Store, StoreError},
};

/// A knowledge base on this machine. Clones share everything.
#[derive(Clone)]
pub struct LocalEngine {
    shared: Arc<Shared>,
}

struct Shared {
    config: CoreConfig,
    opened: Mutex<Option<Opened>>,
    searching: Mutex<Searching>,
    embedder: OnceLock<std::result::Result<Option<Arc<dyn Embedder>>, Error>>,
    /// Whether the embedder failed the last time it was used.
    embedder_failed: AtomicBool,
    tracker: Mutex<Tracker>,
    /// Known changes that wait to be indexed.
    pending: AtomicU64,
    fingerprint: OnceLock<Fingerprint>,
    /// One run at a time writes, one at a time embeds.
    writing: Turn,
    embedding: Turn,
    reads: Arc<AtomicU64>,
    /// The last update in the background that failed, and the same where it could not be noted.
    failure: Note<UpdateFailure>,
    failure_here: Mutex<Option<UpdateFailure>>,
    /// That the configured model gave vectors of another length than those stored, and the same where it could
    /// not be noted.
    mismatch: Note<Mismatch>,
    mismatch_here: Arc<AtomicBool>,
    watch: Mutex<WatchStatus>,
    sync: Mutex<SyncStatus>,
}

#[derive(Clone)]
struct Opened {
    store: Arc<dyn Store>,
}

impl LocalEngine {
    /// Checks the configuration; opens and creates nothing.
    pub fn open(config: CoreConfig) -> Result<Self> {
        for (index, source) in config.sources.iter().enumerate() {
            let taken = config.sources[..index].iter().any(|other| other.name == source.name);
            if source.name.trim().is_empty() || taken {
                let error = Error::new(ErrorCode::ConfigInvalid, "every source needs a name of its own");
                return Err(error.with_hint("give each source another name"));
            }
        }
        Ok(Self {
            shared: Arc::new(Shared {
                failure: Note::new(&config.data_dir, background::FAILURE),
                failure_here: Mutex::default(),
                mismatch: Note::new(&config.data_dir, length::MISMATCH),
                mismatch_here: Arc::default(),
                config,
                opened: Mutex::default(),
                searching: Mutex::default(),
                embedder: OnceLock::new(),
                embedder_failed: AtomicBool::new(false),
                tracker: Mutex::new(Tracker::new(Freshness::Unknown)),
                pending: AtomicU64::new(0),
                fingerprint: OnceLock::new(),
                writing: Turn::default(),
                embedding: Turn::default(),
                reads: Arc::default(),
                watch: Mutex::new(WatchStatus {
                    state: WatchState::Disabled,
                    last_event_ms: None,
                    last_heartbeat_ms: None,
                    pending: 0,
                    events_outside: 0,
                    last_error: None,
                }),
                sync: Mutex::default(),
            }),
        })
    }

    /// What it was opened with.
    pub fn config(&self) -> &CoreConfig {
        &self.shared.config
    }

    /// How many files were read since it was opened.
    pub fn files_read(&self) -> u64 {
        self.shared.reads.load(Ordering::Relaxed)
    }

    /// The store, for those who look at it directly.
    pub fn store(&self) -> Result<Arc<dyn Store>> {
        Ok(self.shared.reading()?.store)
    }

    /// Tells what the watcher is doing; shown by `status`.
    pub(crate) fn set_watch(&self, change: impl FnOnce(&mut WatchStatus)) {
        change(&mut lock(&self.shared.watch));
    }

    pub(crate) fn watch_state(&self) -> WatchState {
        lock(&self.shared.watch).state
    }

    /// Tells what the git sync is doing; shown by `status`.
    pub fn set_sync(&self, status: SyncStatus) {
        *lock(&self.shared.sync) = status;
    }

    /// Notes how many changes of files wait to be indexed.
    pub fn note_changes(&self, waiting: u64) {
        self.shared.pending.store(waiting, Ordering::Relaxed);
        if waiting > 0 {
            self.shared.on(Event::Changed);
        }
    }

    /// Notes that files may have changed unseen.
    pub fn note_doubt(&self) {
        self.shared.on(Event::MayHaveChanged);
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || work(&shared)).await.unwrap_or_else(|_| {
            tracing::error!("a call ended in a panic");
            Err(Error::internal())
        })
    }
}

impl Shared {
    /// The store as it is; an error when there is none.
    fn reading(&self) -> Result<Opened> {
        self.opened(false)
    }

    /// The store, created where there is none.
    fn writing(&self) -> Result<Opened> {
        if self.config.read_only {
            return Err(error::store(StoreError::ReadOnly));
        }
        self.opened(true)
    }

    fn opened(&self, create: bool) -> Result<Opened> {
        let mut opened = lock(&self.opened);
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        let options = OpenOptions { create, read_only: self.config.read_only };
        let store = EmbeddedStore::open(&self.config.data_dir, options).map_err(error::store)?;
        let store: Arc<dyn Store> = Arc::new(store);
        let unfinished = store.setting(UNFINISHED).map_err(error::store)?.is_some();
        if unfinished {
            *lock(&self.tracker) = Tracker::new(Freshness::Stale);
        }
        Ok(opened.insert(Opened { store }).clone())
    }

    /// The model, or why there is none; `None` when meaning is turned off.
    fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        self.embedder
            .get_or_init(|| {
                let opened = embed::open(&self.config.embedding).map_err(|e| error::embed(&e))?;
                Ok(opened.map(|model| self.observed(model)))
            })
            .clone()
    }

    fn on(&self, event: Event) {
        lock(&self.tracker).on(event);
    }

    /// The reasons why the index must be made anew; empty when it fits.
    fn reindex_reasons(&self, store: &dyn Store) -> Result<Vec<ReindexReason>> {
        let Some(stored) = store.setting(FINGERPRINT).map_err(error::store)? else { return Ok(Vec::new()) };
        let own = self.fingerprint.get_or_init(|| Fingerprint::of(&self.config));
        Ok(match Fingerprint::parse(&stored) {
            Some(stored) => own.reasons_against(&stored),
            None => vec![ReindexReason::SchemaIncompatible],
        })
    }

    /// The state of the index, judged anew: another process may have written it.
    fn freshness(&self, store: &dyn Store) -> Result<Freshness> {
        let fits = self.reindex_reasons(store)?.is_empty();
        let mut tracker = lock(&self.tracker);
        if !fits {
            tracker.on(Event::ReindexNeeded);
        } else if tracker.state() == Freshness::Incompatible {
            // Somebody else made it fit.
            *tracker = Tracker::new(Freshness::Unknown);
        }
        Ok(tracker.state())
    }

    /// Refuses to answer from an index that does not fit.
    fn queryable(&self) -> Result<(Opened, Freshness)> {
        let opened = self.reading()?;
        let freshness = self.freshness(opened.store.as_ref())?;
        if freshness == Freshness::Incompatible {
            return Err(incompatible());
        }
        Ok((opened, freshness))
    }

    /// Adds what the state of the index and of its embeddings means for an answer.
    fn answered(reply: &mut SearchReply, freshness: Freshness, stale: Option<Warning>) {
        reply.freshness = freshness;
        reply.warnings.extend(stale);
        reply.warnings.extend(freshness::warning(freshness));
    }

    fn search(&self, request: &SearchRequest) -> Result<SearchReply> {
        let (opened, freshness) = self.queryable()?;
        let (searcher, stands_in) = self.answering(&opened)?;
        let mut reply = searcher.search(request).map_err(error::search)?;
        Self::answered(&mut reply, freshness, stale(stands_in, request.mode));
        Ok(reply)
    }

    fn related(&self, request: &RelatedRequest) -> Result<SearchReply> {
        let (opened, freshness) = self.queryable()?;
        let (searcher, stands_in) = self.answering(&opened)?;
        let mut reply = searcher.related(request).map_err(error::search)?;
        Self::answered(&mut reply, freshness, stale(stands_in, request.mode));
        Ok(reply)
    }
}

/// What is told while the model before the configured one answers, unless nobody asks for meaning.
fn stale(stands_in: bool, mode: Option<Mode>) -> Option<Warning> {
    (stands_in && mode != Some(Mode::Lexical)).then(answering::stale)
}

#[async_trait]
impl Engine for LocalEngine {
    async fn status(&self) -> Result<Status> {
        self.blocking(Shared::status).await
    }

    async fn files(&self, paging: Paging) -> Result<Page<FileReport>> {
        self.blocking(move |shared| shared.reading()?.store.file_reports(paging).map_err(error::store)).await
    }

    async fn search(&self, request: SearchRequest) -> Result<SearchReply> {
        self.blocking(move |shared| shared.search(&request)).await
    }

    async fn related(&self, request: RelatedRequest) -> Result<SearchReply> {
        self.blocking(move |shared| shared.related(&request)).await
    }

    async fn documents(&self, filter: DocumentFilter, paging: Paging) -> Result<Page<DocumentSummary>> {
        self.blocking(move |shared| shared.reading()?.store.documents(&filter, paging).map_err(error::store))
            .await
    }

    async fn document(&self, key: DocumentKey, max_bytes: u64) -> Result<Document> {
        self.blocking(move |shared| shared.document(&key, max_bytes)).await
    }

    async fn summary(&self, key: DocumentKey) -> Result<DocumentSummary> {
        self.blocking(move |shared| shared.summary(&key)).await
    }

    async fn chunk(&self, chunk: ChunkRef) -> Result<Chunk> {
        self.blocking(move |shared| shared.chunk(chunk)).await
    }

    async fn attachment(&self, path: RelPath, body: AttachmentBody) -> Result<Attachment> {
        self.blocking(move |shared| shared.attachment(&path, body)).await
    }

    async fn index(&self, request: IndexRequest) -> Result<IndexReply> {
        self.index_with_progress(request, Arc::new(Silent)).await
    }
}

fn incompatible() -> Error {
    Error::new(ErrorCode::IndexIncompatible, "the index does not fit the configuration any more")
        .with_hint("index again; everything is made anew once")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
