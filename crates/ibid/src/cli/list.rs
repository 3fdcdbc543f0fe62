//! `ibid list`

use clap::Args;
use ibid_api::{DocumentFilter, Paging};

use super::{
    Context, Outcome,
    filter::FilterArguments,
    knowledge::Knowledge,
    search::{Format, OutputArguments},
    time::{bytes, local},
};
use crate::ui::{
    table::{PATH, Table},
    text::safe,
};

/// List documents, by path.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only documents with this in their title, path, aliases or tags.
    #[arg(value_name = "TEXT")]
    pub name: Option<String>,
    /// Show at most this many.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub limit: u32,
    /// Skip this many.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub offset: u32,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// What to list.
    #[command(flatten)]
    pub filter: FilterArguments,
}

pub(super) async fn run(arguments: &ListArguments, context: &Context) -> Outcome {
    let knowledge = Knowledge::open(context)?;
    let filter =
        DocumentFilter { filter: arguments.filter.filter(&knowledge.place)?, name: arguments.name.clone() };
    let paging = Paging { limit: arguments.limit, offset: arguments.offset };
    let page = knowledge
        .ask(|engine| {
            let filter = filter.clone();
            async move { engine.documents(filter, paging).await }
        })
        .await?;
    let printer = &context.printer;
    match arguments.output.format(context) {
        Format::Json => return printer.json(&page),
        Format::JsonLines => return page.items.iter().try_for_each(|document| printer.json_line(document)),
        Format::Human => {}
    }
    let several = knowledge.place.sources.len() > 1;
    let mut table = if several {
        Table::new(&[PATH, "title", "kind", "size", "changed", "source"])
    } else {
        Table::new(&[PATH, "title", "kind", "size", "changed"])
    };
    for document in &page.items {
        let cells = [
            safe(document.path.as_str()).into_owned(),
            safe(&document.title).into_owned(),
            document.kind.as_str().to_owned(),
            bytes(document.size),
            local(document.modified_ms),
        ];
        table.row(cells.into_iter().chain(several.then(|| document.source.clone())));
    }
    if !page.items.is_empty() {
        printer.write(table.render(printer.width()).as_bytes())?;
    }
    let shown = page.items.len() as u64;
    if shown < page.total {
        printer.note(format_args!("{shown} of {} shown; `--limit` and `--offset` show more", page.total));
    }
    Ok(())
}
