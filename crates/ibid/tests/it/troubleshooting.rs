//! What the page on clients promises: snippets that start, and the messages that its troubleshooting part quotes.

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::{Value, json};

use crate::{
    cli_program::{World, repository},
    harness::Pipes,
    vault::{Server, Stdio, Vault, client},
};

fn page() -> String {
    fs::read_to_string(repository().join("docs/clients.md")).unwrap()
}

/// The lines quoted in the section of this title.
fn quoted(title: &str) -> BTreeSet<String> {
    let page = page();
    let start = page.find(&format!("\n### {title}\n")).unwrap_or_else(|| panic!("no section {title}"));
    let section = page[start + 4..].split("\n### ").next().unwrap();
    let blocks = section.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Code and message of a JSON-RPC error, without what to do next.
fn told(error: &Value, hint_begins: &str) -> String {
    let code = error["data"]["errorCode"].as_str().unwrap();
    let message = error["message"].as_str().unwrap();
    format!("{code}: {}", message.split(hint_begins).next().unwrap())
}

fn search(client: &mut Stdio) -> Value {
    client.call("search", json!({"query": "hens"})).unwrap_err()
}

#[test]
fn vault_not_configured() {
    let world = World::new();
    let mut at_home = world.command(&["mcp"]);
    at_home.current_dir(world.home());
    let first = search(&mut Stdio::start(at_home));
    let gone = world.command(&["mcp", "--vault-root", "/nowhere/notes"]);
    let second = search(&mut Stdio::start(gone));
    let said = BTreeSet::from([told(&first, "; "), told(&second, "; ")]);
    assert_eq!(said, quoted("Vault not configured"));
}

#[test]
fn index_not_available() {
    let vault = Vault::new();
    let first = search(&mut vault.mcp());
    vault.index();
    let vault = vault.set("IBID_INDEX_CHUNK_TARGET", "1000");
    let second = search(&mut vault.mcp());
    let said = BTreeSet::from([told(&first, "; "), told(&second, "; ")]);
    assert_eq!(said, quoted("Index not available"));
}

#[test]
fn mcp_not_enabled() {
    let vault = Vault::new();
    let server = vault.serve(&[]);
    for path in ["/mcp", "/mcp/vault"] {
        let reply = server.post(path, &json!({}));
        assert_eq!(reply.status, 404);
        let error = &reply.json()["error"];
        let message = error["message"].as_str().unwrap().split("; ").next().unwrap().to_owned();
        let said = format!("{}: {message}", error["code"].as_str().unwrap());
        assert_eq!(BTreeSet::from([said]), quoted("MCP not enabled"));
    }
    assert_eq!(server.get("/mcp").status, 404);
}

#[test]
fn authentication_failed() {
    let vault = Vault::indexed();
    let key = "0123456789abcdef0123456789abcdef";
    let server = vault.serve(&["--mcp-enabled", "--api-key", key]);
    let ask = |server: &Server, path: &str, key: Option<&str>| {
        let header = key.map(|key| format!("Bearer {key}"));
        let headers: Vec<_> = header.iter().map(|header| ("Authorization", header.as_str())).collect();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client::initialize("2025-06-18")});
        let reply = server.request("POST", path, &headers, body.to_string().as_bytes());
        (reply.status, reply.json()["error"].clone())
    };
    let (status, missing) = ask(&server, "/mcp", None);
    assert_eq!(status, 401);
    let (status, wrong) = ask(&server, "/mcp", Some("another"));
    assert_eq!(status, 403);
    let (status, plain) = ask(&server, "/search", None);
    assert_eq!(status, 401);
    let plain = format!("{}: {}", plain["code"].as_str().unwrap(), plain["message"].as_str().unwrap());
    let said = BTreeSet::from([told(&missing, "\n"), told(&wrong, "\n"), plain]);
    assert_eq!(said, quoted("Authentication failed"));
}

/// The program and its arguments in what is written for a client.
fn command_in(written: &str) -> (String, Vec<String>) {
    let value: Value = serde_json::from_str(written)
        .unwrap_or_else(|_| serde_json::to_value(toml::from_str::<toml::Table>(written).unwrap()).unwrap());
    let mut waiting = vec![&value];
    while let Some(next) = waiting.pop() {
        if let (Some(command), Some(arguments)) = (next["command"].as_str(), next["args"].as_array()) {
            let arguments = arguments.iter().map(|argument| argument.as_str().unwrap().to_owned());
            return (command.to_owned(), arguments.collect());
        }
        waiting.extend(next.as_object().into_iter().flat_map(|fields| fields.values()));
    }
    panic!("no command in {written}")
}

#[test]
fn what_is_written_for_every_client_starts_and_lists_tools() {
    for client in ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini"] {
        let world = World::with(&[("hens.md", "# Hens\n\nSix of them.\n")]);
        let written = world.ok(&["install-client", client, "--dry-run"]);
        let (program, arguments) = command_in(&written);
        let folder = world.vault().to_str().unwrap().to_owned();
        let arguments = arguments.iter().map(|argument| argument.replace("${workspaceFolder}", &folder));
        let mut command = Command::new(program);
        // A client starts it anywhere, with next to nothing in its environment.
        command.args(arguments).current_dir("/").env_clear().env("HOME", world.home());
        let mut pipes = Pipes::of(command);
        assert!(pipes.initialize("2025-06-18")["result"].is_object(), "{client}");
        pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let listed = pipes.request("tools/list", json!({}));
        let names: Vec<_> =
            listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert!(
            names.contains(&&json!("search")) && names.contains(&&json!("get_kb_info")),
            "{client}: {names:?}"
        );
    }
}
