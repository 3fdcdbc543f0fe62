//! Other processes: this test binary again, told by its environment what to do.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use ibid_api::{Engine as _, IndexScope, Mode, SearchRequest};
use ibid_core::{CoreConfig, EmbeddingConfig, LocalEngine, SourceConfig, ingest::Silent};

use crate::knowledge::{NOTES, call, request};

const ROLE: &str = "IBID_TEST_ROLE";
const ROOT: &str = "IBID_TEST_ROOT";
const DATA: &str = "IBID_TEST_DATA";
const NUMBER: &str = "IBID_TEST_NUMBER";
const SECONDS: &str = "IBID_TEST_SECONDS";

/// Whether the long rounds were asked for.
pub(crate) fn long() -> bool {
    env::var_os("IBID_LONG").is_some_and(|value| value == "1")
}

/// What another process does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    /// Writes a note and indexes it, again and again; says which number is done. Never ends.
    Endless,
    /// Writes a note, indexes and embeds it, again and again; says which number is done. Never ends.
    Embedding,
    /// Writes and indexes one note of its own, for some seconds.
    Writer,
    /// Asks for the writers' notes and compares with what they said was done, for some seconds.
    Reader,
}

impl Role {
    const ALL: [Self; 4] = [Self::Endless, Self::Embedding, Self::Writer, Self::Reader];
}

/// Where it does it.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) data: PathBuf,
}

impl Place {
    pub(crate) fn engine(&self) -> LocalEngine {
        self.engine_with(EmbeddingConfig::Disabled)
    }

    /// An engine with the small model beside the root.
    pub(crate) fn engine_with_model(&self) -> LocalEngine {
        self.engine_with(EmbeddingConfig::Local(self.root.with_file_name("tiny")))
    }

    fn engine_with(&self, embedding: EmbeddingConfig) -> LocalEngine {
        let mut config = CoreConfig::new(&self.data).with_source(SourceConfig::new(NOTES, &self.root));
        config.embedding = embedding;
        config.threads = Some(2);
        LocalEngine::open(config).unwrap()
    }

    /// Starts another process.
    pub(crate) fn start(&self, role: Role, number: u64, time: Duration) -> Child {
        Command::new(env::current_exe().unwrap())
            .args(["--exact", "children::a_child_does_what_it_is_told", "--nocapture"])
            .env(ROLE, format!("{role:?}"))
            .env(ROOT, &self.root)
            .env(DATA, &self.data)
            .env(NUMBER, number.to_string())
            .env(SECONDS, time.as_secs().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    }

    fn acknowledged(&self, writer: u64) -> PathBuf {
        self.root.with_file_name(format!("acknowledged{writer}"))
    }
}

/// The numbers that a child says are done.
pub(crate) fn done(stdout: ChildStdout) -> impl Iterator<Item = u64> {
    // What is said by a child that is killed half way through a line does not count.
    BufReader::new(stdout)
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("done ")?.strip_suffix(" .")?.parse().ok())
}

/// The number that a note holds.
pub(crate) fn number_in(text: &str) -> Option<u64> {
    text.split_whitespace().skip_while(|word| *word != "count").nth(1)?.parse().ok()
}

pub(crate) fn note(name: u64, count: u64) -> String {
    format!("# Note{name}\n\nslot{name}x count {count} and some words that fill the page\n")
}

#[test]
fn a_child_does_what_it_is_told() {
    let Ok(role) = env::var(ROLE) else { return };
    let number = env::var(NUMBER).unwrap().parse().unwrap();
    let place = Place { root: env::var_os(ROOT).unwrap().into(), data: env::var_os(DATA).unwrap().into() };
    let time = Duration::from_secs(env::var(SECONDS).unwrap().parse().unwrap());
    match Role::ALL.into_iter().find(|known| format!("{known:?}") == role).unwrap() {
        Role::Endless => endless(&place, number),
        Role::Embedding => embedding(&place, number),
        Role::Writer => writer(&place, number, time),
        Role::Reader => reader(&place, time),
    }
}

fn endless(place: &Place, first: u64) {
    let engine = place.engine();
    for count in first.. {
        let slot = count % 40;
        std::fs::write(place.root.join(format!("note{slot}.md")), note(slot, count)).unwrap();
        engine.index_blocking(&request(IndexScope::Changes), &Silent).unwrap();
        say(&format!("done {count} ."));
    }
}

fn embedding(place: &Place, first: u64) {
    let engine = place.engine_with_model();
    for count in first.. {
        let slot = count % 40;
        std::fs::write(place.root.join(format!("note{slot}.md")), note(slot, count)).unwrap();
        engine.index_blocking(&request(IndexScope::Changes), &Silent).unwrap();
        engine.embed_pending_blocking(&Silent, None).unwrap();
        say(&format!("done {count} ."));
    }
}

fn writer(place: &Place, name: u64, time: Duration) {
    let engine = place.engine();
    let end = Instant::now() + time;
    let mut count = 0;
    while Instant::now() < end {
        count += 1;
        std::fs::write(place.root.join(format!("note{name}.md")), note(name, count)).unwrap();
        let path = ibid_api::RelPath::parse(&format!("note{name}.md")).unwrap();
        let scope = IndexScope::Paths { source: NOTES.to_owned(), paths: vec![path] };
        engine.index_blocking(&request(scope), &Silent).unwrap();
        let spare = place.acknowledged(name).with_extension("spare");
        std::fs::write(&spare, count.to_string()).unwrap();
        std::fs::rename(&spare, place.acknowledged(name)).unwrap();
    }
    say(&format!("done {count} ."));
}

fn reader(place: &Place, time: Duration) {
    let engine = place.engine();
    let end = Instant::now() + time;
    let mut asked = 0;
    let mut seen = ibid_api::Generation(0);
    while Instant::now() < end {
        for name in 0..2 {
            let Ok(acknowledged) = std::fs::read_to_string(place.acknowledged(name)) else { continue };
            let mut question = SearchRequest::new(format!("slot{name}x"), 1);
            question.mode = Some(Mode::Lexical);
            let reply = call(engine.search(question)).unwrap();
            assert!(reply.generation >= seen, "a reader never goes back");
            seen = reply.generation;
            let hit = reply.hits.first().expect("an acknowledged note is found");
            let chunk = match call(engine.chunk(hit.chunk.unwrap())) {
                Ok(chunk) => chunk,
                // Rewritten between the two questions.
                Err(error) if error.code == ibid_api::ErrorCode::ChunkNotFound => continue,
                Err(error) => panic!("{error:?}"),
            };
            let shown = number_in(&chunk.text).unwrap();
            assert!(shown >= acknowledged.parse().unwrap(), "{shown} is older than {acknowledged}");
            asked += 1;
        }
    }
    say(&format!("done {asked} ."));
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}
