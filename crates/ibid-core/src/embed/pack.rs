//! Packs the weights of a model directory the way the built-in model is packed.

use super::{
    EmbedError,
    safetensors::Tensors,
    weights::{ALIGNMENT, PANEL, Shape},
};

struct Packer<'a> {
    tensors: &'a Tensors<'a>,
    /// What the names of the tensors begin with.
    prefix: &'static str,
    out: Vec<u8>,
}

/// Rounds rows to eight bits, with one scale per row.
fn eight_bits(rows: &[f32], size: usize) -> (Vec<i8>, Vec<f32>) {
    let mut values = Vec::with_capacity(rows.len());
    let mut scales = Vec::with_capacity(rows.len() / size);
    for row in rows.chunks_exact(size) {
        let most = row.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = if most == 0.0 { 1.0 } else { most / 127.0 };
        values.extend(row.iter().map(|value| (value / scale).round_ties_even() as i8));
        scales.push(scale);
    }
    (values, scales)
}

impl Packer<'_> {
    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EmbedError> {
        self.tensors.get(&format!("{}{name}", self.prefix), shape)
    }

    fn section(&mut self, bytes: impl IntoIterator<Item = u8>) {
        self.out.extend(bytes);
        self.out.resize(self.out.len().next_multiple_of(ALIGNMENT), 0);
    }

    fn floats(&mut self, values: &[f32]) {
        self.section(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn norm(&mut self, name: &str, size: usize) -> Result<(), EmbedError> {
        for part in ["weight", "bias"] {
            let values = self.get(&format!("{name}.{part}"), &[size])?;
            self.floats(&values);
        }
        Ok(())
    }

    fn linear(&mut self, weight: &[f32], bias: &[f32], inputs: usize) {
        let (values, scales) = eight_bits(weight, inputs);
        let mut panels = Vec::with_capacity(values.len());
        for panel in values.chunks_exact(PANEL * inputs) {
            for pair in 0..inputs / 2 {
                for row in panel.chunks_exact(inputs) {
                    panels.extend(row[2 * pair..2 * pair + 2].iter().map(|value| value.cast_unsigned()));
                }
            }
        }
        self.section(panels);
        self.floats(&scales);
        self.floats(bias);
    }

    fn dense(&mut self, name: &str, inputs: usize, outputs: usize) -> Result<(), EmbedError> {
        let weight = self.get(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = self.get(&format!("{name}.bias"), &[outputs])?;
        self.linear(&weight, &bias, inputs);
        Ok(())
    }

    fn attention(&mut self, layer: &str, shape: &Shape) -> Result<(), EmbedError> {
        let hidden = shape.hidden;
        let scale = (1.0 / (shape.head() as f64).sqrt()) as f32;
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for (kind, factor) in [("query", scale), ("key", 1.0), ("value", 1.0)] {
            let name = format!("{layer}.attention.self.{kind}");
            let part = self.get(&format!("{name}.weight"), &[hidden, hidden])?;
            weight.extend(part.iter().map(|value| value * factor));
            let part = self.get(&format!("{name}.bias"), &[hidden])?;
            bias.extend(part.iter().map(|value| value * factor));
        }
        self.linear(&weight, &bias, hidden);
        Ok(())
    }
}

/// A packed model from the tensors of a BERT encoder. `places` is the number of positions the tensors have,
/// `pieces` the vocabulary, one a line.
pub(super) fn pack(
    shape: &Shape,
    places: usize,
    types: usize,
    name: &str,
    pieces: &str,
    tensors: &Tensors<'_>,
) -> Result<Vec<u8>, EmbedError> {
    let prefix = if tensors.has("bert.embeddings.word_embeddings.weight") { "bert." } else { "" };
    let hidden = shape.hidden;
    let mut packer = Packer { tensors, prefix, out: vec![0; ALIGNMENT] };
    packer.section(name.bytes());
    packer.section(pieces.bytes());
    let table = packer.get("embeddings.word_embeddings.weight", &[shape.pieces, hidden])?;
    let (values, scales) = eight_bits(&table, hidden);
    packer.section(values.into_iter().map(i8::cast_unsigned));
    packer.floats(&scales);
    let mut positions = packer.get("embeddings.position_embeddings.weight", &[places, hidden])?;
    positions.truncate(shape.positions * hidden);
    let kinds = packer.get("embeddings.token_type_embeddings.weight", &[types, hidden])?;
    for row in positions.chunks_exact_mut(hidden) {
        for (value, kind) in row.iter_mut().zip(&kinds) {
            *value += kind;
        }
    }
    packer.floats(&positions);
    packer.norm("embeddings.LayerNorm", hidden)?;
    for layer in 0..shape.layers {
        let layer = format!("encoder.layer.{layer}");
        packer.attention(&layer, shape)?;
        packer.dense(&format!("{layer}.attention.output.dense"), hidden, hidden)?;
        packer.norm(&format!("{layer}.attention.output.LayerNorm"), hidden)?;
        packer.dense(&format!("{layer}.intermediate.dense"), hidden, shape.inner)?;
        packer.dense(&format!("{layer}.output.dense"), shape.inner, hidden)?;
        packer.norm(&format!("{layer}.output.LayerNorm"), hidden)?;
    }
    let header = shape.header(pieces.len(), name.len(), packer.out.len());
    packer.out[..ALIGNMENT].copy_from_slice(&header);
    Ok(packer.out)
}
