//! Floors: what a run must reach.

use std::str::FromStr;

use clap::ValueEnum as _;
use ibid_api::Mode;
use ibid_core::eval::Run;

use crate::cli::search::ModeArgument;

/// The least nDCG@10, of one mode or of all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    mode: Option<ModeArgument>,
    ndcg: f64,
}

impl FromStr for Floor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mode, figure) = match text.split_once('=') {
            Some((name, figure)) => (Some(mode(name)?), figure),
            None => (None, text),
        };
        let ndcg = figure.parse().ok().filter(|ndcg| (0.0..=1.0).contains(ndcg));
        Ok(Self { mode, ndcg: ndcg.ok_or("give a number from 0 to 1, such as `0.7` or `hybrid=0.7`")? })
    }
}

/// A mode by its name.
pub(super) fn mode(name: &str) -> Result<ModeArgument, String> {
    ModeArgument::from_str(name.trim(), true)
        .map_err(|_| "the modes are `lexical` (words), `embedding` (meaning) and `hybrid`".to_owned())
}

/// A sentence for each run below its floor.
pub(super) fn below(runs: &[Run], floors: &[Floor]) -> Vec<String> {
    let mut poor = Vec::new();
    for run in runs {
        for floor in floors.iter().filter(|floor| floor.mode.is_none_or(|mode| Mode::from(mode) == run.mode))
        {
            let reached = run.summary.mean.ndcg_10;
            if reached < floor.ndcg {
                let (set, mode) = (&run.set, run.mode.as_str());
                poor.push(format!("{set}, {mode}: nDCG@10 is {reached:.3}, required is {:.3}", floor.ndcg));
            }
        }
    }
    poor
}

#[cfg(test)]
mod tests {
    use ibid_core::eval::{Answer, Measures};

    use super::*;

    #[test]
    fn a_floor_holds_for_its_mode_or_for_all() {
        let answer = Answer {
            id: "q".into(),
            text: "?".into(),
            measures: Measures { ndcg_10: 0.5, ..Measures::default() },
        };
        let runs =
            [Run::new("s", Mode::Lexical, vec![answer.clone()]), Run::new("s", Mode::Hybrid, vec![answer])];
        let poor = |floors: &[&str]| {
            let floors: Vec<Floor> = floors.iter().map(|text| text.parse().unwrap()).collect();
            below(&runs, &floors).len()
        };
        assert_eq!(poor(&["0.5"]), 0);
        assert_eq!(poor(&["0.6"]), 2);
        assert_eq!(poor(&["words=0.6", "hybrid=0.4"]), 1);
        assert_eq!(poor(&["embedding=1"]), 0);
    }

    #[test]
    fn what_is_no_floor_is_refused() {
        for text in ["", "high", "1.5", "hybrid=", "other=0.5", "NaN"] {
            assert!(text.parse::<Floor>().is_err(), "{text:?}");
        }
    }
}
