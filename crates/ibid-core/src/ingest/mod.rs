//! Ingestion: files to a `WriteBatch`.

mod embed;
mod fingerprint;
mod gate;
mod pipeline;
mod plan;
mod prepare;
mod progress;
mod run;
mod tally;
mod write;

pub use progress::{Progress, Silent, Step};

pub(crate) use embed::{EmbedRunError, embed_pending};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use prepare::Recipe;
pub(crate) use run::{FINGERPRINT, Report, Run, RunError, UNFINISHED, threads};
