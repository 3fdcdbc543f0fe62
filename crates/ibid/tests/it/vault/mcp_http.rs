//! MCP over Streamable HTTP, as a client speaks it.

use serde_json::{Value, json};

use super::{
    Reply, Server, Vault,
    client::{initialize, outcome},
};

/// A session with a server's MCP endpoint.
pub(super) struct Session<'a> {
    server: &'a Server,
    path: String,
    id: Option<String>,
    next_id: i64,
}

impl<'a> Session<'a> {
    pub(super) fn start(server: &'a Server, path: &str) -> Self {
        let mut session = Self { server, path: path.to_owned(), id: None, next_id: 1 };
        let message =
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize("2025-06-18")});
        let reply = session.post(&message);
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
        session.id = reply.header("mcp-session-id").map(str::to_owned);
        let reply = session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(reply.status, 202);
        session
    }

    fn post(&self, message: &Value) -> Reply {
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-06-18"),
        ];
        if let Some(id) = &self.id {
            headers.push(("Mcp-Session-Id", id));
        }
        self.server.request("POST", &self.path, &headers, message.to_string().as_bytes())
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let id = self.next_id;
        self.next_id += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let reply = self.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        let message = messages(&reply).into_iter().find(|message| message["id"] == id);
        outcome(message.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&reply.body))))
    }
}

/// The messages of an answer, be it JSON or a stream of events.
fn messages(reply: &Reply) -> Vec<Value> {
    if reply.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return vec![reply.json()];
    }
    let text = String::from_utf8(reply.body.clone()).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|line| serde_json::from_str(line.trim()).ok()).collect()
}

#[test]
fn a_missing_key_and_a_wrong_key_are_told_apart_on_the_endpoint() {
    let vault = Vault::indexed();
    let key = "0123456789abcdef0123456789abcdef";
    let server = vault.serve(&["--mcp-enabled", "--api-key", key]);
    let missing = server.post("/mcp", &json!({}));
    assert_eq!((missing.status, &missing.json()["error"]["code"]), (401, &json!(-32020)));
    assert_eq!(missing.json()["error"]["data"]["errorCode"], "AUTH_REQUIRED");
    assert!(missing.header("www-authenticate").unwrap().starts_with("Bearer"));

    let server = server.with_key("not the key");
    let wrong = server.post("/mcp", &json!({}));
    assert_eq!((wrong.status, &wrong.json()["error"]["code"]), (403, &json!(-32021)));
    assert_eq!(wrong.json()["error"]["data"]["errorCode"], "AUTH_FAILED");
    assert_eq!(wrong.json()["error"]["message"], missing.json()["error"]["message"]);
}

#[test]
fn errors_of_tools_look_the_same_as_over_stdio() {
    let vault = Vault::indexed();
    let server = vault.serve(&["--mcp-enabled"]);
    let mut session = Session::start(&server, "/mcp");
    let mut client = vault.mcp();
    for (tool, arguments) in [
        ("search", json!({"query": " "})),
        ("search", json!({})),
        ("get_note", json!({"note_id": "0".repeat(32)})),
        ("get_attachment", json!({"vault_relative_path": "../x"})),
    ] {
        let error = session.call(tool, arguments.clone()).unwrap_err();
        assert_eq!(error, client.call(tool, arguments).unwrap_err());
        assert!(error["data"]["errorCode"].is_string());
    }
}

#[test]
fn malformed_json_and_unknown_sessions_are_refused() {
    let vault = Vault::indexed();
    let server = vault.serve(&["--mcp-enabled"]);
    let headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    let reply = server.request("POST", "/mcp", &headers, b"{not json");
    assert_eq!(reply.status, 400, "{}", String::from_utf8_lossy(&reply.body));
    let mut session = Session::start(&server, "/mcp");
    session.id = Some("no-such-session".to_owned());
    let reply = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert_eq!(reply.status, 404);
}
