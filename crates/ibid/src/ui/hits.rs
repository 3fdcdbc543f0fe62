//! How search hits look in a terminal.

use std::fmt::Write as _;

use ibid_api::{Hit, SearchReply};

use super::{
    printer::{FAINT, MATCH, PLACE, Printer, STRONG},
    text::{safe, shorten, width, wrap},
};

/// What is shown besides the passages.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// How each score came about.
    pub explain: bool,
    /// Which source each hit is from.
    pub sources: bool,
}

/// All hits, best first, separated by empty lines.
pub fn render(reply: &SearchReply, view: View, printer: &Printer) -> String {
    let number_width = reply.hits.len().to_string().len();
    let hits = reply.hits.iter().enumerate();
    hits.map(|(index, hit)| one(index + 1, number_width, hit, view, printer.width()))
        .collect::<Vec<_>>()
        .join("\n")
}

fn one(number: usize, number_width: usize, hit: &Hit, view: View, columns: usize) -> String {
    let indent = " ".repeat(number_width + 2);
    let room = columns.saturating_sub(indent.len());
    let mut text = String::new();
    let title = safe(&hit.document.title);
    let headings = headings(hit);
    let title = shorten(&title, room);
    let _ = write!(text, "{FAINT}{number:>number_width$}{FAINT:#}  {STRONG}{title}{STRONG:#}");
    let left = room.saturating_sub(width(&title));
    if !headings.is_empty() && left > 8 {
        let _ = write!(text, "{FAINT}{}{FAINT:#}", shorten(&headings, left));
    }
    text.push('\n');
    let _ = write!(text, "{indent}{PLACE}{}{PLACE:#}", place(hit));
    if view.sources {
        let _ = write!(text, " {FAINT}[{}]{FAINT:#}", safe(&hit.document.source));
    }
    if hit.duplicates > 0 {
        let _ = write!(text, " {FAINT}and {} more with the same text{FAINT:#}", hit.duplicates);
    }
    text.push('\n');
    snippet(&mut text, hit, &indent, room);
    if view.explain {
        explain(&mut text, hit, &indent);
    }
    text
}

/// Headings above the passage, without the title that stands before them.
fn headings(hit: &Hit) -> String {
    let path = &hit.heading_path;
    let skip = usize::from(path.first().is_some_and(|first| *first == hit.document.title));
    path.iter().skip(skip).fold(String::new(), |mut text, heading| {
        let _ = write!(text, " › {}", safe(heading));
        text
    })
}

/// Where it is, in the form editors and terminals understand.
fn place(hit: &Hit) -> String {
    let path = safe(hit.document.path.as_str()).into_owned();
    match hit.lines {
        Some(lines) => format!("{path}:{}", lines.start),
        None => path,
    }
}

fn snippet(text: &mut String, hit: &Hit, indent: &str, room: usize) {
    let snippet = &hit.snippet.text;
    for line in wrap(snippet, room) {
        text.push_str(indent);
        let mut at = line.start;
        for &(start, end) in &hit.snippet.highlights {
            let (start, end) = (at.max(start as usize), line.end.min(end as usize));
            if start >= end || !snippet.is_char_boundary(start) || !snippet.is_char_boundary(end) {
                continue;
            }
            let _ =
                write!(text, "{}{MATCH}{}{MATCH:#}", safe(&snippet[at..start]), safe(&snippet[start..end]));
            at = end;
        }
        text.push_str(&safe(&snippet[at..line.end]));
        text.push('\n');
    }
}

fn explain(text: &mut String, hit: &Hit, indent: &str) {
    let reason = serde_json::to_value(hit.reason).ok();
    let reason = reason.as_ref().and_then(|reason| reason.as_str()).unwrap_or_default();
    let _ = writeln!(text, "{indent}{FAINT}score {:.4}  {reason}{FAINT:#}", hit.score);
    for leg in hit.explain.iter().flat_map(|explain| &explain.legs) {
        let rank = leg.rank.map_or_else(String::new, |rank| format!("rank {rank}"));
        let _ = writeln!(
            text,
            "{indent}{FAINT}  {:<14} {rank:<9} own {:>9.4}  adds {:>8.4}{FAINT:#}",
            leg.leg, leg.score, leg.weight
        );
    }
}

#[cfg(test)]
mod tests {
    use ibid_api::{
        DocumentId, DocumentKind, DocumentSummary, LineRange, MatchReason, Metadata, NoteId, RelPath, Snippet,
    };

    use super::*;

    fn hit(snippet: &str, highlights: &[(u32, u32)]) -> Hit {
        let path = RelPath::parse("guide/keys.md").unwrap();
        Hit {
            chunk: None,
            document: DocumentSummary {
                id: DocumentId(1),
                note_id: NoteId::of(&path),
                source: "docs".to_owned(),
                path,
                title: "Keys".to_owned(),
                kind: DocumentKind::Markdown,
                language: None,
                size: 1,
                modified_ms: 0,
                chunk_count: 1,
                metadata: Metadata::default(),
            },
            heading_path: vec!["Keys".to_owned(), "Rotation".to_owned()],
            anchor: None,
            lines: Some(LineRange { start: 12, end: 20 }),
            snippet: Snippet { text: snippet.to_owned(), highlights: highlights.to_vec() },
            score: 0.5,
            reason: MatchReason::LexicalMatch,
            duplicates: 0,
            explain: None,
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_hit_shows_title_headings_place_and_snippet() {
        let text = one(1, 2, &hit("rotate the keys every month", &[(0, 6), (11, 15)]), View::default(), 24);
        assert_eq!(
            plain(&text),
            " 1  Keys › Rotation\n    guide/keys.md:12\n    rotate the keys\n    every month\n"
        );
        assert!(text.contains(&format!("{MATCH}rotate{MATCH:#} the {MATCH}keys{MATCH:#}")), "{text:?}");
    }

    #[test]
    fn a_highlight_may_cross_lines_and_lie_outside_the_text() {
        let text = one(1, 1, &hit("aaa bbb", &[(2, 5), (90, 99)]), View::default(), 6);
        assert_eq!(plain(&text).lines().skip(2).collect::<Vec<_>>(), ["   aaa", "   bbb"]);
        assert!(text.contains(&format!("aa{MATCH}a{MATCH:#}")), "{text:?}");
    }

    #[test]
    fn escape_sequences_of_a_document_do_not_reach_the_terminal() {
        let text = one(1, 1, &hit("x\u{1b}]0;title\u{7}y", &[]), View::default(), 60);
        assert!(!plain(&text).contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}
