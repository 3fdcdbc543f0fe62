//! Search by meaning as it is used: a new process that answers one question, an open engine that answers many,
//! and the memory of a server.
//!
//! `cargo bench -p ibid --bench meaning -- [--chunks N] [--rounds N] [--program FILE]`
//!
//! `--program` measures that program from outside instead of the one built with the benchmark.
//!
//! Vectors are random directions under the name of the built-in model: searching them takes as long as
//! searching real ones, and making real ones is measured by `cargo bench --workspace --bench encoder`.
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use cpu_time::ProcessTime;
use ibid_api::{ContentHash, Engine, Filter, IndexRequest, IndexScope, Mode, SearchRequest};
use ibid_core::{
    CoreConfig, LocalEngine, SourceConfig,
    embed::BUILTIN_MODEL,
    eval::{Ask, Corpus, Shape},
    store::{EmbeddingWrite, Store, VectorQuery, WriteBatch},
};
use serde_json::{Value, json};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const DIMENSIONS: usize = 384;
/// Measured: how many chunks a page of the corpus becomes.
const CHUNKS_PER_PAGE: usize = 5;

struct World {
    folder: tempfile::TempDir,
    corpus: Corpus,
    program: PathBuf,
}

impl World {
    fn root(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The program over this tree.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.root())
            .env("HOME", self.folder.path().join("home"))
            .env("IBID_DATA_DIR", self.data());
        command
    }

    fn question(&self, number: usize) -> String {
        self.corpus.ask(Ask::Question, number).query
    }
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let option = |name: &str, usual: usize| -> Outcome<usize> {
        let Some(place) = arguments.iter().position(|argument| argument == name) else { return Ok(usual) };
        Ok(arguments.get(place + 1).ok_or_else(|| format!("`{name}` needs a number"))?.parse()?)
    };
    let (chunks, rounds) = (option("--chunks", 10_000)?, option("--rounds", 20)?);
    let program = arguments.iter().position(|argument| argument == "--program");
    let program = program.and_then(|place| arguments.get(place + 1));
    let program = program.map_or(env!("CARGO_BIN_EXE_ibid"), String::as_str);
    let world = make(chunks, fs::canonicalize(program)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let config = CoreConfig::new(world.data()).with_source(SourceConfig::new("tree", world.root()));
    let engine = LocalEngine::open(config)?;
    let request = IndexRequest { scope: IndexScope::Changes, require_embeddings: false };
    let reply = runtime.block_on(engine.index(request))?;
    let store = engine.store()?;
    let started = ProcessTime::now();
    fill(store.as_ref())?;
    let filling = started.elapsed();
    let started = ProcessTime::now();
    store.settle()?;
    println!("{} documents, {} chunks", reply.documents, reply.chunks);
    line("vectors into the record", filling, "");
    line("vector files made", started.elapsed(), &format!("{:.1} MB", size(&world.data().join("vectors"))));

    open_store(&store, rounds)?;
    let search = |number: usize| -> Outcome<()> {
        let mut request = SearchRequest::new(world.question(number), 10);
        request.mode = Some(Mode::Hybrid);
        let reply = runtime.block_on(engine.search(request))?;
        if reply.used_mode == Mode::Hybrid { Ok(()) } else { Err("a search went by words only".into()) }
    };
    let times = cpu_times(rounds * 5, search)?;
    line("hybrid search, open engine, p50", at(&times, 0.5), &format!("p99 {:.2} ms", ms(at(&times, 0.99))));
    cold(&world, rounds)?;
    server(&world)
}

fn make(chunks: usize, program: PathBuf) -> Outcome<World> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let corpus = Corpus::new(20, chunks / CHUNKS_PER_PAGE, Shape::Pages);
    let world = World { folder, corpus, program };
    world.corpus.write(&world.root())?;
    let long_ago = SystemTime::now() - Duration::from_secs(3_600);
    for number in 0..world.corpus.pages() {
        let path = world.root().join(world.corpus.path(number));
        fs::File::options().append(true).open(path)?.set_modified(long_ago)?;
    }
    Ok(world)
}

/// Gives every text a direction of its own.
fn fill(store: &dyn Store) -> Outcome {
    loop {
        let pending = store.pending_embeddings(BUILTIN_MODEL, 1_000)?;
        if pending.is_empty() {
            return Ok(());
        }
        let embeddings = pending.iter().map(|pending| EmbeddingWrite {
            hash: pending.hash,
            model: BUILTIN_MODEL.to_owned(),
            vector: direction(pending.hash),
        });
        store.apply(WriteBatch { embeddings: embeddings.collect(), ..WriteBatch::default() })?;
    }
}

fn direction(hash: ContentHash) -> Vec<f32> {
    let mut state =
        hash.as_bytes().iter().fold(1_u64, |state, byte| state * 257 % (1 << 50) + u64::from(*byte));
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let vector: Vec<f32> = (0..DIMENSIONS).map(|_| next()).collect();
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.into_iter().map(|number| number / length).collect()
}

fn open_store(store: &Arc<dyn Store>, rounds: usize) -> Outcome {
    let filters = [
        ("nearest 100, p50", Filter::default()),
        (
            "nearest 100 in a tenth of the files, p50",
            Filter { paths: vec!["**/*0.md".into()], ..Filter::default() },
        ),
    ];
    for (name, filter) in filters {
        let ask = |number: usize| -> Outcome<()> {
            let query = VectorQuery {
                model: BUILTIN_MODEL.to_owned(),
                vector: direction(ContentHash::of(&number.to_le_bytes())),
                filter: filter.clone(),
                without_document: None,
                limit: 100,
            };
            store.nearest(&query)?;
            Ok(())
        };
        let times = cpu_times(rounds * 10, ask)?;
        line(name, at(&times, 0.5), &format!("p99 {:.2} ms", ms(at(&times, 0.99))));
    }
    Ok(())
}

/// A search by a new process.
fn cold(world: &World, rounds: usize) -> Outcome {
    let before = children_seconds();
    let mut walls = Vec::new();
    for number in 0..rounds {
        let query = world.question(number);
        let started = Instant::now();
        let output = world.command(&["search", "--json", "--mode", "hybrid", &query]).output()?;
        walls.push(started.elapsed());
        let reply: Value = serde_json::from_slice(&output.stdout)?;
        if reply["usedMode"] != "hybrid" {
            return Err("a search went by words only".into());
        }
    }
    walls.sort_unstable();
    let spread = format!("best {:.0} ms, worst {:.0} ms", ms(at(&walls, 0.0)), ms(at(&walls, 1.0)));
    println!(
        "{:<44} {:>9.1} ms wall  {spread}",
        "hybrid search from a new process, p50",
        ms(at(&walls, 0.5))
    );
    if let (Some(before), Some(after)) = (before, children_seconds()) {
        let each = (after - before) / rounds as f64 * 1e3;
        println!("{:<44} {each:>9.1} ms CPU", "the same, mean");
    }
    Ok(())
}

/// A server after one search by meaning.
fn server(world: &World) -> Outcome {
    let mut child =
        world.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let outcome = converse(&mut child, &world.question(0));
    let memory = fs::read_to_string(format!("/proc/{}/status", child.id()));
    drop(child.stdin.take());
    child.wait()?;
    outcome?;
    if let Ok(memory) = memory {
        let field = |name: &str| -> Option<f64> {
            let line = memory.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<f64>().ok()
        };
        if let (Some(own), Some(mapped)) = (field("RssAnon"), field("RssFile")) {
            let (own, mapped) = (own / 1024.0, mapped / 1024.0);
            println!(
                "{:<44} {own:>9.1} MB own   and {mapped:.1} MB of mapped files",
                "`ibid mcp` after a hybrid search"
            );
        }
    }
    Ok(())
}

fn converse(child: &mut Child, query: &str) -> Outcome {
    let mut stdin = child.stdin.as_ref().ok_or("no pipe")?;
    let stdout = child.stdout.take().ok_or("no pipe")?;
    let mut lines = BufReader::new(stdout).lines();
    let start = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}});
    for (id, method, params) in [
        (1, "initialize", start),
        (2, "tools/call", json!({"name": "search", "arguments": {"query": query, "mode": "hybrid"}})),
    ] {
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let answer: Value = serde_json::from_str(&lines.next().ok_or("no answer")??)?;
        if answer["result"].is_null() {
            return Err(format!("`{method}` failed").into());
        }
        if id == 1 {
            writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        }
    }
    Ok(())
}

/// CPU times of several runs, sorted.
fn cpu_times(runs: usize, work: impl Fn(usize) -> Outcome<()>) -> Outcome<Vec<Duration>> {
    let mut times = Vec::with_capacity(runs);
    for run in 0..runs {
        let started = ProcessTime::now();
        work(run)?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

fn at(sorted: &[Duration], share: f64) -> Duration {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn line(what: &str, cpu: Duration, remark: &str) {
    println!("{what:<44} {:>9.2} ms CPU   {remark}", ms(cpu));
}

/// Megabytes of every file below a folder.
fn size(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len() as f64 / 1e6,
            Err(_) => 0.0,
        })
        .sum()
}

/// CPU time of ended child processes, where the system tells.
fn children_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit(") ").next()?.split(' ').skip(13);
    // A tick is ten milliseconds on every Linux.
    Some((fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?) / 100.0)
}
