//! The model inside the program: all-MiniLM-L6-v2, loaded when it is first needed.

use std::{borrow::Cow, sync::OnceLock};

use super::{EmbedError, Embedder, encoder::Encoder};

/// Name of the built-in model. The part behind the colon changes when its vectors do.
pub const BUILTIN_MODEL: &str = "all-minilm-l6-v2:q8";
const DIMENSIONS: usize = 384;

/// Keeps the bytes at the begin of a cache line.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static PACKED: &Aligned<[u8]> = &Aligned(*include_bytes!("../../model/minilm-l6-v2.ibm"));
static ENCODER: OnceLock<Encoder> = OnceLock::new();

/// The packed model.
pub(super) fn packed() -> &'static [u8] {
    &PACKED.0
}

/// The built-in model. Making one costs nothing; all of them share the same weights.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltinModel;

impl BuiltinModel {
    /// Loads the model now, if no call has done so yet.
    pub fn load(self) -> Result<(), EmbedError> {
        Self::encoder().map(|_| ())
    }

    /// Name of the instruction set it computes with.
    pub fn instructions(self) -> Result<&'static str, EmbedError> {
        Ok(Self::encoder()?.instructions())
    }

    /// How many word pieces of this text it reads.
    pub fn count_pieces(self, text: &str) -> Result<usize, EmbedError> {
        Ok(Self::encoder()?.count(text))
    }

    /// Does only the matrix multiplications that a text of so many word pieces needs, as a floor for
    /// measurements.
    #[doc(hidden)]
    pub fn multiply_only(self, pieces: usize) -> Result<f32, EmbedError> {
        Ok(Self::encoder()?.multiply_only(pieces))
    }

    fn encoder() -> Result<&'static Encoder, EmbedError> {
        if let Some(encoder) = ENCODER.get() {
            return Ok(encoder);
        }
        let encoder = Encoder::new(Cow::Borrowed(packed()))?;
        Ok(ENCODER.get_or_init(|| encoder))
    }
}

impl Embedder for BuiltinModel {
    fn model(&self) -> &str {
        BUILTIN_MODEL
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Self::encoder()?.embed(texts)
    }

    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let none = EmbedError::Damaged("it gives no vector");
        Self::encoder()?.embed(&[query])?.pop().ok_or(none)
    }

    fn fertility(&self, text: &str) -> Option<f32> {
        Self::encoder().ok()?.fertility(text)
    }

    fn pieces(&self, text: &str) -> Option<usize> {
        Some(Self::encoder().ok()?.count(text))
    }
}

#[cfg(test)]
#[path = "builtin_tests.rs"]
mod tests;
