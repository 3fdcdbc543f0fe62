//! One entry of the lexical index: a chunk, or a document that has none.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use ibid_api::DocumentSummary;
use tantivy::schema::{
    Field,
    document::{Document, ReferenceValue, ReferenceValueLeaf, Value},
};

use super::{
    fields::{Fields, NO_LANGUAGE},
    tokens::pack,
};
use crate::{
    lexical::{Language, Views},
    store::{
        DOCUMENT_ITSELF,
        embedded::names::{self, COLLECTION},
    },
};

/// What all entries of a document have in common.
#[derive(Debug)]
pub(super) struct Labels {
    document: u64,
    modified: i64,
    tags: Vec<String>,
    kind: &'static str,
    source: String,
    language: String,
}

impl Labels {
    /// The labels of a document.
    pub(super) fn of(document: &DocumentSummary) -> Self {
        Self {
            document: document.id.0 as u64,
            modified: document.modified_ms,
            tags: names::with_ancestors(&document.metadata.tags),
            kind: document.kind.as_str(),
            source: document.source.clone(),
            language: document.language.clone().unwrap_or_else(|| NO_LANGUAGE.to_owned()),
        }
    }
}

/// An entry, ready to be added.
#[derive(Debug)]
pub(super) struct Entry {
    fields: Fields,
    labels: Arc<Labels>,
    chunk: u64,
    exact: String,
    stemmed: String,
    pairs: String,
    title: String,
    title_exact: String,
    gauge: Arc<Gauge>,
}

/// Makes entries, keeping its buffers from one to the next.
#[derive(Debug)]
pub(super) struct EntryMaker {
    fields: Fields,
    gauge: Arc<Gauge>,
    text: Views,
    title: Views,
}

impl EntryMaker {
    /// A maker of entries with these fields.
    pub(super) fn new(fields: Fields) -> Self {
        Self { fields, gauge: Arc::default(), text: Views::default(), title: Views::default() }
    }

    /// The entry of a chunk; waits while too many entries are on their way into the index.
    pub(super) fn chunk(
        &mut self,
        document: &DocumentSummary,
        labels: &Arc<Labels>,
        index: u32,
        heading_path: &[String],
        text: &str,
    ) -> Entry {
        let language = Language::from_code(document.language.as_deref());
        self.text.clear();
        self.text.add(text, language, 0);
        self.title.clear();
        add_title(&mut self.title, document, heading_path, language);
        let entry = Entry {
            fields: self.fields,
            labels: Arc::clone(labels),
            chunk: index.into(),
            exact: pack(&self.text.exact),
            stemmed: pack(&self.text.stemmed),
            pairs: pack(&self.text.pairs),
            title: pack(&self.title.stemmed),
            title_exact: pack(&self.title.exact),
            gauge: Arc::clone(&self.gauge),
        };
        self.gauge.take(entry.size());
        entry
    }

    /// The entry of a document that has no chunks.
    pub(super) fn document_itself(&mut self, document: &DocumentSummary, labels: &Arc<Labels>) -> Entry {
        self.chunk(document, labels, DOCUMENT_ITSELF, &[], "")
    }
}

/// Title, aliases, headings, tags and path: what a text is called. Phrases do not reach from one to another.
fn add_title(views: &mut Views, document: &DocumentSummary, heading_path: &[String], language: Language) {
    let metadata = &document.metadata;
    let headings = heading_path.iter().filter(|heading| **heading != document.title);
    let tags = metadata.tags.iter().filter(|tag| !tag.starts_with(COLLECTION));
    let path = names::without_extension(document.path.as_str()).split('/').map(ToOwned::to_owned);
    let title = std::iter::once(&document.title);
    let parts = title.chain(&metadata.aliases).chain(headings).chain(tags).cloned().chain(path);
    let mut position = 0;
    for part in parts {
        position = views.add(&part, language, position);
    }
}

impl Entry {
    fn size(&self) -> usize {
        self.exact.len() + self.stemmed.len() + self.pairs.len() + self.title.len() + self.title_exact.len()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.gauge.give_back(self.size());
    }
}

/// Bounds the memory of entries that wait to be indexed.
#[derive(Debug, Default)]
struct Gauge {
    bytes: Mutex<usize>,
    changed: Condvar,
}

impl Gauge {
    const LIMIT: usize = 8 << 20;

    fn take(&self, size: usize) {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        // The wait ends after a while in any case: the bound saves memory, and must never stop the work.
        let (mut bytes, _) = self
            .changed
            .wait_timeout_while(bytes, Duration::from_secs(5), |bytes| *bytes > Self::LIMIT)
            .unwrap_or_else(PoisonError::into_inner);
        *bytes += size;
    }

    fn give_back(&self, size: usize) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes = bytes.saturating_sub(size);
        self.changed.notify_one();
    }
}

/// A value of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum EntryValue<'a> {
    Text(&'a str),
    Unsigned(u64),
    Signed(i64),
}

impl<'a> Value<'a> for EntryValue<'a> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = std::iter::Empty<(&'a str, Self)>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        ReferenceValue::Leaf(match *self {
            Self::Text(text) => ReferenceValueLeaf::Str(text),
            Self::Unsigned(number) => ReferenceValueLeaf::U64(number),
            Self::Signed(number) => ReferenceValueLeaf::I64(number),
        })
    }
}

impl Document for Entry {
    type Value<'a> = EntryValue<'a>;
    type FieldsValuesIter<'a> = std::vec::IntoIter<(Field, EntryValue<'a>)>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        use EntryValue::{Signed, Text, Unsigned};
        let (fields, labels) = (&self.fields, &*self.labels);
        let mut values = vec![
            (fields.document, Unsigned(labels.document)),
            (fields.chunk, Unsigned(self.chunk)),
            (fields.modified, Signed(labels.modified)),
            (fields.exact, Text(&self.exact)),
            (fields.stemmed, Text(&self.stemmed)),
            (fields.pairs, Text(&self.pairs)),
            (fields.title, Text(&self.title)),
            (fields.title_exact, Text(&self.title_exact)),
            (fields.kind, Text(labels.kind)),
            (fields.source, Text(&labels.source)),
            (fields.language, Text(&labels.language)),
        ];
        values.extend(labels.tags.iter().map(|tag| (fields.tag, Text(tag))));
        values.into_iter()
    }
}
