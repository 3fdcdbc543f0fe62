//! References in a Markdown text: wiki links, targets of Markdown links, attachments, and inline tags.

use std::{collections::HashSet, ops::Range};

use super::{RawLink, kind};

/// Extensions that make the target of a wiki link a file and not a note. Names of notes have dots too
/// (`Node.js`, `project.plan`), so that any other ending is part of the name.
const ATTACHMENT_EXTENSIONS: &[&str] = &[
    "3gp",
    "7z",
    "aac",
    "avi",
    "avif",
    "base",
    "bmp",
    "canvas",
    "csv",
    "doc",
    "docx",
    "drawio",
    "epub",
    "excalidraw",
    "flac",
    "gif",
    "gz",
    "heic",
    "htm",
    "html",
    "ico",
    "jpeg",
    "jpg",
    "json",
    "m4a",
    "mkv",
    "mov",
    "mp3",
    "mp4",
    "odp",
    "ods",
    "odt",
    "ogg",
    "ogv",
    "opus",
    "pdf",
    "png",
    "ppt",
    "pptx",
    "rar",
    "rtf",
    "svg",
    "tar",
    "tif",
    "tiff",
    "tsv",
    "txt",
    "wav",
    "webm",
    "webp",
    "xls",
    "xlsx",
    "xml",
    "yaml",
    "yml",
    "zip",
];

/// Longest tag and label that are kept.
const MAX_TAG_BYTES: usize = 128;
/// How many different inline tags a document may add.
const MAX_INLINE_TAGS: usize = 256;

/// A link or an attachment, as it is found.
#[derive(Debug)]
pub(super) enum Reference {
    /// A link to a document.
    Link(RawLink),
    /// A file that is not a document.
    Attachment { path: String, at: usize },
}

impl Reference {
    fn at(&self) -> usize {
        match self {
            Self::Link(link) => link.at,
            Self::Attachment { at, .. } => *at,
        }
    }
}

/// The reference that a Markdown link or image with this destination makes, if it leads to a local file.
pub(super) fn of_markdown(destination: &str, label: &str, embed: bool, at: usize) -> Option<Reference> {
    if destination.is_empty()
        || destination.starts_with('#')
        || destination.starts_with("//")
        || has_scheme(destination)
    {
        return None;
    }
    let (path, fragment) = match destination.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (destination, None),
    };
    let path = percent_decoded(path);
    let last = path.rsplit('/').next().unwrap_or(&path);
    if path.trim().is_empty() || matches!(last, "." | "..") {
        return None;
    }
    if extension(last).is_some_and(|extension| !kind::is_markdown_extension(extension)) {
        return Some(Reference::Attachment { path, at });
    }
    Some(Reference::Link(RawLink {
        name: path,
        fragment: fragment.map(percent_decoded).and_then(|fragment| non_empty(&fragment)),
        label: non_empty(label),
        embed,
        wiki: false,
        at,
    }))
}

/// Finds wiki links in `body`, leaving out the ranges in `skip` (in order of their starts). The ranges they
/// take are added to `taken`.
pub(super) fn scan_wiki(
    text: &str,
    body: Range<usize>,
    skip: &[Range<usize>],
    found: &mut Vec<Reference>,
    taken: &mut Vec<Range<usize>>,
) {
    let mut skip = Skip::new(skip);
    let mut position = body.start;
    while let Some(start) = find(text, position..body.end, '[') {
        if text.as_bytes().get(start + 1) != Some(&b'[') {
            position = start + 1;
            continue;
        }
        if let Some(after) = skip.past(start) {
            position = after;
            continue;
        }
        let (inner_end, next) = wiki_end(text, start + 2, body.end);
        position = next;
        let Some(inner_end) = inner_end else { continue };
        if text.as_bytes()[..start].ends_with(b"\\") {
            continue;
        }
        let embed = text.as_bytes()[..start].ends_with(b"!");
        let at = if embed { start - 1 } else { start };
        taken.push(at..next);
        found.extend(of_wiki(&text[start + 2..inner_end], embed, at));
    }
}

/// Where the inside of a wiki link ends, and where to go on. Every byte is looked at once: the scan stops at
/// the end of the line and at the next opening.
fn wiki_end(text: &str, from: usize, limit: usize) -> (Option<usize>, usize) {
    let bytes = &text.as_bytes()[..limit];
    let mut position = from;
    while position < limit {
        match bytes[position] {
            b'\n' => return (None, position),
            b']' if bytes.get(position + 1) == Some(&b']') => return (Some(position), position + 2),
            // Of three brackets the last two open.
            b'[' if position == from => return (None, from - 1),
            b'[' if bytes.get(position + 1) == Some(&b'[') => return (None, position),
            _ => position += 1,
        }
    }
    (None, limit)
}

fn of_wiki(inner: &str, embed: bool, at: usize) -> Option<Reference> {
    let (target, label) = match inner.split_once('|') {
        // In a table the bar is escaped.
        Some((target, label)) => (target.strip_suffix('\\').unwrap_or(target), non_empty(label)),
        None => (inner, None),
    };
    let (name, fragment) = match target.split_once('#') {
        Some((name, fragment)) => (name.trim(), non_empty(fragment)),
        None => (target.trim(), None),
    };
    if name.is_empty() || name.contains("://") {
        return None;
    }
    let last = name.rsplit('/').next().unwrap_or(name);
    let is_attachment = extension(last).is_some_and(|extension| {
        ATTACHMENT_EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension))
    });
    Some(if is_attachment {
        Reference::Attachment { path: name.to_owned(), at }
    } else {
        Reference::Link(RawLink { name: name.to_owned(), fragment, label, embed, wiki: true, at })
    })
}

/// Links in order, and attachments in order, each once.
pub(super) fn sorted(mut references: Vec<Reference>) -> (Vec<RawLink>, Vec<String>) {
    references.sort_by_key(Reference::at);
    let mut links = Vec::new();
    let mut attachments = Vec::new();
    let mut seen = HashSet::new();
    for reference in references {
        match reference {
            Reference::Link(link) => links.push(link),
            Reference::Attachment { path, .. } => {
                if seen.insert(path.clone()) {
                    attachments.push(path);
                }
            }
        }
    }
    (links, attachments)
}

/// Adds the inline `#tags` of `body` to `tags`, each once, leaving out the ranges in `skip` (in order of
/// their starts).
pub(super) fn scan_tags(text: &str, body: Range<usize>, skip: &[Range<usize>], tags: &mut Vec<String>) {
    let mut seen: HashSet<String> = tags.iter().cloned().collect();
    let limit = tags.len() + MAX_INLINE_TAGS;
    let mut skip = Skip::new(skip);
    let mut position = body.start;
    while tags.len() < limit
        && let Some(start) = find(text, position..body.end, '#')
    {
        position = start + 1;
        let starts_word =
            start == body.start || text[..start].ends_with(|before: char| before.is_whitespace());
        if !starts_word {
            continue;
        }
        if let Some(after) = skip.past(start) {
            position = after;
            continue;
        }
        let rest = &text[start + 1..body.end];
        let length = rest.find(|character| !is_tag_character(character)).unwrap_or(rest.len());
        position += length;
        let tag = rest[..length].trim_end_matches('/');
        let is_tag = tag.len() <= MAX_TAG_BYTES
            && tag.chars().any(|character| !character.is_ascii_digit() && character != '/');
        if is_tag && seen.insert(tag.to_owned()) {
            tags.push(tag.to_owned());
        }
    }
}

fn is_tag_character(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '_' | '-' | '/')
        // Marks of other scripts and pictures belong to a tag; other punctuation ends it.
        || unicode_normalization::char::is_combining_mark(character)
        || matches!(character, '\u{200D}' | '\u{FE0F}' | '\u{1F000}'..='\u{1FAFF}')
}

/// A walk over ranges that are left out.
struct Skip<'a> {
    ranges: &'a [Range<usize>],
}

impl<'a> Skip<'a> {
    fn new(ranges: &'a [Range<usize>]) -> Self {
        Self { ranges }
    }

    /// Where to go on when `position`, which only grows, is left out.
    fn past(&mut self, position: usize) -> Option<usize> {
        while let [first, rest @ ..] = self.ranges
            && first.end <= position
        {
            self.ranges = rest;
        }
        self.ranges.first().filter(|range| range.start <= position).map(|range| range.end)
    }
}

fn find(text: &str, range: Range<usize>, needle: char) -> Option<usize> {
    let start = range.start;
    text.get(range)?.find(needle).map(|at| start + at)
}

/// `https:`, `mailto:`, `obsidian:`; a drive letter counts too, since it leads out of any source.
fn has_scheme(destination: &str) -> bool {
    let Some((scheme, _)) = destination.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// What ends the name of a file: letters and digits after the last dot, and not a bare number.
fn extension(file_name: &str) -> Option<&str> {
    let (stem, extension) = file_name.trim_end().rsplit_once('.')?;
    let is_extension = !stem.is_empty()
        && (1..=10).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_extension.then_some(extension)
}

fn non_empty(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// `%20` and its like resolved; as written when that gives no text.
fn percent_decoded(raw: &str) -> String {
    if !raw.contains('%') {
        return raw.to_owned();
    }
    let bytes = raw.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while position < bytes.len() {
        let escaped = (bytes[position] == b'%')
            .then(|| raw.get(position + 1..position + 3))
            .flatten()
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(0) | None => {
                decoded.push(bytes[position]);
                position += 1;
            }
            Some(byte) => {
                decoded.push(byte);
                position += 3;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| raw.to_owned())
}
