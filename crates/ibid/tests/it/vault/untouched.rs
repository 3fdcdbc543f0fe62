//! The vault is never written.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Vault, note_id};

/// Every file and folder below: its content, mode and times.
fn picture(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (content, metadata.mode(), metadata.mtime(), metadata.mtime_nsec()));
        }
    }
    found
}

fn set_modes(root: &Path, file: u32, folder: u32) {
    for path in picture(root).keys().chain([&root.to_owned()]) {
        let mode = if path.is_dir() { folder } else { file };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn a_read_only_vault_works_and_is_the_same_byte_for_byte_afterwards() {
    let vault = Vault::new();
    set_modes(&vault.root(), 0o444, 0o555);
    let before = picture(&vault.root());
    vault.index();
    let mut client = vault.mcp();
    let id = note_id("Home.md");
    for (tool, arguments) in [
        ("search", json!({"query": "hens"})),
        ("get_note", json!({"note_id": id})),
        ("get_chunk", json!({"note_id": id, "chunk_index": 0})),
        ("get_attachment", json!({"vault_relative_path": "images/plan.png", "download": true})),
        ("related", json!({"type": "note", "id": id})),
    ] {
        assert!(client.call(tool, arguments).is_ok(), "{tool}");
    }
    let server = vault.serve(&["--mcp-enabled"]);
    assert_eq!(server.post("/index", &json!({})).status, 200);
    assert_eq!(server.post("/reindex", &json!({})).status, 200);
    assert_eq!(server.get("/status").status, 200);
    let after = picture(&vault.root());
    set_modes(&vault.root(), 0o644, 0o755);
    assert_eq!(before, after);
}
