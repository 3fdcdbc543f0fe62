//! Storage: the one seam between the engine and whatever keeps its data.
//!
//! A backend keeps documents, chunks, links, embeddings and file outcomes, and answers two kinds of
//! candidate queries. Nothing here says file, row or rebuild: PostgreSQL must be able to implement it.

mod batch;
#[cfg(test)]
pub(crate) mod contract;
mod embedded;
mod query;

pub use batch::{
    Applied, ChunkWrite, DocumentWrite, EmbeddingWrite, FileWrite, LinkWrite, SettingWrite, WriteBatch,
};
pub use embedded::{EmbeddedStore, OpenOptions, Weights};
pub use query::{
    Candidate, Candidates, Clause, DOCUMENT_ITSELF, LexicalQuery, Pending, StoreSummary, StoredChunk,
    StoredDocument, StoredFile, StoredLink, VectorQuery,
};

use ibid_api::{
    ChunkRef, ContentHash, DocumentFilter, DocumentId, DocumentKey, DocumentSummary, FileReport, Generation,
    Page, Paging,
};

/// Why storage failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer holds the lock for longer than allowed.
    #[error("another process is writing")]
    Busy,
    /// The record is damaged.
    #[error("the record is damaged: {0}")]
    Corrupt(String),
    /// The record was written by a newer version.
    #[error("the record has schema version {found}, this program knows up to {known}")]
    TooNew {
        /// Version found.
        found: u32,
        /// Newest version known.
        known: u32,
    },
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The place cannot be written.
    #[error("the data directory cannot be written")]
    ReadOnly,
    /// Nothing is stored there yet and the caller may not create it.
    #[error("nothing is stored there yet")]
    Missing,
    /// Something else; the text is for the log only.
    #[error("storage failed: {0}")]
    Other(String),
}

/// Result of storage calls.
pub type StoreResult<T> = Result<T, StoreError>;

/// One knowledge base's storage. Any number of processes may hold one at once.
pub trait Store: Send + Sync {
    // ----- writing -----

    /// Applies a batch, all or nothing; it is durable when this returns. What was written may become
    /// searchable only with the next `settle`.
    fn apply(&self, batch: WriteBatch) -> StoreResult<Applied>;
    /// Makes everything applied so far searchable, by whoever wrote it, and drops what nothing refers to.
    /// Returns a write that every later answer includes and says so, whatever others write meanwhile.
    fn settle(&self) -> StoreResult<Generation>;

    // ----- reading -----

    /// The last committed write.
    fn generation(&self) -> StoreResult<Generation>;
    /// Counts and sizes.
    fn summary(&self) -> StoreResult<StoreSummary>;
    /// A setting kept with the data (such as the fingerprint of the configuration it was made with).
    fn setting(&self, name: &str) -> StoreResult<Option<String>>;
    /// Every file known of a source, in path order.
    fn stored_files(&self, source: &str) -> StoreResult<Vec<StoredFile>>;
    /// Every file known of a source at this path or below it, in path order.
    fn stored_files_below(&self, source: &str, path: &str) -> StoreResult<Vec<StoredFile>> {
        let mut files = self.stored_files(source)?;
        files.retain(|file| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        Ok(files)
    }
    /// What became of every file, in source and path order.
    fn file_reports(&self, paging: Paging) -> StoreResult<Page<FileReport>>;
    /// One document.
    fn document(&self, key: &DocumentKey) -> StoreResult<Option<StoredDocument>>;
    /// Summaries of these documents, in this order; unknown ones are left out.
    fn summaries(&self, ids: &[DocumentId]) -> StoreResult<Vec<DocumentSummary>>;
    /// Documents by source and path.
    fn documents(&self, filter: &DocumentFilter, paging: Paging) -> StoreResult<Page<DocumentSummary>>;
    /// These chunks, in this order; unknown ones are left out.
    fn chunks(&self, refs: &[ChunkRef]) -> StoreResult<Vec<StoredChunk>>;
    /// All chunks of a document, in order.
    fn chunks_of(&self, document: DocumentId) -> StoreResult<Vec<StoredChunk>>;
    /// Documents whose stem, title or alias is exactly this name.
    fn named(&self, name: &str) -> StoreResult<Vec<DocumentSummary>>;
    /// Documents whose stem, title or alias is one of these names, whatever the case. A name that more than
    /// `most` documents have says nothing and is left out.
    fn called(&self, names: &[&str], most: usize) -> StoreResult<Vec<DocumentId>>;
    /// Links that start at this document, resolved against the documents there are now.
    fn links_from(&self, document: DocumentId) -> StoreResult<Vec<StoredLink>>;
    /// Documents with a link that resolves to this document.
    fn links_to(&self, document: DocumentId) -> StoreResult<Vec<DocumentId>>;

    // ----- candidates -----

    /// Best chunks by words.
    fn lexical(&self, query: &LexicalQuery) -> StoreResult<Candidates>;
    /// Terms that are near this word (typos) with how many chunks hold them, best first; none when the word
    /// itself, or one with the same stem, occurs.
    fn similar_terms(&self, term: &str, limit: usize) -> StoreResult<Vec<(String, u64)>>;
    /// Best chunks by meaning.
    fn nearest(&self, query: &VectorQuery) -> StoreResult<Candidates>;
    /// Texts that have no embedding of this model yet, most recently changed first.
    fn pending_embeddings(&self, model: &str, limit: usize) -> StoreResult<Vec<Pending>>;
    /// How many texts have no embedding of this model yet.
    fn count_pending_embeddings(&self, model: &str) -> StoreResult<u64>;
    /// Length of the vectors of this model, `None` while it has none.
    fn embedding_length(&self, model: &str) -> StoreResult<Option<usize>>;
    /// Stored vectors of these texts, `None` where there is none.
    fn embeddings(&self, model: &str, hashes: &[ContentHash]) -> StoreResult<Vec<Option<Vec<f32>>>>;
}
