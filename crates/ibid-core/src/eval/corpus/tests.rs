//! What benchmarks rely on: the corpus is the same each time, and its queries have answers.

use std::collections::{HashMap, HashSet};

use super::*;

#[test]
fn the_same_seed_makes_the_same_pages_and_another_seed_makes_others() {
    let (one, same, other) = (
        Corpus::new(7, 300, Shape::Pages),
        Corpus::new(7, 300, Shape::Pages),
        Corpus::new(8, 300, Shape::Pages),
    );
    for number in [0, 1, 49, 50, 299] {
        assert_eq!(one.page(number, 0), same.page(number, 0));
        assert_ne!(one.page(number, 0).text, other.page(number, 0).text);
    }
    for kind in Ask::ALL {
        assert_eq!(one.ask(kind, 3), same.ask(kind, 3));
    }
}

#[test]
fn a_revision_changes_the_text_and_keeps_the_name() {
    let corpus = Corpus::new(7, 10, Shape::Pages);
    let (before, after) = (corpus.page(4, 0), corpus.page(4, 1));
    assert_eq!(before.path, after.path);
    assert_eq!(before.title, after.title);
    assert_ne!(before.text, after.text);
}

#[test]
fn pages_have_the_size_their_shape_says() {
    let check = |shape: Shape, low: usize, high: usize| {
        let corpus = Corpus::new(1, 400, shape);
        let bytes: usize = (0..400).map(|number| corpus.page(number, 0).text.len()).sum();
        let mean = bytes / 400;
        assert!((low..high).contains(&mean), "{shape:?}: {mean}");
    };
    check(Shape::Pages, 4_500, 5_500);
    check(Shape::Notes, 400, 900);
}

#[test]
fn words_follow_zipf_and_titles_are_mostly_unique() {
    let corpus = Corpus::new(1, 500, Shape::Pages);
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut titles = HashSet::new();
    for number in 0..500 {
        let page = corpus.page(number, 0);
        titles.insert(page.title);
        for word in page.text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    assert!(titles.len() > 495);
    let total: usize = counts.values().sum();
    let once = counts.values().filter(|&&count| count == 1).count();
    assert!(counts["the"] * 100 > total * 5 && counts["the"] * 100 < total * 12);
    assert!(once * 5 > counts.len(), "{once} of {}", counts.len());
}

#[test]
fn every_query_holds_words_of_its_page() {
    let corpus = Corpus::new(3, 200, Shape::Pages);
    for kind in Ask::ALL {
        for number in 0..50 {
            let asked = corpus.ask(kind, number);
            let page = corpus.page(asked.page, 0);
            let text = page.text.to_lowercase();
            assert_eq!(asked.path, page.path);
            match kind {
                Ask::Phrase => assert!(text.contains(asked.query.trim_matches('"')), "{asked:?}"),
                Ask::Keywords | Ask::Prefix => {
                    assert!(asked.query.split(' ').all(|word| text.contains(word)), "{asked:?}");
                }
                Ask::Title => assert!(asked.query.contains(&page.title)),
                Ask::Typo | Ask::Question => {
                    assert!(asked.query.split(' ').any(|word| word.len() > 3 && text.contains(word)));
                }
            }
        }
    }
}

#[test]
fn the_corpus_is_written_below_its_root() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::new(5, 120, Shape::Notes);
    let written = corpus.write(folder.path()).unwrap();
    assert_eq!(written.files, 120);
    for number in [0, 60, 119] {
        let page = corpus.page(number, 0);
        assert_eq!(fs::read_to_string(folder.path().join(page.path)).unwrap(), page.text);
    }
}
