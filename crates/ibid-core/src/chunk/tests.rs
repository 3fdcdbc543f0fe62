//! Tests of chunking.

use super::{pack::Limits, *};
use crate::parse::{
    BlockKind,
    tests::{check_invariants, parsed, shared_data},
};

/// What must hold of the chunks of any document.
pub(crate) fn check_chunks(parsed: &Parsed, policy: &ChunkPolicy) {
    let drafts = chunk(parsed, policy);
    let text = &parsed.text;
    let mut covered = parsed.body_start;
    let mut last_start = 0;
    for draft in &drafts {
        assert_eq!(draft.text, text[draft.bytes.clone()]);
        assert!(!draft.text.trim().is_empty());
        assert_eq!(draft.lines, parsed.lines(&draft.bytes));
        assert!(draft.bytes.start >= last_start && draft.bytes.end > covered, "{draft:?}");
        match *policy {
            ChunkPolicy::Heading { max, .. } => {
                assert!(draft.bytes.start >= covered, "overlap without being asked for: {draft:?}");
                assert!(draft.text.chars().count() <= max, "{} characters", draft.text.chars().count());
            }
            ChunkPolicy::Tokens { max, .. } => assert!(draft.text.len() <= max * 4),
            ChunkPolicy::Sections { max, .. } => assert!(draft.text.chars().count() <= max),
        }
        check_lost(parsed, covered..draft.bytes.start);
        covered = draft.bytes.end;
        last_start = draft.bytes.start;
    }
    check_lost(parsed, covered..text.len());
}

/// Only blanks may be in no chunk, and headings that are in the heading path of a later one.
fn check_lost(parsed: &Parsed, lost: Range<usize>) {
    if lost.is_empty() || parsed.text[lost.clone()].trim().is_empty() {
        return;
    }
    let lost = lost.start..lost.start + parsed.text[lost.clone()].trim_end().len();
    let first = parsed.blocks.partition_point(|block| block.bytes.end <= lost.start);
    for block in parsed.blocks[first..].iter().take_while(|block| block.bytes.start < lost.end) {
        assert!(block.kind == BlockKind::Heading, "lost {:?}", &parsed.text[lost.clone()]);
        let index = block.heading.unwrap();
        let has_heir = parsed.blocks.iter().any(|other| {
            let mut above = other.heading;
            while let Some(heading) = above
                && heading != index
            {
                above = parsed.heading_parents[heading];
            }
            above == Some(index) && other.kind != BlockKind::Heading
                || parsed.heading_parents.contains(&Some(index))
        });
        assert!(has_heir, "lost heading {:?}", parsed.headings[index].text);
    }
}

fn texts(text: &str, policy: &ChunkPolicy) -> Vec<(Vec<String>, String)> {
    let document = parsed("n.md", text);
    check_chunks(&document, policy);
    chunk(&document, policy).into_iter().map(|draft| (draft.heading_path, draft.text)).collect()
}

fn check(text: &str, policy: &ChunkPolicy, want: &[(&[&str], &str)]) {
    let got = texts(text, policy);
    let got: Vec<(Vec<&str>, &str)> =
        got.iter().map(|(path, text)| (path.iter().map(String::as_str).collect(), text.as_str())).collect();
    let want: Vec<(Vec<&str>, &str)> = want.iter().map(|(path, text)| (path.to_vec(), *text)).collect();
    assert_eq!(got, want);
}

const SMALL: ChunkPolicy = ChunkPolicy::Heading { target: 40, max: 80 };

#[test]
fn a_section_that_fits_is_one_chunk() {
    check(
        "---\ntitle: T\n---\nBefore.\n\n# A\n\none\n\ntwo\n\n## B\n\nthree\n\n# C\n\nfour\n",
        &ChunkPolicy::VAULT,
        &[
            (&[], "Before."),
            (&["A"], "# A\n\none\n\ntwo"),
            (&["A", "B"], "## B\n\nthree"),
            (&["C"], "# C\n\nfour"),
        ],
    );
}

#[test]
fn a_heading_alone_is_a_chunk_only_where_nothing_is_below_it() {
    check(
        "# A\n\n## B\n\n### C\n\ntext\n\n## Leaf\n\n# Last\n",
        &ChunkPolicy::VAULT,
        &[(&["A", "B", "C"], "### C\n\ntext"), (&["A", "Leaf"], "## Leaf"), (&["Last"], "# Last")],
    );
}

#[test]
fn a_large_section_is_packed_from_whole_blocks() {
    check(
        "# A\n\nOne paragraph of text here.\n\nAnother one, a bit longer.\n\nThird.\n\nFourth paragraph to fill.\n",
        &SMALL,
        &[
            (&["A"], "# A\n\nOne paragraph of text here."),
            (&["A"], "Another one, a bit longer.\n\nThird."),
            (&["A"], "Fourth paragraph to fill."),
        ],
    );
}

#[test]
fn code_tables_and_items_that_fit_are_never_cut() {
    let code = "```\nlet a = 1;\n\nlet b = 2;\n\nlet c = 3;\n\nlet d = 4;\n```";
    let item = "- item with text. And more text. And more.\n  - nested. With text.";
    let table = "| a | b |\n|---|---|\n| one. two | three |\n| four | five |";
    let drafts = texts(&format!("# H\n\n{code}\n\n{item}\n\n{table}\n"), &SMALL);
    for whole in [code, item, table] {
        assert!(drafts.iter().any(|(_, text)| text.contains(whole)), "{whole} in {drafts:#?}");
    }
}

#[test]
fn what_fits_nowhere_is_cut_at_sentences_lines_and_characters() {
    let sentences = "This is a sentence of words. ".repeat(8);
    for (_, text) in texts(&sentences, &SMALL) {
        assert!(text.ends_with("words."), "{text}");
    }
    let code = format!("```\n{}```", "let value = compute();\n".repeat(10));
    for (_, text) in texts(&code, &SMALL) {
        assert!(
            text.lines().all(|line| line.starts_with("let") && line.ends_with(';') || line == "```"),
            "{text}"
        );
    }
    let word = "漢".repeat(200);
    let drafts = texts(&word, &SMALL);
    assert!(drafts.len() >= 5 && drafts.iter().all(|(_, text)| text.chars().count() <= 40));
}

#[test]
fn sizes_are_counted_in_characters() {
    let text = format!("# Ä\n\n{}\n", "ä".repeat(3990));
    assert_eq!(texts(&text, &ChunkPolicy::VAULT).len(), 1);
    let text = format!("# Ä\n\n{}\n", "ä".repeat(4100));
    assert!(texts(&text, &ChunkPolicy::VAULT).len() > 1);
}

#[test]
fn windows_overlap_by_whole_sentences() {
    let text: String = (0..40).map(|number| format!("Sentence number {number} is here. ")).collect();
    let document = parsed("n.md", &text);
    let policy = ChunkPolicy::Tokens { target: 50, max: 100, overlap: 12 };
    check_chunks(&document, &policy);
    let drafts = chunk(&document, &policy);
    assert!(drafts.len() > 3);
    for pair in drafts.windows(2) {
        assert!(pair[1].bytes.start < pair[0].bytes.end, "no overlap");
        assert!(pair[0].bytes.end - pair[1].bytes.start <= 48, "too much overlap");
        assert!(pair[1].text.starts_with("Sentence"), "{}", pair[1].text);
    }
}

#[test]
fn sections_are_packed_from_paragraphs_and_tables_stand_alone() {
    let table = "| a | b |\n|---|---|\n| 1 | 2 |";
    check(
        &format!("# Rule\n\n## When\n\nAt night.\n\n{table}\n\nAnd by day.\n\n## Values\n\n{table}\n"),
        &ChunkPolicy::DOCS,
        &[
            (&["Rule", "When"], "## When\n\nAt night."),
            (&["Rule", "When"], table),
            (&["Rule", "When"], "And by day."),
            (&["Rule", "Values"], &format!("## Values\n\n{table}")),
        ],
    );
    // The last paragraph is repeated where it is short, and nothing else is.
    let long = "A paragraph that is too long to be said twice in a row.";
    let policy = ChunkPolicy::Sections { max: 80, overlap: 12 };
    check(
        &format!("{long}\n\nShort one.\n\n{long}\n\n{long}\n"),
        &policy,
        &[(&[], &format!("{long}\n\nShort one.")), (&[], &format!("Short one.\n\n{long}")), (&[], long)],
    );
}

#[test]
fn the_hash_is_that_of_title_path_and_text() {
    let draft = |text: &str| chunk(&parsed("n.md", text), &ChunkPolicy::VAULT).remove(0);
    let one = draft("---\ntitle: T\n---\n# A\n\ntext\n");
    assert_eq!(one.hash, ContentHash::of(b"T\nA\n# A\n\ntext"));
    assert_eq!(one.anchor.as_deref(), Some("a"));
    assert_eq!((one.lines.start, one.lines.end), (4, 6));
    assert_eq!(one.hash, draft("---\ntitle: T\nother: x\n---\n\n\n# A\n\ntext\n").hash);
    assert_ne!(one.hash, draft("---\ntitle: U\n---\n# A\n\ntext\n").hash);
    assert_eq!(draft("text").hash, ContentHash::of(b"n\n\ntext"));
}

#[test]
fn tens_of_thousands_of_headings_are_joined() {
    let text: String = (0..12_000).map(|number| format!("# H{number}\n")).collect();
    let document = parsed("n.md", &text);
    let drafts = chunk(&document, &ChunkPolicy::VAULT);
    assert!(drafts.len() < 200, "{}", drafts.len());
    assert_eq!(drafts.iter().map(|draft| draft.text.lines().count()).sum::<usize>(), 12_000);
}

#[test]
fn limits_are_sane_whatever_the_policy_says() {
    let document = parsed("n.md", "# é\n\nsome words ü\n");
    for policy in [
        ChunkPolicy::Heading { target: 0, max: 0 },
        ChunkPolicy::Heading { target: 100, max: 1 },
        ChunkPolicy::Tokens { target: 0, max: 0, overlap: 9 },
        ChunkPolicy::Sections { max: 0, overlap: 9 },
        ChunkPolicy::Sections { max: usize::MAX, overlap: usize::MAX },
        ChunkPolicy::Tokens { target: usize::MAX, max: usize::MAX, overlap: usize::MAX },
    ] {
        assert!(Limits::new(&policy, &document.text).target >= 1);
        let drafts = chunk(&document, &policy);
        assert_eq!(drafts.last().unwrap().bytes.end, document.text.trim_end().len(), "{policy:?}");
    }
}

#[test]
fn every_file_of_real_vaults_is_covered() {
    let Some(folder) = shared_data("vaults") else { return };
    crate::parse::tests::for_each_document(&folder, &mut |document| {
        check_invariants(&document);
        for policy in [ChunkPolicy::VAULT, ChunkPolicy::LIBRARY, ChunkPolicy::DOCS, ChunkPolicy::default()] {
            check_chunks(&document, &policy);
        }
    });
}
