//! Logging: `tracing` events to stderr, and nowhere else.
//!
//! Redaction is by design and not by filter: fields are ids, counts, durations and codes. Texts, queries and
//! absolute paths never become fields.

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::{
    args::LogLevel,
    config::{Config, env},
};

/// Starts logging. `level` is what the command line asks for; the configuration decides when it is `None`.
pub fn start(config: &Config, level: Option<LogLevel>) {
    let level = level.map_or(config.values.server.log_level.as_str(), |level| level.as_str());
    let filter = config
        .surroundings
        .get(env::LOG.name)
        .and_then(|filter| EnvFilter::try_new(filter).ok())
        // rmcp logs whole messages at `info`, and what clients sent at `warn`.
        .unwrap_or_else(|| EnvFilter::new(format!("{level},rmcp=error,tantivy=warn")));
    let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_target(true).without_time();
    // A second start in the same process (tests) keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
}
