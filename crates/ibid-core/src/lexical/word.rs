//! One word: lower-cased, folded and stemmed, in memory that serves the next word too.

use std::{cell::RefCell, collections::HashMap};

use rust_stemmers::Stemmer;
use rustc_hash::FxBuildHasher;

use super::{Language, fold, is_stop_word};

/// Words come again and again; past this many the readings kept of a language start anew.
const KEPT: usize = 1 << 15;
/// Longer words are rare, and each is unlike the others.
const LONGEST_KEPT: usize = 32;

thread_local! {
    static READERS: RefCell<HashMap<Language, Reader, FxBuildHasher>> = RefCell::default();
}

/// The word read last.
#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    /// In lower case, accents kept.
    pub(super) lowered: String,
    /// Without accents.
    pub(super) folded: String,
    /// The stem, without accents; that of an earlier word where this one is a stop word.
    pub(super) stem: String,
}

impl Word {
    /// Reads a word; tells whether it is a stop word, which has no stem.
    pub(super) fn read(&mut self, raw: &str, language: Language) -> bool {
        fold::lower(raw, &mut self.lowered);
        READERS.with_borrow_mut(|readers| {
            let reader = readers
                .entry(language)
                .or_insert_with(|| Reader { stemmer: language.stemmer(), known: HashMap::default() });
            if let Some(known) = reader.known.get(self.lowered.as_str()) {
                known.copy_to(self);
                return known.stem.is_none();
            }
            let reading = reader.read(&self.lowered, language);
            reading.copy_to(self);
            let is_stop = reading.stem.is_none();
            if self.lowered.len() <= LONGEST_KEPT {
                if reader.known.len() >= KEPT {
                    reader.known.clear();
                }
                reader.known.insert(self.lowered.as_str().into(), reading);
            }
            is_stop
        })
    }

    /// Folds something that is not one word.
    pub(super) fn fold(&mut self, raw: &str) -> &str {
        fold::lower(raw, &mut self.lowered);
        fold::without_accents(&self.lowered, &mut self.folded);
        &self.folded
    }
}

/// Reads words of one language.
struct Reader {
    stemmer: Option<Stemmer>,
    known: HashMap<Box<str>, Reading, FxBuildHasher>,
}

/// What a word was read as.
struct Reading {
    folded: Box<str>,
    /// None for a stop word.
    stem: Option<Box<str>>,
}

impl Reader {
    fn read(&self, lowered: &str, language: Language) -> Reading {
        let straight = lowered.replace('\u{2019}', "'");
        let is_stop = is_stop_word(&straight, language);
        let word = match straight.strip_suffix("'s") {
            Some(base) if language == Language::English => base,
            _ => &straight,
        };
        let folded = |word: &str| -> Box<str> {
            let mut folded = String::with_capacity(word.len());
            fold::without_accents(word, &mut folded);
            folded.into()
        };
        let stem = || match &self.stemmer {
            Some(stemmer) => folded(&stemmer.stem(word)),
            None => folded(word),
        };
        Reading { folded: folded(word), stem: (!is_stop).then(stem) }
    }
}

impl Reading {
    fn copy_to(&self, word: &mut Word) {
        word.folded.clear();
        word.folded.push_str(&self.folded);
        if let Some(stem) = &self.stem {
            word.stem.clear();
            word.stem.push_str(stem);
        }
    }
}
