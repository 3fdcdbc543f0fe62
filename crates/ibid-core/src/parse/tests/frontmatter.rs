//! Tests of frontmatter: what is taken from it, and what is saved of a broken one.

use super::*;

#[test]
fn allowed_fields_become_metadata() {
    let (document, warnings) = with_warnings(
        "n.md",
        "---\ntitle: \"A: title\"\naliases: [One, 'Two, too']\ntags:\n  - '#a'\n  - b/c\n  - a\ndate: 2024-01-02\ncreated: 2024-01-02T03:04:05Z\nupdated: 20240102\nother: yes\nrating: 1.50\nempty:\nmap: {a: b}\nlist: [1, 02, ~, on]\n---\nbody\n",
    );
    assert!(warnings.is_empty());
    assert_eq!(document.title, "A: title");
    assert_eq!(document.metadata.aliases, ["One", "Two, too"]);
    assert_eq!(document.metadata.tags, ["a", "b/c"]);
    assert_eq!(document.metadata.date.as_deref(), Some("2024-01-02"));
    assert_eq!(document.metadata.created.as_deref(), Some("2024-01-02T03:04:05Z"));
    assert_eq!(document.metadata.updated.as_deref(), Some("20240102"));
    assert_eq!(&document.text[document.body_start..], "body\n");
    let field = |name: &str| {
        let found = document.fields.iter().find(|(key, _)| key == name);
        found.map(|(_, values)| values.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(field("other"), Some(vec!["yes"]));
    assert_eq!(field("rating"), Some(vec!["1.50"]));
    assert_eq!(field("empty"), Some(vec![]));
    assert_eq!(field("list"), Some(vec!["1", "02", "on"]));
    assert_eq!(field("map"), None);
}

#[test]
fn tags_and_aliases_may_be_strings() {
    for (header, tags, aliases) in [
        (
            "tags: \"one, #two three\"\nalias: Just one, really",
            vec!["one", "two", "three"],
            vec!["Just one, really"],
        ),
        ("tag: '#solo'\naliases:\n  - A\n  - ~\n  - B", vec!["solo"], vec!["A", "B"]),
        ("Tags: [x]\nALIASES: y", vec!["x"], vec!["y"]),
        ("tags: []\naliases: ''", vec![], vec![]),
        ("tags: {a: b}\naliases:\n  k: v", vec![], vec![]),
        ("base: &t [p, q]\ntags: *t\naliases: [&n name, *n]", vec!["p", "q"], vec!["name", "name"]),
    ] {
        let document = parsed("n.md", &format!("---\n{header}\n---\nx"));
        assert_eq!(document.metadata.tags, tags, "{header}");
        assert_eq!(document.metadata.aliases, aliases, "{header}");
    }
}

#[test]
fn only_a_closed_header_at_the_very_start_counts() {
    for (text, body) in [
        ("---\na: b\n---\nbody", "body"),
        ("---  \r\na: b\r\n---\r\nbody", "body"),
        ("---\na: b\n...\nbody", "body"),
        ("---\n---\nbody", "body"),
        ("---\n# only a comment\n---\nbody", "body"),
        ("\u{FEFF}---\na: b\n---\nbody", "body"),
        ("\n---\na: b\n---\nbody", "\n---\na: b\n---\nbody"),
        ("---\na: b\nbody", "---\na: b\nbody"),
        ("----\na: b\n----\nbody", "----\na: b\n----\nbody"),
        ("---\nJust a paragraph\n\n---\nbody", "---\nJust a paragraph\n\n---\nbody"),
        ("---\n- a\n- list\n---\nbody", "---\n- a\n- list\n---\nbody"),
    ] {
        let document = parsed("n.md", text);
        check_invariants(&document);
        assert_eq!(&document.text[document.body_start..], body, "{text:?}");
    }
}

#[test]
fn a_header_without_a_body_is_a_document() {
    let document = parsed("n.md", "---\ntitle: T\n---\n");
    check_invariants(&document);
    assert_eq!((document.title.as_str(), document.blocks.len()), ("T", 0));
}

#[test]
fn of_a_broken_header_simple_lines_are_saved_and_the_body_is_kept() {
    for (header, title, tags) in [
        ("title: Foo: bar\ntags: [a, b]", "Foo: bar", vec!["a", "b"]),
        ("title: \"Quoted\" and more\ntags:\n- a\n- \"b c\"", "\"Quoted\" and more", vec!["a", "b c"]),
        ("title: 'T'\n\tbad: tab\n  - x: [\ntags: one two", "T", vec!["one", "two"]),
        ("title: T\ntitle2: @bad\ntags: #a, b", "T", vec!["a", "b"]),
        ("title: {{title}} x\ntags: [t", "n", vec![]),
    ] {
        let (document, warnings) = with_warnings("n.md", &format!("---\n{header}\n---\nThe body.\n"));
        check_invariants(&document);
        assert_eq!(&document.text[document.body_start..], "The body.\n", "{header}");
        assert_eq!(warnings.len(), 1, "{header}");
        assert_eq!(warnings[0].code, WarningCode::FrontmatterParseFailed);
        assert_eq!(
            (document.title.as_str(), &document.metadata.tags),
            (title, &tags.iter().map(ToString::to_string).collect()),
            "{header}"
        );
    }
}

#[test]
fn bombs_in_a_header_do_no_harm() {
    let bomb = (1..12).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |bomb, level| {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        format!("{bomb}a{level}: &a{level} [{aliases}]\n")
    });
    let long_key = format!("{}: x", "k".repeat(60_000));
    for header in
        [bomb, "[".repeat(60_000), "a: ".repeat(20_000), "- ".repeat(30_000), "{a: ".repeat(15_000), long_key]
    {
        let document = parsed("n.md", &format!("---\ntitle: T\n{header}\n---\nThe body.\n"));
        check_invariants(&document);
        assert!(document.text[document.body_start..].ends_with("The body.\n"));
        assert!(document.fields.iter().map(|(_, values)| values.len()).sum::<usize>() < 100_000);
    }
}

#[test]
fn a_header_larger_than_any_real_one_is_text() {
    let text = format!("---\n{}---\nbody", "key: value\n".repeat(7000));
    assert_eq!(parsed("n.md", &text).body_start, 0);
}
