//! Negotiation in both protocol eras.

use serde_json::{Value, json};

use crate::harness::{LEGACY, MODERN, Pipes, Request, Server, initialize_params, modern};

const ALL: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

#[test]
fn initialize_echoes_every_released_version_with_a_handshake() {
    for version in &ALL[..4] {
        let mut pipes = Pipes::start(&[]);
        let answer = pipes.initialize(version);
        assert_eq!(answer["result"]["protocolVersion"], *version);
        assert!(pipes.request("tools/list", json!({}))["result"]["tools"].is_array());
    }
}

#[test]
fn initialize_answers_newer_versions_with_the_newest_handshake() {
    for version in ["2026-07-28", "2027-01-31"] {
        let answer = Pipes::start(&[]).initialize(version);
        assert_eq!(answer["result"]["protocolVersion"], LEGACY);
    }
}

#[test]
fn initialize_refuses_malformed_and_older_versions_and_can_be_repeated() {
    let mut pipes = Pipes::start(&[]);
    for version in ["1.0", "2024-10-07", "", "latest"] {
        let answer = pipes.initialize(version);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["data"], json!({"supported": ALL, "requested": version}));
    }
    for (params, requested) in [
        (json!({}), Value::Null),
        (json!({"protocolVersion": 7, "capabilities": {}}), json!(7)),
        (json!({"protocolVersion": null}), Value::Null),
    ] {
        let answer = pipes.request("initialize", params);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["data"], json!({"supported": ALL, "requested": requested}));
    }
    assert_eq!(pipes.initialize(LEGACY)["result"]["protocolVersion"], LEGACY);
}

#[test]
fn a_request_needs_the_handshake_or_its_own_metadata() {
    let mut pipes = Pipes::start(&[]);
    for method in ["tools/list", "tools/call"] {
        let answer = pipes.request(method, json!({"name": "get_kb_info"}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(pipes.request("ping", json!({}))["result"], json!({}));
    let params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}});
    let answer = pipes.request("tools/list", params);
    assert_eq!(answer["error"]["code"], -32602, "client capabilities are required: {answer}");
}

#[test]
fn the_newer_era_needs_no_opening() {
    let mut pipes = Pipes::start(&[]);
    let params = json!({"name": "fixture_repeat", "arguments": {"bytes": 1}});
    let answer = pipes.request("tools/call", modern(params, MODERN));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["structuredContent"], json!({"content": "x"}));
    assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ibid");
    let answer = pipes.request("ping", modern(json!({}), MODERN));
    assert_eq!(answer["error"]["code"], -32601, "the newer era has no ping");
}

#[test]
fn discover_and_initialize_say_the_same() {
    let mut pipes = Pipes::start(&[]);
    let discovered = pipes.request("server/discover", modern(json!({}), MODERN))["result"].clone();
    assert_eq!(discovered["supportedVersions"], json!(ALL));
    let initialized = pipes.initialize(LEGACY)["result"].clone();
    assert_eq!(discovered["instructions"], initialized["instructions"]);
    assert_eq!(discovered["capabilities"], initialized["capabilities"]);
    let instructions = initialized["instructions"].as_str().unwrap();
    assert!(instructions.contains("get_kb_info") && instructions.chars().count() <= 2000);
}

#[test]
fn a_version_nobody_released_is_refused_in_the_newer_era() {
    let mut pipes = Pipes::start(&[]);
    for method in ["server/discover", "tools/list"] {
        let answer = pipes.request(method, modern(json!({}), "2031-01-01"));
        assert_eq!(answer["error"]["code"], -32022, "{answer}");
        assert_eq!(answer["error"]["data"], json!({"supported": ALL, "requested": "2031-01-01"}));
    }
}

#[test]
fn batches_are_answered_together_where_the_version_has_them() {
    let mut pipes = Pipes::start(&[]);
    pipes.initialize("2025-03-26");
    let call = |id: i64, ms: i64| {
        let params = json!({"name": "fixture_sleep", "arguments": {"ms": ms}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    pipes.write(format!("{}\n", json!([call(1, 50), notification, {"id": 3}, call(2, 1)])).as_bytes());
    let answers = pipes.receive_batch();
    let mut ids: Vec<i64> = answers.iter().map(|answer| answer["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);

    let mut pipes = Pipes::start(&[]);
    pipes.initialize("2025-06-18");
    pipes.write(format!("{}\n", json!([call(1, 1)])).as_bytes());
    assert_eq!(pipes.receive()["error"]["code"], -32600);
}

fn initialize(server: &Server, version: &Value) -> (u16, Value) {
    let mut params = initialize_params(LEGACY);
    params["protocolVersion"] = version.clone();
    let reply =
        server.post("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    (reply.status, reply.message())
}

#[test]
fn http_negotiates_alike() {
    for flags in [&[] as &[&str], &["--mcp-stateless"]] {
        let server = Server::start(flags);
        for version in &ALL[..4] {
            let (status, answer) = initialize(&server, &json!(version));
            assert_eq!((status, &answer["result"]["protocolVersion"]), (200, &json!(version)));
        }
        let (_, answer) = initialize(&server, &json!("2027-01-01"));
        assert_eq!(answer["result"]["protocolVersion"], LEGACY);
        for version in [json!("1.0"), json!(7), Value::Null] {
            let (status, answer) = initialize(&server, &version);
            assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32602)), "{answer}");
            assert_eq!(answer["error"]["data"], json!({"supported": ALL, "requested": version}));
            assert_eq!(answer["id"], 1);
        }
    }
}

#[test]
fn http_refuses_versions_nobody_released() {
    let server = Server::start(&[]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let reply =
        Request::new("POST", "/mcp").header("MCP-Protocol-Version", "2031-01-01").json(&list).send(&server);
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json()["error"]["code"], -32022);

    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": modern(json!({}), "2031-01-01")});
    let request = Request::new("POST", "/mcp").header("MCP-Protocol-Version", "2031-01-01");
    let reply = request.header("Mcp-Method", "tools/list").json(&body).send(&server);
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32022)));
}

#[test]
fn http_answers_batches_together_where_the_version_has_them() {
    for flags in [&[] as &[&str], &["--mcp-stateless"]] {
        let server = Server::start(flags);
        let session = server.session("/mcp");
        let call = |id: i64| {
            let params = json!({"name": "fixture_repeat", "arguments": {"bytes": id}});
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        };
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let batch = json!([call(1), notification, {"id": 5}, call(2)]);
        let reply =
            session.raw("POST").header("MCP-Protocol-Version", "2025-03-26").json(&batch).send(&server);
        let answers = reply.json();
        let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [1, 5, 2]);
        assert_eq!(answers[2]["result"]["structuredContent"], json!({"content": "xx"}));
        assert_eq!(answers[1]["error"]["code"], -32600);

        let only = json!([notification]);
        let reply =
            session.raw("POST").header("MCP-Protocol-Version", "2025-03-26").json(&only).send(&server);
        assert_eq!(reply.status, 202);
        let reply = session.raw("POST").json(&batch).send(&server);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32600)));
    }
}
