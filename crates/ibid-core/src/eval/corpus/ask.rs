//! Queries over a made corpus, by kind, each with the page that answers it.

use super::{
    Corpus,
    words::{Random, is_function_word},
};

/// A kind of query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// A question in a person's words about what a sentence of the page says.
    Question,
    /// The page's title inside a question.
    Title,
    /// Three words of the page.
    Keywords,
    /// Three neighbouring words of the page, in quotes.
    Phrase,
    /// Two words, the second only begun.
    Prefix,
    /// Two words, one of them misspelt.
    Typo,
}

impl Ask {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Question, Self::Title, Self::Keywords, Self::Phrase, Self::Prefix, Self::Typo];

    /// A short name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Title => "title question",
            Self::Keywords => "keywords",
            Self::Phrase => "phrase",
            Self::Prefix => "prefix",
            Self::Typo => "typo",
        }
    }
}

/// A query and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What is typed.
    pub query: String,
    /// Whether the last word is only begun.
    pub prefix: bool,
    /// Number of the page it was made from.
    pub page: usize,
    /// That page's path.
    pub path: String,
}

impl Corpus {
    /// Query `number` of a kind, the same each time.
    pub fn ask(&self, kind: Ask, number: usize) -> Asked {
        let mut random = Random::new(&[self.seed, 6, kind as u64, number as u64]);
        let page = random.below(self.pages);
        let made = self.page(page, 0);
        let sentences = sentences(&made.text);
        let sentence = &sentences[random.below(sentences.len())];
        let mut content: Vec<&str> =
            sentence.iter().copied().filter(|word| !is_function_word(word) && word.len() > 3).collect();
        content.dedup();
        let mut word = |least: usize| -> String {
            let long: Vec<&str> = content.iter().copied().filter(|word| word.len() >= least).collect();
            let from = if long.is_empty() { &content } else { &long };
            from.get(random.below(from.len().max(1)))
                .map_or_else(|| made.title.clone(), |&word| word.to_owned())
        };
        let query = match kind {
            Ask::Question => {
                let (first, second, third, fourth) = (word(4), word(4), word(4), word(4));
                format!("how does the {first} {second} work with {third} when it is {fourth}")
            }
            Ask::Title => format!("how do I use {} and what does it do", made.title),
            Ask::Keywords => format!("{} {} {}", word(4), word(4), word(4)),
            Ask::Phrase => {
                let start = random.below(sentence.len().saturating_sub(3).max(1));
                let end = (start + 3).min(sentence.len());
                format!("\"{}\"", sentence[start..end].join(" "))
            }
            Ask::Prefix => {
                let (first, second) = (word(4), word(7));
                let cut = second.len().saturating_sub(3).max(3).min(second.len());
                format!("{first} {}", &second[..cut])
            }
            Ask::Typo => {
                let (first, second) = (word(4), word(7));
                format!("{first} {}", misspelt(&second))
            }
        };
        Asked { query, prefix: kind == Ask::Prefix, page, path: made.path }
    }
}

/// Plain words of each prose sentence that has at least eight, in lower case.
fn sentences(text: &str) -> Vec<Vec<&str>> {
    let plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let found: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()))
        .flat_map(|line| line.split(". "))
        .map(|sentence| {
            // The longest run of plain words, so that neighbours in the list are neighbours in the text.
            let words: Vec<&str> = sentence.split(' ').collect();
            words.split(|word| !plain(word)).max_by_key(|run| run.len()).unwrap_or_default().to_vec()
        })
        .filter(|words| words.len() >= 5)
        .collect();
    if found.is_empty() { vec![text.split(' ').filter(|word| plain(word)).collect()] } else { found }
}

/// Two inner letters swapped, or one doubled when they are equal.
fn misspelt(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let place = letters.len() / 2;
    if place + 1 < letters.len() && letters[place] != letters[place + 1] {
        letters.swap(place, place + 1);
    } else if let Some(&letter) = letters.get(place) {
        letters.insert(place, letter);
    }
    letters.into_iter().collect()
}
