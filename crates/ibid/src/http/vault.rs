//! Routes of the vault's HTTP interface that are no tools: health, status, indexing, files, git sync.

mod attachment;
mod state;
mod sync;

use std::{
    fmt,
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use axum::{
    Json, Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use ibid_api::{Engine, Error, ErrorCode, IndexRequest, IndexScope, Result, Warning};
use ibid_core::sync::Syncer;
use ibid_tools::{JsonObject, vault};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::Notify;

pub use state::sync_status;
pub use sync::{PullAnswer, Webhook};

use super::{reply, tools};

/// What the routes work on.
#[derive(Clone)]
pub struct VaultService {
    /// The knowledge base.
    pub engine: Arc<dyn Engine>,
    /// Git sync, where there is a source to synchronise.
    pub syncer: Option<Arc<Syncer>>,
    /// Told whenever something was indexed.
    pub indexed: Arc<Notify>,
    /// Whether and how a webhook may ask for a sync.
    pub webhook: Webhook,
    /// What `/status` says of the server.
    pub server: ServerFacts,
}

impl fmt::Debug for VaultService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultService").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What `/status` says of the server.
#[derive(Debug, Clone, Default)]
pub struct ServerFacts {
    /// Host it was told to bind.
    pub host: String,
    /// Address it listens on, once it does.
    pub address: Arc<OnceLock<SocketAddr>>,
    /// Whether requests need a key.
    pub api_key_required: bool,
}

impl VaultService {
    /// The routes behind the server's key, and those with a secret of their own.
    pub fn routes(self) -> (Router, Router) {
        let service = Arc::new(self);
        let guarded = Router::new()
            .route("/health", get(state::health))
            .route("/status", get(state::status))
            .route("/index", post(index))
            .route("/reindex", post(reindex))
            .route("/attachments", get(attachment::without_path))
            .route("/attachments/", get(attachment::without_path))
            .route("/attachments/{*path}", get(attachment::get))
            .route("/sync/pull", post(sync::pull))
            .with_state(service.clone());
        let open = Router::new()
            .route("/sync/webhook", post(sync::webhook).fallback(sync::wrong_method))
            .with_state(service);
        (guarded, open)
    }
}

/// Longest JSON body.
const MAX_BODY: usize = 64 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct IndexBody {
    require_embeddings: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexAnswer {
    mode: &'static str,
    notes_indexed: u64,
    chunks_indexed: u64,
    notes_skipped: u64,
    warning_count: u64,
}

async fn index(State(service): State<Arc<VaultService>>, request: Request) -> Response {
    respond(run_index(&service, IndexScope::Changes, request).await)
}

async fn reindex(State(service): State<Arc<VaultService>>, request: Request) -> Response {
    respond(run_index(&service, IndexScope::Everything, request).await)
}

async fn run_index(service: &VaultService, scope: IndexScope, request: Request) -> Answer<IndexAnswer> {
    let body: IndexBody = strict_body(request).await?;
    if service.engine.status().await?.sources.is_empty() {
        return Err(vault::not_configured().into());
    }
    let request = IndexRequest { scope, require_embeddings: body.require_embeddings };
    let reply = service.engine.index(request).await?;
    service.indexed.notify_one();
    let answer = IndexAnswer {
        mode: if reply.full { "full" } else { "incremental" },
        notes_indexed: reply.documents,
        chunks_indexed: reply.chunks,
        notes_skipped: reply.skipped + reply.failed,
        warning_count: Warning::count(&reply.warnings),
    };
    let warnings = if reply.full { reply.warnings } else { vault::said_by_update(reply.warnings) };
    Ok((answer, warnings))
}

/// Data and warnings, or what to answer instead.
type Answer<T> = Result<(T, Vec<Warning>), Refused>;

/// An answer that is not a success.
enum Refused {
    Error(Error),
    Response(Box<Response>),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::Error(error) => reply::error(&error),
            Self::Response(response) => *response,
        }
    }
}

fn respond<T: Serialize>(answer: Answer<T>) -> Response {
    match answer {
        Ok((data, warnings)) => {
            let warnings = Warning::limited(warnings);
            Json(serde_json::json!({ "data": data, "warnings": warnings })).into_response()
        }
        Err(refused) => refused.into_response(),
    }
}

/// A body in which every field must be known.
async fn strict_body<T: DeserializeOwned>(request: Request) -> Result<T, Refused> {
    let body: JsonObject = tools::body(request, MAX_BODY).await.map_err(Refused::Response)?;
    serde_json::from_value(Value::Object(body)).map_err(|_| {
        let message = "the body has a field that is unknown or of the wrong type";
        Error::new(ErrorCode::InvalidRequest, message).into()
    })
}
