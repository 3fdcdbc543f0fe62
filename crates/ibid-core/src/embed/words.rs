//! Words of a text as BERT's tokenizers see them: cleaned, without accents, in lower case, punctuation apart.

use std::{cmp::Ordering, ops::ControlFlow};

use unicode_normalization::char::decompose_canonical;

use super::tables::{CONTROL, MARKS, PUNCTUATION};

/// How text is cleaned and cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordRules {
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
    pub(super) split_ideographs: bool,
}

/// A word that grows, and what to do with it once it is whole.
struct Growing<F> {
    word: String,
    emit: F,
    flow: ControlFlow<()>,
}

impl<F: FnMut(&str) -> ControlFlow<()>> Growing<F> {
    fn finish(&mut self) {
        if !self.word.is_empty() {
            if self.flow.is_continue() {
                self.flow = (self.emit)(&self.word);
            }
            self.word.clear();
        }
    }

    fn push(&mut self, character: char) {
        if is_punctuation(character) {
            self.finish();
            self.word.push(character);
            self.finish();
        } else if character.is_whitespace() {
            self.finish();
        } else {
            self.word.push(character);
        }
    }
}

impl WordRules {
    /// Hands over the words in order, until `emit` wants no more.
    pub(super) fn words(self, text: &str, emit: impl FnMut(&str) -> ControlFlow<()>) {
        let mut growing = Growing { word: String::new(), emit, flow: ControlFlow::Continue(()) };
        for character in text.chars() {
            self.character(character, &mut growing);
            if growing.flow.is_break() {
                return;
            }
        }
        growing.finish();
    }

    /// Whether a word has accents that are dropped, so that words with other meanings look like it.
    pub(super) fn loses_accents(self, word: &str) -> bool {
        let mut lost = false;
        for character in word.chars().filter(|character| self.strip_accents && !character.is_ascii()) {
            decompose_canonical(character, |part| lost |= within(&MARKS, part));
        }
        lost
    }

    fn character<F: FnMut(&str) -> ControlFlow<()>>(self, character: char, growing: &mut Growing<F>) {
        if character.is_ascii() {
            if !character.is_ascii_control() || matches!(character, '\t' | '\n' | '\r') {
                growing.push(if self.lowercase { character.to_ascii_lowercase() } else { character });
            }
            return;
        }
        if within(&CONTROL, character) {
            return;
        }
        let apart = self.split_ideographs && is_ideograph(character);
        if apart {
            growing.finish();
        }
        let mut lower = |character: char| {
            if self.lowercase {
                character.to_lowercase().for_each(|lower| growing.push(lower));
            } else {
                growing.push(character);
            }
        };
        if self.strip_accents {
            decompose_canonical(character, |part| {
                if !within(&MARKS, part) {
                    lower(part);
                }
            });
        } else {
            lower(character);
        }
        if apart {
            growing.finish();
        }
    }
}

fn within(table: &[(u32, u32)], character: char) -> bool {
    let code = u32::from(character);
    table
        .binary_search_by(|&(first, last)| {
            if last < code {
                Ordering::Less
            } else if first > code {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        })
        .is_ok()
}

fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

fn is_punctuation(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_punctuation() } else { within(&PUNCTUATION, character) }
}
