//! Routes that are no tools: health, status, indexing; and the envelope of all.

use serde_json::{Value, json};

use super::{Enveloped, Vault};

#[test]
fn health_tells_version_and_state_of_the_index() {
    let vault = Vault::indexed();
    let health = vault.serve(&[]).get("/health").data();
    assert_eq!((&health["status"], &health["version"]), (&json!("ok"), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!(
        (&health["index"]["available"], &health["index"]["embeddingAvailable"]),
        (&json!(true), &json!(true))
    );
    assert!(health["index"]["stale"].is_boolean());
}

#[test]
fn status_has_the_stable_fields() {
    let vault = Vault::indexed();
    let server = vault.serve(&[]);
    let status = server.get("/status").data();
    assert_eq!(status["server"]["running"], true);
    assert_eq!(status["server"]["port"], server.port());
    assert_eq!(status["server"]["apiKeyRequired"], false);
    for (part, fields) in [
        ("server", &["running", "host", "port", "apiKeyRequired"][..]),
        (
            "index",
            &[
                "freshness",
                "lastSuccessfulUpdateAt",
                "pendingChangeCount",
                "reindexRequired",
                "reindexReasons",
                "embeddingState",
            ],
        ),
        ("watch", &["enabled", "running", "lastEventAt", "pending", "lastError"]),
        (
            "sync",
            &[
                "enabled",
                "configured",
                "running",
                "pending",
                "lastSuccessfulSyncAt",
                "consecutiveFailures",
                "lastError",
            ],
        ),
    ] {
        for field in fields {
            assert!(status[part].get(field).is_some(), "{part}.{field} of {status}");
        }
    }
    assert!(status["index"]["freshness"].is_string());
    assert_eq!(status["index"]["embeddingState"], "ready");
    let updated = status["index"]["lastSuccessfulUpdateAt"].as_str().unwrap();
    assert!(updated.contains('T') && updated.ends_with('Z'), "{updated}");
    assert_eq!((&status["watch"]["enabled"], &status["sync"]["enabled"]), (&json!(false), &json!(false)));
}

#[test]
fn index_and_reindex_count_what_they_did_and_refuse_unknown_fields() {
    let vault = Vault::new();
    let server = vault.serve(&[]);
    let notes = json!(6);
    let first = server.post("/index", &json!({})).data();
    assert_eq!(first["notesIndexed"], notes, "{first}");
    assert!(first["chunksIndexed"].as_u64().unwrap() > 6 && first["notesSkipped"].is_u64());
    vault.write("New.md", "# New\n\nSomething new.\n");
    let second = server.post("/index", &json!({"requireEmbeddings": true})).data();
    assert_eq!((&second["mode"], &second["notesIndexed"]), (&json!("incremental"), &json!(7)));
    let third = server.request("POST", "/reindex", &[], b"").data();
    assert_eq!((&third["mode"], &third["notesIndexed"]), (&json!("full"), &json!(7)));
    for path in ["/index", "/reindex"] {
        for body in [json!({"force": true}), json!({"requireEmbeddings": "yes"})] {
            assert_eq!(
                server.post(path, &body).refused(),
                (400, "INVALID_REQUEST".to_owned()),
                "{path} {body}"
            );
        }
    }
}

#[test]
fn warnings_about_files_reach_whoever_indexes() {
    let vault = Vault::new();
    vault.write_bytes("Binary.md", b"# Binary\0\x01\x02");
    vault.write_bytes("Latin.md", b"# Gr\xfc\xdfe\n\nEin Brief.\n");
    vault.write("Vast.md", &"words and words\n".repeat(140_000));
    let server = vault.serve(&[]);
    let reply = server.post("/reindex", &json!({}));
    let data = reply.data();
    let warnings = reply.json()["warnings"].clone();
    assert_eq!(data["warningCount"], warnings.as_array().unwrap().len());
    let codes: Vec<&str> =
        warnings.as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    for code in ["FILE_BINARY", "FILE_NOT_UTF8", "FILE_TOO_LARGE_FOR_INDEXING", "FRONTMATTER_PARSE_FAILED"] {
        assert!(codes.contains(&code), "{code} is not among {codes:?}");
    }
}

#[test]
fn a_configured_key_is_required_on_every_route() {
    let vault = Vault::indexed();
    let key = "0123456789abcdef0123456789abcdef";
    let server = vault.serve(&["--api-key", key]);
    for path in ["/health", "/status", "/notes/x", "/chunks/x/0", "/attachments/images/plan.png"] {
        assert_eq!(server.get(path).refused(), (401, "UNAUTHORIZED".to_owned()), "{path}");
    }
    let missing = server.get("/health").json()["error"]["message"].clone();
    for path in ["/search", "/related", "/index", "/reindex", "/sync/pull"] {
        assert_eq!(server.post(path, &json!({})).refused(), (401, "UNAUTHORIZED".to_owned()), "{path}");
    }
    assert_eq!(
        server.get(&format!("/health?api_key={key}")).status,
        401,
        "a key in the query does not count"
    );
    let server = server.with_key("wrong");
    let reply = server.get("/health");
    assert_eq!(reply.refused(), (401, "UNAUTHORIZED".to_owned()));
    assert_eq!(reply.json()["error"]["message"], missing, "missing and wrong are not told apart");
    assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer"));
    let server = server.with_key(key);
    let status = server.get("/status").data();
    assert_eq!(status["server"]["apiKeyRequired"], true);
    assert!(!status.to_string().contains(key));
}

#[test]
fn beyond_loopback_a_key_is_made_kept_private_and_not_printed() {
    use std::os::unix::fs::PermissionsExt;

    let vault = Vault::indexed();
    let server = vault.serve(&["--host", "0.0.0.0"]);
    let key = vault.run(&["config", "reveal-api-key"]).trim().to_owned();
    assert!(key.len() >= 32, "{key}");
    assert!(!server.log().contains(&key));
    assert_eq!(server.get("/health").status, 401);
    assert_eq!(server.with_key(&key).get("/health").status, 200);
    let file = vault.folder().join("home/.config/ibid/config.toml");
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "only its owner reads the key");
}

#[test]
fn a_custom_configuration_file_never_gets_a_key_by_itself() {
    let vault = Vault::indexed();
    let file = vault.folder().join("custom.toml");
    std::fs::write(&file, "").unwrap();
    let command = vault.serve_command(&["--host", "0.0.0.0", "--config", file.to_str().unwrap()]);
    let refused = super::Server::try_start(command).err().unwrap();
    assert!(refused.contains("API_KEY_REQUIRED"), "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
}

#[test]
fn cors_answers_listed_origins_only() {
    let vault = Vault::indexed()
        .set("VAULT_AGENT_CORS_ENABLED", "true")
        .set("VAULT_AGENT_CORS_ALLOWED_ORIGINS", "https://app.example");
    let server = vault.serve(&[]);
    let listed = server.request("GET", "/health", &[("Origin", "https://app.example")], b"");
    assert_eq!(listed.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(listed.header("access-control-allow-credentials"), None);
    let other = server.request("GET", "/health", &[("Origin", "https://evil.example")], b"");
    assert_eq!(other.header("access-control-allow-origin"), None);
}

#[test]
fn status_and_health_answer_without_index_and_without_vault() {
    let vault = Vault::empty().set("VAULT_AGENT_VAULT_ROOT", "");
    let server = vault.serve(&[]);
    assert_eq!(server.get("/health").data()["status"], "degraded");
    let status: Value = server.get("/status").data();
    assert_eq!(status["server"]["running"], true);
    assert_eq!(
        server.post("/search", &json!({"query": "x"})).refused(),
        (503, "VAULT_NOT_CONFIGURED".to_owned())
    );
    assert_eq!(server.post("/index", &json!({})).refused(), (503, "VAULT_NOT_CONFIGURED".to_owned()));
}

#[test]
fn what_a_server_indexes_gets_its_meaning_though_nothing_is_watched() {
    let vault = Vault::new();
    let server = vault.serve(&[]);
    let ready = |server: &super::Server| {
        let began = std::time::Instant::now();
        while server.get("/status").data()["index"]["embeddingState"] != "ready" {
            assert!(began.elapsed() < crate::harness::PATIENCE, "no meanings are made");
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        }
    };
    ready(&server);
    vault.write("Barn.md", "# Barn\n\nThe tractor sleeps under the hayloft.\n");
    assert_eq!(server.post("/index", &json!({})).status, 200);
    ready(&server);
    let found = server.post("/search", &json!({"query": "farm vehicle", "mode": "embedding"})).data();
    let paths: Vec<_> = found["results"].as_array().unwrap().iter().map(|item| &item["path"]).collect();
    assert!(paths.contains(&&json!("Barn.md")), "{paths:?}");
}
