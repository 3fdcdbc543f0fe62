//! `ibid init`, `ibid install-client` and `ibid bundle`, through the real program.

use std::fs;

use serde_json::Value;

use crate::cli_program::World;

#[test]
fn init_writes_a_file_that_the_program_reads() {
    let world = World::with(&[(".obsidian/app.json", "{}"), ("a.md", "# A\n")]);
    let out = world.ok(&["init"]);
    assert!(out.contains("an Obsidian vault with 1 document"), "{out}");
    let shown = world.ok(&["config", "show", "--origin"]);
    assert!(shown.contains("sources = [{") && shown.contains("# project file "), "{shown}");
    world.fails(&["init"], 2, "there is an `ibid.toml` in this folder already");
    world.ok(&["init", "--force"]);
}

#[test]
fn a_client_is_registered_once_and_the_rest_of_its_file_stays() {
    let world = World::new();
    let file = world.home().join(".claude.json");
    fs::write(&file, "{\n  \"numStartups\": 3,\n  \"mcpServers\": {},\n  \"z\": null\n}\n").unwrap();
    let dry = world.ok(&["install-client", "claude-code", "--dry-run"]);
    assert!(dry.contains("\"mcpServers\"") && dry.contains("\"mcp\""), "{dry}");
    assert!(!fs::read_to_string(&file).unwrap().contains("ibid"), "a dry run writes nothing");
    world.ok(&["install-client", "claude-code"]);
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let entry = &written["mcpServers"]["ibid"];
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_ibid"));
    assert_eq!(entry["args"][1], world.vault().canonicalize().unwrap().to_str().unwrap());
    assert_eq!((&written["numStartups"], &written["z"]), (&Value::from(3), &Value::Null));
    assert!(world.home().join(".claude.json.ibid-backup").exists());
    assert!(world.ok(&["install-client", "claude-code"]).contains("already there"));
    let again: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(again, written);
}

#[test]
fn a_project_registration_names_no_folder_of_this_machine() {
    let world = World::new();
    for (client, file) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
    ] {
        world.ok(&["install-client", client, "--scope", "project", "--", "--read-only"]);
        let text = fs::read_to_string(world.vault().join(file)).unwrap();
        assert!(text.contains("--read-only"), "{text}");
        assert!(!text.contains(world.home().parent().unwrap().to_str().unwrap()), "{text}");
    }
    world.fails(
        &["install-client", "claude-desktop", "--scope", "project"],
        2,
        "has no project configuration",
    );
    world.fails(&["install-client", "emacs"], 2, "claude-code");
}

#[test]
fn a_bundle_holds_the_program_and_its_manifest() {
    let world = World::new();
    let out = world.ok(&["bundle", "--output", "made", "--url", "https://example.org/r"]);
    let bundle = out.lines().find(|line| !line.contains("server.json")).unwrap();
    let bytes = fs::read(world.vault().join(bundle)).unwrap();
    assert!(bytes.starts_with(b"PK\x03\x04"));
    let program = fs::metadata(env!("CARGO_BIN_EXE_ibid")).unwrap().len();
    assert!(bytes.len() as u64 > program);
    let server: Value =
        serde_json::from_slice(&fs::read(world.vault().join("made/server.json")).unwrap()).unwrap();
    let package = &server["packages"][0];
    assert!(package["identifier"].as_str().unwrap().starts_with("https://example.org/r/v"), "{server}");
    assert_eq!(package["fileSha256"].as_str().unwrap().len(), 64);
}
