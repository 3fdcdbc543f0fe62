//! Names and links.

use ibid_api::DocumentId;

use super::{Check, samples::*};
use crate::store::{LinkWrite, Store};

pub(super) const ALL: &[Check] = &[
    ("names are stems, titles and aliases", names_are_stems_titles_and_aliases),
    ("names are found whatever their case, and beside their beginnings", names_are_found_beside_beginnings),
    ("links lead to the one document they name", links_lead_to_the_one_document),
    ("links are followed backwards", links_are_followed_backwards),
    ("links follow what changes", links_follow_what_changes),
];

fn names_are_stems_titles_and_aliases(store: &dyn Store) {
    let ids = store_all(
        store,
        vec![
            document("x/Note.md", "My title", &["x"]).aliases(&["Also"]),
            document("y/Note.md", "Note", &["x"]),
        ],
    );
    let check = |name: &str, want: &[DocumentId]| {
        let named: Vec<_> = store.named(name).unwrap().iter().map(|summary| summary.id).collect();
        assert_eq!(named, want, "{name}");
    };
    check("Note", &ids);
    check("My title", &ids[..1]);
    check("Also", &ids[..1]);
    check("note", &[]);
    check("x/Note", &[]);
}

fn names_are_found_beside_beginnings(store: &dyn Store) {
    let ids = store_all(
        store,
        vec![
            document("a.md", "Publish Pod", &["x"]),
            document("b.md", "Pod", &["x"]).aliases(&["Hull"]),
            document("c.md", "Zebra", &["x"]),
            document("d/Same.md", "D", &["x"]),
            document("e/Same.md", "E", &["x"]),
        ],
    );
    let check = |names: &[&str], most: usize, want: &[DocumentId]| {
        assert_eq!(store.called(names, most).unwrap(), want, "{names:?}");
    };
    // Nothing is called "publish", and something begins like that; nothing begins like "quick".
    check(&["publish", "publish pod", "publish pod quick", "pod", "pod quick"], 5, &ids[..2]);
    check(&["quick", "quick zebra", "ZEBRA"], 5, &ids[2..3]);
    check(&["hull"], 5, &ids[1..2]);
    check(&["same"], 5, &ids[3..]);
    check(&["same"], 1, &[]);
}

/// Where the links of a document lead, by path.
fn targets(store: &dyn Store, document: DocumentId) -> Vec<Option<String>> {
    let links = store.links_from(document).unwrap();
    links.into_iter().map(|link| link.target.map(|(_, path, _)| path.to_string())).collect()
}

fn links_lead_to_the_one_document(store: &dyn Store) {
    store_all(
        store,
        vec![
            document("one/Alpha.md", "First things", &["x"]).aliases(&["Prime"]),
            document("one/Twin.md", "Twin", &["x"]),
            document("two/Twin.md", "Twin", &["x"]),
            document("two/deep/Über Note.md", "Über Note", &["x"]),
            document("two/paper.pdf", "A paper", &["x"]),
            document("other/Twin.md", "Twin", &["x"]).source("other"),
            document("other/Far.md", "Far", &["x"]).source("other"),
        ],
    );
    let labelled = |name: &str, label: &str| LinkWrite { label: Some(label.to_owned()), ..wiki(name) };
    let cases: &[(LinkWrite, Option<&str>)] = &[
        (wiki("Alpha"), Some("one/Alpha.md")),
        (wiki(" Alpha "), Some("one/Alpha.md")),
        (wiki("First things"), Some("one/Alpha.md")),
        (wiki("Prime"), Some("one/Alpha.md")),
        (wiki("Alpha.md"), Some("one/Alpha.md")),
        (wiki("one/Alpha"), Some("one/Alpha.md")),
        (wiki("alpha"), Some("one/Alpha.md")),
        (wiki("Twin"), None),
        (wiki("two/Twin"), Some("two/Twin.md")),
        (wiki("deep/Über Note"), Some("two/deep/Über Note.md")),
        (wiki("deep/u\u{308}ber note"), Some("two/deep/Über Note.md")),
        (wiki("paper.pdf"), Some("two/paper.pdf")),
        (wiki("Far"), Some("other/Far.md")),
        (wiki("Nowhere"), None),
        (wiki(""), None),
        (labelled("shown text", "Alpha"), Some("one/Alpha.md")),
        (labelled("Prime", "Far"), Some("one/Alpha.md")),
        (markdown("../one/Alpha.md"), Some("one/Alpha.md")),
        (markdown("../one/Alpha"), Some("one/Alpha.md")),
        (markdown("Twin.md"), Some("two/Twin.md")),
        (markdown("deep/%C3%9Cber%20Note.md"), Some("two/deep/Über Note.md")),
        (markdown("/one/Twin.md"), Some("one/Twin.md")),
        (markdown("one/Twin.md?x=1"), Some("one/Twin.md")),
        (markdown("../../../etc/passwd"), None),
        (markdown("Far.md"), None),
    ];
    let links: Vec<LinkWrite> = cases.iter().map(|(link, _)| link.clone()).collect();
    let from = store_all(store, vec![document("two/From.md", "From", &["x"]).links(&links)])[0];
    for ((link, want), target) in cases.iter().zip(targets(store, from)) {
        assert_eq!(target.as_deref(), *want, "{link:?}");
    }
    let stored = store.links_from(from).unwrap();
    assert_eq!(stored.len(), cases.len());
    assert_eq!((stored[0].line, stored[0].chunk, stored[0].embed), (1, Some(0), false));
}

fn links_are_followed_backwards(store: &dyn Store) {
    let ids = store_all(
        store,
        vec![
            document("Target.v2.md", "The target", &["x"])
                .aliases(&["Aim/High"])
                .links(&[wiki("The target")]),
            document("a.md", "A", &["x"]).links(&[wiki("Target.v2"), wiki("The target")]),
            document("b.md", "B", &["x"]).links(&[wiki("aim/high")]),
            document("c.md", "C", &["x"]).links(&[markdown("./Target.v2.md")]),
            document("d.md", "D", &["x"])
                .links(&[LinkWrite { label: Some("The target".into()), ..wiki("as shown") }]),
            document("e.md", "E", &["x"]).links(&[wiki("target"), markdown("Target.md")]),
        ],
    );
    assert_eq!(store.links_to(ids[0]).unwrap(), ids[1..5]);
    assert_eq!(store.links_to(ids[1]).unwrap(), []);
    assert_eq!(store.links_to(DocumentId(999)).unwrap(), []);
    assert_eq!(store.links_from(DocumentId(999)).unwrap(), []);
}

fn links_follow_what_changes(store: &dyn Store) {
    let from = store_all(store, vec![document("from.md", "From", &["x"]).links(&[wiki("Later")])])[0];
    assert_eq!(targets(store, from), [None]);
    let later = store_all(store, vec![document("Later.md", "Later", &["x"])])[0];
    assert_eq!(targets(store, from), [Some("Later.md".to_owned())]);
    assert_eq!(store.links_to(later).unwrap(), [from]);
    store_all(store, vec![document("x/Later.md", "Later", &["x"])]);
    assert_eq!(targets(store, from), [None]);
    assert_eq!(store.links_to(later).unwrap(), []);
}
