//! What an evaluation found, in a form that can be kept and compared with a later one.

use ibid_api::Mode;
use serde::{Deserialize, Serialize};

use super::{Comparison, Measures, Summary, summarize};

/// Everything one evaluation found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// One per set and mode.
    pub runs: Vec<Run>,
    /// What differs between two of them, or from an earlier report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
}

/// One set asked in one mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Name of the set.
    pub set: String,
    /// Which legs ran.
    pub mode: Mode,
    /// Means over all questions.
    #[serde(flatten)]
    pub summary: Summary,
    /// Every question, in the order of the set.
    pub answers: Vec<Answer>,
}

/// How well one question was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Measures of the ranking.
    #[serde(flatten)]
    pub measures: Measures,
}

impl Run {
    /// A run and its means.
    pub fn new(set: impl Into<String>, mode: Mode, answers: Vec<Answer>) -> Self {
        let measures: Vec<Measures> = answers.iter().map(|answer| answer.measures).collect();
        Self { set: set.into(), mode, summary: summarize(&measures), answers }
    }
}

impl Report {
    /// The run of this set in this mode.
    pub fn run(&self, set: &str, mode: Mode) -> Option<&Run> {
        self.runs.iter().find(|run| run.set == set && run.mode == mode)
    }
}
