//! Chunking: blocks of a document to passages of a size that searches and embeds well.

use std::ops::Range;

use ibid_api::{ContentHash, LineRange};

/// How a document is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkPolicy {
    /// One chunk per heading section up to `max` characters; larger sections are packed from blocks towards
    /// `target`, never above `max`.
    Heading {
        /// Size aimed at when a section has to be divided.
        target: usize,
        /// Hard limit, in characters.
        max: usize,
    },
    /// Windows counted in tokens (about four characters), with an overlap.
    Tokens {
        /// Size aimed at.
        target: usize,
        /// Hard limit.
        max: usize,
        /// Repeated from the chunk before, when it ends at a block.
        overlap: usize,
    },
}

/// A chunk that is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Headings above it, outermost first; the last is its own.
    pub heading_path: Vec<String>,
    /// Anchor of its own heading.
    pub anchor: Option<String>,
    /// Where it stands in the document's text.
    pub bytes: Range<usize>,
    /// Lines it touches.
    pub lines: LineRange,
    /// Its text, as in the file.
    pub text: String,
    /// Identity of the text together with its title and heading path: what an embedding is made from.
    pub hash: ContentHash,
}
