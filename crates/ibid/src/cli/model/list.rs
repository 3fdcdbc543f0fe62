//! `ibid model list`

use serde_json::json;

use super::{
    super::{Context, Outcome},
    shelf,
};
use crate::ui::table::Table;

pub(super) fn run(context: &Context, json: bool) -> Outcome {
    let models: Vec<_> = shelf::models(context).iter().map(shelf::describe).collect();
    if json {
        return context.printer.json(&json!({ "models": models }));
    }
    let mut table = Table::new(&["", "name", "dimensions", "size", "state"]);
    for model in models {
        table.row([
            if model.in_use { "*" } else { "" }.to_owned(),
            model.name,
            model.dimensions.map_or_else(|| "?".to_owned(), |length| length.to_string()),
            if model.disk_bytes == 0 { "-".to_owned() } else { size(model.disk_bytes) },
            model.problem.unwrap_or_else(|| "ready".to_owned()),
        ]);
    }
    context.printer.write(table.render(context.printer.width()).as_bytes())?;
    if !context.config.values.embedding.enabled {
        context.printer.note("search by meaning is turned off; `ibid config set embedding.enabled true`");
    }
    Ok(())
}

/// Bytes as megabytes.
pub(super) fn size(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
