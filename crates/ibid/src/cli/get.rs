//! `ibid get`

use std::{fs, path::PathBuf};

use clap::Args;
use ibid_api::{
    Attachment, AttachmentBody, ChunkRef, Document, DocumentKey, Error, ErrorCode, Heading, LineRange,
    RelPath,
};
use serde_json::json;

use super::{Context, Outcome, knowledge::Knowledge, reference::Reference, time::bytes};
use crate::ui::text::safe_lines;

/// Documents and attachments up to these sizes are printed without being asked twice.
const LARGE_NOTE: u64 = 200 * 1024;
const LARGE_ATTACHMENT: u64 = 10 * 1024 * 1024;

/// Print a document, a section, a range of lines or a chunk.
///
/// A reference is a path (`guide/keys.md`), a section (`guide/keys.md#rotation`), lines
/// (`guide/keys.md:10-20`), a note id, or a chunk (`NOTEID:3`). Paths may start at the current folder or at
/// the root of the source. A file that is no document is an attachment: its facts are printed, and `--output`
/// saves it.
#[derive(Debug, Args)]
pub struct GetArguments {
    /// What to print.
    #[arg(value_name = "REF")]
    pub reference: String,
    /// Print large documents too.
    #[arg(long)]
    pub allow_large: bool,
    /// Write to this file instead; `-` is stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON document with everything that is known.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(arguments: &GetArguments, context: &Context) -> Outcome {
    let knowledge = Knowledge::open(context)?;
    let reference =
        Reference::parse(&arguments.reference, &context.config.surroundings.current_dir, &knowledge.place)?;
    match reference {
        Reference::Document(key) => match document(&knowledge, &key, limit(arguments)).await {
            Err(super::Failure::Error(error)) if may_be_attachment(&error) => match key {
                DocumentKey::Path(path) => attachment(&knowledge, path, arguments, context, error).await,
                _ => Err(error.into()),
            },
            other => {
                let document = other?;
                show(arguments, context, &json!(document), &document.content)
            }
        },
        Reference::Chunk(note, index) => {
            let document = document(&knowledge, &DocumentKey::Note(note), u64::MAX).await?;
            let chunk = ChunkRef { document: document.summary.id, index };
            let chunk = knowledge.ask(|engine| async move { engine.chunk(chunk).await }).await?;
            show(arguments, context, &json!(chunk), &chunk.text)
        }
        Reference::Section(path, anchor) => {
            let document = document(&knowledge, &DocumentKey::Path(path), u64::MAX).await?;
            let (heading, lines) = section(&document, &anchor)?;
            part(arguments, context, &document, lines, Some(heading))
        }
        Reference::Lines(path, lines) => {
            let document = document(&knowledge, &DocumentKey::Path(path), u64::MAX).await?;
            part(arguments, context, &document, lines, None)
        }
    }
}

fn limit(arguments: &GetArguments) -> u64 {
    if arguments.allow_large { u64::MAX } else { LARGE_NOTE }
}

async fn document(knowledge: &Knowledge<'_>, key: &DocumentKey, max_bytes: u64) -> Outcome<Document> {
    let answer = knowledge
        .ask(|engine| {
            let key = key.clone();
            async move { engine.document(key, max_bytes).await }
        })
        .await;
    answer.map_err(|failure| match failure {
        super::Failure::Error(error) if error.code == ErrorCode::NoteTooLarge && error.hint.is_none() => {
            error.with_hint("add `--allow-large`, or ask for a section or a range of lines").into()
        }
        other => other,
    })
}

fn may_be_attachment(error: &Error) -> bool {
    matches!(error.code, ErrorCode::NoteNotFound | ErrorCode::NotFound)
}

async fn attachment(
    knowledge: &Knowledge<'_>,
    path: RelPath,
    arguments: &GetArguments,
    context: &Context,
    not_found: Error,
) -> Outcome {
    let body = match (&arguments.output, arguments.allow_large) {
        (None, _) => AttachmentBody::Omit,
        (Some(_), true) => AttachmentBody::UpTo(u64::MAX),
        (Some(_), false) => AttachmentBody::UpTo(LARGE_ATTACHMENT),
    };
    let answer = knowledge
        .ask(|engine| {
            let path = path.clone();
            async move { engine.attachment(path, body).await }
        })
        .await;
    let found: Attachment = match answer {
        Err(super::Failure::Error(error))
            if matches!(error.code, ErrorCode::AttachmentNotFound | ErrorCode::AttachmentNotAllowed) =>
        {
            let hint = "`ibid list` shows all documents; a new file is found after `ibid index`";
            return Err(not_found.with_hint(hint).into());
        }
        other => other?,
    };
    match (&arguments.output, &found.body) {
        (Some(output), Some(body)) => save(output, body, context),
        _ if arguments.json => context.printer.json(&found),
        _ => {
            context.printer.line(format_args!(
                "{}  {}  {}",
                found.path,
                found.content_type,
                bytes(found.size)
            ))?;
            context.printer.note("this is an attachment; `--output FILE` saves it");
            Ok(())
        }
    }
}

/// A heading and the lines of its section: up to the next heading that is not below it.
fn section<'a>(document: &'a Document, wanted: &str) -> ibid_api::Result<(&'a Heading, LineRange)> {
    let wanted = wanted.trim_start_matches('#');
    let loose = |text: &str| text.to_lowercase().replace(['-', '_'], " ");
    let headings = &document.headings;
    let position = headings
        .iter()
        .position(|heading| heading.anchor == wanted)
        .or_else(|| headings.iter().position(|heading| loose(&heading.text) == loose(wanted)))
        .ok_or_else(|| {
            let error = Error::new(ErrorCode::NotFound, format!("the document has no section `{wanted}`"));
            let anchors: Vec<_> =
                headings.iter().take(12).map(|heading| format!("`#{}`", heading.anchor)).collect();
            let more = if headings.len() > 12 { " and more" } else { "" };
            if anchors.is_empty() {
                error.with_hint("it has no headings at all; ask for lines instead")
            } else {
                error.with_hint(format!("its sections are {}{more}", anchors.join(", ")))
            }
        })?;
    let heading = &headings[position];
    let next = headings[position + 1..].iter().find(|next| next.level <= heading.level);
    let end = next.map_or(u32::MAX, |next| next.line.saturating_sub(1).max(heading.line));
    Ok((heading, LineRange { start: heading.line, end }))
}

fn part(
    arguments: &GetArguments,
    context: &Context,
    document: &Document,
    lines: LineRange,
    heading: Option<&Heading>,
) -> Outcome {
    let all: Vec<&str> = document.content.split_inclusive('\n').collect();
    let last = u32::try_from(all.len()).unwrap_or(u32::MAX);
    if lines.start > last {
        return Err(Error::new(ErrorCode::NotFound, format!("the document ends at line {last}")).into());
    }
    let lines = LineRange { start: lines.start, end: lines.end.min(last) };
    let mut text = all[lines.start as usize - 1..lines.end as usize].concat();
    if heading.is_some() {
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let value = json!({
        "noteId": document.summary.note_id,
        "source": document.summary.source,
        "path": document.summary.path,
        "title": document.summary.title,
        "heading": heading.map(|heading| &heading.text),
        "anchor": heading.map(|heading| &heading.anchor),
        "lines": lines,
        "content": text,
    });
    show(arguments, context, &value, &text)
}

fn show(arguments: &GetArguments, context: &Context, value: &serde_json::Value, text: &str) -> Outcome {
    let printer = &context.printer;
    if let Some(output) = &arguments.output {
        return save(output, text.as_bytes(), context);
    }
    if arguments.json {
        return printer.json(value);
    }
    if !printer.is_interactive() {
        return printer.raw(text.as_bytes());
    }
    let mut text = safe_lines(text).into_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    printer.raw(text.as_bytes())
}

fn save(output: &PathBuf, bytes: &[u8], context: &Context) -> Outcome {
    if output.as_os_str() == "-" {
        return context.printer.raw(bytes);
    }
    fs::write(context.config.surroundings.current_dir.join(output), bytes).map_err(|_| {
        Error::new(ErrorCode::StorageUnavailable, "the output file could not be written")
            .with_hint("check that its folder exists and may be written to")
            .into()
    })
}

#[cfg(test)]
mod tests {
    use ibid_api::{DocumentId, DocumentKind, DocumentSummary, Metadata, NoteId};

    use super::*;

    fn document(content: &str, headings: &[(u8, &str, &str, u32)]) -> Document {
        let path = RelPath::parse("a.md").unwrap();
        Document {
            summary: DocumentSummary {
                id: DocumentId(1),
                note_id: NoteId::of(&path),
                source: "s".to_owned(),
                path,
                title: "A".to_owned(),
                kind: DocumentKind::Markdown,
                language: None,
                size: 0,
                modified_ms: 0,
                chunk_count: 0,
                metadata: Metadata::default(),
            },
            content: content.to_owned(),
            headings: headings
                .iter()
                .map(|&(level, text, anchor, line)| Heading {
                    level,
                    text: text.to_owned(),
                    anchor: anchor.to_owned(),
                    line,
                })
                .collect(),
            links: Vec::new(),
            attachments: Vec::new(),
        }
    }

    #[test]
    fn a_section_ends_where_the_next_one_of_its_level_begins() {
        let document = document(
            "",
            &[
                (1, "Top", "top", 1),
                (2, "One Two", "one-two", 3),
                (3, "Deep", "deep", 5),
                (2, "Last", "last", 9),
            ],
        );
        for (wanted, start, end) in [
            ("top", 1, u32::MAX),
            ("one-two", 3, 8),
            ("One two", 3, 8),
            ("#deep", 5, 8),
            ("last", 9, u32::MAX),
        ] {
            let (_, lines) = section(&document, wanted).unwrap();
            assert_eq!((lines.start, lines.end), (start, end), "{wanted}");
        }
        let error = section(&document, "none").unwrap_err();
        assert_eq!(error.code, ErrorCode::NotFound);
        assert!(error.hint.unwrap().contains("`#one-two`"));
    }
}
