//! A note read past an index that must not be used: its identifier is looked for among the files themselves.

use ibid_api::{Document, DocumentId, DocumentSummary, Link, Metadata, NoteId, RelPath, Result};

use super::{
    Shared,
    documents::{no_note, unreadable},
};
use crate::{
    config::SourceConfig,
    ingest::Recipe,
    parse::{Outcome, ParseOptions, RawFile, parse},
    source::{FoundState, SourceRoot},
};

impl Shared {
    /// The note whose path has this identifier, among the files that are shown now.
    pub(super) fn unindexed(&self, note: NoteId, max_bytes: u64) -> Result<Document> {
        for source in &self.config.sources {
            let Some(root) = self.root(source) else { continue };
            let Ok(mut found) = root.walk() else { continue };
            let named = found.find_map(|file| {
                let path = file.rel.filter(|path| NoteId::of(path) == note)?;
                (file.state == FoundState::File).then_some((path, file.modified_ns))
            });
            if let Some((path, modified_ns)) = named {
                return self.read_unindexed(source, &root, path, modified_ns, max_bytes);
            }
        }
        Err(no_note())
    }

    fn read_unindexed(
        &self,
        source: &SourceConfig,
        root: &SourceRoot,
        path: RelPath,
        modified_ns: i64,
        max_bytes: u64,
    ) -> Result<Document> {
        let kind = Recipe::new(&self.config, source).kind(&path).ok_or_else(no_note)?;
        let bytes = root.read(&path, max_bytes).map_err(unreadable)?.bytes;
        let mut document = Document {
            summary: DocumentSummary {
                // It has no number while it is not indexed.
                id: DocumentId(0),
                note_id: NoteId::of(&path),
                source: source.name.clone(),
                title: path.stem().to_owned(),
                path: path.clone(),
                kind,
                language: None,
                size: bytes.len() as u64,
                modified_ms: modified_ns / 1_000_000,
                chunk_count: 0,
                metadata: Metadata::default(),
            },
            content: String::new(),
            headings: Vec::new(),
            links: Vec::new(),
            attachments: Vec::new(),
        };
        let raw = RawFile { path, bytes };
        match parse(&raw, &ParseOptions { legacy: self.config.legacy, max_bytes: u64::MAX }) {
            Outcome::Parsed(parsed, _) => {
                // Where links lead is known to the index alone.
                let unresolved = parsed.links.iter().map(|link| Link {
                    name: link.name.clone(),
                    fragment: link.fragment.clone(),
                    label: link.label.clone(),
                    embed: link.embed,
                    line: parsed.lines(&(link.at..link.at)).start,
                    target: None,
                });
                document.links = unresolved.collect();
                document.summary.title = parsed.title;
                document.summary.language = parsed.language.map(str::to_owned);
                document.summary.metadata = parsed.metadata;
                document.summary.metadata.attachment_count = parsed.attachments.len() as u32;
                document.headings = parsed.headings;
                document.attachments = parsed.attachments;
                document.content = parsed.text;
            }
            Outcome::Skipped(_) => document.content = String::from_utf8_lossy(&raw.bytes).into_owned(),
        }
        Ok(document)
    }
}
