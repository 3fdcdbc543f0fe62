//! Running a query: best entries first, in an order that does not depend on how the index is laid out.

use std::sync::Arc;

use ibid_api::{ChunkRef, DocumentId};
use roaring::RoaringTreemap;
use tantivy::{
    DocAddress, Order, Score, Searcher,
    collector::{TopDocs, sort_key::SortByStaticFastValue},
    query::Query,
};

use super::{
    fields::{CHUNK, DOCUMENT},
    index::Loaded,
    query::{Plan, plan},
    weights::Weights,
};
use crate::store::{Candidate, LexicalQuery};

/// Fetched beyond the limit, so that equal scores at the cut can be put in order.
const SPARE: usize = 32;
/// Equal scores beyond this many are cut where the index cuts them.
const MOST_FETCHED: usize = 4096;
/// Scores are rounded to this fraction: sums of the same parts in another order are equal.
const STEPS: f32 = 8192.0;

/// Best entries; `documents` are those that pass the path globs of the query.
pub(in super::super) fn search(
    loaded: &Loaded,
    query: &LexicalQuery,
    documents: Option<&Arc<RoaringTreemap>>,
    left_out: usize,
    weights: &Weights,
) -> tantivy::Result<Vec<Candidate>> {
    if query.limit == 0 {
        return Ok(Vec::new());
    }
    let wanted = query.limit.saturating_add(left_out).min(loaded.searcher.num_docs() as usize).max(1);
    let mut found = match plan(query, documents, loaded, weights)? {
        Plan::Nothing => Vec::new(),
        Plan::All(query) => in_order(&loaded.searcher, &*query, wanted)?,
        Plan::Scored(query) => best(&loaded.searcher, wanted, |limit| {
            loaded.searcher.search(&*query, &TopDocs::with_limit(limit).order_by_score())
        })?,
        Plan::Sums(sums) => best(&loaded.searcher, wanted, |limit| sums.best(&loaded.searcher, limit))?,
    };
    found.retain(|candidate| query.without_document != Some(candidate.chunk.document));
    found.truncate(query.limit);
    Ok(found)
}

/// The best by score, in an order that does not depend on the index.
fn best(
    searcher: &Searcher,
    wanted: usize,
    find: impl Fn(usize) -> tantivy::Result<Vec<(Score, DocAddress)>>,
) -> tantivy::Result<Vec<Candidate>> {
    let mut fetch = wanted + SPARE;
    loop {
        let found = find(fetch)?;
        let cut = found.get(wanted - 1).map(|(score, _)| rounded(*score));
        let tie_goes_on =
            found.len() == fetch && cut.is_some() && cut == found.last().map(|(score, _)| rounded(*score));
        if tie_goes_on && fetch < MOST_FETCHED {
            fetch *= 4;
            continue;
        }
        let scores = found.iter().map(|(score, _)| rounded(*score));
        let addresses: Vec<DocAddress> = found.iter().map(|(_, address)| *address).collect();
        let mut candidates: Vec<Candidate> = chunks(searcher, &addresses)?
            .into_iter()
            .zip(scores)
            .map(|(chunk, score)| Candidate { chunk, score })
            .collect();
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        return Ok(candidates);
    }
}

fn rounded(score: f32) -> f32 {
    (score * STEPS).round() / STEPS
}

/// Everything that matches, by document and chunk.
fn in_order(searcher: &Searcher, query: &dyn Query, wanted: usize) -> tantivy::Result<Vec<Candidate>> {
    let by = |field: &str| (SortByStaticFastValue::<u64>::for_field(field), Order::Asc);
    let found = searcher.search(query, &TopDocs::with_limit(wanted).order_by((by(DOCUMENT), by(CHUNK))))?;
    Ok(found
        .into_iter()
        .map(|((document, chunk), _)| Candidate {
            chunk: chunk_ref(document.unwrap_or_default(), chunk.unwrap_or_default()),
            score: 0.0,
        })
        .collect())
}

fn chunks(searcher: &Searcher, addresses: &[DocAddress]) -> tantivy::Result<Vec<ChunkRef>> {
    let mut columns = Vec::new();
    columns.resize_with(searcher.segment_readers().len(), || None);
    addresses
        .iter()
        .map(|address| {
            let segment = address.segment_ord as usize;
            let (documents, chunks) = match &mut columns[segment] {
                Some(open) => open,
                closed => {
                    let columns = searcher.segment_reader(address.segment_ord).fast_fields();
                    closed.insert((columns.u64(DOCUMENT)?, columns.u64(CHUNK)?))
                }
            };
            Ok(chunk_ref(
                documents.first(address.doc_id).unwrap_or_default(),
                chunks.first(address.doc_id).unwrap_or_default(),
            ))
        })
        .collect()
}

fn chunk_ref(document: u64, chunk: u64) -> ChunkRef {
    ChunkRef { document: DocumentId(document as i64), index: chunk as u32 }
}
