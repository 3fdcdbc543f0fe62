//! Packed weights: one file with shape, vocabulary and 8-bit matrices, used where it lies.
//!
//! All numbers are little endian. The header has 64 bytes: the magic, then as `u32` the format, hidden size,
//! layers, heads, inner size, number and bytes of the word pieces, positions and flags, the epsilon of the
//! layer norm as `f32`, the length of the name and the longest word as `u32`, and the length of the file as
//! `u64`. Sections follow, each padded to 64 bytes:
//!
//! - the name, and the word pieces, one a line;
//! - the table of word pieces as `i8` rows and one `f32` scale per row, the positions as `f32`, a layer norm;
//! - for each layer: queries, keys and values as one linear layer (the queries hold the scale of the scores),
//!   the output of the attention and a layer norm, the inner layer, the outer layer and a layer norm.
//!
//! A linear layer is its weights in panels of sixteen outputs, two inputs of each output side by side, then a
//! scale and a bias for each output.

use std::{borrow::Cow, ops::Range};

use super::EmbedError;

pub(super) const MAGIC: &[u8; 8] = b"IBIDMODL";
pub(super) const FORMAT: u32 = 1;
pub(super) const ALIGNMENT: usize = 64;
/// Outputs that a kernel computes at once.
pub(super) const PANEL: usize = 16;

const LOWERCASE: u32 = 1;
const STRIP_ACCENTS: u32 = 2;
const SPLIT_IDEOGRAPHS: u32 = 4;
const FIRST_TOKEN: u32 = 8;

/// Sizes of a model and how it reads text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    pub(super) pieces: usize,
    /// Longest text in word pieces, with the marks at both ends.
    pub(super) positions: usize,
    pub(super) epsilon: f32,
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
    pub(super) split_ideographs: bool,
    /// The vector is that of the first token, not the mean of all.
    pub(super) first_token: bool,
    /// A longer word is unknown as a whole.
    pub(super) longest_word: usize,
}

impl Shape {
    /// Length of the vectors of one attention head.
    pub(super) fn head(&self) -> usize {
        self.hidden / self.heads
    }

    /// Whether the runtime can work with these sizes.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let within = |value: usize, most: usize| (1..=most).contains(&value);
        if !within(self.layers, 64)
            || !within(self.heads, 256)
            || !within(self.pieces, 1 << 22)
            || !within(self.positions, 1 << 14)
            || !within(self.hidden, 1 << 13)
            || !within(self.inner, 1 << 15)
            || self.positions < 3
            || self.longest_word == 0
        {
            return Err("its sizes are out of range");
        }
        if !self.hidden.is_multiple_of(self.heads)
            || !self.head().is_multiple_of(PANEL)
            || !self.inner.is_multiple_of(PANEL)
        {
            return Err("the sizes of its layers are not multiples of 16");
        }
        if !self.epsilon.is_finite() || self.epsilon <= 0.0 {
            return Err("the epsilon of its layer norm is not a positive number");
        }
        Ok(())
    }

    /// The header of a file with this shape.
    pub(super) fn header(&self, piece_bytes: usize, name_bytes: usize, file_bytes: usize) -> Vec<u8> {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let flags = flag(self.lowercase, LOWERCASE)
            | flag(self.strip_accents, STRIP_ACCENTS)
            | flag(self.split_ideographs, SPLIT_IDEOGRAPHS)
            | flag(self.first_token, FIRST_TOKEN);
        let mut header = MAGIC.to_vec();
        for number in [
            FORMAT,
            self.hidden as u32,
            self.layers as u32,
            self.heads as u32,
            self.inner as u32,
            self.pieces as u32,
            piece_bytes as u32,
            self.positions as u32,
            flags,
            self.epsilon.to_bits(),
            name_bytes as u32,
            self.longest_word as u32,
        ] {
            header.extend(number.to_le_bytes());
        }
        header.extend((file_bytes as u64).to_le_bytes());
        header
    }
}

/// Scale and shift after a normalisation.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
}

/// A linear layer; its weights stay in the file.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) panels: Range<usize>,
    pub(super) scales: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// One layer of the encoder.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) attention_in: Linear,
    pub(super) attention_out: Linear,
    pub(super) attention_norm: Norm,
    pub(super) inner: Linear,
    pub(super) outer: Linear,
    pub(super) outer_norm: Norm,
}

/// A packed model.
#[derive(Debug)]
pub(super) struct Weights {
    bytes: Cow<'static, [u8]>,
    pub(super) shape: Shape,
    name: String,
    pieces: Range<usize>,
    table: Range<usize>,
    table_scales: Range<usize>,
    positions: Range<usize>,
    pub(super) input_norm: Norm,
    pub(super) layers: Vec<Layer>,
}

impl Weights {
    /// Reads a packed model; matrices are not copied.
    pub(super) fn read(bytes: Cow<'static, [u8]>) -> Result<Self, EmbedError> {
        let mut reader = Reader { bytes: &bytes, at: 0 };
        let (shape, piece_bytes, name_bytes) = reader.header()?;
        let name_range = reader.section(name_bytes)?;
        let name = std::str::from_utf8(&bytes[name_range])
            .map_err(|_| EmbedError::Damaged("its name is not text"))?
            .to_owned();
        let pieces = reader.section(piece_bytes)?;
        let table = reader.matrix(shape.pieces, shape.hidden, 1)?;
        let table_scales = reader.matrix(shape.pieces, 1, 4)?;
        let positions = reader.matrix(shape.positions, shape.hidden, 4)?;
        let input_norm = reader.norm(shape.hidden)?;
        let mut layers = Vec::with_capacity(shape.layers);
        for _ in 0..shape.layers {
            layers.push(Layer {
                attention_in: reader.linear(shape.hidden, 3 * shape.hidden)?,
                attention_out: reader.linear(shape.hidden, shape.hidden)?,
                attention_norm: reader.norm(shape.hidden)?,
                inner: reader.linear(shape.hidden, shape.inner)?,
                outer: reader.linear(shape.inner, shape.hidden)?,
                outer_norm: reader.norm(shape.hidden)?,
            });
        }
        if reader.at != bytes.len() {
            return Err(EmbedError::Damaged("it is longer than its shape says"));
        }
        Ok(Self { bytes, shape, name, pieces, table, table_scales, positions, input_norm, layers })
    }

    /// Name of the model.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The word pieces, one a line, without copying those of a built-in file.
    pub(super) fn pieces(&self) -> Cow<'static, [u8]> {
        match &self.bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[self.pieces.clone()]),
            Cow::Owned(bytes) => Cow::Owned(bytes[self.pieces.clone()].to_vec()),
        }
    }

    /// Panels of a linear layer.
    pub(super) fn panels(&self, linear: &Linear) -> &[u8] {
        &self.bytes[linear.panels.clone()]
    }

    /// Writes the sum of a word piece's and a position's vector; a piece that does not exist adds nothing.
    pub(super) fn input(&self, piece: u32, position: usize, out: &mut [f32]) {
        let hidden = self.shape.hidden;
        let piece = piece as usize;
        let positions = &self.bytes[self.positions.clone()][position * hidden * 4..][..hidden * 4];
        for (out, place) in out.iter_mut().zip(positions.chunks_exact(4)) {
            *out = number(place);
        }
        if piece < self.shape.pieces {
            let scale = number(&self.bytes[self.table_scales.clone()][piece * 4..][..4]);
            let row = &self.bytes[self.table.clone()][piece * hidden..][..hidden];
            for (out, value) in out.iter_mut().zip(row) {
                *out += f32::from(value.cast_signed()) * scale;
            }
        }
    }
}

/// A number of four bytes, from a slice of exactly four.
fn number(bytes: &[u8]) -> f32 {
    f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn header(&mut self) -> Result<(Shape, usize, usize), EmbedError> {
        let header = self.bytes.get(..ALIGNMENT).ok_or(EmbedError::Damaged("it is too short"))?;
        if &header[..8] != MAGIC {
            return Err(EmbedError::Damaged("it does not begin like a packed model"));
        }
        let word = |index: usize| {
            let at = 8 + 4 * index;
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        if word(0) != FORMAT {
            return Err(EmbedError::Damaged("it has a format that this version does not know"));
        }
        if u64::from(word(12)) | u64::from(word(13)) << 32 != self.bytes.len() as u64 {
            return Err(EmbedError::Damaged("it was cut short"));
        }
        let flags = word(8);
        let shape = Shape {
            hidden: word(1) as usize,
            layers: word(2) as usize,
            heads: word(3) as usize,
            inner: word(4) as usize,
            pieces: word(5) as usize,
            positions: word(7) as usize,
            epsilon: f32::from_bits(word(9)),
            lowercase: flags & LOWERCASE != 0,
            strip_accents: flags & STRIP_ACCENTS != 0,
            split_ideographs: flags & SPLIT_IDEOGRAPHS != 0,
            first_token: flags & FIRST_TOKEN != 0,
            longest_word: word(11) as usize,
        };
        shape.check().map_err(EmbedError::Damaged)?;
        self.at = ALIGNMENT;
        Ok((shape, word(6) as usize, word(10) as usize))
    }

    fn section(&mut self, length: usize) -> Result<Range<usize>, EmbedError> {
        let range = self.at..self.at.saturating_add(length);
        let next = range.end.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT);
        if next > self.bytes.len() {
            return Err(EmbedError::Damaged("it is shorter than its shape says"));
        }
        self.at = next;
        Ok(range)
    }

    fn matrix(&mut self, rows: usize, columns: usize, size: usize) -> Result<Range<usize>, EmbedError> {
        self.section(rows.saturating_mul(columns).saturating_mul(size))
    }

    fn floats(&mut self, count: usize) -> Result<Vec<f32>, EmbedError> {
        let range = self.matrix(count, 1, 4)?;
        Ok(self.bytes[range].chunks_exact(4).map(number).collect())
    }

    fn norm(&mut self, size: usize) -> Result<Norm, EmbedError> {
        Ok(Norm { scale: self.floats(size)?, shift: self.floats(size)? })
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Result<Linear, EmbedError> {
        let panels = self.matrix(outputs, inputs, 1)?;
        Ok(Linear { inputs, outputs, panels, scales: self.floats(outputs)?, bias: self.floats(outputs)? })
    }
}
