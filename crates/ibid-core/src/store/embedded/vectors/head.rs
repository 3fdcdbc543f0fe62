//! The head file: what is published, replaced as a whole.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use roaring::RoaringBitmap;
use sha2::{Digest, Sha256};

use super::{Layout, VectorError};

pub(in super::super) const NAME: &str = "head";
const MAGIC: &[u8; 8] = b"IBIDVECT";
const FORMAT: u32 = 2;
const FIXED: usize = 56;
const CHECKSUM: usize = 16;
/// Stands for a number that nobody counted.
const UNKNOWN: u64 = u64::MAX;
/// More rows than this do not fit into the numbers of a bitmap.
const MOST_ROWS: u64 = u32::MAX as u64;

/// What is published.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    pub(super) generation: u64,
    pub(super) epoch: u64,
    pub(super) layout: Layout,
    pub(super) rows: u32,
    /// Texts without a vector as of the generation, if that is known.
    pub(super) waiting: Option<u64>,
    pub(super) model: String,
    pub(super) dead: RoaringBitmap,
}

impl Head {
    /// Reads what is published in a directory; `None` when nothing is.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, VectorError> {
        match fs::read(directory.join(NAME)) {
            Ok(bytes) => Self::decode(&bytes).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Publishes this head, durably.
    pub(super) fn publish(&self, directory: &Path) -> Result<(), VectorError> {
        let mut file = tempfile::NamedTempFile::with_prefix_in("head-", directory)?;
        file.write_all(&self.encode()?)?;
        file.as_file().sync_data()?;
        file.persist(directory.join(NAME)).map_err(|error| error.error)?;
        // The new name must survive a power cut too; not every system can promise it.
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .or_else(|error| if cfg!(unix) { Err(error) } else { Ok(()) })?;
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>, VectorError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend((self.layout.dimensions as u32).to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(self.epoch.to_le_bytes());
        bytes.extend(u64::from(self.rows).to_le_bytes());
        bytes.extend(self.waiting.unwrap_or(UNKNOWN).to_le_bytes());
        bytes.extend((self.model.len() as u32).to_le_bytes());
        bytes.extend((self.dead.serialized_size() as u32).to_le_bytes());
        bytes.extend(self.model.as_bytes());
        self.dead.serialize_into(&mut bytes)?;
        let checksum = Sha256::digest(&bytes);
        bytes.extend(&checksum[..CHECKSUM]);
        Ok(bytes)
    }

    fn decode(bytes: &[u8]) -> Result<Self, VectorError> {
        let damaged = VectorError::Damaged;
        if bytes.len() < FIXED + CHECKSUM || &bytes[..8] != MAGIC {
            return Err(damaged("its head is not readable"));
        }
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if Sha256::digest(body)[..CHECKSUM] != *checksum {
            return Err(damaged("its head does not match its checksum"));
        }
        let short = |at: usize| u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        let long = |at: usize| u64::from(short(at)) | u64::from(short(at + 4)) << 32;
        if short(8) != FORMAT {
            return Err(damaged("it has another format"));
        }
        let (model_bytes, dead_bytes) = (short(48) as usize, short(52) as usize);
        let rest = &body[FIXED..];
        let (dimensions, rows) = (short(12) as usize, long(32));
        if model_bytes.checked_add(dead_bytes) != Some(rest.len()) || dimensions == 0 || rows > MOST_ROWS {
            return Err(damaged("its head is not readable"));
        }
        let (model, dead) = rest.split_at(model_bytes);
        let model = std::str::from_utf8(model).map_err(|_| damaged("its head is not readable"))?.to_owned();
        let dead = RoaringBitmap::deserialize_from(dead).map_err(|_| damaged("its head is not readable"))?;
        if dead.max().is_some_and(|slot| u64::from(slot) >= rows) {
            return Err(damaged("its head is not readable"));
        }
        let layout = Layout::new(dimensions);
        let waiting = Some(long(40)).filter(|waiting| *waiting != UNKNOWN);
        Ok(Self { generation: long(16), epoch: long(24), layout, rows: rows as u32, waiting, model, dead })
    }
}
