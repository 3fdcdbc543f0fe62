//! Two runs over the same questions: what got better, what got worse, and whether it could be chance.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Run, resample};

/// Smaller differences of nDCG are none.
const EQUAL: f64 = 1e-9;

/// What differs between two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of the set.
    pub set: String,
    /// What is compared with.
    pub before: String,
    /// What is compared.
    pub after: String,
    /// Questions that both were asked.
    pub questions: usize,
    /// Mean difference of nDCG@10; positive is better.
    pub difference: f64,
    /// Lower bound of the difference.
    pub low: f64,
    /// Upper bound of the difference.
    pub high: f64,
    /// Questions answered better than before.
    pub better: usize,
    /// Questions answered worse than before.
    pub worse: usize,
    /// The questions that differ, largest difference first.
    pub changes: Vec<Change>,
}

/// One question that two runs answer differently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The question.
    pub id: String,
    /// Its text.
    pub text: String,
    /// nDCG@10 before.
    pub before: f64,
    /// nDCG@10 after.
    pub after: f64,
}

/// Compares two runs question by question; those that only one of them has are left out.
pub fn compare(before: (&str, &Run), after: (&str, &Run)) -> Comparison {
    let ((before_name, before), (after_name, after)) = (before, after);
    let earlier: HashMap<&str, f64> =
        before.answers.iter().map(|answer| (answer.id.as_str(), answer.measures.ndcg_10)).collect();
    let mut differences = Vec::new();
    let mut changes = Vec::new();
    for answer in &after.answers {
        let Some(&earlier) = earlier.get(answer.id.as_str()) else { continue };
        let now = answer.measures.ndcg_10;
        differences.push(now - earlier);
        if (now - earlier).abs() > EQUAL {
            let (id, text) = (answer.id.clone(), answer.text.clone());
            changes.push(Change { id, text, before: earlier, after: now });
        }
    }
    let size = |change: &Change| (change.after - change.before).abs();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.id.cmp(&b.id)));
    let (low, high) = resample::interval(&differences);
    Comparison {
        set: after.set.clone(),
        before: before_name.to_owned(),
        after: after_name.to_owned(),
        questions: differences.len(),
        difference: differences.iter().sum::<f64>() / differences.len().max(1) as f64,
        low,
        high,
        better: changes.iter().filter(|change| change.after > change.before).count(),
        worse: changes.iter().filter(|change| change.after < change.before).count(),
        changes,
    }
}

impl Comparison {
    /// Whether what is compared is worse by more than chance explains.
    pub fn is_worse(&self) -> bool {
        self.high < 0.0
    }
}

#[cfg(test)]
mod tests {
    use ibid_api::Mode;

    use super::{
        super::{Answer, Measures},
        *,
    };

    fn run(values: &[(&str, f64)]) -> Run {
        let answer = |&(id, ndcg_10): &(&str, f64)| Answer {
            id: id.to_owned(),
            text: format!("what is {id}"),
            measures: Measures { ndcg_10, ..Measures::default() },
        };
        Run::new("set", Mode::Lexical, values.iter().map(answer).collect())
    }

    #[test]
    fn questions_are_paired_by_their_identifier() {
        let before = run(&[("a", 1.0), ("b", 0.5), ("c", 0.0), ("only before", 1.0)]);
        let after = run(&[("c", 1.0), ("b", 0.5), ("a", 0.75), ("only after", 0.0)]);
        let found = compare(("words", &before), ("both", &after));
        assert_eq!((found.questions, found.better, found.worse), (3, 1, 1));
        assert!((found.difference - 0.25).abs() < 1e-9);
        assert_eq!(found.changes.iter().map(|change| change.id.as_str()).collect::<Vec<_>>(), ["c", "a"]);
        assert!(found.low <= found.difference && found.difference <= found.high);
        assert!(!found.is_worse(), "one of three could be chance");
    }

    #[test]
    fn a_loss_on_every_question_is_no_chance() {
        let ids: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        let of = |value: f64| run(&ids.iter().map(|id| (id.as_str(), value)).collect::<Vec<_>>());
        assert!(compare(("a", &of(0.9)), ("b", &of(0.8))).is_worse());
        assert!(!compare(("a", &of(0.8)), ("b", &of(0.9))).is_worse());
    }
}
