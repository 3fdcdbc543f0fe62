//! A simple reading of Markdown whose nesting no real document has: headings, fences and blank lines only.
//!
//! Nested lists and quotes cost the full parser time for every open level on every line. A few kilobytes of
//! `> > > >` can so keep it busy for minutes, and nobody reads such a file for its structure.

use super::{
    Block, BlockKind, language,
    markdown::{MAX_HEADING_BYTES, Outline, Structure, plain_heading},
    text,
};

/// Levels of lists and quotes that one line may open.
const MAX_MARKERS: usize = 100;
/// Columns that a list item or a quote may be indented by.
const MAX_INDENTATION: usize = 400;

/// Whether lists and quotes are nested deeper than in any real document.
pub(super) fn is_needed(body: &str) -> bool {
    body.split('\n').any(|line| match line.as_bytes().first() {
        Some(b' ' | b'\t' | b'>' | b'-' | b'+' | b'*' | b'0'..=b'9') => opens_too_many(line.as_bytes()),
        _ => false,
    })
}

fn opens_too_many(line: &[u8]) -> bool {
    let (mut markers, mut columns, mut position) = (0, 0, 0);
    while let Some(&byte) = line.get(position) {
        let is_last = |at: usize| line.get(at).is_none_or(u8::is_ascii_whitespace);
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4,
            b'>' => markers += 1,
            b'-' | b'+' | b'*' if is_last(position + 1) => markers += 1,
            b'0'..=b'9' => {
                let digits =
                    line[position..].iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
                let marker = position + digits;
                if !matches!(line.get(marker), Some(b'.' | b')')) || !is_last(marker + 1) {
                    break;
                }
                markers += 1;
                position = marker;
            }
            _ => break,
        }
        position += 1;
    }
    markers > MAX_MARKERS || (markers > 0 && columns > MAX_INDENTATION)
}

/// Takes the body apart by lines.
pub(super) fn read(text: &str, body_start: usize, line_starts: &[usize]) -> Structure {
    let mut structure = Structure::default();
    let mut outline = Outline::default();
    let mut fence: Option<(usize, &str)> = None;
    // Where the text that is not in a block yet starts.
    let mut pending = body_start;
    let mut offset = body_start;
    for line in text[body_start..].split_inclusive('\n') {
        let content = line.trim();
        let line_end = offset + line.len();
        match fence {
            Some((start, marker)) => {
                if content.starts_with(marker) && content.trim_start_matches(&marker[..1]).is_empty() {
                    push_code(text, start, line_end, &mut structure);
                    fence = None;
                    pending = line_end;
                }
            }
            None if content.starts_with("```") || content.starts_with("~~~") => {
                push_paragraphs(text, pending, offset, &mut structure);
                let marker = content.len() - content.trim_start_matches(&content[..1]).len();
                fence = Some((offset, &content[..marker]));
            }
            None => {
                if let Some((level, words)) = heading(line) {
                    push_paragraphs(text, pending, offset, &mut structure);
                    let number = line_starts.partition_point(|&start| start <= offset).max(1) as u32;
                    let index = outline.push(&mut structure, level, words, number);
                    let end = offset + line.trim_end().len();
                    structure.blocks.push(Block {
                        kind: BlockKind::Heading,
                        bytes: offset..end,
                        heading: Some(index),
                    });
                    pending = line_end;
                }
            }
        }
        offset = line_end;
    }
    match fence {
        Some((start, _)) => push_code(text, start, text.len(), &mut structure),
        None => push_paragraphs(text, pending, text.len(), &mut structure),
    }
    let sample = &text[body_start..];
    sample[..sample.floor_char_boundary(language::SAMPLE_BYTES)].clone_into(&mut structure.prose);
    structure
}

fn push_paragraphs(text: &str, start: usize, end: usize, structure: &mut Structure) {
    let heading = structure.headings.len().checked_sub(1);
    text::split(text, start..end, BlockKind::Paragraph, heading, |_| true, &mut structure.blocks);
}

fn push_code(text: &str, start: usize, end: usize, structure: &mut Structure) {
    let heading = structure.headings.len().checked_sub(1);
    let bytes = start..start + text[start..end].trim_end().len();
    structure.verbatim.push(bytes.clone());
    structure.blocks.push(Block { kind: BlockKind::Code, bytes, heading });
}

/// Level and text of an ATX heading.
fn heading(line: &str) -> Option<(u8, String)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    if !(1..=6).contains(&level) || !rest.starts_with([' ', '\t']) {
        return None;
    }
    let words = rest.trim().trim_end_matches('#');
    let text = plain_heading(&words[..words.floor_char_boundary(MAX_HEADING_BYTES)]);
    (!text.is_empty()).then_some((level as u8, text))
}
