//! The service API.

use async_trait::async_trait;

use crate::{
    Attachment, AttachmentBody, Chunk, ChunkRef, Document, DocumentFilter, DocumentKey, DocumentSummary,
    FileReport, IndexReply, IndexRequest, Page, Paging, RelPath, RelatedRequest, Result, SearchReply,
    SearchRequest, Status,
};

/// What a knowledge base can do. Implemented in process by the core, and over HTTP by a client.
///
/// Dropping the future of a call asks the engine to stop working on it; work that cannot stop half way
/// (a write) is finished and its result thrown away.
#[async_trait]
pub trait Engine: Send + Sync {
    /// How fresh, how much, what is running.
    async fn status(&self) -> Result<Status>;
    /// What became of every file, in path order.
    async fn files(&self, paging: Paging) -> Result<Page<FileReport>>;
    /// Finds passages.
    async fn search(&self, request: SearchRequest) -> Result<SearchReply>;
    /// Finds what is near a document or a chunk.
    async fn related(&self, request: RelatedRequest) -> Result<SearchReply>;
    /// Lists documents by path.
    async fn documents(&self, filter: DocumentFilter, paging: Paging) -> Result<Page<DocumentSummary>>;
    /// One document with its content; refuses one larger than `max_bytes`.
    async fn document(&self, key: DocumentKey, max_bytes: u64) -> Result<Document>;
    /// One document without its content.
    async fn summary(&self, key: DocumentKey) -> Result<DocumentSummary> {
        // Correct everywhere; an engine that need not read the file for it does better.
        self.document(key, u64::MAX).await.map(|document| document.summary)
    }
    /// One chunk.
    async fn chunk(&self, chunk: ChunkRef) -> Result<Chunk>;
    /// A file beside the documents.
    async fn attachment(&self, path: RelPath, body: AttachmentBody) -> Result<Attachment>;
    /// Brings the index up to date; returns when it is searchable.
    async fn index(&self, request: IndexRequest) -> Result<IndexReply>;
}
