//! Queries by kind, with and without filters, beside the same words asked of a bare index.

use ibid_api::{Filter, SearchRequest};
use ibid_core::eval::{Ask, Asked};

use super::{
    Outcome, child, cold, first_index,
    measure::{Cost, measured, quantile},
    options::{Group, Options},
    raw_index::RawIndex,
    report::{Goal, Report, Row},
    world::{Knowledge, World},
};

const GROUP: &str = "query";

pub(crate) fn run(world: &World, options: &Options, report: &mut Report) -> Outcome {
    let indexed = child::index(&world.root(), &world.data())?;
    report.note(format!(
        "queries over {} chunks of {} files, {:.1} MB; indexed in {:.1} s CPU",
        indexed.reply.chunks,
        world.files(),
        world.megabytes(),
        indexed.cost.cpu / 1e3
    ));
    report
        .add(Row::new(GROUP, "peak memory of the first index", indexed.peak, "MB").goal(Goal::Value(300.0)));
    first_index::disk(world, report)?;
    if options.runs(Group::Query) {
        memory(world, report)?;
        let knowledge = Knowledge::open(&world.root(), &world.data())?;
        let raw = RawIndex::build(world, &world.anew("floor-query")?)?;
        for kind in Ask::ALL {
            by_kind(world, &knowledge, &raw, kind, options, report)?;
        }
    }
    if options.runs(Group::Cold) {
        cold::run(world, options, report)?;
    }
    Ok(())
}

fn memory(world: &World, report: &mut Report) -> Outcome {
    let query = world.corpus.ask(Ask::Question, 0).query;
    let idle = child::reader(&world.root(), &world.data(), &query)?;
    if let (Some(opened), Some(searched)) = (idle.opened, idle.searched) {
        report.add(
            Row::new(GROUP, "memory of an idle reader", searched.own, "MB").goal(Goal::Value(60.0)).remark(
                format!(
                    "before its first search {:.1}; with mapped files {:.1}",
                    opened.own, searched.resident
                ),
            ),
        );
    }
    Ok(())
}

fn by_kind(
    world: &World,
    knowledge: &Knowledge,
    raw: &RawIndex,
    kind: Ask,
    options: &Options,
    report: &mut Report,
) -> Outcome {
    let asked: Vec<Asked> = (0..options.queries).map(|number| world.corpus.ask(kind, number)).collect();
    // Once through first: what is measured is a reader that has been used.
    for one in &asked {
        raw.search(kind, &one.query)?;
    }
    let floors: Vec<f64> = asked
        .iter()
        .map(|one| Ok(measured(|| raw.search(kind, &one.query))?.1.cpu))
        .collect::<Outcome<_>>()?;
    let filters = [
        ("", Filter::default()),
        (", tag of 26 %", Filter { tags: vec!["guide".to_owned()], ..Filter::default() }),
        (", tag of 1 %", Filter { tags: vec!["draft".to_owned()], ..Filter::default() }),
        (", path", Filter { paths: vec!["shelf-00*/**".to_owned()], ..Filter::default() }),
    ];
    for (name, filter) in filters {
        let mut costs: Vec<Cost> = Vec::new();
        let mut found = 0;
        for (place, one) in asked.iter().chain(&asked).enumerate() {
            let request = SearchRequest {
                filter: filter.clone(),
                prefix: one.prefix,
                ..SearchRequest::new(one.query.as_str(), 10)
            };
            let (reply, cost) = measured(|| knowledge.search(request))?;
            if place >= asked.len() {
                costs.push(cost);
                let here = |path: &ibid_api::RelPath| path.as_str() == one.path;
                found += usize::from(reply.hits.iter().any(|hit| here(&hit.document.path)));
            }
        }
        let cpu: Vec<f64> = costs.iter().map(|cost| cost.cpu).collect();
        let wall: Vec<f64> = costs.iter().map(|cost| cost.wall).collect();
        let answered = if filter.is_empty() {
            format!(", answer among the ten: {:.0} %", 100.0 * found as f64 / asked.len() as f64)
        } else {
            String::new()
        };
        for (quantile_name, share, goal) in [("p50", 0.5, 3.0), ("p99", 0.99, 20.0)] {
            report.add(
                Row::new(
                    GROUP,
                    format!("{}{name}, {quantile_name}", kind.name()),
                    quantile(&cpu, share),
                    "ms CPU",
                )
                .floor(quantile(&floors, share))
                .goal(Goal::Value(goal))
                .remark(format!("{:.2} ms wall{answered}", quantile(&wall, share))),
            );
        }
    }
    Ok(())
}
