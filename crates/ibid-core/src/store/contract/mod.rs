//! What every backend must do: one suite, run against each of them.

mod legs;
mod linking;
mod meaning;
mod recording;
mod samples;

pub(crate) use samples::{batch, document, embedding, meaning as by_meaning, words};

use super::Store;

/// Runs the whole suite; every part starts with a new, empty store.
pub(crate) fn run_all(make: impl Fn() -> Box<dyn Store>) {
    for (name, check) in recording::ALL.iter().chain(legs::ALL).chain(meaning::ALL).chain(linking::ALL) {
        eprintln!("contract: {name}");
        check(&*make());
    }
}

/// A part of the suite with its name.
type Check = (&'static str, fn(&dyn Store));
