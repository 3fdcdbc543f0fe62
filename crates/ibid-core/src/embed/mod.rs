//! Embedding: texts to vectors.
//!
//! The built-in model needs nothing but the program itself; a directory with a model of the same family and an
//! endpoint on this machine or network are the alternatives.

mod builtin;
mod encoder;
mod endpoint;
mod http;
mod kernel;
mod local;
mod math;
mod pack;
#[cfg(test)]
mod reference;
mod safetensors;
mod tables;
mod weights;
mod wordpiece;
mod words;

pub use builtin::{BUILTIN_MODEL, BuiltinModel};
pub use endpoint::endpoint_allowed;
pub use http::{HttpEmbedder, HttpOptions};
pub use local::{LocalModel, LocalOptions};

use std::sync::Arc;

use crate::config::EmbeddingConfig;

/// Opens the model that a configuration names; `None` when meaning is turned off. Nothing is downloaded.
pub fn open(config: &EmbeddingConfig) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
    Ok(match config {
        EmbeddingConfig::Disabled => None,
        EmbeddingConfig::Builtin => Some(Arc::new(BuiltinModel)),
        EmbeddingConfig::Local(path) => Some(Arc::new(LocalModel::open(path, LocalOptions::default())?)),
        EmbeddingConfig::Endpoint(endpoint) => {
            let mut options = HttpOptions::new(&endpoint.url, &endpoint.model);
            options.key.clone_from(&endpoint.key);
            options.allow_private_network = endpoint.allow_private_network;
            options.query_prefix.clone_from(&endpoint.query_prefix);
            options.passage_prefix.clone_from(&endpoint.passage_prefix);
            options.timeout = endpoint.timeout;
            options.query_timeout = options.query_timeout.min(endpoint.timeout);
            Some(Arc::new(HttpEmbedder::new(options)?))
        }
    })
}

/// Why a text could not be embedded.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model's data is damaged or incomplete.
    #[error("the model data is damaged: {0}")]
    Damaged(&'static str),
    /// The model or the endpoint does not answer.
    #[error("the embedding endpoint does not answer: {0}")]
    Unreachable(String),
    /// The answer is not usable.
    #[error("the embedding endpoint gave an unusable answer: {0}")]
    BadAnswer(&'static str),
    /// The vectors have another length than those it made before.
    #[error(
        "the embedding endpoint gives vectors of another length than before: {found} instead of {expected}"
    )]
    OtherLength {
        /// What was expected.
        expected: usize,
        /// What came.
        found: usize,
    },
    /// The configuration cannot work.
    #[error("{0}")]
    Config(String),
}

/// A model that turns texts into vectors of unit length.
pub trait Embedder: Send + Sync {
    /// Name and version; vectors of different models are never compared.
    fn model(&self) -> &str;
    /// Length of the vectors.
    fn dimensions(&self) -> usize;
    /// Embeds passages.
    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
    /// Embeds a query.
    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError>;
    /// Word pieces per word of this text, or `None` when the model cannot tell: how well it knows the
    /// language. Unknown pieces count heavily.
    fn fertility(&self, text: &str) -> Option<f32>;
    /// How many word pieces of this text it reads, or `None` when the model cannot tell.
    fn pieces(&self, _text: &str) -> Option<usize> {
        None
    }
    /// Tells a model that does not know the length of its vectors which one is stored: others are refused. With
    /// zero, that of its next answer counts.
    fn expect_dimensions(&self, _dimensions: usize) {}
}

/// More than any model reads of one passage, in characters.
const LONGEST_TEXT: usize = 8_000;

/// The text that stands for a passage: its title, the headings above it and its own text.
///
/// Headings that say the same as the title or the heading before are left out, because they would only take
/// room from the text.
pub fn embedding_text(title: &str, heading_path: &[String], text: &str) -> String {
    let mut parts: Vec<&str> = Vec::with_capacity(heading_path.len() + 1);
    for part in std::iter::once(title).chain(heading_path.iter().map(String::as_str)) {
        let part = part.trim();
        if !part.is_empty() && parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    let mut whole = parts.join(" > ");
    if !whole.is_empty() && !text.is_empty() {
        whole.push('\n');
    }
    whole.push_str(text);
    if let Some((end, _)) = whole.char_indices().nth(LONGEST_TEXT) {
        whole.truncate(end);
    }
    whole
}

/// Scales a vector to length one; `false` when it has no direction.
fn unit_length(vector: &mut [f32]) -> bool {
    let square: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    let usable = square.is_finite() && square > 1e-24;
    if usable {
        let factor = 1.0 / square.sqrt();
        for value in vector {
            *value = (f64::from(*value) * factor) as f32;
        }
    }
    usable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_passage_begins_with_its_title_and_headings() {
        let check = |title: &str, headings: &[&str], text: &str, expected: &str| {
            let headings: Vec<String> = headings.iter().map(ToString::to_string).collect();
            assert_eq!(embedding_text(title, &headings, text), expected);
        };
        check("Guide", &["Install", "Linux"], "Run it.", "Guide > Install > Linux\nRun it.");
        check("Guide", &["Guide", "Linux"], "Run it.", "Guide > Linux\nRun it.");
        check("", &[], "Run it.", "Run it.");
        check("Guide", &[], "", "Guide");
        check("", &["  "], "", "");
    }

    #[test]
    fn the_text_of_a_passage_is_cut_between_characters() {
        let text = embedding_text("título", &[], &"é".repeat(9_000));
        assert_eq!(text.chars().count(), LONGEST_TEXT);
    }
}
