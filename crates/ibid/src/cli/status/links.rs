//! Links that lead to no document, or could lead to several.

use ibid_core::engine::{LinkReport, LostLink};
use serde_json::{Value, json};

use super::super::{Context, Outcome, time::count};
use crate::ui::{printer::PLACE, text::safe};

/// For programs.
pub(super) fn json(links: &LinkReport) -> Value {
    let lost = |lost: &LostLink| {
        json!({
            "source": lost.source,
            "path": lost.path,
            "line": lost.link.line,
            "target": lost.link.name,
            "heading": lost.link.fragment,
        })
    };
    json!({
        "resolved": links.resolved,
        "unresolved": links.unresolved.iter().map(lost).collect::<Vec<_>>(),
    })
}

/// For people.
pub(super) fn show(links: &LinkReport, context: &Context) -> Outcome {
    let lost = links.unresolved.len() as u64;
    let all = count(links.resolved + lost, "link");
    context
        .printer
        .line(format_args!("\n{all}, {lost} that lead to no document or could lead to several"))?;
    for LostLink { path, link, .. } in &links.unresolved {
        let heading = link.fragment.as_ref().map_or_else(String::new, |heading| format!("#{heading}"));
        let target = format!("{}{heading}", link.name);
        context.printer.line(format_args!(
            "  {PLACE}{}:{}{PLACE:#}  {}",
            safe(path.as_str()),
            link.line,
            safe(&target)
        ))?;
    }
    Ok(())
}
