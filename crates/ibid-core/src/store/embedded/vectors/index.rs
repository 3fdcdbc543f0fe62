//! Reading: mapped files, a scan, and the best rows.

use std::{cmp::Ordering, fs::File, io, ops::Deref, path::Path};

use memmap2::Mmap;
use roaring::RoaringBitmap;

use super::{
    KEY_BYTES, RowKey, VectorError,
    head::Head,
    kernel::{self, Kernel},
};

/// With more rows than this, sign bits select the candidates.
const SELECT_ABOVE: u64 = 20_000;
/// Candidates that the sign bits select: at least so many, and so many for each wanted hit.
const CANDIDATES: usize = 2_000;
const CANDIDATES_PER_HIT: usize = 40;
/// A compaction between reading the head and opening the files is rare; several in a row do not happen.
const OPEN_ATTEMPTS: usize = 8;

/// A row that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Hit {
    /// What it stands for.
    pub(in super::super) key: RowKey,
    /// Which row it is.
    pub(in super::super) slot: u32,
    /// Nearly the cosine, to about two digits: rescore with the full vectors where it matters.
    pub(in super::super) score: f32,
}

/// What was published when it was opened; later writes do not change it.
pub(in super::super) struct VectorIndex {
    head: Head,
    codes: Mapped,
    signs: Mapped,
    keys: Mapped,
    kernel: &'static Kernel,
}

/// The published part of a file.
struct Mapped(Option<Mmap>);

impl Mapped {
    fn open(path: &Path, length: usize) -> Result<Self, VectorError> {
        let file = File::open(path)?;
        if file.metadata()?.len() < length as u64 {
            return Err(VectorError::Damaged("a file is cut short"));
        }
        if length == 0 {
            return Ok(Self(None));
        }
        // SAFETY: published bytes are never changed or cut off again: writers only append behind them, and
        // compaction writes other files.
        #[expect(unsafe_code, reason = "mapping a file is only sound when nobody changes it")]
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(&file)? };
        Ok(Self(Some(map)))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl VectorIndex {
    /// Opens what is published in a directory; `None` when nothing is.
    pub(in super::super) fn open(directory: &Path) -> Result<Option<Self>, VectorError> {
        for _ in 0..OPEN_ATTEMPTS {
            let Some(head) = Head::read(directory)? else {
                return Ok(None);
            };
            match Self::map(directory, head) {
                Err(VectorError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                other => return other.map(Some),
            }
        }
        Err(VectorError::Damaged("a file is missing"))
    }

    fn map(directory: &Path, head: Head) -> Result<Self, VectorError> {
        let rows = head.rows as usize;
        let [codes, signs, keys] = head.layout.files(head.epoch).map(|(name, bytes)| {
            let length = rows.checked_mul(bytes).ok_or(VectorError::Damaged("its head is not readable"))?;
            Mapped::open(&directory.join(name), length)
        });
        Ok(Self { head, codes: codes?, signs: signs?, keys: keys?, kernel: kernel::best() })
    }

    /// The generation that the rows were written for.
    pub(in super::super) fn generation(&self) -> u64 {
        self.head.generation
    }

    /// The model of the vectors.
    pub(in super::super) fn model(&self) -> &str {
        &self.head.model
    }

    /// How many texts had no vector when the rows were written, if that was counted.
    pub(in super::super) fn waiting(&self) -> Option<u64> {
        self.head.waiting
    }

    /// Length of the vectors.
    pub(in super::super) fn dimensions(&self) -> usize {
        self.head.layout.dimensions
    }

    /// Rows that are not dead.
    pub(in super::super) fn len(&self) -> u64 {
        u64::from(self.head.rows) - self.head.dead.len()
    }

    fn keys(&self) -> impl Iterator<Item = (u32, RowKey)> + '_ {
        let live = (0..self.head.rows).filter(|slot| !self.head.dead.contains(*slot));
        live.map(|slot| (slot, self.entry(slot).0))
    }

    /// The rows whose key passes, as a filter for `nearest`.
    pub(in super::super) fn slots_where(&self, mut passes: impl FnMut(&RowKey) -> bool) -> RoaringBitmap {
        self.keys().filter(|(_, key)| passes(key)).map(|(slot, _)| slot).collect()
    }

    /// The best rows for a query, best first, ties by chunk. `filter` holds the rows that may be found.
    ///
    /// Rows have eight bits a number: to get the exact order of the best ten, ask for some more and rescore
    /// them with the full vectors.
    pub(in super::super) fn nearest(
        &self,
        query: &[f32],
        filter: Option<&RoaringBitmap>,
        limit: usize,
    ) -> Result<Vec<Hit>, VectorError> {
        if query.len() != self.head.layout.dimensions {
            return Err(VectorError::Unfit);
        }
        let Some((rounded, scale)) = self.round(query) else {
            return Err(VectorError::Unfit);
        };
        let slots = self.candidates(query, filter, limit);
        let mut scored: Vec<(f32, u32)> = slots
            .into_iter()
            .map(|slot| {
                let codes = &self.codes[slot as usize * self.head.layout.codes..][..self.head.layout.codes];
                let (_, row_scale) = self.entry(slot);
                (self.kernel.dot(&rounded, codes) as f32 * scale * row_scale, slot)
            })
            .collect();
        let order = |left: &(f32, u32), right: &(f32, u32)| {
            right.0.total_cmp(&left.0).then_with(|| self.compare(left.1, right.1))
        };
        if limit < scored.len() {
            scored.select_nth_unstable_by(limit, order);
            scored.truncate(limit);
        }
        scored.sort_unstable_by(order);
        Ok(scored.into_iter().map(|(score, slot)| Hit { key: self.entry(slot).0, slot, score }).collect())
    }

    pub(super) fn into_head(self) -> Head {
        self.head
    }

    fn entry(&self, slot: u32) -> (RowKey, f32) {
        let mut bytes = [0; KEY_BYTES];
        bytes.copy_from_slice(&self.keys[slot as usize * KEY_BYTES..][..KEY_BYTES]);
        RowKey::from_bytes(&bytes)
    }

    fn compare(&self, left: u32, right: u32) -> Ordering {
        let order = self.entry(left).0.chunk.cmp(&self.entry(right).0.chunk);
        order.then_with(|| left.cmp(&right))
    }

    /// The query in sixteen bits, and its scale; `None` when it is not a direction.
    fn round(&self, query: &[f32]) -> Option<(Vec<i16>, f32)> {
        let most = query.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if !query.iter().all(|value| value.is_finite()) || most == 0.0 {
            return None;
        }
        let limit = kernel::query_limit(query.len());
        let mut rounded: Vec<i16> = query.iter().map(|value| (value / most * limit).round() as i16).collect();
        rounded.resize(self.head.layout.codes, 0);
        Some((rounded, most / limit))
    }

    /// The rows that are worth a closer look.
    fn candidates(&self, query: &[f32], filter: Option<&RoaringBitmap>, limit: usize) -> Vec<u32> {
        let Head { rows, ref dead, .. } = self.head;
        let allowed = filter.map(|filter| filter - dead);
        let count = allowed.as_ref().map_or_else(|| self.len(), RoaringBitmap::len);
        let live = || (0..rows).filter(|slot| !dead.contains(*slot));
        if count <= SELECT_ABOVE {
            return match &allowed {
                Some(allowed) => allowed.iter().take_while(|slot| *slot < rows).collect(),
                None => live().collect(),
            };
        }
        let wanted = CANDIDATES.max(limit.saturating_mul(CANDIDATES_PER_HIT));
        let signs = signs(query);
        let row_bytes = self.head.layout.signs;
        let mut distances = Vec::with_capacity(count as usize);
        if let Some(allowed) = &allowed {
            let slots: Vec<u32> = allowed.iter().take_while(|slot| *slot < rows).collect();
            let row = |slot: u32| &self.signs[slot as usize * row_bytes..][..row_bytes];
            distances.extend(slots.iter().map(|slot| self.kernel.distance(&signs, row(*slot))));
            return closest(&distances, wanted).map(|place| slots[place as usize]).collect();
        }
        self.kernel.distances(&signs, &self.signs, &mut distances);
        for slot in dead {
            distances[slot as usize] = u16::MAX;
        }
        closest(&distances, wanted).collect()
    }
}

/// One bit for each number: whether it is above zero.
pub(super) fn signs(vector: &[f32]) -> Vec<u64> {
    let word = |part: &[f32]| {
        part.iter().enumerate().fold(0_u64, |word, (bit, value)| word | u64::from(*value > 0.0) << bit)
    };
    vector.chunks(64).map(word).collect()
}

/// The places with the smallest distances, `wanted` of them; never those with the largest possible distance.
fn closest(distances: &[u16], wanted: usize) -> impl Iterator<Item = u32> + '_ {
    let possible = distances.iter().filter(|distance| **distance != u16::MAX);
    let most = possible.clone().max().map_or(0, |most| usize::from(*most));
    let mut counts = vec![0_usize; most + 1];
    possible.for_each(|distance| counts[usize::from(*distance)] += 1);
    let (mut bound, mut below) = (0_u16, 0);
    for (distance, count) in counts.iter().enumerate() {
        bound = distance as u16;
        if below + count >= wanted {
            break;
        }
        below += count;
    }
    // Of those at the bound only as many as are still wanted, in the order of the rows.
    let mut at_bound = wanted.saturating_sub(below);
    distances.iter().enumerate().filter_map(move |(place, distance)| {
        let keep = match distance.cmp(&bound) {
            Ordering::Less => true,
            Ordering::Equal if at_bound > 0 => {
                at_bound -= 1;
                true
            }
            _ => false,
        };
        keep.then_some(place as u32)
    })
}
