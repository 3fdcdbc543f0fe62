//! The contracts of ibid: one table of tools per toolset, and everything that follows from the table.
//!
//! A tool is an async function, its two types, and one line in its toolset's table. MCP, HTTP and the command
//! line are adapters over [`ToolTable`]; this crate knows neither protocol nor storage.

pub mod coerce;
pub mod reference;
pub mod text;
pub mod vault;

mod call;
mod names;
mod schema;
mod select;
mod spec;
mod suggest;
mod table;
mod toolset;
mod validate;

pub use call::{Call, Cancelled, Progress, ProgressSink};
pub use select::Selection;
pub use spec::{Effect, Envelope, ErrorStyle, Method, RawAnswer, Route, Spec, UnknownArguments};
pub use suggest::nearest;
pub use table::{MAX_INSTRUCTIONS, ToolTable};
pub use toolset::{Builder, Failure, FailureKind, LazySchema, Tool, Toolset};

/// A JSON object; field order is kept.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// Names of the toolsets, in the order of the contracts.
pub const TOOLSETS: [&str; 5] = ["library", "vault", "text", "docs", "trace"];
