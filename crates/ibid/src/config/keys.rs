//! The table of every configuration key. Parsing, `ibid config` and `docs/config.md` are made from it.

use serde_json::{Value, json};

/// What a key's value is, and its default.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text(&'static str),
    /// One of these.
    Choice {
        /// The values allowed.
        values: &'static [&'static str],
        /// The value when nothing sets it.
        default: &'static str,
    },
    /// A path; relative ones start at the folder of the file that holds them, or at the current folder.
    Path,
    /// `true` or `false`.
    Bool(bool),
    /// `true`, `false`, or decided by what is served.
    Switch,
    /// A whole number.
    Integer {
        /// The value when nothing sets it.
        default: i64,
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A list of texts; separated by commas in a variable or a flag.
    List(&'static [&'static str]),
    /// The list of source folders; only in a file.
    Sources,
}

/// Where a key may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In any layer.
    Anywhere,
    /// Not in a project file, which may come from somebody else and is usually shared.
    NotInProject,
}

/// One configuration key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its dotted name.
    pub name: &'static str,
    /// Other spellings that are understood in a file.
    pub aliases: &'static [&'static str],
    /// What its value is.
    pub kind: Kind,
    /// Other environment variables that set it, besides its own `IBID_` one.
    pub env: &'static [&'static str],
    /// Whether its value is never shown.
    pub secret: bool,
    /// Where it may be set.
    pub scope: Scope,
    /// What it does, in a sentence or two.
    pub about: &'static str,
}

impl Key {
    /// The value when nothing sets it; null when it is then decided later.
    pub fn default(&self) -> Value {
        match self.kind {
            Kind::Text(default) | Kind::Choice { default, .. } => json!(default),
            Kind::Path => json!(""),
            Kind::Bool(default) => json!(default),
            Kind::Switch => Value::Null,
            Kind::Integer { default, .. } => json!(default),
            Kind::List(default) => json!(default),
            Kind::Sources => json!([]),
        }
    }

    /// What the value is, for people.
    pub fn kind_name(&self) -> String {
        match self.kind {
            Kind::Text(_) => "text".to_owned(),
            Kind::Choice { values, .. } => values.join(" | "),
            Kind::Path => "path".to_owned(),
            Kind::Bool(_) | Kind::Switch => "true | false".to_owned(),
            Kind::Integer { min, max: i64::MAX, .. } => format!("number from {min}"),
            Kind::Integer { min, max, .. } => format!("number from {min} to {max}"),
            Kind::List(_) => "list of texts".to_owned(),
            Kind::Sources => "list of tables".to_owned(),
        }
    }
}

/// The key with this name or alias.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name || key.aliases.contains(&name))
}

/// The known name that looks most like this one, if one does.
pub fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = |dotted: &str| dotted.rsplit('.').next().unwrap_or(dotted).to_owned();
    known
        .map(|candidate| {
            let whole = strsim::jaro_winkler(name, candidate);
            // A key typed without its section, or under the wrong one.
            let tail = strsim::jaro_winkler(&last(name), &last(candidate)) * 0.95;
            (whole.max(tail), candidate)
        })
        .filter(|(likeness, _)| *likeness > 0.82)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

/// A field of one `[[sources]]` table.
#[derive(Debug, Clone, Copy)]
pub struct SourceField {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What it does.
    pub about: &'static str,
}

/// The fields of a `[[sources]]` table.
pub const SOURCE_FIELDS: &[SourceField] = &[
    SourceField {
        name: "path",
        kind: Kind::Path,
        about: "The folder. Required; relative to the file that names it.",
    },
    SourceField {
        name: "name",
        kind: Kind::Text(""),
        about: "Its name in filters and results; the name of the folder when not given.",
    },
    SourceField {
        name: "exclude",
        kind: Kind::List(&[]),
        about: "Patterns to leave out, in gitignore syntax; added to `vault.exclude`.",
    },
    SourceField {
        name: "include_hidden",
        kind: Kind::Bool(false),
        about: "Whether names that start with a dot are read.",
    },
    SourceField {
        name: "follow_links",
        kind: Kind::Bool(true),
        about: "Whether symbolic links that stay inside the folder are followed.",
    },
    SourceField {
        name: "respect_gitignore",
        kind: Kind::Bool(true),
        about: "Whether `.gitignore` files hold; `.ibidignore` files always do.",
    },
    SourceField {
        name: "kinds",
        kind: Kind::List(&[]),
        about: "Only documents of these kinds (`markdown`, `text`, `code`, `pdf`, `office`, `html`); all when empty.",
    },
    SourceField {
        name: "max_file_bytes",
        kind: Kind::Integer { default: 0, min: 0, max: i64::MAX },
        about: "Files larger than this are listed and not read; `index.max_file_bytes` when 0.",
    },
];

/// Shorthand for the table below.
const fn key(name: &'static str, kind: Kind, env: &'static [&'static str], about: &'static str) -> Key {
    Key { name, aliases: &[], kind, env, secret: false, scope: Scope::Anywhere, about }
}

const fn secret(name: &'static str, env: &'static [&'static str], about: &'static str) -> Key {
    Key { name, aliases: &[], kind: Kind::Text(""), env, secret: true, scope: Scope::NotInProject, about }
}

impl Key {
    const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn not_in_project(mut self) -> Self {
        self.scope = Scope::NotInProject;
        self
    }
}

const fn number(default: i64, min: i64, max: i64) -> Kind {
    Kind::Integer { default, min, max }
}

/// Every configuration key, in the order of the reference.
pub const KEYS: &[Key] = &[
    key(
        "sources",
        Kind::Sources,
        &[],
        "The folders of this knowledge base, one `[[sources]]` table each. Without any, `vault.root`, else \
         the folder of the project file, else the current folder.",
    ),
    key(
        "data_dir",
        Kind::Path,
        &["KB_DATA_DIR", "VAULT_AGENT_INDEX_DIR"],
        "Where the record and the indexes are kept. When empty, a folder per knowledge base inside the \
         user's data folder, named after the identity of its root; never inside the sources.",
    )
    .alias(&["index.dir"]),
    key(
        "read_only",
        Kind::Bool(false),
        &[],
        "Whether nothing is ever written to the knowledge base: tools that write are not offered and \
         nothing is indexed.",
    ),
    key("toolsets", Kind::List(&["all"]), &[], "The toolsets that are served; `all` is every one there is."),
    key("tools", Kind::List(&[]), &[], "Serve only these tools of the toolsets; every one when empty."),
    key("exclude_tools", Kind::List(&[]), &[], "Tools that are not served."),
    key(
        "vault.root",
        Kind::Path,
        &["VAULT_AGENT_VAULT_ROOT"],
        "The folder to read when there is just one; the short form of `sources`.",
    ),
    key(
        "vault.exclude",
        Kind::List(&[]),
        &[],
        "Patterns to leave out of every source, in gitignore syntax, added to the built-in ones. They \
         cannot bring hidden files back.",
    ),
    key(
        "index.max_file_bytes",
        number(2 * 1024 * 1024, 1024, i64::MAX),
        &[],
        "Files larger than this are listed and not read.",
    ),
    key(
        "index.legacy_encodings",
        Kind::Choice { values: &["never", "texts", "always"], default: "texts" },
        &[],
        "Which files in UTF-16 or an older encoding are decoded: none, plain text and source code, or Markdown \
         too. Others are left out with the warning `FILE_NOT_UTF8`.",
    ),
    key(
        "index.chunk_target",
        number(2000, 200, 100_000),
        &[],
        "Characters aimed at when a section is too long for one chunk.",
    ),
    key("index.chunk_max", number(4000, 200, 100_000), &[], "Characters a chunk never exceeds."),
    key(
        "search.mode",
        Kind::Choice { values: &["auto", "lexical", "embedding", "hybrid"], default: "auto" },
        &[],
        "Which legs of the search run when a request does not say; `auto` is the best available.",
    ),
    key("search.limit", number(10, 1, 50), &["KB_DEFAULT_TOP"], "Hits shown when a request does not say."),
    key(
        "search.per_document",
        number(2, 0, 50),
        &[],
        "At most this many hits of one document; as many as there are when 0.",
    ),
    key(
        "search.format",
        Kind::Choice { values: &["human", "json", "jsonl"], default: "human" },
        &["KB_DEFAULT_FORMAT"],
        "How `ibid search`, `related` and `list` print when neither `--json` nor `--jsonl` is given.",
    ),
    key(
        "embedding.enabled",
        Kind::Bool(true),
        &["VAULT_AGENT_EMBEDDING_ENABLED"],
        "Whether texts are also found by meaning.",
    ),
    key(
        "embedding.endpoint",
        Kind::Text(""),
        &["VAULT_AGENT_EMBEDDING_ENDPOINT"],
        "OpenAI-compatible embeddings endpoint to use instead of the built-in model. It must be on this \
         machine, or in the private network when that is allowed.",
    ),
    key(
        "embedding.model",
        Kind::Text(""),
        &["VAULT_AGENT_EMBEDDING_MODEL"],
        "Name of the model at `embedding.endpoint`; required with it.",
    ),
    key(
        "embedding.path",
        Kind::Path,
        &[],
        "A model of the built-in one's family to use instead of it: a folder with its files, or one packed file.",
    ),
    key(
        "embedding.timeout_seconds",
        number(120, 1, 3600),
        &[],
        "Longest wait for an answer of `embedding.endpoint`; the words of a search wait 15 seconds at most.",
    ),
    key(
        "embedding.threads",
        number(0, 0, 1024),
        &[],
        "Threads that embed texts; as many as the machine has when 0. Fewer leave room for other work.",
    ),
    secret("embedding.api_key", &[], "Bearer key for `embedding.endpoint`."),
    key(
        "embedding.query_prefix",
        Kind::Text(""),
        &[],
        "Put in front of every query that goes to `embedding.endpoint`.",
    ),
    key(
        "embedding.passage_prefix",
        Kind::Text(""),
        &[],
        "Put in front of every passage that goes to `embedding.endpoint`.",
    ),
    key(
        "embedding.require",
        Kind::Bool(false),
        &["VAULT_AGENT_EMBEDDING_REQUIRE"],
        "Whether a failure to embed fails indexing.",
    ),
    key(
        "embedding.allow_private_network_endpoint",
        Kind::Bool(false),
        &["VAULT_AGENT_EMBEDDING_ALLOW_PRIVATE_NETWORK_ENDPOINT"],
        "Whether `embedding.endpoint` may be elsewhere in the private network; public addresses never are.",
    ),
    key(
        "server.endpoint",
        Kind::Text("http://127.0.0.1:8787"),
        &["VAULT_AGENT_SERVER_ENDPOINT"],
        "Where `ibid status --server` finds a running server; `server.host` and `server.port` say it when this \
         is not set.",
    )
    .not_in_project(),
    key(
        "server.host",
        Kind::Text("127.0.0.1"),
        &["VAULT_AGENT_SERVER_HOST"],
        "Address that `ibid serve` listens on. Anything but loopback needs `server.api_key`.",
    ),
    key(
        "server.port",
        number(8787, 0, 65535),
        &["VAULT_AGENT_SERVER_PORT", "KB_PORT"],
        "Port that `ibid serve` listens on; 0 takes a free one.",
    ),
    secret(
        "server.api_key",
        &["IBID_API_KEY", "VAULT_AGENT_API_KEY", "KB_API_KEY"],
        "Bearer key that every request must carry. At least 32 characters beyond loopback; made on the \
         first start there when the user file is in use.",
    )
    .alias(&["server.apiKey"]),
    key(
        "server.allowed_hosts",
        Kind::List(&[]),
        &["KB_MCP_ALLOWED_HOSTS"],
        "Names besides loopback that may stand in a request's `Host`, on any port.",
    ),
    key(
        "server.log_level",
        Kind::Choice { values: &["error", "warn", "info", "debug", "trace"], default: "info" },
        &["VAULT_AGENT_LOG_LEVEL"],
        "How much a server writes to its log on stderr. Other commands log warnings only, unless \
         `--log-level` is given.",
    ),
    key(
        "cors.enabled",
        Kind::Bool(false),
        &["VAULT_AGENT_CORS_ENABLED"],
        "Whether browsers on listed origins may call.",
    ),
    key(
        "cors.allowed_origins",
        Kind::List(&[]),
        &["VAULT_AGENT_CORS_ALLOWED_ORIGINS"],
        "The origins, each spelled out; `*` is not allowed.",
    ),
    key(
        "mcp.enabled",
        Kind::Switch,
        &["VAULT_AGENT_MCP_ENABLED"],
        "Whether `ibid serve` answers MCP over HTTP. Off when not set, unless a toolset that needs it is \
         served. `ibid mcp` does not look at it.",
    ),
    key(
        "mcp.http.endpoint",
        Kind::Text("/mcp"),
        &["VAULT_AGENT_MCP_HTTP_ENDPOINT"],
        "Path of the MCP endpoint; it must not lie under another route.",
    ),
    key(
        "mcp.http.stateless",
        Kind::Bool(false),
        &[],
        "Whether no MCP sessions are kept, so that any of several servers can answer any request.",
    ),
    secret(
        "mcp.api_key",
        &["KB_MCP_API_KEY"],
        "Bearer key for the MCP endpoint alone; `server.api_key` when not set.",
    ),
    key(
        "watch.enabled",
        Kind::Bool(true),
        &["VAULT_AGENT_WATCH_ENABLED"],
        "Whether a server watches its sources.",
    ),
    key(
        "watch.debounce_ms",
        number(10_000, 1, 3_600_000),
        &["VAULT_AGENT_WATCH_DEBOUNCE_MS"],
        "Quiet time after a change before it is indexed.",
    ),
    key(
        "watch.max_batch_delay_ms",
        number(60_000, 1, 3_600_000),
        &["VAULT_AGENT_WATCH_MAX_BATCH_DELAY_MS"],
        "Longest time a change waits while others keep coming; at least `watch.debounce_ms`.",
    ),
    key(
        "watch.ignore_initial",
        Kind::Bool(true),
        &["VAULT_AGENT_WATCH_IGNORE_INITIAL"],
        "Whether what changed while nothing was watching is left to the next `ibid index`.",
    ),
    key(
        "sync.enabled",
        Kind::Bool(false),
        &["VAULT_AGENT_SYNC_ENABLED"],
        "Whether a server pulls the sources' git repository on a schedule.",
    )
    .not_in_project(),
    key(
        "sync.repo",
        Kind::Text(""),
        &["VAULT_AGENT_SYNC_REPO"],
        "Address of the repository, without credentials.",
    )
    .not_in_project(),
    key("sync.remote", Kind::Text("origin"), &["VAULT_AGENT_SYNC_REMOTE"], "Name of the remote.")
        .not_in_project(),
    key("sync.branch", Kind::Text(""), &["VAULT_AGENT_SYNC_BRANCH"], "Branch to pull.").not_in_project(),
    key(
        "sync.interval_seconds",
        number(900, 60, 604_800),
        &["VAULT_AGENT_SYNC_INTERVAL_SECONDS"],
        "Time between two pulls.",
    ),
    key(
        "sync.webhook_enabled",
        Kind::Bool(false),
        &["VAULT_AGENT_SYNC_WEBHOOK_ENABLED"],
        "Whether a webhook may ask for a pull.",
    ),
    secret(
        "sync.webhook_secret",
        &["VAULT_AGENT_SYNC_WEBHOOK_SECRET"],
        "Secret that the webhook must carry.",
    ),
    key(
        "sync.pull_timeout_seconds",
        number(120, 1, 86_400),
        &["VAULT_AGENT_SYNC_PULL_TIMEOUT_SECONDS"],
        "Longest time one pull may take.",
    ),
    key(
        "sync.failure_backoff_seconds",
        number(3600, 1, 604_800),
        &["VAULT_AGENT_SYNC_FAILURE_BACKOFF_SECONDS"],
        "Time between two pulls after repeated failures; at least `sync.interval_seconds`.",
    ),
    key(
        "text.file",
        Kind::Path,
        &["KB_TEXT_FILE"],
        "The one file of the `text` toolset; `datasets/knowledge-base.txt` when not set.",
    ),
    key(
        "text.description",
        Kind::Text("Azure Managed Grafana knowledge base"),
        &[],
        "What `get_kb_info` says that the file is.",
    ),
    key(
        "engine.url",
        Kind::Text(""),
        &["KB_ENGINE_URL"],
        "Address of an ibid server to work through instead of opening the knowledge base here.",
    )
    .not_in_project(),
    secret("engine.api_key", &["KB_API_KEY"], "Bearer key for `engine.url`."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_documented() {
        let mut seen = BTreeSet::new();
        for key in KEYS {
            for name in [key.name].iter().chain(key.aliases) {
                assert!(seen.insert(*name), "{name} twice");
            }
            assert!(key.about.ends_with('.'), "{}", key.name);
            assert!(!key.secret || key.scope == Scope::NotInProject, "{}", key.name);
        }
    }

    #[test]
    fn a_misspelt_key_is_recognised() {
        for (typed, meant) in [
            ("server.prot", Some("server.port")),
            ("serverport", Some("server.port")),
            ("log_level", Some("server.log_level")),
            ("embeddings.enabled", Some("embedding.enabled")),
            ("watch.debounce", Some("watch.debounce_ms")),
            ("zzz", None),
        ] {
            assert_eq!(suggestion(typed, KEYS.iter().map(|key| key.name)), meant, "{typed}");
        }
    }
}
