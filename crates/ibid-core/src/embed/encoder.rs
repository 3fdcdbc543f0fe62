//! The forward pass: word pieces to a vector, without padding.
//!
//! Texts of a batch lie one behind the other for the linear layers; attention runs inside each text. A text's
//! vector does not depend on its neighbours.

use std::{borrow::Cow, sync::Mutex};

use super::{
    EmbedError,
    kernel::{self, Kernel, LinearView, Rows},
    weights::{Linear, PANEL, Shape, Weights},
    wordpiece::WordPiece,
};

/// Word pieces that go through the layers together: enough to use each weight often, few enough to stay in
/// the cache.
const BATCH_PIECES: usize = 96;
/// Rows that go through the widest layer at once.
const INNER_ROWS: usize = 64;
/// Rows of attention scores that are worked on at once.
const SCORE_ROWS: usize = 24;

/// A model that is ready to work.
pub(super) struct Encoder {
    weights: Weights,
    tokenizer: WordPiece,
    kernel: &'static Kernel,
    /// Buffers that no thread uses at the moment.
    idle: Mutex<Vec<Scratch>>,
}

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    rows: Vec<f32>,
    joined: Vec<f32>,
    mixed: Vec<f32>,
    inner: Vec<f32>,
    rounded: Vec<i16>,
    round_scales: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
}

impl Encoder {
    /// Takes a packed model.
    pub(super) fn new(bytes: Cow<'static, [u8]>) -> Result<Self, EmbedError> {
        Self::with_kernel(bytes, kernel::best())
    }

    /// Takes a packed model and the instructions to work with.
    pub(super) fn with_kernel(
        bytes: Cow<'static, [u8]>,
        kernel: &'static Kernel,
    ) -> Result<Self, EmbedError> {
        let weights = Weights::read(bytes)?;
        let tokenizer = WordPiece::new(weights.pieces(), &weights.shape)?;
        Ok(Self { weights, tokenizer, kernel, idle: Mutex::default() })
    }

    /// Name of the model.
    pub(super) fn name(&self) -> &str {
        self.weights.name()
    }

    /// Name of the instruction set in use.
    pub(super) fn instructions(&self) -> &'static str {
        self.kernel.name
    }

    /// Length of the vectors.
    pub(super) fn dimensions(&self) -> usize {
        self.weights.shape.hidden
    }

    /// Word pieces per word.
    pub(super) fn fertility(&self, text: &str) -> Option<f32> {
        self.tokenizer.fertility(text)
    }

    /// How many word pieces of a text count.
    pub(super) fn count(&self, text: &str) -> usize {
        self.tokenizer.encode(text, self.weights.shape.positions).len()
    }

    /// Vectors of unit length, in the order of the texts.
    pub(super) fn embed<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let limit = self.weights.shape.positions;
        let mut scratch = self.idle.lock().ok().and_then(|mut idle| idle.pop()).unwrap_or_default();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut batch: Vec<Vec<u32>> = Vec::new();
        let mut pieces = 0;
        for text in texts {
            let next = self.tokenizer.encode(text.as_ref(), limit);
            if !batch.is_empty() && pieces + next.len() > BATCH_PIECES {
                self.forward(&batch, &mut scratch, &mut vectors)?;
                batch.clear();
                pieces = 0;
            }
            pieces += next.len();
            batch.push(next);
        }
        if !batch.is_empty() {
            self.forward(&batch, &mut scratch, &mut vectors)?;
        }
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(scratch);
        }
        Ok(vectors)
    }

    fn linear(
        &self,
        layer: &Linear,
        input: &[f32],
        rows: usize,
        buffers: &mut Rounding<'_>,
        out: &mut [f32],
    ) {
        buffers.values.resize(rows * layer.inputs, 0);
        buffers.scales.resize(rows, 0.0);
        self.kernel.quantise(input, layer.inputs, buffers.values, buffers.scales);
        self.kernel.linear(self.view(layer), rows, buffers.values, buffers.scales, out);
    }

    fn view<'a>(&'a self, layer: &'a Linear) -> LinearView<'a> {
        LinearView {
            inputs: layer.inputs,
            outputs: layer.outputs,
            panels: self.weights.panels(layer),
            scales: &layer.scales,
            bias: &layer.bias,
        }
    }

    fn forward(
        &self,
        batch: &[Vec<u32>],
        scratch: &mut Scratch,
        vectors: &mut Vec<Vec<f32>>,
    ) -> Result<(), EmbedError> {
        let shape = &self.weights.shape;
        let hidden = shape.hidden;
        let count: usize = batch.iter().map(Vec::len).sum();
        let Scratch { rows, joined, mixed, inner, rounded, round_scales, keys, values, scores } = scratch;
        let mut rounding = Rounding { values: rounded, scales: round_scales };
        rows.resize(count * hidden, 0.0);
        joined.resize(count * 3 * hidden, 0.0);
        mixed.resize(count * hidden, 0.0);
        inner.resize(count.min(INNER_ROWS) * shape.inner, 0.0);

        let numbered = batch.iter().flat_map(|pieces| pieces.iter().enumerate());
        for ((position, piece), row) in numbered.zip(rows.chunks_exact_mut(hidden)) {
            self.weights.input(*piece, position, row);
        }
        let norm = &self.weights.input_norm;
        self.kernel.normalise(rows, None, &norm.scale, &norm.shift, shape.epsilon);
        for layer in &self.weights.layers {
            self.linear(&layer.attention_in, rows, count, &mut rounding, joined);
            let mut first = 0;
            for pieces in batch {
                let joined = &joined[first * 3 * hidden..][..pieces.len() * 3 * hidden];
                let mixed = &mut mixed[first * hidden..][..pieces.len() * hidden];
                self.attention(joined, pieces.len(), mixed, &mut Attention { keys, values, scores });
                first += pieces.len();
            }
            let projected = &mut joined[..count * hidden];
            self.linear(&layer.attention_out, mixed, count, &mut rounding, projected);
            let norm = &layer.attention_norm;
            self.kernel.normalise(rows, Some(projected), &norm.scale, &norm.shift, shape.epsilon);
            // The widest layer is worked through in parts, so that what it makes stays in the cache.
            for (first, count) in kernel::parts(count, INNER_ROWS) {
                let rows = &mut rows[first * hidden..][..count * hidden];
                let (inner, outer) = (&mut inner[..count * shape.inner], &mut mixed[..count * hidden]);
                self.linear(&layer.inner, rows, count, &mut rounding, inner);
                self.kernel.gelu(inner);
                self.linear(&layer.outer, inner, count, &mut rounding, outer);
                let norm = &layer.outer_norm;
                self.kernel.normalise(rows, Some(outer), &norm.scale, &norm.shift, shape.epsilon);
            }
        }
        let mut rest = rows.as_slice();
        for pieces in batch {
            let (own, others) = rest.split_at(pieces.len() * hidden);
            rest = others;
            vectors.push(pool(own, shape)?);
        }
        Ok(())
    }

    /// Only the linear layers for so many word pieces, with input that does not change.
    pub(super) fn multiply_only(&self, pieces: usize) -> f32 {
        let shape = &self.weights.shape;
        let widest = shape.inner.max(3 * shape.hidden);
        let activations = vec![1_i16; pieces * widest];
        let scales = vec![1.0; pieces];
        let mut out = vec![0.0; pieces * widest];
        for layer in &self.weights.layers {
            for linear in [&layer.attention_in, &layer.attention_out, &layer.inner, &layer.outer] {
                let (input, out) =
                    (&activations[..pieces * linear.inputs], &mut out[..pieces * linear.outputs]);
                self.kernel.linear(self.view(linear), pieces, input, &scales, out);
            }
        }
        out.iter().sum()
    }

    /// Mixes the values of a text by how well queries and keys agree, head by head.
    fn attention(&self, joined: &[f32], count: usize, mixed: &mut [f32], buffers: &mut Attention<'_>) {
        let Shape { hidden, heads, .. } = self.weights.shape;
        let head = self.weights.shape.head();
        let padded = count.next_multiple_of(PANEL);
        let Attention { keys, values, scores } = buffers;
        // Keys in panels of sixteen texts' places, zero behind the end; values in panels of sixteen columns.
        keys.clear();
        keys.resize(padded * head, 0.0);
        values.resize(count * head, 0.0);
        scores.resize(SCORE_ROWS * padded, 0.0);
        for number in 0..heads {
            for (place, row) in joined.chunks_exact(3 * hidden).enumerate() {
                let panel = &mut keys[place / PANEL * PANEL * head..][..PANEL * head];
                for (column, key) in row[hidden + number * head..][..head].iter().enumerate() {
                    panel[column * PANEL + place % PANEL] = *key;
                }
                let value = &row[2 * hidden + number * head..][..head];
                for (panel, part) in value.chunks_exact(PANEL).enumerate() {
                    values[(panel * count + place) * PANEL..][..PANEL].copy_from_slice(part);
                }
            }
            for first in (0..count).step_by(SCORE_ROWS) {
                let rows = SCORE_ROWS.min(count - first);
                let queries =
                    Rows { start: first * 3 * hidden + number * head, stride: 3 * hidden, count: rows };
                for (panel, keys) in keys.chunks_exact(PANEL * head).enumerate() {
                    let out = Rows { start: panel * PANEL, stride: padded, count: rows };
                    self.kernel.product(joined, queries, keys, scores, out);
                }
                self.kernel.softmax(&mut scores[..rows * padded], padded, count);
                let left = Rows { start: 0, stride: padded, count: rows };
                for (panel, values) in values.chunks_exact(PANEL * count).enumerate() {
                    let start = first * hidden + number * head + panel * PANEL;
                    self.kernel.product(
                        scores,
                        left,
                        values,
                        mixed,
                        Rows { start, stride: hidden, count: rows },
                    );
                }
            }
        }
    }
}

/// Activations rounded to sixteen bits.
struct Rounding<'a> {
    values: &'a mut Vec<i16>,
    scales: &'a mut Vec<f32>,
}

/// Buffers of one head.
struct Attention<'a> {
    keys: &'a mut Vec<f32>,
    values: &'a mut Vec<f32>,
    scores: &'a mut Vec<f32>,
}

/// One vector of unit length for the rows of a text.
fn pool(rows: &[f32], shape: &Shape) -> Result<Vec<f32>, EmbedError> {
    let mut vector = vec![0.0_f32; shape.hidden];
    let used = if shape.first_token { shape.hidden } else { rows.len() };
    for row in rows[..used].chunks_exact(shape.hidden) {
        for (sum, value) in vector.iter_mut().zip(row) {
            *sum += value;
        }
    }
    if super::unit_length(&mut vector) { Ok(vector) } else { Err(EmbedError::Damaged("it gives no numbers")) }
}
