//! `ibid search`, `get`, `list`, `related` and `status` on a real folder.

use std::{fs, path::Path};

use crate::cli_program::World;

/// A small vault. Meaning is off where a test is about words, because it makes every run load the model.
fn vault() -> World {
    World::with(&[
        (
            "guide/keys.md",
            "---\ntitle: Keys\ntags: [ops, security/keys]\n---\n# Keys\n\nIntroduction.\n\n## Rotation\n\n\
             Rotate the signing keys every ninety days with the turnstile command.\n\n## Storage\n\nKeep them safe.\n",
        ),
        ("guide/backup.md", "# Backup\n\nCopy the ledger to another place every night. See [[Keys]].\n"),
        ("notes/tea.md", "# Tea\n\nGreen tea wants eighty degrees.\n"),
        ("code/main.rs", "//! Entry.\n\nfn turnstile_command() {}\n"),
        ("picture.png", "\u{0}not really a picture"),
    ])
    .set("IBID_EMBEDDING_ENABLED", "false")
}

#[test]
fn the_first_search_in_a_folder_indexes_it() {
    let world = vault();
    let run = world.run(&["search", "turnstile", "rotation"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("never indexed"), "{}", run.err);
    let first = run.out.lines().next().unwrap();
    assert!(first.contains("Keys › Rotation"), "{}", run.out);
    assert!(run.out.contains("guide/keys.md:"), "{}", run.out);
    let again = world.run(&["search", "turnstile", "rotation"]);
    assert!(!again.err.contains("never indexed"), "{}", again.err);
    assert_eq!(again.out, run.out, "equal state and equal input give equal output");
    assert!(fs::read_dir(world.vault()).unwrap().all(|entry| {
        entry.unwrap().file_name().to_str().is_some_and(|name| !name.starts_with('.') && name != "ibid.toml")
    }));
}

#[test]
fn nothing_found_is_an_answer() {
    let world = vault();
    let run = world.run(&["search", "--mode", "lexical", "xylophone"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
    assert!(run.err.contains("nothing found"), "{}", run.err);
    assert_eq!(world.json(&["search", "--json", "xylophone"])["hits"], serde_json::json!([]));
}

#[test]
fn filters_restrict_what_is_found() {
    let world = vault();
    let paths = |arguments: &[&str]| -> Vec<String> {
        let mut line = vec!["search", "--json", "-n", "20"];
        line.extend(arguments);
        let reply = world.json(&line);
        let hits = reply["hits"].as_array().unwrap();
        hits.iter().map(|hit| hit["document"]["path"].as_str().unwrap().to_owned()).collect()
    };
    assert!(paths(&["turnstile"]).contains(&"code/main.rs".to_owned()));
    for (arguments, want) in [
        (vec!["--path", "guide", "turnstile"], vec!["guide/keys.md"]),
        (vec!["--kind", "code", "turnstile"], vec!["code/main.rs"]),
        (vec!["--tag", "ops", "turnstile"], vec!["guide/keys.md"]),
        (vec!["--tag", "#security", "turnstile"], vec!["guide/keys.md"]),
        (vec!["--since", "2 hours ago", "tea"], vec!["notes/tea.md"]),
        (vec!["--until", "2020-01-01", "tea"], vec![]),
        (vec!["--source", "vault", "--not", "code", "tea"], vec!["notes/tea.md"]),
    ] {
        assert_eq!(paths(&arguments), want, "{arguments:?}");
    }
    world.fails(&["search", "--source", "other", "tea"], 2, "hint: the sources are `vault`");
    world.fails(&["search", "--since", "soon", "tea"], 2, "`--since` is not a date");
}

#[test]
fn programs_get_json_or_lines_of_it() {
    let world = vault();
    let reply = world.json(&["search", "--json", "--explain", "ledger"]);
    assert_eq!(reply["usedMode"], "lexical");
    let hit = &reply["hits"][0];
    assert_eq!(hit["document"]["path"], "guide/backup.md");
    assert!(!hit["explain"]["legs"].as_array().unwrap().is_empty(), "{hit}");
    let lines = world.ok(&["search", "--jsonl", "ledger"]);
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{lines}");
    let shown = world.ok(&["search", "--explain", "ledger"]);
    assert!(shown.contains("score "), "{shown}");
    assert!(!world.ok(&["search", "ledger"]).contains("score "));
}

#[test]
fn get_prints_documents_sections_lines_and_chunks() {
    let world = vault();
    world.ok(&["index"]);
    let whole = fs::read_to_string(world.vault().join("guide/keys.md")).unwrap();
    assert_eq!(world.ok(&["get", "guide/keys.md"]), whole);
    assert_eq!(
        world.ok(&["get", "guide/keys.md#rotation"]),
        "## Rotation\n\nRotate the signing keys every ninety days with the turnstile command.\n"
    );
    assert_eq!(world.ok(&["get", "guide/keys.md:5-5"]), "# Keys\n");
    let document = world.json(&["get", "guide/keys.md", "--json"]);
    let note = document["noteId"].as_str().unwrap();
    assert_eq!(world.ok(&["get", note]), whole);
    assert!(world.ok(&["get", &format!("{note}:1")]).contains("turnstile"));
    let section = world.json(&["get", "guide/keys.md#storage", "--json"]);
    assert_eq!((&section["heading"], &section["lines"]["start"]), (&"Storage".into(), &13.into()));
    let inside = world.vault().join("guide");
    assert_eq!(
        world.ok(&["-C", inside.to_str().unwrap(), "--set", "vault.root=..", "get", "keys.md"]),
        whole
    );
}

#[test]
fn get_says_what_is_not_there() {
    let world = vault();
    world.ok(&["index"]);
    world.fails(&["get", "guide/none.md"], 4, "NOTE_NOT_FOUND");
    world.fails(&["get", "guide/keys.md#none"], 4, "hint: its sections are `#keys`, `#rotation`, `#storage`");
    world.fails(&["get", "guide/keys.md:900"], 4, "the document ends at line");
    world.fails(&["get", "../outside.md"], 2, "INVALID_PATH");
    world.fails(&["get", "00000000000000000000000000000000"], 4, "NOTE_NOT_FOUND");
    let run = world.run(&["get", "picture.png"]);
    assert!(run.out.contains("image/png"), "{}{}", run.out, run.err);
    world.ok(&["get", "picture.png", "--output", "copy.png"]);
    assert!(Path::new(&world.vault().join("copy.png")).exists());
}

#[test]
fn list_shows_documents_by_path() {
    let world = vault();
    let out = world.ok(&["list"]);
    let paths: Vec<_> = out.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(paths, ["code/main.rs", "guide/backup.md", "guide/keys.md", "notes/tea.md"]);
    let page = world.json(&["list", "--json", "--kind", "markdown", "-n", "1"]);
    assert_eq!((&page["total"], page["items"].as_array().unwrap().len()), (&3.into(), 1));
    assert_eq!(world.json(&["list", "--json", "tea"])["items"][0]["title"], "Tea");
}

#[test]
fn related_follows_links() {
    let world = vault();
    let reply = world.json(&["related", "guide/backup.md", "--json"]);
    let hits = reply["hits"].as_array().unwrap();
    assert!(hits.iter().any(|hit| hit["document"]["path"] == "guide/keys.md"), "{reply}");
    world.fails(&["related", "guide/backup.md#x"], 2, "neighbours are of a document or of a chunk");
}

#[test]
fn status_tells_how_fresh_the_index_is_and_what_became_of_every_file() {
    let world = vault();
    assert!(world.ok(&["status"]).contains("never indexed"));
    world.ok(&["index"]);
    let fresh = world.json(&["status", "--json"]);
    assert_eq!(fresh["index"]["freshness"], "fresh", "{fresh}");
    assert_eq!(fresh["index"]["documents"], 4);
    world.write("notes/new.md", "# New\n");
    let stale = world.json(&["status", "--json"]);
    assert_eq!(stale["index"]["freshness"], "pending", "{stale}");
    let coverage = world.json(&["status", "--coverage", "--json"]);
    let files = coverage["coverage"]["files"].as_array().unwrap();
    let picture = files.iter().find(|file| file["path"] == "picture.png").unwrap();
    assert_eq!(picture["state"], "skipped");
    let shown = world.ok(&["status", "--coverage"]);
    assert!(shown.contains("picture.png"), "{shown}");
}

#[test]
fn several_sources_are_searched_together_and_apart() {
    let world = World::with(&[
        ("one/a.md", "# Alpha\n\nmarmalade\n"),
        ("two/b.md", "# Beta\n\nmarmalade\n"),
        (
            "ibid.toml",
            "embedding.enabled = false\n[[sources]]\npath = \"one\"\n[[sources]]\nname = \"second\"\npath = \"two\"\n",
        ),
    ]);
    let out = world.ok(&["search", "marmalade"]);
    assert!(out.contains("a.md:1 [one]") || out.contains("a.md:3 [one]"), "{out}");
    assert!(out.contains("[second]"), "{out}");
    let one = world.json(&["search", "--json", "--source", "second", "marmalade"]);
    assert_eq!(one["hits"][0]["document"]["source"], "second");
    assert_eq!(one["hits"].as_array().unwrap().len(), 1);
}
