//! MCP over Streamable HTTP.
//!
//! Clients of the older era get sessions (or none, where the server is one of several behind a balancer);
//! those of the newer era are served without state. rmcp does the protocol; here every answer becomes JSON-RPC
//! and batches are taken apart.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
    routing::any,
};
use futures_util::StreamExt;
use ibid_tools::{ToolTable, Toolset};
use rmcp::{
    ErrorData,
    model::{ErrorCode, JsonRpcError, JsonRpcMessage, ProtocolVersion, RequestId},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    McpOptions, SUPPORTED, answer,
    message::{self, Parsed, Refused},
    server,
    under_way::{Answering, UnderWay},
    version,
};

/// How MCP is mounted on an HTTP server.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Where: the configured toolsets at this path, and each one below it under its name.
    pub path: String,
    /// Keep no sessions, so that any instance can answer any request.
    pub stateless: bool,
    /// The largest request body.
    pub max_body: usize,
    /// How long an unused session is kept.
    pub session_idle: Duration,
    /// What both transports need to know.
    pub options: McpOptions,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            stateless: false,
            max_body: 4 * 1024 * 1024,
            // An agent may think for hours, and most clients cannot open a session anew.
            session_idle: Duration::from_hours(24),
            options: McpOptions::default(),
        }
    }
}

/// More sessions than this at once are refused: a client that opens them and goes away must not fill memory.
const MAX_SESSIONS: usize = 1_000;

/// More messages than this in a batch are refused.
const MAX_BATCH: usize = 100;

/// The routes of the endpoint. Answers under way are counted in `answers`; `end` closes the streams that
/// would otherwise stay open for ever.
pub(crate) fn router(
    table: &Arc<ToolTable>,
    endpoint: &Endpoint,
    answers: &UnderWay,
    end: &CancellationToken,
) -> Router {
    let mount = |table: Arc<ToolTable>| {
        let front = Arc::new(Front::new(table, endpoint, answers.clone(), end));
        any(move |request: Request| {
            let front = front.clone();
            async move { front.answer(request).await }
        })
    };
    let path = endpoint.path.trim_end_matches('/');
    let whole = mount(table.clone());
    let mut router = Router::new().route(path, whole.clone()).route(&format!("{path}/"), whole);
    for name in table.toolsets().iter().map(Toolset::name) {
        if let Some(one) = table.only(name) {
            router = router.route(&format!("{path}/{name}"), mount(Arc::new(one)));
        }
    }
    router
}

struct Front {
    service: StreamableHttpService<server::Server, LocalSessionManager>,
    /// Stays empty where no sessions are kept.
    sessions: Arc<LocalSessionManager>,
    max_body: usize,
    answers: UnderWay,
}

impl Front {
    fn new(table: Arc<ToolTable>, endpoint: &Endpoint, answers: UnderWay, end: &CancellationToken) -> Self {
        let server = super::server(table, &endpoint.options);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(!endpoint.stateless)
            .with_json_response(true)
            // Priming events are newer than most clients of the older era, which take them for broken JSON.
            .with_sse_retry(None)
            .with_max_request_body_bytes(endpoint.max_body)
            .with_cancellation_token(end.child_token())
            // Hosts and origins are checked in front of every route.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(endpoint.session_idle);
        sessions.session_config.sse_retry = None;
        let sessions = Arc::new(sessions);
        let service = StreamableHttpService::new(move || Ok(server.clone()), sessions.clone(), config);
        Self { service, sessions, max_body: endpoint.max_body, answers }
    }

    async fn answer(&self, request: Request) -> Response {
        let result = match *request.method() {
            Method::POST => self.post(request).await,
            _ => Ok(self.forward(request, None).await),
        };
        result.unwrap_or_else(|refusal| *refusal)
    }

    async fn post(&self, request: Request) -> Result<Response, Box<Response>> {
        // Held until the answer is complete, also when it is a stream.
        let answering = self.answers.begin();
        let (mut parts, body) = request.into_parts();
        require_json(&parts.headers)?;
        accept_any(&mut parts.headers);
        let body = axum::body::to_bytes(body, self.max_body).await.map_err(|_| {
            let message = format!("the body is longer than {} bytes", self.max_body);
            refusal(StatusCode::PAYLOAD_TOO_LARGE, None, ErrorData::invalid_request(message, None))
        })?;
        let response = match message::parse(&body) {
            Ok(Parsed::One(message)) => {
                self.check(&parts.headers, &body).await?;
                let id = match *message {
                    JsonRpcMessage::Request(request) => Some(request.id),
                    _ => None,
                };
                self.forward(Request::from_parts(parts, Body::from(body)), id).await
            }
            Ok(Parsed::Batch(messages)) => self.batch(&parts, messages).await?,
            Err(Refused { id, error }) => {
                let Some(error) = error else { return Ok(empty(StatusCode::ACCEPTED)) };
                return Err(refusal(StatusCode::BAD_REQUEST, id, error));
            }
        };
        Ok(counted(response, answering))
    }

    /// Refuses versions rmcp would answer otherwise, and sessions beyond the limit.
    async fn check(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), Box<Response>> {
        let header = headers.get("mcp-protocol-version").map(|value| value.to_str().unwrap_or_default());
        let known = header.is_none_or(|header| SUPPORTED.iter().any(|version| version.as_str() == header));
        let is_initialize = contains(body, b"\"initialize\"");
        if known && !is_initialize {
            return Ok(());
        }
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        let meta = value.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        if value.get("method").is_none_or(|method| method != "initialize") {
            // With a version in the body, rmcp compares the two.
            return match header {
                Some(header) if !known && meta.is_none() => {
                    Err(refusal(StatusCode::BAD_REQUEST, id, version::unknown(header)))
                }
                _ => Ok(()),
            };
        }
        if meta.is_none() {
            let requested = value.pointer("/params/protocolVersion").unwrap_or(&Value::Null);
            let agreed = requested.as_str().map(version::negotiate);
            match agreed {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(refusal(StatusCode::BAD_REQUEST, id, error)),
                None => return Err(refusal(StatusCode::BAD_REQUEST, id, version::unsupported(requested))),
            }
        }
        if self.sessions.sessions.read().await.len() >= MAX_SESSIONS {
            let error =
                ErrorData::internal_error("too many sessions are open; end one or try again later", None);
            return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, id, error));
        }
        Ok(())
    }

    async fn forward(&self, request: Request, id: Option<RequestId>) -> Response {
        in_json(self.service.handle(request).await.map(Body::new), id).await
    }

    /// Answers the messages of a batch one after another, together.
    async fn batch(&self, parts: &Parts, messages: Vec<Value>) -> Result<Response, Box<Response>> {
        let header = parts.headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok());
        let allowed = header.is_none_or(|header| header <= ProtocolVersion::V_2025_03_26.as_str());
        if !allowed || messages.len() > MAX_BATCH {
            return Err(refusal(StatusCode::BAD_REQUEST, None, message::batch_refused()));
        }
        let mut answers = Vec::new();
        for message in messages {
            if message.get("method").is_some_and(|method| method == "initialize") {
                let error = ErrorData::invalid_request("`initialize` must not be part of a batch", None);
                return Err(refusal(StatusCode::BAD_REQUEST, None, error));
            }
            if let Err(Refused { id, error }) = message::from_value(message.clone()) {
                answers
                    .extend(error.and_then(|error| serde_json::to_value(JsonRpcError::new(id, error)).ok()));
                continue;
            }
            let mut one = Request::new(Body::from(message.to_string()));
            *one.method_mut() = Method::POST;
            *one.uri_mut() = parts.uri.clone();
            *one.headers_mut() = parts.headers.clone();
            one.headers_mut().remove(header::CONTENT_LENGTH);
            let response = self.forward(one, None).await;
            // Without its session none of them can be answered.
            if !response.status().is_success() {
                return Ok(response);
            }
            answers.extend(answer_of(response).await);
        }
        if answers.is_empty() {
            return Ok(empty(StatusCode::ACCEPTED));
        }
        Ok(json_response(StatusCode::OK, Value::Array(answers).to_string().into()))
    }
}

/// The JSON-RPC answer in a response, be it JSON or a stream of events.
async fn answer_of(response: Response) -> Option<Value> {
    let is_stream = is_event_stream(&response);
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.ok()?;
    if !is_stream {
        return serde_json::from_slice(&body).ok();
    }
    let text = std::str::from_utf8(&body).ok()?;
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok())
        .find(|message| message.get("result").is_some() || message.get("error").is_some())
}

fn require_json(headers: &HeaderMap) -> Result<(), Box<Response>> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if content_type.is_some_and(|value| value.to_ascii_lowercase().starts_with("application/json")) {
        return Ok(());
    }
    let error = ErrorData::invalid_request("the body must be sent as `application/json`", None);
    Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, error))
}

/// A client that takes anything takes both of the types the protocol has.
fn accept_any(headers: &mut HeaderMap) {
    let accept = headers.get(header::ACCEPT).map(|value| value.to_str().unwrap_or_default());
    if accept.is_none_or(|accept| accept.contains("*/*")) {
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
}

/// Turns rmcp's plain-text refusals into JSON-RPC errors, and restores codes it changed.
async fn in_json(response: Response, id: Option<RequestId>) -> Response {
    let status = response.status();
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if is_json && status == StatusCode::OK {
        return restored(response).await;
    }
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (code, message) = match status {
        StatusCode::BAD_REQUEST => {
            (ErrorCode::INVALID_REQUEST, "the request needs an `Mcp-Session-Id` header")
        }
        StatusCode::NOT_FOUND => {
            (ErrorCode::INVALID_REQUEST, "there is no such session; call `initialize` again")
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            (ErrorCode::INVALID_REQUEST, "this method is not offered here; use POST")
        }
        StatusCode::NOT_ACCEPTABLE => (
            ErrorCode::INVALID_REQUEST,
            "the client must accept both `application/json` and `text/event-stream`",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => (ErrorCode::INVALID_REQUEST, "the body is too long"),
        _ => (ErrorCode::INTERNAL_ERROR, "the request could not be served; the log has more"),
    };
    let allow = response.headers().get(header::ALLOW).cloned();
    let mut response = *refusal(status, id, ErrorData::new(code, message, None));
    if let Some(allow) = allow {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

async fn restored(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
        let error = ErrorData::internal_error("the answer could not be read", None);
        return *refusal(StatusCode::INTERNAL_SERVER_ERROR, None, error);
    };
    if contains(&bytes[..bytes.len().min(64)], b"\"error\"")
        && let Ok(mut error) = serde_json::from_slice::<JsonRpcError>(&bytes)
    {
        answer::restore_code(&mut error.error);
        if let Ok(bytes) = serde_json::to_vec(&error) {
            parts.headers.remove(header::CONTENT_LENGTH);
            return Response::from_parts(parts, Body::from(bytes));
        }
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// Keeps an answer counted until its last byte was taken, or whoever takes it is gone.
fn counted(response: Response, answering: Answering) -> Response {
    if !is_event_stream(&response) {
        // Whole already; the connection sees it through.
        return response;
    }
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |chunk| {
            let _ = &answering;
            chunk
        }))
    })
}

fn is_event_stream(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// Boxed, because it is what the fallible steps above return when they refuse.
#[expect(clippy::unnecessary_box_returns, reason = "every caller hands it on as a boxed error")]
fn refusal(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Box<Response> {
    let body = serde_json::to_vec(&JsonRpcError::new(id, error)).unwrap_or_default();
    Box::new(json_response(status, body.into()))
}

fn json_response(status: StatusCode, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
