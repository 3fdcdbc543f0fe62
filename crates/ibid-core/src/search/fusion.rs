//! Fusion: standardised scores of the legs, weighted by how well the model knows the query's language.
//!
//! Rank fusion loses to words alone where the model is weak; standardised scores with a weight per query
//! do not (docs/quality.md has the figures).

use std::collections::HashMap;

use ibid_api::{ChunkRef, LegScore};

use crate::store::Candidate;

/// A candidate with what each leg thinks of it.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) chunk: ChunkRef,
    pub(super) score: f32,
    pub(super) legs: Vec<LegScore>,
}

/// How much meaning counts against words, from 0 to 1: less the more words there are to go by, and less the
/// worse the model knows them.
///
/// `fertility` is word pieces per word: near 1.2 where the model knows the language, 2 for a related one, far
/// above where it sees single letters. docs/quality.md has what each set reaches, and
/// docs/decisions/0005-how-much-meaning-counts.md where the constants come from.
pub(super) fn meaning_weight(fertility: Option<f32>, words: usize) -> f32 {
    /// A few words may miss how a text puts it; a long question names what it wants.
    const SHORT: (f32, f32) = (8.0, 0.55);
    const LONG: (f32, f32) = (16.0, 0.4);
    const KNOWN: f32 = 1.2;
    const SLOPE: f32 = 0.2;
    const BOUNDS: (f32, f32) = (0.1, 0.75);
    const FOREIGN: f32 = 2.0;
    const UNREADABLE: f32 = 3.0;
    let length = ((words as f32 - SHORT.0) / (LONG.0 - SHORT.0)).clamp(0.0, 1.0);
    let usual = SHORT.1 + (LONG.1 - SHORT.1) * length;
    let Some(fertility) = fertility else { return usual };
    let weight = (usual - SLOPE * (fertility - KNOWN)).clamp(BOUNDS.0, BOUNDS.1);
    // Past the point where words fall into letters, meaning fades out.
    weight * ((UNREADABLE - fertility) / (UNREADABLE - FOREIGN)).clamp(0.0, 1.0)
}

struct Standard {
    mean: f32,
    deviation: f32,
    lowest: f32,
}

/// Only the best hundred of a list say what is usual for it.
pub(super) const USUAL: usize = 100;

/// What is usual for the scores of a list, and for `absent` more that score nothing.
fn standard(list: &[Candidate], absent: usize) -> Standard {
    let list = &list[..list.len().min(USUAL)];
    let count = (list.len() + absent).max(1) as f32;
    let mean = list.iter().map(|c| c.score).sum::<f32>() / count;
    let others = mean.powi(2) * absent as f32;
    let variance = (list.iter().map(|c| (c.score - mean).powi(2)).sum::<f32>() + others) / count;
    let deviation = variance.sqrt().max(mean.abs() * 1e-3).max(1e-6);
    let last = if absent > 0 { Some(0.0) } else { list.last().map(|c| c.score) };
    let lowest = last.map_or(0.0, |score| (score - mean) / deviation);
    Standard { mean, deviation, lowest }
}

/// Joins the legs. Without meaning, words rank alone; without words, meaning does. `absent` more texts could
/// have been found and have none of the words.
pub(super) fn fuse(
    lexical: &[Candidate],
    meaning: Option<&[Candidate]>,
    weight: f32,
    absent: usize,
) -> Vec<Ranked> {
    let legs: Vec<(&str, &[Candidate], f32, usize)> = match meaning {
        None => vec![("words", lexical, 1.0, 0)],
        Some(meaning) if lexical.is_empty() => vec![("meaning", meaning, 1.0, 0)],
        Some(meaning) => vec![("words", lexical, 1.0 - weight, absent), ("meaning", meaning, weight, 0)],
    };
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut places: HashMap<ChunkRef, usize> = HashMap::new();
    // What every candidate has before a leg speaks for it: the lowest value of each leg.
    let floor: f32 =
        legs.iter().map(|(_, list, weight, absent)| standard(list, *absent).lowest * weight).sum();
    for (name, list, weight, absent) in &legs {
        if *weight <= 0.0 {
            continue;
        }
        let usual = standard(list, *absent);
        for (rank, candidate) in list.iter().enumerate() {
            let z = (candidate.score - usual.mean) / usual.deviation;
            let gain = (z - usual.lowest).max(0.0) * weight;
            let place = *places.entry(candidate.chunk).or_insert_with(|| {
                ranked.push(Ranked { chunk: candidate.chunk, score: floor, legs: Vec::new() });
                ranked.len() - 1
            });
            ranked[place].score += gain;
            ranked[place].legs.push(LegScore {
                leg: (*name).to_owned(),
                rank: Some(rank as u32 + 1),
                score: candidate.score,
                weight: gain,
            });
        }
    }
    sort(&mut ranked);
    ranked
}

/// Best first, ties by chunk, so that equal input gives equal output.
pub(super) fn sort(ranked: &mut [Ranked]) {
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
}

#[cfg(test)]
mod tests {
    use ibid_api::DocumentId;

    use super::*;

    fn list(scores: &[(i64, f32)]) -> Vec<Candidate> {
        scores
            .iter()
            .map(|&(document, score)| Candidate {
                chunk: ChunkRef { document: DocumentId(document), index: 0 },
                score,
            })
            .collect()
    }

    fn order(ranked: &[Ranked]) -> Vec<i64> {
        ranked.iter().map(|r| r.chunk.document.0).collect()
    }

    #[test]
    fn words_alone_keep_their_order() {
        assert_eq!(order(&fuse(&list(&[(3, 9.0), (1, 5.0), (2, 5.0)]), None, 0.5, 0)), [3, 1, 2]);
    }

    #[test]
    fn a_candidate_of_both_legs_beats_one_of_either() {
        let words = list(&[(1, 10.0), (2, 9.5), (3, 2.0)]);
        let meaning = list(&[(4, 0.9), (2, 0.88), (5, 0.1)]);
        assert_eq!(order(&fuse(&words, Some(&meaning), 0.5, 0))[0], 2);
    }

    #[test]
    fn the_only_text_with_a_rare_word_stands_out() {
        let words = list(&[(7, 4.0)]);
        let near: Vec<(i64, f32)> =
            (1..=100).map(|number| (number + 10, 0.6 - number as f32 / 500.0)).collect();
        let first = |absent| order(&fuse(&words, Some(&list(&near)), 0.5, absent))[0];
        assert_eq!((first(99), first(0)), (7, 11));
    }

    #[test]
    fn meaning_without_weight_changes_nothing() {
        let words = list(&[(1, 10.0), (2, 9.5), (3, 2.0)]);
        let meaning = list(&[(3, 0.9), (9, 0.88)]);
        assert_eq!(order(&fuse(&words, Some(&meaning), 0.0, 0)), [1, 2, 3]);
    }

    #[test]
    fn weight_falls_as_words_fall_apart() {
        let weight = |fertility| meaning_weight(Some(fertility), 10);
        assert!(weight(1.1) > weight(1.5) && weight(1.5) > weight(2.0) && weight(2.0) > weight(2.5));
        assert!(weight(3.0) <= f32::EPSILON);
    }

    #[test]
    fn weight_falls_as_a_question_says_more() {
        let weight = |words| meaning_weight(Some(1.2), words);
        assert!(weight(4) >= weight(8) && weight(8) > weight(12) && weight(12) > weight(16));
        assert!((weight(16) - weight(60)).abs() <= f32::EPSILON);
        assert!(meaning_weight(None, 8) > 0.4, "a model that cannot tell is trusted");
    }
}
