//! The engine of a server that has no knowledge base: it starts all the same, and every call says why.

use async_trait::async_trait;
use ibid_api::{
    Attachment, AttachmentBody, Chunk, ChunkRef, Document, DocumentFilter, DocumentKey, DocumentSummary,
    Engine, Error, FileReport, IndexReply, IndexRequest, Page, Paging, RelPath, RelatedRequest, Result,
    SearchReply, SearchRequest, Status,
};

/// Answers everything with the reason why there is nothing.
#[derive(Debug, Clone)]
pub struct AbsentEngine(Error);

impl AbsentEngine {
    /// Absent for this reason.
    pub fn new(reason: Error) -> Self {
        Self(reason)
    }
}

#[async_trait]
impl Engine for AbsentEngine {
    async fn status(&self) -> Result<Status> {
        Err(self.0.clone())
    }

    async fn files(&self, _: Paging) -> Result<Page<FileReport>> {
        Err(self.0.clone())
    }

    async fn search(&self, _: SearchRequest) -> Result<SearchReply> {
        Err(self.0.clone())
    }

    async fn related(&self, _: RelatedRequest) -> Result<SearchReply> {
        Err(self.0.clone())
    }

    async fn documents(&self, _: DocumentFilter, _: Paging) -> Result<Page<DocumentSummary>> {
        Err(self.0.clone())
    }

    async fn document(&self, _: DocumentKey, _: u64) -> Result<Document> {
        Err(self.0.clone())
    }

    async fn chunk(&self, _: ChunkRef) -> Result<Chunk> {
        Err(self.0.clone())
    }

    async fn attachment(&self, _: RelPath, _: AttachmentBody) -> Result<Attachment> {
        Err(self.0.clone())
    }

    async fn index(&self, _: IndexRequest) -> Result<IndexReply> {
        Err(self.0.clone())
    }
}
