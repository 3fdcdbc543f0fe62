//! `ibid eval`

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use ibid_api::{DocumentFilter, Engine as _, Error, ErrorCode, Mode, Paging};
use ibid_core::{
    EmbeddingConfig,
    eval::{JudgedSet, Question, Subject, Summary, summarize, title_questions},
    ingest::{Progress, Step},
};
use serde::Serialize;

use super::{Context, Failure, Outcome, knowledge::Knowledge, search::ModeArgument};
use crate::ui::table::Table;

/// Measure how well searches find what they should.
///
/// A set is a folder with `queries.jsonl` (`id`, `text`) and `qrels.tsv` (query, document, grade, with tabs
/// between). With a `corpus.jsonl` (`id`, `title`, `text`) the set brings its own documents, which are
/// indexed in a temporary place; without one it judges this folder, whose documents go by their paths.
///
/// Without a set, every title of this folder is asked for in a person's words, and its page should come
/// first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ibid eval                             ask for every page of this folder by its title
  ibid eval judged/                     run the questions of a set
  ibid eval --mode lexical --json a b   two sets, words only, for programs")]
pub struct EvalArguments {
    /// Folders of judged sets.
    #[arg(value_name = "SET")]
    pub sets: Vec<PathBuf>,
    /// Which legs run; repeat for several. All of them when not given.
    #[arg(short, long)]
    pub mode: Vec<ModeArgument>,
    /// Fail when nDCG@10 of any row is below this.
    #[arg(long, value_name = "NDCG")]
    pub require: Option<f64>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Row {
    set: String,
    mode: Mode,
    #[serde(flatten)]
    summary: Summary,
}

pub(super) async fn run(arguments: &EvalArguments, context: &Context) -> Outcome {
    let modes: Vec<Mode> = if arguments.mode.is_empty() {
        vec![Mode::Lexical, Mode::Embedding, Mode::Hybrid]
    } else {
        arguments.mode.iter().map(|&mode| mode.into()).collect()
    };
    let mut rows = Vec::new();
    if arguments.sets.is_empty() {
        let (subject, knowledge) = existing(context, &modes).await?;
        let all = Paging { limit: u32::MAX, offset: 0 };
        let documents = subject.engine().documents(DocumentFilter::default(), all).await?.items;
        rows.extend(ask("titles", &subject, &title_questions(&documents), &modes, &knowledge).await?);
    }
    for folder in &arguments.sets {
        let name =
            folder.file_name().map_or_else(|| "set".to_owned(), |name| name.to_string_lossy().into_owned());
        let set =
            JudgedSet::read(&context.config.surroundings.current_dir.join(folder)).map_err(|error| {
                Error::new(ErrorCode::InvalidParameter, format!("`{name}` is not a judged set: {error}"))
                    .with_hint("`ibid eval --help` says what a set is made of")
            })?;
        if set.corpus.is_empty() {
            let (subject, knowledge) = existing(context, &modes).await?;
            rows.extend(ask(&name, &subject, &set.questions, &modes, &knowledge).await?);
        } else {
            let place = tempfile::tempdir().map_err(|_| {
                Error::new(ErrorCode::StorageUnavailable, "there is no room for temporary files")
            })?;
            let knowledge = Knowledge::open(context)?;
            let words_only = modes.iter().all(|mode| *mode == Mode::Lexical);
            let embedding = if words_only { EmbeddingConfig::Disabled } else { EmbeddingConfig::Builtin };
            let subject = Subject::of_set(&set, place.path(), embedding, knowledge.progress()).await?;
            rows.extend(ask(&name, &subject, &set.questions, &modes, &knowledge).await?);
        }
    }
    print(&rows, arguments.json, context)?;
    let poor = |required: f64| rows.iter().any(|row| row.summary.mean.ndcg_10 < required);
    if arguments.require.is_some_and(poor) { Err(Failure::Told) } else { Ok(()) }
}

/// The knowledge base of this folder, up to date, with embeddings where they are asked for.
async fn existing<'a>(context: &'a Context, modes: &[Mode]) -> Outcome<(Subject, Knowledge<'a>)> {
    let knowledge = Knowledge::open(context)?;
    knowledge.index(ibid_api::IndexScope::Changes, false).await?;
    if modes.iter().any(|mode| *mode != Mode::Lexical) {
        knowledge.embed().await?;
    }
    Ok((Subject::existing(knowledge.local()), knowledge))
}

async fn ask(
    set: &str,
    subject: &Subject,
    questions: &[Question],
    modes: &[Mode],
    knowledge: &Knowledge<'_>,
) -> Outcome<Vec<Row>> {
    let progress: Arc<dyn Progress> = knowledge.progress();
    let mut rows = Vec::new();
    for &mode in modes {
        progress.begin(Step::Index, Some(questions.len() as u64));
        let measures = subject.measures(questions, mode, progress.as_ref()).await?;
        progress.end();
        rows.push(Row { set: set.to_owned(), mode, summary: summarize(&measures) });
    }
    Ok(rows)
}

fn print(rows: &[Row], json: bool, context: &Context) -> Outcome {
    if json {
        return context.printer.json(&rows);
    }
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
    for row in rows {
        let (mean, summary) = (&row.summary.mean, &row.summary);
        let figure = |value: f64| format!("{value:.3}");
        table.row([
            row.set.clone(),
            row.mode.as_str().to_owned(),
            summary.questions.to_string(),
            figure(mean.ndcg_10),
            format!("{:.3}–{:.3}", summary.ndcg_low, summary.ndcg_high),
            figure(mean.recall_10),
            figure(mean.recall_100),
            figure(mean.mrr),
            figure(mean.hit_1),
        ]);
    }
    context.printer.write(table.render(context.printer.width()).as_bytes())
}
