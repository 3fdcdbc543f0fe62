//! Tests with generated and with hostile input.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::chunk::{ChunkPolicy, chunk, tests::check_chunks};

/// Pieces of Markdown that mean something to a parser, in any order.
pub(crate) fn markdown_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "# ", "## ", "###### ", "---\n", "...\n", "===\n", "\n", "\n\n", "\r\n", "\r", " ", "    ", "\t", "- ", "1. ", "* ",
            "> ", "```", "~~~", "`", "[", "]", "[[", "]]", "![[", "|", "|---|---|\n", "| a | b |\n", "(", ")", "](",
            "<!--", "-->", "<div>", "</div>", "&amp;", "\\", "*", "_", "~~", "[^1]", "[^1]: ", "[a]: b.md\n", "#tag",
            "#", "title: ", "tags: [", "- [ ] ", "https://x.y", "key: value\n", "\u{FEFF}", "😀", "é", "e\u{301}", "\u{2028}",
            "\u{3000}", "日本。", "word", "a sentence. ",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_parse_or_are_skipped(bytes in prop::collection::vec(any::<u8>(), 0..400), legacy: bool) {
        for name in ["a.md", "a.txt", "a.rs"] {
            let options = ParseOptions { legacy: if legacy { Legacy::Always } else { Legacy::Never }, max_bytes: 1000 };
            if let Outcome::Parsed(parsed, _) = outcome(name, &bytes, &options) {
                check_invariants(&parsed);
            }
        }
    }

    #[test]
    fn anything_like_markdown_parses_and_is_covered(text in markdown_like(), header: bool) {
        let text = if header { format!("---\n{text}\n---\n{text}x") } else { text };
        for name in ["a.md", "a.txt", "a.py"] {
            if let Outcome::Parsed(parsed, _) = outcome(name, text.as_bytes(), &ParseOptions::default()) {
                check_invariants(&parsed);
                for policy in [ChunkPolicy::VAULT, ChunkPolicy::Heading { target: 9, max: 20 }, ChunkPolicy::Tokens { target: 4, max: 9, overlap: 2 }, ChunkPolicy::Sections { max: 20, overlap: 6 }] {
                    check_chunks(&parsed, &policy);
                }
            }
        }
    }
}

#[test]
fn hostile_input_takes_no_more_than_its_size_warrants() {
    let repeat = |piece: &str, times: usize| piece.repeat(times);
    let steps = |step: &dyn Fn(usize) -> String, times: usize| (0..times).map(step).collect::<String>();
    let cases = [
        repeat("[", 100_000),
        repeat("![", 50_000),
        repeat(">", 100_000),
        repeat("- ", 50_000),
        repeat("- ", 50_000) + &repeat("\n", 100_000) + "x",
        repeat("- ", 99) + "x\n" + &repeat("a\n", 100_000),
        repeat("> - ", 25_000) + &repeat("\n> x", 25_000),
        repeat("1. ", 33_000),
        steps(&|step| " ".repeat(step * 2) + "- a\n", 700) + &repeat("\n", 500_000) + "x",
        repeat("#", 500_000),
        "# ".to_owned() + &repeat("a ", 250_000),
        repeat("# a\n", 50_000),
        repeat(" #", 250_000),
        repeat("[[", 500_000),
        repeat("[[a", 200_000),
        repeat("[[a]]", 100_000),
        repeat("[a](b", 100_000),
        repeat("*a _b ", 80_000),
        repeat("`a``", 100_000),
        repeat("<!-- ", 100_000),
        repeat("&#1", 100_000),
        repeat("|a", 50_000) + "\n" + &repeat("|-", 50_000) + "\n" + &repeat("|x\n", 50_000),
        steps(&|step| format!("[a{step}]: b\n[^{step}]: c\n\n"), 20_000),
        repeat("![a", 25_000) + &repeat("](b)", 25_000),
        repeat(" ", 1_000_000) + "a",
        repeat("\r\n", 500_000) + "a",
        repeat("é", 500_000),
        steps(&|step| format!("#t{step} "), 50_000),
        "---\n".to_owned() + &repeat("[", 60_000) + "\n---\nx",
        "---\na: ".to_owned() + &repeat("{a: ", 15_000) + "\n---\nx",
        "---\n".to_owned() + &repeat("? ", 30_000) + "\n---\nx",
    ];
    for text in cases {
        let start = Instant::now();
        let parsed = parsed("n.md", &text);
        let drafts = chunk(&parsed, &ChunkPolicy::VAULT);
        // A hundredfold of what it takes; what grows with the square of its size takes far longer.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}…", &text[..20]);
        let held: usize =
            drafts.iter().map(|draft| draft.text.len() + draft.heading_path.concat().len()).sum();
        assert!(held <= text.len() * 4 + 4096, "{:?}… holds {held}", &text[..20]);
        check_invariants(&parsed);
    }
}
