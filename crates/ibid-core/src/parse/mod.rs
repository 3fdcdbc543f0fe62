//! Parsing: bytes of a file to blocks, headings, links and metadata. Parsing never fails on content.

mod anchor;
mod encoding;
mod frontmatter;
mod kind;
mod language;
mod links;
mod markdown;
mod plain_markdown;
mod text;

#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;

use ibid_api::{DocumentKind, Heading, LineRange, Metadata, RelPath, SkipReason, Warning, WarningCode};

pub use kind::kind_of;

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

impl Block {
    /// Whether the block is a heading whose every word is in the text of its `Heading`.
    pub(crate) fn is_whole_heading(&self) -> bool {
        self.kind == BlockKind::Heading && self.bytes.len() <= markdown::MAX_HEADING_BYTES
    }
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

/// Which files that are not UTF-8 are decoded: from UTF-16, or from an older encoding that is guessed. Others are
/// left out as not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Legacy {
    /// None.
    Never,
    /// Plain text and source code, which come from everywhere. A note that is not UTF-8 is more likely damaged,
    /// and its owner wants to know.
    #[default]
    Texts,
    /// All.
    Always,
}

impl Legacy {
    fn includes(self, kind: DocumentKind) -> bool {
        match self {
            Self::Never => false,
            Self::Texts => !matches!(kind, DocumentKind::Markdown | DocumentKind::Note),
            Self::Always => true,
        }
    }
}

/// What parsing may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseOptions {
    /// What is decoded that is not UTF-8.
    pub legacy: Legacy,
    /// Larger files are skipped.
    pub max_bytes: u64,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self { legacy: Legacy::default(), max_bytes: 2 * 1024 * 1024 }
    }
}

/// Takes a file apart as what its name says it is.
pub fn parse(raw: &RawFile, options: &ParseOptions) -> Outcome {
    match kind_of(&raw.path) {
        Some(kind) => parse_as(kind, raw, options),
        None => Outcome::Skipped(SkipReason::UnsupportedType),
    }
}

/// Takes a file apart as a document of this kind, whatever its name.
pub fn parse_as(kind: DocumentKind, raw: &RawFile, options: &ParseOptions) -> Outcome {
    if raw.bytes.len() as u64 > options.max_bytes {
        return Outcome::Skipped(SkipReason::TooLarge);
    }
    let text = match encoding::decode(&raw.bytes, options.legacy.includes(kind)) {
        Ok(text) if text.trim().is_empty() => return Outcome::Skipped(SkipReason::Empty),
        Ok(text) => text,
        Err(reason) => return Outcome::Skipped(reason),
    };
    match kind {
        DocumentKind::Markdown | DocumentKind::Note => {
            let (parsed, warnings) = parse_markdown(kind, &raw.path, text);
            Outcome::Parsed(Box::new(parsed), warnings)
        }
        DocumentKind::Text => {
            let mut blocks = Vec::new();
            text::paragraphs(&text, &mut blocks);
            let language = language::detect(&text);
            Outcome::Parsed(Box::new(unstructured(kind, &raw.path, text, blocks, language)), Vec::new())
        }
        DocumentKind::Code => {
            let mut blocks = Vec::new();
            text::code(&text, &mut blocks);
            Outcome::Parsed(Box::new(unstructured(kind, &raw.path, text, blocks, None)), Vec::new())
        }
        DocumentKind::Pdf | DocumentKind::Office | DocumentKind::Html => {
            Outcome::Skipped(SkipReason::UnsupportedType)
        }
    }
}

fn parse_markdown(kind: DocumentKind, path: &RelPath, text: String) -> (Parsed, Vec<Warning>) {
    let line_starts = line_starts(&text);
    let header = frontmatter::read(&text).unwrap_or_default();
    let body_start = header.body_start;
    let mut structure = if plain_markdown::is_needed(&text[body_start..]) {
        plain_markdown::read(&text, body_start, &line_starts)
    } else {
        markdown::read(&text, body_start, &line_starts)
    };

    let mut metadata = header.metadata();
    let mut references = std::mem::take(&mut structure.references);
    let mut wiki = Vec::new();
    links::scan_wiki(&text, 0..body_start, &[], &mut references, &mut wiki);
    wiki.clear();
    links::scan_wiki(&text, body_start..text.len(), &structure.verbatim, &mut references, &mut wiki);
    let mut untagged = structure.verbatim;
    untagged.append(&mut structure.linked);
    untagged.append(&mut wiki);
    untagged.sort_unstable_by_key(|range| range.start);
    links::scan_tags(&text, body_start..text.len(), &untagged, &mut metadata.tags);
    let (links, attachments) = links::sorted(references);
    metadata.attachment_count = attachments.len() as u32;

    let warnings = if header.broken {
        vec![Warning::new(
            WarningCode::FrontmatterParseFailed,
            "the frontmatter is not valid YAML; the text is indexed, and of the fields only simple lines were read",
        )]
    } else {
        Vec::new()
    };
    let main_heading = structure.headings.iter().find(|heading| heading.level == 1);
    let title = header
        .title()
        .or_else(|| main_heading.map(|heading| heading.text.clone()))
        .unwrap_or_else(|| path.stem().to_owned());
    let parsed = Parsed {
        kind,
        title,
        metadata,
        fields: header.fields(),
        language: language::detect(&structure.prose),
        text,
        body_start,
        headings: structure.headings,
        heading_parents: structure.heading_parents,
        blocks: structure.blocks,
        links,
        attachments,
        line_starts,
    };
    (parsed, warnings)
}

fn unstructured(
    kind: DocumentKind,
    path: &RelPath,
    text: String,
    blocks: Vec<Block>,
    language: Option<&'static str>,
) -> Parsed {
    Parsed {
        kind,
        title: path.stem().to_owned(),
        metadata: Metadata::default(),
        fields: Vec::new(),
        language,
        body_start: 0,
        headings: Vec::new(),
        heading_parents: Vec::new(),
        blocks,
        links: Vec::new(),
        attachments: Vec::new(),
        line_starts: line_starts(&text),
        text,
    }
}

/// Byte offset of the start of each line. The end of a text after its last line feed is no line.
fn line_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::with_capacity(text.len() / 32 + 1);
    starts.push(0);
    starts.extend(text.match_indices('\n').map(|(at, _)| at + 1).filter(|&start| start < text.len()));
    starts
}
