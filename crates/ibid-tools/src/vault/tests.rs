//! The toolset on a small knowledge base held in memory, in the states a real one is rarely in.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ibid_api::{
    Attachment, AttachmentBody, Chunk, ChunkRef, ContentHash, Document, DocumentFilter, DocumentId,
    DocumentKey, DocumentKind, DocumentSummary, EmbeddingState, Engine, Error, ErrorCode, FileReport,
    Freshness, Generation, Hit, IndexReply, IndexRequest, IndexStatus, LineRange, Link, LinkTarget,
    MatchReason, Metadata, Mode, NoteId, Page, Paging, RelPath, RelatedRequest, Result, SearchReply,
    SearchRequest, Snippet, SourceStatus, Status, SyncStatus, WatchState, WatchStatus,
};
use serde_json::{Value, json};

use super::*;
use crate::{Call, Failure};

/// A knowledge base of one note, `a/Plan.md`, and one attachment of a given size.
#[derive(Default)]
struct Shelf {
    no_source: bool,
    freshness: Option<Freshness>,
    note: String,
    kind: Option<DocumentKind>,
    attachment_bytes: u64,
    searched: Mutex<Option<SearchRequest>>,
}

impl Shelf {
    fn freshness(&self) -> Freshness {
        self.freshness.unwrap_or(Freshness::Fresh)
    }

    fn summary(&self) -> DocumentSummary {
        let path = RelPath::parse("a/Plan.md").unwrap();
        DocumentSummary {
            id: DocumentId(7),
            note_id: NoteId::of(&path),
            source: "notes".to_owned(),
            path,
            title: "Plan".to_owned(),
            kind: self.kind.unwrap_or(DocumentKind::Markdown),
            language: Some("en".to_owned()),
            size: self.note.len() as u64,
            modified_ms: 0,
            chunk_count: 1,
            metadata: Metadata { tags: vec!["work".to_owned()], ..Metadata::default() },
        }
    }

    fn is_plan(&self, key: &DocumentKey) -> Result<()> {
        let plan = self.summary();
        match key {
            DocumentKey::Id(id) if *id == plan.id => Ok(()),
            DocumentKey::Note(id) if *id == plan.note_id => Ok(()),
            _ => Err(Error::new(ErrorCode::NoteNotFound, "no note has that identifier")),
        }
    }

    fn reply(&self, mode: Option<Mode>) -> SearchReply {
        let hit = |chunk: Option<ChunkRef>| Hit {
            chunk,
            document: self.summary(),
            heading_path: vec!["Plan".to_owned(), "Next".to_owned()],
            anchor: None,
            lines: None,
            snippet: Snippet { text: "…the plan…".to_owned(), highlights: vec![] },
            score: 1.25,
            reason: MatchReason::HybridMatch,
            duplicates: 0,
            explain: None,
        };
        SearchReply {
            requested_mode: mode.unwrap_or(Mode::Hybrid),
            used_mode: mode.unwrap_or(Mode::Hybrid),
            hits: vec![hit(Some(ChunkRef { document: DocumentId(7), index: 3 })), hit(None)],
            freshness: self.freshness(),
            generation: Generation(1),
            warnings: vec![],
        }
    }
}

fn link(name: &str, target: Option<LinkTarget>) -> Link {
    let fragment = Some("Next".to_owned());
    Link { name: name.to_owned(), fragment, label: None, embed: false, line: 1, target }
}

#[async_trait]
impl Engine for Shelf {
    async fn status(&self) -> Result<Status> {
        let source =
            SourceStatus { name: "notes".to_owned(), available: true, indexed: 1, skipped: 0, failed: 0 };
        Ok(Status {
            version: "1.2.3".to_owned(),
            index: IndexStatus {
                freshness: self.freshness(),
                last_update_ms: None,
                last_error: None,
                pending_changes: 0,
                reindex_reasons: vec![],
                embedding_state: EmbeddingState::Ready,
                embedding_model: None,
                embeddings_missing: 0,
                generation: Generation(1),
                documents: 1,
                chunks: 1,
                disk_bytes: 0,
            },
            sources: if self.no_source { vec![] } else { vec![source] },
            watch: WatchStatus {
                state: WatchState::Disabled,
                last_event_ms: None,
                last_heartbeat_ms: None,
                pending: 0,
                events_outside: 0,
                last_error: None,
            },
            sync: SyncStatus::default(),
            warnings: vec![],
        })
    }

    async fn files(&self, _: Paging) -> Result<Page<FileReport>> {
        Ok(Page { items: vec![], total: 0 })
    }

    async fn search(&self, request: SearchRequest) -> Result<SearchReply> {
        let reply = self.reply(request.mode);
        *self.searched.lock().unwrap() = Some(request);
        Ok(reply)
    }

    async fn related(&self, request: RelatedRequest) -> Result<SearchReply> {
        self.is_plan(&request.document)?;
        Ok(self.reply(request.mode))
    }

    async fn documents(&self, _: DocumentFilter, _: Paging) -> Result<Page<DocumentSummary>> {
        Ok(Page { items: vec![self.summary()], total: 1 })
    }

    async fn document(&self, key: DocumentKey, max_bytes: u64) -> Result<Document> {
        self.is_plan(&key)?;
        if self.note.len() as u64 > max_bytes {
            return Err(Error::new(ErrorCode::NoteTooLarge, "the note is too large"));
        }
        let plan = self.summary();
        let target = LinkTarget { note_id: plan.note_id, path: plan.path.clone(), title: plan.title.clone() };
        Ok(Document {
            summary: plan,
            content: self.note.clone(),
            headings: vec![],
            links: vec![link("Plan", Some(target)), link("Nowhere", None)],
            attachments: vec!["img/a b.png".to_owned()],
        })
    }

    async fn chunk(&self, chunk: ChunkRef) -> Result<Chunk> {
        if chunk.index != 3 {
            return Err(Error::new(ErrorCode::ChunkNotFound, "no chunk has that identifier"));
        }
        Ok(Chunk {
            chunk,
            document: self.summary(),
            heading_path: vec!["Plan".to_owned()],
            anchor: None,
            lines: LineRange { start: 1, end: 2 },
            text: "first\nsecond é".to_owned(),
            hash: ContentHash::of(b""),
            links: vec![link("Nowhere", None)],
            attachments: vec!["img/a b.png".to_owned()],
        })
    }

    async fn attachment(&self, path: RelPath, body: AttachmentBody) -> Result<Attachment> {
        if path.as_str() != "img/a b.png" {
            return Err(Error::new(ErrorCode::AttachmentNotFound, "no attachment has that path"));
        }
        let body = match body {
            AttachmentBody::Omit => None,
            AttachmentBody::UpTo(most) => {
                assert!(self.attachment_bytes <= most, "what is too large is not read");
                Some(vec![0xfb; self.attachment_bytes as usize])
            }
        };
        Ok(Attachment {
            file_name: path.file_name().to_owned(),
            path,
            content_type: "image/png".to_owned(),
            size: self.attachment_bytes,
            body,
        })
    }

    async fn index(&self, _: IndexRequest) -> Result<IndexReply> {
        Err(Error::internal())
    }
}

fn plan_id() -> String {
    NoteId::of(&RelPath::parse("a/Plan.md").unwrap()).to_string()
}

async fn call(shelf: Shelf, tool: &str, arguments: Value) -> Result<Value, Failure> {
    call_on(&toolset(Arc::new(shelf)), tool, arguments).await
}

async fn call_on(toolset: &Toolset, tool: &str, arguments: Value) -> Result<Value, Failure> {
    let tool = toolset.tools().iter().find(|one| one.spec.name == tool).unwrap();
    tool.call(arguments.as_object().cloned().unwrap(), Call::detached()).await
}

/// A call of every tool that would succeed.
fn every_call() -> [(&'static str, Value); 5] {
    let id = plan_id();
    [
        ("search", json!({"query": "plan"})),
        ("get_note", json!({"note_id": id})),
        ("get_chunk", json!({"note_id": id, "chunk_index": 3})),
        ("get_attachment", json!({"vault_relative_path": "img/a b.png"})),
        ("related", json!({"type": "note", "id": id})),
    ]
}

#[test]
fn tools_are_published_as_the_contract_has_them() {
    let toolset = toolset(Arc::new(Shelf::default()));
    for tool in toolset.tools() {
        insta::assert_json_snapshot!(tool.spec.name, tool.describe());
    }
    assert!(toolset.instructions().len() < 1_000);
    let table = crate::ToolTable::new([toolset]).unwrap();
    insta::assert_snapshot!("price", format!("{} tokens", table.tokens()));
}

#[tokio::test]
async fn answers_have_the_fields_of_the_contract() {
    for (tool, arguments) in every_call() {
        let shelf = Shelf { note: "# Plan\n".to_owned(), attachment_bytes: 3, ..Shelf::default() };
        insta::assert_json_snapshot!(format!("answer_{tool}"), call(shelf, tool, arguments).await.unwrap());
    }
    let shelf = Shelf { attachment_bytes: 3, ..Shelf::default() };
    let arguments = json!({"vaultRelativePath": "img/a%20b.png", "download": true});
    insta::assert_json_snapshot!("answer_download", call(shelf, "get_attachment", arguments).await.unwrap());
}

#[tokio::test]
async fn a_search_asks_for_markdown_and_never_for_whole_passages() {
    let shelf = Arc::new(Shelf::default());
    let toolset = toolset(shelf.clone());
    call_on(&toolset, "search", json!({"query": "plan", "mode": "lexical", "other": 1})).await.unwrap();
    let asked = shelf.searched.lock().unwrap().clone().unwrap();
    assert_eq!((asked.limit, asked.mode, asked.whole_snippets), (10, Some(Mode::Lexical), false));
    assert_eq!(asked.filter.kinds, [DocumentKind::Markdown]);
}

#[tokio::test]
async fn both_spellings_of_a_parameter_are_accepted() {
    let id = plan_id();
    for arguments in [json!({"noteId": id, "chunkIndex": 3}), json!({"note_id": id, "chunk_index": 3})] {
        assert_eq!(call(Shelf::default(), "get_chunk", arguments).await.unwrap()["chunkIndex"], 3);
    }
}

#[track_caller]
fn refused(failure: Result<Value, Failure>) -> (&'static str, i32) {
    let failure = failure.unwrap_err();
    (failure.error.code.as_str(), failure.rpc_code())
}

#[tokio::test]
async fn a_missing_or_mistyped_parameter_is_malformed_and_a_bad_value_is_not() {
    let id = plan_id();
    let long = "x".repeat(1_001);
    for (tool, arguments, expected) in [
        ("search", json!({}), ("INVALID_QUERY", -32602)),
        ("search", json!({"query": 7}), ("INVALID_QUERY", -32602)),
        ("search", json!({"query": null}), ("INVALID_QUERY", -32602)),
        ("search", json!({"query": ""}), ("INVALID_QUERY", -32000)),
        ("search", json!({"query": " \t\n"}), ("INVALID_QUERY", -32000)),
        ("search", json!({"query": long}), ("INVALID_QUERY", -32000)),
        ("search", json!({"query": "x", "mode": "fuzzy"}), ("INVALID_MODE", -32000)),
        ("search", json!({"query": "x", "mode": 1}), ("INVALID_MODE", -32602)),
        ("search", json!({"query": "x", "limit": 0}), ("INVALID_LIMIT", -32000)),
        ("search", json!({"query": "x", "limit": 51}), ("INVALID_LIMIT", -32000)),
        ("search", json!({"query": "x", "limit": -1}), ("INVALID_LIMIT", -32000)),
        ("search", json!({"query": "x", "limit": 1.5}), ("INVALID_LIMIT", -32602)),
        ("search", json!({"query": "x", "limit": "10"}), ("INVALID_LIMIT", -32602)),
        ("get_note", json!({}), ("INVALID_ID", -32602)),
        ("get_note", json!({"note_id": 1}), ("INVALID_ID", -32602)),
        ("get_note", json!({"note_id": "x"}), ("INVALID_ID", -32000)),
        ("get_note", json!({"note_id": "0".repeat(32)}), ("NOTE_NOT_FOUND", -32004)),
        ("get_note", json!({"note_id": id, "allow_large": "yes"}), ("INVALID_PARAMETER", -32602)),
        ("get_chunk", json!({"note_id": id}), ("INVALID_PARAMETER", -32602)),
        ("get_chunk", json!({"note_id": id, "chunk_index": "0"}), ("INVALID_PARAMETER", -32602)),
        ("get_chunk", json!({"note_id": id, "chunk_index": -1}), ("INVALID_PARAMETER", -32000)),
        ("get_chunk", json!({"note_id": id, "chunk_index": 4}), ("CHUNK_NOT_FOUND", -32005)),
        ("get_attachment", json!({}), ("INVALID_PATH", -32602)),
        ("get_attachment", json!({"vault_relative_path": ["a"]}), ("INVALID_PATH", -32602)),
        ("get_attachment", json!({"vault_relative_path": ""}), ("INVALID_PATH", -32000)),
        ("get_attachment", json!({"vault_relative_path": "%2e%2e/x"}), ("INVALID_PATH", -32000)),
        ("get_attachment", json!({"vault_relative_path": "x.png"}), ("ATTACHMENT_NOT_FOUND", -32006)),
        ("related", json!({"id": id}), ("INVALID_TYPE", -32602)),
        ("related", json!({"type": "folder", "id": id}), ("INVALID_TYPE", -32000)),
        ("related", json!({"type": "note"}), ("INVALID_ID", -32602)),
        ("related", json!({"type": "note", "id": "x"}), ("INVALID_ID", -32000)),
        ("related", json!({"type": "chunk", "id": id}), ("INVALID_ID", -32000)),
        ("related", json!({"type": "note", "id": id, "mode": "x"}), ("INVALID_MODE", -32000)),
        ("related", json!({"type": "note", "id": id, "limit": 99}), ("INVALID_LIMIT", -32000)),
    ] {
        let result = call(Shelf::default(), tool, arguments.clone()).await;
        assert_eq!(refused(result), expected, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn without_a_source_every_tool_says_what_to_configure() {
    for (tool, arguments) in every_call() {
        let shelf = Shelf { no_source: true, ..Shelf::default() };
        let failure = call(shelf, tool, arguments).await.unwrap_err();
        assert_eq!(
            (failure.error.code, failure.rpc_code()),
            (ErrorCode::VaultNotConfigured, -32013),
            "{tool}"
        );
        assert!(failure.error.hint.unwrap().contains("VAULT_AGENT_VAULT_ROOT"));
    }
}

#[tokio::test]
async fn an_incompatible_index_refuses_all_but_notes_and_attachments() {
    for (tool, arguments) in every_call() {
        let shelf = Shelf { freshness: Some(Freshness::Incompatible), ..Shelf::default() };
        let result = call(shelf, tool, arguments).await;
        match tool {
            "get_note" => assert_eq!(result.unwrap()["freshness"], "incompatible"),
            "get_attachment" => assert!(result.is_ok()),
            _ => assert_eq!(refused(result), ("INDEX_INCOMPATIBLE", -32002), "{tool}"),
        }
    }
}

#[tokio::test]
async fn every_other_state_answers_with_a_warning_of_that_state() {
    for (freshness, code) in [
        (Freshness::Stale, "INDEX_STALE"),
        (Freshness::Pending, "INDEX_PENDING"),
        (Freshness::Updating, "INDEX_UPDATING"),
        (Freshness::Unknown, "INDEX_UNKNOWN"),
    ] {
        for (tool, arguments) in every_call().into_iter().filter(|(tool, _)| *tool != "get_attachment") {
            let shelf = Shelf { freshness: Some(freshness), ..Shelf::default() };
            let reply = call(shelf, tool, arguments).await.unwrap();
            assert_eq!(reply["warnings"][0]["code"], code, "{tool}");
            assert_eq!(reply["freshness"], code["INDEX_".len()..].to_lowercase(), "{tool}");
        }
    }
}

#[tokio::test]
async fn a_large_note_is_refused_then_allowed_and_never_beyond_the_result_limit() {
    let note = |bytes: usize, allow_large: bool| {
        let shelf = Shelf { note: "x".repeat(bytes), ..Shelf::default() };
        call(shelf, "get_note", json!({"note_id": plan_id(), "allow_large": allow_large}))
    };
    assert!(note(200 * 1024, false).await.is_ok());
    assert_eq!(refused(note(200 * 1024 + 1, false).await), ("NOTE_TOO_LARGE", -32008));
    assert_eq!(note(200 * 1024 + 1, true).await.unwrap()["size"], 200 * 1024 + 1);
    // The reply is in the result twice.
    assert!(note(24 << 20, true).await.is_ok());
    assert_eq!(refused(note(26 << 20, true).await), ("NOTE_TOO_LARGE", -32008));
    assert_eq!(refused(note(51 << 20, true).await), ("NOTE_TOO_LARGE", -32008));
}

#[tokio::test]
async fn a_large_attachment_is_described_refused_then_allowed_and_never_beyond_the_result_limit() {
    let attachment = |bytes: u64, arguments: Value| {
        let mut arguments = arguments;
        arguments["vault_relative_path"] = json!("img/a b.png");
        call(Shelf { attachment_bytes: bytes, ..Shelf::default() }, "get_attachment", arguments)
    };
    let limit = 10 << 20;
    let described = attachment(limit + 1, json!({})).await.unwrap();
    assert_eq!((&described["size"], &described["downloadAvailable"]), (&json!(limit + 1), &json!(true)));
    assert!(described.get("content").is_none());
    assert!(attachment(limit, json!({"download": true})).await.is_ok());
    assert_eq!(
        refused(attachment(limit + 1, json!({"download": true})).await),
        ("ATTACHMENT_TOO_LARGE", -32008)
    );
    let large = json!({"download": true, "allow_large": true});
    let reply = attachment(limit + 1, large.clone()).await.unwrap();
    assert_eq!(reply["content"].as_str().unwrap().len() as u64, (limit + 1).div_ceil(3) * 4);
    assert_eq!(refused(attachment(40 << 20, large).await), ("ATTACHMENT_TOO_LARGE", -32008));
}

#[tokio::test]
async fn what_is_not_markdown_is_not_a_note() {
    for (tool, arguments) in
        every_call().into_iter().filter(|(tool, _)| ["get_note", "get_chunk"].contains(tool))
    {
        let shelf = Shelf { kind: Some(DocumentKind::Pdf), ..Shelf::default() };
        assert_eq!(refused(call(shelf, tool, arguments).await), ("NOTE_NOT_FOUND", -32004), "{tool}");
    }
}
