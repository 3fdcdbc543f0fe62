//! MCP over pipes: what every message is answered with.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{MODERN, Pipes, modern};

#[track_caller]
fn error(answer: &Value, code: i64, part: &str) {
    assert_eq!(answer["error"]["code"], code, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(part), "{part:?} in {message:?}");
}

#[test]
fn a_panicking_tool_is_answered_and_the_server_lives_on() {
    let mut pipes = Pipes::initialized(&[]);
    let answer = pipes.call("fixture_fail", json!({"outcome": "panic"}));
    error(&answer, -32603, "fixture_fail");
    let answer = pipes.call("fixture_sleep", json!({"ms": 1}));
    assert_eq!(answer["result"]["structuredContent"], json!({"ms": 1}));
}

#[test]
fn a_failing_tool_is_a_result_the_model_can_read() {
    let mut pipes = Pipes::initialized(&[]);
    let result = pipes.call("fixture_fail", json!({"outcome": "error"}))["result"].clone();
    assert_eq!(
        result,
        json!({
            "content": [{"type": "text", "text": "there is no such note"}],
            "structuredContent": {"error": {"code": "NOTE_NOT_FOUND", "message": "there is no such note"}},
            "isError": true,
        })
    );
}

#[test]
fn where_replies_have_a_status_a_bad_argument_is_text_only() {
    let mut pipes = Pipes::initialized(&[]);
    let result = pipes.call("get_kb_info", json!({"query": "x"}))["result"].clone();
    assert_eq!(result["isError"], true);
    assert!(result.get("structuredContent").is_none(), "clients hold it against the output schema");
    assert!(result["content"][0]["text"].as_str().unwrap().starts_with("`query` is not an argument"));
}

#[test]
fn a_contract_with_rpc_errors_gets_its_codes_in_both_eras() {
    let mut pipes = Pipes::initialized(&[]);
    let arguments = json!({"name": "routed_find", "arguments": {"query": "fail"}});
    for params in [arguments.clone(), modern(arguments, MODERN)] {
        let answer = pipes.request("tools/call", params);
        error(&answer, -32002, "rebuilt");
        assert_eq!(answer["error"]["data"]["code"], "INDEX_INCOMPATIBLE");
        assert_eq!(answer["error"]["data"]["errorCode"], "INDEX_INCOMPATIBLE");
    }
    let answer = pipes.call("routed_find", json!({"query": "a", "limit": 99}));
    error(&answer, -32000, "`limit` must be from 0 to 50");
    assert_eq!(answer["error"]["data"]["errorCode"], "INVALID_LIMIT");
    let answer = pipes.call("routed_find", json!({"query": 1}));
    error(&answer, -32602, "`query` must be a string");
    let answer = pipes.call("routed_find", json!({"query": "a", "unheard_of": 1}));
    assert_eq!(answer["result"]["structuredContent"]["query"], "a");
}

#[test]
fn bad_arguments_are_named_with_rule_and_example() {
    let mut pipes = Pipes::initialized(&[]);
    for (arguments, part) in [
        (json!({}), "`ms` is required and must be an integer"),
        (json!({"ms": "1"}), "`ms` must be an integer, not a string"),
        (json!({"ms": 1, "steps": 0}), "`steps` must be from 1 to 1000"),
        (json!({"ms": 1, "step": 2}), "`step` is not an argument; did you mean `steps`?"),
    ] {
        let result = pipes.call("fixture_sleep", arguments)["result"].clone();
        assert_eq!(result["isError"], true);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(part), "{part:?} in {text:?}");
        assert!(text.contains(r#"{"ms":1,"steps":2}"#), "{text:?}");
    }
}

#[test]
fn malformed_requests_are_answered_with_the_code_that_fits() {
    let mut pipes = Pipes::initialized(&[]);
    error(&pipes.request("tools/call", json!({})), -32602, "tools/call");
    error(&pipes.request("tools/call", json!({"name": 7})), -32602, "tools/call");
    error(&pipes.request("tools/call", json!([])), -32602, "parameters");
    error(
        &pipes.request("tools/call", json!({"name": "fixture_slep"})),
        -32602,
        "did you mean `fixture_sleep`?",
    );
    error(&pipes.request("tools/list", json!({"cursor": "x"})), -32602, "cursor");
    error(&pipes.request("no/such/method", json!({})), -32601, "no/such/method");
}

#[test]
fn only_what_is_declared_answers() {
    let mut pipes = Pipes::start(&[]);
    let answer = pipes.initialize("2025-06-18");
    assert_eq!(answer["result"]["capabilities"], json!({"tools": {}}));
    for (method, params) in [
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "x"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "x:y"})),
        ("resources/subscribe", json!({"uri": "x:y"})),
        ("logging/setLevel", json!({"level": "info"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "x", "value": ""}}),
        ),
        ("tasks/get", json!({"taskId": "x"})),
    ] {
        error(&pipes.request(method, params), -32601, "");
    }
    assert_eq!(pipes.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn bytes_that_are_no_message_are_answered_and_the_next_line_is_read() {
    let mut pipes = Pipes::initialized(&[]);
    for bytes in [
        b"nonsense\n" as &[u8],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}\n",
        b"\xff\xfe\xfd\n",
    ] {
        pipes.write(bytes);
        let answer = pipes.receive();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        assert!(answer.get("id").is_none());
    }
    pipes.write(b"\n  \r\n[]\n");
    assert_eq!(pipes.receive()["error"]["code"], -32600);
    pipes.write(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n");
    assert_eq!(pipes.receive()["error"]["code"], -32600);
    pipes.write(b"{\"id\":4,\"method\":\"ping\"}\n");
    assert_eq!(pipes.answer(4)["error"]["code"], -32600);
    pipes.write(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r\n");
    assert_eq!(pipes.answer(5)["result"], json!({}));
}

#[test]
fn an_oversized_message_is_answered_to_its_sender() {
    let mut pipes = Pipes::initialized(&[]);
    let filler = "x".repeat(17 * 1024 * 1024);
    let message = json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": filler}, "id": 41});
    pipes.send(&message);
    error(&pipes.answer(41), -32600, "longer than 16777216 bytes");
    assert_eq!(pipes.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn a_notification_may_come_first() {
    let mut pipes = Pipes::start(&[]);
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {"x": 1}}));
    assert!(pipes.initialize("2025-11-25")["result"].is_object());
}

#[test]
fn a_second_request_with_a_running_id_is_refused() {
    let mut pipes = Pipes::initialized(&[]);
    let call = json!({
        "jsonrpc": "2.0",
        "id": 9,
        "method": "tools/call",
        "params": {"name": "fixture_sleep", "arguments": {"ms": 300}},
    });
    pipes.send(&call);
    pipes.send(&call);
    error(&pipes.answer(9), -32600, "still running");
    assert!(pipes.answer(9)["result"].is_object());
    pipes.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}));
    assert!(pipes.answer(9)["result"].is_object(), "an id is free again once answered");
}

#[test]
fn a_cancelled_call_stops_and_is_not_answered() {
    let mut pipes = Pipes::initialized(&[]);
    let id = pipes.post("tools/call", json!({"name": "fixture_sleep", "arguments": {"ms": 50_000}}));
    pipes.request("ping", json!({}));
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    pipes.log.wait_for("fixture_sleep was called off");
    let (messages, _) = pipes.finish();
    assert_eq!(messages, Vec::<Value>::new());
}

#[test]
fn progress_is_sent_only_when_asked_for() {
    let mut pipes = Pipes::initialized(&[]);
    let id = pipes.post("tools/call", json!({"name": "fixture_sleep", "arguments": {"ms": 20, "steps": 4}}));
    assert_eq!(pipes.receive()["id"], id, "the answer is the first message");
    let params = json!({
        "name": "fixture_sleep",
        "arguments": {"ms": 20, "steps": 2},
        "_meta": {"progressToken": "token"},
    });
    let id = pipes.post("tools/call", params);
    for step in [1, 2] {
        assert_eq!(
            pipes.receive()["params"],
            json!({
                "progressToken": "token",
                "progress": f64::from(step),
                "total": 2.0,
                "message": format!("step {step} of 2"),
            })
        );
    }
    assert_eq!(pipes.receive()["id"], id);
}

#[test]
fn the_list_is_sorted_the_same_every_time_and_may_be_kept() {
    let mut pipes = Pipes::initialized(&[]);
    let first = pipes.request("tools/list", json!({}))["result"].clone();
    let names: Vec<&str> =
        first["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted());
    assert!(names.contains(&"get_kb_info"));
    pipes.call("fixture_write", json!({}));
    assert_eq!(pipes.request("tools/list", json!({}))["result"], first);
    assert!(first.get("ttlMs").is_none(), "the older era knows no cache hints");

    let listed = pipes.request("tools/list", modern(json!({}), MODERN))["result"].clone();
    assert_eq!(listed["tools"], first["tools"]);
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(3_600_000), &json!("private")));
    assert_eq!(listed["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ibid");
}

#[test]
fn every_schema_is_one_that_clients_take() {
    let mut pipes = Pipes::start_bare(&[]);
    pipes.initialize("2025-11-25");
    let list = pipes.request("tools/list", json!({}));
    for tool in list["result"]["tools"].as_array().unwrap() {
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            assert_eq!(schema["type"], "object", "{tool}");
            assert!(!schema.to_string().contains("$ref"), "{tool}");
            for combinator in ["anyOf", "oneOf", "allOf", "not", "if"] {
                assert!(schema.get(combinator).is_none(), "{tool}");
            }
        }
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{tool}");
        }
    }
}

#[test]
fn tools_are_selected_by_flags() {
    let names = |arguments: &[&str]| -> Vec<String> {
        let mut pipes = Pipes::start_bare(arguments);
        pipes.initialize("2025-11-25");
        let list = pipes.request("tools/list", json!({}));
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let text = ["get_kb_content", "get_kb_info"];
    assert_eq!(names(&["--toolsets", "text"]), text);
    assert_eq!(names(&["--toolsets", "text", "--read-only"]), text);
    assert_eq!(names(&["--toolsets", "text", "--tools", "get_kb_info"]), text[1..]);
    assert_eq!(names(&["--toolsets", "text", "--exclude-tools", "get_kb_info"]), text[..1]);
}

#[test]
fn a_thousand_calls_in_a_row_are_answered() {
    let mut pipes = Pipes::initialized(&[]);
    for _ in 0..1000 {
        let answer = pipes.call("fixture_repeat", json!({"bytes": 3}));
        assert_eq!(answer["result"]["structuredContent"]["content"], "xxx");
    }
}

#[test]
fn sixty_four_calls_at_once_are_all_answered_at_once() {
    let mut pipes = Pipes::initialized(&[]);
    let started = std::time::Instant::now();
    let mut open: BTreeSet<i64> = (0..64)
        .map(|_| pipes.post("tools/call", json!({"name": "fixture_sleep", "arguments": {"ms": 500}})))
        .collect();
    while !open.is_empty() {
        let answer = pipes.receive();
        assert!(answer["result"].is_object(), "{answer}");
        assert!(open.remove(&answer["id"].as_i64().unwrap()));
    }
    assert!(started.elapsed().as_secs() < 20, "one after another they take 32 seconds");
}

#[test]
fn an_answer_of_twenty_megabytes_arrives_whole() {
    let mut pipes = Pipes::initialized(&[]);
    let bytes = 20 * 1024 * 1024;
    let answer = pipes.call("fixture_repeat", json!({"bytes": bytes}));
    let content = answer["result"]["structuredContent"]["content"].as_str().unwrap();
    assert_eq!(content.len(), bytes);
    let text: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, answer["result"]["structuredContent"]);
}

#[test]
fn two_servers_on_one_file_do_not_disturb_each_other() {
    let mut first = Pipes::initialized(&[]);
    let mut second = Pipes::initialized(&[]);
    let one = first.post("tools/call", json!({"name": "fixture_sleep", "arguments": {"ms": 100}}));
    let other = second.call("fixture_sleep", json!({"ms": 1}));
    assert_eq!(other["result"]["structuredContent"], json!({"ms": 1}));
    assert_eq!(first.answer(one)["result"]["structuredContent"], json!({"ms": 100}));
}
