//! Tests of headings and blocks.

use super::{super::BlockKind::*, *};

fn check_blocks(text: &str, want: &[(BlockKind, &str, Option<usize>)]) {
    let document = parsed("note.md", text);
    check_invariants(&document);
    let got: Vec<_> = document
        .blocks
        .iter()
        .map(|block| (block.kind, &document.text[block.bytes.clone()], block.heading))
        .collect();
    assert_eq!(got, want);
}

#[test]
fn blocks_follow_the_structure() {
    check_blocks(
        "Intro.\n\n# One\n\ntext\nmore\n\n```rust\n# not a heading\n```\n\nTwo\n---\n> quote\n",
        &[
            (Paragraph, "Intro.", None),
            (Heading, "# One", Some(0)),
            (Paragraph, "text\nmore", Some(0)),
            (Code, "```rust\n# not a heading\n```", Some(0)),
            (Heading, "Two\n---", Some(1)),
            (Paragraph, "> quote", Some(1)),
        ],
    );
}

#[test]
fn each_item_of_a_list_is_a_block_with_what_is_in_it() {
    check_blocks(
        "- one\n  - deep\n\n      code\n- two\n\n  para\n\n1. first\n2. second\n",
        &[
            (ListItem, "- one\n  - deep\n\n      code", None),
            (ListItem, "- two\n\n  para", None),
            (ListItem, "1. first", None),
            (ListItem, "2. second", None),
        ],
    );
}

#[test]
fn tables_html_rules_and_definitions_are_blocks() {
    check_blocks(
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n<div>\nhtml\n</div>\n\n***\n\n[ref]: target.md\n[other]: x.md\n\nend[^1]\n\n[^1]: note\n",
        &[
            (Table, "| a | b |\n|---|---|\n| 1 | 2 |", None),
            (Other, "<div>\nhtml\n</div>", None),
            (Other, "***", None),
            (Other, "[ref]: target.md\n[other]: x.md", None),
            (Paragraph, "end[^1]", None),
            (Paragraph, "[^1]: note", None),
        ],
    );
}

#[test]
fn indented_code_keeps_its_indentation() {
    check_blocks(
        "para\n\n    code\n      more\n\nend\n",
        &[(Paragraph, "para", None), (Code, "    code\n      more", None), (Paragraph, "end", None)],
    );
}

#[test]
fn an_open_fence_runs_to_the_end() {
    check_blocks("a\n\n```\n# x\n\n# y\n", &[(Paragraph, "a", None), (Code, "```\n# x\n\n# y", None)]);
}

#[test]
fn headings_have_parents_anchors_lines_and_plain_text() {
    let document = parsed(
        "note.md",
        "---\nk: v\n---\n# A *b* `c`\n### Deep\n## [[Note|Shown]] and [link](x.md)\n## Deep\n# ![pic](a.png) Last #\n",
    );
    check_invariants(&document);
    let got: Vec<_> = document
        .headings
        .iter()
        .zip(&document.heading_parents)
        .map(|(heading, parent)| {
            (heading.level, heading.text.as_str(), heading.anchor.as_str(), heading.line, *parent)
        })
        .collect();
    assert_eq!(
        got,
        [
            (1, "A b c", "a-b-c", 4, None),
            (3, "Deep", "deep", 5, Some(0)),
            (2, "Shown and link", "shown-and-link", 6, Some(0)),
            (2, "Deep", "deep-1", 7, Some(0)),
            (1, "pic Last", "pic-last", 8, None),
        ]
    );
    assert_eq!(document.heading_path(Some(1)), ["A b c", "Deep"]);
}

#[test]
fn headings_in_code_quotes_and_lists_are_no_headings_of_the_document() {
    let document = parsed("n.md", "    # a\n\n> # b\n\n- # c\n\n~~~\n# d\n~~~\n\n<!--\n# e\n-->\n\n#\n");
    check_invariants(&document);
    assert!(document.headings.is_empty(), "{:?}", document.headings);
}

#[test]
fn the_title_is_that_of_the_frontmatter_then_the_first_main_heading_then_the_stem() {
    for (text, want) in [
        ("---\ntitle: Given\n---\n# Heading\n", "Given"),
        ("---\ntitle:\n---\n# Heading\n", "Heading"),
        ("## Second\n\n# First\n\n# Third\n", "First"),
        ("## Second\n\ntext", "my note.v2"),
        ("```\n# code\n```\n", "my note.v2"),
    ] {
        assert_eq!(parsed("folder/my note.v2.md", text).title, want, "{text}");
    }
}

#[test]
fn the_language_is_that_of_the_prose_and_not_of_the_code() {
    let german = "Der Hund läuft über die Straße und niemand weiß, wohin er eigentlich gehen will.\n";
    let code =
        format!("```\n{}\n```\n", "the quick brown fox and the lazy dog with this and that\n".repeat(20));
    assert_eq!(parsed("a.md", &format!("# Titel\n\n{code}\n{german}")).language, Some("de"));
    assert_eq!(parsed("a.md", &code).language, None);
}

#[test]
fn absurd_nesting_is_read_line_by_line() {
    let text = format!(
        "# One\n\n{}deep [[Link]]\n\n## Two #\n\n```sh\n# comment [[not]]\n```\n\nlast #tag\n",
        "> ".repeat(5000)
    );
    let document = parsed("n.md", &text);
    check_invariants(&document);
    let headings: Vec<_> = document.headings.iter().map(|heading| heading.text.as_str()).collect();
    assert_eq!(headings, ["One", "Two"]);
    let kinds: Vec<_> = document.blocks.iter().map(|block| block.kind).collect();
    assert_eq!(kinds, [Heading, Paragraph, Heading, Code, Paragraph]);
    assert_eq!(document.links.len(), 1);
    assert_eq!(document.metadata.tags, ["tag"]);
}
