//! What became of every file: indexed, left out and why, or failed and why.

use std::collections::BTreeMap;

use ibid_api::{FileOutcome, FileReport, Paging, SkipReason};
use ibid_core::source::{LeftOut, Rule};
use serde::Serialize;

use super::super::{Context, Outcome, knowledge::Knowledge, time::count};
use crate::ui::{
    printer::{BAD, PLACE},
    text::safe,
};

/// Files are asked for in pages of this size.
const PAGE: u32 = 1000;

/// What became of every file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Coverage {
    indexed: u64,
    skipped: BTreeMap<&'static str, u64>,
    failed: u64,
    files: Vec<FileReport>,
    /// What rules keep from being read at all; a folder stands for everything in it.
    left_out: Vec<ByRule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ByRule {
    source: String,
    path: String,
    is_folder: bool,
    rule: &'static str,
}

/// Asks for everything.
pub(super) async fn ask(knowledge: &Knowledge<'_>, context: &Context) -> Outcome<Coverage> {
    let left_out = context.interrupt.or(knowledge.local().left_out()).await?;
    let by_rule = |(source, LeftOut { path, is_folder, rule: against })| ByRule {
        source,
        path,
        is_folder,
        rule: rule(against),
    };
    let mut coverage = Coverage {
        indexed: 0,
        skipped: BTreeMap::new(),
        failed: 0,
        files: Vec::new(),
        left_out: left_out.into_iter().map(by_rule).collect(),
    };
    loop {
        let offset = u32::try_from(coverage.files.len()).unwrap_or(u32::MAX);
        let page = context.interrupt.or(knowledge.engine.files(Paging { limit: PAGE, offset })).await?;
        let is_last = page.items.len() < PAGE as usize;
        coverage.files.extend(page.items);
        if is_last {
            break;
        }
    }
    for file in &coverage.files {
        match &file.outcome {
            FileOutcome::Indexed { .. } => coverage.indexed += 1,
            FileOutcome::Skipped { reason } => *coverage.skipped.entry(skipped(*reason)).or_default() += 1,
            FileOutcome::Failed { .. } => coverage.failed += 1,
        }
    }
    Ok(coverage)
}

fn skipped(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::UnsupportedType => "of a kind that is not read",
        SkipReason::Binary => "binary",
        SkipReason::NotUtf8 => "in an unknown encoding",
        SkipReason::TooLarge => "too large",
        SkipReason::Empty => "empty",
        SkipReason::LinkOutside => "a link that leads out",
        SkipReason::BadName => "named in a way that cannot be a path",
        SkipReason::NotAFile => "not a file",
    }
}

fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::HiddenName => "its name starts with a dot",
        Rule::Index => "it is the folder of the index",
        Rule::BuiltIn => "left out of every source",
        Rule::Exclude => "an `exclude` of the configuration",
        Rule::IgnoreFile => "a `.gitignore` or `.ibidignore` file",
    }
}

/// Shows it to people.
pub(super) fn show(coverage: &Coverage, context: &Context) -> Outcome {
    let printer = &context.printer;
    let total = coverage.files.len() as u64;
    printer.line(format_args!("\n{} seen, {} indexed", count(total, "file"), coverage.indexed))?;
    for (reason, number) in &coverage.skipped {
        printer.line(format_args!("{number:>8} left out: {reason}"))?;
    }
    if coverage.failed > 0 {
        printer.line(format_args!("{BAD}{:>8} failed{BAD:#}", coverage.failed))?;
    }
    for file in &coverage.files {
        let what = match &file.outcome {
            FileOutcome::Indexed { .. } => continue,
            FileOutcome::Skipped { reason } => skipped(*reason).to_owned(),
            FileOutcome::Failed { reason } => format!("{BAD}{}{BAD:#}", safe(reason)),
        };
        printer.line(format_args!("  {PLACE}{}{PLACE:#}  {what}", safe(&file.path)))?;
    }
    if !coverage.left_out.is_empty() {
        printer
            .line(format_args!("\n{} left out by rules", count(coverage.left_out.len() as u64, "name")))?;
    }
    for left_out in &coverage.left_out {
        let slash = if left_out.is_folder { "/" } else { "" };
        printer.line(format_args!("  {PLACE}{}{slash}{PLACE:#}  {}", safe(&left_out.path), left_out.rule))?;
    }
    Ok(())
}
