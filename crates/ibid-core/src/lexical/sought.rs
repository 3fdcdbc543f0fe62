//! Words of a query found again in a text, without making all terms of the text.

use std::collections::HashSet;

use super::{Language, Token, View, analyze, segment, word::Word};

/// Stems to look for.
#[derive(Debug, Clone)]
pub struct Sought {
    stems: HashSet<String>,
    /// First letters of the stems. A stemmer changes the end of a word, so most words of a text are not
    /// stemmed at all; letters beyond ASCII may be folded into another and are never left out.
    initials: [bool; 128],
    language: Language,
}

impl Sought {
    /// Looks for the words of a query.
    pub fn new(words: &str, language: Language) -> Self {
        let mut stems = HashSet::new();
        analyze(words, language, View::Stemmed, &mut |token| {
            stems.insert(token.term.to_owned());
        });
        let mut initials = [false; 128];
        for initial in stems.iter().filter_map(|stem| stem.bytes().next()) {
            if let Some(known) = initials.get_mut(usize::from(initial)) {
                *known = true;
            }
        }
        Self { stems, initials, language }
    }

    /// Whether a word with this first letter may be one of those sought.
    pub fn may_begin(&self, initial: char) -> bool {
        // An apostrophe may go with the ending of a word, and its first letter comes after it.
        !initial.is_ascii_alphanumeric() || self.initials[initial.to_ascii_lowercase() as usize]
    }

    /// Passes on each place of a sought word, in order.
    pub fn find(&self, text: &str, sink: &mut dyn FnMut(Token<'_>)) {
        if self.stems.is_empty() {
            return;
        }
        let mut word = Word::default();
        let mut position = 0;
        segment::segments(text, |found| match found {
            segment::Segment::Word(from, to) => {
                self.word(text, (from, to), position, &mut word, sink);
                segment::parts(&text[from..to], |start, end| {
                    self.word(text, (from + start, from + end), position, &mut word, sink);
                });
                position += 1;
            }
            segment::Segment::Dense(from, to) => {
                analyze(&text[from..to], self.language, View::Stemmed, &mut |token| {
                    if self.stems.contains(token.term) {
                        sink(Token { from: from + token.from, to: from + token.to, position, ..token });
                    }
                    position += 1;
                });
            }
            segment::Segment::Compound(..) => {}
        });
    }

    fn word(
        &self,
        text: &str,
        (from, to): (usize, usize),
        position: usize,
        word: &mut Word,
        sink: &mut dyn FnMut(Token<'_>),
    ) {
        let raw = &text[from..to];
        if !raw.chars().next().is_some_and(|initial| self.may_begin(initial)) {
            return;
        }
        if !word.read(raw, self.language) && self.stems.contains(&word.stem) {
            sink(Token { term: &word.stem, from, to, position });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_after_an_apostrophe_is_found() {
        let mut found = Vec::new();
        Sought::new("Uü", Language::English).find("_'UÜ-", &mut |token| found.push((token.from, token.to)));
        assert_eq!(found.len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn what_is_found_is_what_the_analysis_of_the_text_holds(
            text in "[a-zA-Z'’éÜß東京_ .-]{0,80}",
            words in "[a-zA-Zéü東 ]{0,20}",
        ) {
            for language in [Language::English, Language::German, Language::Other] {
                let mut sought = HashSet::new();
                analyze(&words, language, View::Stemmed, &mut |token| {
                    sought.insert(token.term.to_owned());
                });
                let mut expected = Vec::new();
                analyze(&text, language, View::Stemmed, &mut |token| {
                    if sought.contains(token.term) {
                        expected.push((token.term.to_owned(), token.from, token.to));
                    }
                });
                let mut found = Vec::new();
                Sought::new(&words, language).find(&text, &mut |token| {
                    found.push((token.term.to_owned(), token.from, token.to));
                });
                proptest::prop_assert_eq!(found, expected);
            }
        }
    }
}
