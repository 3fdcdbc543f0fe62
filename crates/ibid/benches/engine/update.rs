//! Updates of an indexed tree: nothing changed, one document, a renamed folder.

use std::fs;

use ibid_api::{IndexScope, RelPath, SearchRequest};

use super::{
    Outcome, floors,
    measure::{Cost, measured, quantile},
    options::Options,
    report::{Goal, Report, Row},
    world::{Knowledge, SOURCE, World},
};

/// What is updated, and under which name it is reported.
struct Update<'a> {
    group: &'static str,
    world: &'a World,
    knowledge: Knowledge,
    rounds: usize,
}

pub(crate) fn run(group: &'static str, world: &World, options: &Options, report: &mut Report) -> Outcome {
    let knowledge = Knowledge::open(&world.root(), &world.data())?;
    let update = Update { group, world, knowledge, rounds: options.rounds };
    nothing_changed(&update, report)?;
    one_document(&update, report)?;
    renamed_folder(&update, report)
}

fn nothing_changed(update: &Update<'_>, report: &mut Report) -> Outcome {
    let Update { group, world, knowledge, rounds } = update;
    let read_before = knowledge.files_read();
    let (mut walks, mut updates) = (Vec::new(), Vec::new());
    for _ in 0..*rounds {
        let (files, cost) = measured(|| floors::walk(&world.root()))?;
        walks.push(cost);
        let (reply, cost) = measured(|| knowledge.index(IndexScope::Changes))?;
        if reply.unchanged != files || reply.added + reply.changed + reply.removed != 0 {
            return Err(format!("{} of {files} files are unchanged", reply.unchanged).into());
        }
        updates.push(cost);
    }
    if knowledge.files_read() != read_before {
        return Err("an update without changes read files".into());
    }
    report.add(
        Row::new(group, "nothing changed", cpu(&updates, 0.5), "ms CPU")
            .floor(cpu(&walks, 0.5))
            .goal(Goal::Ratio(3.0))
            .remark(format!("{:.1} ms wall; floor: walk with stat", wall(&updates, 0.5))),
    );
    Ok(())
}

fn one_document(update: &Update<'_>, report: &mut Report) -> Outcome {
    let Update { group, world, knowledge, rounds } = update;
    for (name, whole) in [("one document, searchable", false), ("one document found by a walk", true)] {
        let mut costs = Vec::new();
        for round in 0..*rounds {
            let number = round * world.corpus.pages() / rounds;
            let page = world.corpus.page(number, 1 + round as u64);
            let mark = mark(round as u64 * 2 + u64::from(whole));
            fs::write(world.root().join(&page.path), format!("{}\n{mark}\n", page.text))?;
            let scope = if whole {
                IndexScope::Changes
            } else {
                IndexScope::Paths { source: SOURCE.to_owned(), paths: vec![RelPath::parse(&page.path)?] }
            };
            let (reply, cost) = measured(|| {
                knowledge.index(scope)?;
                knowledge.search(SearchRequest::new(mark.as_str(), 1))
            })?;
            let found = reply.hits.first().map(|hit| hit.document.path.to_string());
            if found.as_deref() != Some(page.path.as_str()) {
                return Err(format!("{} is not searchable, found {found:?}", page.path).into());
            }
            costs.push(cost);
        }
        report.add(
            Row::new(group, name, wall(&costs, 0.5), "ms wall").goal(Goal::Value(100.0)).remark(format!(
                "{:.1} ms CPU; worst {:.1} ms wall",
                cpu(&costs, 0.5),
                wall(&costs, 1.0)
            )),
        );
    }
    Ok(())
}

fn renamed_folder(update: &Update<'_>, report: &mut Report) -> Outcome {
    let Update { group, world, knowledge, .. } = update;
    let root = world.root();
    let first = world.corpus.path(0);
    let (folder, _) = first.split_once('/').ok_or("the first page lies in no folder")?;
    fs::rename(root.join(folder), root.join("renamed"))?;
    let (reply, cost) = measured(|| knowledge.index(IndexScope::Changes))?;
    report.add(
        Row::new(group, "folder renamed", cost.cpu, "ms CPU").remark(format!(
            "{} files added, {} removed; {:.0} ms wall",
            reply.added, reply.removed, cost.wall
        )),
    );
    fs::rename(root.join("renamed"), root.join(folder))?;
    knowledge.index(IndexScope::Changes)?;
    Ok(())
}

/// A word that is nowhere in the tree, and near no other one.
pub(crate) fn mark(number: u64) -> String {
    let mut rest = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut letters = String::from("q");
    while rest > 0 {
        letters.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    letters
}

fn cpu(costs: &[Cost], share: f64) -> f64 {
    quantile(&costs.iter().map(|cost| cost.cpu).collect::<Vec<_>>(), share)
}

fn wall(costs: &[Cost], share: f64) -> f64 {
    quantile(&costs.iter().map(|cost| cost.wall).collect::<Vec<_>>(), share)
}
