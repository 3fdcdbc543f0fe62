//! Hostile strings as queries, titles, tags, texts and file names: never a crash, never an internal error.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{hostile_strings, hostile_vaults, sandbox::Sandbox};

/// Our own strings, and the big list of naughty strings where it is at hand.
fn strings() -> Vec<String> {
    let mut strings = hostile_strings::all();
    if let Some(list) = hostile_vaults::folder().map(|folder| folder.join("blns/blns.json"))
        && let Ok(text) = fs::read_to_string(list)
    {
        strings.extend(serde_json::from_str::<Vec<String>>(&text).expect("a list of strings"));
    }
    strings
}

/// A tree in which every string is a title, a heading, a tag, a text and, where the system takes it, a name.
fn hostile_tree(strings: &[String]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (number, string) in strings.iter().enumerate() {
        let quoted = serde_json::to_string(string).expect("a string");
        let page = [
            format!(
                "---\ntitle: {quoted}\ntags: [{quoted}]\naliases: [{quoted}]\n---\n# {string}\n\n{string}\n"
            ),
            format!(
                "---\ntitle: {string}\ntags: {string}\n{string}: {string}\n---\n## {string}\n#{string}\n"
            ),
            format!(
                "{string}\n\n[[{string}]] [x]({string}) ![[{string}#{string}|{string}]]\n\n```{string}\n{string}\n"
            ),
        ];
        for (kind, text) in page.iter().enumerate() {
            sandbox.write(&format!("page-{number}-{kind}.md"), text);
        }
        if is_file_name(string) {
            // The system may refuse a name; that is its right.
            let _ = fs::write(
                sandbox.root().join(format!("{string}.md")),
                format!("# {string}\n\nnamed {number}\n"),
            );
            let _ = fs::create_dir(sandbox.root().join(string));
            let _ = fs::write(sandbox.root().join(string).join("inside.md"), format!("inside {number}\n"));
        }
    }
    sandbox
}

fn is_file_name(string: &str) -> bool {
    !string.contains(['/', '\0']) && string.len() < 200 && !matches!(string, "" | "." | "..")
}

#[test]
fn hostile_titles_tags_texts_and_names_are_indexed() {
    let strings = strings();
    let sandbox = hostile_tree(&strings);
    let reply = sandbox.index();
    assert!(reply["documents"].as_u64() >= Some(strings.len() as u64 * 3), "{reply}");
    assert_eq!(reply["failed"].as_u64(), Some(0), "{reply}");
    let again = sandbox.index();
    assert_eq!((&again["added"], &again["changed"]), (&0.into(), &0.into()), "{again}");
    for arguments in [["list", "--json"], ["list", "--jsonl"], ["status", "--coverage"], ["status", "--json"]]
    {
        let ran = sandbox.run(&arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    }
    let human = sandbox.run(&["search", "-n", "1000", "inside named"]);
    assert_eq!(human.code, Some(0), "{}", human.stderr);
    let raw_control = |character: char| character.is_control() && character != '\n';
    assert!(!human.stdout.contains(raw_control), "{:?}", human.stdout);
}

#[test]
fn hostile_queries_and_filters_are_answered_or_refused() {
    let strings = strings();
    let sandbox = hostile_tree(&strings[..40]);
    sandbox.index();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(string) = strings.get(next.fetch_add(1, Ordering::Relaxed)) {
                    ask(&sandbox, string);
                }
            });
        }
    });
}

fn ask(sandbox: &Sandbox, string: &str) {
    // No system hands over an argument with a zero in it.
    let string = string.replace('\0', "\u{2400}");
    let runs: [&[&str]; 4] = [
        &["search", "--json", "--", &string],
        &["search", "--prefix", "--explain", "--json", "--", &string],
        &["search", "--json", "--tag", &string, "--path", &string, "page"],
        &["get", "--", &string],
    ];
    for arguments in runs {
        let ran = sandbox.run(arguments);
        assert!(ran.is_orderly(), "{arguments:?}: {ran:?}");
        if ran.code == Some(0) && arguments.contains(&"--json") {
            ran.json();
        }
    }
}
