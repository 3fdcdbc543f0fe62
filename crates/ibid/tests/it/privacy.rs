//! Nothing private leaves by an error or a log line: marks are planted, everything is exercised, and all
//! that was written is searched for them.

use serde_json::{Value, json};

use crate::vault::{Stdio, Vault, note_id};

/// Stands in the folder's name.
const FOLDER: &str = "zq-folder-mark";
/// Stands in the text of a note.
const CONTENT: &str = "zqcontentmark";
/// Stands in a frontmatter field that is not shown.
const FIELD: &str = "zqfieldmark";
/// Stands in every query.
const QUERY: &str = "zqquerymark";
/// Stands in names of files.
const NAME: &str = "zqnamemark";
/// Stands in bytes of an attachment.
const BYTES: &str = "zqbytesmark";
/// Is the key.
const KEY: &str = "zqkeymark-0123456789abcdef0123456789";
/// Is the secret of the webhook.
const SECRET: &str = "zqsecretmark";

const NEVER_IN_ERRORS_OR_LOGS: [&str; 8] = [FOLDER, CONTENT, FIELD, QUERY, NAME, BYTES, KEY, SECRET];

fn planted() -> Vault {
    let vault = Vault::new();
    let root = vault.root().join(FOLDER);
    std::fs::create_dir(&root).unwrap();
    let vault = vault.set("VAULT_AGENT_VAULT_ROOT", root.to_str().unwrap());
    let inside = |path: &str| format!("{FOLDER}/{path}");
    let note = format!(
        "---\ntitle: Marked\nsecret: {FIELD}\n---\n# Marked\n\nText with {CONTENT} in it, and more words.\n"
    );
    vault.write(&inside(&format!("{NAME}.md")), &note);
    vault.write(&inside("Broken.md"), &format!("---\ntitle: [{FIELD}\n---\nBroken {CONTENT}\n"));
    vault.write_bytes(&inside("Binary.md"), format!("\0{CONTENT}").as_bytes());
    vault.write_bytes(&inside("Latin.md"), b"caf\xe9 \x81\x8d zqcontentmark");
    vault.write(&inside("Long.md"), &format!("{CONTENT} ").repeat(20_000));
    vault.write(&inside("Vast.md"), &format!("{CONTENT} ").repeat(160_000));
    vault.write_bytes(&inside(&format!("{NAME}.png")), BYTES.as_bytes());
    vault.write_sparse(&inside(&format!("{NAME}.bin")), 60 << 20);
    vault.write(&inside(&format!(".{NAME}/hidden.png")), BYTES);
    std::os::unix::fs::symlink("/etc/passwd", vault.root().join(inside("outward.png"))).unwrap();
    vault
}

/// Calls that fail, each with a mark where the caller can put one.
fn failing() -> Vec<(&'static str, Value)> {
    let id = note_id(&format!("{NAME}.md"));
    vec![
        ("search", json!({"query": format!("{QUERY} ").repeat(200)})),
        ("search", json!({"query": [QUERY]})),
        ("search", json!({"query": QUERY, "mode": QUERY})),
        ("search", json!({"query": QUERY, "limit": QUERY})),
        ("search", json!({"query": QUERY, "limit": 0})),
        ("search", json!({"query": {"text": QUERY}})),
        ("get_note", json!({"note_id": NAME})),
        ("get_note", json!({"note_id": [NAME]})),
        ("get_note", json!({"note_id": "0".repeat(32)})),
        ("get_note", json!({"note_id": note_id("Long.md")})),
        ("get_chunk", json!({"note_id": NAME, "chunk_index": 0})),
        ("get_chunk", json!({"note_id": id, "chunk_index": NAME})),
        ("get_chunk", json!({"note_id": id, "chunk_index": 99})),
        ("get_attachment", json!({"vault_relative_path": format!("../{NAME}")})),
        ("get_attachment", json!({"vault_relative_path": format!("missing-{NAME}.png")})),
        ("get_attachment", json!({"vault_relative_path": format!("{NAME}.md")})),
        ("get_attachment", json!({"vault_relative_path": format!(".{NAME}/hidden.png")})),
        ("get_attachment", json!({"vault_relative_path": "outward.png", "download": true})),
        ("get_attachment", json!({"vault_relative_path": format!("{NAME}.bin"), "download": true})),
        (
            "get_attachment",
            json!({"vault_relative_path": format!("{NAME}.bin"), "download": true, "allow_large": true}),
        ),
        ("get_attachment", json!({"vault_relative_path": format!("{NAME}.png/x")})),
        ("related", json!({"type": NAME, "id": id})),
        ("related", json!({"type": "note", "id": NAME})),
        ("related", json!({"type": "chunk", "id": format!("{id}:{NAME}")})),
        ("related", json!({"type": "chunk", "id": format!("{id}:99")})),
    ]
}

/// Calls that succeed.
fn succeeding() -> Vec<(&'static str, Value)> {
    let id = note_id(&format!("{NAME}.md"));
    vec![
        ("search", json!({"query": format!("{QUERY} {CONTENT}")})),
        ("search", json!({"query": format!("\"{QUERY}\" -{QUERY} path:{QUERY}"), "mode": "lexical"})),
        ("get_note", json!({"note_id": id})),
        ("get_chunk", json!({"note_id": id, "chunk_index": 0})),
        ("get_attachment", json!({"vault_relative_path": format!("{NAME}.png"), "download": true})),
        ("related", json!({"type": "note", "id": id})),
    ]
}

#[track_caller]
fn check(what: &str, text: &str, folder: &str) {
    for mark in NEVER_IN_ERRORS_OR_LOGS.into_iter().chain([folder]) {
        if let Some(at) = text.find(mark) {
            let around = text.get(at.saturating_sub(200)..(at + 200).min(text.len())).unwrap_or(text);
            panic!("{what} holds {mark}: …{around}…");
        }
    }
}

fn folder_of(vault: &Vault) -> String {
    vault.folder().to_str().unwrap().to_owned()
}

fn exercise(client: &mut Stdio, folder: &str) {
    for (tool, arguments) in failing() {
        let error = match client.call(tool, arguments.clone()) {
            Ok(reply) => panic!("{tool} {arguments} succeeded: {reply}"),
            Err(error) => error,
        };
        check(&format!("the error of {tool} {arguments}"), &error.to_string(), folder);
    }
    for (tool, arguments) in succeeding() {
        let reply = client.call(tool, arguments).unwrap();
        assert!(!reply.to_string().contains(folder), "{tool} shows where the vault is");
        assert!(!reply.to_string().contains(QUERY), "{tool} echoes the query");
    }
}

#[test]
fn errors_and_logs_over_stdio_hold_nothing_private() {
    let vault = planted().set("VAULT_AGENT_LOG_LEVEL", "debug");
    let folder = folder_of(&vault);
    let indexed = vault.command(&["index"]).output().unwrap();
    assert!(indexed.status.success(), "{}", String::from_utf8_lossy(&indexed.stderr));
    let mut client = vault.mcp();
    exercise(&mut client, &folder);
    client.send(&json!({"jsonrpc": "2.0", "id": 9_000, "method": format!("tools/{QUERY}"), "params": {"query": QUERY}}));
    client.send(&json!({"not": "a message", "query": QUERY}));
    let ended = client.finish();
    check("stderr of the server", &ended.err, &folder);
}

#[test]
fn errors_without_an_index_or_a_vault_hold_nothing_private() {
    let vault = planted().set("VAULT_AGENT_LOG_LEVEL", "debug").set("IBID_READ_ONLY", "true");
    let folder = folder_of(&vault);
    let mut client = vault.mcp();
    for (tool, arguments) in failing().into_iter().chain(succeeding()) {
        if let Err(error) = client.call(tool, arguments) {
            check(&format!("the error of {tool}"), &error.to_string(), &folder);
        }
    }
    check("stderr", &client.finish().err, &folder);

    let missing = format!("{folder}/{FOLDER}-gone");
    let vault = vault.set("VAULT_AGENT_VAULT_ROOT", &missing);
    let mut client = vault.mcp();
    for (tool, arguments) in succeeding() {
        let error = client.call(tool, arguments).unwrap_err();
        assert_eq!(error["data"]["errorCode"], "VAULT_NOT_CONFIGURED");
        check(&format!("the error of {tool}"), &error.to_string(), &folder);
    }
    check("stderr", &client.finish().err, &folder);
}

#[test]
fn errors_and_logs_over_http_hold_nothing_private() {
    let vault = planted()
        .set("VAULT_AGENT_LOG_LEVEL", "debug")
        .set("VAULT_AGENT_SYNC_BRANCH", "main")
        .set("VAULT_AGENT_SYNC_WEBHOOK_ENABLED", "true")
        .set("VAULT_AGENT_SYNC_WEBHOOK_SECRET", SECRET);
    let folder = folder_of(&vault);
    vault.index();
    let server = vault.serve(&["--mcp-enabled", "--api-key", KEY]).with_key(KEY);
    let id = note_id(&format!("{NAME}.md"));
    let mut replies = Vec::new();
    for path in [
        format!("/notes/{NAME}"),
        format!("/notes/{}", "0".repeat(32)),
        format!("/notes/{}", note_id("Long.md")),
        format!("/notes/{id}?allowLarge={QUERY}"),
        format!("/chunks/{id}/{NAME}"),
        format!("/chunks/{id}/99"),
        format!("/attachments/missing-{NAME}.png"),
        format!("/attachments/{NAME}.md"),
        format!("/attachments/..%2f{NAME}"),
        format!("/attachments/{NAME}.bin?download=true"),
        format!("/attachments/{NAME}.png?download={QUERY}"),
        "/attachments/outward.png?download=true".to_owned(),
        format!("/{QUERY}"),
    ] {
        replies.push((path.clone(), server.get(&path)));
    }
    for (path, body) in [
        ("/search", json!({"query": QUERY, "mode": QUERY})),
        ("/search", json!({"query": [QUERY]})),
        ("/related", json!({"type": QUERY, "id": QUERY})),
        ("/index", json!({QUERY: QUERY})),
        ("/reindex", json!({"requireEmbeddings": QUERY})),
        ("/sync/pull", json!({QUERY: 1})),
        ("/sync/pull", json!({})),
    ] {
        replies.push((format!("{path} {body}"), server.post(path, &body)));
    }
    let json = [("Content-Type", "application/json")];
    replies.push((
        "broken JSON".to_owned(),
        server.request("POST", "/search", &json, format!("{{\"{QUERY}").as_bytes()),
    ));
    let wrong = [("X-Vault-Agent-Webhook-Secret", "wrong")];
    replies.push(("webhook".to_owned(), server.request("POST", "/sync/webhook", &wrong, QUERY.as_bytes())));
    for (what, reply) in &replies {
        assert!(reply.status >= 400, "{what}: {}", reply.status);
        check(what, &String::from_utf8_lossy(&reply.body), &folder);
    }
    for path in ["/health", "/status"] {
        check(path, &String::from_utf8_lossy(&server.get(path).body), &folder);
    }
    assert_eq!(server.post("/search", &json!({"query": format!("{QUERY} {CONTENT}")})).status, 200);
    assert_eq!(server.post("/index", &json!({})).status, 200);
    assert_eq!(server.post("/reindex", &json!({})).status, 200);
    let unauthorised =
        server.request("GET", "/health", &[("Authorization", &format!("Bearer {QUERY}"))], b"");
    check("unauthorised", &String::from_utf8_lossy(&unauthorised.body), &folder);
    check("the log of the server", &server.stop(), &folder);
}
