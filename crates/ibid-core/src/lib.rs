//! The engine of ibid: source, parse, chunk, embed, store, query.
//!
//! This crate never prints, exits, or reads environment, arguments, home or current directory. Everything
//! it needs is handed in.

mod attachment;
pub mod chunk;
pub mod config;
pub mod embed;
pub mod engine;
mod error;
pub mod eval;
mod freshness;
pub mod ingest;
pub mod lexical;
mod note;
pub mod parse;
mod private;
pub mod search;
pub mod server;
pub mod source;
pub mod store;
pub mod sync;

pub use config::{CoreConfig, EmbeddingConfig, EndpointConfig, SourceConfig, WatchConfig};
pub use engine::{EmbedReply, LocalEngine};
