//! The best entries for a list of terms, each of which adds to the score.
//!
//! A question asks for every word in several views, so a union has dozens of lists to keep in step, entry by
//! entry. Adding up one list after the other in an array that stays in the cache takes a fraction of that, and
//! conditions are tested only where the sum is among the best. The scores are those of BM25.

use std::sync::Arc;

use roaring::RoaringTreemap;
use tantivy::{
    DocAddress, DocId, Score, Searcher, SegmentReader, TERMINATED, Term,
    fieldnorm::FieldNormReader,
    postings::{BlockSegmentPostings, TermInfo},
    query::{EnableScoring, Query},
    schema::{Field, IndexRecordOption},
};

use super::fields::DOCUMENT;

/// Entries whose scores are summed at once.
#[cfg(not(test))]
const WINDOW: u32 = 1 << 15;
/// Small, so that tests cross from one to the next.
#[cfg(test)]
const WINDOW: u32 = 1 << 7;

/// Entries that the index packs together.
const BLOCK: usize = 128;
/// Entries that are passed by together when none of them is among the best.
const STRIDE: usize = 16;

/// How soon a term that comes again adds little.
const K1: f32 = 1.2;
/// How much the length of a text counts.
const B: f32 = 0.75;

/// A term, and the factor on its score.
pub(super) struct ScoredTerm {
    pub(super) term: Term,
    pub(super) weight: f32,
}

/// Terms to sum up, and conditions that entries meet.
pub(super) struct Sums {
    pub(super) terms: Vec<ScoredTerm>,
    /// All must match.
    pub(super) conditions: Vec<Box<dyn Query>>,
    /// None may match.
    pub(super) excluded: Vec<Box<dyn Query>>,
    /// Documents among which the entries are.
    pub(super) documents: Option<Arc<RoaringTreemap>>,
}

impl Sums {
    /// The best entries, best first, and those that come first in the index where the scores are equal.
    pub(super) fn best(
        &self,
        searcher: &Searcher,
        limit: usize,
    ) -> tantivy::Result<Vec<(Score, DocAddress)>> {
        let weighed = Weighed::new(&self.terms, searcher)?;
        let mut best = Best::new(limit);
        let mut scores = Vec::new();
        for (number, segment) in (0..).zip(searcher.segment_readers()) {
            let mut lists = weighed.lists(number, segment)?;
            if lists.is_empty() {
                continue;
            }
            let gate = Gate::new(self, searcher, segment)?;
            for first in (0..segment.max_doc()).step_by(WINDOW as usize) {
                let end = first.saturating_add(WINDOW).min(segment.max_doc());
                scores.clear();
                scores.resize((end - first) as usize, 0.0);
                for list in &mut lists {
                    list.add(first, end, &mut scores);
                }
                best.take(number, first, &scores, |entry| gate.passes(entry));
            }
        }
        Ok(best.in_order())
    }
}

/// The terms with what the whole index says of them.
struct Weighed<'a> {
    terms: &'a [ScoredTerm],
    /// Where each term is in each segment, segment by segment.
    places: Vec<Vec<Option<TermInfo>>>,
    /// For each term its factor with its rarity.
    weights: Vec<f32>,
    /// For each field the part of the formula that depends on the length of a text.
    lengths: Vec<(Field, [f32; 256])>,
}

impl<'a> Weighed<'a> {
    fn new(terms: &'a [ScoredTerm], searcher: &Searcher) -> tantivy::Result<Self> {
        let mut fields: Vec<Field> = Vec::new();
        for scored in terms {
            if !fields.contains(&scored.term.field()) {
                fields.push(scored.term.field());
            }
        }
        let mut counts = vec![0_u64; terms.len()];
        let mut tokens = vec![0_u64; fields.len()];
        let mut places = Vec::with_capacity(searcher.segment_readers().len());
        for segment in searcher.segment_readers() {
            let mut found = vec![None; terms.len()];
            for (field, tokens) in fields.iter().zip(&mut tokens) {
                let inverted = segment.inverted_index(*field)?;
                *tokens += inverted.total_num_tokens();
                for (index, scored) in terms.iter().enumerate() {
                    if scored.term.field() == *field {
                        found[index] = inverted.get_term_info(&scored.term)?;
                        counts[index] += found[index].as_ref().map_or(0, |info| u64::from(info.doc_freq));
                    }
                }
            }
            places.push(found);
        }
        let entries: u64 =
            searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum();
        let weight = |(scored, holding): (&ScoredTerm, &u64)| {
            let rest = (entries - holding) as f32 + 0.5;
            let rarity = (1.0 + rest / (*holding as f32 + 0.5)).ln();
            // A word that millions of entries have, all of them, is still found.
            scored.weight * rarity.max(1e-6) * (1.0 + K1)
        };
        let weights = terms.iter().zip(&counts).map(weight).collect();
        let lengths = fields
            .iter()
            .zip(tokens)
            .map(|(field, tokens)| (*field, lengths(tokens as f32 / entries as f32)))
            .collect();
        Ok(Self { terms, places, weights, lengths })
    }

    /// The lists of entries of one segment.
    fn lists(&self, number: u32, segment: &SegmentReader) -> tantivy::Result<Vec<List<'_>>> {
        let found = &self.places[number as usize];
        let mut lists = Vec::new();
        for (field, lengths) in &self.lengths {
            let of_field = self.terms.iter().zip(found).zip(&self.weights);
            let of_field = of_field.filter(|((scored, _), _)| scored.term.field() == *field);
            for ((_, info), weight) in of_field {
                let Some(info) = info else { continue };
                let postings = segment
                    .inverted_index(*field)?
                    .read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
                let norms = segment.get_fieldnorms_reader(*field)?;
                lists.push(List { postings, next: 0, norms, lengths, weight: *weight });
            }
        }
        Ok(lists)
    }
}

fn lengths(average: f32) -> [f32; 256] {
    let mut lengths = [0.0; 256];
    for (id, length) in (0..=u8::MAX).zip(&mut lengths) {
        *length = K1 * (1.0 - B + B * FieldNormReader::id_to_fieldnorm(id) as f32 / average);
    }
    lengths
}

/// The entries of a term in one segment.
struct List<'a> {
    postings: BlockSegmentPostings,
    /// Place of the next entry in the block.
    next: usize,
    norms: FieldNormReader,
    lengths: &'a [f32; 256],
    weight: f32,
}

impl List<'_> {
    /// Adds the scores of the entries from `first` to before `end`. Windows come in order.
    fn add(&mut self, first: DocId, end: DocId, scores: &mut [f32]) {
        while self.postings.block_len() > 0 {
            let entries = &self.postings.docs()[self.next..];
            let count = match entries.last() {
                Some(last) if *last < end => entries.len(),
                _ => entries.partition_point(|entry| *entry < end),
            };
            let frequencies = &self.postings.freqs()[self.next..][..count];
            let mut parts = [0.0_f32; BLOCK];
            let parts = &mut parts[..count];
            for (part, entry) in parts.iter_mut().zip(entries) {
                *part = self.lengths[usize::from(self.norms.fieldnorm_id(*entry))];
            }
            for (part, frequency) in parts.iter_mut().zip(frequencies) {
                let frequency = frequency.cast_signed() as f32;
                *part = self.weight * (frequency / (frequency + *part));
            }
            for (part, entry) in parts.iter().zip(entries) {
                scores[(entry - first) as usize] += part;
            }
            self.next += count;
            if self.next < self.postings.block_len() {
                return;
            }
            self.postings.advance();
            self.next = 0;
        }
    }
}

/// What an entry of one segment must meet besides its score.
struct Gate<'a> {
    segment: &'a SegmentReader,
    conditions: Option<Marks>,
    excluded: Option<Marks>,
    documents: Option<(tantivy::columnar::Column<u64>, &'a RoaringTreemap)>,
}

impl<'a> Gate<'a> {
    fn new(sums: &'a Sums, searcher: &Searcher, segment: &'a SegmentReader) -> tantivy::Result<Self> {
        let mut conditions: Option<Marks> = None;
        for query in &sums.conditions {
            let mut marks = Marks::new(segment);
            marks.add(&**query, searcher, segment)?;
            match &mut conditions {
                Some(known) => known.intersect(&marks),
                None => conditions = Some(marks),
            }
        }
        let mut excluded = None;
        for query in &sums.excluded {
            excluded.get_or_insert_with(|| Marks::new(segment)).add(&**query, searcher, segment)?;
        }
        let documents = match &sums.documents {
            Some(documents) => Some((segment.fast_fields().u64(DOCUMENT)?, &**documents)),
            None => None,
        };
        Ok(Self { segment, conditions, excluded, documents })
    }

    fn passes(&self, entry: DocId) -> bool {
        !self.segment.is_deleted(entry)
            && self.conditions.as_ref().is_none_or(|marks| marks.contains(entry))
            && !self.excluded.as_ref().is_some_and(|marks| marks.contains(entry))
            && self.documents.as_ref().is_none_or(|(column, documents)| {
                column.first(entry).is_some_and(|document| documents.contains(document))
            })
    }
}

/// Entries of one segment, a bit for each.
struct Marks(Vec<u64>);

impl Marks {
    fn new(segment: &SegmentReader) -> Self {
        Self(vec![0; segment.max_doc().div_ceil(64) as usize])
    }

    /// Marks what a query matches.
    fn add(
        &mut self,
        query: &dyn Query,
        searcher: &Searcher,
        segment: &SegmentReader,
    ) -> tantivy::Result<()> {
        let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
        let mut matching = weight.scorer(segment, 1.0)?;
        let mut entry = matching.doc();
        while entry != TERMINATED {
            self.0[entry as usize / 64] |= 1 << (entry % 64);
            entry = matching.advance();
        }
        Ok(())
    }

    fn intersect(&mut self, other: &Self) {
        for (bits, other) in self.0.iter_mut().zip(&other.0) {
            *bits &= other;
        }
    }

    fn contains(&self, entry: DocId) -> bool {
        self.0[entry as usize / 64] >> (entry % 64) & 1 == 1
    }
}

/// The best entries so far.
struct Best {
    limit: usize,
    found: Vec<(Score, DocAddress)>,
    /// What an entry has to exceed.
    threshold: f32,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new(), threshold: 0.0 }
    }

    fn take(&mut self, segment: u32, first: DocId, scores: &[f32], passes: impl Fn(DocId) -> bool) {
        for (part, strip) in scores.chunks(STRIDE).enumerate() {
            // Without a way out in the middle, the compiler compares many at once.
            let mut any = false;
            for score in strip {
                any |= *score > self.threshold;
            }
            if !any {
                continue;
            }
            for (place, score) in strip.iter().enumerate() {
                let entry = first + (part * STRIDE + place) as u32;
                if *score > self.threshold && passes(entry) {
                    self.push(*score, DocAddress::new(segment, entry));
                }
            }
        }
    }

    fn push(&mut self, score: f32, address: DocAddress) {
        self.found.push((score, address));
        if self.found.len() >= self.limit.saturating_mul(2) {
            let (_, last, _) = self.found.select_nth_unstable_by(self.limit - 1, order);
            self.threshold = last.0;
            self.found.truncate(self.limit);
        }
    }

    fn in_order(mut self) -> Vec<(Score, DocAddress)> {
        self.found.sort_unstable_by(order);
        self.found.truncate(self.limit);
        self.found
    }
}

fn order(a: &(Score, DocAddress), b: &(Score, DocAddress)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use tantivy::{
        Index, TantivyDocument,
        collector::TopDocs,
        query::{BooleanQuery, BoostQuery, Occur, TermQuery},
        schema::{FAST, INDEXED, STRING, Schema, TEXT},
    };

    use super::*;

    struct Fixture {
        searcher: Searcher,
        text: Field,
        label: Field,
    }

    /// Texts of a few words each, in two segments, some deleted.
    fn fixture() -> Fixture {
        let mut schema = Schema::builder();
        let text = schema.add_text_field("text", TEXT);
        let label = schema.add_text_field("label", STRING);
        let document = schema.add_u64_field(DOCUMENT, INDEXED | FAST);
        let place = schema.add_u64_field("place", FAST);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 20_000_000).unwrap();
        writer.set_merge_policy(Box::new(tantivy::indexer::NoMergePolicy));
        for number in 0..1_500_u64 {
            let mut entry = TantivyDocument::default();
            let words = (1..12).filter(|word| number % word < 2).map(|word| format!("w{word} "));
            entry.add_text(text, words.collect::<String>().repeat((number % 3) as usize + 1));
            entry.add_text(label, if number % 4 == 0 { "a" } else { "b" });
            entry.add_u64(document, number / 3);
            entry.add_u64(place, number);
            writer.add_document(entry).unwrap();
            if number == 700 {
                writer.commit().unwrap();
            }
        }
        writer.delete_term(Term::from_field_u64(document, 7));
        writer.commit().unwrap();
        let searcher = index.reader().unwrap().searcher();
        assert_eq!(searcher.segment_readers().len(), 2);
        Fixture { searcher, text, label }
    }

    impl Fixture {
        fn words(&self) -> Vec<ScoredTerm> {
            let term =
                |word: &str, weight| ScoredTerm { term: Term::from_field_text(self.text, word), weight };
            vec![term("w3", 1.0), term("w7", 0.5), term("w11", 0.3), term("nowhere", 1.0), term("w1", 1.0)]
        }

        fn label(&self, label: &str) -> Box<dyn Query> {
            Box::new(TermQuery::new(Term::from_field_text(self.label, label), IndexRecordOption::Basic))
        }
    }

    fn check(fixture: &Fixture, sums: &Sums, passes: impl Fn(DocAddress) -> bool) {
        let terms = sums.terms.iter().map(|scored| {
            let term = TermQuery::new(scored.term.clone(), IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(BoostQuery::new(Box::new(term), scored.weight)) as Box<dyn Query>)
        });
        let union = BooleanQuery::new(terms.collect());
        let all = fixture.searcher.search(&union, &TopDocs::with_limit(2_000).order_by_score()).unwrap();
        let expected: Vec<_> = all.into_iter().filter(|(_, address)| passes(*address)).collect();
        for limit in [1, 7, 100, 2_000] {
            let found = sums.best(&fixture.searcher, limit).unwrap();
            assert_eq!(found.len(), limit.min(expected.len()));
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found.0 - expected.0).abs() < 1e-4, "{found:?} {expected:?}");
            }
        }
    }

    fn sums(fixture: &Fixture) -> Sums {
        Sums { terms: fixture.words(), conditions: Vec::new(), excluded: Vec::new(), documents: None }
    }

    #[test]
    fn sums_are_those_of_a_union() {
        let fixture = fixture();
        check(&fixture, &sums(&fixture), |_| true);
    }

    #[test]
    fn conditions_hold_for_all_that_is_found() {
        let fixture = fixture();
        let number = |field: &str, address: DocAddress| {
            let segment = fixture.searcher.segment_reader(address.segment_ord);
            segment.fast_fields().u64(field).unwrap().first(address.doc_id).unwrap()
        };
        let is_a = |address: DocAddress| number("place", address).is_multiple_of(4);
        let with = Sums { conditions: vec![fixture.label("a")], ..sums(&fixture) };
        check(&fixture, &with, is_a);
        let without = Sums { excluded: vec![fixture.label("a")], ..sums(&fixture) };
        check(&fixture, &without, |address| !is_a(address));
        let documents: Arc<RoaringTreemap> = Arc::new((100..300).collect());
        let among = Sums { documents: Some(documents), ..sums(&fixture) };
        check(&fixture, &among, |address| (100..300).contains(&number(DOCUMENT, address)));
        let neither = Sums { conditions: vec![fixture.label("a"), fixture.label("b")], ..sums(&fixture) };
        check(&fixture, &neither, |_| false);
    }
}
