//! What leaves over plain HTTP: replies, raw bytes, and errors with an id to find them by in the log.

use std::{
    collections::hash_map::RandomState,
    fmt::Write,
    hash::{BuildHasher, Hasher},
};

use axum::{
    Json,
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use ibid_api::{Error, ErrorCode};
use ibid_tools::{Envelope, RawAnswer};
use serde_json::{Value, json};

/// A reply in the toolset's envelope.
pub(super) fn success(envelope: Envelope, mut reply: Value) -> Response {
    let body = match envelope {
        Envelope::Bare => reply,
        Envelope::DataAndWarnings => {
            let warnings = reply.as_object_mut().and_then(|reply| reply.shift_remove("warnings"));
            json!({ "data": reply, "warnings": warnings.unwrap_or_else(|| json!([])) })
        }
    };
    Json(body).into_response()
}

/// Bytes as they are, to be saved and never rendered.
pub(super) fn raw(answer: RawAnswer) -> Response {
    let mut response = Response::new(Body::from(answer.bytes));
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_str(&answer.content_type)
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let disposition = match &answer.file_name {
        Some(name) => disposition(name),
        None => "attachment".to_owned(),
    };
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}

/// `Content-Disposition` for any file name: a plain fallback, and the name itself as RFC 6266 has it.
fn disposition(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|character| match character {
            '"' | '\\' => '_',
            character if character.is_ascii_graphic() || character == ' ' => character,
            _ => '_',
        })
        .collect();
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

/// An error with the status of its code.
pub(super) fn error(error: &Error) -> Response {
    let status = StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    error_with_status(status, error)
}

/// An error with a status more exact than that of its code.
pub(super) fn error_with_status(status: StatusCode, error: &Error) -> Response {
    let request_id = request_id();
    tracing::info!(code = error.code.as_str(), status = status.as_u16(), request_id, "a request failed");
    let message = match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    };
    let mut details = match &error.details {
        Some(Value::Object(details)) => details.clone(),
        Some(other) => [("value".to_owned(), other.clone())].into_iter().collect(),
        None => serde_json::Map::new(),
    };
    details.insert("requestId".to_owned(), Value::String(request_id));
    let body = json!({ "error": { "code": error.code, "message": message, "details": details } });
    (status, Json(body)).into_response()
}

/// The answer to a path nobody serves.
pub(super) async fn not_found() -> Response {
    error(&Error::new(ErrorCode::NotFound, "there is nothing at this address"))
}

/// The answer where MCP would be.
pub(super) async fn no_mcp() -> Response {
    let error = Error::new(ErrorCode::NotFound, "MCP over HTTP is not enabled");
    self::error(&error.with_hint("start the server with `--mcp-enabled`, or set `mcp.enabled`"))
}

/// The answer to a method the path does not have.
pub(super) async fn method_not_allowed() -> Response {
    let error = Error::new(ErrorCode::InvalidRequest, "this address does not take this method");
    error_with_status(StatusCode::METHOD_NOT_ALLOWED, &error)
}

/// A random UUID. It names a request in the log and guards nothing.
fn request_id() -> String {
    // Every `RandomState` hashes with a key of its own.
    let random = || RandomState::new().build_hasher().finish();
    let bits = (u128::from(random()) << 64) | u128::from(random());
    let version_4 = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{version_4:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_version_4_uuids_and_differ() {
        let (first, second) = (request_id(), request_id());
        assert_ne!(first, second);
        for id in [first, second] {
            assert_eq!(id.len(), 36);
            assert_eq!(&id[14..15], "4");
            assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
        }
    }

    #[test]
    fn any_file_name_makes_a_valid_header() {
        assert_eq!(
            disposition("Größe \"1\".pdf"),
            "attachment; filename=\"Gr__e _1_.pdf\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.pdf"
        );
    }
}
