//! Snippets: the stretch of a passage that shows why it was found.

use std::collections::HashSet;

use ibid_api::Snippet;

use crate::lexical::Sought;

/// Longest snippet, in characters, marks of omission included.
pub(super) const MAX_CHARS: usize = 240;
/// Characters shown before the first match, so that it can be read in context.
const LEAD_CHARS: usize = 60;

struct Match {
    from: usize,
    to: usize,
    term: String,
}

/// Cuts the best stretch out of a passage. `may_be_whole` decides whether a short passage may be
/// shown whole; where it may not, the snippet is shortened, or empty when nothing sensible is left.
pub(super) fn cut(text: &str, wanted: &Sought, may_be_whole: bool) -> Snippet {
    let matches = matches(text, wanted);
    let limit = if may_be_whole { MAX_CHARS } else { MAX_CHARS.min(text.trim().chars().count() / 2) };
    if limit == 0 {
        return Snippet::default();
    }
    let (start, end) = best_window(text, &matches, limit);
    render(text, start, end, &matches)
}

fn matches(text: &str, wanted: &Sought) -> Vec<Match> {
    let mut found: Vec<Match> = Vec::new();
    wanted.find(text, &mut |token| {
        if found.last().is_none_or(|last| token.from >= last.to) {
            found.push(Match { from: token.from, to: token.to, term: token.term.to_owned() });
        }
    });
    found
}

/// The window with the most different wanted terms; then the most terms; then the first.
fn best_window(text: &str, matches: &[Match], limit: usize) -> (usize, usize) {
    let body = limit.saturating_sub(2).max(1);
    let lead = LEAD_CHARS.min(body / 4);
    let mut best = (0, 0, 0);
    for (index, first) in matches.iter().enumerate() {
        let reach = forward(text, first.from, body - lead);
        let mut terms = HashSet::new();
        let inside = matches[index..].iter().take_while(|m| m.to <= reach).inspect(|m| {
            terms.insert(m.term.as_str());
        });
        let count = inside.count();
        if (terms.len(), count) > (best.0, best.1) {
            best = (terms.len(), count, first.from);
        }
    }
    let start = if best.0 == 0 { first_text(text) } else { word_start(text, backward(text, best.2, lead)) };
    let end = word_end(text, start, forward(text, start, body));
    (start, end)
}

fn first_text(text: &str) -> usize {
    text.find(|c: char| !c.is_whitespace()).unwrap_or(0)
}

fn forward(text: &str, from: usize, chars: usize) -> usize {
    text[from..].char_indices().nth(chars).map_or(text.len(), |(at, _)| from + at)
}

fn backward(text: &str, from: usize, chars: usize) -> usize {
    text[..from].char_indices().rev().take(chars).last().map_or(from, |(at, _)| at)
}

/// Moves a start forward to the beginning of a word, unless it already is one.
fn word_start(text: &str, at: usize) -> usize {
    if at == 0 || text[..at].ends_with(char::is_whitespace) {
        return at + text[at..].find(|c: char| !c.is_whitespace()).unwrap_or(0);
    }
    match text[at..].find(char::is_whitespace) {
        Some(space) if space < LEAD_CHARS => {
            let after = at + space;
            after + text[after..].find(|c: char| !c.is_whitespace()).unwrap_or(0)
        }
        _ => at,
    }
}

/// Moves an end back to the end of a word, unless that would leave nothing.
fn word_end(text: &str, start: usize, at: usize) -> usize {
    if at >= text.len() || text[at..].starts_with(char::is_whitespace) {
        return at;
    }
    match text[start..at].rfind(char::is_whitespace) {
        Some(space) if space > (at - start) / 2 => start + space,
        _ => at,
    }
}

/// One line, blanks collapsed, with the byte ranges of the matches in what is shown.
fn render(text: &str, start: usize, end: usize, matches: &[Match]) -> Snippet {
    let mut shown = String::new();
    let mut highlights = Vec::new();
    if !text[..start].trim().is_empty() {
        shown.push('…');
    }
    let mut open: Option<(usize, u32)> = None;
    let mut next = matches.iter().filter(|m| m.from >= start && m.to <= end).peekable();
    let mut pending_blank = false;
    for (offset, c) in text[start..end].char_indices() {
        let at = start + offset;
        if let Some((to, from)) = open
            && at >= to
        {
            highlights.push((from, shown.len() as u32));
            open = None;
        }
        if c.is_whitespace() || c.is_control() {
            pending_blank = !shown.is_empty();
            continue;
        }
        if pending_blank {
            shown.push(' ');
            pending_blank = false;
        }
        if let Some(found) = next.next_if(|m| m.from <= at) {
            open = Some((found.to, shown.len() as u32));
        }
        shown.push(c);
    }
    if let Some((_, from)) = open {
        highlights.push((from, shown.len() as u32));
    }
    if !text[end..].trim().is_empty() {
        shown.push('…');
    }
    Snippet { text: shown, highlights }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::Language;

    fn check(text: &str, query: &str) -> Snippet {
        let snippet = cut(text, &Sought::new(query, Language::English), true);
        assert!(snippet.text.chars().count() <= MAX_CHARS, "{}", snippet.text.chars().count());
        for &(from, to) in &snippet.highlights {
            assert!(snippet.text.get(from as usize..to as usize).is_some_and(|t| !t.is_empty()));
        }
        snippet
    }

    #[test]
    fn the_stretch_with_the_most_terms_is_shown() {
        let text = format!(
            "server {} the servers were restarted at night {}",
            "filler words ".repeat(60),
            "x ".repeat(300)
        );
        let snippet = check(&text, "restart servers");
        let shown: Vec<&str> =
            snippet.highlights.iter().map(|&(a, b)| &snippet.text[a as usize..b as usize]).collect();
        assert_eq!(shown, ["servers", "restarted"]);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
    }

    #[test]
    fn short_text_is_whole_only_where_allowed() {
        assert_eq!(check("a tiny  note\nhere", "tiny").text, "a tiny note here");
        let short = cut("a tiny note here", &Sought::new("tiny", Language::English), false);
        assert!(short.text.chars().count() < "a tiny note here".chars().count());
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_snippet(text in "\\PC{0,600}", query in "\\PC{0,20}") {
            check(&text, &query);
        }
    }
}
