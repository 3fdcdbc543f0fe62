//! `ibid serve`

use std::sync::Arc;

use clap::Args;
use ibid_api::Result;

use super::{Context, Outcome, mcp::CallOptions, tools::ToolArguments};
use crate::{
    assemble,
    config::{layer::Flag, secret::ServerKey},
    http::{
        self, AppState, Keys, ServeOptions,
        vault::{ServerFacts, VaultService},
    },
    mcp::http::Endpoint,
    profile,
    serving::{self, Serving},
};

/// Serve HTTP, and MCP over HTTP when enabled.
///
/// Listens on this machine alone unless told otherwise. Anything beyond needs a key: without one configured, it
/// is made on the first start and kept in the user file; `ibid config reveal-api-key` prints it. The first
/// SIGINT or SIGTERM finishes what was begun, the second ends at once.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Which tools.
    #[command(flatten)]
    pub tools: ToolArguments,
    /// Address to listen on.
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Key that requests must carry. Better set in the environment or the user file, where others do not see
    /// it.
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<String>,
    /// Serve MCP over HTTP.
    #[arg(long, overrides_with = "no_mcp_enabled")]
    pub mcp_enabled: bool,
    /// Do not serve MCP over HTTP.
    #[arg(long, overrides_with = "mcp_enabled")]
    pub no_mcp_enabled: bool,
    /// Path of the MCP endpoint.
    #[arg(long, value_name = "PATH")]
    pub mcp_http_endpoint: Option<String>,
    /// Keep no MCP sessions, so that any of several servers can answer any request.
    #[arg(long)]
    pub mcp_stateless: bool,
    /// Origins whose pages may read answers, separated by commas.
    #[arg(long, value_name = "ORIGINS")]
    pub cors_allowed_origins: Option<String>,
    /// How to answer.
    #[command(flatten)]
    pub calls: CallOptions,
}

impl ServeArguments {
    /// The configuration keys its flags set.
    pub fn flags(&self) -> Vec<Flag> {
        let mut flags = self.tools.flags();
        let port = self.port.map(|port| port.to_string());
        let texts = [
            ("server.host", "--host", &self.host),
            ("server.port", "--port", &port),
            ("server.api_key", "--api-key", &self.api_key),
            ("mcp.http.endpoint", "--mcp-http-endpoint", &self.mcp_http_endpoint),
            ("cors.allowed_origins", "--cors-allowed-origins", &self.cors_allowed_origins),
        ];
        flags.extend(
            texts.into_iter().filter_map(|(key, flag, value)| Some(Flag::new(key, flag, value.as_ref()?))),
        );
        let switches = [
            (self.mcp_enabled, Flag::new("mcp.enabled", "--mcp-enabled", true)),
            (self.no_mcp_enabled, Flag::new("mcp.enabled", "--no-mcp-enabled", false)),
            (self.mcp_stateless, Flag::new("mcp.http.stateless", "--mcp-stateless", true)),
            (self.cors_allowed_origins.is_some(), Flag::new("cors.enabled", "--cors-allowed-origins", true)),
        ];
        flags.extend(switches.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag));
        flags
    }
}

pub(super) fn run(arguments: &ServeArguments, context: &Context) -> Outcome {
    let options = options(arguments, context)?;
    let mut serving = Serving::open(&context.config)?;
    let tools =
        assemble::served_tools(context, serving.engine.clone(), arguments.calls.conformance_fixtures)?;
    let mut state = AppState { tools, ..AppState::default() };
    let address = Arc::default();
    if profile::serves_vault(&context.config) {
        let service = VaultService {
            engine: serving.engine.clone(),
            syncer: serving.syncer.clone(),
            indexed: Arc::clone(&serving.indexed),
            webhook: serving::webhook(&context.config.values.sync),
            server: ServerFacts {
                host: options.host.clone(),
                address: Arc::clone(&address),
                api_key_required: !options.keys.is_open(),
            },
        };
        (state.routes, state.keyless_routes) = service.routes();
    }
    let printer = context.printer.clone();
    let runtime = super::runtime()?;
    let served = runtime.block_on(async {
        serving.index_first(&context.config).await;
        serving.watch(&context.config);
        let served = http::serve(state, options, |listening| {
            let _ = address.set(listening);
            printer.announce(format_args!("listening on http://{listening}"));
        });
        let syncer = serving.syncer.clone();
        let syncing = async {
            match syncer {
                Some(syncer) => syncer.run().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            served = served => served,
            () = syncing => Ok(()),
            () = serving.embed(&context.config) => Ok(()),
        }
    });
    // Texts that are being embedded are not waited for: that may take long, and the next start begins with them.
    runtime.shutdown_background();
    Ok(served?)
}

fn options(arguments: &ServeArguments, context: &Context) -> Result<ServeOptions> {
    let values = &context.config.values;
    let key = context.config.server_key()?;
    if let ServerKey::Generated(_) = key {
        context.printer.caution("a key was made and stored; `ibid config reveal-api-key` prints it");
    }
    let keys = Keys::new(key.secret());
    let mcp_keys = values.mcp.api_key.reveal().map_or_else(|| keys.clone(), |key| Keys::new([key]));
    let calls = arguments.calls.options();
    let endpoint = Endpoint {
        path: values.mcp.http.endpoint.clone(),
        stateless: values.mcp.http.stateless,
        options: calls.clone(),
        ..Endpoint::default()
    };
    Ok(ServeOptions {
        host: values.server.host.clone(),
        port: values.server.port,
        keys,
        mcp_keys,
        wrong_mcp_key_is_forbidden: profile::tells_wrong_keys_from_missing(&context.config),
        allowed_hosts: values.server.allowed_hosts.clone(),
        allowed_origins: if values.cors.enabled { values.cors.allowed_origins.clone() } else { Vec::new() },
        mcp_path: endpoint.path.clone(),
        mcp: profile::serves_mcp(&context.config).then_some(endpoint),
        call_deadline: calls.call_deadline,
        ..ServeOptions::default()
    })
}
