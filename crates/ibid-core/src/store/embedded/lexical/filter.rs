//! Filters inside the leg: conditions that entries meet before anything is ranked.

use std::{ops::Bound, sync::Arc};

use ibid_api::Filter;
use roaring::RoaringTreemap;
use tantivy::{
    DocId, SegmentReader, Term,
    query::{
        BooleanQuery, EmptyQuery, Occur, Query, RangeQuery, TermQuery, TermSetQuery,
        doc_predicate_query::{DocPredicateQuery, FunctionPredicate},
    },
    schema::{Field, IndexRecordOption},
};

use super::fields::{DOCUMENT, Fields};
use crate::store::embedded::names;

/// Up to this many documents are looked up one by one; a larger set is tested entry by entry.
const LOOKED_UP: u64 = 256;

/// The conditions of a filter, all of which hold. Path globs are not among them: whoever asks turns them
/// into a set of documents.
pub(super) fn conditions(filter: &Filter, fields: Fields) -> Vec<Box<dyn Query>> {
    let mut conditions: Vec<Box<dyn Query>> = Vec::new();
    let collection = filter.collection.as_deref().and_then(names::collection_tag);
    for tag in filter.tags.iter().filter_map(|tag| names::fold_tag(tag)).chain(collection) {
        conditions.push(label(fields.tag, &tag));
    }
    conditions.extend(one_of(fields.kind, filter.kinds.iter().map(|kind| kind.as_str())));
    conditions.extend(one_of(fields.source, filter.sources.iter().map(String::as_str)));
    conditions.extend(one_of(fields.language, filter.languages.iter().map(String::as_str)));
    if filter.modified_from_ms.is_some() || filter.modified_to_ms.is_some() {
        let bound = |time: i64| Term::from_field_i64(fields.modified, time);
        conditions.push(Box::new(RangeQuery::new(
            filter.modified_from_ms.map_or(Bound::Unbounded, |from| Bound::Included(bound(from))),
            filter.modified_to_ms.map_or(Bound::Unbounded, |to| Bound::Excluded(bound(to))),
        )));
    }
    conditions
}

/// Whether these documents are looked up one by one.
pub(super) fn are_few(documents: &RoaringTreemap) -> bool {
    documents.len() <= LOOKED_UP
}

/// Entries of these documents.
pub(super) fn among(documents: &Arc<RoaringTreemap>, fields: Fields) -> Box<dyn Query> {
    match documents.len() {
        0 => Box::new(EmptyQuery),
        1..=LOOKED_UP => {
            let terms = documents.iter().map(|document| Term::from_field_u64(fields.document, document));
            Box::new(TermSetQuery::new(terms))
        }
        _ => {
            let documents = Arc::clone(documents);
            let predicate = FunctionPredicate::from(move |segment: &SegmentReader| {
                let column = segment.fast_fields().u64(DOCUMENT)?;
                let documents = Arc::clone(&documents);
                Ok(move |entry: DocId| {
                    column.first(entry).is_some_and(|document| documents.contains(document))
                })
            });
            Box::new(DocPredicateQuery::from(predicate))
        }
    }
}

fn label(field: Field, value: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, value), IndexRecordOption::Basic))
}

fn one_of<'a>(field: Field, values: impl Iterator<Item = &'a str>) -> Option<Box<dyn Query>> {
    let mut any: Vec<(Occur, Box<dyn Query>)> =
        values.map(|value| (Occur::Should, label(field, value))).collect();
    match any.len() {
        0 => None,
        1 => any.pop().map(|(_, query)| query),
        _ => Some(Box::new(BooleanQuery::new(any))),
    }
}
