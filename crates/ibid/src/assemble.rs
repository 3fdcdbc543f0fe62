//! From configuration to a running engine: the one place that knows which engine is behind the service API.

use std::{path::PathBuf, sync::Arc, time::Duration};

use ibid_api::{Engine, Error, ErrorCode, Freshness, IndexReply, IndexRequest, Result};
use ibid_core::{
    CoreConfig, EmbedReply, EmbeddingConfig, EndpointConfig, LocalEngine, SourceConfig, WatchConfig,
    chunk::ChunkPolicy,
    ingest::Progress,
    parse::Legacy,
    source::{WatchHandle, WatchOptions, Watcher},
};
use ibid_tools::{Selection, ToolTable, Toolset, text, vault};

use crate::{
    absent::AbsentEngine,
    cli::Context,
    config::{Config, Values, place::Place},
    mcp::fixtures,
    serving::Serving,
};

/// Hears of each update while watching.
pub type OnUpdate = Box<dyn Fn(&Result<IndexReply>) + Send>;

/// A knowledge base on this machine, opened on use.
pub struct KnowledgeBase {
    local: LocalEngine,
}

/// Opens the knowledge base that the configuration names. Nothing is read or created before a call needs it.
pub fn open_engine(config: &Config, place: &Place) -> Result<KnowledgeBase> {
    if config.values.engine.url.is_some() {
        return Err(Error::new(
            ErrorCode::ConfigInvalid,
            "working through a remote engine is not possible yet",
        )
        .with_hint("unset `engine.url`; `ibid config show --origin` says where it is set"));
    }
    Ok(KnowledgeBase { local: LocalEngine::open(core_config(&config.values, place))? })
}

impl KnowledgeBase {
    /// The service API.
    pub fn engine(&self) -> Arc<dyn Engine> {
        Arc::new(self.local.clone())
    }

    /// The engine in this process.
    pub fn local(&self) -> LocalEngine {
        self.local.clone()
    }

    /// Indexes and reports how it goes.
    pub async fn index(&self, request: IndexRequest, progress: Arc<dyn Progress>) -> Result<IndexReply> {
        self.local.index_with_progress(request, progress).await
    }

    /// Embeds what has no vector yet, up to `limit` texts.
    pub async fn embed(&self, progress: Arc<dyn Progress>, limit: Option<u64>) -> Result<EmbedReply> {
        self.local.embed_pending(progress, limit).await
    }

    /// Looks whether files differ from the index, without reading any.
    pub async fn verify(&self) -> Result<Freshness> {
        self.local.verify().await
    }

    /// Follows changes until the handle is dropped. What changed before counts when `catch_up` says so; new texts
    /// get their meanings when `embed` does.
    pub fn watch(&self, catch_up: bool, embed: bool, on_update: OnUpdate) -> WatchHandle {
        let options = WatchOptions { catch_up, embed, on_update: Some(on_update), ..WatchOptions::default() };
        Watcher::start(&self.local, options)
    }
}

/// The engine's view of the configuration.
pub fn core_config(values: &Values, place: &Place) -> CoreConfig {
    let sources = place.sources.iter().map(|source| SourceConfig {
        name: source.name.clone(),
        root: source.root.clone(),
        exclude: source.exclude.clone(),
        include_hidden: source.include_hidden,
        follow_links: source.follow_links,
        max_file_bytes: source.max_file_bytes,
        respect_gitignore: source.respect_gitignore,
        kinds: source.kinds.clone(),
    });
    CoreConfig {
        sources: sources.collect(),
        legacy: legacy(&values.index.legacy_encodings),
        chunk_policy: ChunkPolicy::Heading { target: values.index.chunk_target, max: values.index.chunk_max },
        embedding: embedding(values),
        read_only: values.read_only,
        embedding_threads: Some(values.embedding.threads).filter(|threads| *threads > 0),
        watch: WatchConfig {
            debounce: Duration::from_millis(values.watch.debounce_ms),
            max_batch_delay: Duration::from_millis(values.watch.max_batch_delay_ms),
        },
        ..CoreConfig::new(&place.data_dir)
    }
}

/// What is decoded that is not UTF-8.
fn legacy(choice: &str) -> Legacy {
    match choice {
        "never" => Legacy::Never,
        "always" => Legacy::Always,
        _ => Legacy::Texts,
    }
}

/// Where vectors come from.
pub fn embedding(values: &Values) -> EmbeddingConfig {
    let embedding = &values.embedding;
    match (&embedding.endpoint, &embedding.model, &embedding.path) {
        _ if !embedding.enabled => EmbeddingConfig::Disabled,
        (Some(url), Some(model), _) => EmbeddingConfig::Endpoint(EndpointConfig {
            url: url.clone(),
            model: model.clone(),
            key: embedding.api_key.reveal().map(str::to_owned),
            allow_private_network: embedding.allow_private_network_endpoint,
            query_prefix: embedding.query_prefix.clone(),
            passage_prefix: embedding.passage_prefix.clone(),
            timeout: Duration::from_secs(embedding.timeout_seconds),
        }),
        (_, _, Some(path)) => EmbeddingConfig::Local(path.clone()),
        _ => EmbeddingConfig::Builtin,
    }
}

/// Where the `text` toolset looks when nothing is configured.
const DEFAULT_TEXT_FILE: &str = "datasets/knowledge-base.txt";

/// The tools that are served, ready to be called.
pub fn open_tools(context: &Context) -> Result<ToolTable> {
    tools(&context.config, Serving::open(&context.config)?.engine)
}

/// The tools that a server offers; those of the conformance suite besides, when it is that suite's turn.
pub fn served_tools(
    context: &Context,
    engine: Arc<dyn Engine>,
    conformance_fixtures: bool,
) -> Result<ToolTable> {
    let table = tools(&context.config, engine)?;
    if !conformance_fixtures {
        return Ok(table);
    }
    let toolsets = table.toolsets().iter().cloned();
    ToolTable::new(toolsets.chain([fixtures::toolset(), fixtures::routed_toolset()]))
}

/// The tools that are served, for those who only want to look at them.
pub fn described_tools(config: &Config) -> Result<ToolTable> {
    tools(config, Arc::new(AbsentEngine::new(vault::not_configured())))
}

fn tools(config: &Config, engine: Arc<dyn Engine>) -> Result<ToolTable> {
    chosen(config, vec![vault::toolset(engine), text_toolset(config)])
}

fn chosen(config: &Config, toolsets: Vec<Toolset>) -> Result<ToolTable> {
    let values = &config.values;
    let filled = |names: &[String]| Some(names.to_vec()).filter(|names| !names.is_empty());
    let selection = Selection {
        toolsets: filled(&values.toolsets),
        tools: filled(&values.tools),
        exclude_tools: values.exclude_tools.clone(),
        read_only: values.read_only,
    };
    let all = ToolTable::new(toolsets)?;
    selection.check(&all)?;
    Ok(all.select(&selection))
}

fn text_toolset(config: &Config) -> Toolset {
    let named = config.values.text.file.clone();
    text::toolset(text::TextConfig {
        is_default: named.is_none(),
        file: Some(named.unwrap_or_else(|| default_text_file(config))),
        description: config.values.text.description.clone(),
    })
}

/// The default file beside the current folder, else beside the program.
fn default_text_file(config: &Config) -> PathBuf {
    let here = config.surroundings.current_dir.join(DEFAULT_TEXT_FILE);
    let program = config.surroundings.executable.as_ref().and_then(|program| program.parent());
    match program.map(|folder| folder.join(DEFAULT_TEXT_FILE)) {
        Some(beside) if !here.exists() && beside.exists() => beside,
        _ => here,
    }
}
