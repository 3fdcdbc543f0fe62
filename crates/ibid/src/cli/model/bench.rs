//! `ibid model bench`

use std::{
    fs,
    time::{Duration, Instant},
};

use ibid_api::Result;
use ibid_core::{EmbeddingConfig, embed::Embedder};
use serde::Serialize;

use super::{
    super::{Context, Outcome},
    shelf::{self, Model},
};

/// Questions as people ask them.
const QUERIES: [&str; 6] = [
    "how do I undo the last commit",
    "restore a deleted branch",
    "what is the difference between a mutex and a semaphore",
    "configure the retry policy of the client",
    "maximum size of a request body",
    "why does my container exit immediately after it starts",
];
/// A paragraph of documentation.
const PASSAGE: &str = "The index is built in the background and answers as soon as the first batch is \
    committed. Every batch is written to a log before it is applied, so a process that stops in the middle \
    continues where it was. Readers see the last committed batch and never wait for a writer. ";
/// Paragraphs of one text.
const PARAGRAPHS: usize = 4;
/// No part takes much longer than this.
const PATIENCE: Duration = Duration::from_secs(3);
/// At most so many queries.
const MOST_QUERIES: usize = 300;

/// What was measured, on one thread.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Measured {
    name: String,
    model: String,
    dimensions: usize,
    load_ms: f64,
    query_p50_ms: f64,
    query_p99_ms: f64,
    passages_per_second: f64,
    /// Word pieces; absent for a model that does not tell how it cuts texts.
    pieces_per_second: Option<f64>,
    /// What the process takes in memory; absent where the system does not tell.
    memory_mb: Option<f64>,
    /// What times are: `cpu`, which does not depend on what else the machine does, or `wall`.
    clock: Clock,
}

/// How time is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Clock {
    /// Processor time of this thread.
    Cpu,
    /// Time that passes.
    Wall,
}

impl Clock {
    /// Processor time where the system tells it and the model works in this process.
    fn of(model: &Model) -> Self {
        let elsewhere = matches!(model.config, EmbeddingConfig::Endpoint(_));
        if elsewhere || processor_time().is_none() { Self::Wall } else { Self::Cpu }
    }

    /// Runs work and says how long it took.
    fn measure<T>(self, work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
        let (started, before) = (Instant::now(), processor_time());
        let made = work()?;
        let time = match (self, before, processor_time()) {
            (Self::Cpu, Some(before), Some(after)) => after.saturating_sub(before),
            _ => started.elapsed(),
        };
        Ok((made, time))
    }
}

/// Processor time of this thread, where the system tells.
fn processor_time() -> Option<Duration> {
    let times = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    times.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

pub(super) fn run(context: &Context, name: Option<&str>, json: bool) -> Outcome {
    let model = match name {
        Some(name) => shelf::find(context, name)?,
        None => shelf::models(context)
            .into_iter()
            .find(|model| model.in_use)
            .map_or_else(|| shelf::find(context, shelf::BUILTIN), Ok)?,
    };
    let measured = measure(&model)?;
    if json {
        return context.printer.json(&measured);
    }
    let print = |what: &str, value: String| context.printer.line(format_args!("{what:<12} {value}"));
    print("model", format!("{}, {} dimensions", measured.name, measured.dimensions))?;
    let clock = match measured.clock {
        Clock::Cpu => "ms of processor time",
        Clock::Wall => "ms",
    };
    print("load", format!("{:.2} {clock}", measured.load_ms))?;
    print("query", format!("{:.2} p50, {:.2} p99 {clock}", measured.query_p50_ms, measured.query_p99_ms))?;
    let pieces =
        measured.pieces_per_second.map_or_else(String::new, |speed| format!("{speed:.0} pieces/s, "));
    print("texts", format!("{pieces}{:.1} passages/s on one thread", measured.passages_per_second))?;
    if let Some(memory) = measured.memory_mb {
        print("memory", format!("{memory:.1} MB"))?;
    }
    Ok(())
}

fn measure(model: &Model) -> Result<Measured> {
    let clock = Clock::of(model);
    let (embedder, load) = clock.measure(|| {
        let embedder = shelf::open(model)?;
        // Cutting a text into pieces needs all that was put off.
        embedder.pieces(QUERIES[0]);
        Ok(embedder)
    })?;
    let embed = |query: &str| embedder.embed_query(query).map_err(|error| shelf::unusable(&error));
    embed(QUERIES[0])?;
    let mut times = Vec::new();
    let started = Instant::now();
    while times.len() < MOST_QUERIES && (times.len() < QUERIES.len() || started.elapsed() < PATIENCE) {
        let query = QUERIES[times.len() % QUERIES.len()];
        times.push(clock.measure(|| embed(query))?.1);
    }
    times.sort_unstable();
    let at = |share: f64| milliseconds(times[((times.len() - 1) as f64 * share).round() as usize]);
    let (passages, time) = clock.measure(|| passages(embedder.as_ref()))?;
    let speed = f64::from(passages) / time.as_secs_f64();
    let pieces = embedder.pieces(&PASSAGE.repeat(PARAGRAPHS));
    Ok(Measured {
        name: model.name.clone(),
        model: embedder.model().to_owned(),
        dimensions: embedder.dimensions(),
        load_ms: milliseconds(load),
        query_p50_ms: at(0.5),
        query_p99_ms: at(0.99),
        passages_per_second: speed,
        pieces_per_second: pieces.map(|pieces| pieces as f64 * speed),
        memory_mb: memory(),
        clock,
    })
}

/// Embeds passages one after the other for a while; says how many.
fn passages(embedder: &dyn Embedder) -> Result<u32> {
    let text = PASSAGE.repeat(PARAGRAPHS);
    let started = Instant::now();
    let mut done = 0;
    while done == 0 || started.elapsed() < PATIENCE {
        embedder.embed_passages(&[text.as_str()]).map_err(|error| shelf::unusable(&error))?;
        done += 1;
    }
    Ok(done)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Memory of this process, where the system tells.
fn memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}
