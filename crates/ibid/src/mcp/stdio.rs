//! MCP on standard input and output.
//!
//! Every accepted call is answered before the process ends, whether input ends or a signal asks it to: a call
//! is bounded by its own deadline, and the process waits that long and five seconds more. A second signal ends
//! it at once.

use std::{io, sync::Arc};

use ibid_api::{Error, ErrorCode, Result};
use ibid_tools::ToolTable;
use rmcp::service::serve_directly;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::{McpOptions, server, transport::LineTransport};

/// Threads that read, dispatch and write.
const WORKERS: usize = 2;

/// Serves the table until input ends or a signal arrives, on a runtime of its own.
///
/// Nothing but protocol is written to standard output.
pub fn run(table: ToolTable, options: &McpOptions) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // One client: its messages keep no more threads busy, and calls do their work on threads of their own.
    let runtime = runtime.worker_threads(WORKERS).enable_all().build().map_err(|error| {
        tracing::error!(%error, "no runtime");
        Error::new(ErrorCode::Internal, "the server could not start its threads")
    })?;
    let result = runtime.block_on(async {
        let stop = CancellationToken::new();
        let serving = {
            let (input, output) = rmcp::transport::stdio_pipes();
            serve(table, options, input, output, stop.clone())
        };
        tokio::select! {
            result = serving => result,
            () = end_on_signals(stop) => Ok(()),
        }
    });
    // A read of standard input that is under way cannot be taken back; it must not keep the process alive.
    runtime.shutdown_background();
    result
}

/// Serves the table over any pair of streams, until input ends or `stop` is cancelled.
pub async fn serve<R, W>(
    table: ToolTable,
    options: &McpOptions,
    input: R,
    output: W,
    stop: CancellationToken,
) -> Result<()>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let transport = LineTransport::new(input, output, stop, options.drain_deadline());
    // Served without rmcp's opening sequence, which gives up on a notification or a refused `initialize`.
    let service = serve_directly(server(Arc::new(table), options), transport, None);
    service.waiting().await.map(|_| ()).map_err(|error| {
        tracing::error!(%error, "the server task ended early");
        Error::internal()
    })
}

/// The first signal stops reading; returns at the second.
async fn end_on_signals(stop: CancellationToken) {
    let Ok(mut signals) = Signals::new() else {
        return std::future::pending().await;
    };
    signals.next().await;
    tracing::info!("finishing the calls under way");
    stop.cancel();
    signals.next().await;
}

/// SIGINT and SIGTERM, or their like.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Listens from now on.
    #[cfg(unix)]
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Listens from now on.
    #[cfg(not(unix))]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Returns when one arrives.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
