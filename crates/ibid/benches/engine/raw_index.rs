//! The floor of a query: the same words asked of a bare index of the same chunks.

use std::path::Path;

use ibid_core::{CoreConfig, chunk::chunk, eval::Ask};
use tantivy::{
    Index, Searcher, TantivyDocument, Term,
    collector::TopDocs,
    query::{BooleanQuery, Occur, PhraseQuery, Query, TermQuery},
    schema::{Field, IndexRecordOption, Schema, TEXT},
};

use super::{Outcome, world::World};

/// A bare index of the chunks' text.
pub(crate) struct RawIndex {
    searcher: Searcher,
    text: Field,
}

impl RawIndex {
    pub(crate) fn build(world: &World, folder: &Path) -> Outcome<Self> {
        let mut schema = Schema::builder();
        let text = schema.add_text_field("text", TEXT);
        let index = Index::create_in_dir(folder, schema.build())?;
        let mut writer = index.writer_with_num_threads(1, 112_000_000)?;
        for parsed in world.parsed() {
            let (_, parsed) = parsed?;
            for draft in chunk(&parsed, &CoreConfig::HEADING_CHUNKS) {
                let mut entry = TantivyDocument::default();
                entry.add_text(text, &draft.text);
                writer.add_document(entry)?;
            }
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        Ok(Self { searcher: index.reader()?.searcher(), text })
    }

    /// The ten best chunks for any of the words, or for the phrase.
    pub(crate) fn search(&self, kind: Ask, query: &str) -> Outcome<usize> {
        let terms: Vec<Term> = query
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| Term::from_field_text(self.text, &word.to_lowercase()))
            .collect();
        let query: Box<dyn Query> = if kind == Ask::Phrase && terms.len() > 1 {
            Box::new(PhraseQuery::new(terms))
        } else {
            let any = terms.into_iter().map(|term| {
                let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
                (Occur::Should, query)
            });
            Box::new(BooleanQuery::new(any.collect()))
        };
        Ok(self.searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?.len())
    }
}
