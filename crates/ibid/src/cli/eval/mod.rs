//! `ibid eval`

mod floor;
mod print;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use ibid_api::{DocumentFilter, Engine as _, Error, ErrorCode, Mode, Paging};
use ibid_core::{
    EmbeddingConfig,
    eval::{JudgedSet, Question, Report, Run, Subject, compare, plot, title_questions},
    ingest::{Progress, Step},
};

use super::{Context, Failure, Outcome, knowledge::Knowledge, search::ModeArgument};
use crate::assemble;
use floor::Floor;

/// Measure how well searches find what they should.
///
/// A set is a folder with `queries.jsonl` (`id`, `text`) and `qrels.tsv` (query, document, grade, with tabs
/// between). With a `corpus.jsonl` (`id`, `title`, `text`) the set brings its own documents, which are
/// indexed in a temporary place; without one it judges this folder, whose documents go by their paths. A
/// folder that is no set stands for all sets below it.
///
/// Without a set, every title of this folder is asked for in a person's words, and its page should come
/// first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ibid eval                                ask for every page of this folder by its title
  ibid eval judged/                        words, meaning and both, on the questions of a set
  ibid eval judged/ --compare words,hybrid what meaning adds, question by question
  ibid eval judged/ --json > before.json   keep what was found
  ibid eval judged/ --against before.json  what changed since
  ibid eval judged/ --svg plot.svg         draw it")]
pub struct EvalArguments {
    /// Folders of judged sets.
    #[arg(value_name = "SET")]
    pub sets: Vec<PathBuf>,
    /// Which legs run; repeat for several. All of them when not given.
    #[arg(short, long)]
    pub mode: Vec<ModeArgument>,
    /// Compare two modes question by question.
    #[arg(long, value_name = "MODE,MODE", value_parser = pair)]
    pub compare: Option<(ModeArgument, ModeArgument)>,
    /// Compare with a report that `--json` gave earlier.
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// How many of the questions that differ most are shown.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub changes: usize,
    /// Draw nDCG@10 with its interval into this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Keep the index of each set in this folder, and use it again the next time.
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    /// Fail when nDCG@10 of any row, or of the rows of one mode, is below this; repeat for several modes.
    #[arg(long, value_name = "[MODE=]NDCG")]
    pub require: Vec<Floor>,
    /// Print one JSON document, with every question.
    #[arg(long)]
    pub json: bool,
}

fn pair(text: &str) -> Result<(ModeArgument, ModeArgument), String> {
    let (before, after) = text.split_once(',').ok_or("give two modes with a comma between")?;
    Ok((floor::mode(before)?, floor::mode(after)?))
}

pub(super) async fn run(arguments: &EvalArguments, context: &Context) -> Outcome {
    let here = &context.config.surroundings.current_dir;
    // A report that cannot be read should not be found out after minutes of work.
    let earlier = arguments.against.as_ref().map(|file| earlier(&here.join(file))).transpose()?;
    let modes = modes(arguments, context);
    let mut report = Report::default();
    if arguments.sets.is_empty() {
        let (subject, knowledge) = existing(context, &modes).await?;
        let all = Paging { limit: u32::MAX, offset: 0 };
        let documents = subject.engine().documents(DocumentFilter::default(), all).await?.items;
        report.runs = ask("titles", &subject, &title_questions(&documents), &modes, &knowledge).await?;
    }
    for (name, folder) in named_sets(&arguments.sets, here)? {
        report.runs.extend(ask_set(&name, &folder, &modes, arguments, context).await?);
    }
    compare_all(&mut report, arguments, earlier.as_ref());
    if let Some(file) = &arguments.svg {
        fs::write(here.join(file), plot(&report.runs)).map_err(|error| {
            Error::new(ErrorCode::StorageUnavailable, format!("the plot cannot be written: {}", error.kind()))
        })?;
    }
    print::print(&report, arguments, context)?;
    let poor = floor::below(&report.runs, &arguments.require);
    for complaint in &poor {
        context.printer.note(complaint);
    }
    if poor.is_empty() { Ok(()) } else { Err(Failure::Told) }
}

/// The modes asked for, else those that work here.
fn modes(arguments: &EvalArguments, context: &Context) -> Vec<Mode> {
    let mut modes: Vec<Mode> = arguments.mode.iter().map(|&mode| mode.into()).collect();
    if let Some((before, after)) = arguments.compare {
        modes.extend([Mode::from(before), after.into()]);
    } else if modes.is_empty() {
        let words_only = !context.config.values.embedding.enabled;
        let all = [Mode::Lexical, Mode::Embedding, Mode::Hybrid];
        modes.extend(&all[..if words_only { 1 } else { all.len() }]);
    }
    let mut seen = Vec::new();
    modes.retain(|mode| {
        !seen.contains(mode) && {
            seen.push(*mode);
            true
        }
    });
    modes
}

fn earlier(file: &Path) -> Outcome<Report> {
    let unusable = |why: &str| {
        Error::new(ErrorCode::InvalidParameter, format!("the earlier report {why}"))
            .with_hint("`ibid eval --json > FILE` makes one")
    };
    let text = fs::read_to_string(file).map_err(|_| unusable("cannot be read"))?;
    Ok(serde_json::from_str(&text).map_err(|_| unusable("is not one"))?)
}

/// Every set with a name: that of its folder, or its path below the folder that was given.
fn named_sets(given: &[PathBuf], here: &Path) -> Outcome<Vec<(String, PathBuf)>> {
    let mut sets: Vec<(String, PathBuf)> = Vec::new();
    for given in given {
        let folder = here.join(given);
        let found = JudgedSet::folders(&folder);
        if found.is_empty() {
            let shown = given.display();
            let error = format!("`{shown}` is not a judged set: `queries.jsonl` cannot be read");
            return Err(Error::new(ErrorCode::InvalidParameter, error)
                .with_hint("`ibid eval --help` says what a set is made of")
                .into());
        }
        for set in found {
            let below = set.strip_prefix(&folder).ok().filter(|below| *below != Path::new(""));
            let last = set.file_name().map(Path::new);
            let name = below.or(last).map_or_else(|| "set".to_owned(), |name| name.display().to_string());
            let known = sets.iter().filter(|(other, _)| *other == name).count();
            sets.push((if known > 0 { format!("{name} ({})", known + 1) } else { name }, set));
        }
    }
    Ok(sets)
}

async fn ask_set(
    name: &str,
    folder: &Path,
    modes: &[Mode],
    arguments: &EvalArguments,
    context: &Context,
) -> Outcome<Vec<Run>> {
    let set = JudgedSet::read(folder).map_err(|error| {
        Error::new(ErrorCode::InvalidParameter, format!("`{name}` is not a judged set: {error}"))
            .with_hint("`ibid eval --help` says what a set is made of")
    })?;
    if set.corpus.is_empty() {
        let (subject, knowledge) = existing(context, modes).await?;
        return ask(name, &subject, &set.questions, modes, &knowledge).await;
    }
    let temporary = tempfile::tempdir()
        .map_err(|_| Error::new(ErrorCode::StorageUnavailable, "there is no room for temporary files"))?;
    let here = &context.config.surroundings.current_dir;
    let kept = arguments.keep.as_ref().map(|keep| here.join(keep).join(name.replace(['/', '\\'], "-")));
    let place = kept.as_deref().unwrap_or_else(|| temporary.path());
    let knowledge = Knowledge::open(context)?;
    let mut like = assemble::core_config(&context.config.values, &knowledge.place);
    if modes.iter().all(|mode| *mode == Mode::Lexical) {
        like.embedding = EmbeddingConfig::Disabled;
    }
    let subject = Subject::of_set(&set, place, like, knowledge.progress()).await?;
    ask(name, &subject, &set.questions, modes, &knowledge).await
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
) -> Outcome<Vec<Run>> {
    let progress: Arc<dyn Progress> = knowledge.progress();
    let mut runs = Vec::new();
    for &mode in modes {
        progress.begin(Step::Index, Some(questions.len() as u64));
        let answers = subject.answers(questions, mode, progress.as_ref()).await?;
        progress.end();
        runs.push(Run::new(set, mode, answers));
    }
    Ok(runs)
}

fn compare_all(report: &mut Report, arguments: &EvalArguments, earlier: Option<&Report>) {
    let mut found = Vec::new();
    if let Some((before, after)) = arguments.compare {
        let (before, after) = (Mode::from(before), Mode::from(after));
        for run in report.runs.iter().filter(|run| run.mode == after) {
            if let Some(other) = report.run(&run.set, before) {
                found.push(compare((before.as_str(), other), (after.as_str(), run)));
            }
        }
    }
    for run in earlier.iter().flat_map(|_| &report.runs) {
        if let Some(other) = earlier.and_then(|earlier| earlier.run(&run.set, run.mode)) {
            let mode = run.mode.as_str();
            found.push(compare((&format!("{mode}, earlier"), other), (mode, run)));
        }
    }
    report.comparisons = found;
}
