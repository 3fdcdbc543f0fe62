//! Benchmarks of the engine, each beside its floor measured in the same run.
//!
//! `cargo bench -p ibid --bench engine -- [--quick] [--files N] [--chunks N] [--only GROUP] [--keep DIR] [--json]`
//!
//! CPU time is what counts: it is the same on a busy machine. Wall time stands beside it. Every measured
//! step that leaves something behind in memory runs in a process of its own.
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

mod child;
mod cold;
mod first_index;
mod floors;
mod measure;
mod options;
mod queries;
mod raw_index;
mod report;
mod update;
mod watching;
mod world;

use options::{Group, Options};
use report::Report;

/// Result of a step.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(job) = child::Job::from_arguments(&arguments)? {
        return job.run();
    }
    let options = Options::from_arguments(&arguments)?;
    let mut report = Report::default();
    if options.runs(Group::Index) || options.runs(Group::Update) {
        let world = world::World::pages(options.files)?;
        report.note(format!("{} files, {:.1} MB of Markdown", world.files(), world.megabytes()));
        first_index::run(&world, &options, &mut report)?;
        if options.runs(Group::Update) {
            update::run("update", &world, &options, &mut report)?;
            watching::run("update", &world, &options, &mut report)?;
        }
    }
    if options.runs(Group::Notes) {
        let world = world::World::notes(options.notes)?;
        report.note(format!("{} small files, {:.1} MB", world.files(), world.megabytes()));
        first_index::run_small(&world, &mut report)?;
        update::run("small files", &world, &options, &mut report)?;
        watching::run("small files", &world, &options, &mut report)?;
    }
    if options.runs(Group::Query) || options.runs(Group::Cold) {
        let world = world::World::chunks(options.chunks, options.keep.as_deref())?;
        queries::run(&world, &options, &mut report)?;
    }
    if options.json {
        println!("{}", report.json()?);
    } else {
        print!("{}", report.table());
    }
    Ok(())
}
