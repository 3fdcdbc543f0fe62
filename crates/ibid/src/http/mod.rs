//! The HTTP server: the routes of the toolsets, MCP where enabled, and whatever else is handed in, all behind
//! the same checks. Only this folder and `mcp/http.rs` know axum.

pub mod auth;
mod cors;
mod guard;
mod reply;
mod tools;
pub mod vault;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, middleware, routing::any, serve::ListenerExt};
use ibid_api::{Error, ErrorCode, Result};
use ibid_tools::ToolTable;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use auth::Keys;
pub use cors::check_origins;
pub use guard::is_loopback;

use crate::mcp::{self, UnderWay, http::Endpoint, stdio::Signals};

/// What is served.
#[derive(Debug, Default)]
pub struct AppState {
    /// The tools: their routes, and the MCP endpoint.
    pub tools: ToolTable,
    /// Further routes, under the same checks as the tools' own.
    pub routes: Router,
    /// Routes that have a secret of their own instead of the server's key.
    pub keyless_routes: Router,
}

/// How it is served.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Address or name to bind.
    pub host: String,
    /// Port to bind; 0 takes any free one.
    pub port: u16,
    /// Keys of everything but MCP.
    pub keys: Keys,
    /// Keys of MCP.
    pub mcp_keys: Keys,
    /// Answer a wrong MCP key with 403 instead of 401.
    pub wrong_mcp_key_is_forbidden: bool,
    /// Further names under which this server may be addressed.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may read answers.
    pub allowed_origins: Vec<String>,
    /// MCP, if it is offered.
    pub mcp: Option<Endpoint>,
    /// Where it would be if it were, so that a client can be told.
    pub mcp_path: String,
    /// The largest JSON body of a tool's route.
    pub max_body: usize,
    /// How long a tool may take over its HTTP route.
    pub call_deadline: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 8787,
            keys: Keys::default(),
            mcp_keys: Keys::default(),
            wrong_mcp_key_is_forbidden: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            mcp: None,
            mcp_path: "/mcp".to_owned(),
            max_body: 64 * 1024,
            call_deadline: Duration::from_mins(1),
        }
    }
}

/// Paths that belong to HTTP interfaces; MCP can neither take them nor lie under them.
const RESERVED: [&str; 11] = [
    "/search",
    "/notes",
    "/chunks",
    "/attachments",
    "/related",
    "/health",
    "/index",
    "/reindex",
    "/status",
    "/sync",
    "/api",
];

/// Refuses paths where MCP cannot be mounted.
pub fn check_mcp_path(path: &str) -> Result<()> {
    let taken = RESERVED.iter().find(|reserved| {
        path.strip_prefix(**reserved).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let hint = match taken {
        Some(taken) => format!("`{taken}` belongs to the HTTP interface; choose another, such as `/mcp`"),
        None if !path.starts_with('/') => "it must start with `/`".to_owned(),
        None if path.trim_end_matches('/').is_empty() => "it must name something, such as `/mcp`".to_owned(),
        None if path.split('/').any(|part| part == "." || part == "..") || path.contains("//") => {
            "it must not contain `.`, `..` or empty parts".to_owned()
        }
        None if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte)) => {
            "it may have letters, digits and `/ - . _ ~` only".to_owned()
        }
        None => return Ok(()),
    };
    Err(Error::new(ErrorCode::ConfigInvalid, "the path of the MCP endpoint cannot be used").with_hint(hint))
}

/// Serves until SIGINT or SIGTERM, then finishes what was begun. `listening` is told the address.
pub async fn serve(state: AppState, options: ServeOptions, listening: impl FnOnce(SocketAddr)) -> Result<()> {
    let mut signals = Signals::new().map_err(|error| {
        tracing::error!(%error, "no signals");
        Error::internal()
    })?;
    let stop = CancellationToken::new();
    let serving = serve_until(state, options, stop.clone(), listening);
    tokio::pin!(serving);
    tokio::select! {
        result = &mut serving => return result,
        () = signals.next() => stop.cancel(),
    }
    tracing::info!("finishing the requests under way");
    tokio::select! {
        result = serving => result,
        // A second signal means now.
        () = signals.next() => Ok(()),
    }
}

/// Serves until `stop` is cancelled, then finishes what was begun, for as long as a call may take.
pub async fn serve_until(
    state: AppState,
    options: ServeOptions,
    stop: CancellationToken,
    listening: impl FnOnce(SocketAddr),
) -> Result<()> {
    check_mcp_path(options.mcp.as_ref().map_or(&options.mcp_path, |endpoint| &endpoint.path))?;
    check_origins(&options.allowed_origins)?;
    let listener = TcpListener::bind((options.host.as_str(), options.port)).await.map_err(|error| {
        tracing::error!(%error, "cannot listen");
        let message = format!("cannot listen on port {} of `{}`", options.port, options.host);
        Error::new(ErrorCode::ServerUnavailable, message)
            .with_hint("choose another with `--host` and `--port`")
    })?;
    let address = listener.local_addr().map_err(|_| Error::internal())?;
    let (answers, end) = (UnderWay::default(), CancellationToken::new());
    let router = router(state, &options, &answers, &end);
    listening(address);
    // Without this, every event of a stream waits for a delayed acknowledgement.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
    });
    let deadline = options.mcp.as_ref().map_or(options.call_deadline, |endpoint| {
        endpoint.options.drain_deadline().max(options.call_deadline)
    });
    let serving = {
        let stop = stop.clone();
        axum::serve(listener, router).with_graceful_shutdown(async move { stop.cancelled().await })
    };
    let draining = async {
        stop.cancelled().await;
        let _ = tokio::time::timeout(deadline, answers.none_left()).await;
        // Streams that wait for something to happen would keep their connections for ever.
        end.cancel();
        tokio::time::sleep(Duration::from_secs(5)).await;
        tracing::warn!("some connections did not end in time");
    };
    tokio::select! {
        result = serving => result.map_err(|error| {
            tracing::error!(%error, "the server ended early");
            Error::internal()
        }),
        () = draining => Ok(()),
    }
}

fn router(state: AppState, options: &ServeOptions, answers: &UnderWay, end: &CancellationToken) -> Router {
    let table = Arc::new(state.tools);
    let gate = |keys: &Keys, refusal| Arc::new(auth::Gate { keys: keys.clone(), refusal });
    let limits = tools::Limits { body: options.max_body, deadline: options.call_deadline };
    // `route_layer` leaves unknown addresses at 404, so that clients looking for OAuth metadata find none.
    let mut router = tools::routes(&table, limits)
        .merge(state.routes)
        .route_layer(middleware::from_fn_with_state(gate(&options.keys, auth::Refusal::Http), auth::check))
        .merge(state.keyless_routes);
    if let Some(endpoint) = &options.mcp {
        let refusal = if options.wrong_mcp_key_is_forbidden {
            auth::Refusal::RpcTellingWrongFromMissing
        } else {
            auth::Refusal::Rpc
        };
        let mounted = mcp::http::router(&table, endpoint, answers, end)
            .route_layer(middleware::from_fn_with_state(gate(&options.mcp_keys, refusal), auth::check));
        router = router.merge(mounted);
    } else {
        let below = format!("{}/{{toolset}}", options.mcp_path.trim_end_matches('/'));
        router = router.route(&options.mcp_path, any(reply::no_mcp)).route(&below, any(reply::no_mcp));
    }
    let guard = guard::Guard::new(&options.host, &options.allowed_hosts, &options.allowed_origins);
    router
        .fallback(reply::not_found)
        .method_not_allowed_fallback(reply::method_not_allowed)
        .layer(middleware::from_fn_with_state(Arc::new(options.allowed_origins.clone()), cors::apply))
        .layer(middleware::from_fn_with_state(Arc::new(guard), guard::check))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, accepted: bool) {
        assert_eq!(check_mcp_path(path).is_ok(), accepted, "{path:?}");
    }

    #[test]
    fn mcp_keeps_off_the_paths_of_the_http_interface() {
        for path in ["/mcp", "/mcp/", "/tools/mcp", "/searching", "/statusmcp", "/v1/search"] {
            check(path, true);
        }
        for path in [
            "",
            "mcp",
            "/",
            "//",
            "/search",
            "/search/",
            "/notes/mcp",
            "/health",
            "/sync/x",
            "/api/v1",
            "/a/../b",
            "/a\0b",
            "/a//b",
            "/{x}",
            "/*x",
            "/mcp?x",
            "/m c p",
        ] {
            check(path, false);
        }
    }
}
