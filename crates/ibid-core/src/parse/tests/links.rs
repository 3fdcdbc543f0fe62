//! Tests of links, attachments and inline tags.

use super::*;

/// Links as `name#fragment|label`, with `!` for an embed and `<>` around a Markdown link.
fn shown(document: &Parsed) -> Vec<String> {
    let show = |link: &RawLink| {
        let mut shown = if link.embed { "!".to_owned() } else { String::new() };
        shown.push_str(&link.name);
        if let Some(fragment) = &link.fragment {
            shown.push('#');
            shown.push_str(fragment);
        }
        if let Some(label) = &link.label {
            shown.push('|');
            shown.push_str(label);
        }
        if link.wiki { shown } else { format!("<{shown}>") }
    };
    document.links.iter().map(show).collect()
}

fn check(text: &str, links: &[&str], attachments: &[&str]) {
    let document = parsed("n.md", text);
    check_invariants(&document);
    assert_eq!(shown(&document), links, "{text}");
    assert_eq!(document.attachments, attachments, "{text}");
}

#[test]
fn wiki_links_are_taken_apart() {
    for (text, link) in [
        ("[[Note]]", "Note"),
        ("[[ Note name ]]", "Note name"),
        ("[[Note#Heading]]", "Note#Heading"),
        ("[[Note#^block]]", "Note#^block"),
        ("[[Note#A#B|shown]]", "Note#A#B|shown"),
        ("[[Note|shown | more]]", "Note|shown | more"),
        ("![[Note#H]]", "!Note#H"),
        ("[[folder/Note.md]]", "folder/Note.md"),
        ("[[Node.js]]", "Node.js"),
        ("[[project.plan.v1.2]]", "project.plan.v1.2"),
        ("[[Label|target.note#part]]", "Label|target.note#part"),
        ("| a |\n|---|\n| [[Note\\|shown]] |", "Note|shown"),
        ("[[[Note]]]", "Note"),
        ("[[open [[Note]]", "Note"),
        ("[[Note: a subtitle]]", "Note: a subtitle"),
        ("# Heading with [[Note]]", "Note"),
        ("[[日本語|ラベル]]", "日本語|ラベル"),
    ] {
        check(text, &[link], &[]);
    }
}

#[test]
fn what_only_looks_like_a_wiki_link_is_none() {
    for text in [
        "[[]]",
        "[[ ]]",
        "[[|x]]",
        "[[#Heading]]",
        "[[broken\n]]",
        "\\[[Note]]",
        "[[open",
        "]]x[[",
        "`[[code]]`",
        "```\n[[code]]\n```",
        "    [[code]]",
        "<!-- [[comment]] -->",
        "<div>\n[[html]]\n</div>",
        "[[dendron://vault/note]]",
    ] {
        check(text, &[], &[]);
    }
}

#[test]
fn markdown_links_to_local_files_are_links_or_attachments() {
    check(
        "[a](b.md) [c *d*](../e%20f.md#g%20h) ![i](j.PNG) [k](l.pdf#page=2) [m][r] [n](Note) [dup](l.pdf)\n\n[r]: s/t.markdown 'title'\n",
        &["<b.md|a>", "<../e f.md#g h|c d>", "<s/t.markdown|m>", "<Note|n>"],
        &["j.PNG", "l.pdf"],
    );
    check(
        "[x](<a b.md>) [`code`](c.md) [![alt](img.png)](d.md)",
        &["<a b.md|x>", "<c.md|code>", "<d.md>"],
        &["img.png"],
    );
    check(
        "![[image.png|300]] [[paper.pdf#page=3]] ![](a%2Fb.svg) ![[Board.canvas]]",
        &[],
        &["image.png", "paper.pdf", "a/b.svg", "Board.canvas"],
    );
    check("![embedded](note.md)", &["!<note.md|embedded>".replace("!<", "<!").as_str()], &[]);
}

#[test]
fn links_that_lead_elsewhere_are_ignored() {
    check(
        "[a](https://x.org/y.md) [b](#part) [c](mailto:a@b.c) <https://x.y> <a@b.cc> [d](//host/x.md) [e](obsidian://open) [f]() [g](.) [h](..) ![i](data:image/png;base64,xx) [j](C:/x.md) `[k](l.md)`\n\n    [m](n.md)\n",
        &[],
        &[],
    );
}

#[test]
fn a_wiki_link_stays_one_where_its_name_is_defined() {
    check("[[x]] and [x]\n\n[x]: y.md\n", &["x", "<y.md|x>"], &[]);
}

#[test]
fn links_in_the_frontmatter_count() {
    check(
        "---\nup: \"[[Parent]]\"\nlist:\n  - \"[[A|B]]\"\n---\n[[Body]]\n",
        &["Parent", "A|B", "Body"],
        &[],
    );
}

#[test]
fn links_stand_in_the_order_of_the_text() {
    let document = parsed("n.md", "[a](1.md) [[2]] ![b](3.png) [c](4.md) ![[5]]");
    let names: Vec<_> = document.links.iter().map(|link| (link.name.as_str(), link.at)).collect();
    assert_eq!(names, [("1.md", 0), ("2", 10), ("4.md", 28), ("5", 38)]);
}

#[test]
fn inline_tags_are_added_after_those_of_the_frontmatter() {
    for (text, want) in [
        ("---\ntags: [x, a]\n---\n#a then #b/c-d_e and #x.", vec!["x", "a", "b/c-d_e"]),
        ("#start\n(#no) a#no #1984 #y1984 #2024/week", vec!["start", "y1984", "2024/week"]),
        ("# Heading #tagged\n\n## #another", vec!["tagged", "another"]),
        (
            "`#code` [#link](x.md) [[a #b]] [t](x.md#no) <a href=\"#no\"> \n```\n#fence\n```\n    #indented",
            vec![],
        ),
        ("#größe #日本語 #tag, #tag; #tag! ##no #", vec!["größe", "日本語", "tag"]),
        ("#trailing/ #a/b/", vec!["trailing", "a/b"]),
        ("- #item\n> #quote\n\n| a |\n|---|\n| #cell |", vec!["item", "quote", "cell"]),
    ] {
        assert_eq!(parsed("n.md", text).metadata.tags, want, "{text}");
    }
}
