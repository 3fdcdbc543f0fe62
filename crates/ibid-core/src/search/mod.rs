//! Search: a request to a ranked, explained page of passages.

mod fusion;
mod page;
mod query;
mod rarity;
mod related;
mod second_look;
mod snippet;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ibid_api::{
    Error, ErrorCode, Freshness, MatchReason, Mode, SearchReply, SearchRequest, Warning, WarningCode,
};

use crate::{
    embed::{EmbedError, Embedder},
    store::{Candidates, Clause, LexicalQuery, Store, StoreError, VectorQuery},
};

pub use query::ParsedQuery;

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The request cannot be answered; safe to show.
    #[error(transparent)]
    Refused(#[from] Error),
}

/// Longest query, in characters.
pub const MAX_QUERY_CHARS: usize = 10_000;
/// Largest page.
pub const MAX_LIMIT: u32 = 1_000;
/// Each leg is asked for at least this many candidates; deeper lists do not rank better.
const LEG_DEPTH: usize = 100;
/// Query vectors kept for the next time the same question is asked.
const CACHED_QUERIES: usize = 256;
/// Below this share of texts with an embedding, words decide alone: the few that have one would pass better
/// texts for no other reason.
const MIN_EMBEDDED_SHARE: f64 = 0.5;

/// Answers searches over one store.
pub struct Searcher {
    store: Arc<dyn Store>,
    embedder: Option<Arc<dyn Embedder>>,
    queries: Mutex<HashMap<String, Arc<Vec<f32>>>>,
}

/// What the legs found, and which of them ran.
struct Legs {
    lexical: Candidates,
    meaning: Option<Candidates>,
    /// Weight of meaning, 0 to 1.
    weight: f32,
    warnings: Vec<Warning>,
}

impl Searcher {
    /// A searcher; without an embedder it answers by words alone.
    pub fn new(store: Arc<dyn Store>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self { store, embedder, queries: Mutex::default() }
    }

    /// Finds passages.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchReply, SearchError> {
        validate(request)?;
        let mut parsed = ParsedQuery::parse(&request.query, request.prefix);
        parsed.filter.restrict(&request.filter);
        let requested = request.mode.unwrap_or(Mode::Hybrid);
        let depth = LEG_DEPTH.max((request.offset + request.limit) as usize * 3);
        let mut legs = self.run_legs(&mut parsed, request.mode, depth)?;

        let used = match (&legs.meaning, requested) {
            (None, _) => Mode::Lexical,
            (Some(_), Mode::Embedding) => Mode::Embedding,
            (Some(_), _) => Mode::Hybrid,
        };
        let reason = match used {
            Mode::Lexical => MatchReason::LexicalMatch,
            Mode::Embedding => MatchReason::EmbeddingMatch,
            Mode::Hybrid => MatchReason::HybridMatch,
        };
        if legs.lexical.behind || legs.meaning.as_ref().is_some_and(|found| found.behind) {
            legs.warnings.push(Warning::new(
                WarningCode::IndexCatchingUp,
                "the last changes are stored and become searchable with the next update",
            ));
        }
        let meaning = legs.meaning.as_ref().map(|found| &found.list[..]);
        let could_be_found = meaning.map_or(0, |list| list.len().min(fusion::USUAL));
        let absent =
            rarity::without_words(self.store.as_ref(), &parsed.words, &legs.lexical.list, could_be_found)?;
        let mut ranked = fusion::fuse(&legs.lexical.list, meaning, legs.weight, absent);
        let known = second_look::rank(self.store.as_ref(), &parsed, &mut ranked)?;
        let hits = page::build(self.store.as_ref(), &parsed, &ranked, known, request, reason)?;
        Ok(SearchReply {
            requested_mode: requested,
            used_mode: used,
            hits,
            freshness: Freshness::Fresh,
            generation: legs.lexical.generation,
            warnings: legs.warnings,
        })
    }

    fn run_legs(
        &self,
        parsed: &mut ParsedQuery,
        mode: Option<Mode>,
        depth: usize,
    ) -> Result<Legs, SearchError> {
        let mut warnings = Vec::new();
        let mut lexical = Candidates::default();
        if mode != Some(Mode::Embedding) {
            self.correct_typos(parsed, &mut warnings)?;
            lexical = self.store.lexical(&LexicalQuery {
                clauses: parsed.clauses.clone(),
                languages: Vec::new(),
                filter: parsed.filter.clone(),
                without_document: None,
                limit: depth,
            })?;
        }
        let (meaning, weight) = self.meaning(parsed, mode, depth, lexical.list.is_empty(), &mut warnings)?;
        Ok(Legs { lexical, meaning, weight, warnings })
    }

    /// Runs the leg of meaning where it is wanted and works, and says so where it is wanted and does not.
    fn meaning(
        &self,
        parsed: &ParsedQuery,
        mode: Option<Mode>,
        depth: usize,
        words_found_nothing: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Option<Candidates>, f32), SearchError> {
        if mode == Some(Mode::Lexical) || parsed.words.trim().is_empty() {
            return if mode == Some(Mode::Embedding) { Err(no_words().into()) } else { Ok((None, 0.0)) };
        }
        let unavailable = |warnings: &mut Vec<Warning>, text: &str, implicit_is_silent: bool| match mode {
            Some(Mode::Embedding) => Err(SearchError::Refused(
                Error::new(ErrorCode::EmbeddingUnavailable, text).with_hint("search with mode `lexical`"),
            )),
            None if implicit_is_silent => Ok((None, 0.0)),
            _ => {
                warnings.push(Warning::new(WarningCode::EmbeddingUnavailable, text));
                Ok((None, 0.0))
            }
        };
        let Some(embedder) = &self.embedder else {
            return unavailable(warnings, "search by meaning is turned off; words were used", true);
        };
        let weight = if mode == Some(Mode::Embedding) {
            1.0
        } else {
            fusion::meaning_weight(embedder.fertility(&parsed.words), parsed.words.split_whitespace().count())
        };
        // Where the model sees only letters, words decide alone; there is nothing to look for.
        let found = if weight <= 0.0 && !words_found_nothing {
            Candidates::default()
        } else {
            let vector = match self.query_vector(embedder.as_ref(), &parsed.words) {
                Ok(vector) => vector,
                Err(error) => {
                    tracing::warn!(%error, "the query could not be embedded");
                    if let EmbedError::OtherLength { .. } = error {
                        warnings.push(Warning::new(
                            WarningCode::IndexEmbeddingDimensionMismatch,
                            "the embedding model gives vectors of another length than those stored",
                        ));
                    }
                    return unavailable(
                        warnings,
                        "the embedding model does not work; words were used",
                        false,
                    );
                }
            };
            self.store.nearest(&VectorQuery {
                model: embedder.model().to_owned(),
                vector: vector.to_vec(),
                filter: parsed.filter.clone(),
                without_document: None,
                limit: depth,
            })?
        };
        let missing = self.store.count_pending_embeddings(embedder.model())?;
        if missing > 0 {
            let total = self.store.summary()?.chunks.max(1);
            let share = 1.0 - missing as f64 / total as f64;
            if share < MIN_EMBEDDED_SHARE && mode != Some(Mode::Embedding) {
                warnings.push(incomplete(missing, total));
                return Ok((None, 0.0));
            }
            warnings.push(incomplete(missing, total));
        }
        Ok((Some(found), weight))
    }

    fn query_vector(&self, embedder: &dyn Embedder, words: &str) -> Result<Arc<Vec<f32>>, EmbedError> {
        let lock = || self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = lock().get(words) {
            return Ok(Arc::clone(vector));
        }
        let vector = Arc::new(embedder.embed_query(words)?);
        let mut queries = lock();
        if queries.len() >= CACHED_QUERIES {
            queries.clear();
        }
        queries.insert(words.to_owned(), Arc::clone(&vector));
        Ok(vector)
    }

    /// Replaces words that no text holds by the most frequent word one or two letters away.
    fn correct_typos(
        &self,
        parsed: &mut ParsedQuery,
        warnings: &mut Vec<Warning>,
    ) -> Result<(), SearchError> {
        let mut replaced = false;
        for clause in &mut parsed.clauses {
            let Clause::Words(words) = clause else { continue };
            let mut corrected: Vec<String> = Vec::new();
            for word in words.split_whitespace() {
                match self.correction(word)? {
                    Some(better) => {
                        replaced = true;
                        corrected.push(better);
                    }
                    None => corrected.push(word.to_owned()),
                }
            }
            *words = corrected.join(" ");
        }
        if replaced {
            warnings.push(Warning::new(
                WarningCode::QueryCorrected,
                "some words occur nowhere; similar words were searched for instead",
            ));
        }
        Ok(())
    }

    fn correction(&self, word: &str) -> Result<Option<String>, SearchError> {
        let clean = word.trim_matches(|c: char| !c.is_alphanumeric());
        if clean.chars().count() < 4 || !clean.chars().all(char::is_alphabetic) {
            return Ok(None);
        }
        Ok(self.store.similar_terms(clean, 1)?.into_iter().next().map(|(term, _)| term))
    }
}

fn incomplete(missing: u64, total: u64) -> Warning {
    Warning {
        code: WarningCode::EmbeddingIncomplete,
        message: format!("{missing} of {total} passages have no embedding yet and are found by words only"),
        details: Some(serde_json::json!({ "missing": missing, "total": total })),
    }
}

fn no_words() -> Error {
    Error::new(ErrorCode::InvalidQuery, "a search by meaning needs words")
        .with_hint("add a few words to the query")
}

fn validate(request: &SearchRequest) -> Result<(), Error> {
    if request.query.trim().is_empty() {
        return Err(
            Error::new(ErrorCode::InvalidQuery, "the query is empty").with_hint("give at least one word")
        );
    }
    if request.query.chars().count() > MAX_QUERY_CHARS {
        return Err(Error::new(
            ErrorCode::InvalidQuery,
            format!("the query is longer than {MAX_QUERY_CHARS} characters"),
        ));
    }
    if request.limit == 0 || request.limit > MAX_LIMIT || request.offset > MAX_LIMIT {
        return Err(Error::new(ErrorCode::InvalidLimit, format!("limit is 1 to {MAX_LIMIT}")));
    }
    Ok(())
}
