//! Embedding: texts to vectors.

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
}
