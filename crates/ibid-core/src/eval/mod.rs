//! Evaluation: judged questions in, measures of ranking quality out.

mod corpus;
mod measure;
mod questions;
mod run;
mod set;

pub use corpus::{Ask, Asked, Corpus, CorpusPage, Shape, Written};
pub use measure::{Measures, Summary, measure, summarize};
pub use questions::title_questions;
pub use run::Subject;
pub use set::{JudgedSet, Question, SetError};
