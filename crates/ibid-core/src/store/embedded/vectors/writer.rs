//! Writing: rows are appended, then published all at once; dead rows are compacted away.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    mem,
    path::{Path, PathBuf},
};

use roaring::RoaringBitmap;

use super::{
    Layout, RowKey, VectorError,
    head::Head,
    index::{self, VectorIndex},
};

/// Rows wait in memory up to so many bytes.
const BUFFER: usize = 8 << 20;
/// Dead rows are compacted away when they are more than three in ten, and not only a few.
const COMPACT_ABOVE: u64 = 1_000;

/// What a commit published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Committed {
    /// Rows that can be found now.
    pub(in super::super) rows: u64,
    /// Whether dead rows were dropped; rows have other numbers then.
    pub(in super::super) compacted: bool,
}

/// The one writer of a directory. Nothing it does is seen before `commit`; dropping it forgets everything.
pub(in super::super) struct VectorWriter {
    directory: PathBuf,
    head: Head,
    /// Set while rows of the epoch are published: readers may be using them.
    published: bool,
    files: Option<[File; 3]>,
    buffers: [Vec<u8>; 3],
}

impl VectorWriter {
    /// Continues what is published in a directory. Begins anew, with generation zero, when nothing is, when
    /// it is damaged, or when it belongs to another model.
    pub(in super::super) fn open(
        directory: &Path,
        model: &str,
        dimensions: usize,
    ) -> Result<Self, VectorError> {
        fs::create_dir_all(directory)?;
        match VectorIndex::open(directory) {
            Ok(Some(index)) if index.model() == model && index.dimensions() == dimensions => {
                Ok(Self::new(directory, Head { waiting: None, ..index.into_head() }, true))
            }
            Ok(_) | Err(VectorError::Damaged(_)) => Self::anew(directory, Layout::new(dimensions), model),
            Err(error) => Err(error),
        }
    }

    /// Begins anew whatever is published; until the commit, readers see the old rows.
    pub(in super::super) fn create(
        directory: &Path,
        model: &str,
        dimensions: usize,
    ) -> Result<Self, VectorError> {
        fs::create_dir_all(directory)?;
        Self::anew(directory, Layout::new(dimensions), model)
    }

    fn anew(directory: &Path, layout: Layout, model: &str) -> Result<Self, VectorError> {
        if layout.dimensions == 0 || layout.dimensions > usize::from(u16::MAX) / 2 {
            return Err(VectorError::Unfit);
        }
        let mut epoch = 1;
        for (_, found) in epochs(directory)? {
            epoch = epoch.max(found + 1);
        }
        let model = model.to_owned();
        let dead = RoaringBitmap::new();
        let head = Head { generation: 0, epoch, layout, rows: 0, waiting: None, model, dead };
        Ok(Self::new(directory, head, false))
    }

    fn new(directory: &Path, head: Head, published: bool) -> Self {
        let directory = directory.to_owned();
        Self { directory, head, published, files: None, buffers: Default::default() }
    }

    /// The generation that the rows belong to; zero means that there are none yet.
    pub(in super::super) fn generation(&self) -> u64 {
        self.head.generation
    }

    /// Rows that are not dead, with those that wait for the commit.
    pub(in super::super) fn len(&self) -> u64 {
        u64::from(self.head.rows) - self.head.dead.len()
    }

    /// Adds a row.
    pub(in super::super) fn push(&mut self, key: RowKey, vector: &[f32]) -> Result<(), VectorError> {
        let Layout { dimensions, codes, signs } = self.head.layout;
        let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let usable = vector.iter().all(|value| value.is_finite()) && most > 0.0;
        if vector.len() != dimensions || !usable || self.head.rows == u32::MAX {
            return Err(VectorError::Unfit);
        }
        let scale = most / 127.0;
        let [code_buffer, sign_buffer, key_buffer] = &mut self.buffers;
        code_buffer.extend(vector.iter().map(|value| ((value / scale).round() as i8).cast_unsigned()));
        code_buffer.extend(std::iter::repeat_n(0, codes - dimensions));
        sign_buffer.extend(index::signs(vector).into_iter().flat_map(u64::to_le_bytes));
        key_buffer.extend(key.to_bytes(scale));
        debug_assert_eq!(sign_buffer.len() / signs, key_buffer.len() / super::KEY_BYTES);
        self.head.rows += 1;
        if code_buffer.len() > BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Marks every row dead whose key passes, and tells how many.
    pub(in super::super) fn remove_where(
        &mut self,
        mut passes: impl FnMut(&RowKey) -> bool,
    ) -> Result<u64, VectorError> {
        self.flush()?;
        let keys = self.read_keys()?;
        let before = self.head.dead.len();
        for (slot, key) in (0..).zip(&keys) {
            if !self.head.dead.contains(slot) && passes(key) {
                self.head.dead.insert(slot);
            }
        }
        Ok(self.head.dead.len() - before)
    }

    /// Notes how many texts have no vector, for those who would have to count them.
    pub(in super::super) fn set_waiting(&mut self, waiting: Option<u64>) {
        self.head.waiting = waiting;
    }

    /// Publishes everything for this generation, durably, and compacts when too many rows are dead.
    pub(in super::super) fn commit(mut self, generation: u64) -> Result<Committed, VectorError> {
        self.flush()?;
        // An epoch without a row still needs its files.
        for file in self.files()? {
            file.sync_data()?;
        }
        self.head.generation = generation;
        let dead = self.head.dead.len();
        let compact = dead > COMPACT_ABOVE && dead * 10 > u64::from(self.head.rows) * 3;
        if compact {
            self.compact()?;
        }
        self.head.publish(&self.directory)?;
        self.published = true;
        remove_old(&self.directory, self.head.epoch);
        Ok(Committed { rows: self.len(), compacted: compact })
    }

    /// The three files of the epoch, cut to what is published when they are first opened.
    fn files(&mut self) -> Result<&mut [File; 3], VectorError> {
        if self.files.is_none() {
            let waiting = self.buffers[2].len() / super::KEY_BYTES;
            let rows = self.head.rows as usize - waiting;
            let mut open = Vec::with_capacity(3);
            for (name, bytes) in self.head.layout.files(self.head.epoch) {
                let path = self.directory.join(name);
                let mut file =
                    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
                // What a writer left behind the published rows when it was stopped.
                file.set_len((rows * bytes) as u64)?;
                file.seek(SeekFrom::End(0))?;
                open.push(file);
            }
            self.files = open.try_into().ok();
        }
        self.files.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::Other).into())
    }

    fn flush(&mut self) -> Result<(), VectorError> {
        self.files()?;
        let buffers = mem::take(&mut self.buffers);
        for (file, buffer) in self.files()?.iter_mut().zip(&buffers) {
            file.write_all(buffer)?;
        }
        self.buffers = buffers.map(|mut buffer| {
            buffer.clear();
            buffer
        });
        Ok(())
    }

    /// Reads a file of the epoch as far as it has rows.
    fn read(&self, place: usize) -> Result<Vec<u8>, VectorError> {
        let (name, bytes) = &self.head.layout.files(self.head.epoch)[place];
        let content = fs::read(self.directory.join(name))?;
        if content.len() != self.head.rows as usize * bytes {
            return Err(VectorError::Damaged("a file is cut short"));
        }
        Ok(content)
    }

    fn read_keys(&self) -> Result<Vec<RowKey>, VectorError> {
        let bytes = self.read(2)?;
        let (keys, _) = bytes.as_chunks();
        Ok(keys.iter().map(|key| RowKey::from_bytes(key).0).collect())
    }

    /// Copies the rows that are not dead to the files of a new epoch.
    fn compact(&mut self) -> Result<(), VectorError> {
        let mut next = self.head.clone();
        next.epoch += 1;
        next.rows = self.len() as u32;
        next.dead.clear();
        for (place, (name, bytes)) in next.layout.files(next.epoch).iter().enumerate() {
            let rows = self.read(place)?;
            let mut file = io::BufWriter::new(File::create(self.directory.join(name))?);
            for (slot, row) in (0..).zip(rows.chunks_exact(*bytes)) {
                if !self.head.dead.contains(slot) {
                    file.write_all(row)?;
                }
            }
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        }
        self.head = next;
        Ok(())
    }
}

impl Drop for VectorWriter {
    fn drop(&mut self) {
        // Rows that were never published leave nothing behind; in a published epoch they are cut off later.
        if !self.published && self.files.is_some() {
            for (name, _) in self.head.layout.files(self.head.epoch) {
                let _ = fs::remove_file(self.directory.join(name));
            }
        }
    }
}

/// The row files of a directory with their epochs, and what was never published with epoch zero.
fn epochs(directory: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match name.split_once('-') {
            Some(("codes" | "signs" | "keys", epoch)) => {
                if let Ok(epoch) = u64::from_str_radix(epoch, 16) {
                    found.push((path, epoch));
                }
            }
            // A head that was being written when its writer was stopped belongs to no epoch.
            Some(("head", _)) => found.push((path, 0)),
            _ => {}
        }
    }
    Ok(found)
}

/// Removes the files of other epochs, and heads that were never published. Readers that have them open keep
/// them; one that fails is tried again after the next commit.
fn remove_old(directory: &Path, current: u64) {
    for (path, epoch) in epochs(directory).unwrap_or_default() {
        if epoch != current {
            let _ = fs::remove_file(path);
        }
    }
}
