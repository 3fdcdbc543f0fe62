//! One file: its bytes to what is written about it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ibid_api::{ContentHash, DocumentKind, FileOutcome, Metadata, RelPath, SkipReason, Warning};

use crate::{
    chunk::{ChunkPolicy, chunk},
    config::{CoreConfig, SourceConfig},
    parse::{Outcome, ParseOptions, Parsed, RawFile, kind_of, parse},
    store::{ChunkWrite, DocumentWrite, LinkWrite},
};

/// Which files become documents, and how.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    extensions: Option<Vec<String>>,
    kinds: Option<Vec<DocumentKind>>,
    parse: ParseOptions,
    policy: ChunkPolicy,
}

/// What came of a file's bytes.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) hash: ContentHash,
    pub(crate) outcome: FileOutcome,
    pub(crate) document: Option<DocumentWrite>,
    pub(crate) warnings: Vec<Warning>,
}

impl Recipe {
    pub(crate) fn new(config: &CoreConfig, source: &SourceConfig) -> Self {
        Self {
            extensions: config.extensions.clone(),
            kinds: source.kinds.clone(),
            parse: ParseOptions { legacy: config.legacy, max_bytes: source.max_file_bytes },
            policy: config.chunk_policy,
        }
    }

    /// Files with more bytes than this are not read.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.parse.max_bytes
    }

    /// What the file at this path becomes, by its name alone.
    pub(crate) fn kind(&self, path: &RelPath) -> Option<DocumentKind> {
        let kind = kind_of(path)?;
        if let Some(extensions) = &self.extensions {
            let extension = path.extension()?;
            if !extensions.contains(&extension) {
                return None;
            }
        }
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind)).then_some(kind)
    }

    /// Reads a document out of a file's bytes.
    pub(crate) fn prepare(&self, path: &RelPath, bytes: Vec<u8>) -> Prepared {
        let hash = ContentHash::of(&bytes);
        let raw = RawFile { path: path.clone(), bytes };
        guarded(hash, || match parse(&raw, &self.parse) {
            Outcome::Parsed(parsed, warnings) => {
                let document = document(path, *parsed, &self.policy);
                let outcome = FileOutcome::Indexed { chunks: document.chunks.len() as u32 };
                Prepared { hash, outcome, document: Some(document), warnings }
            }
            Outcome::Skipped(reason) => Prepared {
                hash,
                outcome: FileOutcome::Skipped { reason },
                document: self.name_only(path, reason),
                warnings: Vec::new(),
            },
        })
    }

    /// The document of a file that is found by its name although its text is not read.
    pub(crate) fn name_only(&self, path: &RelPath, reason: SkipReason) -> Option<DocumentWrite> {
        if !matches!(reason, SkipReason::TooLarge | SkipReason::Empty) {
            return None;
        }
        Some(DocumentWrite {
            path: path.clone(),
            title: path.stem().to_owned(),
            kind: self.kind(path)?,
            language: None,
            metadata: Metadata::default(),
            fields: Vec::new(),
            headings: Vec::new(),
            chunks: Vec::new(),
            links: Vec::new(),
            attachments: Vec::new(),
        })
    }
}

/// A defect that a file brings to light costs that file, not the whole run.
fn guarded(hash: ContentHash, make: impl FnOnce() -> Prepared) -> Prepared {
    catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| Prepared {
        hash,
        outcome: FileOutcome::Failed { reason: "a defect in ibid kept it from being read".to_owned() },
        document: None,
        warnings: Vec::new(),
    })
}

fn document(path: &RelPath, parsed: Parsed, policy: &ChunkPolicy) -> DocumentWrite {
    let chunks: Vec<_> = chunk(&parsed, policy)
        .into_iter()
        .map(|draft| ChunkWrite {
            heading_path: draft.heading_path,
            anchor: draft.anchor,
            bytes: (draft.bytes.start as u64, draft.bytes.end as u64),
            lines: draft.lines,
            text: draft.text,
            hash: draft.hash,
        })
        .collect();
    let links = parsed
        .links
        .iter()
        .map(|link| LinkWrite {
            name: link.name.clone(),
            fragment: link.fragment.clone(),
            label: link.label.clone(),
            embed: link.embed,
            wiki: link.wiki,
            line: parsed.lines(&(link.at..link.at)).start,
            chunk: chunk_at(&chunks, link.at as u64),
        })
        .collect();
    let mut metadata = parsed.metadata;
    metadata.attachment_count = parsed.attachments.len() as u32;
    DocumentWrite {
        path: path.clone(),
        title: parsed.title,
        kind: parsed.kind,
        language: parsed.language.map(str::to_owned),
        metadata,
        fields: parsed.fields,
        headings: parsed.headings,
        chunks,
        links,
        attachments: parsed.attachments,
    }
}

/// The first chunk that holds this place.
fn chunk_at(chunks: &[ChunkWrite], at: u64) -> Option<u32> {
    let index = chunks.partition_point(|chunk| chunk.bytes.1 <= at);
    chunks.get(index).filter(|chunk| chunk.bytes.0 <= at).map(|_| index as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_costs_one_file() {
        let hash = ContentHash::of(b"hostile");
        let prepared = guarded(hash, || panic!("a defect"));
        assert!(matches!(prepared.outcome, FileOutcome::Failed { .. }));
        assert!(prepared.document.is_none() && prepared.hash == hash);
    }
}
