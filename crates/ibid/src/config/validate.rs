//! Rules that hold between values of different keys.

use ibid_api::{Error, ErrorCode, Result};

use super::{Values, layer::invalid};
use crate::http;

/// Checks every rule; the first one broken is the error.
pub(super) fn check(values: &Values) -> Result<()> {
    if values.watch.max_batch_delay_ms < values.watch.debounce_ms {
        return Err(invalid("`watch.max_batch_delay_ms` must be at least `watch.debounce_ms`"));
    }
    if values.sync.failure_backoff_seconds < values.sync.interval_seconds {
        return Err(invalid("`sync.failure_backoff_seconds` must be at least `sync.interval_seconds`"));
    }
    if values.index.chunk_max < values.index.chunk_target {
        return Err(invalid("`index.chunk_max` must be at least `index.chunk_target`"));
    }
    if values.cors.enabled && values.cors.allowed_origins.is_empty() {
        return Err(invalid("`cors.enabled` needs at least one origin in `cors.allowed_origins`"));
    }
    named("cors.allowed_origins", http::check_origins(&values.cors.allowed_origins))?;
    named("mcp.http.endpoint", http::check_mcp_path(&values.mcp.http.endpoint))?;
    if values.embedding.endpoint.is_some() && values.embedding.path.is_some() {
        return Err(Error::new(
            ErrorCode::EmbeddingConfigInvalid,
            "`embedding.endpoint` and `embedding.path` cannot both be the model",
        )
        .with_hint("unset one of them"));
    }
    if values.embedding.endpoint.is_some() && values.embedding.model.is_none() && values.embedding.enabled {
        return Err(Error::new(
            ErrorCode::EmbeddingConfigInvalid,
            "`embedding.endpoint` needs the name of a model in `embedding.model`",
        )
        .with_hint("leave `embedding.endpoint` empty to use the built-in model"));
    }
    Ok(())
}

/// The same error with the name of the key before it.
fn named(key: &str, result: Result<()>) -> Result<()> {
    result.map_err(|error| Error { message: format!("`{key}`: {}", error.message), ..error })
}
