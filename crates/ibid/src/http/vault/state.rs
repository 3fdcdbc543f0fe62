//! `/health` and `/status`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use ibid_api::{
    EmbeddingState, ErrorCode, Freshness, Generation, IndexStatus, ReindexReason, Result, Status, SyncStatus,
    WatchState, WatchStatus,
};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Answer, VaultService, respond};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: &'static str,
    version: &'static str,
    index: IndexHealth,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexHealth {
    available: bool,
    stale: bool,
    embedding_available: bool,
}

pub(super) async fn health(State(service): State<Arc<VaultService>>) -> Response {
    let version = env!("CARGO_PKG_VERSION");
    let Ok(status) = known(service.engine.status().await) else {
        let health = Health { status: "error", version, index: IndexHealth::default() };
        let mut response = respond(Ok((health, Vec::new())));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return response;
    };
    let index = IndexHealth {
        available: is_available(&status),
        stale: status.index.freshness != Freshness::Fresh,
        embedding_available: matches!(
            status.index.embedding_state,
            EmbeddingState::Ready | EmbeddingState::Stale
        ),
    };
    let wanted = status.index.embedding_state != EmbeddingState::Disabled;
    let whole = index.available && (index.embedding_available || !wanted) && !status.sources.is_empty();
    let health = Health { status: if whole { "ok" } else { "degraded" }, version, index };
    respond(Ok((health, status.warnings)))
}

/// A vault that is not configured has a status too: there is nothing.
fn known(status: Result<Status>) -> Result<Status> {
    match status {
        Err(error) if error.code == ErrorCode::VaultNotConfigured => Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            index: IndexStatus {
                freshness: Freshness::Unknown,
                last_update_ms: None,
                last_error: None,
                pending_changes: 0,
                reindex_reasons: Vec::new(),
                embedding_state: EmbeddingState::Disabled,
                embedding_model: None,
                embeddings_missing: 0,
                generation: Generation::default(),
                documents: 0,
                chunks: 0,
                disk_bytes: 0,
            },
            sources: Vec::new(),
            watch: WatchStatus {
                state: WatchState::Disabled,
                last_event_ms: None,
                last_heartbeat_ms: None,
                pending: 0,
                events_outside: 0,
                last_error: None,
            },
            sync: SyncStatus::default(),
            warnings: Vec::new(),
        }),
        status => status,
    }
}

fn is_available(status: &Status) -> bool {
    status.index.generation.0 > 0 && status.index.freshness != Freshness::Incompatible
}

pub(super) async fn status(State(service): State<Arc<VaultService>>) -> Response {
    let answer: Answer<Value> = match known(service.engine.status().await) {
        Ok(status) => Ok((describe(&service, &status), status.warnings)),
        Err(error) => Err(error.into()),
    };
    match answer {
        Err(refused) => refused.into_response(),
        answer => respond(answer),
    }
}

fn describe(service: &VaultService, status: &Status) -> Value {
    let (server, index, watch) = (&service.server, &status.index, &status.watch);
    let sync = service.syncer.as_ref().map_or_else(|| status.sync.clone(), |syncer| syncer.status());
    let mut reasons = index.reindex_reasons.clone();
    if reasons.is_empty() && index.freshness == Freshness::Incompatible {
        reasons.push(ReindexReason::ReindexRequired);
    }
    json!({
        "server": {
            "running": true,
            "host": server.host,
            "port": server.address.get().map(std::net::SocketAddr::port),
            "apiKeyRequired": server.api_key_required,
        },
        "index": {
            "freshness": index.freshness,
            "available": is_available(status),
            "lastSuccessfulUpdateAt": time(index.last_update_ms),
            "lastError": index.last_error,
            "pendingChangeCount": index.pending_changes,
            "reindexRequired": !reasons.is_empty(),
            "reindexReasons": reasons,
            "embeddingState": index.embedding_state,
            "notes": index.documents,
            "chunks": index.chunks,
        },
        "watch": {
            "enabled": watch.state != WatchState::Disabled,
            "running": matches!(watch.state, WatchState::Running | WatchState::Degraded),
            "state": watch.state,
            "lastEventAt": time(watch.last_event_ms),
            "lastHeartbeatAt": time(watch.last_heartbeat_ms),
            "pending": watch.pending > 0,
            "eventsOutside": watch.events_outside,
            "lastError": watch.last_error,
        },
        "sync": sync_status(&sync),
    })
}

/// How git sync stands, in the words of the contract.
pub fn sync_status(sync: &SyncStatus) -> Value {
    json!({
        "enabled": sync.enabled,
        "configured": sync.configured,
        "running": sync.running,
        "pending": sync.pending,
        "lastSuccessfulSyncAt": time(sync.last_success_ms),
        "consecutiveFailures": sync.consecutive_failures,
        "lastError": sync.last_error,
    })
}

/// An ISO 8601 time.
pub(super) fn time(ms: Option<i64>) -> Option<String> {
    Some(Timestamp::from_millisecond(ms?).ok()?.to_string())
}
