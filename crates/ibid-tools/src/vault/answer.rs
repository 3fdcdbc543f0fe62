//! What the answers of all tools share: freshness, warnings, and the compact result item.

use ibid_api::{Freshness, Hit, MatchReason, Metadata, NoteId, RelPath, Warning, WarningCode};
use schemars::JsonSchema;
use serde::Serialize;

/// Warnings of an answer: those given, what the state of the index adds, and no more than can be read.
pub(super) fn warnings(freshness: Freshness, mut warnings: Vec<Warning>) -> Vec<Warning> {
    if let Some(warning) = of_state(freshness)
        && !warnings.iter().any(|given| given.code == warning.code)
    {
        warnings.insert(0, warning);
    }
    Warning::limited(warnings)
}

fn of_state(freshness: Freshness) -> Option<Warning> {
    let (code, message) = match freshness {
        Freshness::Fresh | Freshness::Incompatible => return None,
        Freshness::Stale => {
            (WarningCode::IndexStale, "files may have changed since they were indexed; run `ibid index`")
        }
        Freshness::Pending => {
            (WarningCode::IndexPending, "known changes of files are not searchable yet; ask again shortly")
        }
        Freshness::Updating => {
            (WarningCode::IndexUpdating, "the index is being updated; the answer shows its last state")
        }
        Freshness::Unknown => (
            WarningCode::IndexUnknown,
            "it is not known whether files changed since they were indexed; run `ibid index` to be sure",
        ),
    };
    Some(Warning::new(code, message))
}

/// How a warning is published: the codes are in the reference, a list of them in every tool would be noise.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
pub(super) struct WarningShape {
    /// Stable code, such as `INDEX_STALE`.
    code: String,
    message: String,
    #[schemars(default)]
    details: Option<serde_json::Value>,
}

/// What a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ItemType {
    /// A passage of a note.
    Chunk,
    /// A note without text of its own, found by its name.
    Note,
}

/// One candidate: enough to decide whether to read it, and the identifiers to do so.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    /// `noteId:chunkIndex` of a chunk, the note id of a note.
    id: String,
    r#type: ItemType,
    /// For `get_note` and `get_chunk`.
    note_id: NoteId,
    /// For `get_chunk`; null for a note without text.
    chunk_index: Option<u32>,
    /// Path inside the vault.
    path: RelPath,
    title: Option<String>,
    /// The heading the passage stands under.
    heading: Option<String>,
    /// All headings above the passage, outermost first.
    heading_path: Vec<String>,
    /// Why it was found, in at most 240 characters; never the whole passage.
    snippet: String,
    /// 0 to 1, comparable inside one answer only.
    score: f32,
    /// Which way it was found.
    #[schemars(with = "String")]
    reason: MatchReason,
    metadata: Metadata,
}

impl From<Hit> for Item {
    fn from(hit: Hit) -> Self {
        let note_id = hit.document.note_id;
        let chunk_index = hit.chunk.map(|chunk| chunk.index);
        let (id, r#type) = match chunk_index {
            Some(index) => (format!("{note_id}:{index}"), ItemType::Chunk),
            None => (note_id.to_string(), ItemType::Note),
        };
        let heading_path = if chunk_index.is_some() { hit.heading_path } else { Vec::new() };
        Self {
            id,
            r#type,
            note_id,
            chunk_index,
            path: hit.document.path,
            title: Some(hit.document.title),
            heading: heading_path.last().cloned(),
            heading_path,
            snippet: if chunk_index.is_some() { hit.snippet.text } else { String::new() },
            score: hit.score.clamp(0.0, 1.0),
            reason: hit.reason,
            metadata: hit.document.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_but_fresh_warns_once() {
        for (freshness, expected) in [
            (Freshness::Fresh, vec![]),
            (Freshness::Stale, vec![WarningCode::IndexStale]),
            (Freshness::Pending, vec![WarningCode::IndexPending]),
            (Freshness::Updating, vec![WarningCode::IndexUpdating]),
            (Freshness::Unknown, vec![WarningCode::IndexUnknown]),
        ] {
            let codes =
                |given| warnings(freshness, given).iter().map(|warning| warning.code).collect::<Vec<_>>();
            assert_eq!(codes(Vec::new()), expected);
            assert_eq!(
                codes(warnings(freshness, Vec::new())),
                expected,
                "a warning of the engine is not doubled"
            );
        }
    }

    #[test]
    fn the_state_of_the_index_counts_among_the_warnings() {
        let many = vec![Warning::new(WarningCode::FileBinary, "a file is binary"); 100];
        assert_eq!(warnings(Freshness::Fresh, many.clone()), many);
        let shown = warnings(Freshness::Stale, many);
        assert_eq!((shown.len(), shown[0].code), (101, WarningCode::IndexStale));
        assert_eq!(shown[100], Warning::omitted(1));
    }
}
