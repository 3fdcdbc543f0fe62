//! Who may talk to the HTTP server: hosts, origins, keys.

use serde_json::json;

use crate::harness::{Reply, Request, Server};

const KEY: &str = "0123456789abcdef0123456789abcdef";

/// Requests to every part of the server.
fn requests() -> [Request; 3] {
    [
        Request::modern("/mcp", "tools/list", json!({})),
        Request::new("POST", "/fixtures/find").json(&json!({"query": "a"})),
        Request::new("GET", "/api/v1/tools"),
    ]
}

#[test]
fn a_foreign_host_is_refused_everywhere() {
    let server = Server::start(&[]);
    let port = server.address.port();
    for request in requests() {
        for host in
            ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example", "10.1.2.3", "["]
        {
            assert_eq!(request.clone().header("Host", host).send(&server).status, 403, "{host}");
        }
        for host in ["localhost", &format!("127.0.0.1:{port}"), "[::1]:1"] {
            assert_eq!(request.clone().header("Host", host).send(&server).status, 200, "{host}");
        }
    }
}

#[test]
fn a_foreign_origin_is_refused_everywhere() {
    let server = Server::start(&[]);
    for request in requests() {
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://x", "x"] {
            let reply = request.clone().header("Origin", origin).send(&server);
            assert_eq!(reply.status, 403, "{origin}");
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
        for origin in ["http://localhost:5173", &format!("http://{}", server.address)] {
            let reply = request.clone().header("Origin", origin).send(&server);
            assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, None), "{origin}");
        }
    }
}

#[test]
fn only_listed_origins_may_read_answers() {
    let server = Server::start(&["--cors-allowed-origins", "https://app.example"]);
    for request in requests() {
        let reply = request.clone().header("Origin", "https://app.example").send(&server);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("access-control-allow-origin"), Some("https://app.example"));
        assert_eq!(reply.header("access-control-allow-credentials"), None);
        assert_eq!(request.header("Origin", "https://other.example").send(&server).status, 403);
    }
    let preflight = Request::new("OPTIONS", "/mcp")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "mcp-method, mcp-param-value");
    let reply = preflight.send(&server);
    assert_eq!(reply.status, 204);
    assert!(reply.header("access-control-allow-methods").unwrap().contains("POST"));
    assert_eq!(reply.header("access-control-allow-headers"), Some("mcp-method, mcp-param-value"));
}

fn challenge(reply: &Reply) -> (u16, bool) {
    (reply.status, reply.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")))
}

#[test]
fn a_configured_key_is_required_everywhere() {
    let server = Server::start(&["--api-key", KEY]);
    for request in requests() {
        assert_eq!(challenge(&request.clone().send(&server)), (401, true));
        for wrong in ["Bearer wrong", "Bearer ", KEY, "Basic x", &format!("Bearer {KEY}x")] {
            let reply = request.clone().header("Authorization", wrong).send(&server);
            assert!(matches!(reply.status, 401 | 403), "{wrong}: {}", reply.status);
            assert!(!reply.text().contains(KEY));
        }
        let reply = request.header("Authorization", &format!("bearer {KEY}")).send(&server);
        assert_eq!(reply.status, 200);
    }
    assert_eq!(server.get(&format!("/api/v1/tools?api_key={KEY}")).status, 401);
    assert_eq!(server.get("/.well-known/oauth-protected-resource").status, 404);
    assert!(!server.log.text().contains(KEY));
}

#[test]
fn refusals_are_json_of_the_interface_they_belong_to() {
    let server = Server::start(&["--api-key", KEY]);
    let [rpc, http, _] = requests();
    let refused = rpc.send(&server).json();
    assert_eq!((&refused["jsonrpc"], &refused["error"]["code"]), (&json!("2.0"), &json!(-32020)));
    assert_eq!(refused["error"]["data"]["code"], "AUTH_REQUIRED");
    let refused = http.send(&server).json();
    assert_eq!(refused["error"]["code"], "UNAUTHORIZED");
    assert!(refused["error"]["details"]["requestId"].is_string());
}

#[test]
fn a_preflight_needs_no_key() {
    let server = Server::start(&["--api-key", KEY, "--cors-allowed-origins", "https://app.example"]);
    let preflight = Request::new("OPTIONS", "/mcp")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "POST");
    assert_eq!(preflight.send(&server).status, 204);
}
