//! Every tool of the vault gives the same JSON over every surface.

use serde_json::{Value, json};

use super::{Enveloped, Vault, note_id};

/// Calls of every tool, with the request of the HTTP interface that means the same.
fn calls() -> Vec<(&'static str, Value, &'static str, String)> {
    let (home, plan) = (note_id("Home.md"), note_id("Projects/Garden plan.md"));
    vec![
        ("search", json!({"query": "hens", "limit": 3}), "POST", "/search".to_owned()),
        ("search", json!({"query": "garden beds", "mode": "lexical"}), "POST", "/search".to_owned()),
        ("related", json!({"type": "note", "id": home}), "POST", "/related".to_owned()),
        (
            "related",
            json!({"type": "chunk", "id": format!("{plan}:1"), "limit": 2}),
            "POST",
            "/related".to_owned(),
        ),
        ("get_note", json!({"note_id": home}), "GET", format!("/notes/{home}")),
        (
            "get_note",
            json!({"note_id": plan, "allow_large": true}),
            "GET",
            format!("/notes/{plan}?allowLarge=true"),
        ),
        ("get_chunk", json!({"note_id": home, "chunk_index": 1}), "GET", format!("/chunks/{home}/1")),
        (
            "get_attachment",
            json!({"vault_relative_path": "images/my photo.jpg"}),
            "GET",
            "/attachments/images/my%20photo.jpg".to_owned(),
        ),
    ]
}

/// What makes the tools answer: the examples of the specification with identifiers that exist.
#[test]
fn every_tool_gives_the_same_json_everywhere() {
    let vault = Vault::indexed();
    let mut stdio = vault.mcp();
    let server = vault.serve(&["--mcp-enabled"]);
    let mut session = server.session("/mcp");
    let mut compared = std::collections::BTreeSet::new();
    for (tool, arguments, method, path) in calls() {
        let expected = stdio.call(tool, arguments.clone()).unwrap();
        let over_session = super::client::outcome(session.call(tool, &arguments)).unwrap();
        assert_eq!(over_session, expected, "{tool} in a session");
        let modern = super::client::outcome(server.modern_call("/mcp", tool, arguments.clone())).unwrap();
        assert_eq!(modern, expected, "{tool} without a session");
        let own = super::client::outcome(server.modern_call("/mcp/vault", tool, arguments.clone())).unwrap();
        assert_eq!(own, expected, "{tool} at the path of its toolset");

        let printed = vault.run(&["call", tool, "--json", &arguments.to_string()]);
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), expected, "{tool} on the command line");

        let reply = if method == "POST" { server.post(&path, &arguments) } else { server.get(&path) };
        let mut data = reply.data();
        let warnings = reply.json()["warnings"].clone();
        assert_eq!(warnings, expected["warnings"], "{tool} over HTTP");
        data["warnings"] = warnings;
        assert_eq!(data, expected, "{tool} over HTTP");
        compared.insert(tool);
    }
    let listed = vault.run(&["tools", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    for tool in listed["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(compared.contains(name), "{name} is not compared");
    }
}

/// The identifiers in published examples name no note; every surface says so in the same words.
#[test]
fn every_published_example_gives_the_same_answer_everywhere() {
    let vault = Vault::indexed();
    let mut stdio = vault.mcp();
    let server = vault.serve(&["--mcp-enabled"]);
    let engine = std::sync::Arc::new(ibid::absent::AbsentEngine::new(ibid_tools::vault::not_configured()));
    let table = ibid_tools::ToolTable::new([ibid_tools::vault::toolset(engine)]).unwrap();
    let mut compared = 0;
    for tool in table.tools() {
        for example in tool.spec.examples {
            let name = tool.spec.name;
            let arguments: Value = serde_json::from_str(example).unwrap();
            let local = stdio.call(name, arguments.clone());
            let remote = super::client::outcome(server.modern_call("/mcp", name, arguments));
            assert_eq!(local, remote, "{name} {example}");
            let ran = vault.command(&["call", name, "--json", example]).output().unwrap();
            match local {
                Ok(expected) => {
                    assert_eq!(
                        serde_json::from_slice::<Value>(&ran.stdout).unwrap(),
                        expected,
                        "{name} {example}"
                    );
                }
                Err(error) => {
                    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
                    let code = error["data"]["errorCode"].as_str().unwrap();
                    assert!(told.starts_with(&format!("{code}: ")), "{name} {example}: {told}");
                }
            }
            compared += 1;
        }
    }
    assert!(compared >= 5, "every tool has an example");
}
