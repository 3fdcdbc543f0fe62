//! Plain text and source code to blocks: no headings, only places where a cut does little harm.

use std::ops::Range;

use super::{Block, BlockKind};

/// Paragraphs: blocks end at blank lines.
pub(super) fn paragraphs(text: &str, blocks: &mut Vec<Block>) {
    split(text, 0..text.len(), BlockKind::Paragraph, None, |_| true, blocks);
}

/// Source code: blocks end at blank lines before a line that is not indented.
pub(super) fn code(text: &str, blocks: &mut Vec<Block>) {
    let starts_item = |line: &str| !line.starts_with([' ', '\t', '}', ')', ']']);
    split(text, 0..text.len(), BlockKind::Code, None, starts_item, blocks);
}

/// Blocks of `body`, each ending at a blank line that is followed by a line that `may_start` a new one.
pub(super) fn split(
    text: &str,
    body: Range<usize>,
    kind: BlockKind,
    heading: Option<usize>,
    may_start: impl Fn(&str) -> bool,
    blocks: &mut Vec<Block>,
) {
    let mut open: Option<Range<usize>> = None;
    let mut after_blank = false;
    let mut offset = body.start;
    for line in text[body].split_inclusive('\n') {
        let content = line.trim_end();
        if content.is_empty() {
            after_blank = true;
        } else {
            let end = offset + content.len();
            match &mut open {
                Some(block) if !(after_blank && may_start(content)) => block.end = end,
                _ => {
                    blocks.extend(open.take().map(|bytes| Block { kind, bytes, heading }));
                    open = Some(offset..end);
                }
            }
            after_blank = false;
        }
        offset += line.len();
    }
    blocks.extend(open.map(|bytes| Block { kind, bytes, heading }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(blocks: Vec<Block>, text: &str, want: &[&str]) {
        let got: Vec<&str> = blocks.into_iter().map(|block| &text[block.bytes]).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn paragraphs_end_at_blank_lines() {
        let text = "\n one\r\ntwo\r\n \t\r\nthree\n\n\n";
        let mut blocks = Vec::new();
        paragraphs(text, &mut blocks);
        check(blocks, text, &[" one\r\ntwo", "three"]);
    }

    #[test]
    fn code_is_kept_together_while_it_is_indented() {
        let text = "use x;\n\nfn a() {\n    1;\n\n    2;\n\n}\n\nfn b() {}\n";
        let mut blocks = Vec::new();
        code(text, &mut blocks);
        check(blocks, text, &["use x;", "fn a() {\n    1;\n\n    2;\n\n}", "fn b() {}"]);
    }
}
