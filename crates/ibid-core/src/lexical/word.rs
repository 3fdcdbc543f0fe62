//! One word: lower-cased, folded and stemmed, in memory that serves the next word too.

use super::{Language, fold, is_stop_word};

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
        let Self { lowered, folded, stem } = self;
        fold::lower(raw, lowered);
        if lowered.contains('\u{2019}') {
            *lowered = lowered.replace('\u{2019}', "'");
        }
        let is_stop = is_stop_word(lowered, language);
        if language == Language::English
            && let Some(base) = lowered.strip_suffix("'s")
        {
            lowered.truncate(base.len());
        }
        fold::without_accents(lowered, folded);
        if !is_stop {
            language.with_stem(lowered, |found| fold::without_accents(found, stem));
        }
        is_stop
    }

    /// Folds something that is not one word.
    pub(super) fn fold(&mut self, raw: &str) -> &str {
        fold::lower(raw, &mut self.lowered);
        fold::without_accents(&self.lowered, &mut self.folded);
        &self.folded
    }
}
