//! A lexical query as the index understands it.

use std::sync::Arc;

use roaring::RoaringTreemap;
use tantivy::{
    Searcher, Term,
    query::{AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, Occur, PhraseQuery, Query, TermQuery},
    schema::{Field, IndexRecordOption},
};

use super::{
    fields::Fields,
    filter,
    index::Loaded,
    sums::{ScoredTerm, Sums},
    terms::beginning_with,
    weights::Weights,
    words::{Counted, phrases, stems_by_word, words},
};
use crate::{
    lexical::{Language, Terms, views},
    store::{Clause, LexicalQuery},
};

/// Of a long text, this many terms of each view are looked for: the rarest for how often they appear.
const MOST_TERMS: usize = 48;
/// A prefix stands for at most this many words.
const PREFIX_WORDS: usize = 50;

/// What to do with a query.
pub(super) enum Plan {
    /// Nothing can match.
    Nothing,
    /// All that match are equally good.
    All(Box<dyn Query>),
    /// Matches have scores.
    Scored(Box<dyn Query>),
    /// Matches have scores, and no term is asked for more than another.
    Sums(Sums),
}

/// Turns a query into a plan; `documents` are those that pass its path globs.
pub(super) fn plan(
    query: &LexicalQuery,
    documents: Option<&Arc<RoaringTreemap>>,
    loaded: &Loaded,
    weights: &Weights,
) -> tantivy::Result<Plan> {
    let languages = languages(query, loaded);
    let mut parts = Parts::new(loaded, weights);
    for clause in &query.clauses {
        parts.clause(clause, &languages)?;
    }
    let conditions = filter::conditions(&query.filter, loaded.fields);
    let asks_for_words = query.clauses.iter().any(|clause| !matches!(clause, Clause::Not(_)));
    Ok(parts.assemble(conditions, documents, asks_for_words))
}

/// The languages of the query and of the texts, each once.
fn languages(query: &LexicalQuery, loaded: &Loaded) -> Vec<Language> {
    let asked = query.languages.iter().map(|code| Language::from_code(Some(code)));
    let mut languages: Vec<Language> = Vec::new();
    for language in asked.chain(loaded.languages.iter().copied()) {
        if !languages.contains(&language) {
            languages.push(language);
        }
    }
    if languages.is_empty() {
        languages.push(Language::default());
    }
    languages
}

struct Parts<'a> {
    searcher: &'a Searcher,
    fields: Fields,
    weights: &'a Weights,
    /// Each adds to the score.
    scored: Vec<ScoredTerm>,
    /// All must match.
    required: Vec<Box<dyn Query>>,
    /// None may match.
    excluded: Vec<Box<dyn Query>>,
}

impl<'a> Parts<'a> {
    fn new(loaded: &'a Loaded, weights: &'a Weights) -> Self {
        Self {
            searcher: &loaded.searcher,
            fields: loaded.fields,
            weights,
            scored: Vec::new(),
            required: Vec::new(),
            excluded: Vec::new(),
        }
    }

    fn clause(&mut self, clause: &Clause, languages: &[Language]) -> tantivy::Result<()> {
        match clause {
            Clause::Words(text) => self.words(text, languages)?,
            Clause::Phrase(text) => {
                if let Some(phrase) = self.phrase(text, languages) {
                    self.required.push(boosted(phrase, self.weights.phrase));
                    self.words(text, languages)?;
                }
            }
            Clause::Not(text) => self.excluded.extend(self.phrase(text, languages)),
            Clause::Title(text) => self.title(text, languages),
            Clause::Prefix(text) => self.prefix(text)?,
        }
        Ok(())
    }

    fn words(&mut self, text: &str, languages: &[Language]) -> tantivy::Result<()> {
        let found = words(text, languages);
        let stemmed = self.rarest(self.fields.stemmed, found.stemmed)?;
        let exact = self.rarest(self.fields.exact, found.exact)?;
        let pairs = self.rarest(self.fields.pairs, found.pairs)?;
        // Where there are no stems, as in a question of stop words, titles are compared as written.
        let (title_field, title) = if stemmed.is_empty() {
            (self.fields.title_exact, &exact)
        } else {
            (self.fields.title, &stemmed)
        };
        let scored = [
            (self.fields.stemmed, &stemmed, self.weights.stemmed),
            (self.fields.exact, &exact, self.weights.exact),
            (self.fields.pairs, &pairs, self.weights.pairs),
            (title_field, title, self.weights.title),
        ];
        for (field, terms, weight) in scored {
            self.scored.extend(terms.iter().filter_map(|term| scored_term(field, term, weight)));
        }
        Ok(())
    }

    /// All terms of a short text; of a long one those that tell most.
    fn rarest(&self, field: Field, counted: Vec<Counted>) -> tantivy::Result<Vec<String>> {
        if counted.len() <= MOST_TERMS {
            return Ok(counted.into_iter().map(|(term, _)| term).collect());
        }
        let entries = self.searcher.num_docs() as f32 + 1.0;
        let mut weighed = Vec::with_capacity(counted.len());
        for (term, count) in counted {
            let holding = self.searcher.doc_freq(&Term::from_field_text(field, &term))?;
            if holding > 0 {
                let weight = (1.0 + count as f32).ln() * (1.0 + entries / holding as f32).ln();
                weighed.push((weight, term));
            }
        }
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
        weighed.truncate(MOST_TERMS);
        Ok(weighed.into_iter().map(|(_, term)| term).collect())
    }

    /// The phrase in the text or in what the text is called.
    fn phrase(&self, text: &str, languages: &[Language]) -> Option<Box<dyn Query>> {
        let mut any: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for reading in phrases(text, languages) {
            for field in [self.fields.exact, self.fields.title_exact] {
                let terms: Vec<(usize, Term)> = reading
                    .iter()
                    .map(|(place, word)| (*place, Term::from_field_text(field, word)))
                    .collect();
                let query: Box<dyn Query> = match terms.as_slice() {
                    [(_, term)] => Box::new(TermQuery::new(term.clone(), IndexRecordOption::WithFreqs)),
                    _ => Box::new(PhraseQuery::new_with_offset(terms)),
                };
                any.push((Occur::Should, query));
            }
        }
        (!any.is_empty()).then(|| Box::new(BooleanQuery::new(any)) as Box<dyn Query>)
    }

    /// Every word in what the text is called.
    fn title(&mut self, text: &str, languages: &[Language]) {
        let stems = stems_by_word(text, languages);
        if stems.is_empty() {
            let exact = views(text, Language::Other).exact;
            self.require_in_title(
                self.fields.title_exact,
                exact.iter().map(|token| vec![token.term.to_owned()]),
            );
        } else {
            self.require_in_title(self.fields.title, stems.into_iter());
        }
    }

    fn require_in_title(&mut self, field: Field, words: impl Iterator<Item = Vec<String>>) {
        let weight = self.weights.title;
        self.required.extend(words.map(|stems| {
            let any = stems.iter().map(|stem| (Occur::Should, term_query(field, stem))).collect();
            boosted(Box::new(BooleanQuery::new(any)), weight)
        }));
    }

    /// The last word of the text as a beginning; the words before it are words.
    fn prefix(&mut self, text: &str) -> tantivy::Result<()> {
        let terms: Terms = views(text, Language::Other).exact;
        let Some(last) = terms.iter().last() else { return Ok(()) };
        for field in [self.fields.exact, self.fields.title] {
            for (term, _) in beginning_with(self.searcher, field, last.term, PREFIX_WORDS)? {
                self.scored.extend(scored_term(field, &term, self.weights.prefix));
            }
        }
        Ok(())
    }

    fn assemble(
        self,
        mut conditions: Vec<Box<dyn Query>>,
        documents: Option<&Arc<RoaringTreemap>>,
        asks_for_words: bool,
    ) -> Plan {
        let Self { fields, scored, required, excluded, .. } = self;
        let nothing_to_find = scored.is_empty() && required.is_empty();
        if asks_for_words && nothing_to_find {
            return Plan::Nothing;
        }
        if required.is_empty() && !scored.is_empty() {
            let (few, many) = match documents {
                Some(documents) if filter::are_few(documents) => (Some(documents), None),
                documents => (None, documents),
            };
            conditions.extend(few.map(|documents| filter::among(documents, fields)));
            return Plan::Sums(Sums { terms: scored, conditions, excluded, documents: many.cloned() });
        }
        conditions.extend(documents.map(|documents| filter::among(documents, fields)));
        let mut all: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        if nothing_to_find {
            all.push((Occur::Must, Box::new(AllQuery)));
        }
        all.extend(required.into_iter().map(|query| (Occur::Must, query)));
        all.extend(scored.into_iter().map(|scored| {
            let query = TermQuery::new(scored.term, IndexRecordOption::WithFreqs);
            (Occur::Should, boosted(Box::new(query), scored.weight))
        }));
        all.extend(
            conditions
                .into_iter()
                .map(|query| (Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0)) as Box<dyn Query>)),
        );
        all.extend(excluded.into_iter().map(|query| (Occur::MustNot, query)));
        let query = Box::new(BooleanQuery::new(all));
        if nothing_to_find { Plan::All(query) } else { Plan::Scored(query) }
    }
}

fn term_query(field: Field, term: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, term), IndexRecordOption::WithFreqs))
}

fn scored_term(field: Field, term: &str, weight: f32) -> Option<ScoredTerm> {
    (weight > 0.0).then(|| ScoredTerm { term: Term::from_field_text(field, term), weight })
}

fn boosted(query: Box<dyn Query>, weight: f32) -> Box<dyn Query> {
    if (weight - 1.0).abs() < f32::EPSILON { query } else { Box::new(BoostQuery::new(query, weight)) }
}
