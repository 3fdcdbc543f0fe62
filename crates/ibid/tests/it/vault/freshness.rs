//! How fresh answers are, and what still works when they cannot be.

use serde_json::{Value, json};

use super::{Enveloped, Vault, note_id};

fn codes(reply: &Value) -> Vec<&str> {
    reply["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[test]
fn without_an_index_the_server_starts_and_says_what_to_do() {
    let vault = Vault::new().set("IBID_READ_ONLY", "true");
    let mut client = vault.mcp();
    let id = note_id("Home.md");
    for (tool, arguments) in [
        ("search", json!({"query": "hens"})),
        ("get_chunk", json!({"note_id": id, "chunk_index": 0})),
        ("related", json!({"type": "note", "id": id})),
    ] {
        let error = client.call(tool, arguments).unwrap_err();
        assert_eq!(
            (&error["code"], &error["data"]["errorCode"]),
            (&json!(-32001), &json!("INDEX_NOT_FOUND")),
            "{tool}"
        );
        assert!(error["message"].as_str().unwrap().contains("index"), "{error}");
    }
    let reply = client.call("get_attachment", json!({"vault_relative_path": "images/plan.png"}));
    assert!(reply.is_ok(), "attachments need no index");
}

#[test]
fn every_answer_says_how_fresh_it_is() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let id = note_id("Home.md");
    let states = ["fresh", "pending", "updating", "stale", "unknown"];
    for (tool, arguments) in [
        ("search", json!({"query": "hens"})),
        ("get_note", json!({"note_id": id})),
        ("get_chunk", json!({"note_id": id, "chunk_index": 0})),
        ("related", json!({"type": "note", "id": id})),
    ] {
        let reply = client.call(tool, arguments).unwrap();
        let state = reply["freshness"].as_str().unwrap();
        assert!(states.contains(&state), "{tool}: {state}");
        let warns = codes(&reply).iter().any(|code| *code == format!("INDEX_{}", state.to_uppercase()));
        assert_eq!(warns, state != "fresh", "{tool}: {reply}");
    }
}

#[test]
fn an_incompatible_index_refuses_searches_and_chunks_but_not_notes() {
    let vault = Vault::indexed();
    // Other excludes make another index.
    let config = vault.folder().join("home/.config/ibid");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[vault]\nexclude = [\"Animals/\"]\n").unwrap();
    let (mut client, server) = (vault.mcp(), vault.serve(&[]));
    let id = note_id("Home.md");
    for (tool, arguments) in [
        ("search", json!({"query": "hens"})),
        ("get_chunk", json!({"note_id": id, "chunk_index": 0})),
        ("related", json!({"type": "note", "id": id})),
    ] {
        let error = client.call(tool, arguments).unwrap_err();
        assert_eq!(
            (&error["code"], &error["data"]["errorCode"]),
            (&json!(-32002), &json!("INDEX_INCOMPATIBLE")),
            "{tool}"
        );
    }
    let note = client.call("get_note", json!({"note_id": id})).unwrap();
    assert_eq!((&note["path"], &note["freshness"]), (&json!("Home.md"), &json!("incompatible")));
    let hidden = client.call("get_note", json!({"note_id": note_id("Animals/Poultry.MD")})).unwrap_err();
    assert_eq!(hidden["data"]["errorCode"], "NOTE_NOT_FOUND", "what is excluded now is not read");

    let refused = server.post("/search", &json!({"query": "hens"})).refused();
    assert_eq!(refused, (409, "INDEX_INCOMPATIBLE".to_owned()));
    let index = server.get("/status").data()["index"].clone();
    assert_eq!((&index["freshness"], &index["reindexRequired"]), (&json!("incompatible"), &json!(true)));
    assert!(!index["reindexReasons"].as_array().unwrap().is_empty());

    assert_eq!(server.post("/reindex", &json!({})).data()["mode"], "full");
    assert_eq!(server.post("/search", &json!({"query": "hens"})).status, 200);
}

#[test]
fn a_change_is_found_after_indexing_and_identifiers_follow_the_path() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    vault.write("Bees.md", "# Bees\n\nThe apiary has three hives of carnica bees beside the lavender.\n");
    std::fs::rename(vault.root().join("Home.md"), vault.root().join("House.md")).unwrap();
    vault.index();
    let reply = client.call("search", json!({"query": "apiary", "mode": "lexical"})).unwrap();
    assert_eq!(reply["results"][0]["path"], "Bees.md");
    let error = client.call("get_note", json!({"note_id": note_id("Home.md")})).unwrap_err();
    assert_eq!(error["data"]["errorCode"], "NOTE_NOT_FOUND");
    assert!(client.call("get_note", json!({"note_id": note_id("House.md")})).is_ok());
}
