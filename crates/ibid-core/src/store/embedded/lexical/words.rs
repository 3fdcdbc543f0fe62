//! Words of a query: analysed in every language that matters, and united.

use std::collections::HashMap;

use crate::lexical::{Language, Views, is_stop_word, views};

/// A term and how often the query has it.
pub(super) type Counted = (String, u32);

/// The terms of a query per view, each once, in the order of the query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) stemmed: Vec<Counted>,
    pub(super) exact: Vec<Counted>,
    pub(super) pairs: Vec<Counted>,
}

/// Analyses a text. A word that is a stop word in one of the languages is left out, because where it is not
/// one it is rare and would weigh too much; but a text of nothing but stop words keeps them all.
pub(super) fn words(text: &str, languages: &[Language]) -> Words {
    let all: Vec<Views> = languages.iter().map(|&language| views(text, language)).collect();
    let mut words = Words {
        stemmed: unite(
            all.iter()
                .flat_map(|views| views.stemmed.iter())
                .map(|token| (token.term, !is_stop(&text[token.from..token.to], languages))),
        ),
        exact: unite(
            all.iter()
                .flat_map(|views| views.exact.iter())
                .map(|token| (token.term, !is_stop(&text[token.from..token.to], languages))),
        ),
        pairs: unite(all.iter().flat_map(|views| views.pairs.iter()).map(|token| (token.term, true))),
    };
    // Every language counted every term.
    let passes = languages.len().max(1) as u32;
    for (_, count) in words.stemmed.iter_mut().chain(&mut words.exact).chain(&mut words.pairs) {
        *count = count.div_ceil(passes);
    }
    words
}

/// Counts terms, in the order in which they first appear; those that are not wanted only if no other is.
fn unite<'a>(terms: impl Iterator<Item = (&'a str, bool)>) -> Vec<Counted> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut united: Vec<(&str, u32, bool)> = Vec::new();
    for (term, wanted) in terms {
        let place = *places.entry(term).or_insert(united.len());
        match united.get_mut(place) {
            Some(known) => {
                known.1 += 1;
                known.2 |= wanted;
            }
            None => united.push((term, 1, wanted)),
        }
    }
    let any_wanted = united.iter().any(|(_, _, wanted)| *wanted);
    united.retain(|(_, _, wanted)| *wanted || !any_wanted);
    united.into_iter().map(|(term, count, _)| (term.to_owned(), count)).collect()
}

fn is_stop(raw: &str, languages: &[Language]) -> bool {
    let lower = raw.to_lowercase().replace('\u{2019}', "'");
    languages.iter().any(|&language| is_stop_word(&lower, language))
}

/// The words of a phrase with their places, once per way in which a language reads them.
pub(super) fn phrases(text: &str, languages: &[Language]) -> Vec<Vec<(usize, String)>> {
    let mut readings: Vec<Vec<(usize, String)>> = Vec::new();
    for &language in languages {
        let mut reading: Vec<(usize, String)> = Vec::new();
        for token in views(text, language).exact.iter() {
            // The first term at a place is the whole word; parts and compounds follow it.
            if reading.last().is_none_or(|(place, _)| *place != token.position) {
                reading.push((token.position, token.term.to_owned()));
            }
        }
        if !reading.is_empty() && !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    readings
}

/// For each word of a title clause, the stems it has in the languages. Without stems, nothing.
pub(super) fn stems_by_word(text: &str, languages: &[Language]) -> Vec<Vec<String>> {
    let mut found: Vec<((usize, usize), Vec<String>)> = Vec::new();
    for &language in languages {
        for token in views(text, language).stemmed.iter() {
            let range = (token.from, token.to);
            if is_stop(&text[token.from..token.to], languages) {
                continue;
            }
            match found.iter_mut().find(|known| known.0 == range) {
                Some((_, stems)) if stems.iter().any(|stem| stem == token.term) => {}
                Some((_, stems)) => stems.push(token.term.to_owned()),
                None => found.push((range, vec![token.term.to_owned()])),
            }
        }
    }
    found.into_iter().map(|(_, stems)| stems).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(counted: &[Counted]) -> Vec<&str> {
        counted.iter().map(|(term, _)| term.as_str()).collect()
    }

    #[test]
    fn stop_words_count_only_when_there_is_nothing_else() {
        let found = words("what is the answer", &[Language::English]);
        assert_eq!(terms(&found.stemmed), ["answer"]);
        assert_eq!(terms(&found.exact), ["answer"]);
        let found = words("to be or not to be", &[Language::English]);
        assert_eq!(terms(&found.stemmed), [""; 0]);
        assert_eq!(terms(&found.exact), ["to", "be", "or", "not"]);
    }

    #[test]
    fn languages_are_united_without_each_others_stop_words() {
        let found = words("the running canciones de la", &[Language::English, Language::Spanish]);
        assert!(terms(&found.stemmed).contains(&"run"));
        assert!(terms(&found.stemmed).contains(&"cancion"));
        for stop in ["the", "de", "la"] {
            assert!(!terms(&found.exact).contains(&stop), "{found:?}");
        }
    }

    #[test]
    fn terms_are_counted_once_per_appearance() {
        let found = words("pear pear apple", &[Language::English, Language::Spanish]);
        let exact: Vec<_> = found.exact.iter().map(|(term, count)| (term.as_str(), *count)).collect();
        assert_eq!(exact, [("pear", 2), ("apple", 1)]);
    }

    #[test]
    fn phrases_are_made_of_whole_words() {
        let found = phrases("getUserName in src/main.rs", &[Language::English, Language::Spanish]);
        let places: Vec<_> = found[0].iter().map(|(place, word)| (*place, word.as_str())).collect();
        assert_eq!(places, [(0, "getusername"), (1, "in"), (2, "src"), (3, "main"), (4, "rs")]);
        assert_eq!(found.len(), 1);
    }
}
