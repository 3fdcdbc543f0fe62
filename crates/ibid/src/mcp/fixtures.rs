//! Tools for tests: what the public conformance suite calls, and calls that are slow, large or broken.
//!
//! Offered only behind a hidden flag.

#![expect(
    clippy::unused_async,
    reason = "a tool is an async function, also where it has nothing to wait for"
)]

use std::{sync::Arc, time::Duration};

use ibid_api::{Error, ErrorCode, Result};
use ibid_tools::{
    Call, Envelope, ErrorStyle, JsonObject, Progress, RawAnswer, Route, Spec, Toolset, UnknownArguments,
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
        ProgressNotificationParam, ResourceContents, Tool,
    },
    service::RequestContext,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Calls of any duration, size and outcome, through the same table as every other tool.
pub fn toolset() -> Toolset {
    Toolset::build("fixtures", ())
        .instructions("Tools for tests.")
        .tool_with_call(
            Spec::read("fixture_sleep", "Sleep", "Takes its time, reporting progress step by step.")
                .examples(&[r#"{"ms":1,"steps":2}"#]),
            |(), input, call| sleep(input, call),
        )
        .tool(
            Spec::read("fixture_repeat", "Repeat", "Returns as many bytes as asked for.")
                .examples(&[r#"{"bytes":3}"#]),
            |(), input| repeat(input),
        )
        .tool(Spec::read("fixture_fail", "Fail", "Fails as asked."), |(), input| fail(input))
        .tool(Spec::write("fixture_write", "Write", "Counts as a change."), |(), input| echo(input))
        .finish()
}

/// The same for a contract with HTTP routes, an envelope and JSON-RPC errors.
pub fn routed_toolset() -> Toolset {
    Toolset::build("routed", ())
        .errors(ErrorStyle::JsonRpc)
        .unknown_arguments(UnknownArguments::Ignore)
        .envelope(Envelope::DataAndWarnings)
        .argument_codes(&[("limit", ErrorCode::InvalidLimit)], ErrorCode::InvalidParameter)
        .tool(
            Spec::read("routed_find", "Find", "Returns its input.")
                .http(Route::post("/fixtures/find"))
                .examples(&[r#"{"query":"ibid","limit":3}"#]),
            |(), input| find(input),
        )
        .tool(
            Spec::read("routed_get", "Get", "Returns its input.")
                .http(Route::get("/fixtures/notes/{noteId}/{index}"))
                .parameter_aliases(&[("index", "chunk_index")])
                .examples(&[r#"{"note_id":"abc","chunk_index":2,"allow_large":true}"#]),
            |(), input| get(input),
        )
        .tool(
            Spec::read("routed_file", "File", "Returns a made-up file.")
                .http(Route::get("/fixtures/files/{*path}").raw(raw_file))
                .parameter_aliases(&[("path", "vault_relative_path")])
                .examples(&[r#"{"vault_relative_path":"a/b.txt"}"#]),
            |(), input| file(input),
        )
        .finish()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Sleep {
    /// How long to take, in milliseconds.
    ms: u64,
    /// In how many steps.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    steps: u32,
}

fn one() -> u32 {
    1
}

#[derive(Debug, Serialize, JsonSchema)]
struct Slept {
    /// How long it took.
    ms: u64,
}

async fn sleep(input: Sleep, call: Call) -> Result<Slept> {
    tracing::info!("fixture_sleep began");
    let witness = Witness;
    // The last report is not followed at once by the answer: some clients forget who asked for progress
    // when both arrive in one read.
    let pause = Duration::from_millis(input.ms / (u64::from(input.steps) + 1));
    for step in 1..=input.steps {
        tokio::time::sleep(pause).await;
        let progress = Progress {
            done: f64::from(step),
            total: Some(f64::from(input.steps)),
            message: Some(format!("step {step} of {}", input.steps)),
        };
        call.report(progress).await;
    }
    tokio::time::sleep(pause).await;
    std::mem::forget(witness);
    Ok(Slept { ms: input.ms })
}

/// Leaves a trace in the log if a call is dropped before its end.
struct Witness;

impl Drop for Witness {
    fn drop(&mut self) {
        tracing::warn!("fixture_sleep was called off");
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Repeat {
    /// How many bytes to return.
    bytes: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Repeated {
    /// The bytes.
    content: String,
}

async fn repeat(input: Repeat) -> Result<Repeated> {
    Ok(Repeated { content: "x".repeat(input.bytes as usize) })
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Panic,
    Error,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Fail {
    /// How to fail.
    outcome: Outcome,
}

async fn fail(input: Fail) -> Result<Empty> {
    match input.outcome {
        Outcome::Panic => panic!("a fixture was asked to panic"),
        Outcome::Error => Err(Error::new(ErrorCode::NoteNotFound, "there is no such note")),
    }
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Empty {}

async fn echo(input: Empty) -> Result<Empty> {
    Ok(input)
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Find {
    /// What to look for; `fail` fails and `hang` never ends.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// How many to return.
    #[serde(default)]
    #[schemars(range(min = 0, max = 50))]
    limit: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    query: String,
    limit: u32,
    warnings: Vec<String>,
}

async fn find(input: Find) -> Result<Found> {
    if input.query == "fail" {
        return Err(Error::new(ErrorCode::IndexIncompatible, "the index must be rebuilt"));
    }
    if input.query == "hang" {
        std::future::pending::<()>().await;
    }
    Ok(Found { query: input.query, limit: input.limit, warnings: vec!["made up".to_owned()] })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Get {
    /// Which note.
    note_id: String,
    /// Which part of it.
    chunk_index: u32,
    /// Whether it may be large.
    #[serde(default)]
    allow_large: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Got {
    note_id: String,
    chunk_index: u32,
    allow_large: bool,
    warnings: Vec<String>,
}

async fn get(input: Get) -> Result<Got> {
    let Get { note_id, chunk_index, allow_large } = input;
    Ok(Got { note_id, chunk_index, allow_large, warnings: Vec::new() })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct File {
    /// Which file.
    vault_relative_path: String,
    /// Whether to return its content.
    #[serde(default)]
    download: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileReply {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    warnings: Vec<String>,
}

async fn file(input: File) -> Result<FileReply> {
    let content = input.download.then(|| format!("content of {}", input.vault_relative_path));
    Ok(FileReply { path: input.vault_relative_path, content, warnings: Vec::new() })
}

fn raw_file(reply: &Value) -> Option<RawAnswer> {
    let bytes = reply.get("content")?.as_str()?.as_bytes().to_vec();
    let path = reply.get("path")?.as_str()?;
    let file_name = path.rsplit('/').next().map(str::to_owned);
    Some(RawAnswer { content_type: "text/plain".to_owned(), file_name, bytes })
}

// What the conformance suite calls. Its tools return content blocks no table of ours has.

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const NAMES: [&str; 12] = [
    "json_schema_2020_12_tool",
    "test_audio_content",
    "test_custom_header",
    "test_embedded_resource",
    "test_error_handling",
    "test_image_content",
    "test_logging_tool",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_simple_text",
    "test_streaming_elicitation",
    "test_tool_with_progress",
];

pub(super) fn has(name: &str) -> bool {
    NAMES.contains(&name)
}

pub(super) fn tools() -> impl Iterator<Item = Tool> {
    NAMES.into_iter().map(|name| Tool::new(name, "For the conformance suite.", schema(name)))
}

fn schema(name: &str) -> Arc<JsonObject> {
    let schema = match name {
        "json_schema_2020_12_tool" => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                },
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        }),
        "test_custom_header" => json!({
            "type": "object",
            "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
            "required": ["value"],
        }),
        _ => json!({"type": "object", "properties": {}}),
    };
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let blocks = match request.name.as_ref() {
        "test_simple_text" => vec![ContentBlock::text("This is a simple text response for testing.")],
        "test_image_content" => vec![ContentBlock::image(PNG, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => vec![ContentBlock::resource(resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        ))],
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            ContentBlock::resource(resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            )),
        ],
        "test_error_handling" => {
            let text = ContentBlock::text("This tool intentionally returns an error for testing");
            return Ok(CallToolResult::error(vec![text]).into());
        }
        "test_tool_with_progress" => {
            for done in [0.0, 50.0, 100.0] {
                if let Some(token) = context.meta.get_progress_token() {
                    let progress = ProgressNotificationParam::new(token, done).with_total(100.0);
                    let _ = context.peer.notify_progress(progress).await;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            vec![ContentBlock::text("done")]
        }
        "test_missing_capability" => {
            missing_capability(context)?;
            vec![ContentBlock::text("done")]
        }
        "test_streaming_elicitation" => return elicitation(),
        _ => vec![ContentBlock::text("done")],
    };
    Ok(CallToolResult::success(blocks).into())
}

fn resource(uri: &str, mime_type: &str, text: &str) -> ResourceContents {
    ResourceContents::text(text, uri).with_mime_type(mime_type)
}

#[expect(deprecated, reason = "the suite asks for a capability that newer versions leave")]
fn missing_capability(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if context.client_capabilities().is_some_and(|capabilities| capabilities.sampling.is_some()) {
        return Ok(());
    }
    let wanted = ClientCapabilities::builder().enable_sampling().build();
    Err(ErrorData::missing_required_client_capability(wanted))
}

fn elicitation() -> Result<CallToolResponse, ErrorData> {
    let result = json!({
        "resultType": "input_required",
        "inputRequests": {
            "value": {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "message": "Provide a value",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {"value": {"type": "string"}},
                        "required": ["value"],
                    },
                },
            },
        },
    });
    serde_json::from_value(result)
        .map(CallToolResponse::InputRequired)
        .map_err(|_| ErrorData::internal_error("the fixture is malformed", None))
}
