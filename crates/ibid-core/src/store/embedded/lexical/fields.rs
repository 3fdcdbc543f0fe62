//! The fields of the lexical index: one entry per chunk.

use tantivy::{
    Index, IndexSettings,
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
    },
    store::Compressor,
    tokenizer::{RAW_TOKENIZER_NAME, TextAnalyzer},
};

use super::tokens::{TOKENIZER, Unpacker};

/// Raised with every change of the fields, or of how text becomes terms: an index of another format is
/// made anew.
pub(super) const FORMAT: u32 = 1;

/// Names of fields that are read as columns.
pub(super) const DOCUMENT: &str = "document";
/// See [`DOCUMENT`].
pub(super) const CHUNK: &str = "chunk";

/// What documents without a known language are filed under.
pub(super) const NO_LANGUAGE: &str = "und";

/// The fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// Number of the document.
    pub(super) document: Field,
    /// Place of the chunk.
    pub(super) chunk: Field,
    /// When the file was changed.
    pub(super) modified: Field,
    /// Words as written, with positions.
    pub(super) exact: Field,
    /// Stems.
    pub(super) stemmed: Field,
    /// Pairs of neighbouring stems.
    pub(super) pairs: Field,
    /// Stems of title, aliases, headings, tags and path.
    pub(super) title: Field,
    /// The same as written, with positions.
    pub(super) title_exact: Field,
    /// Tags with the tags above them.
    pub(super) tag: Field,
    /// Kind of document.
    pub(super) kind: Field,
    /// Name of the source.
    pub(super) source: Field,
    /// Language.
    pub(super) language: Field,
}

impl Fields {
    fn build(schema: &mut SchemaBuilder) -> Self {
        use IndexRecordOption::{Basic, WithFreqs, WithFreqsAndPositions};
        let words = |record| {
            let indexing = TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(record);
            TextOptions::default().set_indexing_options(indexing)
        };
        let label = || {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(RAW_TOKENIZER_NAME)
                .set_index_option(Basic)
                .set_fieldnorms(false);
            TextOptions::default().set_indexing_options(indexing)
        };
        Self {
            document: schema.add_u64_field(DOCUMENT, INDEXED | FAST),
            chunk: schema.add_u64_field(CHUNK, FAST),
            modified: schema.add_i64_field("modified", FAST),
            exact: schema.add_text_field("exact", words(WithFreqsAndPositions)),
            stemmed: schema.add_text_field("stemmed", words(WithFreqs)),
            pairs: schema.add_text_field("pairs", words(WithFreqs)),
            title: schema.add_text_field("title", words(WithFreqs)),
            title_exact: schema.add_text_field("title_exact", words(WithFreqsAndPositions)),
            tag: schema.add_text_field("tag", label()),
            kind: schema.add_text_field("kind", label()),
            source: schema.add_text_field("source", label()),
            language: schema.add_text_field("language", label()),
        }
    }

    /// The schema with its fields.
    pub(super) fn schema() -> (Schema, Self) {
        let mut builder = Schema::builder();
        let fields = Self::build(&mut builder);
        (builder.build(), fields)
    }
}

/// Nothing is stored in the index but terms and numbers.
pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// Tells the index how to take terms apart; needed for writing only.
pub(super) fn register_tokenizer(index: &Index) {
    index.tokenizers().register(TOKENIZER, TextAnalyzer::from(Unpacker::default()));
}
