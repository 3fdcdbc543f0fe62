//! Every failure, with its code on each transport.

use serde_json::{Value, json};

use super::{Enveloped, Vault, note_id};

#[track_caller]
fn check_rpc(error: &Value, code: i64, name: &str) {
    assert_eq!((&error["code"], &error["data"]["errorCode"]), (&json!(code), &json!(name)), "{error}");
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
}

#[test]
fn every_refusal_over_mcp_has_its_code() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let id = note_id("Home.md");
    for (tool, arguments, code, name) in [
        ("search", json!({}), -32602, "INVALID_QUERY"),
        ("search", json!({"query": ["x"]}), -32602, "INVALID_QUERY"),
        ("search", json!({"query": "   "}), -32000, "INVALID_QUERY"),
        ("search", json!({"query": "x".repeat(1_001)}), -32000, "INVALID_QUERY"),
        ("search", json!({"query": "x", "mode": "semantic"}), -32000, "INVALID_MODE"),
        ("search", json!({"query": "x", "limit": 0}), -32000, "INVALID_LIMIT"),
        ("search", json!({"query": "x", "limit": 51}), -32000, "INVALID_LIMIT"),
        ("search", json!({"query": "x", "limit": "5"}), -32602, "INVALID_LIMIT"),
        ("get_note", json!({}), -32602, "INVALID_ID"),
        ("get_note", json!({"note_id": "../etc"}), -32000, "INVALID_ID"),
        ("get_note", json!({"note_id": "0".repeat(32)}), -32004, "NOTE_NOT_FOUND"),
        ("get_chunk", json!({"note_id": id, "chunk_index": 99}), -32005, "CHUNK_NOT_FOUND"),
        ("get_chunk", json!({"note_id": "0".repeat(32), "chunk_index": 0}), -32004, "NOTE_NOT_FOUND"),
        ("get_chunk", json!({"note_id": id}), -32602, "INVALID_PARAMETER"),
        ("get_attachment", json!({"vault_relative_path": "nowhere.png"}), -32006, "ATTACHMENT_NOT_FOUND"),
        ("get_attachment", json!({"vault_relative_path": "Home.md"}), -32009, "ATTACHMENT_NOT_ALLOWED"),
        ("get_attachment", json!({"vault_relative_path": "images"}), -32000, "INVALID_PATH"),
        ("get_attachment", json!({"vault_relative_path": "../x"}), -32000, "INVALID_PATH"),
        ("related", json!({"type": "vault", "id": id}), -32000, "INVALID_TYPE"),
        ("related", json!({"type": "note", "id": "x"}), -32000, "INVALID_ID"),
        ("related", json!({"type": "note", "id": "0".repeat(32)}), -32004, "NOTE_NOT_FOUND"),
        ("related", json!({"type": "chunk", "id": format!("{id}:99")}), -32005, "CHUNK_NOT_FOUND"),
    ] {
        check_rpc(&client.call(tool, arguments).unwrap_err(), code, name);
    }
}

#[test]
fn every_refusal_over_http_has_its_status() {
    let vault = Vault::indexed();
    let server = vault.serve(&[]);
    let id = note_id("Home.md");
    for (path, body, status, code) in [
        ("/search", json!({}), 400, "INVALID_QUERY"),
        ("/search", json!({"query": " "}), 400, "INVALID_QUERY"),
        ("/search", json!({"query": "x", "mode": "x"}), 400, "INVALID_MODE"),
        ("/search", json!({"query": "x", "limit": 51}), 400, "INVALID_LIMIT"),
        ("/related", json!({"type": "x", "id": id}), 400, "INVALID_TYPE"),
        ("/related", json!({"type": "note", "id": "x"}), 400, "INVALID_ID"),
        ("/related", json!({"type": "note", "id": "0".repeat(32)}), 404, "NOTE_NOT_FOUND"),
    ] {
        assert_eq!(server.post(path, &body).refused(), (status, code.to_owned()), "{path} {body}");
    }
    for (path, status, code) in [
        ("/notes/xyz".to_owned(), 400, "INVALID_ID"),
        (format!("/notes/{}", "0".repeat(32)), 404, "NOTE_NOT_FOUND"),
        (format!("/notes/{id}?allowLarge=maybe"), 400, "INVALID_PARAMETER"),
        (format!("/chunks/{id}/99"), 404, "CHUNK_NOT_FOUND"),
        (format!("/chunks/{id}/first"), 400, "INVALID_PARAMETER"),
        ("/attachments/nowhere.png".to_owned(), 404, "ATTACHMENT_NOT_FOUND"),
        ("/attachments/Home.md".to_owned(), 403, "ATTACHMENT_NOT_ALLOWED"),
        ("/attachments/images".to_owned(), 400, "INVALID_PATH"),
        ("/attachments/".to_owned(), 400, "INVALID_PATH"),
        ("/attachments/images/plan.png?download=perhaps".to_owned(), 400, "INVALID_PARAMETER"),
        ("/nothing".to_owned(), 404, "NOT_FOUND"),
    ] {
        assert_eq!(server.get(&path).refused(), (status, code.to_owned()), "{path}");
    }
    assert_eq!(server.get("/search").status, 405);
}

#[test]
fn bodies_must_be_json_objects_of_a_sane_size() {
    let vault = Vault::indexed();
    let server = vault.serve(&[]);
    let json = [("Content-Type", "application/json")];
    assert_eq!(
        server.request("POST", "/search", &json, b"[1]").refused(),
        (400, "INVALID_REQUEST".to_owned())
    );
    assert_eq!(
        server.request("POST", "/search", &json, b"{\"query").refused(),
        (400, "INVALID_REQUEST".to_owned())
    );
    assert_eq!(server.request("POST", "/search", &json, b"{\"query\": \"\xff\"}").status, 400);
    let long = format!("{{\"query\": \"{}\"}}", "x".repeat(65 * 1024));
    assert_eq!(server.request("POST", "/search", &json, long.as_bytes()).status, 413);
}

#[test]
fn an_unknown_tool_is_named_and_an_unknown_method_is_not_found() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let reply = client.request("tools/call", json!({"name": "get_notes", "arguments": {}}));
    assert_eq!(reply["error"]["code"], -32602);
    assert!(reply["error"]["message"].as_str().unwrap().contains("get_notes"));
    let reply = client.request("resources/list", json!({}));
    assert_eq!(reply["error"]["code"], -32601);
}

#[test]
fn unknown_parameters_are_ignored() {
    let vault = Vault::indexed();
    let arguments = json!({"query": "hens", "colour": "brown", "snippetLength": 7});
    assert!(vault.mcp().call("search", arguments.clone()).is_ok());
    assert_eq!(vault.serve(&[]).post("/search", &arguments).status, 200);
}
