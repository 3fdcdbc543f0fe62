//! Chunking: blocks of a document to passages of a size that searches and embeds well.

mod boundary;
mod pack;
mod section;

#[cfg(test)]
mod evaluation;
#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;

use ibid_api::{ContentHash, LineRange};

use crate::parse::Parsed;

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
    /// The same, counted in tokens (about four bytes), with an overlap where a section is divided.
    Tokens {
        /// Size aimed at.
        target: usize,
        /// Hard limit.
        max: usize,
        /// At most so much is repeated from the chunk before, from the start of a sentence or a line.
        overlap: usize,
    },
    /// By section and by kind of block, counted in characters: paragraphs of a section packed, each table alone.
    Sections {
        /// Hard limit.
        max: usize,
        /// The last paragraph of the chunk before is repeated if it is no longer than this.
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

impl ChunkPolicy {
    /// Sizes of the vault contract.
    pub const VAULT: Self = Self::Heading { target: 2000, max: 4000 };
    /// Sizes of the library contract.
    pub const LIBRARY: Self = Self::Tokens { target: 512, max: 1024, overlap: 64 };
    /// Sizes of the contract for typed documentation.
    pub const DOCS: Self = Self::Sections { max: 1500, overlap: 200 };
}

impl Default for ChunkPolicy {
    fn default() -> Self {
        Self::Heading { target: 1000, max: 2000 }
    }
}

/// Cuts a document into passages, in document order. Together they hold all the text of the body, except
/// headings whose words are in the heading path of the passages below them.
pub fn chunk(parsed: &Parsed, policy: &ChunkPolicy) -> Vec<Draft> {
    let limits = pack::Limits::new(policy, &parsed.text);
    let mut drafts = Vec::new();
    let mut ranges = Vec::new();
    let mut hashed = String::new();
    for section in section::sections(parsed, &limits) {
        ranges.clear();
        pack::pack(parsed, section.blocks, &limits, &mut ranges);
        let heading_path = parsed.heading_path(section.heading);
        let anchor = section.heading.map(|index| &parsed.headings[index].anchor);
        for bytes in ranges.drain(..) {
            let text = &parsed.text[bytes.clone()];
            hashed.clear();
            hashed.push_str(&parsed.title);
            hashed.push('\n');
            for (index, heading) in heading_path.iter().enumerate() {
                hashed.push_str(if index == 0 { "" } else { " > " });
                hashed.push_str(heading);
            }
            hashed.push('\n');
            hashed.push_str(text);
            drafts.push(Draft {
                heading_path: heading_path.clone(),
                anchor: anchor.cloned(),
                lines: parsed.lines(&bytes),
                text: text.to_owned(),
                hash: ContentHash::of(hashed.as_bytes()),
                bytes,
            });
        }
    }
    drafts
}
