//! Blocks of a section to ranges of a bounded size.

use std::ops::Range;

use super::{
    ChunkPolicy,
    boundary::{self, Grain},
};
use crate::parse::{Block, BlockKind, Parsed};

/// Bytes that count as one token.
const TOKEN_BYTES: usize = 4;

/// Sizes of a policy in one unit: characters, or bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) target: usize,
    max: usize,
    overlap: usize,
    /// Whether the size of a text is its length in bytes.
    by_bytes: bool,
    /// Whether a table is a chunk of its own, and what is repeated is a whole block.
    by_kind: bool,
}

impl Limits {
    pub(super) fn new(policy: &ChunkPolicy, text: &str) -> Self {
        let (target, max, overlap, by_bytes) = match *policy {
            // Where every character is one byte, counting them is free.
            ChunkPolicy::Heading { target, max } => (target, max.max(1), 0, text.is_ascii()),
            ChunkPolicy::Tokens { target, max, overlap } => (
                target.saturating_mul(TOKEN_BYTES),
                max.max(1).saturating_mul(TOKEN_BYTES),
                overlap.saturating_mul(TOKEN_BYTES),
                true,
            ),
            ChunkPolicy::Sections { max, overlap } => {
                let overlap = overlap.min(max / 2);
                (max - overlap, max.max(1), overlap, text.is_ascii())
            }
        };
        let target = target.clamp(if by_bytes { TOKEN_BYTES.min(max) } else { 1 }, max);
        let by_kind = matches!(policy, ChunkPolicy::Sections { .. });
        Self { target, max, overlap: overlap.min(target / 2), by_bytes, by_kind }
    }

    fn size(&self, text: &str) -> usize {
        if self.by_bytes { text.len() } else { text.chars().count() }
    }

    /// Whether two neighbours may be in one chunk. A heading goes with whatever follows it.
    fn may_join(&self, one: BlockKind, next: BlockKind) -> bool {
        let apart = one == BlockKind::Table || next == BlockKind::Table;
        !self.by_kind || !apart || one == BlockKind::Heading
    }

    /// The end of a piece of this size at the start of `text`, at least one character.
    fn end_of(&self, text: &str, size: usize) -> usize {
        if self.by_bytes {
            let end = text.floor_char_boundary(size);
            if end > 0 { end } else { text.chars().next().map_or(0, char::len_utf8) }
        } else {
            text.char_indices().nth(size.max(1)).map_or(text.len(), |(at, _)| at)
        }
    }
}

/// A piece that is not cut any more.
#[derive(Debug, Clone)]
struct Unit {
    bytes: Range<usize>,
    size: usize,
    kind: BlockKind,
}

/// Appends the ranges of the chunks of one section.
pub(super) fn pack(parsed: &Parsed, blocks: &[Block], limits: &Limits, ranges: &mut Vec<Range<usize>>) {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return };
    let whole = first.bytes.start..last.bytes.end;
    let may_be_one = blocks.windows(2).all(|pair| limits.may_join(pair[0].kind, pair[1].kind));
    if may_be_one && limits.size(&parsed.text[whole.clone()]) <= limits.max {
        ranges.push(whole);
        return;
    }
    let mut units = Vec::new();
    for block in blocks {
        divide(&parsed.text, block, limits, &mut units);
    }
    let groups = group(&parsed.text, &units, limits);
    for (index, group) in groups.iter().enumerate() {
        let members = &units[group.clone()];
        let (Some(first), Some(last)) = (members.first(), members.last()) else { continue };
        // The words of a heading are in the heading path of the chunks that follow.
        let is_bare_heading = members.len() == 1
            && blocks[0].is_whole_heading()
            && first.bytes == blocks[0].bytes
            && blocks.len() > 1;
        if is_bare_heading {
            continue;
        }
        let mut bytes = first.bytes.start..last.bytes.end;
        if index > 0 && limits.overlap > 0 && limits.may_join(units[group.start - 1].kind, first.kind) {
            bytes.start =
                with_overlap(&parsed.text, &units[groups[index - 1].clone()], bytes.clone(), limits);
        }
        ranges.push(bytes);
    }
}

/// A block as one unit if it fits, and else in pieces.
fn divide(text: &str, block: &Block, limits: &Limits, units: &mut Vec<Unit>) {
    let kind = block.kind;
    let size = limits.size(&text[block.bytes.clone()]);
    if size <= limits.max {
        units.push(Unit { bytes: block.bytes.clone(), size, kind });
        return;
    }
    let grain = grain_of(kind);
    // Pieces of about the same size read better than full ones and a rest.
    let goal = size.div_ceil(size.div_ceil(limits.target));
    // A cut may come a little after the goal, so that whole sentences make up the pieces.
    let goal = (goal + goal / 8).min(limits.target.max(1)).max(1);
    let mut start = block.bytes.start;
    while start < block.bytes.end {
        let rest = &text[start..block.bytes.end];
        let limit = start + limits.end_of(rest, goal);
        let end = if limit >= block.bytes.end {
            block.bytes.end
        } else {
            let middle = text.floor_char_boundary(start + (limit - start) / 2);
            boundary::cut(text, middle..limit, grain)
        };
        let piece = text[start..end].trim_end();
        if !piece.is_empty() {
            units.push(Unit { bytes: start..start + piece.len(), size: limits.size(piece), kind });
        }
        let rest = &text[end..block.bytes.end];
        let blank = match grain {
            Grain::Sentences => rest.len() - rest.trim_start().len(),
            Grain::Lines => rest.len() - rest.trim_start_matches(['\n', '\r']).len(),
        };
        start = end + blank;
    }
}

fn grain_of(kind: BlockKind) -> Grain {
    match kind {
        BlockKind::Paragraph | BlockKind::Heading => Grain::Sentences,
        BlockKind::ListItem | BlockKind::Code | BlockKind::Table | BlockKind::Other => Grain::Lines,
    }
}

/// Neighbouring units together: towards the target, a heading with what follows it, no small rest.
fn group(text: &str, units: &[Unit], limits: &Limits) -> Vec<Range<usize>> {
    let gap = |next: usize| limits.size(&text[units[next - 1].bytes.end..units[next].bytes.start]);
    let mut groups: Vec<(Range<usize>, usize)> = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        if let Some((group, size)) = groups.last_mut() {
            let together = *size + gap(index) + unit.size;
            let last = units[group.end - 1].kind;
            let is_small = *size < limits.target / 4 || last == BlockKind::Heading;
            let fits = together <= limits.target || (is_small && together <= limits.max);
            if fits && limits.may_join(last, unit.kind) {
                group.end = index + 1;
                *size = together;
                continue;
            }
        }
        groups.push((index..index + 1, unit.size));
    }
    if let [.., (before, size), (rest, rest_size)] = groups.as_mut_slice()
        && *rest_size < limits.target / 4
        && *size + gap(rest.start) + *rest_size <= limits.max
        && limits.may_join(units[before.end - 1].kind, units[rest.start].kind)
    {
        before.end = rest.end;
        groups.pop();
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

/// Where a chunk starts when it repeats the end of the one before it.
fn with_overlap(text: &str, before: &[Unit], bytes: Range<usize>, limits: &Limits) -> usize {
    let Some(last) = before.last() else { return bytes.start };
    // Whole paragraphs are repeated, and not all that there was.
    if limits.by_kind && (last.kind != BlockKind::Paragraph || before.len() < 2) {
        return bytes.start;
    }
    let earliest = bytes.start.saturating_sub(limits.overlap);
    let start = if last.bytes.start >= earliest {
        // The whole last unit fits; of code and tables only that will do.
        Some(last.bytes.start)
    } else if !limits.by_kind && earliest < last.bytes.end && grain_of(last.kind) == Grain::Sentences {
        let earliest = text.floor_char_boundary(earliest).max(last.bytes.start);
        boundary::first_start(text, earliest..last.bytes.end, Grain::Sentences)
    } else {
        None
    };
    start.filter(|&start| limits.size(&text[start..bytes.end]) <= limits.max).unwrap_or(bytes.start)
}
