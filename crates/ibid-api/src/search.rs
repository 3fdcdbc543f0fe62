//! Search: requests, filters, hits and what they say about themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChunkRef, DocumentKind, DocumentSummary, Freshness, Generation, LineRange, Warning};

/// Which legs of the search run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Words.
    Lexical,
    /// Meaning.
    Embedding,
    /// Both.
    Hybrid,
}

impl Mode {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Embedding => "embedding",
            Self::Hybrid => "hybrid",
        }
    }
}

/// What a search is restricted to. All given conditions hold together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Filter {
    /// The document carries all of these tags; a tag includes the tags nested below it.
    pub tags: Vec<String>,
    /// The document belongs to this collection.
    pub collection: Option<String>,
    /// The document is of one of these kinds.
    pub kinds: Vec<DocumentKind>,
    /// The path matches one of these globs.
    pub paths: Vec<String>,
    /// The document comes from one of these sources.
    pub sources: Vec<String>,
    /// The document is in one of these languages (ISO 639-1).
    pub languages: Vec<String>,
    /// Changed at or after this time, in milliseconds since 1970.
    pub modified_from_ms: Option<i64>,
    /// Changed before this time, in milliseconds since 1970.
    pub modified_to_ms: Option<i64>,
}

impl Filter {
    /// Whether nothing is filtered.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Narrows this filter by another's conditions.
    pub fn restrict(&mut self, other: &Self) {
        self.tags.extend(other.tags.iter().cloned());
        if other.collection.is_some() {
            self.collection.clone_from(&other.collection);
        }
        // Of two lists of alternatives the other's wins.
        for (own, given) in [
            (&mut self.paths, &other.paths),
            (&mut self.sources, &other.sources),
            (&mut self.languages, &other.languages),
        ] {
            if !given.is_empty() {
                own.clone_from(given);
            }
        }
        if !other.kinds.is_empty() {
            self.kinds.clone_from(&other.kinds);
        }
        self.modified_from_ms = self.modified_from_ms.max(other.modified_from_ms);
        self.modified_to_ms = match (self.modified_to_ms, other.modified_to_ms) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// A search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRequest {
    /// Words, a question, `"a phrase"`, `-excluded`, `field:value`.
    pub query: String,
    /// Which legs run; the best available ones when not given.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// At most this many hits.
    pub limit: u32,
    /// After skipping this many.
    #[serde(default)]
    pub offset: u32,
    /// What to search in.
    #[serde(default)]
    pub filter: Filter,
    /// At most this many hits of one document; as many as there are when 0.
    #[serde(default = "two")]
    pub per_document: u32,
    /// Whether the last word may be the beginning of a word.
    #[serde(default)]
    pub prefix: bool,
    /// Whether each hit says how its score came about.
    #[serde(default)]
    pub explain: bool,
    /// Whether the snippet of a short passage may be the whole passage.
    #[serde(default = "yes")]
    pub whole_snippets: bool,
}

fn yes() -> bool {
    true
}

fn two() -> u32 {
    2
}

impl SearchRequest {
    /// A search for this query with the defaults.
    pub fn new(query: impl Into<String>, limit: u32) -> Self {
        Self {
            query: query.into(),
            mode: None,
            limit,
            offset: 0,
            filter: Filter::default(),
            per_document: two(),
            prefix: false,
            explain: false,
            whole_snippets: true,
        }
    }
}

/// What is near a document or a chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelatedRequest {
    /// The document.
    pub document: crate::DocumentKey,
    /// The chunk, when one chunk is the centre and not the whole document.
    #[serde(default)]
    pub chunk_index: Option<u32>,
    /// Which legs run; the best available ones when not given.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// At most this many hits.
    pub limit: u32,
    /// What to search in.
    #[serde(default)]
    pub filter: Filter,
    /// Whether the snippet of a short passage may be the whole passage.
    #[serde(default = "yes")]
    pub whole_snippets: bool,
}

/// Why something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchReason {
    /// Its words match.
    LexicalMatch,
    /// Its meaning matches.
    EmbeddingMatch,
    /// Both match.
    HybridMatch,
    /// It shares words.
    RelatedLexical,
    /// It is close in meaning.
    RelatedEmbedding,
    /// It is close in both.
    RelatedHybrid,
    /// A link leads there.
    RelatedLink,
}

/// A short extract around the match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snippet {
    /// The extract, on one line.
    pub text: String,
    /// Byte ranges of `text` that match the query.
    pub highlights: Vec<(u32, u32)>,
}

/// One leg's opinion of a hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LegScore {
    /// Name of the leg or of the signal.
    pub leg: String,
    /// Place in that leg's list, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The leg's own score.
    pub score: f32,
    /// What it added to the final score.
    pub weight: f32,
}

/// How a hit's score came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explain {
    /// Each leg and each bonus.
    pub legs: Vec<LegScore>,
}

/// One found passage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// Which chunk; none for a document that has no text.
    pub chunk: Option<ChunkRef>,
    /// Its document.
    pub document: DocumentSummary,
    /// Headings above it, outermost first.
    pub heading_path: Vec<String>,
    /// Anchor of its own heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Lines of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineRange>,
    /// Extract around the match.
    pub snippet: Snippet,
    /// 0 to 1, comparable only inside one answer.
    pub score: f32,
    /// Why it was found.
    pub reason: MatchReason,
    /// How many other documents hold the same text and were folded into this hit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicates: u32,
    /// How the score came about, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explain>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchReply {
    /// The mode that was asked for, or would have been best.
    pub requested_mode: Mode,
    /// The mode that ran.
    pub used_mode: Mode,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// State of the index they came from.
    pub freshness: Freshness,
    /// The last committed write they include.
    pub generation: Generation,
    /// What else the caller should know.
    pub warnings: Vec<Warning>,
}
