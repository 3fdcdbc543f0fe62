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
fn every_code_is_in_the_reference() {
    let pages = ibid::reference::pages().unwrap();
    let (_, page) = pages.iter().find(|(path, _)| *path == "docs/errors.md").unwrap();
    for code in ibid_api::ErrorCode::ALL {
        assert!(page.contains(&format!("| `{}` |", code.as_str())), "{}", code.as_str());
    }
    macro_rules! listed {
        ($($table:ident),*) => {$(
            for code in ibid_api::$table::ALL {
                assert!(page.contains(&format!("| `{code}` | {} |", code.about().trim())), "{code}");
            }
        )*};
    }
    listed!(WarningCode, ReindexReason, UpdateError, WatchError);
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

/// The code blocks of a page in this language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The snippets of the page on clients are what `install-client` writes, apart from folders and programs.
#[test]
fn snippets_for_clients_are_what_is_written_for_them() {
    let page = fs::read_to_string(repository().join("docs/clients.md")).unwrap();
    let section = |title: &str| {
        let start = page.find(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("no section {title}"));
        page[start + 4..].split("\n## ").next().unwrap().to_owned()
    };
    for (client, title, language) in [
        ("claude-code", "Claude Code", "json"),
        ("claude-desktop", "Claude Desktop", "json"),
        ("cursor", "Cursor", "json"),
        ("vscode", "VS Code", "json"),
        ("codex", "Codex", "toml"),
        ("gemini", "Gemini CLI", "json"),
    ] {
        let world = World::new();
        let written = world.ok(&["install-client", client, "--dry-run"]);
        let written = written
            .replace(env!("CARGO_BIN_EXE_ibid"), "ibid")
            .replace(world.vault().canonicalize().unwrap().to_str().unwrap(), "/path/to/notes");
        let section = section(title);
        let snippet = blocks(&section, language)[0]
            .replace("/full/path/to/ibid", "ibid")
            .replace("${workspaceFolder}", "/path/to/notes");
        let same = match language {
            "json" => {
                let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
                parse(&written) == parse(&snippet)
            }
            _ => written.trim() == snippet.trim(),
        };
        assert!(same, "{client}: {snippet}\nis not\n{written}");
    }
}
