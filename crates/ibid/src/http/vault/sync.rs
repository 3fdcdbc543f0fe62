//! `/sync/pull` and `/sync/webhook`.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use futures_util::{FutureExt, StreamExt};
use ibid_api::{Error, ErrorCode, Freshness};
use ibid_core::sync::{Pulled, SyncOutcome, Syncer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Answer, MAX_BODY, VaultService, respond, state::time, strict_body};

/// Header that carries the secret.
const SECRET: &str = "x-vault-agent-webhook-secret";

/// Whether and how a webhook may ask for a sync.
#[derive(Clone, Default)]
pub struct Webhook {
    /// Whether any may.
    pub enabled: bool,
    /// What it must know.
    pub secret: Option<String>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("enabled", &self.enabled).finish_non_exhaustive()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct PullBody {
    wait: bool,
    timeout_seconds: Option<u32>,
}

/// What a pull did, in the words of the contract.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PullAnswer {
    status: &'static str,
    changed: bool,
    index_freshness: Freshness,
    started_at: Option<String>,
    finished_at: Option<String>,
}

impl PullAnswer {
    /// Of what it came to.
    pub fn of(outcome: &SyncOutcome) -> Self {
        let changed = outcome.pulled == Pulled::FastForwarded;
        Self {
            status: if changed { "completed" } else { "no_op" },
            changed,
            index_freshness: outcome.freshness,
            started_at: time(Some(outcome.started_ms)),
            finished_at: time(Some(outcome.finished_ms)),
        }
    }
}

pub(super) async fn pull(State(service): State<Arc<VaultService>>, request: Request) -> Response {
    respond(run_pull(&service, request).await)
}

async fn run_pull(service: &VaultService, request: Request) -> Answer<PullAnswer> {
    let body: PullBody = strict_body(request).await?;
    if body.timeout_seconds == Some(0) {
        return Err(Error::new(ErrorCode::InvalidRequest, "`timeoutSeconds` must be at least 1").into());
    }
    let timeout = body.timeout_seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let outcome = syncer(service)?.pull(body.wait, timeout).await?;
    Ok((PullAnswer::of(&outcome), Vec::new()))
}

fn syncer(service: &VaultService) -> Result<&Syncer, Error> {
    service.syncer.as_deref().ok_or_else(|| {
        Error::new(ErrorCode::SyncNotConfigured, "git sync is not configured").with_hint(
            "`ibid sync configure --branch NAME` sets it up, `ibid sync enable` turns the schedule on",
        )
    })
}

pub(super) async fn webhook(State(service): State<Arc<VaultService>>, request: Request) -> Response {
    // A defect is told by the code of this route, too.
    let accepted = AssertUnwindSafe(accept(&service, request)).catch_unwind().await;
    let mut response = respond(accepted.unwrap_or_else(|_panic| {
        tracing::error!("handling a webhook panicked");
        Err(unknown().into())
    }));
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    response
}

/// The answer to anything but a POST.
pub(super) async fn wrong_method() -> Response {
    respond::<()>(Err(Error::new(ErrorCode::WebhookInvalidMethod, "a webhook is a POST").into()))
}

async fn accept(service: &VaultService, request: Request) -> Answer<Value> {
    let webhook = &service.webhook;
    if !webhook.enabled {
        return Err(Error::new(ErrorCode::WebhookDisabled, "webhooks are not enabled").into());
    }
    let Some(secret) = webhook.secret.as_deref().filter(|secret| !secret.is_empty()) else {
        let message = "webhooks are enabled without a secret";
        return Err(Error::new(ErrorCode::WebhookSecretNotConfigured, message)
            .with_hint("set `sync.webhook_secret`")
            .into());
    };
    if !knows(request.headers(), secret) {
        return Err(
            Error::new(ErrorCode::WebhookSecretInvalid, "the webhook secret is missing or wrong").into()
        );
    }
    // What it says does not matter, only that it is not endless.
    let (mut body, mut length) = (request.into_body().into_data_stream(), 0);
    while let Some(part) = body.next().await {
        let Ok(part) = part else {
            tracing::warn!("the body of a webhook could not be read");
            return Err(unknown().into());
        };
        length += part.len();
        if length > MAX_BODY {
            let message = format!("the body is longer than {MAX_BODY} bytes");
            return Err(Error::new(ErrorCode::WebhookBodyTooLarge, message).into());
        }
    }
    syncer(service).and_then(Syncer::ask).map_err(|error| match error.code {
        ErrorCode::SyncNotConfigured => Error { code: ErrorCode::WebhookSyncNotConfigured, ..error },
        ErrorCode::WebhookRateLimited => error,
        _ => unknown(),
    })?;
    Ok((json!({ "accepted": true }), Vec::new()))
}

fn unknown() -> Error {
    Error::new(ErrorCode::WebhookUnknownError, "the webhook could not be handled; the log has more")
}

/// Whether the request carries the secret; takes the same time whatever it carries.
fn knows(headers: &HeaderMap, secret: &str) -> bool {
    let digest = |bytes: &[u8]| -> [u8; 32] { Sha256::digest(bytes).into() };
    let mut given = headers.get_all(SECRET).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return false };
    digest(value.as_bytes()).ct_eq(&digest(secret.as_bytes())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_secret_in_one_header_is_accepted() {
        for (values, expected) in [
            (vec![], false),
            (vec!["right"], true),
            (vec!["righ"], false),
            (vec!["rightx"], false),
            (vec!["right", "right"], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in &values {
                headers.append(SECRET, value.parse().unwrap());
            }
            assert_eq!(knows(&headers, "right"), expected, "{values:?}");
        }
        assert!(
            !format!("{:?}", Webhook { enabled: true, secret: Some("right".to_owned()) }).contains("right")
        );
    }
}
