//! `WriteBatch`: the only way anything is written.

use ibid_api::{
    ContentHash, DocumentId, DocumentKind, FileOutcome, Generation, Heading, LineRange, Metadata, RelPath,
};

/// Everything one write does, applied together or not at all, in the order of the fields.
#[derive(Debug, Clone, Default)]
pub struct WriteBatch {
    /// Forget everything of these sources first.
    pub forget_sources: Vec<String>,
    /// Files that are gone: source name and path, with their documents.
    pub remove: Vec<(String, String)>,
    /// Files that were seen, each with its outcome and its document if it has one. A file replaces what was
    /// stored under its source and path; a document whose content is unchanged keeps its number.
    pub files: Vec<FileWrite>,
    /// Forget every embedding of these models.
    pub forget_models: Vec<String>,
    /// Embeddings by content.
    pub embeddings: Vec<EmbeddingWrite>,
    /// Settings to keep with the data.
    pub settings: Vec<SettingWrite>,
}

/// A named setting.
#[derive(Debug, Clone)]
pub struct SettingWrite {
    /// Name of the setting.
    pub name: String,
    /// Its value; `None` forgets it.
    pub value: Option<String>,
}

/// A file and what became of it.
#[derive(Debug, Clone)]
pub struct FileWrite {
    /// Name of the source.
    pub source: String,
    /// Path below it, as found; not always a valid `RelPath`.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Identity of the bytes; `None` when they were not read.
    pub hash: Option<ContentHash>,
    /// What became of it.
    pub outcome: FileOutcome,
    /// The document, for an indexed file and for one whose name alone is searchable. `None` together with
    /// `keep_document` leaves the stored document as it is (only size or time changed).
    pub document: Option<DocumentWrite>,
    /// Keep the stored document untouched.
    pub keep_document: bool,
}

/// A document with its chunks and links.
#[derive(Debug, Clone)]
pub struct DocumentWrite {
    /// Path below the source.
    pub path: RelPath,
    /// Title.
    pub title: String,
    /// What it is.
    pub kind: DocumentKind,
    /// ISO 639-1 code.
    pub language: Option<String>,
    /// What it says about itself; `collection:…` among the tags is its collection.
    pub metadata: Metadata,
    /// Frontmatter fields.
    pub fields: Vec<(String, Vec<String>)>,
    /// Headings.
    pub headings: Vec<Heading>,
    /// Chunks, in order.
    pub chunks: Vec<ChunkWrite>,
    /// Links, in order.
    pub links: Vec<LinkWrite>,
    /// Files it refers to.
    pub attachments: Vec<String>,
}

/// A chunk.
#[derive(Debug, Clone)]
pub struct ChunkWrite {
    /// Headings above it.
    pub heading_path: Vec<String>,
    /// Anchor of its own heading.
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

/// A link as written.
#[derive(Debug, Clone)]
pub struct LinkWrite {
    /// What is named.
    pub name: String,
    /// After `#`.
    pub fragment: Option<String>,
    /// Shown text.
    pub label: Option<String>,
    /// Shown in place.
    pub embed: bool,
    /// `[[…]]`, as opposed to a Markdown link, whose name is a path relative to the document.
    pub wiki: bool,
    /// Line, from 1.
    pub line: u32,
    /// Chunk it stands in.
    pub chunk: Option<u32>,
}

/// An embedding of a text.
#[derive(Debug, Clone)]
pub struct EmbeddingWrite {
    /// Identity of the text.
    pub hash: ContentHash,
    /// Model.
    pub model: String,
    /// Unit vector.
    pub vector: Vec<f32>,
}

/// What a batch did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// The generation that a reader sees once it sees this batch.
    pub generation: Generation,
    /// Numbers of the documents written, in the order of `files` that had one.
    pub documents: Vec<DocumentId>,
}
