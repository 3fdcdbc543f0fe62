//! What a server does by itself: failed updates are told until one succeeds, and events that lead out of the vault
//! are dropped.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Enveloped, Server, Vault};
use crate::harness::PATIENCE;

/// Waits until the status is as expected.
#[track_caller]
fn until(server: &Server, expected: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let status = server.get("/status").data();
        if expected(&status) {
            return status;
        }
        assert!(began.elapsed() < PATIENCE, "{status}\n{}", server.log());
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn watched() -> Vault {
    Vault::indexed()
        .set("VAULT_AGENT_EMBEDDING_ENABLED", "false")
        .set("VAULT_AGENT_WATCH_ENABLED", "true")
        .set("VAULT_AGENT_WATCH_DEBOUNCE_MS", "50")
        .set("VAULT_AGENT_WATCH_MAX_BATCH_DELAY_MS", "500")
}

fn running(status: &Value) -> bool {
    status["watch"]["state"] == "running"
}

/// Keeps every writer waiting, as another process would.
fn hold_write_lock(vault: &Vault) -> fs::File {
    let lock = fs::File::open(vault.data_file("write.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

fn found(server: &Server, query: &str) -> usize {
    let found = server.post("/search", &json!({"query": query, "mode": "lexical"})).data();
    found["results"].as_array().unwrap().len()
}

#[test]
fn an_update_that_another_writer_keeps_waiting_is_told_until_one_succeeds() {
    let vault = watched();
    let server = vault.serve(&[]);
    assert_eq!(until(&server, running)["index"]["lastError"], Value::Null);
    let held = hold_write_lock(&vault);
    vault.write("Barn.md", "# Barn\n\nThe tractor sleeps under the hayloft.\n");
    let status = until(&server, |status| {
        status["index"]["lastError"].is_object() && status["index"]["freshness"] == "stale"
    });
    let failure = &status["index"]["lastError"];
    assert_eq!(failure["code"], "INDEX_WRITER_BUSY", "{status}");
    assert!(failure["message"].as_str().is_some_and(|message| !message.is_empty()), "{status}");
    assert!(failure["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{status}");
    assert_eq!(failure.as_object().unwrap().len(), 3, "{status}");
    // Who asks for an update is told by the error of that request.
    assert_eq!(server.post("/index", &json!({})).refused(), (409, "INDEX_BUSY".to_owned()));
    // Another process knows of it as well.
    let told: Value = serde_json::from_str(&vault.run(&["status", "--json"])).unwrap();
    assert_eq!(told["index"]["lastError"]["code"], "INDEX_WRITER_BUSY", "{told}");
    assert!(vault.run(&["status"]).contains("INDEX_WRITER_BUSY"));
    held.unlock().unwrap();
    until(&server, |status| {
        status["index"]["lastError"].is_null() && status["index"]["freshness"] == "fresh"
    });
    assert_eq!(found(&server, "hayloft"), 1);
}

#[test]
fn an_update_after_a_sync_that_fails_is_told_until_one_succeeds() {
    let vault = super::sync::cloned()
        .set("VAULT_AGENT_EMBEDDING_ENABLED", "false")
        .set("VAULT_AGENT_SYNC_BRANCH", "main");
    vault.index();
    let server = vault.serve(&[]);
    super::sync::publish(&vault, "Second.md", "# Second\n\nThe second note speaks of limestone.\n");
    let held = hold_write_lock(&vault);
    let pulled = server.post("/sync/pull", &json!({})).data();
    assert_eq!((&pulled["changed"], &pulled["indexFreshness"]), (&json!(true), &json!("stale")), "{pulled}");
    let status = server.get("/status").data();
    assert_eq!(status["index"]["lastError"]["code"], "INDEX_WRITER_BUSY", "{status}");
    assert_eq!(status["sync"]["lastError"], Value::Null, "the sync itself did not fail");
    held.unlock().unwrap();
    // Any success will do.
    vault.index();
    assert_eq!(server.get("/status").data()["index"]["lastError"], Value::Null);
}

#[test]
fn an_update_without_its_folder_is_told_until_one_succeeds() {
    let vault = watched();
    let server = vault.serve(&[]);
    until(&server, running);
    let (root, away) = (vault.root(), vault.folder().join("away"));
    fs::rename(&root, &away).unwrap();
    let status = until(&server, |status| status["index"]["lastError"].is_object());
    assert_eq!(status["index"]["lastError"]["code"], "INDEX_UPDATE_FAILED", "{status}");
    let shown = status.to_string();
    assert!(!shown.contains(vault.folder().to_str().unwrap()), "{shown}");
    fs::rename(&away, &root).unwrap();
    assert_eq!(server.post("/index", &json!({})).status, 200);
    until(&server, |status| status["index"]["lastError"].is_null());
}

#[cfg(unix)]
#[test]
fn an_event_that_leads_out_of_the_vault_is_dropped_and_told_without_its_path() {
    use std::os::unix::fs::symlink;

    let vault = watched();
    fs::create_dir(vault.outside()).unwrap();
    let secret = vault.outside().join("marked-secret.md");
    fs::write(&secret, "# Elsewhere\n\nNobody finds the kestrel.\n").unwrap();
    let server = vault.serve(&[]);
    let status = until(&server, running);
    assert_eq!((&status["watch"]["lastError"], &status["watch"]["eventsOutside"]), (&Value::Null, &json!(0)));
    symlink(&secret, vault.root().join("Link.md")).unwrap();
    let status = until(&server, |status| status["watch"]["lastError"] == "WATCHER_PATH_OUTSIDE_VAULT");
    assert!(status["watch"]["eventsOutside"].as_u64() > Some(0) && running(&status), "{status}");
    let log = server.log();
    assert!(!format!("{status}{log}").contains("marked-secret"), "{status}\n{log}");
    // Everything else is followed as before.
    vault.write("Barn.md", "# Barn\n\nThe tractor sleeps under the hayloft.\n");
    until(&server, |_| found(&server, "hayloft") == 1);
    assert_eq!(found(&server, "kestrel"), 0);
    // What was indexed where there is such a link now is forgotten.
    fs::remove_file(vault.root().join("Barn.md")).unwrap();
    symlink(&secret, vault.root().join("Barn.md")).unwrap();
    until(&server, |_| found(&server, "hayloft") == 0);
    assert_eq!(found(&server, "kestrel"), 0);
}
