//! Text to terms: one pass over the text makes all views of its words.

use super::{Language, fold, segment, word::Word};

/// A view of the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// Folded words as they are written, identifiers whole and taken apart. Stop words are kept, so that
    /// phrases hold; queries leave them out unless there is nothing else.
    Exact,
    /// Stems; stop words left out.
    Stemmed,
    /// Pairs of neighbouring stems.
    Pairs,
}

/// One term and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term.
    pub term: &'a str,
    /// Start of the byte range in the text.
    pub from: usize,
    /// End of the byte range.
    pub to: usize,
    /// Place among the words; parts of one word share or follow it.
    pub position: usize,
}

/// Terms of one view, kept in one allocation.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    arena: String,
    spans: Vec<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    term: (u32, u32),
    bytes: (u32, u32),
    position: u32,
}

impl Terms {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The term at this place.
    pub fn get(&self, index: usize) -> Option<Token<'_>> {
        let span = self.spans.get(index)?;
        Some(Token {
            term: &self.arena[span.term.0 as usize..span.term.1 as usize],
            from: span.bytes.0 as usize,
            to: span.bytes.1 as usize,
            position: span.position as usize,
        })
    }

    /// All terms, in order.
    pub fn iter(&self) -> impl Iterator<Item = Token<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn push(&mut self, term: &[&str], from: usize, to: usize, position: usize) {
        let start = self.arena.len() as u32;
        for piece in term {
            self.arena.push_str(piece);
        }
        let end = self.arena.len() as u32;
        if start < end {
            self.spans.push(Span {
                term: (start, end),
                bytes: (from as u32, to as u32),
                position: position as u32,
            });
        }
    }

    fn clear(&mut self) {
        self.arena.clear();
        self.spans.clear();
    }
}

/// All views of a text.
#[derive(Debug, Clone, Default)]
pub struct Views {
    /// See [`View::Exact`].
    pub exact: Terms,
    /// See [`View::Stemmed`].
    pub stemmed: Terms,
    /// See [`View::Pairs`].
    pub pairs: Terms,
    scratch: Scratch,
}

#[derive(Debug, Clone, Default)]
struct Scratch {
    word: Word,
    previous_stem: String,
}

impl Views {
    /// The terms of one view.
    pub fn view(&self, view: View) -> &Terms {
        match view {
            View::Exact => &self.exact,
            View::Stemmed => &self.stemmed,
            View::Pairs => &self.pairs,
        }
    }

    /// Empties all views, keeping their memory for the next text.
    pub fn clear(&mut self) {
        self.exact.clear();
        self.stemmed.clear();
        self.pairs.clear();
        self.scratch.previous_stem.clear();
    }

    /// Adds the terms of a text. Positions go on from `position`; the next free one is returned. A gap
    /// between two texts keeps phrases and pairs from reaching across.
    pub fn add(&mut self, text: &str, language: Language, mut position: usize) -> usize {
        self.scratch.previous_stem.clear();
        segment::segments(text, |found| match found {
            segment::Segment::Word(from, to) => {
                self.word(text, from, to, language, position);
                position += 1;
            }
            segment::Segment::Dense(from, to) => position = self.dense(text, from, to, position),
            segment::Segment::Compound(from, to) => {
                let whole = self.scratch.word.fold(&text[from..to]);
                self.exact.push(&[whole], from, to, position.saturating_sub(1));
            }
        });
        position + 1
    }

    fn word(&mut self, text: &str, from: usize, to: usize, language: Language, position: usize) {
        let raw = &text[from..to];
        let is_stop = self.term(raw, from, to, language, position);
        if !is_stop {
            let Scratch { word, previous_stem } = &mut self.scratch;
            if !previous_stem.is_empty() {
                self.pairs.push(&[previous_stem, " ", &word.stem], from, to, position);
            }
            std::mem::swap(previous_stem, &mut word.stem);
        }
        segment::parts(raw, |start, end| {
            self.term(&raw[start..end], from + start, from + end, language, position);
        });
    }

    /// Adds one word to the exact and, unless it is a stop word, to the stemmed view.
    fn term(&mut self, raw: &str, from: usize, to: usize, language: Language, position: usize) -> bool {
        let word = &mut self.scratch.word;
        let is_stop = word.read(raw, language);
        self.exact.push(&[&word.folded], from, to, position);
        if !is_stop {
            self.stemmed.push(&[&word.stem], from, to, position);
        }
        is_stop
    }

    /// Scripts without blanks: every two neighbouring characters are a term.
    fn dense(&mut self, text: &str, from: usize, to: usize, mut position: usize) -> usize {
        let lowered = &mut self.scratch.word.lowered;
        fold::lower(&text[from..to], lowered);
        // Folding may change lengths; offsets are exact only when it does not, which is the rule here.
        let same_length = lowered.len() == to - from;
        let characters: Vec<(usize, char)> = lowered.char_indices().collect();
        let mut buffer = String::with_capacity(8);
        let width = if characters.len() == 1 { 1 } else { 2 };
        for window in characters.windows(width) {
            buffer.clear();
            buffer.extend(window.iter().map(|(_, c)| c));
            let (start, end) = match (same_length, window) {
                (true, [first, .., last]) => (from + first.0, from + last.0 + last.1.len_utf8()),
                (true, [only]) => (from + only.0, from + only.0 + only.1.len_utf8()),
                _ => (from, to),
            };
            self.exact.push(&[&buffer], start, end, position);
            self.stemmed.push(&[&buffer], start, end, position);
            position += 1;
        }
        self.scratch.previous_stem.clear();
        position
    }
}

/// All views of a text.
pub fn views(text: &str, language: Language) -> Views {
    let mut views = Views::default();
    views.add(text, language, 0);
    views
}

/// Passes on the terms of one view of a text.
pub fn analyze(text: &str, language: Language, view: View, sink: &mut dyn FnMut(Token<'_>)) {
    views(text, language).view(view).iter().for_each(sink);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str, language: Language, view: View) -> Vec<String> {
        let mut found = Vec::new();
        analyze(text, language, view, &mut |token| found.push(token.term.to_owned()));
        found
    }

    fn check(text: &str, view: View, want: &[&str]) {
        assert_eq!(terms(text, Language::English, view), want, "{text:?}");
    }

    #[test]
    fn identifiers_are_kept_whole_and_taken_apart() {
        check("getUserName", View::Exact, &["getusername", "get", "user", "name"]);
        check("HTTPServer", View::Exact, &["httpserver", "http", "server"]);
        check("snake_case_id", View::Exact, &["snake_case_id", "snake", "case", "id"]);
        check("utf8", View::Exact, &["utf8", "utf", "8"]);
        check("std::fmt::Write", View::Exact, &["std", "fmt", "write", "std::fmt::write"]);
        check("src/main.rs", View::Exact, &["src", "main", "rs", "src/main.rs"]);
        check("kebab-case", View::Exact, &["kebab", "case", "kebab-case"]);
        check("end. Next", View::Exact, &["end", "next"]);
    }

    #[test]
    fn stems_leave_stop_words_out_and_pairs_join_neighbours() {
        check("How do the servers connect?", View::Stemmed, &["server", "connect"]);
        check("connecting the servers quickly", View::Pairs, &["connect server", "server quick"]);
        check("don't panic", View::Stemmed, &["panic"]);
        check("Alice\u{2019}s book", View::Exact, &["alice", "book"]);
    }

    #[test]
    fn spanish_accents_do_not_matter() {
        let with = terms("¿Cuántas canciones?", Language::Spanish, View::Stemmed);
        let without = terms("canciones", Language::Spanish, View::Stemmed);
        assert_eq!(with, without);
    }

    #[test]
    fn scripts_without_blanks_become_overlapping_pairs() {
        check("東京都", View::Exact, &["東京", "京都"]);
        check("東", View::Exact, &["東"]);
        check("abc東京def", View::Exact, &["abc", "東京", "def"]);
    }

    #[test]
    fn byte_ranges_point_into_the_text() {
        let text = "Größe — naïve über-café 東京 x_y";
        for view in [View::Exact, View::Stemmed, View::Pairs] {
            analyze(text, Language::German, view, &mut |token| {
                assert!(text.get(token.from..token.to).is_some(), "{token:?}");
            });
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_analysed(text in "\\PC*") {
            for view in [View::Exact, View::Stemmed, View::Pairs] {
                analyze(&text, Language::English, view, &mut |token| {
                    assert!(text.get(token.from..token.to).is_some());
                    assert!(!token.term.is_empty());
                });
            }
        }
    }
}
