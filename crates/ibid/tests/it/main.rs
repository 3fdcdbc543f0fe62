//! Tests of the whole program, in one binary.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "what a test relies on may fail it, in helper functions too, and a test that cannot run says so"
)]

mod endpoint;
mod git;
mod harness;
mod sandbox;
#[path = "../../../ibid-core/tests/it/tiny_model.rs"]
mod tiny_model;

mod cli;
mod cli_clients;
mod cli_eval;
mod cli_index;
mod cli_program;
mod cli_search;
mod cli_sync;
mod concurrency;
mod config;
mod crash;
mod crash_storage;
mod embedding;
mod hostile;
mod hostile_strings;
mod hostile_vaults;
mod http_guard;
mod http_routes;
mod mcp_http;
mod mcp_stdio;
mod mcp_stdio_drain;
mod mcp_versions;
mod models;
mod offline;
mod parity;
mod privacy;
mod reference;
mod text;
mod tidy;
mod troubleshooting;
mod vault;
