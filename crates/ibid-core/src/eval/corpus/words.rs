//! Words of the made corpus: a seeded random source and a vocabulary whose use follows Zipf's law.

use std::collections::HashSet;

/// Words that real English text is half made of, most frequent first, so that language detection and stop
/// words meet what they meet in life.
const FUNCTION_WORDS: [&str; 72] = [
    "the", "of", "and", "to", "a", "in", "is", "that", "for", "it", "as", "with", "was", "on", "be", "by",
    "this", "are", "from", "or", "an", "at", "which", "not", "when", "you", "can", "if", "has", "its",
    "will", "have", "then", "one", "all", "each", "into", "so", "only", "no", "other", "more", "but", "same",
    "than", "before", "after", "there", "they", "their", "does", "may", "how", "because", "every", "where",
    "until", "must", "between", "also", "while", "any", "what", "first", "without", "again", "should",
    "both", "these", "over", "who", "about",
];

const ONSETS: [&str; 30] = [
    "b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br", "cr",
    "dr", "fl", "gr", "pl", "pr", "sl", "st", "tr", "ch", "sh",
];
const NUCLEI: [&str; 10] = ["a", "e", "i", "o", "u", "a", "e", "i", "ea", "ou"];
const CODAS: [&str; 12] = ["", "", "", "n", "r", "s", "l", "m", "t", "nd", "rt", "ck"];
const ENDINGS: [&str; 8] = ["", "", "", "er", "ity", "ment", "ation", "al"];

/// A seeded source of numbers (SplitMix64): the same on every machine, and good enough to draw words with.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// A source of its own for each combination of parts, so that any page can be made without the others.
    pub(super) fn new(parts: &[u64]) -> Self {
        let mut random = Self(0x1b1d);
        for &part in parts {
            random.0 = random.next().wrapping_add(part);
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// At least 0 and below 1.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From `start` to below `end`.
    pub(super) fn between(&mut self, start: usize, end: usize) -> usize {
        start + self.below(end - start)
    }

    pub(super) fn chance(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }

    /// A rank from 0 to below `end`, each half as likely as the one of half its number.
    pub(super) fn zipf(&mut self, end: usize) -> usize {
        let rank = ((end + 1) as f64).powf(self.fraction()) as usize;
        rank.clamp(1, end) - 1
    }
}

/// All words of a corpus, most frequent first.
#[derive(Debug)]
pub(super) struct Vocabulary {
    words: Vec<Box<str>>,
}

impl Vocabulary {
    pub(super) fn new(seed: u64, size: usize) -> Self {
        let mut random = Random::new(&[seed, 1]);
        let mut taken: HashSet<String> = FUNCTION_WORDS.iter().map(|&word| word.to_owned()).collect();
        let mut words = Vec::with_capacity(size);
        while words.len() < size {
            // Frequent words are short, in every language.
            let syllables = match words.len() {
                0..1_500 => 2,
                1_500..20_000 => random.between(2, 4),
                _ => random.between(3, 5),
            };
            let mut word = String::new();
            for _ in 0..syllables {
                word.push_str(random.pick(&ONSETS));
                word.push_str(random.pick(&NUCLEI));
                word.push_str(random.pick(&CODAS));
            }
            word.push_str(random.pick(&ENDINGS));
            if taken.insert(word.clone()) {
                words.push(word.into_boxed_str());
            }
        }
        Self { words }
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn word(&self, rank: usize) -> &str {
        &self.words[rank]
    }
}

/// One of the words that hold a sentence together.
pub(super) fn function_word(random: &mut Random) -> &'static str {
    FUNCTION_WORDS[random.zipf(FUNCTION_WORDS.len())]
}

/// Whether a word only holds a sentence together.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(&word)
}
