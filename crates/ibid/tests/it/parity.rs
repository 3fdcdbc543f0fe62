//! Every tool's example gives the same JSON over every surface.

use std::fs;

use ibid::mcp::fixtures;
use ibid_tools::{Call, JsonObject, ToolTable, text};
use serde_json::{Value, json};

use crate::harness::{Pipes, Request, Server, printed};

#[tokio::test]
async fn every_example_gives_the_same_json_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kb.txt");
    fs::write(&file, "Größe\n").unwrap();
    let path = file.to_str().unwrap();

    let toolsets = [
        text::toolset(text::TextConfig::new(Some(file.clone()))),
        fixtures::toolset(),
        fixtures::routed_toolset(),
    ];
    let table = ToolTable::new(toolsets).unwrap();
    let mut pipes = Pipes::initialized(&["--kb-file", path]);
    let server = Server::start(&["--kb-file", path]);
    let mut session = server.session("/mcp");
    let mut compared = 0;
    for tool in table.tools() {
        for example in tool.spec.examples {
            let name = tool.spec.name;
            let arguments: JsonObject = serde_json::from_str(example).unwrap();
            let expected = tool.call(arguments.clone(), Call::detached()).await.unwrap();
            let arguments = Value::Object(arguments);

            let params = json!({"name": name, "arguments": arguments});
            let surfaces = [
                ("stdio", pipes.request("tools/call", params.clone())["result"].clone()),
                ("session", session.request("tools/call", &params)["result"].clone()),
                (
                    "modern",
                    Request::modern("/mcp", "tools/call", params).send(&server).json()["result"].clone(),
                ),
            ];
            for (surface, result) in surfaces {
                assert_eq!(result["structuredContent"], expected, "{name} over {surface}");
                let text = result["content"][0]["text"].as_str().unwrap();
                assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected, "{name} over {surface}");
            }
            let reply = server.post(&format!("/api/v1/tools/{name}"), &arguments);
            assert_eq!(reply.json(), expected, "{name} over HTTP");
            // The command line does not offer the fixtures.
            if !matches!(tool.toolset(), "fixtures" | "routed") {
                let answer = printed(&["call", "--kb-file", path, name, "--json", example]);
                assert_eq!(answer, expected, "{name} on the command line");
            }
            compared += 1;
        }
    }
    assert!(compared >= table.toolsets().len(), "every toolset has examples");
}
