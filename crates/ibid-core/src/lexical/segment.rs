//! Segmenting: where words begin and end, and how identifiers come apart.

use unicode_normalization::char::is_combining_mark;

/// A run of characters that is searched as a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Segment {
    /// A word between separators: byte range.
    Word(usize, usize),
    /// Characters of a script without spaces between words: byte range.
    Dense(usize, usize),
    /// Words joined without a blank (`a.b`, `x-y`, `p/q`): byte range of the whole. Follows its words.
    Compound(usize, usize),
}

/// A term longer than this is cut from the index: it is data, not a word.
const MAX_WORD_BYTES: usize = 128;

/// Passes on every segment of a text, in order.
pub(super) fn segments(text: &str, mut sink: impl FnMut(Segment)) {
    let bytes = text.as_bytes();
    let mut position = 0;
    let mut compound_start = None;
    let mut compound_words = 0;
    while position < bytes.len() {
        let kind = kind_at(text, position);
        let start = position;
        match kind {
            Kind::Word => {
                position = end_of(text, position, Kind::Word);
                if position - start <= MAX_WORD_BYTES {
                    sink(Segment::Word(start, position));
                }
            }
            Kind::Dense => {
                position = end_of(text, position, Kind::Dense);
                sink(Segment::Dense(start, position));
            }
            Kind::Separator => {
                position += char_len(bytes[position]);
                continue;
            }
        }
        if kind == Kind::Dense {
            compound_start = None;
            continue;
        }
        let first = *compound_start.get_or_insert(start);
        compound_words += 1;
        if let Some(len) = joiner_len(text, position) {
            position += len;
        } else {
            if compound_words > 1 && position - first <= MAX_WORD_BYTES {
                sink(Segment::Compound(first, position));
            }
            compound_start = None;
            compound_words = 0;
        }
        if compound_start.is_none() {
            compound_words = 0;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Dense,
    Separator,
}

fn char_len(first: u8) -> usize {
    match first {
        0..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

fn kind_at(text: &str, at: usize) -> Kind {
    let byte = text.as_bytes()[at];
    if byte < 0x80 {
        return if byte.is_ascii_alphanumeric() || byte == b'_' { Kind::Word } else { Kind::Separator };
    }
    match text[at..].chars().next() {
        Some(c) => kind_of(c),
        None => Kind::Separator,
    }
}

fn kind_of(c: char) -> Kind {
    if is_dense(c) {
        Kind::Dense
    } else if c.is_alphanumeric() || c == '_' || is_combining_mark(c) {
        Kind::Word
    } else {
        Kind::Separator
    }
}

fn end_of(text: &str, start: usize, kind: Kind) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        if kind_at(text, at) == kind {
            at += char_len(bytes[at]);
        } else if kind == Kind::Word && is_apostrophe(text, at) {
            // "don't" and "l'eau": an apostrophe between letters belongs to the word.
            let len = char_len(bytes[at]);
            if at + len < bytes.len() && text[at + len..].chars().next().is_some_and(char::is_alphabetic) {
                at += len;
            } else {
                break;
            }
        } else {
            break;
        }
    }
    at
}

fn is_apostrophe(text: &str, at: usize) -> bool {
    text.as_bytes()[at] == b'\'' || text[at..].starts_with('\u{2019}')
}

/// Length of what joins this word to the next one without a blank.
fn joiner_len(text: &str, at: usize) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    let len = match rest {
        [b':', b':', ..] | [b'-', b'>', ..] => 2,
        [b'.' | b'-' | b'/' | b'@' | b'+' | b'#' | b':', ..] => 1,
        _ => return None,
    };
    (at + len < text.len() && kind_at(text, at + len) == Kind::Word).then_some(len)
}

/// Scripts that put no blank between words.
fn is_dense(c: char) -> bool {
    matches!(c as u32,
        0x0E00..=0x0EFF            // Thai, Lao
        | 0x1000..=0x109F          // Myanmar
        | 0x1100..=0x11FF          // Hangul letters
        | 0x1780..=0x17FF          // Khmer
        | 0x3005..=0x3007
        | 0x3040..=0x30FF          // kana
        | 0x3130..=0x318F
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF          // Han
        | 0xAC00..=0xD7A3          // Hangul
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9F
        | 0x20000..=0x323AF)
}

/// Cuts a word where its writing changes: `camelCase`, `HTTPServer`, `snake_case`, `utf8`. Passes on nothing
/// for a plain word.
pub(super) fn parts(word: &str, mut sink: impl FnMut(usize, usize)) {
    let mut starts = Vec::new();
    let mut previous: Option<char> = None;
    let mut before_previous_upper = false;
    let mut previous_at = 0;
    for (at, c) in word.char_indices() {
        if let Some(p) = previous {
            let boundary = c == '_'
                || p == '_'
                || (p.is_lowercase() && c.is_uppercase())
                || (p.is_alphabetic() && c.is_numeric())
                || (p.is_numeric() && c.is_alphabetic());
            if boundary {
                starts.push(at);
            } else if before_previous_upper && p.is_uppercase() && c.is_lowercase() {
                starts.push(previous_at);
            }
        }
        before_previous_upper = previous.is_some_and(char::is_uppercase);
        previous = Some(c);
        previous_at = at;
    }
    if starts.is_empty() {
        return;
    }
    let mut start = 0;
    for end in starts.into_iter().chain([word.len()]) {
        let piece = &word[start..end];
        if end > start && !piece.bytes().all(|byte| byte == b'_') {
            sink(start, end);
        }
        start = end;
    }
}
