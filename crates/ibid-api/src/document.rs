//! Documents, their chunks, and the files beside them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChunkRef, ContentHash, DocumentId, Filter, NoteId, RelPath};

/// What a document is, as far as reading and filtering it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DocumentKind {
    /// Markdown.
    Markdown,
    /// Plain text.
    Text,
    /// Source code or configuration.
    Code,
    /// PDF.
    Pdf,
    /// Office document.
    Office,
    /// HTML.
    Html,
    /// A note that lives in the knowledge base itself.
    Note,
}

impl DocumentKind {
    /// All kinds.
    pub const ALL: &[Self] =
        &[Self::Markdown, Self::Text, Self::Code, Self::Pdf, Self::Office, Self::Html, Self::Note];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Code => "code",
            Self::Pdf => "pdf",
            Self::Office => "office",
            Self::Html => "html",
            Self::Note => "note",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

/// What a document says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Other names.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Tags, without `#`.
    #[serde(default)]
    pub tags: Vec<String>,
    /// `date` of the frontmatter, as written.
    #[serde(default)]
    pub date: Option<String>,
    /// `created` of the frontmatter, as written.
    #[serde(default)]
    pub created: Option<String>,
    /// `updated` of the frontmatter, as written.
    #[serde(default)]
    pub updated: Option<String>,
    /// How many different files the document refers to as attachments.
    #[serde(default)]
    pub attachment_count: u32,
}

/// A document without its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSummary {
    /// Number inside this knowledge base.
    pub id: DocumentId,
    /// Identifier made from the path.
    pub note_id: NoteId,
    /// Name of the source it comes from.
    pub source: String,
    /// Path below the source.
    pub path: RelPath,
    /// Title: frontmatter, first main heading, or file stem.
    pub title: String,
    /// What it is.
    pub kind: DocumentKind,
    /// ISO 639-1 code of its main language, where it could be told.
    pub language: Option<String>,
    /// Size of the file in bytes.
    pub size: u64,
    /// When the file was last changed, in milliseconds since 1970.
    pub modified_ms: i64,
    /// How many chunks it has.
    pub chunk_count: u32,
    /// What it says about itself.
    pub metadata: Metadata,
}

/// A heading of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Text without markup.
    pub text: String,
    /// Anchor as GitHub makes it, unique in the document.
    pub anchor: String,
    /// Line it stands on, from 1.
    pub line: u32,
}

/// Lines of a file, both ends included, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineRange {
    /// First line.
    pub start: u32,
    /// Last line.
    pub end: u32,
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkTarget {
    /// The document.
    pub note_id: NoteId,
    /// Its path.
    pub path: RelPath,
    /// Its title.
    pub title: String,
}

/// A link from one document to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// What the document names, without heading and display text.
    pub name: String,
    /// Heading or block after `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<String>,
    /// Text shown instead of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether the target's content is shown in place.
    #[serde(default)]
    pub embed: bool,
    /// Line it stands on, from 1.
    pub line: u32,
    /// The one document it leads to, where there is exactly one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<LinkTarget>,
}

/// A document with its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Everything but the content.
    #[serde(flatten)]
    pub summary: DocumentSummary,
    /// The whole text, frontmatter included.
    pub content: String,
    /// Its headings, in order.
    pub headings: Vec<Heading>,
    /// Links to other documents, in order.
    pub links: Vec<Link>,
    /// Files it refers to that are not documents.
    pub attachments: Vec<String>,
}

/// A chunk with its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// Which chunk it is.
    pub chunk: ChunkRef,
    /// Its document.
    pub document: DocumentSummary,
    /// Headings above it, outermost first; the last is its own.
    pub heading_path: Vec<String>,
    /// Anchor of its own heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Lines of the file it was cut from.
    pub lines: LineRange,
    /// Its text, as in the file.
    pub text: String,
    /// Identity of the text.
    pub hash: ContentHash,
    /// Links to other documents that stand in it, in order.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Files it refers to that are not documents.
    #[serde(default)]
    pub attachments: Vec<String>,
}

/// A file beside the documents, with or without its bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// Path below the source.
    pub path: RelPath,
    /// Last segment of the path.
    pub file_name: String,
    /// Media type; `application/octet-stream` when unknown.
    pub content_type: String,
    /// Size in bytes.
    pub size: u64,
    /// Its bytes, when they were asked for.
    #[serde(skip)]
    pub body: Option<Vec<u8>>,
}

/// Whether the bytes of an attachment are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentBody {
    /// Metadata only.
    Omit,
    /// Bytes, up to this many.
    UpTo(u64),
}

/// Which documents a list shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DocumentFilter {
    /// The same filters that a search has.
    pub filter: Filter,
    /// Title, path, alias or tag contains this, ignoring case.
    pub name: Option<String>,
}
