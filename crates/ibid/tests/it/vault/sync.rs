//! Git sync over HTTP, between repositories in temporary folders.

use std::{
    fs,
    io::Write as _,
    net::{Shutdown, TcpStream},
};

use serde_json::json;

use super::{Enveloped, Reply, Vault};
use crate::{
    git::{git, try_git},
    harness::PATIENCE,
};

/// A vault cloned from a bare repository, and somebody who pushes to it.
pub(super) fn cloned() -> Vault {
    let vault = Vault::empty();
    let folder = vault.folder();
    git(folder, &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
    git(folder, &["clone", "--quiet", "remote.git", "author"]);
    git(&folder.join("author"), &["checkout", "--quiet", "-B", "main"]);
    publish(&vault, "First.md", "# First\n\nThe first note speaks of quarries.\n");
    git(folder, &["clone", "--quiet", "remote.git", "vault"]);
    vault.index();
    vault
}

pub(super) fn publish(vault: &Vault, name: &str, text: &str) {
    let author = vault.folder().join("author");
    fs::write(author.join(name), text).unwrap();
    git(&author, &["add", "--all"]);
    git(&author, &["commit", "--quiet", "--message", "change"]);
    git(&author, &["push", "--quiet", "origin", "main"]);
}

#[test]
fn a_pull_brings_new_notes_into_the_index() {
    let vault = cloned().set("VAULT_AGENT_SYNC_BRANCH", "main");
    let server = vault.serve(&[]);
    let nothing = server.post("/sync/pull", &json!({})).data();
    assert_eq!((&nothing["status"], &nothing["changed"]), (&json!("no_op"), &json!(false)));
    publish(&vault, "Second.md", "# Second\n\nThe second note speaks of limestone.\n");
    let pulled = server.post("/sync/pull", &json!({"wait": true, "timeoutSeconds": 60})).data();
    assert_eq!((&pulled["status"], &pulled["changed"]), (&json!("completed"), &json!(true)));
    assert!(
        pulled["indexFreshness"].is_string()
            && pulled["startedAt"].is_string()
            && pulled["finishedAt"].is_string()
    );
    let found = server.post("/search", &json!({"query": "limestone", "mode": "lexical"})).data();
    assert_eq!(found["results"][0]["path"], "Second.md");
    let sync = server.get("/status").data()["sync"].clone();
    assert_eq!((&sync["configured"], &sync["consecutiveFailures"]), (&json!(true), &json!(0)));
    assert!(sync["lastSuccessfulSyncAt"].is_string());
}

#[test]
fn a_server_with_sync_enabled_pulls_by_itself() {
    let vault = cloned();
    publish(&vault, "Second.md", "# Second\n\nThe second note speaks of limestone.\n");
    let vault = vault.set("VAULT_AGENT_SYNC_ENABLED", "true");
    let server = vault.serve(&[]);
    let began = std::time::Instant::now();
    while server.get("/status").data()["sync"]["lastSuccessfulSyncAt"].is_null() {
        assert!(began.elapsed() < crate::harness::PATIENCE, "nothing was pulled");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let found = server.post("/search", &json!({"query": "limestone", "mode": "lexical"})).data();
    assert_eq!(found["results"][0]["path"], "Second.md");
    // What a server did, the command line knows, and the other way round.
    let told: serde_json::Value = serde_json::from_str(&vault.run(&["sync", "status", "--json"])).unwrap();
    assert_eq!(told["lastSuccessfulSyncAt"], server.get("/status").data()["sync"]["lastSuccessfulSyncAt"]);
}

#[test]
fn sync_is_off_unless_configured_and_failures_have_codes() {
    let vault = cloned();
    let server = vault.serve(&[]);
    assert_eq!(server.post("/sync/pull", &json!({})).refused(), (400, "SYNC_NOT_CONFIGURED".to_owned()));
    assert_eq!(server.get("/status").data()["sync"]["configured"], false);

    let vault = vault.set("VAULT_AGENT_SYNC_BRANCH", "main");
    let server = vault.serve(&[]);
    assert_eq!(
        server.post("/sync/pull", &json!({"force": 1})).refused(),
        (400, "INVALID_REQUEST".to_owned())
    );
    fs::write(vault.root().join("Untracked.md"), "mine").unwrap();
    assert_eq!(server.post("/sync/pull", &json!({})).refused(), (409, "SYNC_WORKTREE_DIRTY".to_owned()));
    let sync = server.get("/status").data()["sync"].clone();
    assert_eq!(
        (&sync["consecutiveFailures"], &sync["lastError"]),
        (&json!(1), &json!("SYNC_WORKTREE_DIRTY"))
    );
}

#[test]
fn a_webhook_needs_its_own_secret_and_not_the_key() {
    let vault = cloned().set("VAULT_AGENT_SYNC_BRANCH", "main");
    let hook = |server: &super::Server, secret: Option<&str>, body: &[u8]| {
        let header = secret.map(|secret| ("X-Vault-Agent-Webhook-Secret", secret));
        server.request("POST", "/sync/webhook", header.as_slice(), body)
    };
    let refused = hook(&vault.serve(&[]), Some("right"), b"").refused();
    assert_eq!(refused, (403, "WEBHOOK_DISABLED".to_owned()));

    let vault = vault.set("VAULT_AGENT_SYNC_WEBHOOK_ENABLED", "true");
    let refused = hook(&vault.serve(&[]), Some("right"), b"").refused();
    assert_eq!(refused, (503, "WEBHOOK_SECRET_NOT_CONFIGURED".to_owned()));

    let vault = vault.set("VAULT_AGENT_SYNC_WEBHOOK_SECRET", "right");
    let server = vault.serve(&["--api-key", "0123456789abcdef0123456789abcdef"]);
    for secret in [None, Some("wrong"), Some("0123456789abcdef0123456789abcdef")] {
        assert_eq!(hook(&server, secret, b"").refused(), (401, "WEBHOOK_SECRET_INVALID".to_owned()));
    }
    let accepted = hook(&server, Some("right"), b"{\"any\": \"thing\"}");
    assert_eq!((accepted.status, &accepted.json()["data"]), (202, &json!({"accepted": true})));
    let long = hook(&server, Some("right"), &vec![b'x'; 65 * 1024]);
    assert_eq!(long.refused(), (413, "WEBHOOK_BODY_TOO_LARGE".to_owned()));
    let refused = server.request("GET", "/sync/webhook", &[], b"").refused();
    assert_eq!(refused, (405, "WEBHOOK_INVALID_METHOD".to_owned()));
    let sync = server.with_key("0123456789abcdef0123456789abcdef").get("/status").data()["sync"].clone();
    assert_eq!(sync["pending"], true, "webhooks wait a minute for others");
}

#[test]
fn a_webhook_without_sync_is_told_so() {
    let vault = Vault::indexed()
        .set("VAULT_AGENT_SYNC_WEBHOOK_ENABLED", "true")
        .set("VAULT_AGENT_SYNC_WEBHOOK_SECRET", "right");
    let reply =
        vault.serve(&[]).request("POST", "/sync/webhook", &[("X-Vault-Agent-Webhook-Secret", "right")], b"");
    assert_eq!(reply.refused(), (409, "WEBHOOK_SYNC_NOT_CONFIGURED".to_owned()));
}

#[test]
fn too_many_webhooks_are_refused() {
    let vault = cloned()
        .set("VAULT_AGENT_SYNC_BRANCH", "main")
        .set("VAULT_AGENT_SYNC_WEBHOOK_ENABLED", "true")
        .set("VAULT_AGENT_SYNC_WEBHOOK_SECRET", "right");
    let server = vault.serve(&[]);
    let hook = || server.request("POST", "/sync/webhook", &[("X-Vault-Agent-Webhook-Secret", "right")], b"");
    assert!((0..60).all(|_| hook().status == 202));
    assert_eq!(hook().refused(), (429, "WEBHOOK_RATE_LIMITED".to_owned()));
}

#[test]
fn a_worktree_in_conflict_is_told_from_one_that_is_only_changed() {
    let vault = cloned().set("VAULT_AGENT_SYNC_BRANCH", "main");
    let server = vault.serve(&[]);
    let root = vault.root();
    git(&root, &["checkout", "--quiet", "-b", "mine"]);
    fs::write(root.join("First.md"), "# Mine").unwrap();
    git(&root, &["commit", "--quiet", "--all", "--message", "mine"]);
    git(&root, &["checkout", "--quiet", "main"]);
    fs::write(root.join("First.md"), "# Main").unwrap();
    git(&root, &["commit", "--quiet", "--all", "--message", "main"]);
    assert!(try_git(&root, &["merge", "--quiet", "mine"]).is_err());
    let reply = server.post("/sync/pull", &json!({}));
    assert_eq!(reply.refused(), (409, "SYNC_CONFLICT".to_owned()));
    assert!(reply.text().contains("git status"), "{}", reply.text());
    assert_eq!(server.get("/status").data()["sync"]["lastError"], "SYNC_CONFLICT");
    git(&root, &["merge", "--abort"]);
    assert_eq!(server.post("/sync/pull", &json!({})).status, 200);
}

#[test]
fn a_webhook_that_cannot_be_handled_has_a_code_of_its_own() {
    let vault = cloned()
        .set("VAULT_AGENT_SYNC_BRANCH", "main")
        .set("VAULT_AGENT_SYNC_WEBHOOK_ENABLED", "true")
        .set("VAULT_AGENT_SYNC_WEBHOOK_SECRET", "right");
    let server = vault.serve(&[]);
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = "POST /sync/webhook HTTP/1.1\r\nHost: localhost\r\nX-Vault-Agent-Webhook-Secret: right\r\n\
                   Connection: close\r\nTransfer-Encoding: chunked\r\n\r\nno length of a chunk\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(Reply::read(stream).refused(), (500, "WEBHOOK_UNKNOWN_ERROR".to_owned()));
    assert_eq!(server.get("/status").data()["sync"]["pending"], false);
}

#[test]
fn a_webhook_while_a_sync_runs_is_accepted_and_waits() {
    let vault = cloned()
        .set("VAULT_AGENT_SYNC_BRANCH", "main")
        .set("VAULT_AGENT_SYNC_WEBHOOK_ENABLED", "true")
        .set("VAULT_AGENT_SYNC_WEBHOOK_SECRET", "right");
    let server = vault.serve(&[]);
    assert_eq!(server.post("/sync/pull", &json!({})).status, 200);
    let lock = fs::File::open(vault.data_file("sync.lock")).unwrap();
    lock.lock().unwrap();
    let accepted = server.request("POST", "/sync/webhook", &[("X-Vault-Agent-Webhook-Secret", "right")], b"");
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let sync = server.get("/status").data()["sync"].clone();
    assert_eq!((&sync["running"], &sync["pending"]), (&json!(true), &json!(true)), "{sync}");
}
