//! The main language of a text, where it can be told reliably.

use whatlang::Lang;

/// How much prose is looked at.
pub(super) const SAMPLE_BYTES: usize = 1024;

/// Fewer characters than this are never reliable.
const LEAST_CHARACTERS: usize = 20;
/// Nor are fewer words than this, where the letters say nothing.
const LEAST_WORDS: usize = 12;
/// More words than this add nothing.
const ENOUGH_WORDS: usize = 120;

/// Frequent words of the languages most notes are in, none of them frequent in another; sorted.
const COMMON_WORDS: &[(&str, &str)] = &[
    ("aber", "de"),
    ("anche", "it"),
    ("and", "en"),
    ("ao", "pt"),
    ("aos", "pt"),
    ("are", "en"),
    ("auch", "de"),
    ("auf", "de"),
    ("aus", "de"),
    ("aux", "fr"),
    ("avec", "fr"),
    ("been", "en"),
    ("bei", "de"),
    ("bij", "nl"),
    ("cette", "fr"),
    ("che", "it"),
    ("com", "pt"),
    ("come", "it"),
    ("con", "it"),
    ("cuando", "es"),
    ("da", "pt"),
    ("dans", "fr"),
    ("dass", "de"),
    ("debe", "es"),
    ("dei", "it"),
    ("della", "it"),
    ("delle", "it"),
    ("dem", "de"),
    ("der", "de"),
    ("deze", "nl"),
    ("donde", "es"),
    ("dos", "pt"),
    ("durch", "de"),
    ("een", "nl"),
    ("einen", "de"),
    ("einer", "de"),
    ("el", "es"),
    ("ela", "pt"),
    ("ele", "pt"),
    ("ella", "es"),
    ("elle", "fr"),
    ("em", "pt"),
    ("essere", "it"),
    ("este", "es"),
    ("from", "en"),
    ("für", "de"),
    ("gli", "it"),
    ("have", "en"),
    ("hay", "es"),
    ("heeft", "nl"),
    ("hij", "nl"),
    ("ils", "fr"),
    ("ist", "de"),
    ("kann", "de"),
    ("kunnen", "nl"),
    ("las", "es"),
    ("les", "fr"),
    ("leur", "fr"),
    ("los", "es"),
    ("mais", "fr"),
    ("mas", "pt"),
    ("mit", "de"),
    ("más", "es"),
    ("naar", "nl"),
    ("nach", "de"),
    ("nel", "it"),
    ("nella", "it"),
    ("nicht", "de"),
    ("niet", "nl"),
    ("non", "it"),
    ("nous", "fr"),
    ("não", "pt"),
    ("oder", "de"),
    ("ook", "nl"),
    ("où", "fr"),
    ("pas", "fr"),
    ("pela", "pt"),
    ("pelo", "pt"),
    ("pero", "es"),
    ("più", "it"),
    ("pour", "fr"),
    ("puede", "es"),
    ("questo", "it"),
    ("should", "en"),
    ("sich", "de"),
    ("sin", "es"),
    ("sind", "de"),
    ("sobre", "es"),
    ("sono", "it"),
    ("sont", "fr"),
    ("são", "pt"),
    ("também", "pt"),
    ("that", "en"),
    ("the", "en"),
    ("their", "en"),
    ("there", "en"),
    ("these", "en"),
    ("they", "en"),
    ("this", "en"),
    ("uma", "pt"),
    ("und", "de"),
    ("une", "fr"),
    ("uno", "es"),
    ("used", "en"),
    ("viene", "it"),
    ("von", "de"),
    ("voor", "nl"),
    ("vous", "fr"),
    ("werd", "nl"),
    ("werden", "de"),
    ("when", "en"),
    ("where", "en"),
    ("which", "en"),
    ("wird", "de"),
    ("with", "en"),
    ("worden", "nl"),
    ("wordt", "nl"),
    ("would", "en"),
    ("you", "en"),
    ("your", "en"),
    ("zijn", "nl"),
    ("zum", "de"),
    ("zur", "de"),
    ("è", "it"),
    ("é", "pt"),
    ("être", "fr"),
    ("über", "de"),
];

/// Longest of them, in bytes.
const LONGEST_COMMON_WORD: usize = 7;

/// ISO 639-1 code of the language of a piece of prose.
pub(super) fn detect(prose: &str) -> Option<&'static str> {
    let sample = &prose[..prose.floor_char_boundary(SAMPLE_BYTES)];
    if sample.chars().filter(|character| character.is_alphabetic()).take(LEAST_CHARACTERS).count()
        < LEAST_CHARACTERS
    {
        return None;
    }
    match by_words(sample) {
        ByWords::Language(language) => Some(language),
        ByWords::TooFew => None,
        ByWords::Open => {
            let found = whatlang::detect(sample)?;
            found.is_reliable().then(|| two_letters(found.lang()))
        }
    }
}

/// What common words alone can settle.
enum ByWords {
    Language(&'static str),
    /// Plain letters, and too few words to tell.
    TooFew,
    Open,
}

/// Looks at common words first: the detector compares trigrams with all its languages, which takes longer
/// than parsing a note, and most notes need no comparison.
fn by_words(sample: &str) -> ByWords {
    let mut tallies: Vec<Tally> = Vec::new();
    let mut words = 0_usize;
    let mut is_ascii = true;
    for word in sample.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
        is_ascii &= word.is_ascii();
        words += 1;
        if let Some((place, language)) = common_word(word) {
            match tallies.iter_mut().find(|tally| tally.language == language) {
                Some(tally) => tally.count(place),
                None => tallies.push(Tally { language, hits: 1, places: [place, usize::MAX, usize::MAX] }),
            }
        }
        if words >= ENOUGH_WORDS {
            break;
        }
    }
    tallies.sort_unstable_by_key(|tally| std::cmp::Reverse(tally.hits));
    let others: usize = tallies.iter().skip(1).map(|tally| tally.hits).sum();
    match tallies.first() {
        Some(first)
            if words >= 20
                && first.hits * 14 >= words
                && first.hits >= others * 5
                && !first.places.contains(&usize::MAX) =>
        {
            ByWords::Language(first.language)
        }
        _ if is_ascii && words < LEAST_WORDS => ByWords::TooFew,
        _ => ByWords::Open,
    }
}

/// How often words of a language occur.
struct Tally {
    language: &'static str,
    hits: usize,
    /// Places in the table of three different words.
    places: [usize; 3],
}

impl Tally {
    fn count(&mut self, place: usize) {
        self.hits += 1;
        if !self.places.contains(&place)
            && let Some(free) = self.places.iter_mut().find(|known| **known == usize::MAX)
        {
            *free = place;
        }
    }
}

/// Place in the table and language of a common word, whatever its case.
fn common_word(word: &str) -> Option<(usize, &'static str)> {
    let mut lower = [0; LONGEST_COMMON_WORD];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    let place = COMMON_WORDS.binary_search_by(|(known, _)| known.as_bytes().cmp(lower)).ok()?;
    Some((place, COMMON_WORDS[place].1))
}

fn two_letters(language: Lang) -> &'static str {
    match language {
        Lang::Epo => "eo",
        Lang::Eng => "en",
        Lang::Rus => "ru",
        Lang::Cmn => "zh",
        Lang::Spa => "es",
        Lang::Por => "pt",
        Lang::Ita => "it",
        Lang::Ben => "bn",
        Lang::Fra => "fr",
        Lang::Deu => "de",
        Lang::Ukr => "uk",
        Lang::Kat => "ka",
        Lang::Ara => "ar",
        Lang::Hin => "hi",
        Lang::Jpn => "ja",
        Lang::Heb => "he",
        Lang::Yid => "yi",
        Lang::Pol => "pl",
        Lang::Amh => "am",
        Lang::Jav => "jv",
        Lang::Kor => "ko",
        Lang::Nob => "nb",
        Lang::Dan => "da",
        Lang::Swe => "sv",
        Lang::Fin => "fi",
        Lang::Tur => "tr",
        Lang::Nld => "nl",
        Lang::Hun => "hu",
        Lang::Ces => "cs",
        Lang::Ell => "el",
        Lang::Bul => "bg",
        Lang::Bel => "be",
        Lang::Mar => "mr",
        Lang::Kan => "kn",
        Lang::Ron => "ro",
        Lang::Slv => "sl",
        Lang::Hrv => "hr",
        Lang::Srp => "sr",
        Lang::Mkd => "mk",
        Lang::Lit => "lt",
        Lang::Lav => "lv",
        Lang::Est => "et",
        Lang::Tam => "ta",
        Lang::Vie => "vi",
        Lang::Urd => "ur",
        Lang::Tha => "th",
        Lang::Guj => "gu",
        Lang::Uzb => "uz",
        Lang::Pan => "pa",
        Lang::Aze => "az",
        Lang::Ind => "id",
        Lang::Tel => "te",
        Lang::Pes => "fa",
        Lang::Mal => "ml",
        Lang::Ori => "or",
        Lang::Mya => "my",
        Lang::Nep => "ne",
        Lang::Sin => "si",
        Lang::Khm => "km",
        Lang::Tuk => "tk",
        Lang::Aka => "ak",
        Lang::Zul => "zu",
        Lang::Sna => "sn",
        Lang::Afr => "af",
        Lang::Lat => "la",
        Lang::Slk => "sk",
        Lang::Cat => "ca",
        Lang::Tgl => "tl",
        Lang::Hye => "hy",
        Lang::Cym => "cy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_named_by_two_letters() {
        for (prose, want) in [
            ("The quick brown fox jumps over the lazy dog, and nobody in the village was surprised.", "en"),
            ("Der schnelle braune Fuchs springt über den faulen Hund, und niemand war überrascht.", "de"),
            ("Le renard brun et rapide saute par-dessus le chien paresseux dans le jardin du roi.", "fr"),
            ("これは日本語の文章です。文字コードの判定を試します。", "ja"),
            ("Это русский текст, и его язык можно определить без труда.", "ru"),
        ] {
            assert_eq!(detect(prose), Some(want), "{prose}");
        }
    }

    #[test]
    fn the_table_is_sorted_and_names_each_word_once() {
        assert!(COMMON_WORDS.is_sorted_by(|one, next| one.0 < next.0));
        assert_eq!(COMMON_WORDS.iter().map(|(word, _)| word.len()).max(), Some(LONGEST_COMMON_WORD));
    }

    #[test]
    fn too_little_text_has_no_language() {
        for prose in ["", "ok", "12345 67890 12345 67890 12345", "日本語", &"é".repeat(3)] {
            assert_eq!(detect(prose), None, "{prose}");
        }
    }
}
