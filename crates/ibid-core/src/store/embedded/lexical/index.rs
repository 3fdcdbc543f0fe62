//! The index on disk: opening it for reading, and writing to it.

use std::{fs, io, path::Path, sync::Arc, time::SystemTime};

use ibid_api::{ContentHash, DocumentId, DocumentSummary, Generation};
use tantivy::{
    Index, IndexWriter, ReloadPolicy, Searcher, TantivyError, Term,
    directory::{MmapDirectory, error::OpenReadError},
    index::IndexBuilder,
    indexer::{IndexWriterOptions, LogMergePolicy},
};

use super::{
    directory::ReadDirectory,
    entry::{Entry, EntryMaker, Labels},
    fields::{self, FORMAT, Fields, NO_LANGUAGE},
};
use crate::{
    lexical::Language,
    store::{StoreResult, StoredChunk, embedded::error},
};

/// What a commit says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Origin {
    /// The record it was made from.
    pub(in super::super) record: [u8; 16],
    /// The last write it includes.
    pub(in super::super) generation: Generation,
}

impl Origin {
    fn to_payload(self) -> String {
        format!("{FORMAT} {} {}", ContentHash::from_bytes(self.record), self.generation.0)
    }

    fn from_payload(payload: &str) -> Option<Self> {
        let mut parts = payload.split(' ');
        let (format, record, generation) = (parts.next()?, parts.next()?, parts.next()?);
        if format.parse() != Ok(FORMAT) || record.len() != 32 || !record.is_ascii() {
            return None;
        }
        let mut bytes = [0; 16];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&record[index * 2..index * 2 + 2], 16).ok()?;
        }
        Some(Self { record: bytes, generation: Generation(generation.parse().ok()?) })
    }
}

/// Tells one state of the index on disk from the next: its list of segments is replaced as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    file: u64,
}

impl Stamp {
    /// The state there is now; `None` if there is no index.
    pub(super) fn of(directory: &Path) -> Option<Self> {
        let metadata = fs::metadata(directory.join("meta.json")).ok()?;
        #[cfg(unix)]
        let file = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let file = 0;
        Some(Self { modified: metadata.modified().ok(), length: metadata.len(), file })
    }
}

/// An index opened for reading, as it was at one moment.
pub(in super::super) struct Loaded {
    /// Where it comes from.
    pub(in super::super) origin: Origin,
    pub(super) stamp: Stamp,
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    /// Languages that a good part of the texts is in, most common first.
    pub(super) languages: Vec<Language>,
}

/// A writer may clean up between the moments when its list of files is read and the files are opened.
const ATTEMPTS: u32 = 5;

impl Loaded {
    /// Opens the index for reading; `None` if there is none that can be read.
    pub(in super::super) fn open(directory: &Path) -> Option<Self> {
        for _ in 0..ATTEMPTS {
            let stamp = Stamp::of(directory)?;
            match super::undisturbed(|| Self::open_once(directory, stamp)) {
                Some(Ok(loaded)) => return loaded,
                Some(Err(TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_)))) => {}
                Some(Err(_)) | None => return None,
            }
        }
        None
    }

    fn open_once(directory: &Path, stamp: Stamp) -> tantivy::Result<Option<Self>> {
        let index = Index::open(ReadDirectory::open(directory)?)?;
        let (schema, fields) = Fields::schema();
        if index.schema() != schema {
            return Ok(None);
        }
        let payload = index.load_metas()?.payload;
        let Some(origin) = payload.as_deref().and_then(Origin::from_payload) else { return Ok(None) };
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let languages = common_languages(&searcher, fields)?;
        Ok(Some(Self { origin, stamp, searcher, fields, languages }))
    }
}

/// Languages with at least one text in twenty, at most four.
fn common_languages(searcher: &Searcher, fields: Fields) -> tantivy::Result<Vec<Language>> {
    let mut counts: Vec<(Language, u64)> = Vec::new();
    for segment in searcher.segment_readers() {
        let inverted = segment.inverted_index(fields.language)?;
        let mut terms = inverted.terms().stream()?;
        while let Some((term, info)) = terms.next() {
            let code = std::str::from_utf8(term).ok().filter(|code| *code != NO_LANGUAGE);
            let language = Language::from_code(code);
            let count = u64::from(info.doc_freq);
            match counts.iter_mut().find(|known| known.0 == language) {
                Some(known) => known.1 += count,
                None => counts.push((language, count)),
            }
        }
    }
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    counts.retain(|(_, count)| count * 20 >= total);
    counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts.truncate(4);
    Ok(counts.into_iter().map(|(language, _)| language).collect())
}

/// How much is about to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Load {
    /// A few documents.
    Light,
    /// Many documents: more memory makes fewer, larger segments.
    Heavy,
}

impl Load {
    /// The least that the library accepts, and enough for some 20,000 chunks at once: what is written in few
    /// pieces need not be merged, which would cost a third more.
    fn bytes(self) -> usize {
        match self {
            Self::Light => 15_000_000,
            Self::Heavy => 112_000_000,
        }
    }

    /// Segments of like size that are merged into one.
    fn segments_to_merge(self) -> usize {
        match self {
            Self::Light => 6,
            Self::Heavy => 8,
        }
    }
}

/// Writes to the index. Nothing is seen by readers before `commit`.
pub(in super::super) struct Writer {
    index: IndexWriter<Entry>,
    fields: Fields,
    maker: EntryMaker,
}

impl Writer {
    /// Opens an existing index.
    pub(in super::super) fn open(directory: &Path, load: Load) -> StoreResult<Self> {
        let open = || {
            let index = Index::open(MmapDirectory::open(directory)?)?;
            Self::on(&index, load)
        };
        open().map_err(|problem| error::index(&problem))
    }

    /// Makes an empty index in a directory that does not exist yet.
    pub(in super::super) fn create(directory: &Path, load: Load) -> StoreResult<Self> {
        fs::create_dir_all(directory).map_err(|problem: io::Error| error::file(&problem))?;
        let create = || {
            let builder = IndexBuilder::new().schema(Fields::schema().0).settings(fields::settings());
            Self::on(&builder.create_in_dir(directory)?, load)
        };
        create().map_err(|problem| error::index(&problem))
    }

    fn on(index: &Index, load: Load) -> tantivy::Result<Self> {
        let (schema, fields) = Fields::schema();
        if index.schema() != schema {
            return Err(TantivyError::SchemaError("the index has other fields".into()));
        }
        fields::register_tokenizer(index);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(load.bytes())
            .build();
        let writer = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(merge_policy(load)));
        Ok(Self { index: writer, fields, maker: EntryMaker::new(fields) })
    }

    /// Removes a document.
    pub(in super::super) fn remove(&self, document: DocumentId) {
        self.index.delete_term(Term::from_field_u64(self.fields.document, document.0 as u64));
    }

    /// Adds a document that is not there.
    pub(in super::super) fn add(
        &mut self,
        document: &DocumentSummary,
        chunks: &[StoredChunk],
    ) -> StoreResult<()> {
        let labels = Arc::new(Labels::of(document));
        if chunks.is_empty() {
            let entry = self.maker.document_itself(document, &labels);
            self.add_entry(entry)?;
        }
        for chunk in chunks {
            let entry =
                self.maker.chunk(document, &labels, chunk.chunk.index, &chunk.heading_path, &chunk.text);
            self.add_entry(entry)?;
        }
        Ok(())
    }

    fn add_entry(&self, entry: Entry) -> StoreResult<()> {
        self.index.add_document(entry).map(|_| ()).map_err(|problem| error::index(&problem))
    }

    /// Makes everything visible to readers, and waits until segments are merged.
    pub(in super::super) fn commit(mut self, origin: Origin) -> StoreResult<()> {
        let mut commit = || {
            let mut prepared = self.index.prepare_commit()?;
            prepared.set_payload(&origin.to_payload());
            prepared.commit()
        };
        commit().map_err(|problem| error::index(&problem))?;
        self.index.wait_merging_threads().map_err(|problem| error::index(&problem))
    }
}

/// Small writes are common and make small segments. They are merged soon, but never together with a large
/// segment, which would make a small write dear.
fn merge_policy(load: Load) -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(load.segments_to_merge());
    policy.set_min_layer_size(500);
    policy.set_del_docs_ratio_before_merge(0.3);
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_say_where_an_index_comes_from() {
        let origin = Origin { record: *b"0123456789abcdef", generation: Generation(77) };
        assert_eq!(Origin::from_payload(&origin.to_payload()), Some(origin));
        for other in ["", "1", "1 zz 3", "0 30313233343536373839616263646566 77", "x y z"] {
            assert_eq!(Origin::from_payload(other), None, "{other}");
        }
    }
}
