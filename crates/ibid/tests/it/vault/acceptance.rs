//! The acceptance criteria of the contract, one test each, in the words of the criterion.

use serde_json::{Value, json};

use super::{
    Enveloped, Server, Stdio, Vault,
    client::{initialize, outcome},
    mcp_http::Session,
    note_id,
};

const TOOLS: [&str; 5] = ["get_attachment", "get_chunk", "get_note", "related", "search"];

/// A valid call of every tool.
fn calls() -> Vec<(&'static str, Value)> {
    let id = note_id("Projects/Garden plan.md");
    vec![
        ("search", json!({"query": "tomatoes and basil"})),
        ("get_note", json!({"note_id": id})),
        ("get_chunk", json!({"note_id": id, "chunk_index": 1})),
        ("get_attachment", json!({"vault_relative_path": "images/plan.png"})),
        ("related", json!({"type": "note", "id": id})),
    ]
}

/// The same call over the HTTP interface.
fn over_http(server: &Server, tool: &str, arguments: &Value) -> (Value, Value) {
    let text = |name: &str| arguments[name].as_str().unwrap();
    let reply = match tool {
        "search" => server.post("/search", arguments),
        "related" => server.post("/related", arguments),
        "get_note" => server.get(&format!("/notes/{}", text("note_id"))),
        "get_chunk" => server.get(&format!("/chunks/{}/{}", text("note_id"), arguments["chunk_index"])),
        _ => server.get(&format!("/attachments/{}", text("vault_relative_path"))),
    };
    (reply.data(), reply.json()["warnings"].clone())
}

/// The reply of a tool is the HTTP interface's data, with the warnings inside.
#[track_caller]
fn same_over_http(tool: &str, reply: Value) {
    let vault = Vault::indexed();
    let server = vault.serve(&[]);
    let (_, arguments) = calls().into_iter().find(|(name, _)| *name == tool).unwrap();
    let mut mine = vault.mcp().call(tool, arguments.clone()).unwrap();
    let warnings = mine.as_object_mut().unwrap().shift_remove("warnings").unwrap();
    let (theirs, their_warnings) = over_http(&server, tool, &arguments);
    assert_eq!(mine, theirs);
    assert_eq!(warnings, their_warnings);
    for (field, value) in reply.as_object().unwrap() {
        assert_eq!(&mine[field], value, "{field} of {mine}");
    }
}

#[test]
fn the_mcp_command_starts_a_stdio_server_that_clients_can_connect_to() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), TOOLS);
}

#[test]
fn search_returns_the_payload_of_post_search() {
    same_over_http("search", json!({"requestedMode": "hybrid", "limit": 10}));
}

#[test]
fn get_note_returns_the_payload_of_get_notes() {
    let reply = json!({"path": "Projects/Garden plan.md", "title": "Garden plan", "contentType": "text/markdown; charset=utf-8"});
    same_over_http("get_note", reply);
}

#[test]
fn get_chunk_returns_the_payload_of_get_chunks() {
    same_over_http(
        "get_chunk",
        json!({"chunkIndex": 1, "heading": "Beds", "headingPath": ["Garden plan", "Beds"]}),
    );
}

#[test]
fn get_attachment_returns_the_payload_of_get_attachments() {
    let reply = json!({"path": "images/plan.png", "fileName": "plan.png", "contentType": "image/png", "size": 12, "downloadAvailable": true});
    same_over_http("get_attachment", reply);
}

#[test]
fn related_returns_the_payload_of_post_related() {
    let id = note_id("Projects/Garden plan.md");
    same_over_http(
        "related",
        json!({"input": {"type": "note", "id": id}, "requestedMode": "embedding", "limit": 10}),
    );
}

#[test]
fn streamable_http_is_available_at_mcp_when_explicitly_configured() {
    let vault = Vault::indexed();
    let server = vault.serve(&["--mcp-enabled"]);
    let mut session = Session::start(&server, "/mcp");
    for (tool, arguments) in calls() {
        assert_eq!(session.call(tool, arguments.clone()), vault.mcp().call(tool, arguments), "{tool}");
    }
}

#[test]
fn localhost_may_run_without_a_key_and_other_binds_require_one() {
    let vault = Vault::indexed();
    assert_eq!(vault.serve(&[]).get("/health").status, 200);

    let short = vault.serve_command(&["--host", "0.0.0.0", "--api-key", "too-short"]);
    let refused = Server::try_start(short).err().unwrap();
    assert!(refused.contains("32 characters"), "{refused}");

    let key = "0123456789abcdef0123456789abcdef";
    let server = vault.serve(&["--host", "0.0.0.0", "--mcp-enabled", "--api-key", key]);
    assert_eq!(server.get("/health").refused(), (401, "UNAUTHORIZED".to_owned()));
    assert_eq!(server.post("/mcp", &json!({})).status, 401);
    let server = server.with_key(key);
    assert_eq!(server.get("/health").status, 200);
    assert!(Session::start(&server, "/mcp").call("search", json!({"query": "hens"})).is_ok());
}

#[test]
fn mcp_tools_and_the_http_api_have_the_same_scope() {
    let vault = Vault::indexed();
    let (server, mut client) = (vault.serve(&[]), vault.mcp());
    for path in [".obsidian/workspace.json", "images/.hidden.png", "node_modules/package/logo.png", "Home.md"]
    {
        let error = client.call("get_attachment", json!({"vault_relative_path": path})).unwrap_err();
        assert_eq!(error["data"]["errorCode"], "ATTACHMENT_NOT_ALLOWED", "{path}");
        assert_eq!(
            server.get(&format!("/attachments/{path}")).refused(),
            (403, "ATTACHMENT_NOT_ALLOWED".to_owned())
        );
    }
}

#[test]
fn mcp_is_configurable_by_file_environment_and_flag_in_rising_order() {
    let vault = Vault::indexed();
    let answers = |server: &Server, path: &str| server.post(path, &json!({})).status != 404;
    let config = vault.folder().join("home/.config/ibid");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(
        config.join("config.toml"),
        "[mcp]\nenabled = true\n[mcp.http]\nendpoint = \"/from-file\"\n",
    )
    .unwrap();
    assert!(answers(&vault.serve(&[]), "/from-file"));

    let vault = vault.set("VAULT_AGENT_MCP_HTTP_ENDPOINT", "/from-environment");
    let server = vault.serve(&[]);
    assert!(answers(&server, "/from-environment") && !answers(&server, "/from-file"));

    let server = vault.serve(&["--mcp-http-endpoint", "/from-flag"]);
    assert!(answers(&server, "/from-flag") && !answers(&server, "/from-environment"));
    assert!(!answers(&vault.serve(&["--no-mcp-enabled"]), "/from-environment"));
}

#[test]
fn the_mcp_endpoint_cannot_take_a_path_of_the_http_api() {
    let vault = Vault::empty();
    for path in ["/search", "/notes/mcp", "/status", "/sync", "mcp", "/a/../b"] {
        let command = vault.serve_command(&["--mcp-enabled", "--mcp-http-endpoint", path]);
        let refused = Server::try_start(command).err().unwrap_or_else(|| panic!("{path} was accepted"));
        assert!(refused.contains("CONFIG_INVALID"), "{path}: {refused}");
    }
}

#[test]
fn the_default_transport_is_stdio_and_the_http_endpoint_is_disabled() {
    let vault = Vault::indexed();
    assert_eq!(vault.serve(&[]).post("/mcp", &json!({})).status, 404);
    assert!(vault.mcp().call("search", json!({"query": "hens"})).is_ok());
}

#[test]
fn the_mcp_command_works_whatever_mcp_enabled_says() {
    let vault = Vault::indexed();
    for enabled in ["true", "false"] {
        let mut command = vault.command(&["mcp"]);
        command.env("VAULT_AGENT_MCP_ENABLED", enabled);
        assert!(Stdio::start(command).call("search", json!({"query": "hens"})).is_ok());
    }
}

#[test]
fn the_mcp_command_takes_no_transport_flag() {
    let vault = Vault::empty();
    let output = vault.command(&["mcp", "--transport", "http"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}

#[test]
fn the_server_starts_without_a_vault_root_and_says_what_to_configure() {
    let vault = Vault::indexed().set("VAULT_AGENT_VAULT_ROOT", "");
    let mut client = vault.mcp();
    for (tool, arguments) in calls() {
        let error = client.call(tool, arguments).unwrap_err();
        assert_eq!(
            (&error["code"], &error["data"]["errorCode"]),
            (&json!(-32013), &json!("VAULT_NOT_CONFIGURED")),
            "{tool}"
        );
        assert!(error["message"].as_str().unwrap().contains("config"), "{error}");
    }
    assert!(client.finish().status.success());
}

#[test]
fn every_tool_describes_itself_and_is_marked_read_only() {
    let vault = Vault::empty();
    let mut client = vault.mcp();
    let listed = client.request("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        assert!(tool["description"].as_str().unwrap().len() > 100, "{tool}");
        let annotations = &tool["annotations"];
        assert_eq!(annotations["readOnlyHint"], true);
        assert_eq!(annotations["destructiveHint"], false);
        assert_eq!(annotations["idempotentHint"], true);
        let parameters = tool["inputSchema"]["properties"].as_object().unwrap();
        for (name, parameter) in parameters {
            assert_eq!(name, &name.to_lowercase(), "parameters are snake_case");
            assert!(parameter["description"].is_string(), "{name} of {}", tool["name"]);
        }
    }
}

#[test]
fn the_handshake_declares_tools_and_nothing_else() {
    let vault = Vault::empty();
    for version in ["2025-03-26", "2025-06-18"] {
        let mut client = Stdio::spawn(vault.command(&["mcp"]));
        let reply = client.request("initialize", initialize(version));
        let result = &reply["result"];
        assert_eq!(reply["jsonrpc"], "2.0");
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["capabilities"].as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
        assert_eq!(result["serverInfo"]["name"], "ibid");
    }
}

#[test]
fn an_unsupported_protocol_version_is_an_error() {
    let vault = Vault::empty();
    let mut client = Stdio::spawn(vault.command(&["mcp"]));
    let reply = client.request("initialize", initialize("1999-01-01"));
    assert!(reply["error"]["data"]["supported"].is_array(), "{reply}");
}

#[test]
fn an_oversized_note_is_refused_by_default_and_returned_when_allowed() {
    let vault = Vault::new();
    vault.write("Long.md", &format!("# Long\n\n{}", "word after word ".repeat(14_000)));
    vault.index();
    let (mut client, server) = (vault.mcp(), vault.serve(&[]));
    let id = note_id("Long.md");
    let error = client.call("get_note", json!({"noteId": id})).unwrap_err();
    assert_eq!((&error["code"], &error["data"]["errorCode"]), (&json!(-32008), &json!("QUERY_TOO_LARGE")));
    assert!(error["message"].as_str().unwrap().contains("allow_large"), "{error}");
    assert_eq!(server.get(&format!("/notes/{id}")).refused(), (413, "NOTE_TOO_LARGE".to_owned()));

    let note = client.call("get_note", json!({"noteId": id, "allowLarge": true})).unwrap();
    assert!(note["content"].as_str().unwrap().len() > 200 * 1024);
    assert_eq!(server.get(&format!("/notes/{id}?allowLarge=true")).data()["content"], note["content"]);
}

#[test]
fn calls_begun_before_stdin_closes_are_answered_and_the_exit_code_is_zero() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let ids: Vec<i64> = (0..20)
        .map(|_| client.begin("tools/call", json!({"name": "search", "arguments": {"query": "hens"}})))
        .collect();
    let ended = client.finish();
    assert_eq!(ended.status.code(), Some(0));
    for id in ids {
        let answer = ended
            .messages
            .iter()
            .find(|message| message["id"] == id)
            .unwrap_or_else(|| panic!("{id} is lost"));
        assert!(outcome(answer.clone()).is_ok(), "{answer}");
    }
}

#[test]
fn stdout_carries_the_protocol_and_nothing_else() {
    let vault = Vault::indexed().set("VAULT_AGENT_LOG_LEVEL", "debug");
    let mut client = vault.mcp();
    for (tool, arguments) in calls() {
        let _ = client.call(tool, arguments);
    }
    // The harness takes nothing but messages from stdout.
    let ended = client.finish();
    assert!(ended.messages.is_empty() && !ended.err.is_empty(), "the log is on stderr");
}

#[test]
fn concurrent_http_sessions_get_independent_responses() {
    let vault = Vault::indexed();
    let server = vault.serve(&["--mcp-enabled"]);
    let expected: Vec<Value> = ["hens", "compost", "tomatoes", "fence"]
        .map(|query| vault.mcp().call("search", json!({"query": query})).unwrap())
        .to_vec();
    std::thread::scope(|scope| {
        for (query, expected) in ["hens", "compost", "tomatoes", "fence"].into_iter().zip(&expected) {
            let server = &server;
            scope.spawn(move || {
                let mut session = Session::start(server, "/mcp");
                for _ in 0..10 {
                    assert_eq!(&session.call("search", json!({"query": query})).unwrap(), expected);
                }
            });
        }
    });
}
