//! A server of ibid that runs elsewhere, asked over HTTP.

use std::time::Duration;

use ureq::Agent;

/// Longer answers are not read.
const LARGEST_ANSWER: u64 = 16 << 20;

/// Nobody answered, or not in HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server does not answer")]
pub struct Unreachable;

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status of HTTP.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Asks for a page, with this key as bearer token. Blocks for at most `timeout`, follows no redirect, which could
/// carry the key away, and takes no proxy from the environment.
pub fn get(url: &str, key: Option<&str>, timeout: Duration) -> Result<Answer, Unreachable> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .timeout_global(Some(timeout))
        .build();
    let mut request = Agent::new_with_config(config).get(url).header("accept", "application/json");
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut response = request.call().map_err(|_| Unreachable)?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec();
    Ok(Answer { status, body: body.map_err(|_| Unreachable)? })
}
