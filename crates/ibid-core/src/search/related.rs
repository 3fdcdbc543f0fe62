//! Related passages: by links, by words, by meaning.

use std::collections::{HashMap, HashSet};

use ibid_api::{
    ChunkRef, ContentHash, DocumentId, Error, ErrorCode, Freshness, LegScore, MatchReason, Mode,
    RelatedRequest, SearchReply, SearchRequest, Warning, WarningCode,
};

use super::{SearchError, Searcher, fusion, page, query::ParsedQuery};
use crate::{
    lexical::{Language, View, analyze},
    store::{Candidates, Clause, LexicalQuery, StoredChunk, StoredDocument, VectorQuery},
};

/// Words that stand for a document when others like it are looked for.
const TELLING_WORDS: usize = 24;
/// Characters of a document that are read to find them.
const READ_CHARS: usize = 4_000;
/// What a link adds to a score, in deviations; a link back counts half.
const LINKED: f32 = 2.0;

impl Searcher {
    /// Finds what is near a document or a chunk.
    pub fn related(&self, request: &RelatedRequest) -> Result<SearchReply, SearchError> {
        if request.limit == 0 || request.limit > super::MAX_LIMIT {
            return Err(
                Error::new(ErrorCode::InvalidLimit, format!("limit is 1 to {}", super::MAX_LIMIT)).into()
            );
        }
        let centre = self.centre(request)?;
        let requested = request.mode.unwrap_or(Mode::Embedding);
        let depth = super::LEG_DEPTH.max(request.limit as usize * 3);
        let mut warnings = Vec::new();

        let meaning = self.related_meaning(request, &centre, depth, &mut warnings)?;
        let words = centre.telling_words();
        let lexical = if requested == Mode::Embedding && meaning.is_some() {
            Candidates { generation: self.store.generation()?, ..Candidates::default() }
        } else {
            self.store.lexical(&LexicalQuery {
                clauses: vec![Clause::Words(words.clone())],
                languages: centre.document.summary.language.iter().cloned().collect(),
                filter: request.filter.clone(),
                without_document: centre.excluded_document(),
                limit: depth,
            })?
        };
        let (used, reason) = match (&meaning, requested) {
            (None, _) => (Mode::Lexical, MatchReason::RelatedLexical),
            (Some(_), Mode::Hybrid) => (Mode::Hybrid, MatchReason::RelatedHybrid),
            (Some(_), _) => (Mode::Embedding, MatchReason::RelatedEmbedding),
        };
        let weight = match (&meaning, used) {
            (Some(_), Mode::Hybrid) => 0.5,
            (Some(_), _) => 1.0,
            (None, _) => 0.0,
        };
        let mut ranked =
            fusion::fuse(&lexical.list, meaning.as_ref().map(|found| &found.list[..]), weight, 0);
        ranked.retain(|candidate| !centre.is_self(candidate.chunk));
        let linked = self.linked(&centre)?;
        add_links(&mut ranked, &linked);

        let shown = SearchRequest {
            filter: request.filter.clone(),
            per_document: 1,
            whole_snippets: request.whole_snippets,
            ..SearchRequest::new(words.clone(), request.limit)
        };
        let query = ParsedQuery { words, ..ParsedQuery::default() };
        let mut hits = page::build(self.store.as_ref(), &query, &ranked, HashMap::new(), &shown, reason)?;
        for hit in &mut hits {
            if linked.contains_key(&hit.document.id) {
                hit.reason = MatchReason::RelatedLink;
            }
        }
        Ok(SearchReply {
            requested_mode: requested,
            used_mode: used,
            hits,
            freshness: Freshness::Fresh,
            generation: lexical.generation,
            warnings,
        })
    }

    fn centre(&self, request: &RelatedRequest) -> Result<Centre, SearchError> {
        let document = self
            .store
            .document(&request.document)?
            .ok_or_else(|| Error::new(ErrorCode::NoteNotFound, "no note has that identifier"))?;
        let mut chunks = self.store.chunks_of(document.summary.id)?;
        let chunk = match request.chunk_index {
            None => None,
            Some(index) => {
                chunks.retain(|chunk| chunk.chunk.index == index);
                let found = chunks.first();
                let found = found
                    .ok_or_else(|| Error::new(ErrorCode::ChunkNotFound, "no chunk has that identifier"))?;
                Some(found.chunk)
            }
        };
        Ok(Centre { document, chunks, chunk })
    }

    fn related_meaning(
        &self,
        request: &RelatedRequest,
        centre: &Centre,
        depth: usize,
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<Candidates>, SearchError> {
        if request.mode == Some(Mode::Lexical) {
            return Ok(None);
        }
        let vector = match &self.embedder {
            None => None,
            Some(embedder) => {
                let hashes: Vec<ContentHash> = centre.chunks.iter().map(|chunk| chunk.hash).collect();
                mean(&self.store.embeddings(embedder.model(), &hashes)?).map(|vector| (embedder, vector))
            }
        };
        let Some((embedder, vector)) = vector else {
            let text = "search by meaning is not available for this note; words and links were used";
            return match (request.mode, &self.embedder) {
                (Some(Mode::Embedding), _) => Err(Error::new(ErrorCode::EmbeddingUnavailable, text)
                    .with_hint("ask for mode `lexical`")
                    .into()),
                (None, None) => Ok(None),
                _ => {
                    warnings.push(Warning::new(WarningCode::EmbeddingUnavailable, text));
                    Ok(None)
                }
            };
        };
        Ok(Some(self.store.nearest(&VectorQuery {
            model: embedder.model().to_owned(),
            vector,
            filter: request.filter.clone(),
            without_document: centre.excluded_document(),
            limit: depth,
        })?))
    }

    /// Documents that a link joins to the centre, with what the link is worth.
    fn linked(&self, centre: &Centre) -> Result<HashMap<DocumentId, f32>, SearchError> {
        let own = centre.document.summary.id;
        let mut worth = HashMap::new();
        for document in self.store.links_to(own)? {
            worth.insert(document, LINKED / 2.0);
        }
        for link in self.store.links_from(own)? {
            let here = centre.chunk.is_none_or(|chunk| link.chunk == Some(chunk.index));
            if let (true, Some((document, ..))) = (here, link.target) {
                worth.insert(document, LINKED);
            }
        }
        worth.remove(&own);
        Ok(worth)
    }
}

struct Centre {
    document: StoredDocument,
    chunks: Vec<StoredChunk>,
    chunk: Option<ChunkRef>,
}

impl Centre {
    /// All chunks of an input note are left out; of an input chunk, only itself.
    fn excluded_document(&self) -> Option<DocumentId> {
        self.chunk.is_none().then_some(self.document.summary.id)
    }

    fn is_self(&self, chunk: ChunkRef) -> bool {
        match self.chunk {
            Some(own) => own == chunk,
            None => chunk.document == self.document.summary.id,
        }
    }

    /// Title, headings and the words that occur most often.
    fn telling_words(&self) -> String {
        let language = Language::from_code(self.document.summary.language.as_deref());
        let mut counts: HashMap<String, (usize, String)> = HashMap::new();
        let mut read = 0;
        for chunk in &self.chunks {
            if read >= READ_CHARS {
                break;
            }
            read += chunk.text.len();
            analyze(&chunk.text, language, View::Stemmed, &mut |token| {
                let entry = counts.entry(token.term.to_owned()).or_default();
                entry.0 += 1;
                if entry.1.is_empty() {
                    chunk.text[token.from..token.to].clone_into(&mut entry.1);
                }
            });
        }
        let mut words: Vec<(usize, String)> =
            counts.into_values().filter(|(_, word)| word.chars().count() > 2).collect();
        words.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut said = vec![self.document.summary.title.clone()];
        if let Some(chunk) = self.chunk.and(self.chunks.first()) {
            said.extend(chunk.heading_path.iter().cloned());
        }
        said.extend(words.into_iter().take(TELLING_WORDS).map(|(_, word)| word));
        said.join(" ")
    }
}

fn add_links(ranked: &mut Vec<fusion::Ranked>, linked: &HashMap<DocumentId, f32>) {
    let mut seen = HashSet::new();
    for candidate in ranked.iter_mut() {
        if let Some(&worth) = linked.get(&candidate.chunk.document) {
            seen.insert(candidate.chunk.document);
            candidate.score += worth;
            candidate.legs.push(LegScore { leg: "link".to_owned(), rank: None, score: 1.0, weight: worth });
        }
    }
    let lowest = ranked.last().map_or(0.0, |candidate| candidate.score);
    for (&document, &worth) in linked {
        if !seen.contains(&document) {
            ranked.push(fusion::Ranked {
                chunk: ChunkRef { document, index: 0 },
                score: lowest + worth,
                legs: vec![LegScore { leg: "link".to_owned(), rank: None, score: 1.0, weight: worth }],
            });
        }
    }
    fusion::sort(ranked);
}

fn mean(vectors: &[Option<Vec<f32>>]) -> Option<Vec<f32>> {
    let known: Vec<&Vec<f32>> = vectors.iter().flatten().collect();
    let mut sum = vec![0.0f32; known.first()?.len()];
    for vector in &known {
        sum.iter_mut().zip(vector.iter()).for_each(|(sum, value)| *sum += value);
    }
    let norm = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    (norm > 0.0).then(|| sum.into_iter().map(|value| value / norm).collect())
}
