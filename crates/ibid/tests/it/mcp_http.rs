//! MCP over Streamable HTTP.

use std::{
    io::{BufRead, BufReader, Read},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::harness::{LEGACY, Reply, Request, Server, modern, signal, wait};

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

#[test]
fn a_session_lives_from_initialize_to_delete() {
    let server = Server::start(&[]);
    let mut session = server.session("/mcp");
    assert!(session.id.is_some());
    let accepted =
        session.raw("POST").json(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(accepted.send(&server).status, 202);
    let answer = session.call("fixture_repeat", &json!({"bytes": 2}));
    assert_eq!(answer["result"]["structuredContent"], json!({"content": "xx"}));

    assert!(session.raw("DELETE").send(&server).status < 300);
    let reply = session.prepare("ping", &json!({})).send(&server);
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!(-32600)));
}

#[test]
fn a_session_must_be_named_and_known() {
    let server = Server::start(&[]);
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    let reply = server.post("/mcp", &list);
    assert_eq!((reply.status, &reply.json()["id"]), (400, &json!(3)));
    let reply = Request::new("POST", "/mcp").header("Mcp-Session-Id", "made-up").json(&list).send(&server);
    assert_eq!(reply.status, 404);
    assert_eq!(server.get("/mcp").status, 400);
}

#[test]
fn without_sessions_every_request_stands_alone() {
    let server = Server::start(&["--mcp-stateless"]);
    let mut session = server.session("/mcp");
    assert_eq!(session.id, None);
    let request = session.prepare("tools/call", &call("fixture_repeat", json!({"bytes": 1})));
    let reply = request.send(&server);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.json()["result"]["structuredContent"], json!({"content": "x"}));
    for method in ["GET", "DELETE"] {
        let reply = session.raw(method).send(&server);
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
    }
}

#[test]
fn the_newer_era_is_served_without_sessions_as_json_or_stream() {
    let server = Server::start(&[]);
    let request = Request::modern("/mcp", "tools/call", call("fixture_repeat", json!({"bytes": 1})));
    let reply = request.send(&server);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    assert_eq!(reply.header("mcp-session-id"), None);
    assert_eq!(reply.json()["result"]["structuredContent"], json!({"content": "x"}));

    let mut params = call("fixture_sleep", json!({"ms": 20, "steps": 2}));
    params["_meta"] = json!({"progressToken": "t"});
    let reply = Request::modern("/mcp", "tools/call", params).send(&server);
    assert!(reply.header("content-type").unwrap().starts_with("text/event-stream"));
    let messages = reply.messages();
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1]["params"]["progress"], 2.0);
    assert_eq!(messages[2]["result"]["structuredContent"], json!({"ms": 20}));

    let reply = Request::modern("/mcp", "no/such", json!({})).send(&server);
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!(-32601)));
    let request = Request::modern("/mcp", "tools/list", json!({})).header("Mcp-Method", "tools/call");
    let reply = request.send(&server);
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32020)));
}

#[test]
fn progress_reaches_a_session_only_when_asked_for() {
    let server = Server::start(&[]);
    let mut session = server.session("/mcp");
    let mut params = call("fixture_sleep", json!({"ms": 20, "steps": 2}));
    let silent = session.prepare("tools/call", &params).send(&server);
    assert_eq!(silent.messages().len(), 1);
    params["_meta"] = json!({"progressToken": 7});
    let told = session.prepare("tools/call", &params).send(&server).messages();
    assert_eq!(told.len(), 3);
    assert_eq!(told[0]["params"]["progressToken"], 7);
}

#[test]
fn what_is_no_message_is_refused_in_json() {
    let server = Server::start(&[]);
    let post =
        |body: &str| Request::new("POST", "/mcp").header("Content-Type", "application/json").body(body);
    let refused = |reply: &Reply| (reply.status, reply.json()["error"]["code"].as_i64().unwrap());
    assert_eq!(refused(&post("{").send(&server)), (400, -32700));
    assert_eq!(refused(&post("").send(&server)), (400, -32700));
    assert_eq!(refused(&post("\u{feff}nonsense").send(&server)), (400, -32700));
    assert_eq!(refused(&post("[]").send(&server)), (400, -32600));
    assert_eq!(refused(&post("42").send(&server)), (400, -32600));
    let invalid_utf8 = post("").body(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec());
    assert_eq!(refused(&invalid_utf8.send(&server)), (400, -32700));
    let params = post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#).send(&server);
    assert_eq!(refused(&params), (400, -32602));
    assert_eq!(params.json()["id"], 1);

    let plain = post("{}").header("Content-Type", "text/plain").send(&server);
    assert_eq!(refused(&plain), (415, -32600));
    let picky =
        post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).header("Accept", "text/html").send(&server);
    assert_eq!(refused(&picky), (406, -32600));
    let large = post("").body(vec![b' '; 5 * 1024 * 1024]).send(&server);
    assert_eq!(refused(&large), (413, -32600));
}

#[test]
fn a_client_that_takes_anything_is_served() {
    let server = Server::start(&["--mcp-stateless"]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let reply = Request::new("POST", "/mcp").header("Accept", "*/*").json(&list).send(&server);
    assert_eq!(reply.status, 200);
}

#[test]
fn closing_the_connection_calls_the_work_off() {
    let params = call("fixture_sleep", json!({"ms": 50_000}));
    let modern_call = Request::modern("/mcp", "tools/call", params.clone());
    let legacy_call = Request::new("POST", "/mcp")
        .header("MCP-Protocol-Version", LEGACY)
        .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let mut streamed = call("fixture_sleep", json!({"ms": 50_000, "steps": 1000}));
    streamed["_meta"] = json!({"progressToken": 1});
    for request in [modern_call, legacy_call, Request::modern("/mcp", "tools/call", streamed)] {
        let server = Server::start(&["--mcp-stateless"]);
        let stream = request.open(&server);
        // The call has begun once the server has read it; it says so in the log.
        server.log.wait_for("fixture_sleep began");
        drop(stream);
        server.log.wait_for("fixture_sleep was called off");
    }
}

#[test]
fn a_notification_calls_the_work_of_a_session_off_but_a_lost_connection_does_not() {
    let server = Server::start(&[]);
    let mut session = server.session("/mcp");
    let stream = session.prepare("tools/call", &call("fixture_sleep", json!({"ms": 50_000}))).open(&server);
    server.log.wait_for("fixture_sleep began");
    drop(stream);
    assert!(session.call("fixture_repeat", &json!({"bytes": 1}))["result"].is_object());
    assert!(!server.log.text().contains("fixture_sleep was called off"));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(session.raw("POST").json(&cancel).send(&server).status, 202);
    server.log.wait_for("fixture_sleep was called off");
}

#[test]
fn clients_at_once_see_only_their_own_answers() {
    let server = Server::start(&[]);
    thread::scope(|scope| {
        for client in 1..=8 {
            let server = &server;
            scope.spawn(move || {
                let mut session = server.session("/mcp");
                for round in 1..=20 {
                    let bytes = client * 100 + round;
                    // Every client uses the same ids.
                    let answer = session.call("fixture_repeat", &json!({"bytes": bytes}));
                    let content = answer["result"]["structuredContent"]["content"].as_str().unwrap();
                    assert_eq!(content.len(), bytes);
                }
            });
        }
    });
}

#[test]
fn a_thousand_calls_in_a_row_and_sixty_four_at_once_are_answered() {
    let server = Server::start(&[]);
    let mut session = server.session("/mcp");
    for _ in 0..1000 {
        assert!(session.call("fixture_repeat", &json!({"bytes": 1}))["result"].is_object());
    }
    let requests: Vec<Request> =
        (0..64).map(|_| session.prepare("tools/call", &call("fixture_sleep", json!({"ms": 300})))).collect();
    thread::scope(|scope| {
        for request in requests {
            let server = &server;
            scope.spawn(move || assert!(request.send(server).message()["result"].is_object()));
        }
    });
}

#[test]
fn an_answer_of_twenty_megabytes_arrives_whole() {
    let server = Server::start(&[]);
    let bytes = 20 * 1024 * 1024;
    let content = |answer: &Value| answer["result"]["structuredContent"]["content"].as_str().unwrap().len();
    let mut session = server.session("/mcp");
    assert_eq!(content(&session.call("fixture_repeat", &json!({"bytes": bytes}))), bytes);
    let request = Request::modern("/mcp", "tools/call", call("fixture_repeat", json!({"bytes": bytes})));
    assert_eq!(content(&request.send(&server).json()), bytes);
}

#[test]
fn a_panicking_tool_is_answered_and_the_server_lives_on() {
    let server = Server::start(&[]);
    let panic = call("fixture_fail", json!({"outcome": "panic"}));
    let reply = Request::modern("/mcp", "tools/call", panic.clone()).send(&server);
    assert_eq!(reply.json()["error"]["code"], -32603);
    let mut session = server.session("/mcp");
    assert_eq!(session.request("tools/call", &panic)["error"]["code"], -32603);
    assert!(session.call("fixture_repeat", &json!({"bytes": 1}))["result"].is_object());
}

#[test]
fn a_contract_with_rpc_errors_keeps_its_codes_in_both_eras() {
    let server = Server::start(&[]);
    let failing = call("routed_find", json!({"query": "fail"}));
    let newer = Request::modern("/mcp", "tools/call", failing.clone()).send(&server).json();
    let older = server.session("/mcp").request("tools/call", &failing);
    for answer in [newer, older] {
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        assert_eq!(answer["error"]["data"]["errorCode"], "INDEX_INCOMPATIBLE");
    }
}

#[test]
fn each_toolset_has_an_address_of_its_own() {
    let server = Server::start_bare(&["--mcp-enabled"]);
    let names = |path: &str| -> Vec<String> {
        let list = Request::modern(path, "tools/list", json!({})).send(&server).json();
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("/mcp/text"), ["get_kb_content", "get_kb_info"]);
    assert_eq!(names("/mcp"), names("/mcp/"));
    assert_eq!(Request::modern("/mcp/nothing", "tools/list", json!({})).send(&server).status, 404);
}

#[test]
fn headers_narrow_what_a_request_sees_and_calls() {
    let server = Server::start_bare(&["--mcp-enabled", "--toolsets", "text"]);
    let list = |name: &str, value: &str| {
        let request = Request::modern("/mcp", "tools/list", json!({})).header(name, value);
        request.send(&server).json()["result"]["tools"].as_array().unwrap().len()
    };
    assert_eq!(list("X-MCP-Toolsets", "text"), 2);
    assert_eq!(list("X-MCP-Toolsets", "nothing"), 0);
    assert_eq!(list("X-MCP-Tools", "get_kb_info"), 1);
    assert_eq!(list("X-MCP-Exclude-Tools", "get_kb_info"), 1);
    assert_eq!(list("X-MCP-Readonly", "true"), 2);
    let request = Request::modern("/mcp", "tools/call", call("get_kb_info", json!({})));
    let reply = request.header("X-MCP-Exclude-Tools", "get_kb_info").send(&server);
    assert_eq!(reply.json()["error"]["code"], -32602);
}

#[test]
fn mcp_is_off_unless_enabled_and_moves_where_it_is_told() {
    let server = Server::start_bare(&[]);
    assert_eq!(Request::modern("/mcp", "tools/list", json!({})).send(&server).status, 404);
    let server = Server::start_bare(&["--mcp-enabled", "--mcp-http-endpoint", "/agents/mcp"]);
    assert_eq!(Request::modern("/mcp", "tools/list", json!({})).send(&server).status, 404);
    assert_eq!(Request::modern("/agents/mcp", "tools/list", json!({})).send(&server).status, 200);
    assert_eq!(Request::modern("/agents/mcp/text", "tools/list", json!({})).send(&server).status, 200);
}

#[test]
fn sigterm_finishes_the_calls_under_way_though_a_stream_is_open() {
    for flags in [&[] as &[&str], &["--mcp-stateless"]] {
        let mut server = Server::start(flags);
        let mut session = server.session("/mcp");
        let listening = session.id.is_some().then(|| {
            let stream = session.raw("GET").header("Accept", "text/event-stream").open(&server);
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert!(line.contains("200"), "{line}");
            reader
        });
        let call = session.prepare("tools/call", &call("fixture_sleep", json!({"ms": 1500}))).open(&server);
        server.log.wait_for("fixture_sleep began");
        signal(&server.child, "TERM");
        let answer = Reply::read(call).message();
        assert_eq!(answer["result"]["structuredContent"], json!({"ms": 1500}));
        if let Some(mut reader) = listening {
            let mut rest = Vec::new();
            let _ = reader.read_to_end(&mut rest);
        }
        assert_eq!(wait(&mut server.child).code(), Some(0));
    }
}

#[test]
fn streams_are_not_held_back() {
    let server = Server::start(&[]);
    let mut session = server.session("/mcp");
    let started = std::time::Instant::now();
    for _ in 0..50 {
        session.call("fixture_repeat", &json!({"bytes": 1}));
    }
    // Without TCP_NODELAY each answer waits some 40 ms for an acknowledgement.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn modern_metadata_without_its_header_is_refused() {
    let server = Server::start(&[]);
    let params = modern(json!({}), "2026-07-28");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    let reply = server.post("/mcp", &body);
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32020)));
}
