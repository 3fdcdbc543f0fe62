//! The command line as a person meets it.

use crate::cli_program::World;

#[test]
fn alone_it_says_what_it_can_do() {
    let world = World::new();
    let out = world.ok(&[]);
    assert!(out.contains("ibid search WORDS"), "{out}");
    assert!(out.lines().count() < 15, "short: {out}");
}

#[test]
fn every_command_has_help_that_explains_it() {
    let world = World::new();
    let help = world.ok(&["--help"]);
    let commands: Vec<_> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert!(commands.len() > 12, "{commands:?}");
    for command in
        commands.into_iter().filter(|command| command.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
    {
        let help = world.ok(&[command, "--help"]);
        assert!(help.contains("Usage: ibid"), "{command}: {help}");
    }
}

#[test]
fn wrong_usage_ends_with_two() {
    let world = World::new();
    world.fails(&["serch", "x"], 2, "search");
    world.fails(&["search"], 2, "WORDS");
    world.fails(&["search", "--limit", "0", "x"], 2, "0");
    world.fails(
        &["--set", "nonsense", "config", "show"],
        2,
        "INVALID_INPUT: `--set` wants a key and a value",
    );
    world.fails(&["-C", "nowhere", "status"], 2, "`--directory` is not a folder");
}

#[test]
fn completions_and_manual_pages_are_printed() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(world.ok(&["completions", shell]).contains("install-client"), "{shell}");
    }
    assert!(world.ok(&["man"]).starts_with(".ie"), "roff");
    world.ok(&["man", "--output", "pages"]);
    assert!(world.vault().join("pages/ibid-search.1").exists());
}

#[test]
fn tools_are_listed_with_their_cost_and_called() {
    let world = World::with(&[("kb.txt", "hello")]);
    let out = world.ok(&["tools"]);
    assert!(out.contains("get_kb_info") && out.contains("tokens"), "{out}");
    let answer = world.json(&["call", "--kb-file", "kb.txt", "get_kb_content"]);
    assert_eq!(answer["content"], "hello");
    assert_eq!(world.json(&["call", "--kb-file", "kb.txt", "get_kb_content", "--json", "{}"]), answer);
    assert!(world.ok(&["call", "get_kb_info", "--help"]).contains("Usage: ibid call get_kb_info"));
    world.fails(&["call", "get_kb_inf"], 2, "hint: did you mean `get_kb_info`?");
    world.fails(&["call", "get_kb_info", "--nope"], 2, "INVALID_INPUT: unexpected argument '--nope'");
    world.fails(&["tools", "--toolsets", "txt"], 2, "hint: did you mean `text`?");
    assert!(!world.ok(&["tools", "--exclude-tools", "get_kb_info"]).contains("get_kb_info"));
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let world = World::new();
    assert!(!world.ok(&["config", "show"]).contains('\u{1b}'));
    assert!(world.ok(&["config", "show", "--color", "always"]).contains('\u{1b}'));
    assert!(!world.ok(&["config", "show", "--color", "never"]).contains('\u{1b}'));
    let forced = World::new().set("CLICOLOR_FORCE", "1");
    assert!(forced.ok(&["config", "show"]).contains('\u{1b}'));
    let refused = World::new().set("CLICOLOR_FORCE", "1").set("NO_COLOR", "1");
    assert!(!refused.ok(&["config", "show"]).contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_is_nobodys_problem() {
    let world = World::new();
    let mut child = world.command(&["config", "show"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn the_home_folder_is_not_indexed_by_accident() {
    let world = World::new();
    let home = world.home();
    world.fails(
        &["-C", home.to_str().unwrap(), "search", "x"],
        2,
        "VAULT_NOT_CONFIGURED: no source folder is configured",
    );
}
