//! A search by a new process: start, open, answer, end.

use std::{fs, process::Command, time::Instant};

use ibid_core::eval::Ask;

use super::{
    Outcome,
    measure::{milliseconds, quantile},
    options::Options,
    report::{Goal, Report, Row},
    world::World,
};

pub(crate) fn run(world: &World, options: &Options, report: &mut Report) -> Outcome {
    let home = world.beside("home")?;
    // The command line finds its data by its own rules; it makes its own index here.
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ibid"));
        command
            .args(arguments)
            .current_dir(world.root())
            .env("HOME", &home)
            .env("IBID_DATA_DIR", home.join("data"))
            .env("IBID_EMBEDDING_ENABLED", "false");
        command
    };
    let status = command(&["index", "--quiet"]).status()?;
    if !status.success() {
        return Err(format!("`ibid index` failed with {status}").into());
    }
    let before = children_ticks();
    let mut walls = Vec::new();
    for number in 0..options.rounds {
        let query = world.corpus.ask(Ask::Question, number).query;
        let started = Instant::now();
        let output = command(&["search", "--json", &query]).output()?;
        walls.push(milliseconds(started.elapsed()));
        if !output.status.success() {
            return Err(format!("`ibid search` failed with {}", output.status).into());
        }
    }
    let cpu = match (before, children_ticks()) {
        // A tick is ten milliseconds on every Linux.
        (Some(before), Some(after)) => {
            format!("{:.0} ms CPU", (after - before) * 10.0 / options.rounds as f64)
        }
        _ => String::new(),
    };
    report.add(
        Row::new("cold", "`ibid search` from a new process, p50", quantile(&walls, 0.5), "ms wall")
            .goal(Goal::Value(60.0))
            .remark(format!("{cpu}; best {:.1}, worst {:.1}", quantile(&walls, 0.0), quantile(&walls, 1.0))),
    );
    Ok(())
}

/// CPU time of ended child processes.
fn children_ticks() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit(") ").next()?.split(' ').skip(13);
    Some(fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?)
}
