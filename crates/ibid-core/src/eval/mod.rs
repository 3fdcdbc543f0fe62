//! Evaluation: judged questions in, measures of ranking quality out.

mod measure;
mod questions;
mod set;

pub use measure::{Measures, Summary, measure, summarize};
pub use questions::title_questions;
pub use set::{JudgedSet, Question, SetError};
