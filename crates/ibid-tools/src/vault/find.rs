//! `search` and `related`: compact candidates.

use std::sync::Arc;

use ibid_api::{
    DocumentKey, DocumentKind, Error, ErrorCode, Filter, Freshness, Mode, NoteId, RelatedRequest, Result,
    SearchReply, SearchRequest, Warning,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    QUERY_CHARS, Vault,
    answer::{self, Item, WarningShape},
    incompatible,
};
use crate::{Route, Spec};

pub(super) const SEARCH: Spec = Spec::read(
    "search",
    "Search the vault",
    "Finds passages of notes by words, by meaning, or both, and returns short candidates, best first: \
     identifiers, path, title, headings, a snippet and a score. Never returns whole notes or passages; read \
     those with get_chunk or get_note.",
)
.http(Route::post("/search"))
.examples(&[r#"{"query":"how do we rotate keys","limit":5}"#, r#"{"query":"invoice","mode":"lexical"}"#]);

pub(super) const RELATED: Spec = Spec::read(
    "related",
    "Find related notes",
    "Finds passages near a note or a chunk that is already known: those it links to or is linked from, those \
     close in meaning, those sharing words. Returns the same short candidates as search, without the input \
     itself.",
)
.http(Route::post("/related"))
.examples(&[
    r#"{"type":"note","id":"0123456789abcdef0123456789abcdef"}"#,
    r#"{"type":"chunk","id":"0123456789abcdef0123456789abcdef:2","limit":5,"mode":"hybrid"}"#,
]);

/// Arguments of `search`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Search {
    /// What to look for: words, a question, or a "quoted phrase".
    #[schemars(length(min = 1, max = 1_000))]
    query: String,
    /// How to look; the best available way when not given.
    #[serde(default)]
    mode: Option<Mode>,
    /// How many candidates to return at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
}

/// Arguments of `related`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Related {
    /// What `id` names.
    r#type: CentreType,
    /// A note id, or a chunk id as in `noteId:chunkIndex`.
    id: String,
    /// How many candidates to return at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
    /// How to look; the best available way when not given.
    #[serde(default)]
    mode: Option<Mode>,
}

fn ten() -> u32 {
    10
}

/// What the candidates are related to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CentreType {
    Note,
    Chunk,
}

/// Candidates, best first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidates {
    /// The way that was asked for, or would have been best.
    requested_mode: Mode,
    /// The way that was used.
    used_mode: Mode,
    /// The limit that held.
    limit: u32,
    /// Candidates, best first.
    results: Vec<Item>,
    /// How the index relates to the files.
    freshness: Freshness,
    /// What else to know about the answer.
    #[schemars(with = "Vec<WarningShape>")]
    warnings: Vec<Warning>,
}

/// Candidates near a note or chunk.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Neighbours {
    /// What was asked for.
    input: Centre,
    #[serde(flatten)]
    candidates: Candidates,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Centre {
    r#type: CentreType,
    id: String,
}

/// A vault shows its Markdown, whatever else the knowledge base holds.
fn notes_only() -> Filter {
    Filter { kinds: vec![DocumentKind::Markdown], ..Filter::default() }
}

pub(super) async fn search(vault: Arc<Vault>, input: Search) -> Result<Candidates> {
    if input.query.trim().is_empty() || input.query.chars().count() > QUERY_CHARS {
        return Err(Error::new(
            ErrorCode::InvalidQuery,
            format!("`query` must have 1 to {QUERY_CHARS} characters that are not all blank"),
        ));
    }
    let request = SearchRequest {
        mode: input.mode,
        filter: notes_only(),
        whole_snippets: false,
        ..SearchRequest::new(input.query, input.limit)
    };
    candidates(vault.engine().await?.search(request).await?, input.limit)
}

pub(super) async fn related(vault: Arc<Vault>, input: Related) -> Result<Neighbours> {
    let (note, chunk_index) = centre(input.r#type, &input.id)?;
    let request = RelatedRequest {
        document: DocumentKey::Note(note),
        chunk_index,
        mode: input.mode,
        limit: input.limit,
        filter: notes_only(),
        whole_snippets: false,
    };
    let candidates = candidates(vault.engine().await?.related(request).await?, input.limit)?;
    Ok(Neighbours { input: Centre { r#type: input.r#type, id: input.id }, candidates })
}

/// The answer that a reply makes. An index that must not be queried gives none, even if it could.
fn candidates(reply: SearchReply, limit: u32) -> Result<Candidates> {
    if reply.freshness == Freshness::Incompatible {
        return Err(incompatible());
    }
    Ok(Candidates {
        requested_mode: reply.requested_mode,
        used_mode: reply.used_mode,
        limit,
        results: reply.hits.into_iter().map(Item::from).collect(),
        freshness: reply.freshness,
        warnings: answer::warnings(reply.freshness, reply.warnings),
    })
}

/// Takes an identifier apart.
fn centre(r#type: CentreType, id: &str) -> Result<(NoteId, Option<u32>)> {
    match (r#type, id.split_once(':')) {
        (CentreType::Note, None) => Ok((id.parse()?, None)),
        (CentreType::Chunk, Some((note, index))) => {
            let digits = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            let index = index.parse().ok().filter(|_| digits).ok_or_else(chunk_id_wanted)?;
            Ok((note.parse()?, Some(index)))
        }
        (CentreType::Note, Some(_)) => Err(Error::new(
            ErrorCode::InvalidId,
            "`id` names a chunk; give the note id before the colon, or `type` as `chunk`",
        )),
        (CentreType::Chunk, None) => Err(chunk_id_wanted()),
    }
}

fn chunk_id_wanted() -> Error {
    Error::new(ErrorCode::InvalidId, "a chunk id is a note id, a colon and a number, as in `noteId:0`")
        .with_hint("take the `id` of a search result of type `chunk`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn identifiers_fit_their_type() {
        let check = |r#type, id: &str| {
            centre(r#type, id).map(|(note, index)| (note.to_string(), index)).map_err(|error| error.code)
        };
        let refused = Err(ErrorCode::InvalidId);
        assert_eq!(check(CentreType::Note, NOTE), Ok((NOTE.to_owned(), None)));
        assert_eq!(check(CentreType::Chunk, &format!("{NOTE}:12")), Ok((NOTE.to_owned(), Some(12))));
        for id in ["", ":", "x", &format!("{NOTE}:0"), &NOTE.to_uppercase(), &NOTE[1..]] {
            assert_eq!(check(CentreType::Note, id), refused, "{id}");
        }
        for id in ["", ":0", NOTE, &format!("{NOTE}:"), &format!("{NOTE}:-1"), &format!("{NOTE}:+1")] {
            assert_eq!(check(CentreType::Chunk, id), refused, "{id}");
        }
        assert_eq!(check(CentreType::Chunk, &format!("{NOTE}:4294967296")), refused);
    }
}
