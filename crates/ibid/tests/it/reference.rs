//! The generated pages are current, and what the documents say about commands is true.

use std::fs;

use crate::cli_program::{World, repository};

#[test]
fn generated_pages_are_current() {
    for (path, content) in ibid::reference::pages().unwrap() {
        let file = repository().join(path);
        if std::env::var_os("IBID_UPDATE").is_some() {
            fs::write(&file, &content).unwrap();
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(committed == content, "{path} is not current; run `./check --update`");
    }
}

#[test]
fn every_error_code_is_in_the_reference() {
    let pages = ibid::reference::pages().unwrap();
    let (_, page) = pages.iter().find(|(path, _)| *path == "docs/errors.md").unwrap();
    for code in ibid_api::ErrorCode::ALL {
        assert!(page.contains(&format!("| `{}` |", code.as_str())), "{}", code.as_str());
    }
}

#[test]
fn commands_named_in_the_documents_exist() {
    let world = World::new();
    let help = world.ok(&["--help"]);
    for page in ["README.md", "docs/clients.md", "docs/commands.md"] {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        for command in mentioned(&text) {
            let listed = help.lines().any(|line| line.trim_start().starts_with(&format!("{command} ")));
            assert!(listed, "{page} speaks of `ibid {command}`, which does not exist");
        }
    }
}

/// The words after `ibid ` at the beginning of code: in backticks or on a line of a code block.
fn mentioned(text: &str) -> Vec<String> {
    let starts = text.match_indices("`ibid ").map(|(at, found)| at + found.len());
    let lines = text.match_indices("\nibid ").map(|(at, found)| at + found.len());
    starts
        .chain(lines)
        .filter_map(|at| {
            let word: String =
                text[at..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            Some(word).filter(|word| !word.is_empty() && !word.starts_with('-'))
        })
        .collect()
}
