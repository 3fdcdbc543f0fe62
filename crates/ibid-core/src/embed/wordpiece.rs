//! WordPiece: text to the numbers of word pieces, exactly as the models were trained.
//!
//! Text that looks like a special token (`[SEP]`) is text: nothing a document says can end its own passage.

use std::{borrow::Cow, ops::ControlFlow};

use super::{EmbedError, weights::Shape, words::WordRules};

const EMPTY: u32 = u32::MAX;
/// Seeds of the hash, one for pieces that begin a word and one for those that continue it.
const SEEDS: [u64; 2] = [0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15];
/// No piece of a usable vocabulary is longer than this, in bytes.
const LONGEST_PIECE: usize = 255;
/// What an unknown word counts as when the language is judged.
const UNKNOWN_WEIGHT: f32 = 8.0;
/// What a character of a script without spaces counts as.
const SPACELESS_WEIGHT: f32 = 4.0;
/// What a word counts more for losing its accents. A language of short words needs few pieces for each, known or
/// not; in Vietnamese, nearly all of them are other words without their accents.
const ACCENT_WEIGHT: f32 = 1.0;

#[derive(Debug, Clone, Copy)]
struct Piece {
    start: u32,
    length: u8,
    continues: bool,
}

/// A vocabulary and the rules to cut text with it.
#[derive(Debug)]
pub(super) struct WordPiece {
    bytes: Cow<'static, [u8]>,
    pieces: Vec<Piece>,
    /// Open addressing: numbers of pieces, a power of two of places.
    slots: Vec<u32>,
    longest: usize,
    unknown: u32,
    begin: u32,
    end: u32,
    rules: WordRules,
    longest_word: usize,
}

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

fn hash(text: &[u8], continues: bool) -> u64 {
    text.iter().fold(SEEDS[usize::from(continues)], |hash, byte| step(hash, *byte))
}

fn place(hash: u64, mask: usize) -> usize {
    ((hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20) as usize & mask
}

/// Whether `at` is where a character of this text begins or the text ends.
fn is_boundary(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

impl WordPiece {
    /// Takes the word pieces of a model, one a line, in the order of their numbers.
    pub(super) fn new(bytes: Cow<'static, [u8]>, shape: &Shape) -> Result<Self, EmbedError> {
        let mask = (2 * shape.pieces).next_power_of_two() - 1;
        let mut slots = vec![EMPTY; mask + 1];
        let mut pieces = Vec::with_capacity(shape.pieces);
        let mut longest = 0;
        let mut at = 0;
        for line in bytes.split(|byte| *byte == b'\n') {
            let (continues, text) = match line.strip_prefix(b"##") {
                Some(rest) if !rest.is_empty() => (true, rest),
                _ => (false, line),
            };
            let start = at + line.len() - text.len();
            at += line.len() + 1;
            if text.len() > LONGEST_PIECE || pieces.len() == shape.pieces {
                return Err(EmbedError::Damaged("its vocabulary does not fit its shape"));
            }
            longest = longest.max(text.len());
            let mut slot = place(hash(text, continues), mask);
            while slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            slots[slot] = pieces.len() as u32;
            pieces.push(Piece { start: start as u32, length: text.len() as u8, continues });
        }
        if pieces.len() != shape.pieces {
            return Err(EmbedError::Damaged("its vocabulary does not fit its shape"));
        }
        let rules = WordRules {
            lowercase: shape.lowercase,
            strip_accents: shape.strip_accents,
            split_ideographs: shape.split_ideographs,
        };
        let longest_word = shape.longest_word;
        let mut new =
            Self { bytes, pieces, slots, longest, unknown: 0, begin: 0, end: 0, rules, longest_word };
        let special = |text: &[u8]| {
            let missing = EmbedError::Damaged("its vocabulary lacks a special piece");
            new.find(hash(text, false), text, false).ok_or(missing)
        };
        (new.unknown, new.begin, new.end) = (special(b"[UNK]")?, special(b"[CLS]")?, special(b"[SEP]")?);
        Ok(new)
    }

    fn text(&self, piece: Piece) -> &[u8] {
        &self.bytes[piece.start as usize..][..usize::from(piece.length)]
    }

    fn find(&self, hash: u64, text: &[u8], continues: bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut slot = place(hash, mask);
        loop {
            let number = self.slots[slot];
            if number == EMPTY {
                return None;
            }
            let piece = self.pieces[number as usize];
            if piece.continues == continues && self.text(piece) == text {
                return Some(number);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Cuts a word into the longest pieces from left to right; it is unknown as a whole when a rest is.
    fn cut(&self, word: &[u8], out: &mut Vec<u32>) {
        let characters = word.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        if characters > self.longest_word {
            out.push(self.unknown);
            return;
        }
        let kept = out.len();
        let mut hashes = [0_u64; LONGEST_PIECE + 1];
        let mut start = 0;
        while start < word.len() {
            let continues = start > 0;
            let most = self.longest.min(word.len() - start);
            hashes[0] = SEEDS[usize::from(continues)];
            for length in 1..=most {
                hashes[length] = step(hashes[length - 1], word[start + length - 1]);
            }
            let found =
                (1..=most).rev().filter(|length| is_boundary(word, start + length)).find_map(|length| {
                    let number = self.find(hashes[length], &word[start..start + length], continues)?;
                    Some((number, length))
                });
            let Some((number, length)) = found else {
                out.truncate(kept);
                out.push(self.unknown);
                return;
            };
            out.push(number);
            start += length;
        }
    }

    /// The pieces of a text, and a few more than `limit` at most.
    fn pieces(&self, text: &str, limit: usize, out: &mut Vec<u32>) {
        self.rules.words(text, |word| {
            self.cut(word.as_bytes(), out);
            if out.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }

    /// The pieces of a text between the marks for its begin and its end, at most `limit` in all.
    pub(super) fn encode(&self, text: &str, limit: usize) -> Vec<u32> {
        let inside = limit.saturating_sub(1).max(1);
        let mut out = vec![self.begin];
        self.pieces(text, inside, &mut out);
        out.truncate(inside);
        out.push(self.end);
        out
    }

    /// Word pieces per word, words being what stands between spaces; `None` for a text without words.
    /// Unknown words, words that lose their accents and the characters of scripts without spaces count as several.
    pub(super) fn fertility(&self, text: &str) -> Option<f32> {
        let mut numbers = Vec::new();
        self.pieces(text, usize::MAX, &mut numbers);
        let words = text.split_whitespace().count();
        let weight = |number: u32| {
            if number == self.unknown {
                return UNKNOWN_WEIGHT;
            }
            let text = self.text(self.pieces[number as usize]);
            // The parts of Hangul, and everything from the radicals on: kana and ideographs.
            let spaceless = matches!(text, [0xe1, 0x84..=0x87, ..]) || text >= "\u{2e80}".as_bytes();
            if spaceless { SPACELESS_WEIGHT } else { 1.0 }
        };
        let accents = text.split_whitespace().filter(|word| self.rules.loses_accents(word)).count();
        let sum = numbers.iter().map(|number| weight(*number)).sum::<f32>() + accents as f32 * ACCENT_WEIGHT;
        (words > 0 && sum > 0.0).then(|| sum / words as f32)
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, ops::ControlFlow};

    use sha2::{Digest, Sha256};

    use super::{super::reference::Reference, *};

    #[test]
    fn word_pieces_are_those_of_the_reference_tokenizer() {
        let reference = Reference::read();
        let tokenizer = Reference::tokenizer();
        for text in &reference.texts {
            assert_eq!(tokenizer.encode(&text.content, 256), text.ids, "{:?}", text.content);
        }
    }

    #[test]
    fn every_character_is_treated_as_the_reference_tokenizer_treats_it() {
        let reference = Reference::read();
        let rules = WordRules { lowercase: true, strip_accents: true, split_ideographs: true };
        let mut digest = Sha256::new();
        for code in reference.blocks.iter().flat_map(|(first, last)| *first..=*last) {
            let character = char::from_u32(code).unwrap();
            let mut words = Vec::new();
            rules.words(&format!("a{character}b"), |word| {
                words.push(word.to_owned());
                ControlFlow::Continue(())
            });
            digest.update(format!("{}\n", words.join(" ")));
        }
        let found = digest.finalize().iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        });
        assert_eq!(found, reference.characters);
    }

    #[test]
    fn a_limit_cuts_the_text_and_keeps_both_marks() {
        let tokenizer = Reference::tokenizer();
        let whole = tokenizer.encode("one two three four five", 256);
        for limit in 3..whole.len() {
            let cut = tokenizer.encode("one two three four five", limit);
            assert_eq!(cut[..limit - 1], whole[..limit - 1]);
            assert_eq!((cut.len(), cut.last()), (limit, whole.last()));
        }
    }

    #[test]
    fn fertility_grows_with_the_distance_from_english() {
        let tokenizer = Reference::tokenizer();
        let check = |text: &str, low: f32, high: f32| {
            let found = tokenizer.fertility(text).unwrap();
            assert!((low..=high).contains(&found), "{text}: {found}");
        };
        check("how do I undo the last commit", 1.0, 1.2);
        check("Inhibition of PI3K reduces phosphorylation of AKT", 1.3, 2.5);
        check("¿Dónde está la biblioteca más cercana?", 1.6, 3.0);
        check("Hà Nội là thủ đô của Việt Nam", 2.2, 3.5);
        check("Москва столица России", 4.0, 20.0);
        check("القاهرة عاصمة مصر", 4.0, 20.0);
        check("서울은 대한민국의 수도", 10.0, 60.0);
        check("東京は日本の首都です。", 10.0, 60.0);
        check("茶", 4.0, 8.0);
        check("ภาษาไทย", 8.0, 8.0);
        for nothing in ["", " \n", "\0\u{200b}"] {
            assert_eq!(tokenizer.fertility(nothing), None);
        }
    }

    #[test]
    fn text_that_looks_like_a_special_piece_stays_text() {
        let tokenizer = Reference::tokenizer();
        let pieces = tokenizer.encode("a [SEP] b", 256);
        assert_eq!(pieces.iter().filter(|piece| **piece == tokenizer.end).count(), 1);
    }
}
