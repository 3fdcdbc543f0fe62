//! A [`ToolTable`] served over MCP, both protocol eras in one process. Only this folder knows rmcp.

pub mod fixtures;
pub mod http;
pub mod stdio;

mod answer;
mod frame;
mod message;
mod server;
mod transport;
mod under_way;
mod version;

use std::{sync::Arc, time::Duration};

use ibid_tools::ToolTable;

pub(crate) use under_way::UnderWay;
use version::SUPPORTED;

/// What both transports need to know.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// How long a tool may take before its call is answered with `TIMEOUT`.
    pub call_deadline: Duration,
    /// Offer the tools the public conformance suite asks for. For tests only.
    pub conformance_fixtures: bool,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self { call_deadline: Duration::from_mins(1), conformance_fixtures: false }
    }
}

/// How long after the deadline of a call its answer is still waited for when the server ends.
const ANSWER_GRACE: Duration = Duration::from_secs(5);

impl McpOptions {
    /// How long a server that is ending waits for calls it accepted. No call outlives it: each one is
    /// answered by its own deadline at the latest.
    pub fn drain_deadline(&self) -> Duration {
        self.call_deadline + ANSWER_GRACE
    }
}

fn server(table: Arc<ToolTable>, options: &McpOptions) -> server::Server {
    server::Server::new(table, options)
}
