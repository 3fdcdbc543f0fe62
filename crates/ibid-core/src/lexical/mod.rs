//! Words: how text is cut into terms, per language and per view, for indexes, queries and snippets alike.

mod analysis;

pub use analysis::{Language, Token, View, analyze};
