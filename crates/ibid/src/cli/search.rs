//! `ibid search`

use std::time::Instant;

use clap::{Args, ValueEnum};
use ibid_api::{IndexScope, Mode, SearchReply, SearchRequest, Warning, WarningCode};

use super::{Context, Outcome, filter::FilterArguments, knowledge::Knowledge, time::seconds};
use crate::ui::hits::{self, View};

/// Find passages.
///
/// Words need no quotes: `ibid search how do I rotate the keys`. A passage does not have to hold all of them;
/// the best ones come first. Words and meaning both count. An argument with a space in it, next to others, is
/// a phrase: `ibid search "blue green" deployment`.
///
/// In a folder that was never indexed, the index is made first. Results are `path:line`, which many
/// terminals and editors open.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ibid search how do I rotate the keys
  ibid search --tag ops --since 30d deployment
  ibid search --path docs --mode lexical EADDRINUSE
  ibid search --json rotate keys | jq '.hits[].document.path'")]
pub struct SearchArguments {
    /// What to look for.
    #[arg(required = true, value_name = "WORDS")]
    pub words: Vec<String>,
    /// Leave out passages with this word; repeat for several.
    #[arg(long, value_name = "WORD")]
    pub not: Vec<String>,
    /// Which legs of the search run; the best available when not given.
    #[arg(short, long)]
    pub mode: Option<ModeArgument>,
    /// Show at most this many hits.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: Option<u32>,
    /// Skip this many hits.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub offset: u32,
    /// At most this many hits of one document; 0 for no limit.
    #[arg(long, value_name = "N")]
    pub per_document: Option<u32>,
    /// Take the last word for the beginning of a word.
    #[arg(long)]
    pub prefix: bool,
    /// Say how each score came about.
    #[arg(long)]
    pub explain: bool,
    /// Bring the index up to date first.
    #[arg(short, long)]
    pub update: bool,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// What to look in.
    #[command(flatten)]
    pub filter: FilterArguments,
}

/// How to print hits and lists.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OutputArguments {
    /// Print one JSON document.
    #[arg(long, conflicts_with = "jsonl")]
    pub json: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    pub jsonl: bool,
}

/// A way to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Human,
    Json,
    JsonLines,
}

impl OutputArguments {
    pub(super) fn format(self, context: &Context) -> Format {
        match context.config.values.search.format.as_str() {
            _ if self.json => Format::Json,
            _ if self.jsonl => Format::JsonLines,
            "json" => Format::Json,
            "jsonl" => Format::JsonLines,
            _ => Format::Human,
        }
    }
}

/// Which legs of the search run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArgument {
    /// Words.
    #[value(alias = "words")]
    Lexical,
    /// Meaning.
    #[value(alias = "meaning")]
    Embedding,
    /// Both.
    Hybrid,
}

impl From<ModeArgument> for Mode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::Lexical => Self::Lexical,
            ModeArgument::Embedding => Self::Embedding,
            ModeArgument::Hybrid => Self::Hybrid,
        }
    }
}

/// The mode of a request: what was asked for, else what is configured, else the best available.
pub(super) fn mode(asked: Option<ModeArgument>, context: &Context) -> Option<Mode> {
    asked.map(Mode::from).or(match context.config.values.search.mode.as_str() {
        "lexical" => Some(Mode::Lexical),
        "embedding" => Some(Mode::Embedding),
        "hybrid" => Some(Mode::Hybrid),
        _ => None,
    })
}

pub(super) async fn run(arguments: &SearchArguments, context: &Context) -> Outcome {
    let knowledge = Knowledge::open(context)?;
    let defaults = &context.config.values.search;
    let request = SearchRequest {
        query: query(&arguments.words, &arguments.not),
        mode: mode(arguments.mode, context),
        limit: arguments.limit.unwrap_or(defaults.limit),
        offset: arguments.offset,
        filter: arguments.filter.filter(&knowledge.place)?,
        per_document: arguments.per_document.unwrap_or(defaults.per_document),
        prefix: arguments.prefix,
        explain: arguments.explain,
        whole_snippets: true,
    };
    if arguments.update {
        knowledge.index(IndexScope::Changes, false).await?;
        knowledge.embed().await?;
    } else {
        knowledge.glance().await;
    }
    let started = Instant::now();
    let reply = knowledge
        .ask(|engine| {
            let request = request.clone();
            async move { engine.search(request).await }
        })
        .await?;
    let view = View { explain: arguments.explain, sources: knowledge.place.sources.len() > 1 };
    print(&reply, arguments.output.format(context), view, context)?;
    if context.printer.is_interactive() {
        let n_hits = super::time::count(reply.hits.len() as u64, "hit");
        context.printer.note(format_args!("\n{n_hits} in {}", seconds(started.elapsed())));
    }
    Ok(())
}

/// Prints hits and the warnings that came with them.
pub(super) fn print(reply: &SearchReply, format: Format, view: View, context: &Context) -> Outcome {
    let printer = &context.printer;
    match format {
        Format::Json => return printer.json(reply),
        Format::JsonLines => reply.hits.iter().try_for_each(|hit| printer.json_line(hit))?,
        Format::Human if reply.hits.is_empty() => printer.note("nothing found"),
        Format::Human => printer.write(hits::render(reply, view, printer).as_bytes())?,
    }
    let known = |warning: &&Warning| warning.code != WarningCode::IndexUnknown;
    for warning in reply.warnings.iter().filter(known) {
        printer.warning(warning, what_to_do(warning.code));
    }
    Ok(())
}

/// What a person at a terminal can do about a warning.
fn what_to_do(code: WarningCode) -> Option<&'static str> {
    match code {
        WarningCode::IndexPending | WarningCode::IndexStale => Some("`--update` reads them first"),
        WarningCode::EmbeddingIncomplete | WarningCode::IndexEmbeddingsStale => {
            Some("`ibid index` makes the rest")
        }
        _ => None,
    }
}

/// The words as one query. The shell has taken quotes away; what still has a space in it, next to other
/// words, was meant as a phrase.
fn query(words: &[String], not: &[String]) -> String {
    let is_phrase = |word: &str| words.len() > 1 && word.contains(' ') && !word.contains('"');
    let wanted = words.iter().map(|word| if is_phrase(word) { format!("\"{word}\"") } else { word.clone() });
    let unwanted =
        not.iter().map(|word| if word.contains(' ') { format!("-\"{word}\"") } else { format!("-{word}") });
    wanted.chain(unwanted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_one_query() {
        fn check(words: &[&str], not: &[&str], want: &str) {
            let owned = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            assert_eq!(query(&owned(words), &owned(not)), want);
        }
        check(&["how", "do", "I"], &[], "how do I");
        check(&["how do I"], &[], "how do I");
        check(&["blue green", "deploy"], &[], "\"blue green\" deploy");
        check(&["tag:\"a b\"", "x"], &["y", "z w"], "tag:\"a b\" x -y -\"z w\"");
    }
}
