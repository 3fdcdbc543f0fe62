//! Integration tests of the engine, one binary.

mod attachments;
mod children;
mod crash;
mod disk;
mod engine;
mod indexing;
mod knowledge;
mod source;
mod tree;
mod vaults;
mod watching;
