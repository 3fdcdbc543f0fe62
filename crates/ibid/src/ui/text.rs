//! Text for terminals: display width, wrapping, shortening, and no control characters from strangers.

use std::borrow::Cow;

/// Columns a character takes.
fn char_width(character: char) -> usize {
    match u32::from(character) {
        // Combining marks, zero-width characters and variation selectors.
        0x0300..=0x036f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xfeff => 0,
        // East Asian wide and full-width forms, and emoji.
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0x33ff
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xa000..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe4f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Columns a text without styles takes.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// The text without control characters, on one line: files may hold escape sequences, and a terminal would
/// obey them.
pub fn safe(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unsafe) {
        Cow::Owned(text.chars().map(|c| if is_unsafe(c) { ' ' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// The text without control characters other than line breaks and tabs.
pub fn safe_lines(text: &str) -> Cow<'_, str> {
    let bad = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t');
    if text.chars().any(bad) {
        Cow::Owned(text.chars().map(|c| if bad(c) { '\u{fffd}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

fn is_unsafe(character: char) -> bool {
    // Control characters, and the marks that reorder what follows them.
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text cut to so many columns, with an ellipsis when something is missing.
pub fn shorten(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut short = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += char_width(character);
        if used > columns {
            break;
        }
        short.push(character);
    }
    short.push('…');
    Cow::Owned(short)
}

/// The path cut to so many columns. Its end tells it from its neighbours, so its beginning goes.
pub fn shorten_path(path: &str, columns: usize) -> Cow<'_, str> {
    if width(path) <= columns {
        return Cow::Borrowed(path);
    }
    let mut used = 1;
    let mut start = path.len();
    for (at, character) in path.char_indices().rev() {
        used += char_width(character);
        if used > columns {
            break;
        }
        start = at;
    }
    Cow::Owned(format!("…{}", &path[start..]))
}

/// Byte ranges of lines no wider than so many columns, broken at spaces where possible.
pub fn wrap(text: &str, columns: usize) -> Vec<std::ops::Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut used) = (0, 0);
    let mut space: Option<usize> = None;
    for (at, character) in text.char_indices() {
        let wide = char_width(character);
        if character == ' ' {
            // A space at the end of a line takes no room.
            space = Some(at);
        } else if used + wide > columns && at > start {
            let end = space.unwrap_or(at);
            lines.push(start..end);
            start = end + usize::from(space.is_some());
            used = width(&text[start..at]);
            space = None;
        }
        used += wide;
    }
    if start < text.len() {
        lines.push(start..text.len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_never_exceed_the_width() {
        for (text, columns, want) in [
            ("", 5, vec![]),
            ("one two three", 20, vec!["one two three"]),
            ("one two three", 7, vec!["one two", "three"]),
            ("onetwothree", 4, vec!["onet", "woth", "ree"]),
            ("日本語です", 4, vec!["日本", "語で", "す"]),
            ("a bb", 1, vec!["a", "b", "b"]),
        ] {
            let lines: Vec<_> = wrap(text, columns).into_iter().map(|line| &text[line]).collect();
            assert_eq!(lines, want, "{text:?} in {columns}");
        }
    }

    #[test]
    fn escape_sequences_lose_their_power() {
        assert_eq!(safe("a\u{1b}[31mb\n"), "a [31mb ");
        assert_eq!(safe_lines("a\n\tb\u{7}"), "a\n\tb\u{fffd}");
        assert!(matches!(safe("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_texts_are_shortened_by_columns() {
        assert_eq!(shorten("hello", 5), "hello");
        assert_eq!(shorten("hello!", 5), "hell…");
        assert_eq!(shorten("日本語", 4), "日…");
        assert_eq!(shorten_path("a/b.md", 6), "a/b.md");
        assert_eq!(shorten_path("docs/guide/b.md", 8), "…de/b.md");
        assert_eq!(shorten_path("日本語", 4), "…語");
    }
}
