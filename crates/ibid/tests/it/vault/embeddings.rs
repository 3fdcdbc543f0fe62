//! Embeddings that do not fit the configured model: what is told, what answers, and what heals it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Enveloped, Reply, Server, Vault, note_id};
use crate::{
    endpoint::{Endpoint, Manner},
    harness::PATIENCE,
};

fn with_endpoint(vault: Vault, endpoint: &Endpoint) -> Vault {
    vault
        .set("VAULT_AGENT_EMBEDDING_ENABLED", "true")
        .set("VAULT_AGENT_EMBEDDING_ENDPOINT", &endpoint.url())
        .set("VAULT_AGENT_EMBEDDING_MODEL", "test")
}

/// Waits until embeddings are in this state.
#[track_caller]
fn until(server: &Server, state: &str) -> Reply {
    let began = Instant::now();
    loop {
        let reply = server.get("/status");
        if reply.data()["index"]["embeddingState"] == state {
            return reply;
        }
        assert!(began.elapsed() < PATIENCE, "{}\n{}", reply.text(), server.log());
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Codes of the warnings about embeddings.
fn codes(reply: &Reply) -> Vec<String> {
    let warnings = reply.json()["warnings"].as_array().unwrap().clone();
    let codes = warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned());
    codes.filter(|code| code.contains("EMBEDDING")).collect()
}

fn search(server: &Server, query: &str) -> Reply {
    server.post("/search", &json!({"query": query}))
}

#[test]
fn while_the_model_before_answers_every_answer_says_so() {
    let endpoint = Endpoint::start(Manner::Vectors(24));
    endpoint.pause_after(Some(0));
    let vault = with_endpoint(Vault::indexed(), &endpoint);
    let server = vault.serve(&[]);
    let stale = ["INDEX_EMBEDDINGS_STALE"];
    let status = until(&server, "stale");
    assert_eq!(codes(&status), stale, "{}", status.text());
    assert_eq!(status.data()["index"]["reindexReasons"], json!([]), "a rebuild is not what it needs");
    let related = json!({"type": "note", "id": note_id("Home.md")});
    for reply in [search(&server, "tomatoes"), server.post("/related", &related)] {
        assert_eq!(codes(&reply), stale, "{}", reply.text());
        assert_ne!(reply.data()["usedMode"], "lexical", "the model before answers");
    }
    let words = server.post("/search", &json!({"query": "tomatoes", "mode": "lexical"}));
    assert_eq!(codes(&words), [] as [&str; 0]);
    let mut client = vault.mcp();
    let told = client.call("search", json!({"query": "tomatoes"})).unwrap();
    assert!(told["warnings"].to_string().contains("INDEX_EMBEDDINGS_STALE"), "{told}");
    endpoint.pause_after(None);
    assert_eq!(codes(&until(&server, "ready")), [] as [&str; 0]);
    assert_eq!(codes(&search(&server, "tomatoes")), [] as [&str; 0]);
}

#[test]
fn a_model_that_gives_other_vectors_by_its_name_is_told_and_a_rebuild_heals_it() {
    let endpoint = Endpoint::start(Manner::Vectors(24));
    let vault = with_endpoint(Vault::new(), &endpoint);
    vault.index();
    let server = vault.serve(&[]);
    until(&server, "ready");
    assert_eq!(search(&server, "tomatoes").data()["usedMode"], "hybrid");

    endpoint.behave(Manner::Vectors(16));
    let reply = search(&server, "irrigation");
    assert_eq!(codes(&reply), ["INDEX_EMBEDDING_DIMENSION_MISMATCH", "EMBEDDING_UNAVAILABLE"]);
    assert_eq!(reply.data()["usedMode"], "lexical");
    assert_eq!(reply.data()["results"][0]["path"], "Projects/Garden plan.md", "{}", reply.text());
    let meaning = server.post("/search", &json!({"query": "compost heap", "mode": "embedding"}));
    assert_eq!(meaning.refused(), (503, "EMBEDDING_UNAVAILABLE".to_owned()));
    let told = |status: &Value| {
        assert_eq!(status["index"]["embeddingState"], "incompatible", "{status}");
        assert_eq!(
            status["index"]["reindexReasons"],
            json!(["INDEX_EMBEDDING_DIMENSION_MISMATCH"]),
            "{status}"
        );
        assert_ne!(status["index"]["freshness"], "incompatible", "words answer");
    };
    let status = server.get("/status").data();
    told(&status);
    assert_eq!(status["index"]["reindexRequired"], true);
    told(&serde_json::from_str(&vault.run(&["status", "--json"])).unwrap());

    // The model before comes back: nothing has to be done.
    endpoint.behave(Manner::Vectors(24));
    assert_eq!(codes(&search(&server, "fox and fence")), [] as [&str; 0]);
    until(&server, "ready");

    endpoint.behave(Manner::Vectors(16));
    assert_eq!(search(&server, "rain barrel").data()["usedMode"], "lexical");
    assert_eq!(server.post("/index", &json!({})).status, 200);
    told(&server.get("/status").data());
    assert_eq!(server.post("/reindex", &json!({})).status, 200);
    let status = until(&server, "ready").data();
    assert_eq!(status["index"]["reindexReasons"], json!([]), "{status}");
    let reply = search(&server, "kitchen scraps");
    assert_eq!((codes(&reply).len(), &reply.data()["usedMode"]), (0, &json!("hybrid")), "{}", reply.text());
}

#[test]
fn a_server_that_may_not_write_tells_of_other_vectors_too() {
    let endpoint = Endpoint::start(Manner::Vectors(24));
    let vault = with_endpoint(Vault::new(), &endpoint);
    vault.index();
    let vault = vault.set("IBID_READ_ONLY", "true");
    let server = vault.serve(&[]);
    endpoint.behave(Manner::Vectors(16));
    let reply = search(&server, "rain barrel");
    assert_eq!(codes(&reply), ["INDEX_EMBEDDING_DIMENSION_MISMATCH", "EMBEDDING_UNAVAILABLE"]);
    until(&server, "incompatible");
    endpoint.behave(Manner::Vectors(24));
    assert_eq!(search(&server, "kitchen scraps").data()["usedMode"], "hybrid");
    until(&server, "ready");
}

#[test]
fn a_rebuild_by_another_process_heals_a_running_server_too() {
    let endpoint = Endpoint::start(Manner::Vectors(24));
    let vault = with_endpoint(Vault::new(), &endpoint);
    vault.index();
    let server = vault.serve(&[]);
    until(&server, "ready");
    endpoint.behave(Manner::Vectors(16));
    assert_eq!(search(&server, "rain barrel").data()["usedMode"], "lexical");
    vault.run(&["reindex"]);
    until(&server, "ready");
    let reply = search(&server, "kitchen scraps");
    assert_eq!((codes(&reply).len(), &reply.data()["usedMode"]), (0, &json!("hybrid")), "{}", reply.text());
}
