//! The vector index: flat files of quantised rows, mapped into memory and scanned.
//!
//! A directory holds one model's rows. `head` says what is published: generation, model, dimensions, number of
//! rows and which of them are dead; it is replaced as a whole, so a reader sees a write either wholly or not
//! at all. Three files per epoch hold a row each in parallel: `codes` (8-bit numbers), `signs` (one bit per
//! number, for a first selection) and `keys` (which chunk, and the scale of the codes). Rows are only ever
//! appended to them; what lies behind the published rows is ignored. Compaction starts a new epoch.
//!
//! Any number of processes may read while one writes; who may write is decided elsewhere. Everything here is
//! derived and can be thrown away: `VectorError::Damaged` asks for exactly that.

mod head;
mod index;
mod kernel;
mod writer;

#[cfg(test)]
mod tests;

pub(super) use head::NAME as HEAD;
pub(super) use index::{Hit, VectorIndex};
pub(super) use writer::VectorWriter;

#[cfg(test)]
use writer::Committed;

use std::io;

use ibid_api::{ChunkRef, ContentHash, DocumentId};

/// Why the vector index cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum VectorError {
    /// Its files do not fit together: throw them away and write them again.
    #[error("the vector index is damaged: {0}; it has to be written again")]
    Damaged(&'static str),
    /// A vector has another length than the index, or is not a direction.
    #[error("the vector does not fit the index")]
    Unfit,
    /// The files cannot be read or written.
    #[error("the vector index cannot be used: {}", .0.kind())]
    Io(#[from] io::Error),
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowKey {
    /// The chunk.
    pub(super) chunk: ChunkRef,
    /// Identity of the text that was embedded.
    pub(super) hash: ContentHash,
}

/// Bytes of a key with the scale of its row.
const KEY_BYTES: usize = 32;

impl RowKey {
    fn to_bytes(self, scale: f32) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..8].copy_from_slice(&self.chunk.document.0.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.chunk.index.to_le_bytes());
        bytes[12..16].copy_from_slice(&scale.to_le_bytes());
        bytes[16..].copy_from_slice(self.hash.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; KEY_BYTES]) -> (Self, f32) {
        let part = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let (low, high) = (u32::from_le_bytes(part(0)), u32::from_le_bytes(part(4)));
        let document = (u64::from(high) << 32 | u64::from(low)).cast_signed();
        let mut hash = [0; 16];
        hash.copy_from_slice(&bytes[16..]);
        let chunk = ChunkRef { document: DocumentId(document), index: u32::from_le_bytes(part(8)) };
        (Self { chunk, hash: ContentHash::from_bytes(hash) }, f32::from_le_bytes(part(12)))
    }
}

/// How many bytes a row takes in each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    dimensions: usize,
    /// Padded with zeros, so that kernels need no rest.
    codes: usize,
    /// Whole words of 64 bits.
    signs: usize,
}

impl Layout {
    fn new(dimensions: usize) -> Self {
        let codes = dimensions.next_multiple_of(kernel::STEP);
        Self { dimensions, codes, signs: dimensions.next_multiple_of(64) / 8 }
    }

    /// The names of the files of an epoch and the bytes each has per row.
    fn files(self, epoch: u64) -> [(String, usize); 3] {
        [("codes", self.codes), ("signs", self.signs), ("keys", KEY_BYTES)]
            .map(|(name, bytes)| (format!("{name}-{epoch:08x}"), bytes))
    }
}
