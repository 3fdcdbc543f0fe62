//! Words: how text is cut into terms, per language and per view, for indexes, queries and snippets alike.

mod analysis;
mod fold;
mod language;
mod segment;
mod sought;
mod stop;
mod word;

pub use analysis::{Terms, Token, View, Views, analyze, views};
pub use language::Language;
pub use sought::Sought;
pub use stop::is_stop_word;
