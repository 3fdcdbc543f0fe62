//! Sections: a heading with the blocks up to the next heading.

use super::pack::Limits;
use crate::parse::{Block, BlockKind, Parsed};

/// More sections than this are joined where they are small: such a file is a list of headings, and a chunk
/// for each would only cost.
const MAX_SECTIONS: usize = 10_000;

/// Blocks under one heading.
pub(super) struct Section<'a> {
    /// The heading, an index into `Parsed::headings`.
    pub(super) heading: Option<usize>,
    /// Its blocks, the heading's own first; never empty.
    pub(super) blocks: &'a [Block],
}

/// The sections worth a chunk, in order.
pub(super) fn sections<'a>(parsed: &'a Parsed, limits: &Limits) -> Vec<Section<'a>> {
    let mut sections: Vec<Section<'a>> = parsed
        .blocks
        .chunk_by(|one, next| next.kind != BlockKind::Heading && one.heading == next.heading)
        .map(|blocks| Section { heading: blocks[0].heading, blocks })
        .collect();
    if sections.len() > MAX_SECTIONS {
        return joined(parsed, limits);
    }
    let has_text: Vec<bool> = (0..sections.len())
        .map(|index| !is_bare_heading(&sections[index]) || !leads_to_child(parsed, &sections, index))
        .collect();
    let mut keep = has_text.into_iter();
    sections.retain(|_| keep.next().unwrap_or(true));
    sections
}

fn is_bare_heading(section: &Section<'_>) -> bool {
    matches!(section.blocks, [only] if only.is_whole_heading())
}

/// Whether the next section is below this one, so that this heading's words are in its heading path.
fn leads_to_child(parsed: &Parsed, sections: &[Section<'_>], index: usize) -> bool {
    sections
        .get(index + 1)
        .and_then(|next| next.heading)
        .is_some_and(|next| parsed.heading_parents[next] == sections[index].heading)
}

/// Neighbouring sections together, up to the size aimed at, under the heading of the first.
fn joined<'a>(parsed: &'a Parsed, limits: &Limits) -> Vec<Section<'a>> {
    let mut sections = Vec::new();
    let mut start = 0;
    for index in 1..=parsed.blocks.len() {
        let is_cut = parsed.blocks.get(index).is_none_or(|next| {
            next.kind == BlockKind::Heading
                && next.bytes.end - parsed.blocks[start].bytes.start > limits.target
        });
        if is_cut {
            let blocks = &parsed.blocks[start..index];
            sections.push(Section { heading: blocks[0].heading, blocks });
            start = index;
        }
    }
    sections
}
