//! Nothing that was accepted is lost when the server ends.

use std::time::{Duration, Instant};

use ibid::mcp::{McpOptions, fixtures, stdio};
use ibid_tools::ToolTable;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::harness::{LEGACY, Pipes, initialize_params, signal};

fn answered(messages: &[Value], id: i64) -> &Value {
    messages.iter().find(|message| message["id"] == id).unwrap_or_else(|| panic!("{id} in {messages:?}"))
}

#[test]
fn an_eight_second_call_is_answered_after_stdin_closes() {
    let mut pipes = Pipes::initialized(&[]);
    let id = pipes.post("tools/call", json!({"name": "fixture_sleep", "arguments": {"ms": 8000}}));
    let started = Instant::now();
    let (messages, status) = pipes.finish();
    assert!(started.elapsed() >= Duration::from_secs(7));
    assert_eq!(answered(&messages, id)["result"]["structuredContent"], json!({"ms": 8000}));
    assert!(status.success());
}

#[test]
fn a_call_with_progress_is_answered_after_stdin_closes() {
    let mut pipes = Pipes::initialized(&[]);
    let id = pipes.post(
        "tools/call",
        json!({
            "name": "fixture_sleep",
            "arguments": {"ms": 400, "steps": 4},
            "_meta": {"progressToken": "p"},
        }),
    );
    let (messages, status) = pipes.finish();
    let progress: Vec<&Value> =
        messages.iter().filter(|message| message["method"] == "notifications/progress").collect();
    assert_eq!(
        progress.iter().map(|message| message["params"]["progress"].as_f64().unwrap()).collect::<Vec<_>>(),
        [1.0, 2.0, 3.0, 4.0]
    );
    assert_eq!(messages.last().unwrap()["id"], id);
    assert!(status.success());
}

#[test]
fn two_hundred_queued_calls_are_answered_after_stdin_closes() {
    let mut pipes = Pipes::initialized(&[]);
    let ids: Vec<i64> = (0..200)
        .map(|_| pipes.post("tools/call", json!({"name": "fixture_sleep", "arguments": {"ms": 50}})))
        .collect();
    let (messages, status) = pipes.finish();
    for id in ids {
        assert!(answered(&messages, id)["result"].is_object());
    }
    assert!(status.success());
}

#[test]
fn a_call_cancelled_before_the_end_is_not_waited_for() {
    let mut pipes = Pipes::initialized(&[]);
    let id = pipes.post("tools/call", json!({"name": "fixture_sleep", "arguments": {"ms": 50_000}}));
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let started = Instant::now();
    let (messages, status) = pipes.finish();
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(messages.iter().all(|message| message["id"] != id));
    assert!(status.success());
}

#[test]
fn signals_finish_the_calls_under_way_and_exit_0() {
    for name in ["TERM", "INT"] {
        let mut pipes = Pipes::initialized(&[]);
        let id = pipes.post(
            "tools/call",
            json!({
                "name": "fixture_sleep",
                "arguments": {"ms": 600, "steps": 3},
                "_meta": {"progressToken": 1},
            }),
        );
        assert_eq!(pipes.receive()["method"], "notifications/progress");
        signal(&pipes.child, name);
        pipes.log.wait_for("finishing the calls under way");
        let (messages, status) = pipes.rest();
        assert!(answered(&messages, id)["result"].is_object(), "{name}");
        assert_eq!(status.code(), Some(0), "{name}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut pipes = Pipes::initialized(&[]);
    pipes.post("tools/call", json!({"name": "fixture_sleep", "arguments": {"ms": 50_000}}));
    pipes.request("ping", json!({}));
    signal(&pipes.child, "TERM");
    pipes.log.wait_for("finishing the calls under way");
    signal(&pipes.child, "TERM");
    let started = Instant::now();
    let (_, status) = pipes.rest();
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(status.success());
}

#[test]
fn empty_input_exits_0_and_writes_nothing() {
    let (messages, status) = Pipes::start(&[]).finish();
    assert_eq!(messages, Vec::<Value>::new());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_last_line_without_end_is_answered() {
    let mut pipes = Pipes::initialized(&[]);
    pipes.write(br#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
    let (messages, status) = pipes.finish();
    assert!(answered(&messages, 7)["result"]["tools"].is_array());
    assert!(status.success());
}

#[test]
fn a_truncated_last_line_is_a_parse_error_and_exit_0() {
    let mut pipes = Pipes::initialized(&[]);
    pipes.write(br#"{"jsonrpc":"2.0","id":7,"meth"#);
    let (messages, status) = pipes.finish();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["error"]["code"], -32700);
    assert!(status.success());
}

/// Serves the fixtures in this process and returns what it wrote for `input`.
async fn serve(options: McpOptions, input: String) -> Vec<Value> {
    let table = ToolTable::new([fixtures::toolset(), fixtures::routed_toolset()]).unwrap();
    let (mut near, far) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(far);
    let serving = tokio::spawn(async move {
        stdio::serve(table, &options, reader, writer, CancellationToken::new()).await.unwrap();
    });
    near.write_all(input.as_bytes()).await.unwrap();
    near.shutdown().await.unwrap();
    let mut output = String::new();
    near.read_to_string(&mut output).await.unwrap();
    serving.await.unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn line(id: i64, method: &str, params: &Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

#[tokio::test]
async fn a_call_beyond_its_deadline_is_answered_in_the_style_of_its_toolset() {
    let options = McpOptions { call_deadline: Duration::from_millis(100), ..McpOptions::default() };
    let input = [
        line(1, "initialize", &initialize_params(LEGACY)),
        line(2, "tools/call", &json!({"name": "fixture_sleep", "arguments": {"ms": 60_000}})),
        line(3, "tools/call", &json!({"name": "routed_find", "arguments": {"query": "hang"}})),
    ];
    let messages = serve(options, input.concat()).await;
    let result = &answered(&messages, 2)["result"];
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["error"]["code"], "TIMEOUT");
    let error = &answered(&messages, 3)["error"];
    assert_eq!((error["code"].as_i64(), error["data"]["code"].as_str()), (Some(-32012), Some("TIMEOUT")));
}
