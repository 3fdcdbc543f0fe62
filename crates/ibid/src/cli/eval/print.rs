//! Reports for people and for programs.

use ibid_core::eval::{Comparison, Report};

use super::EvalArguments;
use crate::{
    cli::{Context, Outcome},
    ui::table::Table,
};

pub(super) fn print(report: &Report, arguments: &EvalArguments, context: &Context) -> Outcome {
    let printer = &context.printer;
    if arguments.json {
        return printer.json(report);
    }
    printer.write(runs(report).render(printer.width()).as_bytes())?;
    if !report.comparisons.is_empty() {
        printer.line("")?;
        printer.write(comparisons(report).render(printer.width()).as_bytes())?;
    }
    for comparison in report.comparisons.iter().filter(|_| arguments.changes > 0) {
        let shown = &comparison.changes[..comparison.changes.len().min(arguments.changes)];
        if !shown.is_empty() {
            let Comparison { set, before, after, .. } = comparison;
            printer.line(format_args!("\n{set}, {before} to {after}"))?;
            let mut table = Table::new(&["before", "after", "question"]);
            for change in shown {
                table.row([figure(change.before), figure(change.after), change.text.clone()]);
            }
            printer.write(table.render(printer.width()).as_bytes())?;
        }
    }
    Ok(())
}

fn runs(report: &Report) -> Table {
    let mut table = Table::new(&[
        "set",
        "mode",
        "questions",
        "nDCG@10",
        "interval",
        "recall@10",
        "recall@100",
        "MRR",
        "hit@1",
    ]);
    for run in &report.runs {
        let (mean, summary) = (&run.summary.mean, &run.summary);
        table.row([
            run.set.clone(),
            run.mode.as_str().to_owned(),
            summary.questions.to_string(),
            figure(mean.ndcg_10),
            format!("{:.3}–{:.3}", summary.ndcg_low, summary.ndcg_high),
            figure(mean.recall_10),
            figure(mean.recall_100),
            figure(mean.mrr),
            figure(mean.hit_1),
        ]);
    }
    table
}

fn comparisons(report: &Report) -> Table {
    let head = ["set", "before", "after", "nDCG@10", "interval", "better", "worse", "equal", ""];
    let mut table = Table::new(&head);
    for comparison in &report.comparisons {
        let equal = comparison.questions - comparison.better - comparison.worse;
        let said = match comparison {
            _ if comparison.is_worse() => "worse",
            _ if comparison.low > 0.0 => "better",
            _ => "",
        };
        table.row([
            comparison.set.clone(),
            comparison.before.clone(),
            comparison.after.clone(),
            format!("{:+.3}", comparison.difference),
            format!("{:+.3} to {:+.3}", comparison.low, comparison.high),
            comparison.better.to_string(),
            comparison.worse.to_string(),
            equal.to_string(),
            said.to_owned(),
        ]);
    }
    table
}

fn figure(value: f64) -> String {
    format!("{value:.3}")
}
