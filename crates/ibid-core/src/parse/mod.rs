//! Parsing: bytes of a file to blocks, headings, links and metadata. Parsing never fails on content.

use std::ops::Range;

use ibid_api::{DocumentKind, Heading, LineRange, Metadata, RelPath, SkipReason, Warning};

/// A file as a source handed it over.
#[derive(Debug, Clone)]
pub struct RawFile {
    /// Path below its source.
    pub path: RelPath,
    /// All its bytes.
    pub bytes: Vec<u8>,
}

/// What kind of block a piece of text is; it decides where chunks may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading; `Block::heading` points at it.
    Heading,
    /// Running text, callouts and quotes included.
    Paragraph,
    /// One item of a list, nested items included.
    ListItem,
    /// A fenced or indented code block.
    Code,
    /// A table.
    Table,
    /// Raw HTML, a thematic break, a link definition.
    Other,
}

/// A block of a document, in document order. Blocks do not overlap, and together cover all the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Where it stands in `Parsed::text`.
    pub bytes: Range<usize>,
    /// The heading it belongs to (its own for a heading): an index into `Parsed::headings`.
    pub heading: Option<usize>,
}

/// A link as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLink {
    /// What is named, without heading and label.
    pub name: String,
    /// After `#`; a block reference keeps its `^`.
    pub fragment: Option<String>,
    /// After `|`, or the text of a Markdown link.
    pub label: Option<String>,
    /// `![[…]]` or an image.
    pub embed: bool,
    /// `[[…]]`, as opposed to a Markdown link.
    pub wiki: bool,
    /// Where it stands in `Parsed::text`.
    pub at: usize,
}

/// A document taken apart.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// What it is.
    pub kind: DocumentKind,
    /// Frontmatter title, first main heading, or file stem.
    pub title: String,
    /// Allowed frontmatter, inline tags added.
    pub metadata: Metadata,
    /// All scalar and list-of-scalar frontmatter fields, for typed documentation; keys as written.
    pub fields: Vec<(String, Vec<String>)>,
    /// ISO 639-1 code of the main language, where it can be told reliably.
    pub language: Option<&'static str>,
    /// The whole text as UTF-8, frontmatter included; all ranges point into it.
    pub text: String,
    /// Where the body starts, after the frontmatter.
    pub body_start: usize,
    /// Headings, in order.
    pub headings: Vec<Heading>,
    /// For each heading, the index of its parent.
    pub heading_parents: Vec<Option<usize>>,
    /// Blocks of the body, in order.
    pub blocks: Vec<Block>,
    /// Links to documents, in order, code excluded.
    pub links: Vec<RawLink>,
    /// Files referred to that are not documents: as written, decoded, in order, each once.
    pub attachments: Vec<String>,
    /// Byte offset of the start of each line of `text`.
    pub line_starts: Vec<usize>,
}

/// What parsing made of a file.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A document.
    Parsed(Box<Parsed>, Vec<Warning>),
    /// Nothing to read.
    Skipped(SkipReason),
}

impl Parsed {
    /// Texts of the headings above and including this one, outermost first.
    pub fn heading_path(&self, heading: Option<usize>) -> Vec<String> {
        let mut path = Vec::new();
        let mut next = heading;
        while let Some(index) = next {
            path.push(self.headings[index].text.clone());
            next = self.heading_parents[index];
        }
        path.reverse();
        path
    }

    /// The lines that a byte range touches.
    pub fn lines(&self, bytes: &Range<usize>) -> LineRange {
        let line_of =
            |offset: usize| self.line_starts.partition_point(|&start| start <= offset).max(1) as u32;
        let last = bytes.end.saturating_sub(1).max(bytes.start);
        LineRange { start: line_of(bytes.start), end: line_of(last) }
    }
}
