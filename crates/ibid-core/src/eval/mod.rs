//! Evaluation: judged questions in, measures of ranking quality out.

mod compare;
mod corpus;
mod measure;
mod plot;
mod questions;
mod report;
mod resample;
mod run;
mod set;

pub use compare::{Change, Comparison, compare};
pub use corpus::{Ask, Asked, Corpus, CorpusPage, Shape, Written};
pub use measure::{Measures, Summary, measure, summarize};
pub use plot::plot;
pub use questions::title_questions;
pub use report::{Answer, Report, Run};
pub use run::Subject;
pub use set::{JudgedSet, Question, SetError};
