//! What `/index` and `/reindex` say of files that cannot be read as they are.

use std::fs;

use serde_json::{Value, json};

use super::{Enveloped, Server, Vault};

/// Mode, count and codes of the warnings.
#[track_caller]
fn told(server: &Server, path: &str) -> (String, u64, Vec<String>) {
    let reply = server.post(path, &json!({}));
    let data = reply.data();
    let codes = reply.json()["warnings"].as_array().unwrap().iter().map(code).collect();
    (data["mode"].as_str().unwrap().to_owned(), data["warningCount"].as_u64().unwrap(), codes)
}

fn code(warning: &Value) -> String {
    warning["code"].as_str().unwrap().to_owned()
}

fn write_files_with_problems(vault: &Vault) -> bool {
    vault.write_bytes("Binary.md", b"# Binary\0\x01\x02");
    vault.write_bytes("Latin.md", b"# Gr\xfc\xdfe\n\nEin Brief.\n");
    vault.write("Vast.md", &"words and words\n".repeat(140_000));
    vault.write("Header.md", "---\ntitle: [unclosed\n---\nIts body.\n");
    vault.write("Locked.md", "# Locked");
    let locked = vault.root().join("Locked.md");
    #[cfg(unix)]
    fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    fs::read(&locked).is_err()
}

const UPDATE: [&str; 5] = [
    "INDEX_FILE_BINARY",
    "INDEX_FILE_NOT_UTF8",
    "INDEX_FILE_TOO_LARGE",
    "INDEX_FRONTMATTER_PARSE_FAILED",
    "INDEX_FILE_READ_FAILED",
];
const FULL: [&str; 5] = [
    "FILE_BINARY",
    "FILE_NOT_UTF8",
    "FILE_TOO_LARGE_FOR_INDEXING",
    "FRONTMATTER_PARSE_FAILED",
    "FILE_READ_FAILED",
];

#[track_caller]
fn same(mut codes: Vec<String>, expected: &[&str]) {
    let mut expected = expected.to_vec();
    codes.sort();
    expected.sort_unstable();
    assert_eq!(codes, expected);
}

#[test]
fn an_update_and_a_rebuild_each_say_it_in_their_own_words() {
    let vault = Vault::empty();
    vault.write("Home.md", "# Home");
    let server = vault.serve(&[]);
    let binds = write_files_with_problems(&vault);
    if !binds {
        eprintln!("not all of it: permissions do not bind this user");
    }
    let count = if binds { 5 } else { 4 };
    let (mode, warnings, codes) = told(&server, "/index");
    assert_eq!((mode.as_str(), warnings), ("incremental", count as u64));
    same(codes, &UPDATE[..count]);
    let (mode, _, codes) = told(&server, "/index");
    assert_eq!((mode.as_str(), codes.len()), ("incremental", 0), "what did not change is not told again");
    let (mode, warnings, codes) = told(&server, "/reindex");
    assert_eq!((mode.as_str(), warnings), ("full", count as u64));
    same(codes, &FULL[..count]);
}

#[test]
fn the_first_index_is_a_full_one() {
    let vault = Vault::empty();
    // There is no place for an index while the server starts.
    let data = vault.folder().join("data");
    fs::write(&data, "in the way").unwrap();
    let server = vault.serve(&[]);
    fs::remove_file(&data).unwrap();
    let count = if write_files_with_problems(&vault) { 5 } else { 4 };
    let (mode, _, codes) = told(&server, "/index");
    assert_eq!(mode, "full");
    same(codes, &FULL[..count]);
}

#[test]
fn a_hundred_warnings_are_shown_and_the_rest_counted() {
    let vault = Vault::empty();
    for number in 0..130 {
        vault.write(&format!("{number}.md"), "---\ntitle: [unclosed\n---\nIts body.\n");
    }
    let server = vault.serve(&[]);
    for path in ["/reindex", "/index"] {
        if path == "/index" {
            for number in 0..130 {
                vault.write(&format!("{number}.md"), "---\ntitle: [unclosed\n---\nAnother body.\n");
            }
        }
        let reply = server.post(path, &json!({}));
        assert_eq!(reply.data()["warningCount"], 130, "{path}");
        let warnings = reply.json()["warnings"].as_array().unwrap().clone();
        assert_eq!(warnings.len(), 101, "{path}");
        assert!(warnings[..100].iter().all(|warning| warning["details"]["path"].is_string()), "{path}");
        assert_eq!(code(&warnings[100]), "WARNINGS_TRUNCATED", "{path}");
        assert_eq!(warnings[100]["details"], json!({ "omitted": 30 }), "{path}");
    }
}
