//! The routes toolsets declare, and one route by which any tool can be called.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Body,
    extract::{Path, Query, Request, State},
    http::{StatusCode, header},
    response::Response,
    routing::{MethodFilter, get, on},
};
use futures_util::FutureExt;
use ibid_api::{Error, ErrorCode};
use ibid_tools::{Call, JsonObject, Method, Tool, ToolTable, coerce};
use serde_json::{Value, json};

use super::reply;

/// How requests to tools are bounded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) body: usize,
    pub(super) deadline: Duration,
}

/// The routes of every tool that has one, and `/api/v1/tools`.
pub(super) fn routes(table: &Arc<ToolTable>, limits: Limits) -> Router {
    let mut router = Router::new();
    for tool in table.tools() {
        let Some(route) = tool.spec.http else { continue };
        let filter = match route.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Patch => MethodFilter::PATCH,
            Method::Delete => MethodFilter::DELETE,
        };
        let tool = tool.clone();
        let handler = async move |path: Path<HashMap<String, String>>,
                                  query: Query<Vec<(String, String)>>,
                                  request: Request| {
            let Path(path) = path;
            let Query(query) = query;
            by_route(&tool, limits, path.into_iter().chain(query), request).await
        };
        router = router.route(route.path, on(filter, handler));
    }
    let by_name = Router::new()
        .route(
            "/api/v1/tools",
            get(async |State(table): State<Arc<ToolTable>>| Json(json!({ "tools": table.describe() }))),
        )
        .route(
            "/api/v1/tools/{tool}",
            on(
                MethodFilter::POST,
                async move |State(table): State<Arc<ToolTable>>,
                            Path(name): Path<String>,
                            request: Request| {
                    by_name(&table, &name, limits, request).await
                },
            ),
        )
        .with_state(table.clone());
    router.merge(by_name)
}

async fn by_route(
    tool: &Tool,
    limits: Limits,
    pairs: impl Iterator<Item = (String, String)>,
    request: Request,
) -> Response {
    let mut arguments = match coerce::arguments(tool, pairs) {
        Ok(arguments) => arguments,
        Err(error) => return reply::error(&error),
    };
    match body(request, limits.body).await {
        Ok(body) => arguments.extend(body),
        Err(response) => return *response,
    }
    let value = match call(tool, arguments, limits.deadline).await {
        Ok(value) => value,
        Err(error) => return reply::error(&error),
    };
    let raw = tool.spec.http.and_then(|route| route.raw).and_then(|raw| raw(&value));
    match raw {
        Some(answer) => reply::raw(answer),
        None => reply::success(tool.envelope(), value),
    }
}

/// The reply itself, without envelope: what MCP has as structured content.
async fn by_name(table: &ToolTable, name: &str, limits: Limits, request: Request) -> Response {
    let Some(tool) = table.get(name) else {
        return reply::error_with_status(StatusCode::NOT_FOUND, &table.unknown_tool(name));
    };
    let arguments = match body(request, limits.body).await {
        Ok(arguments) => arguments,
        Err(response) => return *response,
    };
    match call(tool, arguments, limits.deadline).await {
        Ok(value) => reply::success(ibid_tools::Envelope::Bare, value),
        Err(error) => reply::error(&error),
    }
}

async fn call(tool: &Tool, arguments: JsonObject, deadline: Duration) -> Result<Value, Error> {
    // A client that goes away drops this future, and with it the work.
    let work = AssertUnwindSafe(tool.call(arguments, Call::detached())).catch_unwind();
    match tokio::time::timeout(deadline, work).await {
        Ok(Ok(outcome)) => outcome.map_err(|failure| failure.error),
        Ok(Err(_panic)) => {
            tracing::error!(tool = tool.spec.name, "a tool panicked");
            Err(Error::internal())
        }
        Err(_elapsed) => {
            Err(Error::new(ErrorCode::Timeout, format!("`{}` took longer than allowed", tool.spec.name))
                .with_hint("ask for less at once, or try again later"))
        }
    }
}

/// The JSON object in the body; an empty body is an empty object.
pub(super) async fn body(request: Request, limit: usize) -> Result<JsonObject, Box<Response>> {
    let refuse = |status: StatusCode, message: String| {
        Box::new(reply::error_with_status(status, &Error::new(ErrorCode::InvalidRequest, message)))
    };
    let is_json = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("application/json"));
    let bytes = read(request.into_body(), limit).await.map_err(|()| {
        refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is longer than {limit} bytes"))
    })?;
    if bytes.is_empty() {
        return Ok(JsonObject::new());
    }
    // A page can send other types across origins without asking first.
    if !is_json {
        let message = "the body must be sent as `application/json`".to_owned();
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    serde_json::from_slice(&bytes)
        .map_err(|_| refuse(StatusCode::BAD_REQUEST, "the body must be a JSON object in UTF-8".to_owned()))
}

async fn read(body: Body, limit: usize) -> Result<axum::body::Bytes, ()> {
    axum::body::to_bytes(body, limit).await.map_err(|_| ())
}
