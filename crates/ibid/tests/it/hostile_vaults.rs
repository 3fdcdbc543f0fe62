//! Real folders of notes and documentation, where there are any: every one indexes and answers.

use std::{env, fs, path::PathBuf};

use crate::sandbox::Sandbox;

/// The folder of vaults: `IBID_TEST_VAULTS`, else beside the repository.
pub(crate) fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/vaults");
    let folder = env::var_os("IBID_TEST_VAULTS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no folder of vaults (set IBID_TEST_VAULTS to include this test)");
    None
}

#[test]
fn every_vault_indexes_and_answers() {
    let Some(folder) = folder() else { return };
    let mut vaults: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of vaults")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    vaults.sort();
    assert!(!vaults.is_empty());
    for vault in vaults {
        let name = vault.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let sandbox = Sandbox::new().with_root(vault);
        let reply = sandbox.index();
        assert!(reply["documents"].as_u64() > Some(0), "{name}: {reply}");
        assert_eq!(reply["failed"].as_u64(), Some(0), "{name}: {reply}");
        let again = sandbox.index();
        assert_eq!(again["added"].as_u64(), Some(0), "{name}: {again}");
        assert_eq!(again["changed"].as_u64(), Some(0), "{name}: {again}");
        let documents = sandbox.run(&["list", "--json", "--limit", "20"]).json();
        let titles = titles(&documents);
        assert!(!titles.is_empty(), "{name}: {documents}");
        for title in titles {
            let ran = sandbox.run(&["search", "--json", "--", &title]);
            assert!(ran.is_orderly(), "{name}: {ran:?}");
        }
    }
}

/// Every string under `title`, wherever it stands.
fn titles(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Array(list) => list.iter().flat_map(titles).collect(),
        serde_json::Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match (name.as_str(), value.as_str()) {
                ("title", Some(title)) if !title.trim().is_empty() => vec![title.to_owned()],
                _ => titles(value),
            })
            .collect(),
        _ => Vec::new(),
    }
}
