//! Lets pages of listed origins read answers. Off unless origins are listed; never with credentials.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::Response,
};
use ibid_api::{Error, ErrorCode, Result};

/// Refuses what is not an explicit origin: scheme and host, perhaps a port, and nothing else.
pub fn check_origins(origins: &[String]) -> Result<()> {
    for origin in origins {
        let explicit = origin.parse::<Uri>().is_ok_and(|uri| {
            let scheme = uri.scheme_str().unwrap_or_default();
            let authority = uri.authority().map(Authority::as_str).unwrap_or_default();
            matches!(scheme, "http" | "https")
                && !authority.is_empty()
                && !authority.contains(['*', '@'])
                && origin.eq_ignore_ascii_case(&format!("{scheme}://{authority}"))
        });
        if !explicit {
            return Err(Error::new(ErrorCode::ConfigInvalid, "an allowed origin is not explicit")
                .with_hint("write it as `https://app.example`, without path and without `*`"));
        }
    }
    Ok(())
}

/// Answers preflights and marks answers as readable, for listed origins.
pub(super) async fn apply(State(origins): State<Arc<Vec<String>>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let listed = origin.filter(|origin| {
        origins.iter().any(|listed| listed.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    });
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &listed {
        Some(_) if preflight => preflight_answer(request.headers()),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    if let Some(origin) = listed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Content-Disposition",
            ),
        );
    }
    if !origins.is_empty() {
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

fn preflight_answer(asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE"),
    );
    // The origin is trusted by configuration, and MCP has headers named after arguments.
    if let Some(wanted) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(origin: &str, accepted: bool) {
        assert_eq!(check_origins(&[origin.to_owned()]).is_ok(), accepted, "{origin}");
    }

    #[test]
    fn only_explicit_origins_are_accepted() {
        for origin in ["https://app.example", "http://localhost:5173", "https://[::1]:8443"] {
            check(origin, true);
        }
        for origin in [
            "*",
            "https://*.example",
            "app.example",
            "https://app.example/",
            "https://app.example/path",
            "https://user@app.example",
            "null",
            "ftp://app.example",
            "",
        ] {
            check(origin, false);
        }
    }
}
