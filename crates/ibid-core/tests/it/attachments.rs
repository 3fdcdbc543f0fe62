//! Attachments: what may be served, and the order of the refusals.

use std::fs;

use ibid_api::{AttachmentBody, Engine as _, ErrorCode, RelPath};
use ibid_core::LocalEngine;

use crate::{
    knowledge::{call, engine},
    tree::Tree,
};

fn refused(engine: &LocalEngine, path: &str) -> ErrorCode {
    let path = RelPath::parse(path).unwrap();
    call(engine.attachment(path, AttachmentBody::UpTo(1_000))).unwrap_err().code
}

#[test]
fn attachments_come_with_type_size_and_bytes() {
    let tree = Tree::new(&[("files/a b.PNG", "picture"), ("data", "?")]);
    let engine = engine(&tree);
    let path = RelPath::parse("files/a b.PNG").unwrap();
    let about = call(engine.attachment(path.clone(), AttachmentBody::Omit)).unwrap();
    assert_eq!((about.file_name.as_str(), about.content_type.as_str()), ("a b.PNG", "image/png"));
    assert_eq!((about.size, about.body), (7, None));
    let whole = call(engine.attachment(path.clone(), AttachmentBody::UpTo(7))).unwrap();
    assert_eq!(whole.body.as_deref(), Some(&b"picture"[..]));
    let error = call(engine.attachment(path, AttachmentBody::UpTo(6))).unwrap_err();
    assert_eq!(error.code, ErrorCode::AttachmentTooLarge);
    let unknown = call(engine.attachment(RelPath::parse("data").unwrap(), AttachmentBody::Omit)).unwrap();
    assert_eq!(unknown.content_type, "application/octet-stream");
}

#[cfg(unix)]
#[test]
fn refusals_come_in_the_order_of_the_contract() {
    let tree = Tree::new(&[
        ("note.md", "secret"),
        (".hidden/x.png", "x"),
        ("node_modules/x.png", "x"),
        ("folder.png/x", "x"),
    ]);
    fs::write(tree.beside("outside.png"), "secret").unwrap();
    fs::create_dir(tree.beside("outside")).unwrap();
    tree.link("out.png", "../outside.png");
    tree.link("out.md", "../outside.png");
    tree.link("outfolder", "../outside");
    tree.link("disguise.png", "note.md");
    tree.link("unhide.png", ".hidden/x.png");
    tree.link("nowhere.png", "missing.png");
    let engine = engine(&tree);
    for (path, want) in [
        // Outside before anything else, whatever the name.
        ("out.png", ErrorCode::PathOutsideVault),
        ("out.md", ErrorCode::PathOutsideVault),
        ("outfolder", ErrorCode::PathOutsideVault),
        // A folder, whatever its name.
        ("folder.png", ErrorCode::InvalidPath),
        (".hidden", ErrorCode::InvalidPath),
        // Not allowed before missing.
        ("note.md", ErrorCode::AttachmentNotAllowed),
        ("missing.md", ErrorCode::AttachmentNotAllowed),
        (".hidden/x.png", ErrorCode::AttachmentNotAllowed),
        (".hidden/missing.png", ErrorCode::AttachmentNotAllowed),
        ("node_modules/x.png", ErrorCode::AttachmentNotAllowed),
        ("disguise.png", ErrorCode::AttachmentNotAllowed),
        ("unhide.png", ErrorCode::AttachmentNotAllowed),
        ("missing.png", ErrorCode::AttachmentNotFound),
        ("nowhere.png", ErrorCode::AttachmentNotFound),
        ("note.md/x.png", ErrorCode::AttachmentNotFound),
    ] {
        assert_eq!(refused(&engine, path), want, "{path}");
    }
}
