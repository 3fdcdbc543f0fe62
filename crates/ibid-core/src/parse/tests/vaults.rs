//! Tests with real folders of Markdown.

use std::path::Path;

use super::*;

/// Calls `check` with the path below `folder` and the bytes of each of its files.
fn for_each_file(folder: &Path, check: &mut dyn FnMut(&RelPath, Vec<u8>)) {
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            } else if let Ok(path) =
                RelPath::parse(entry.path().strip_prefix(folder).unwrap().to_str().unwrap())
            {
                check(&path, std::fs::read(entry.path()).unwrap());
            }
        }
    }
}

/// Calls `check` with each document of a folder.
pub(crate) fn for_each_document(folder: &Path, check: &mut dyn FnMut(Parsed)) {
    for_each_file(folder, &mut |path, bytes| {
        let raw = RawFile { path: path.clone(), bytes };
        if let Outcome::Parsed(parsed, _) = parse(&raw, &ParseOptions::default()) {
            check(*parsed);
        }
    });
}

#[test]
fn every_file_of_real_vaults_parses() {
    let Some(folder) = shared_data("vaults") else { return };
    let (mut n_markdown, mut n_links) = (0, 0);
    for_each_document(&folder, &mut |parsed| {
        check_invariants(&parsed);
        n_markdown += usize::from(parsed.kind == DocumentKind::Markdown);
        n_links += parsed.links.len();
    });
    assert!(n_markdown > 2000 && n_links > 5000, "{n_markdown} {n_links}");
}

#[test]
fn wiki_links_of_a_vault_where_all_resolve_name_its_files() {
    let Some(folder) = shared_data("vaults/kb-engine") else { return };
    let mut names = std::collections::HashSet::new();
    let mut links = Vec::new();
    for_each_file(&folder, &mut |path, bytes| {
        names.insert(path.stem().to_owned());
        let raw = RawFile { path: path.clone(), bytes };
        if let Outcome::Parsed(parsed, _) = parse(&raw, &ParseOptions::default()) {
            names.insert(parsed.title.clone());
            names.extend(parsed.metadata.aliases.iter().cloned());
            links.extend(parsed.links.into_iter().filter(|link| link.wiki).map(|link| link.name));
        }
    });
    let lost: Vec<_> = links.iter().filter(|name| !names.contains(*name)).collect();
    assert!(links.len() > 300 && lost.is_empty(), "{} links, lost {lost:?}", links.len());
}

#[test]
fn any_yaml_in_a_header_leaves_the_body_alone() {
    let Some(folder) = shared_data("vaults/yaml-test-suite") else { return };
    let mut n_files = 0;
    for_each_file(&folder, &mut |_, bytes| {
        let Ok(yaml) = String::from_utf8(bytes) else { return };
        // A line that closes the header early only makes the body start earlier.
        let document = parsed("n.md", &format!("---\ntitle: x\n{yaml}\n---\nThe body.\n"));
        check_invariants(&document);
        let last = document.blocks.last().expect("the body has a block");
        assert!(document.text[last.bytes.clone()].ends_with("The body."));
        n_files += 1;
    });
    assert!(n_files > 300);
}

#[test]
fn naughty_strings_survive_in_every_place() {
    let Some(folder) = shared_data("vaults/blns") else { return };
    let strings = std::fs::read_to_string(folder.join("blns.txt")).unwrap();
    for naughty in strings.lines() {
        for text in [
            format!("x {naughty}"),
            format!("# {naughty}\n\n{naughty}\n"),
            format!(
                "---\ntitle: {naughty}\n---\n[[{naughty}|{naughty}]] [{naughty}]({naughty}) #{naughty}\n"
            ),
            format!("- {naughty}\n\n| {naughty} |\n|---|\n| {naughty} |\n\n```{naughty}\n{naughty}\n"),
        ] {
            check_invariants(&parsed("n.md", &text));
        }
    }
}
