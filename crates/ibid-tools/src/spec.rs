//! What a toolset's table says about a tool, apart from its function and types.

use serde_json::{Value, json};

/// What a tool does to the knowledge base. Becomes the MCP annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Adds or changes, and can be undone by another call.
    Write,
    /// Removes or overwrites for good.
    Destroy,
}

/// HTTP method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads; arguments come from path and query.
    Get,
    /// Arguments come from path, query and a JSON body.
    Post,
    /// As `Post`.
    Put,
    /// As `Post`.
    Patch,
    /// Arguments come from path and query.
    Delete,
}

/// Bytes to send as they are instead of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAnswer {
    /// Value of `Content-Type`.
    pub content_type: String,
    /// Name offered to whoever saves the bytes.
    pub file_name: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Where a tool is reachable over plain HTTP.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// Method.
    pub method: Method,
    /// Path with `{parameter}` and, last, `{*rest}` placeholders; each names an argument or an alias of one.
    pub path: &'static str,
    /// Turns a reply into raw bytes where it carries some; other replies stay JSON.
    pub raw: Option<fn(&Value) -> Option<RawAnswer>>,
}

impl Route {
    /// A `GET` route.
    pub const fn get(path: &'static str) -> Self {
        Self { method: Method::Get, path, raw: None }
    }

    /// A `POST` route.
    pub const fn post(path: &'static str) -> Self {
        Self { method: Method::Post, path, raw: None }
    }

    /// Sends raw bytes where the reply carries some.
    pub const fn raw(mut self, raw: fn(&Value) -> Option<RawAnswer>) -> Self {
        self.raw = Some(raw);
        self
    }
}

/// Shape of a toolset's JSON over plain HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Envelope {
    /// The reply itself.
    #[default]
    Bare,
    /// `{data, warnings}`; `warnings` is taken out of the reply.
    DataAndWarnings,
}

/// How a failure reaches an MCP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorStyle {
    /// A tool result with `isError` and `structuredContent.error`.
    ///
    /// Some clients hold every structured content against the output schema, failures too. So the published
    /// schema of such a tool has an `error` besides the fields of its reply, and requires none of them.
    #[default]
    ToolResult,
    /// A tool result with `isError` and a text. For contracts whose replies have a status of their own, so
    /// that only bad arguments get this far.
    TextResult,
    /// A JSON-RPC error with the code in `data`.
    JsonRpc,
}

/// What becomes of an argument the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownArguments {
    /// The call is refused and the argument named.
    #[default]
    Refuse,
    /// The argument is dropped.
    Ignore,
}

/// One line of a toolset's table.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The stable name.
    pub name: &'static str,
    /// A name for people.
    pub title: &'static str,
    /// What it does, when to use it, what it returns.
    pub about: &'static str,
    /// What it does to the knowledge base.
    pub effect: Effect,
    /// Whether calling it again with the same arguments changes nothing further.
    pub idempotent: bool,
    /// Whether it reaches beyond the knowledge base.
    pub open_world: bool,
    /// Where it is reachable over plain HTTP, if the contract says so.
    pub http: Option<Route>,
    /// Arguments of example calls, as JSON objects.
    pub examples: &'static [&'static str],
    /// Former names, which keep working.
    pub aliases: &'static [&'static str],
    /// Other spellings of arguments: `(accepted, published)`. The camelCase and snake_case twins of a
    /// published name are accepted without being listed.
    pub parameter_aliases: &'static [(&'static str, &'static str)],
}

impl Spec {
    const fn new(name: &'static str, title: &'static str, about: &'static str, effect: Effect) -> Self {
        Self {
            name,
            title,
            about,
            effect,
            idempotent: matches!(effect, Effect::Read),
            open_world: false,
            http: None,
            examples: &[],
            aliases: &[],
            parameter_aliases: &[],
        }
    }

    /// A tool that only reads.
    pub const fn read(name: &'static str, title: &'static str, about: &'static str) -> Self {
        Self::new(name, title, about, Effect::Read)
    }

    /// A tool that adds or changes.
    pub const fn write(name: &'static str, title: &'static str, about: &'static str) -> Self {
        Self::new(name, title, about, Effect::Write)
    }

    /// A tool that removes or overwrites.
    pub const fn destroy(name: &'static str, title: &'static str, about: &'static str) -> Self {
        Self::new(name, title, about, Effect::Destroy)
    }

    /// Makes it reachable over plain HTTP.
    pub const fn http(mut self, route: Route) -> Self {
        self.http = Some(route);
        self
    }

    /// Arguments of example calls, as JSON objects.
    pub const fn examples(mut self, examples: &'static [&'static str]) -> Self {
        self.examples = examples;
        self
    }

    /// Former names, which keep working.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Other spellings of arguments: `(accepted, published)`.
    pub const fn parameter_aliases(mut self, aliases: &'static [(&'static str, &'static str)]) -> Self {
        self.parameter_aliases = aliases;
        self
    }

    /// States whether repeating a call changes nothing further.
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// States whether it reaches beyond the knowledge base.
    pub const fn open_world(mut self, open_world: bool) -> Self {
        self.open_world = open_world;
        self
    }

    /// The MCP annotations, all four stated.
    pub fn annotations(&self) -> Value {
        json!({
            "readOnlyHint": self.effect == Effect::Read,
            "destructiveHint": self.effect == Effect::Destroy,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        })
    }
}
