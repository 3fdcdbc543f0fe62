//! First index of a tree: CPU time beside the sum of its floors, memory, disk.

use super::{
    Outcome, child, floors,
    measure::{Cost, disk_bytes},
    options::Options,
    report::{Goal, Report, Row},
    world::World,
};

const GROUP: &str = "first index";

pub(crate) fn run(world: &World, _: &Options, report: &mut Report) -> Outcome {
    let floors = floors::measure(world)?;
    let part = |name: &str, cost: Cost| {
        Row::new(GROUP, format!("floor, {name}"), cost.cpu, "ms CPU")
            .remark(format!("{:.0} ms wall", cost.wall))
    };
    report.add(part("read and parse", floors.parse));
    report.add(part("bare Tantivy, same terms in the same fields", floors.lexical));
    report.add(part("bare Tantivy, text and title only (not in the sum)", floors.lexical_text_only));
    report.add(part("bare SQLite, same rows", floors.record));
    let indexed = child::index(&world.root(), &world.data())?;
    if indexed.reply.documents != world.files() as u64 {
        return Err(format!("{} of {} files were indexed", indexed.reply.documents, world.files()).into());
    }
    report.note(format!("{} chunks (floors: {})", indexed.reply.chunks, floors.chunks));
    report.add(
        Row::new(GROUP, "everything", indexed.cost.cpu, "ms CPU")
            .floor(floors.cpu())
            .goal(Goal::Ratio(1.5))
            .remark(format!("{:.0} ms wall", indexed.cost.wall)),
    );
    report.add(Row::new(GROUP, "peak memory", indexed.peak, "MB").goal(Goal::Value(300.0)));
    disk(world, report)
}

/// A tree of many small files, where the cost per file counts.
pub(crate) fn run_small(world: &World, report: &mut Report) -> Outcome {
    const GROUP: &str = "small files";
    let indexed = child::index(&world.root(), &world.data())?;
    let per_file = indexed.cost.cpu * 1e3 / world.files() as f64;
    report.add(
        Row::new(GROUP, "first index", indexed.cost.cpu, "ms CPU")
            .remark(format!("{per_file:.0} µs a file, {:.0} ms wall", indexed.cost.wall)),
    );
    report.add(Row::new(GROUP, "peak memory", indexed.peak, "MB").goal(Goal::Value(300.0)));
    disk(world, report)
}

pub(crate) fn disk(world: &World, report: &mut Report) -> Outcome {
    let bytes = disk_bytes(&world.data())? as f64 / 1e6;
    report.add(
        Row::new("disk", "data directory", bytes, "MB").floor(world.megabytes()).remark("floor: the files"),
    );
    Ok(())
}
