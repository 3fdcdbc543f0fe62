//! `ibid related`

use clap::Args;
use ibid_api::{DocumentKey, Error, ErrorCode, RelatedRequest};

use super::{
    Context, Outcome,
    filter::FilterArguments,
    knowledge::Knowledge,
    reference::Reference,
    search::{ModeArgument, OutputArguments, mode, print},
};
use crate::ui::hits::View;

/// Find what is near a document or a chunk: close in meaning, sharing words, or linked.
#[derive(Debug, Args)]
pub struct RelatedArguments {
    /// A path, a note id, or a chunk (`NOTEID:3`).
    #[arg(value_name = "REF")]
    pub reference: String,
    /// Which legs of the search run; the best available when not given.
    #[arg(short, long)]
    pub mode: Option<ModeArgument>,
    /// Show at most this many hits.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: Option<u32>,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// What to look in.
    #[command(flatten)]
    pub filter: FilterArguments,
}

pub(super) async fn run(arguments: &RelatedArguments, context: &Context) -> Outcome {
    let knowledge = Knowledge::open(context)?;
    let current_dir = &context.config.surroundings.current_dir;
    let (document, chunk_index) = match Reference::parse(&arguments.reference, current_dir, &knowledge.place)?
    {
        Reference::Document(key) => (key, None),
        Reference::Chunk(note, index) => (DocumentKey::Note(note), Some(index)),
        Reference::Section(..) | Reference::Lines(..) => {
            return Err(Error::new(
                ErrorCode::InvalidParameter,
                "neighbours are of a document or of a chunk",
            )
            .with_hint("give the path alone, or `NOTEID:3` for a chunk")
            .into());
        }
    };
    let request = RelatedRequest {
        document,
        chunk_index,
        mode: mode(arguments.mode, context),
        limit: arguments.limit.unwrap_or(context.config.values.search.limit),
        filter: arguments.filter.filter(&knowledge.place)?,
        whole_snippets: true,
    };
    let reply = knowledge
        .ask(|engine| {
            let request = request.clone();
            async move { engine.related(request).await }
        })
        .await?;
    let view = View { explain: false, sources: knowledge.place.sources.len() > 1 };
    print(&reply, arguments.output.format(context), view, context)
}
