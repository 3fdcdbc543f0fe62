//! Bearer keys, and the rule that a server beyond loopback has one.

use std::{
    fmt,
    io::{self, Read},
    sync::Arc,
};

use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ibid_api::{Error, ErrorCode, Result};
use serde_json::json;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{guard::is_loopback, reply};

/// The shortest key a server beyond loopback may have.
pub const MIN_KEY: usize = 32;

/// Keys that open a part of the server. Without any it is open.
#[derive(Clone, Default)]
pub struct Keys(Vec<[u8; 32]>);

impl Keys {
    /// From the keys themselves; empty ones do not count. Only their digests are kept.
    pub fn new<K: AsRef<str>>(keys: impl IntoIterator<Item = K>) -> Self {
        let keys = keys.into_iter().filter(|key| !key.as_ref().is_empty());
        Self(keys.map(|key| digest(key.as_ref().as_bytes())).collect())
    }

    /// Whether anyone may pass.
    pub fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares with every key, in a time that tells nothing about any of them.
    fn accept(&self, given: &[u8]) -> bool {
        let given = digest(given);
        self.0.iter().fold(subtle::Choice::from(0), |found, key| found | key.ct_eq(&given)).into()
    }
}

fn digest(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_open() { "Keys(unset)" } else { "Keys(set)" })
    }
}

/// What a server may do at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Reachable from this machine only; a key is optional.
    Loopback,
    /// Reachable from elsewhere, with a key.
    Guarded,
    /// Reachable from elsewhere without a key, because that was asked for. Worth a warning.
    Open,
}

/// Decides whether a server may listen at `host`. Beyond loopback it needs a key of at least [`MIN_KEY`]
/// characters, unless `open_allowed` says that none is wanted.
pub fn check_binding(host: &str, key: Option<&str>, open_allowed: bool) -> Result<Binding> {
    let key = key.filter(|key| !key.is_empty());
    match key {
        _ if is_loopback(host) => Ok(Binding::Loopback),
        Some(key) if key.chars().count() >= MIN_KEY => Ok(Binding::Guarded),
        Some(_) => {
            Err(Error::new(ErrorCode::ApiKeyRequired, "the key is too short to listen beyond this machine")
                .with_hint(format!("use one of at least {MIN_KEY} characters")))
        }
        None if open_allowed => Ok(Binding::Open),
        None => Err(Error::new(ErrorCode::ApiKeyRequired, "a key is required to listen beyond this machine")
            .with_hint(format!("configure one of at least {MIN_KEY} characters, or bind to 127.0.0.1"))),
    }
}

/// A new key: 32 random bytes as URL-safe base64.
pub fn generate_key() -> io::Result<String> {
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// How a refusal looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// As an error of the HTTP interface: 401 whatever was wrong.
    Http,
    /// As a JSON-RPC error, 401 whatever was wrong.
    Rpc,
    /// As a JSON-RPC error: 401 without a key, 403 with a wrong one.
    RpcTellingWrongFromMissing,
}

#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub(super) keys: Keys,
    pub(super) refusal: Refusal,
}

/// Lets a request with an accepted key pass.
pub(super) async fn check(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    if gate.keys.is_open() {
        return next.run(request).await;
    }
    match bearer(request.headers()) {
        Some(key) if gate.keys.accept(key) => next.run(request).await,
        given => refuse(gate.refusal, given.is_some()),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, key) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii()).filter(|key| !key.is_empty())
}

fn refuse(refusal: Refusal, given: bool) -> Response {
    let wrong = given && refusal == Refusal::RpcTellingWrongFromMissing;
    let (status, code) = match refusal {
        Refusal::Http => (StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized),
        _ if wrong => (StatusCode::FORBIDDEN, ErrorCode::AuthFailed),
        _ => (StatusCode::UNAUTHORIZED, ErrorCode::AuthRequired),
    };
    let error = Error::new(code, "a valid key is required; send it as `Authorization: Bearer KEY`");
    let mut response = if refusal == Refusal::Http {
        reply::error(&error)
    } else {
        let body = json!({
            "jsonrpc": "2.0",
            "error": {
                "code": code.rpc_code(),
                "message": error.message,
                "data": { "code": code, "errorCode": code },
            },
        });
        (status, Json(body)).into_response()
    };
    if status == StatusCode::UNAUTHORIZED {
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"ibid\""));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn only_a_whole_key_is_accepted() {
        let keys = Keys::new(["first", "", LONG]);
        assert!(keys.accept(b"first") && keys.accept(LONG.as_bytes()));
        for wrong in [b"" as &[u8], b"firs", b"first ", b"FIRST", &LONG.as_bytes()[1..]] {
            assert!(!keys.accept(wrong));
        }
        assert!(Keys::new([""]).is_open());
        assert!(!format!("{keys:?}").contains("first"));
    }

    #[track_caller]
    fn check_header(values: &[&str], expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        assert_eq!(bearer(&headers), expected.map(str::as_bytes), "{values:?}");
    }

    #[test]
    fn the_key_comes_from_one_bearer_header() {
        check_header(&["Bearer abc"], Some("abc"));
        check_header(&["bearer  abc "], Some("abc"));
        check_header(&["Bearer "], None);
        check_header(&["Basic abc"], None);
        check_header(&["abc"], None);
        check_header(&["Bearer a", "Bearer b"], None);
        check_header(&[], None);
    }

    #[track_caller]
    fn binding(host: &str, key: Option<&str>, open: bool, expected: Option<Binding>) {
        assert_eq!(check_binding(host, key, open).ok(), expected, "{host} {key:?}");
    }

    #[test]
    fn beyond_loopback_a_long_key_is_required() {
        for host in ["127.0.0.1", "localhost", "::1", "[::1]"] {
            binding(host, None, false, Some(Binding::Loopback));
        }
        for host in ["0.0.0.0", "::", "192.168.0.1", "127.0.0.2", "kb.example"] {
            binding(host, None, false, None);
            binding(host, Some("short"), false, None);
            binding(host, Some("short"), true, None);
            binding(host, Some(LONG), false, Some(Binding::Guarded));
            binding(host, None, true, Some(Binding::Open));
        }
    }

    #[test]
    fn generated_keys_are_long_enough_and_differ() {
        let (first, second) = (generate_key().unwrap(), generate_key().unwrap());
        assert!(first.len() >= MIN_KEY && first != second);
    }
}
