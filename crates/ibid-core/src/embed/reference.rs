//! What the reference implementation says about the built-in model, for tests; made by `scripts/model`.

use std::borrow::Cow;

use serde::Deserialize;

use super::{builtin::packed, weights::Weights, wordpiece::WordPiece};

static TEXTS: &str = include_str!("../../model/reference/texts.json");
static VECTORS: &[u8] = include_bytes!("../../model/reference/vectors.f32");

#[derive(Deserialize)]
pub(super) struct Reference {
    /// Characters whose treatment was recorded, and a digest of it.
    pub(super) blocks: Vec<(u32, u32)>,
    pub(super) characters: String,
    pub(super) texts: Vec<Text>,
}

#[derive(Deserialize)]
pub(super) struct Text {
    #[serde(rename = "text")]
    pub(super) content: String,
    pub(super) ids: Vec<u32>,
    /// The vector in full precision.
    #[serde(skip)]
    pub(super) vector: Vec<f32>,
}

impl Reference {
    pub(super) fn read() -> Self {
        let mut new: Self = serde_json::from_str(TEXTS).unwrap();
        let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
        for (text, row) in new.texts.iter_mut().zip(VECTORS.chunks_exact(4 * 384)) {
            text.vector = row.chunks_exact(4).map(number).collect();
        }
        new
    }

    pub(super) fn tokenizer() -> WordPiece {
        let weights = Weights::read(Cow::Borrowed(packed())).unwrap();
        WordPiece::new(weights.pieces(), &weights.shape).unwrap()
    }
}

pub(super) fn cosine(left: &[f32], right: &[f32]) -> f32 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
