//! Entries are added without disturbing what is there.

use serde_json::{Value, json};

use super::{
    clients::{CLIENTS, Client, Entry, Target},
    edit::{Change, add, command_of},
    *,
};
use crate::config::{Config, env::Surroundings};

struct Home {
    folder: tempfile::TempDir,
    config: Config,
}

fn home() -> Home {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("vault")).unwrap();
    let surroundings = Surroundings {
        current_dir: root.join("vault"),
        config_home: Some(root.join(".config")),
        data_home: Some(root.join(".local")),
        executable: Some("/opt/ibid".into()),
        home: Some(root),
        ..Surroundings::default()
    };
    Home { folder, config: Config::load(surroundings, None, &[]).unwrap() }
}

fn parts(name: &str, scope: Scope) -> (Target, Entry, Home) {
    let home = home();
    let client: &Client = CLIENTS.iter().find(|client| client.name == name).unwrap();
    let target = client.target(scope, &home.config).unwrap();
    let entry = Entry::new(client, scope, &[], &home.config).unwrap();
    (target, entry, home)
}

fn added(before: &str, target: &Target, entry: &Entry) -> String {
    match add(before, target, "ibid", entry).unwrap() {
        Change::To(after) => after,
        Change::None => panic!("nothing to add to {before:?}"),
    }
}

#[test]
fn every_client_gets_an_entry_that_a_second_run_leaves_alone() {
    for client in CLIENTS {
        let (target, entry, home) = parts(client.name, Scope::User);
        let after = added("", &target, &entry);
        assert_eq!(add(&after, &target, "ibid", &entry).unwrap(), Change::None, "{}", client.name);
        assert_eq!(command_of(&after, &target).as_deref(), Some("/opt/ibid"), "{}", client.name);
        assert!(after.contains("\"-C\"") && after.contains("\"mcp\""), "{after}");
        assert!(target.file.starts_with(home.folder.path().canonicalize().unwrap()), "{}", client.name);
    }
}

#[test]
fn the_rest_of_a_json_file_keeps_its_order_and_indentation() {
    let (target, entry, _home) = parts("cursor", Scope::Project);
    let before = "{\n\t\"z\": 1,\n\t\"mcpServers\": {\n\t\t\"other\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n\t\"a\": [\n\t\ttrue\n\t]\n}";
    let after = added(before, &target, &entry);
    let mut value: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(
        value["mcpServers"].as_object_mut().unwrap().remove("ibid"),
        Some(json!({"type": "stdio", "command": "ibid", "args": ["-C", "${workspaceFolder}", "mcp"]}))
    );
    assert_eq!(value, serde_json::from_str::<Value>(before).unwrap());
    assert!(after.starts_with("{\n\t\"z\": 1,\n\t\"mcpServers\"") && !after.ends_with('\n'), "{after}");
}

#[test]
fn the_rest_of_a_toml_file_keeps_its_comments() {
    let (target, entry, _home) = parts("codex", Scope::User);
    let before = "# mine\nmodel = \"m\" # best\n\n[mcp_servers.other]\ncommand = \"x\"\n";
    let after = added(before, &target, &entry);
    assert!(after.starts_with(before), "{after}");
    assert!(after.contains("\n[mcp_servers.ibid]\ncommand = \"/opt/ibid\"\n"), "{after}");
}

#[test]
fn an_entry_of_ours_is_brought_up_to_date_and_keeps_what_was_added() {
    let (target, entry, _home) = parts("claude-code", Scope::User);
    let before = r#"{"mcpServers": {"ibid": {"command": "/old/ibid", "args": [], "env": {"A": "b"}}}}"#;
    let after: Value = serde_json::from_str(&added(before, &target, &entry)).unwrap();
    assert_eq!(after["mcpServers"]["ibid"]["command"], "/opt/ibid");
    assert_eq!(after["mcpServers"]["ibid"]["env"], json!({"A": "b"}));
}

#[test]
fn what_is_not_ours_or_not_readable_is_left_alone() {
    for (client, before) in [
        ("claude-code", r#"{"mcpServers": {"ibid": {"command": "other"}}}"#),
        ("claude-code", r#"{"mcpServers": {"ibid": {"url": "http://x"}}}"#),
        ("vscode", "{ // comment\n}"),
        ("vscode", "[]"),
        ("gemini", r#"{"mcpServers": 1}"#),
        ("codex", "= broken"),
        ("codex", "mcp_servers = 1\n"),
        ("codex", "[mcp_servers.ibid]\nurl = \"http://x\"\n"),
    ] {
        let (target, entry, _home) = parts(client, Scope::User);
        let error = add(before, &target, "ibid", &entry).unwrap_err();
        assert!(error.hint.is_some(), "{client}: {before}");
    }
}
