//! Languages whose words can be reduced to stems.

use rust_stemmers::{Algorithm, Stemmer};

/// A language whose stems and stop words are known. Text whose language could not be told is read as
/// English, which only matters for its stems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[expect(missing_docs, reason = "names of languages")]
pub enum Language {
    Arabic,
    Danish,
    Dutch,
    #[default]
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
    /// Neither stems nor stop words are known.
    Other,
}

impl Language {
    /// The language with this ISO 639-1 code; `None` (not told) reads as English.
    pub fn from_code(code: Option<&str>) -> Self {
        match code {
            None | Some("en") => Self::English,
            Some("ar") => Self::Arabic,
            Some("da") => Self::Danish,
            Some("nl") => Self::Dutch,
            Some("fi") => Self::Finnish,
            Some("fr") => Self::French,
            Some("de") => Self::German,
            Some("el") => Self::Greek,
            Some("hu") => Self::Hungarian,
            Some("it") => Self::Italian,
            Some("nb" | "nn" | "no") => Self::Norwegian,
            Some("pt") => Self::Portuguese,
            Some("ro") => Self::Romanian,
            Some("ru") => Self::Russian,
            Some("es") => Self::Spanish,
            Some("sv") => Self::Swedish,
            Some("ta") => Self::Tamil,
            Some("tr") => Self::Turkish,
            Some(_) => Self::Other,
        }
    }

    fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Self::Arabic => Algorithm::Arabic,
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::English => Algorithm::English,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Greek => Algorithm::Greek,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
            Self::Tamil => Algorithm::Tamil,
            Self::Turkish => Algorithm::Turkish,
            Self::Other => return None,
        })
    }

    /// What makes stems of its words.
    pub(super) fn stemmer(self) -> Option<Stemmer> {
        self.algorithm().map(Stemmer::create)
    }
}
