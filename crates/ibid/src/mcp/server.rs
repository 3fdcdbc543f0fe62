//! The table as an MCP server: what it declares, lists and calls.

use std::{
    borrow::Cow,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::FutureExt;
use ibid_tools::{Call, Cancelled, Failure, Progress, ProgressSink, Selection, Tool as TableTool, ToolTable};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
        CompleteRequestParams, CompleteResult, ConstString, CustomRequest, CustomResult, DiscoverResult,
        ErrorCode, Implementation, InitializeRequestParams, InitializeResult, ListPromptsRequestMethod,
        ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams,
        ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::Value;

use super::{McpOptions, answer, fixtures, version};

/// How long a client may keep the list of tools. It never changes while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;

/// One table, served. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Server {
    table: Arc<ToolTable>,
    /// Made for the first client that asks: not every one does, and each waits for the answer to `initialize`.
    listed: Arc<OnceLock<Vec<Tool>>>,
    call_deadline: Duration,
    fixtures: bool,
}

impl Server {
    pub(super) fn new(table: Arc<ToolTable>, options: &McpOptions) -> Self {
        let fixtures = options.conformance_fixtures;
        Self { table, listed: Arc::default(), call_deadline: options.call_deadline, fixtures }
    }

    fn listed(&self) -> &[Tool] {
        self.listed.get_or_init(|| list(&self.table, self.fixtures))
    }

    /// The tools this request may see: all of the table, or fewer if its headers say so.
    fn view(&self, context: &RequestContext<RoleServer>) -> Arc<ToolTable> {
        match selection(context) {
            Some(selection) => Arc::new(self.table.select(&selection)),
            None => self.table.clone(),
        }
    }

    /// Runs a tool until it answers, fails, takes too long or is called off.
    async fn run(
        &self,
        tool: &TableTool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let cancelled = Cancelled::default();
        // Reached however this ends; by then a finished tool no longer looks.
        let _stop = CancelOnDrop(cancelled.clone());
        let call = Call::new(progress_sink(context), cancelled);
        let work = AssertUnwindSafe(tool.call(request.arguments.unwrap_or_default(), call)).catch_unwind();
        let outcome = tokio::select! {
            biased;
            outcome = tokio::time::timeout(self.call_deadline, work) => outcome,
            // rmcp sends nothing for a call that was cancelled, whatever is returned.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
        };
        let reply: Result<Value, Failure> = match outcome {
            Err(_elapsed) => return answer::timeout(tool),
            Ok(Err(_panic)) => {
                tracing::error!(tool = tool.spec.name, "a tool panicked");
                let message =
                    format!("`{}` failed because of a defect in ibid; the log has more", tool.spec.name);
                return Err(ErrorData::internal_error(message, None));
            }
            Ok(Ok(reply)) => reply,
        };
        match reply {
            Ok(reply) => Ok(answer::success(reply)),
            Err(failure) => {
                tracing::info!(tool = tool.spec.name, code = failure.error.code.as_str(), "a call failed");
                answer::failure(tool, &failure)
            }
        }
    }
}

fn info(table: &ToolTable, version: ProtocolVersion) -> InitializeResult {
    let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(implementation());
    info.protocol_version = version;
    let instructions = table.instructions();
    info.instructions = (!instructions.is_empty()).then_some(instructions);
    info
}

struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        info(&self.table, ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(version::SUPPORTED)
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let agreed = version::negotiate(request.protocol_version.as_str())?;
        request.protocol_version = agreed.clone();
        context.peer.set_peer_info(request);
        Ok(info(&self.view(&context), agreed))
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let info = info(&self.view(&context), ProtocolVersion::LATEST_WITH_INITIALIZE);
        let mut result = DiscoverResult::from_server_info(version::SUPPORTED.to_vec(), info);
        result.ttl_ms = LIST_TTL_MS;
        result.cache_scope = CacheScope::Private;
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.listed().iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        require_lifecycle(&context)?;
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(ErrorData::invalid_params("unknown cursor; the list has one page", None));
        }
        let tools = match selection(&context) {
            Some(selection) => list(&self.table.select(&selection), self.fixtures),
            None => self.listed().to_vec(),
        };
        let mut result = ListToolsResult::with_all_items(tools);
        if is_modern(&context) {
            result.ttl_ms = Some(LIST_TTL_MS);
            // The headers of a request can narrow the list, so it is not for others.
            result.cache_scope = Some(CacheScope::Private);
            stamp(&mut result.meta);
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        require_lifecycle(&context)?;
        let mut response = if self.fixtures && fixtures::has(&request.name) {
            fixtures::call(&request, &context).await?
        } else {
            let table = self.view(&context);
            let Some(tool) = table.get(&request.name) else {
                let error = table.unknown_tool(&request.name);
                let message = format!("{}; {}", error.message, error.hint.unwrap_or_default());
                return Err(ErrorData::invalid_params(message, None));
            };
            self.run(tool, request, &context).await?.into()
        };
        if is_modern(&context)
            && let CallToolResponse::Complete(result) = &mut response
        {
            stamp(&mut result.meta);
        }
        Ok(response)
    }

    // rmcp answers these with empty lists although they are not declared.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_offered::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_offered::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_offered::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_offered::<CompleteRequestMethod>())
    }

    /// Requests rmcp does not know, and those it knows whose parameters it could not read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        match method {
            "tools/call" | "tools/list" | "server/discover" => Err(ErrorData::invalid_params(
                format!("the parameters of `{method}` are missing or malformed"),
                None,
            )),
            // The newer era has no handshake at all.
            "initialize" if !is_modern(&context) => {
                let requested = request.params.as_ref().and_then(|params| params.get("protocolVersion"));
                Err(match requested {
                    Some(Value::String(requested)) if version::negotiate(requested).is_ok() => {
                        ErrorData::invalid_params("the parameters of `initialize` are malformed", None)
                    }
                    requested => version::unsupported(requested.unwrap_or(&Value::Null)),
                })
            }
            _ => {
                let method: String = method.chars().take(64).collect();
                Err(ErrorData::new(
                    ErrorCode::METHOD_NOT_FOUND,
                    format!("there is no method `{method}`"),
                    None,
                ))
            }
        }
    }
}

fn not_offered<M: ConstString>() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("`{}` is not offered", M::VALUE), None)
}

/// A request has to follow `initialize`, or to carry the metadata that replaced it.
fn require_lifecycle(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if context.protocol_version().is_some() {
        return Ok(());
    }
    Err(ErrorData::invalid_params(
        "call `initialize` first, or send `io.modelcontextprotocol/protocolVersion` and \
         `io.modelcontextprotocol/clientCapabilities` in `_meta`",
        None,
    ))
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

fn selection(context: &RequestContext<RoleServer>) -> Option<Selection> {
    let headers = &context.extensions.get::<::http::request::Parts>()?.headers;
    Selection::from_headers(|name| headers.get(name)?.to_str().ok())
}

fn progress_sink(context: &RequestContext<RoleServer>) -> Option<ProgressSink> {
    let token = context.meta.get_progress_token()?;
    let peer = context.peer.clone();
    Some(Arc::new(move |progress: Progress| {
        let mut notification = ProgressNotificationParam::new(token.clone(), progress.done);
        notification.total = progress.total;
        notification.message = progress.message;
        let peer = peer.clone();
        async move {
            // Whoever asked is gone; the call itself is cancelled by other means.
            let _ = peer.notify_progress(notification).await;
        }
        .boxed()
    }))
}

fn implementation() -> Implementation {
    Implementation::new("ibid", env!("CARGO_PKG_VERSION")).with_title("ibid knowledge base")
}

/// Results of the newer era say who made them.
fn stamp(meta: &mut Option<MetaObject>) {
    if let Ok(implementation) = serde_json::to_value(implementation()) {
        meta.get_or_insert_with(MetaObject::new)
            .insert("io.modelcontextprotocol/serverInfo".to_owned(), implementation);
    }
}

fn list(table: &ToolTable, fixtures: bool) -> Vec<Tool> {
    let mut tools: Vec<Tool> = table.tools().map(|tool| describe(tool)).collect();
    if fixtures {
        tools.extend(fixtures::tools());
        tools.sort_by(|left, right| left.name.cmp(&right.name));
    }
    tools
}

fn describe(tool: &TableTool) -> Tool {
    let annotations = serde_json::from_value::<ToolAnnotations>(tool.spec.annotations()).unwrap_or_default();
    Tool::new(tool.spec.name, tool.spec.about, tool.input.clone())
        .with_title(tool.spec.title)
        .with_raw_output_schema(tool.output.clone())
        .with_annotations(annotations)
}

#[cfg(test)]
mod tests {
    use ibid_tools::text;

    use super::*;

    #[test]
    fn the_list_is_the_one_the_table_describes() {
        let table = ToolTable::new([text::toolset(text::TextConfig::new(None))]).unwrap();
        let listed = serde_json::to_value(list(&table, false)).unwrap();
        assert_eq!(listed, table.describe());
    }
}
