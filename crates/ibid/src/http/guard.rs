//! Keeps pages of other sites out: a request has to name this server as its host, and to come from no foreign
//! origin.

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, Uri, header, uri::Authority},
    middleware::Next,
    response::Response,
};
use ibid_api::{Error, ErrorCode};

use super::reply;

/// Which hosts and origins are this server's own.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    hosts: Vec<String>,
    /// Bound beyond loopback, any address is one of its own; a name never is unless listed, because a name
    /// can be made to point here.
    any_address: bool,
    origins: Vec<String>,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Whether a host to bind is reachable from this machine only.
pub fn is_loopback(host: &str) -> bool {
    LOOPBACK.contains(&bare(host).as_str())
}

impl Guard {
    pub(super) fn new(bound: &str, hosts: &[String], origins: &[String]) -> Self {
        let mut hosts: Vec<String> = hosts.iter().map(|host| host.trim().to_ascii_lowercase()).collect();
        hosts.extend(LOOPBACK.map(str::to_owned));
        hosts.push(bare(bound));
        Self { hosts, any_address: !is_loopback(bound), origins: origins.to_vec() }
    }

    fn host_is_own(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(header::HOST).iter();
        let authority = match (values.next(), values.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
            (None, None) => uri.authority().cloned(),
            _ => None,
        };
        authority.is_some_and(|authority| {
            let host = bare(authority.host());
            let with_port = authority.as_str().to_ascii_lowercase();
            self.hosts.iter().any(|own| *own == host || *own == with_port)
                || (self.any_address && host.parse::<IpAddr>().is_ok())
        })
    }

    fn origin_is_own(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(header::ORIGIN).iter();
        let origin = match (values.next(), values.next()) {
            (None, _) => return true,
            (Some(origin), None) => origin.to_str().unwrap_or_default(),
            (Some(_), Some(_)) => return false,
        };
        if self.origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let Ok(uri) = origin.parse::<Uri>() else { return false };
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        let Some(authority) = uri.authority().filter(|_| web) else { return false };
        let same = headers
            .get(header::HOST)
            .is_some_and(|host| host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes()));
        same || LOOPBACK.contains(&bare(authority.host()).as_str())
    }
}

fn bare(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
}

/// Refuses foreign hosts and origins, and notes every request in the log without its path's content.
pub(super) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let refused = |what: &str| {
        let error = Error::new(ErrorCode::Forbidden, format!("the {what} of the request is not allowed"));
        reply::error(&error)
    };
    if !guard.host_is_own(request.uri(), request.headers()) {
        return refused("Host");
    }
    if !guard.origin_is_own(request.headers()) {
        return refused("Origin");
    }
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let response = next.run(request).await;
    tracing::debug!(
        %method,
        route = route.as_deref().unwrap_or("none"),
        status = response.status().as_u16(),
        micros = started.elapsed().as_micros() as u64,
        "answered"
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), value.parse().unwrap());
        }
        headers
    }

    #[track_caller]
    fn host(bound: &str, listed: &[&str], host: &str, expected: bool) {
        let listed: Vec<String> = listed.iter().map(|&host| host.to_owned()).collect();
        let guard = Guard::new(bound, &listed, &[]);
        let headers = headers(&[(header::HOST, host)]);
        assert_eq!(guard.host_is_own(&Uri::from_static("/"), &headers), expected, "{bound} {host}");
    }

    #[test]
    fn on_loopback_only_loopback_names_and_listed_ones_pass() {
        for name in ["localhost", "LOCALHOST:8787", "127.0.0.1:1", "[::1]:8787", "[::1]"] {
            host("127.0.0.1", &[], name, true);
        }
        for name in
            ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil.example", "", "a b"]
        {
            host("127.0.0.1", &[], name, false);
        }
        host("127.0.0.1", &["kb.example"], "kb.example:8787", true);
        host("127.0.0.1", &["kb.example:8787"], "kb.example:8787", true);
        host("127.0.0.1", &["kb.example:8787"], "kb.example:1", false);
    }

    #[test]
    fn beyond_loopback_addresses_pass_and_names_do_not() {
        host("0.0.0.0", &[], "192.168.1.5:8787", true);
        host("0.0.0.0", &[], "[fe80::1]:8787", true);
        host("0.0.0.0", &[], "evil.example", false);
        host("kb.example", &[], "kb.example:8787", true);
    }

    #[test]
    fn a_request_names_exactly_one_host() {
        let guard = Guard::new("127.0.0.1", &[], &[]);
        let two = headers(&[(header::HOST, "localhost"), (header::HOST, "evil.example")]);
        assert!(!guard.host_is_own(&Uri::from_static("/"), &two));
        assert!(!guard.host_is_own(&Uri::from_static("/"), &HeaderMap::new()));
        assert!(guard.host_is_own(&Uri::from_static("http://localhost/"), &HeaderMap::new()));
    }

    #[track_caller]
    fn origin(origin: &str, expected: bool) {
        let guard = Guard::new("127.0.0.1", &[], &["https://app.example".to_owned()]);
        let headers = headers(&[(header::HOST, "kb.example:8787"), (header::ORIGIN, origin)]);
        assert_eq!(guard.origin_is_own(&headers), expected, "{origin}");
    }

    #[test]
    fn only_own_local_and_listed_origins_pass() {
        for own in ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:1", "http://kb.example:8787"]
        {
            origin(own, true);
        }
        origin("https://app.example", true);
        for foreign in [
            "https://evil.example",
            "http://app.example",
            "https://app.example:444",
            "http://kb.example",
            "http://localhost.evil.example",
            "null",
            "file://localhost",
            "",
        ] {
            origin(foreign, false);
        }
    }
}
