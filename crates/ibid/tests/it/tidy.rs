//! Rules of structure: what the architecture promises, checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::cli_program::repository;

const LONGEST_FILE: usize = 600;
const FORBIDDEN_NAMES: &[&str] =
    &["utils", "util", "helpers", "helper", "common", "misc", "prelude", "types"];

/// Every Rust file below `crates`, by its path in the repository.
fn sources() -> Vec<(String, String)> {
    let root = repository().join("crates");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    assert!(files.len() > 20, "the walk found the sources");
    let name = |path: &Path| format!("crates/{}", path.strip_prefix(&root).unwrap().display());
    files.into_iter().map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target" && name != "fuzz") {
                walk(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[track_caller]
fn none(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            broken.push(format!("{path} has {lines} lines, more than {LONGEST_FILE}"));
        }
        let first = text.lines().next().unwrap_or_default();
        if !first.starts_with("//! ") || first.len() < 12 {
            broken.push(format!("{path} does not open with a sentence about itself"));
        }
    }
    none("a file has one subject and says it first", &broken);
}

#[test]
fn no_file_is_a_drawer() {
    let is_drawer = |path: &String| {
        let stem = Path::new(path).file_stem().unwrap().to_string_lossy().into_owned();
        let folders =
            Path::new(path).parent().unwrap().iter().map(|part| part.to_string_lossy().into_owned());
        folders.chain([stem]).any(|name| FORBIDDEN_NAMES.contains(&name.as_str()))
    };
    let broken: Vec<_> = sources().into_iter().map(|(path, _)| path).filter(is_drawer).collect();
    none("a module is named by its subject", &broken);
}

/// A word that only some files may use.
struct Confined {
    word: &'static str,
    to: &'static [&'static str],
}

#[test]
fn what_belongs_to_one_place_stays_there() {
    const TESTS: &str = "crates/ibid/tests/";
    let rules = [
        Confined { word: "rmcp::", to: &["crates/ibid/src/mcp/", "crates/ibid/src/mcp.rs", TESTS] },
        Confined { word: "axum::", to: &["crates/ibid/src/http/", "crates/ibid/src/mcp/http.rs", TESTS] },
        Confined { word: "indicatif::", to: &["crates/ibid/src/ui/progress.rs"] },
        Confined {
            word: "clap::",
            to: &["crates/ibid/src/args.rs", "crates/ibid/src/cli/", "crates/ibid/src/lib.rs"],
        },
        Confined {
            word: "rusqlite::",
            to: &[
                "crates/ibid-core/src/store/",
                "crates/ibid-core/tests/",
                "crates/ibid-core/benches/",
                TESTS,
            ],
        },
        Confined {
            word: "std::env::",
            to: &["crates/ibid/src/config/", "crates/ibid/tests/", "crates/ibid-core/tests/"],
        },
        Confined { word: "#[ignore", to: &[] },
        Confined { word: concat!("TO", "DO"), to: &[] },
        Confined { word: concat!("to", "do!("), to: &[] },
    ];
    let mut broken = Vec::new();
    for (path, text) in sources() {
        if path.ends_with("tests/it/tidy.rs") {
            continue;
        }
        let code = without_tests(&text).replace("std::env::consts", "");
        for rule in &rules {
            let allowed = rule.to.iter().any(|place| path.starts_with(place));
            let benches = path.contains("/benches/") || path.contains("/examples/");
            if !allowed && !benches && code.contains(rule.word) {
                broken.push(format!("{path} uses `{}`", rule.word));
            }
        }
    }
    none("some words belong to one place", &broken);
}

/// A file without its inline tests.
fn without_tests(text: &str) -> String {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text).to_owned()
}

#[test]
fn dependencies_point_one_way() {
    let forbidden = BTreeMap::from([
        (
            "ibid-api",
            vec!["ibid-core", "ibid-tools", "ibid", "tokio", "axum", "rmcp", "clap", "rusqlite", "tantivy"],
        ),
        ("ibid-core", vec!["ibid-tools", "ibid", "axum", "rmcp", "clap", "indicatif"]),
        ("ibid-tools", vec!["ibid-core", "ibid", "axum", "rmcp", "clap", "rusqlite", "tantivy"]),
    ]);
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        seen.insert(name.to_owned());
        let dependencies = package["dependencies"].as_array().unwrap();
        let real = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
        for dependency in real.map(|dependency| dependency["name"].as_str().unwrap()) {
            if forbidden.get(name).is_some_and(|names| names.contains(&dependency)) {
                broken.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    none("dependencies point from the program to the vocabulary", &broken);
    assert!(forbidden.keys().all(|name| seen.contains(*name)), "{seen:?}");
}

#[test]
fn every_test_file_is_part_of_a_test_binary() {
    let mut broken = Vec::new();
    for (path, _) in sources() {
        let Some((folder, file)) = path.split_once("/tests/it/") else { continue };
        if file == "main.rs" {
            continue;
        }
        let main = fs::read_to_string(repository().join(folder).join("tests/it/main.rs")).unwrap();
        let module = file.split('/').next().unwrap().trim_end_matches(".rs");
        if !main.lines().any(|line| line.trim_end() == format!("mod {module};")) {
            broken.push(path);
        }
    }
    none("a test that is not included never runs", &broken);
}

#[test]
fn the_project_speaks_of_itself_alone() {
    let listed = Command::new("git").args(["ls-files"]).current_dir(repository()).output();
    let Ok(listed) = listed else { return };
    let mut broken = Vec::new();
    for path in String::from_utf8_lossy(&listed.stdout).lines() {
        let Ok(text) = fs::read_to_string(repository().join(path)) else { continue };
        for word in [concat!("/wo", "rk/"), concat!("/ro", "ot/")] {
            if text.contains(word) {
                broken.push(format!("{path} names a folder of some machine: {word}"));
            }
        }
    }
    none("nothing here depends on one machine", &broken);
}
