//! Terms on their way into the index: analysed once, packed into a string, unpacked without copying.
//!
//! The index asks each field for a text and a tokenizer. Analysis makes all views in one pass, so the text
//! of a field is its list of terms, and the tokenizer only takes the list apart again.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::lexical::Terms;

/// Name of the tokenizer.
pub(super) const TOKENIZER: &str = "packed";

/// Ends a term. Words never hold control characters.
const END: char = '\u{1}';
/// Steps between positions are kept as one character from here on.
const STEP: u32 = 0x20;
/// Longer steps are cut; no phrase is that long.
const LONGEST_STEP: u32 = 0x1000;

/// Packs the terms of one view.
pub(super) fn pack(terms: &Terms) -> String {
    let mut packed = String::with_capacity(terms.len() * 10);
    let mut position = 0;
    for token in terms.iter() {
        let step = (token.position.saturating_sub(position) as u32).min(LONGEST_STEP);
        position = position.max(token.position);
        packed.push(char::from_u32(STEP + step).unwrap_or(' '));
        if token.term.contains(END) {
            packed.extend(token.term.chars().filter(|&character| character != END));
        } else {
            packed.push_str(token.term);
        }
        packed.push(END);
    }
    packed
}

/// Takes packed terms apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Unpacker {
    token: Token,
}

impl Tokenizer for Unpacker {
    type TokenStream<'a> = Unpacking<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Unpacking<'a> {
        self.token.reset();
        self.token.position = 0;
        Unpacking { rest: text, token: &mut self.token }
    }
}

/// A list of terms that is being taken apart.
#[derive(Debug)]
pub(super) struct Unpacking<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl TokenStream for Unpacking<'_> {
    fn advance(&mut self) -> bool {
        let Some((packed, rest)) = self.rest.split_once(END) else { return false };
        let mut characters = packed.chars();
        let step = characters.next().map_or(0, |step| u32::from(step).saturating_sub(STEP));
        self.token.position += step as usize;
        self.token.text.clear();
        self.token.text.push_str(characters.as_str());
        self.rest = rest;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::{Language, views};

    #[test]
    fn terms_and_positions_survive_packing() {
        let views = views("getUserName of the Größe 東京都 std::fmt — a_b", Language::English);
        for terms in [&views.exact, &views.stemmed, &views.pairs] {
            let mut unpacker = Unpacker::default();
            let packed = pack(terms);
            let mut stream = unpacker.token_stream(&packed);
            for token in terms.iter() {
                assert!(stream.advance());
                assert_eq!(stream.token().text, token.term);
                assert_eq!(stream.token().position, token.position);
            }
            assert!(!stream.advance());
        }
    }
}
