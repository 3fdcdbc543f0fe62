//! The engine of ibid: source, parse, chunk, embed, store, query.
//!
//! This crate never prints, exits, or reads environment, arguments, home or current directory. Everything
//! it needs is handed in.

pub mod chunk;
pub mod embed;
pub mod eval;
pub mod ingest;
pub mod lexical;
pub mod parse;
pub mod search;
pub mod store;
