//! Where a block that is too large is cut: at a blank line, a sentence, a line, a word, or between characters.

use std::ops::Range;

/// What a cut should respect first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    /// Running text: sentences before lines.
    Sentences,
    /// Code, tables and lists: only lines.
    Lines,
}

/// The best place to cut in `window`, never its start: everything before the result is one piece.
pub(super) fn cut(text: &str, window: Range<usize>, grain: Grain) -> usize {
    let part = &text[window.clone()];
    let found = after_last(part, "\n\n").or_else(|| match grain {
        Grain::Sentences => last_sentence_start(part).or_else(|| after_last(part, "\n")),
        Grain::Lines => after_last(part, "\n"),
    });
    let found = found.or_else(|| {
        part.char_indices()
            .rev()
            .find(|(_, character)| character.is_whitespace())
            .map(|(at, character)| at + character.len_utf8())
    });
    window.start + found.unwrap_or(part.len())
}

/// The first place in `window` where a sentence or a line starts.
pub(super) fn first_start(text: &str, window: Range<usize>, grain: Grain) -> Option<usize> {
    let part = &text[window.clone()];
    let line = part.find('\n').map(|at| at + 1);
    let sentence = match grain {
        Grain::Sentences => sentence_starts(part).next(),
        Grain::Lines => None,
    };
    let start = match (line, sentence) {
        (Some(line), Some(sentence)) => Some(line.min(sentence)),
        (line, sentence) => line.or(sentence),
    }?;
    let blank = part[start..].len() - part[start..].trim_start().len();
    (start + blank < part.len()).then_some(window.start + start + blank)
}

fn after_last(part: &str, mark: &str) -> Option<usize> {
    part.rfind(mark).map(|at| at + mark.len())
}

fn last_sentence_start(part: &str) -> Option<usize> {
    let mut end = part.len();
    loop {
        let at = part[..end].rfind(is_sentence_end)?;
        if let Some(start) = start_behind(part, at) {
            return Some(start);
        }
        end = at;
    }
}

fn sentence_starts(part: &str) -> impl Iterator<Item = usize> {
    part.char_indices()
        .filter(|(_, character)| is_sentence_end(*character))
        .filter_map(|(at, _)| start_behind(part, at))
}

/// Where the next sentence starts behind the mark at `at`, if the mark does end one.
fn start_behind(part: &str, at: usize) -> Option<usize> {
    let mark = part[at..].chars().next()?;
    let mut behind = at + mark.len_utf8();
    if !mark.is_ascii() {
        return Some(behind);
    }
    // Closing quotes and brackets belong to the sentence.
    let closing = part[behind..].chars().next().filter(|next| "\"')]”’»".contains(*next));
    behind += closing.map_or(0, char::len_utf8);
    let space = part[behind..].chars().next().filter(|next| next.is_whitespace())?;
    Some(behind + space.len_utf8())
}

fn is_sentence_end(character: char) -> bool {
    matches!(character, '.' | '!' | '?' | '。' | '！' | '？' | '．' | '…')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_prefer_blank_lines_then_sentences_then_lines_then_words() {
        for (text, grain, want) in [
            ("One. Two.\n\nThree. Fo", Grain::Sentences, "One. Two.\n\n"),
            ("One two. \"Three four.\" Five", Grain::Sentences, "One two. \"Three four.\" "),
            ("Version 1.2 of it\nis out no", Grain::Sentences, "Version 1.2 of it\n"),
            ("a. b\nc. d", Grain::Lines, "a. b\n"),
            ("一つ。二つ", Grain::Sentences, "一つ。"),
            ("one two three", Grain::Sentences, "one two "),
            ("onetwothree", Grain::Lines, "onetwothree"),
        ] {
            assert_eq!(&text[..cut(text, 0..text.len(), grain)], want, "{text:?}");
        }
    }

    #[test]
    fn repeated_text_starts_with_a_sentence_or_a_line() {
        for (text, grain, want) in [
            ("end of one. Start of two", Grain::Sentences, Some("Start of two")),
            ("a line\nnext line", Grain::Lines, Some("next line")),
            ("no start here", Grain::Sentences, None),
            ("at the end. ", Grain::Sentences, None),
        ] {
            let got = first_start(text, 0..text.len(), grain).map(|at| &text[at..]);
            assert_eq!(got, want, "{text:?}");
        }
    }
}
