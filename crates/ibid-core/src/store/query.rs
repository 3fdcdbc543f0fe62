//! What is asked of a store, and what it answers.

use ibid_api::{
    ChunkRef, ContentHash, DocumentId, DocumentSummary, FileOutcome, Filter, Generation, Heading, LineRange,
    RelPath,
};

/// The chunk index of a candidate that is a document without any chunk, found by its name alone.
pub const DOCUMENT_ITSELF: u32 = u32::MAX;

/// A part of a lexical query; terms are raw words, the backend analyses them as it did the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clause {
    /// Adds to the score of what has any of the words in this text.
    Words(String),
    /// Must hold this phrase.
    Phrase(String),
    /// Adds to the score of words that begin like this.
    Prefix(String),
    /// Must not hold this word or phrase.
    Not(String),
    /// Must have this in its title, aliases, tags or headings.
    Title(String),
}

/// A question in words.
#[derive(Debug, Clone, PartialEq)]
pub struct LexicalQuery {
    /// What to look for. Without `Words`, `Phrase`, `Prefix` or `Title`, everything that passes matches.
    pub clauses: Vec<Clause>,
    /// ISO 639-1 codes to analyse the words in; always includes the languages of the stored documents that
    /// the backend finds common.
    pub languages: Vec<String>,
    /// What to search in.
    pub filter: Filter,
    /// Chunks left out.
    pub without_document: Option<DocumentId>,
    /// At most this many.
    pub limit: usize,
}

/// A question in meaning.
#[derive(Debug, Clone)]
pub struct VectorQuery {
    /// Model of the vector.
    pub model: String,
    /// Unit vector.
    pub vector: Vec<f32>,
    /// What to search in.
    pub filter: Filter,
    /// Chunks left out.
    pub without_document: Option<DocumentId>,
    /// At most this many.
    pub limit: usize,
}

/// A chunk and one leg's score. Scores compare only inside one answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The chunk.
    pub chunk: ChunkRef,
    /// The leg's own score, larger is better.
    pub score: f32,
}

/// Best first, ties by chunk.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidates {
    /// The list.
    pub list: Vec<Candidate>,
    /// The last write it includes.
    pub generation: Generation,
    /// Whether the record is ahead of the search index.
    pub behind: bool,
}

/// A chunk as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredChunk {
    /// Which.
    pub chunk: ChunkRef,
    /// Headings above it.
    pub heading_path: Vec<String>,
    /// Anchor.
    pub anchor: Option<String>,
    /// Byte range in the file's text.
    pub bytes: (u64, u64),
    /// Lines.
    pub lines: LineRange,
    /// Text.
    pub text: String,
    /// Identity of title, heading path and text.
    pub hash: ContentHash,
}

/// A document as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredDocument {
    /// Summary.
    pub summary: DocumentSummary,
    /// Headings.
    pub headings: Vec<Heading>,
    /// Frontmatter fields.
    pub fields: Vec<(String, Vec<String>)>,
    /// Files it refers to.
    pub attachments: Vec<String>,
    /// Identity of the bytes it was made from.
    pub hash: Option<ContentHash>,
}

/// A file as last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Path below its source.
    pub path: String,
    /// Size.
    pub size: u64,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Identity of the bytes.
    pub hash: Option<ContentHash>,
    /// What became of it.
    pub outcome: FileOutcome,
}

/// A link and where it leads.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredLink {
    /// What is named.
    pub name: String,
    /// After `#`.
    pub fragment: Option<String>,
    /// Shown text.
    pub label: Option<String>,
    /// Shown in place.
    pub embed: bool,
    /// Line.
    pub line: u32,
    /// Chunk it stands in.
    pub chunk: Option<u32>,
    /// The one document it leads to: number, path and title.
    pub target: Option<(DocumentId, RelPath, String)>,
}

/// A text that waits for its embedding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Identity.
    pub hash: ContentHash,
    /// Title of the document.
    pub title: String,
    /// Headings above.
    pub heading_path: Vec<String>,
    /// Text.
    pub text: String,
}

/// Counts and sizes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSummary {
    /// Last committed write.
    pub generation: Generation,
    /// Last write that is searchable.
    pub searchable: Generation,
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Per source: indexed, skipped and failed files.
    pub sources: Vec<(String, u64, u64, u64)>,
    /// Last write, milliseconds since 1970.
    pub last_write_ms: Option<i64>,
    /// Bytes on disk.
    pub disk_bytes: u64,
}
