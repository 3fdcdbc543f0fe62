//! Measures of one ranking, and their mean over many with an interval.

use serde::{Deserialize, Serialize};

use super::{Question, resample};

/// Measures of the answer to one question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Discounted gain of the first ten against the best possible.
    pub ndcg_10: f64,
    /// Share of the judged documents among the first ten.
    pub recall_10: f64,
    /// Share of the judged documents among the first hundred.
    pub recall_100: f64,
    /// One over the place of the first judged document.
    pub mrr: f64,
    /// Whether the first document is a judged one.
    pub hit_1: f64,
}

/// Mean of each measure, with the bounds that hold 95 of 100 resamples of the questions' nDCG.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of questions.
    pub questions: usize,
    /// The means.
    #[serde(flatten)]
    pub mean: Measures,
    /// Lower bound of nDCG@10.
    pub ndcg_low: f64,
    /// Upper bound of nDCG@10.
    pub ndcg_high: f64,
}

/// Measures one ranking of document identifiers, best first, each at most once.
pub fn measure(question: &Question, ranking: &[String]) -> Measures {
    let gain = |grade: u32, place: usize| f64::from(grade) / (place as f64 + 2.0).log2();
    let grade = |id: &String| question.grades.get(id).copied().unwrap_or(0);
    let found: f64 = ranking.iter().take(10).enumerate().map(|(place, id)| gain(grade(id), place)).sum();
    let mut best: Vec<u32> = question.grades.values().copied().collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let ideal: f64 = best.iter().take(10).enumerate().map(|(place, &grade)| gain(grade, place)).sum();
    let judged = question.grades.len().max(1) as f64;
    let within = |depth: usize| ranking.iter().take(depth).filter(|id| grade(id) > 0).count() as f64 / judged;
    let first = ranking.iter().position(|id| grade(id) > 0);
    Measures {
        ndcg_10: if found > 0.0 { found / ideal } else { 0.0 },
        recall_10: within(10),
        recall_100: within(100),
        mrr: first.map_or(0.0, |place| 1.0 / (place as f64 + 1.0)),
        hit_1: f64::from(u8::from(first == Some(0))),
    }
}

/// Mean and interval over all questions. The resampling is seeded: equal input gives equal output.
pub fn summarize(all: &[Measures]) -> Summary {
    if all.is_empty() {
        return Summary::default();
    }
    let count = all.len() as f64;
    let mean = |pick: fn(&Measures) -> f64| all.iter().map(pick).sum::<f64>() / count;
    let gains: Vec<f64> = all.iter().map(|m| m.ndcg_10).collect();
    let (ndcg_low, ndcg_high) = resample::interval(&gains);
    Summary {
        questions: all.len(),
        mean: Measures {
            ndcg_10: mean(|m| m.ndcg_10),
            recall_10: mean(|m| m.recall_10),
            recall_100: mean(|m| m.recall_100),
            mrr: mean(|m| m.mrr),
            hit_1: mean(|m| m.hit_1),
        },
        ndcg_low,
        ndcg_high,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_perfect_ranking_scores_one_and_a_late_hit_less() {
        let question = Question {
            id: "q".into(),
            text: "?".into(),
            grades: BTreeMap::from([("a".into(), 2), ("b".into(), 1)]),
        };
        let ids = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let perfect = measure(&question, &ids(&["a", "b", "c"]));
        assert!((perfect.ndcg_10 - 1.0).abs() < 1e-9 && (perfect.hit_1 - 1.0).abs() < 1e-9);
        let late = measure(&question, &ids(&["c", "b", "a"]));
        assert!(late.ndcg_10 < 0.8 && (late.mrr - 0.5).abs() < 1e-9 && late.hit_1 < 0.5);
        let summary = summarize(&[perfect, late]);
        assert!(summary.ndcg_low <= summary.mean.ndcg_10 && summary.mean.ndcg_10 <= summary.ndcg_high);
    }
}
