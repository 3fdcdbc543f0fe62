//! Reader of safetensors files: a length, a JSON table of names, types, shapes and ranges, then the numbers.

use std::{collections::HashMap, ops::Range};

use serde::Deserialize;

use super::EmbedError;

/// Longer tables of names do not occur.
const LONGEST_HEADER: u64 = 16 << 20;

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

#[derive(Clone, Copy)]
enum Kind {
    F32,
    F16,
    BF16,
}

struct Tensor {
    kind: Kind,
    shape: Vec<usize>,
    range: Range<usize>,
}

/// The tensors of a file that hold floating-point numbers.
pub(super) struct Tensors<'a> {
    bytes: &'a [u8],
    tensors: HashMap<String, Tensor>,
}

impl<'a> Tensors<'a> {
    /// Reads the table and checks every range.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, EmbedError> {
        let damaged = |what| EmbedError::Damaged(what);
        let (length, rest) = bytes.split_first_chunk().ok_or(damaged("the weights are cut short"))?;
        let length = u64::from_le_bytes(*length);
        if length > LONGEST_HEADER || length > rest.len() as u64 {
            return Err(damaged("the weights are cut short"));
        }
        let (header, data) = rest.split_at(length as usize);
        let table: HashMap<String, serde_json::Value> = serde_json::from_slice(header)
            .map_err(|_| damaged("the table of the weights is not readable"))?;
        let mut tensors = HashMap::with_capacity(table.len());
        for (name, entry) in table {
            if name == "__metadata__" {
                continue;
            }
            let entry: Entry = serde_json::from_value(entry)
                .map_err(|_| damaged("the table of the weights is not readable"))?;
            let (kind, size) = match entry.dtype.as_str() {
                "F32" => (Kind::F32, 4),
                "F16" => (Kind::F16, 2),
                "BF16" => (Kind::BF16, 2),
                _ => continue,
            };
            let range = entry.data_offsets.0..entry.data_offsets.1;
            let bytes_needed =
                entry.shape.iter().try_fold(size, |product: usize, side| product.checked_mul(*side));
            if range.end > data.len() || range.start > range.end || bytes_needed != Some(range.len()) {
                return Err(damaged("the weights are cut short"));
            }
            tensors.insert(name, Tensor { kind, shape: entry.shape, range });
        }
        Ok(Self { bytes: data, tensors })
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The numbers of a tensor of this shape.
    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EmbedError> {
        let tensor = self.tensors.get(name).ok_or(EmbedError::Damaged("the weights lack a layer"))?;
        if tensor.shape != shape {
            return Err(EmbedError::Damaged("the weights do not have the shape that the configuration says"));
        }
        let bytes = &self.bytes[tensor.range.clone()];
        let numbers: Vec<f32> = match tensor.kind {
            Kind::F32 => {
                bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            }
            Kind::F16 => bytes.chunks_exact(2).map(|b| half(u16::from_le_bytes([b[0], b[1]]))).collect(),
            Kind::BF16 => bytes
                .chunks_exact(2)
                .map(|b| f32::from_bits(u32::from(u16::from_le_bytes([b[0], b[1]])) << 16))
                .collect(),
        };
        if numbers.iter().all(|number| number.is_finite()) {
            Ok(numbers)
        } else {
            Err(EmbedError::Damaged("the weights hold something that is not a number"))
        }
    }
}

/// A half-precision number.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10 & 31);
    let fraction = u32::from(bits & 1023);
    match exponent {
        0 => {
            let value = fraction as f32 / 16_777_216.0;
            if sign == 0 { value } else { -value }
        }
        31 => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_numbers_are_read_exactly() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7BFF, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x8400, -6.103_515_6e-5),
        ] {
            assert_eq!(half(bits).to_bits(), f32::to_bits(value), "{bits:04x}");
        }
        assert!(half(0x7E00).is_nan());
        assert!(half(0xFC00).is_infinite());
    }

    #[test]
    fn a_range_outside_the_file_is_damage() {
        let file =
            |table: &str| [&(table.len() as u64).to_le_bytes()[..], table.as_bytes(), &[0; 8]].concat();
        let read = |table: &str| Tensors::read(&file(table)).map(|tensors| tensors.has("a"));
        assert!(read(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#).unwrap());
        for bad in [
            r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}"#,
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#,
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}"#,
            r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}}"#,
            r#"{"a":7}"#,
            "[]",
        ] {
            assert!(matches!(read(bad), Err(EmbedError::Damaged(_))), "{bad}");
        }
        assert!(Tensors::read(&u64::MAX.to_le_bytes()).is_err());
        assert!(Tensors::read(b"short").is_err());
    }
}
