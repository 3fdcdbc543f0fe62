//! Integration tests of the engine, one binary.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "what a test relies on may fail it, in helper functions too, and a test that cannot run says so"
)]

mod attachments;
mod children;
mod crash;
mod disk;
mod engine;
mod indexing;
mod knowledge;
mod legs;
mod models;
mod source;
mod tiny_model;
mod tree;
mod vaults;
mod watching;
