//! The routes toolsets declare, and the one by which any tool can be called.

use serde_json::{Value, json};

use crate::harness::{Request, Server};

#[test]
fn arguments_come_from_path_query_and_body_in_either_case() {
    let server = Server::start(&[]);
    let reply = server.get("/fixtures/notes/a%2Fb%20c/7?allowLarge=true&unheard_of=1");
    assert_eq!(reply.status, 200);
    let expected = json!({"data": {"noteId": "a/b c", "chunkIndex": 7, "allowLarge": true}, "warnings": []});
    assert_eq!(reply.json(), expected);
    assert_eq!(server.get("/fixtures/notes/a%2Fb%20c/7?allow_large=true").json(), expected);

    let reply = server.post("/fixtures/find", &json!({"query": "a", "limit": 2}));
    assert_eq!(reply.json(), json!({"data": {"query": "a", "limit": 2}, "warnings": ["made up"]}));
}

#[test]
fn bytes_are_sent_as_they_are_when_asked_for() {
    let server = Server::start(&[]);
    let reply = server.get("/fixtures/files/folder/a%20b.txt");
    assert_eq!(reply.json()["data"], json!({"path": "folder/a b.txt"}));
    let reply = server.get("/fixtures/files/folder/a%20b.txt?download=true");
    assert_eq!((reply.status, reply.text().as_str()), (200, "content of folder/a b.txt"));
    assert_eq!(reply.header("content-type"), Some("text/plain"));
    assert_eq!(
        reply.header("content-disposition"),
        Some("attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt")
    );
    // Escaped dots reach the tool, whose matter they are; they do not climb in the address.
    let reply = server.get("/fixtures/files/%2e%2e/secret");
    assert_eq!(reply.json()["data"]["path"], "../secret");
}

#[track_caller]
fn refused(server: &Server, request: Request, status: u16, code: &str) -> Value {
    let reply = request.send(server);
    let body = reply.json();
    assert_eq!((reply.status, &body["error"]["code"]), (status, &json!(code)), "{body}");
    assert_eq!(body["error"]["details"]["requestId"].as_str().map(str::len), Some(36));
    assert!(!body["error"]["message"].as_str().unwrap().is_empty());
    body
}

#[test]
fn errors_carry_code_message_and_request_id() {
    let server = Server::start(&[]);
    let find = |body: &Value| Request::new("POST", "/fixtures/find").json(body);
    refused(&server, find(&json!({"query": "fail"})), 409, "INDEX_INCOMPATIBLE");
    refused(&server, find(&json!({"query": "a", "limit": 51})), 400, "INVALID_LIMIT");
    refused(&server, find(&json!({})), 400, "INVALID_PARAMETER");
    refused(&server, Request::new("GET", "/fixtures/notes/a/many"), 400, "INVALID_PARAMETER");
    refused(&server, Request::new("GET", "/no/such/path"), 404, "NOT_FOUND");
    refused(&server, Request::new("DELETE", "/fixtures/find"), 405, "INVALID_REQUEST");
    let body = refused(&server, find(&json!({"query": "x".repeat(1001)})), 400, "INVALID_PARAMETER");
    assert!(!body.to_string().contains("xxx"), "what was asked is not repeated");
}

#[test]
fn bodies_are_bounded_json_objects() {
    let server = Server::start(&[]);
    let find = || Request::new("POST", "/fixtures/find").header("Content-Type", "application/json");
    refused(&server, find().body("{"), 400, "INVALID_REQUEST");
    refused(&server, find().body("[]"), 400, "INVALID_REQUEST");
    refused(&server, find().body(b"{\"query\":\"\xff\"}".to_vec()), 400, "INVALID_REQUEST");
    refused(&server, find().body(vec![b' '; 64 * 1024 + 1]), 413, "INVALID_REQUEST");
    let plain = find().header("Content-Type", "text/plain").body(r#"{"query":"a"}"#);
    refused(&server, plain, 415, "INVALID_REQUEST");
}

#[test]
fn any_tool_can_be_called_by_name() {
    let server = Server::start(&[]);
    let reply = server.post("/api/v1/tools/fixture_repeat", &json!({"bytes": 2}));
    assert_eq!(reply.json(), json!({"content": "xx"}));
    let names: Vec<Value> = server.get("/api/v1/tools").json()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert!(names.contains(&json!("get_kb_info")) && names.contains(&json!("routed_find")));

    let call = |name: &str, body: &Value| Request::new("POST", &format!("/api/v1/tools/{name}")).json(body);
    refused(&server, call("fixture_repeatt", &json!({})), 404, "INVALID_INPUT");
    refused(&server, call("fixture_repeat", &json!({"byte": 1})), 400, "INVALID_INPUT");
    refused(&server, call("fixture_fail", &json!({"outcome": "error"})), 404, "NOTE_NOT_FOUND");
    refused(&server, call("fixture_fail", &json!({"outcome": "panic"})), 500, "INTERNAL_ERROR");
    assert_eq!(server.get("/api/v1/tools").status, 200, "it lives on");
}

#[test]
fn a_client_that_leaves_calls_its_work_off() {
    let server = Server::start(&[]);
    let stream =
        Request::new("POST", "/api/v1/tools/fixture_sleep").json(&json!({"ms": 50_000})).open(&server);
    server.log.wait_for("fixture_sleep began");
    drop(stream);
    server.log.wait_for("fixture_sleep was called off");
}
