//! Tests of parsing as a whole: structure, metadata, links, hostile input, real folders.

mod frontmatter;
mod links;
mod markdown;
mod properties;
mod vaults;

use std::path::PathBuf;

use super::*;
pub(crate) use vaults::for_each_document;

/// A document made of this text, which must parse.
pub(crate) fn parsed(name: &str, text: &str) -> Parsed {
    with_warnings(name, text).0
}

fn with_warnings(name: &str, text: &str) -> (Parsed, Vec<Warning>) {
    match outcome(name, text.as_bytes(), &ParseOptions::default()) {
        Outcome::Parsed(parsed, warnings) => (*parsed, warnings),
        Outcome::Skipped(reason) => panic!("skipped: {reason:?}"),
    }
}

fn outcome(name: &str, bytes: &[u8], options: &ParseOptions) -> Outcome {
    parse(&RawFile { path: RelPath::parse(name).unwrap(), bytes: bytes.to_vec() }, options)
}

/// A folder of real material beside the project, where there is one.
pub(crate) fn shared_data(name: &str) -> Option<PathBuf> {
    let found = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared/data").join(name))
        .find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: there is no folder shared/data/{name} beside the project");
    }
    found
}

/// What must hold of every document. Blocks are in order, do not overlap, and leave out only blanks; all
/// offsets are at characters.
pub(crate) fn check_invariants(parsed: &Parsed) {
    let text = &parsed.text;
    assert!(text.is_char_boundary(parsed.body_start));
    let mut covered = parsed.body_start;
    for block in &parsed.blocks {
        assert!(block.bytes.start >= covered && block.bytes.end > block.bytes.start, "{block:?}");
        assert!(
            text[covered..block.bytes.start].trim().is_empty(),
            "lost {:?}",
            &text[covered..block.bytes.start]
        );
        assert_eq!(text[block.bytes.clone()].trim_end().len(), block.bytes.len(), "{block:?}");
        if block.kind == BlockKind::Heading {
            let heading = &parsed.headings[block.heading.expect("a heading belongs to itself")];
            assert_eq!(heading.line, parsed.lines(&block.bytes).start);
        }
        covered = block.bytes.end;
    }
    assert!(text[covered..].trim().is_empty(), "lost {:?}", &text[covered..]);
    let n_heading_blocks = parsed.blocks.iter().filter(|block| block.kind == BlockKind::Heading).count();
    assert_eq!(parsed.headings.len(), n_heading_blocks);
    assert_eq!(parsed.headings.len(), parsed.heading_parents.len());
    for (index, parent) in parsed.heading_parents.iter().enumerate() {
        let level = parsed.headings[index].level;
        assert!(parent.is_none_or(|parent| parent < index && parsed.headings[parent].level < level));
    }
    let mut anchors: Vec<&str> = parsed.headings.iter().map(|heading| heading.anchor.as_str()).collect();
    anchors.sort_unstable();
    assert!(anchors.windows(2).all(|pair| pair[0] != pair[1]), "{anchors:?}");
    let n_lines = text.lines().count().max(1);
    assert_eq!(parsed.line_starts.len(), n_lines);
    assert!(parsed.line_starts.iter().all(|&start| text.is_char_boundary(start)));
    assert!(parsed.links.is_sorted_by_key(|link| link.at));
    for link in &parsed.links {
        assert!(text[link.at..].starts_with(['[', '!', '<']), "{link:?} at {:?}", &text[link.at..]);
        assert!(!link.name.is_empty());
    }
    assert_eq!(parsed.metadata.attachment_count as usize, parsed.attachments.len());
    assert!(!parsed.title.is_empty());
}

#[test]
fn texts_in_older_encodings_are_decoded_and_notes_only_when_asked_for() {
    let decoded = |name: &str, legacy| {
        let raw = RawFile { path: RelPath::parse(name).unwrap(), bytes: b"caf\xE9 au lait".to_vec() };
        matches!(parse(&raw, &ParseOptions { legacy, ..ParseOptions::default() }), Outcome::Parsed(..))
    };
    for (name, want) in
        [("a.md", [false, false, true]), ("a.txt", [false, true, true]), ("a.rs", [false, true, true])]
    {
        assert_eq!(
            [Legacy::Never, Legacy::Texts, Legacy::Always].map(|legacy| decoded(name, legacy)),
            want,
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_skipped_for_a_reason() {
    let options = ParseOptions { legacy: Legacy::Never, max_bytes: 16 };
    for (name, bytes, want) in [
        ("a.md", b"\0binary".as_slice(), SkipReason::Binary),
        ("a.md", b"caf\xE9", SkipReason::NotUtf8),
        ("a.md", b"12345678901234567", SkipReason::TooLarge),
        ("a.md", b"", SkipReason::Empty),
        ("a.md", b" \n\t\n", SkipReason::Empty),
        ("a.md", b"\xEF\xBB\xBF", SkipReason::Empty),
        ("a.png", b"x", SkipReason::UnsupportedType),
    ] {
        match outcome(name, bytes, &options) {
            Outcome::Skipped(reason) => assert_eq!(reason, want, "{name} {bytes:?}"),
            Outcome::Parsed(..) => panic!("{name} {bytes:?} was parsed"),
        }
    }
}

#[test]
fn a_file_may_be_read_as_another_kind_than_its_name_says() {
    let raw = RawFile { path: RelPath::parse("notes/7").unwrap(), bytes: b"# Title\n\ntext".to_vec() };
    match parse_as(DocumentKind::Note, &raw, &ParseOptions::default()) {
        Outcome::Parsed(parsed, _) => {
            assert_eq!((parsed.kind, parsed.title.as_str()), (DocumentKind::Note, "Title"));
        }
        Outcome::Skipped(reason) => panic!("{reason:?}"),
    }
}

#[test]
fn text_and_code_have_the_stem_as_title_and_no_headings() {
    let text = parsed("notes/today.txt", "# not a heading\n\nA second paragraph with [[no link]] #notag.\n");
    assert_eq!((text.kind, text.title.as_str()), (DocumentKind::Text, "today"));
    assert_eq!((text.headings.len(), text.blocks.len(), text.links.len()), (0, 2, 0));
    assert!(text.metadata.tags.is_empty());
    let code = parsed("src/main.rs", "fn main() {\n\n    body();\n}\n\nfn other() {}\n");
    assert_eq!((code.kind, code.title.as_str(), code.language), (DocumentKind::Code, "main", None));
    assert_eq!(code.blocks.len(), 2);
    check_invariants(&text);
    check_invariants(&code);
}

#[test]
fn lines_are_counted_from_one() {
    let document = parsed("a.md", "one\r\ntwo\nthree");
    for (bytes, want) in [(0..1, (1, 1)), (0..5, (1, 1)), (0..6, (1, 2)), (9..14, (3, 3)), (0..14, (1, 3))] {
        let lines = document.lines(&bytes);
        assert_eq!((lines.start, lines.end), want, "{bytes:?}");
    }
}
