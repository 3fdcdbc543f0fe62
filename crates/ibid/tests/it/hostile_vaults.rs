//! Real folders of notes and documentation, where there are any: every one indexes and answers.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// The folder of vaults: `IBID_TEST_VAULTS`, else beside the repository.
pub(crate) fn folder() -> Option<PathBuf> {
    let named = env::var_os("IBID_TEST_VAULTS").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut beside = above.map(|folder| folder.join("shared/data/vaults"));
    if let Some(folder) = named.or_else(|| beside.find(|folder| folder.is_dir())).filter(|it| it.is_dir()) {
        return Some(folder);
    }
    eprintln!("skipped: no folder of vaults (set IBID_TEST_VAULTS to include this test)");
    None
}

/// The vaults, with their names.
fn vaults() -> Vec<(String, PathBuf)> {
    let Some(folder) = folder() else { return Vec::new() };
    let mut vaults: Vec<_> = fs::read_dir(folder)
        .expect("the folder of vaults")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path))
        .collect();
    vaults.sort();
    assert!(!vaults.is_empty());
    vaults
}

/// Every file below a folder.
fn files_below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of a vault") {
        let entry = entry.expect("an entry");
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files_below(&entry.path(), &format!("{path}/"), found);
        } else {
            found.insert(path);
        }
    }
}

#[test]
fn coverage_accounts_for_every_file_of_every_vault() {
    for (name, vault) in vaults() {
        let mut all = BTreeSet::new();
        files_below(&vault, "", &mut all);
        let sandbox = Sandbox::new().with_root(vault);
        sandbox.index();
        let coverage = sandbox.run(&["status", "--coverage", "--json"]).json()["coverage"].clone();
        let list = |field: &str| coverage[field].as_array().expect("a list").clone();
        let path = |entry: &Value| entry["path"].as_str().expect("a path").to_owned();
        let (files, left_out) = (list("files"), list("leftOut"));
        let seen: BTreeSet<String> = files.iter().map(path).collect();
        let is_left_out = |file: &String| {
            left_out.iter().any(|entry| {
                let rest = file.strip_prefix(&path(entry));
                let inside = entry["isFolder"] == true && rest.is_some_and(|rest| rest.starts_with('/'));
                assert!(entry["rule"].as_str().is_some_and(|rule| !rule.is_empty()), "{entry}");
                inside || rest == Some("")
            })
        };
        assert!(seen.is_subset(&all), "{name}: more than there is");
        for file in &all {
            assert!(
                seen.contains(file) != is_left_out(file),
                "{name}: {file} is told of twice or not at all"
            );
        }
        let number = |value: &Value| value.as_u64().expect("a number");
        let skipped: u64 = coverage["skipped"].as_object().expect("reasons").values().map(number).sum();
        let (indexed, failed) = (number(&coverage["indexed"]), number(&coverage["failed"]));
        assert_eq!(indexed + skipped + failed, files.len() as u64, "{name}");
        assert_eq!(failed, 0, "{name}");
        let by_rule = all.len() - seen.len();
        eprintln!("{name}: {} files, {indexed} indexed, {skipped} skipped, {by_rule} by rule", all.len());
    }
}

#[test]
fn every_link_resolves_or_is_listed() {
    for (name, vault) in vaults() {
        let sandbox = Sandbox::new().with_root(vault.clone());
        sandbox.index();
        let links = sandbox.run(&["status", "--links", "--json"]).json()["links"].clone();
        let resolved = links["resolved"].as_u64().expect("a number");
        let unresolved = links["unresolved"].as_array().expect("a list");
        eprintln!("{name}: {resolved} links resolve, {} do not", unresolved.len());
        for link in unresolved {
            let path = vault.join(link["path"].as_str().expect("a path"));
            let target = link["target"].as_str().expect("what the link names");
            let text = String::from_utf8_lossy(&fs::read(&path).expect("the note it stands in")).into_owned();
            // A name may be written with escapes; its first word is there in any case.
            let word = target.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
            assert!(word.is_none_or(|word| text.contains(word)), "{name}: {link}");
            let line = link["line"].as_u64().and_then(|line| usize::try_from(line).ok()).expect("a line");
            let line = text.lines().nth(line - 1).expect("a line of the note");
            if name == "kb-engine" {
                assert!(!line.contains(&format!("[[{target}")), "a wiki link does not resolve: {link}");
            }
        }
        assert!(name != "kb-engine" || resolved >= 409, "{resolved} links of {name} resolve");
        let shown = sandbox.run(&["status", "--links"]).stdout;
        assert_eq!(shown.lines().filter(|line| line.starts_with("  ")).count(), unresolved.len(), "{name}");
    }
}

#[test]
fn every_vault_indexes_and_answers() {
    for (name, vault) in vaults() {
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
