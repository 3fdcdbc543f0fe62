//! The `vault` contract, kept by the real program over stdio and over HTTP.

mod acceptance;
mod attachment;
mod background;
pub(crate) mod client;
mod codes;
mod embeddings;
mod error;
mod fixture;
mod freshness;
mod http;
mod indexing;
mod mcp_http;
mod parity;
mod server_status;
mod shutdown;
mod sync;
mod tools;
mod untouched;

pub(crate) use client::{Enveloped, Reply, Server, Stdio};
pub(crate) use fixture::{Vault, note_id};
