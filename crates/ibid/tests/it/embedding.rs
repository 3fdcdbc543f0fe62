//! Embeddings: made once, whatever happens on the way, and no harm done by a model that fails.

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::{
    endpoint::{Endpoint, Manner},
    harness::{signal, wait},
    sandbox::{Ran, Sandbox, long},
};

/// Texts sent between two writes, at most.
const STEP: u64 = 32;

fn command(sandbox: &Sandbox, endpoint: &Endpoint, arguments: &[&str]) -> Command {
    let mut command = sandbox.command(arguments);
    command
        .env("IBID_EMBEDDING_ENABLED", "true")
        .env("IBID_EMBEDDING_ENDPOINT", endpoint.url())
        .env("IBID_EMBEDDING_MODEL", "test")
        .env("IBID_EMBEDDING_THREADS", "2")
        .env("IBID_EMBEDDING_TIMEOUT_SECONDS", if endpoint.hangs() { "1" } else { "60" });
    command
}

fn run(sandbox: &Sandbox, endpoint: &Endpoint, arguments: &[&str]) -> Ran {
    Ran::from(command(sandbox, endpoint, arguments).output().unwrap())
}

fn index(sandbox: &Sandbox, endpoint: &Endpoint) -> Value {
    run(sandbox, endpoint, &["index", "--json"]).json()
}

fn missing(sandbox: &Sandbox, endpoint: &Endpoint) -> u64 {
    let status = run(sandbox, endpoint, &["status", "--json"]).json();
    status["index"]["embeddingsMissing"].as_u64().unwrap()
}

fn start(sandbox: &Sandbox, endpoint: &Endpoint) -> Child {
    let mut command = command(sandbox, endpoint, &["index", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Notes with a text each that nobody else has.
fn filled(notes: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    for note in 0..notes {
        let text = format!("# Note {note}\n\nthe {note}th way to tie a knot\n");
        sandbox.write(&format!("{}/{note}.md", note % 7), text);
    }
    sandbox
}

fn random_below(end: usize) -> usize {
    (RandomState::new().hash_one(0_u8) % end as u64) as usize
}

#[test]
fn no_text_is_embedded_twice_when_the_program_is_killed_on_the_way() {
    // A round asks for eight times sixteen texts at most.
    let notes = if long() { 4_000 } else { 700 };
    let rounds = if long() { 30 } else { 5 };
    let sandbox = filled(notes);
    let endpoint = Endpoint::start(Manner::Vectors(24));
    let (mut waiting, mut sent, mut kills) = (notes as u64, 0, 0);
    for round in 0..rounds {
        let before = endpoint.requests();
        // The first time late enough for something to be kept.
        let point = before + 1 + if round == 0 { 4 } else { random_below(5) };
        // It gets no further than this, however long it takes to kill it.
        endpoint.pause_after(Some(point + 2));
        let mut child = start(&sandbox, &endpoint);
        endpoint.wait_for_requests(point);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "it was killed");
        endpoint.pause_after(None);
        let now = missing(&sandbox, &endpoint);
        let (embedded, asked) = (waiting - now, endpoint.sent() as u64 - sent);
        // What was kept was asked for once; what was under way is lost, and is less than a step.
        assert!(asked >= embedded, "round {round}: {embedded} of {asked}");
        assert!(asked - embedded <= STEP, "round {round}: {embedded} of {asked}");
        waiting = now;
        kills += 1;
        // Whoever reads is not concerned.
        let found = run(&sandbox, &endpoint, &["search", "--json", "300th"]).json();
        assert_eq!(found["hits"][0]["document"]["path"], "6/300.md", "{found}");
        // The question was embedded too, once.
        sent = endpoint.sent() as u64;
    }
    assert!(waiting > 0 && waiting < notes as u64, "{waiting} of {notes} are left");
    let reply = index(&sandbox, &endpoint);
    assert_eq!(reply["embedded"], waiting, "{reply}");
    assert_eq!(reply["embeddingsMissing"], 0, "{reply}");
    assert_eq!(endpoint.sent() as u64 - sent, waiting, "the last run asks for what is missing and no more");
    let again = endpoint.texts().values().filter(|count| **count > 1).count() as u64;
    assert!(again <= STEP * kills + 1, "{again} texts were asked for again after {kills} kills");
}

#[test]
fn nothing_that_happens_to_files_embeds_a_text_again() {
    let sandbox = filled(60);
    let endpoint = Endpoint::start(Manner::Vectors(24));
    assert_eq!(index(&sandbox, &endpoint)["embedded"], 60);
    let sent = endpoint.sent();
    let root = sandbox.root().to_owned();
    let check = |what: &str, arguments: &[&str]| {
        let reply = run(&sandbox, &endpoint, arguments).json();
        assert_eq!((&reply["embedded"], endpoint.sent()), (&Value::from(0), sent), "{what}: {reply}");
    };
    fs::rename(root.join("0/7.md"), root.join("0/renamed.md")).unwrap();
    check("a rename", &["index", "--json"]);
    fs::rename(root.join("1"), root.join("moved")).unwrap();
    check("a folder that moves", &["index", "--json"]);
    fs::rename(root.join("2"), sandbox.beside("away")).unwrap();
    check("a branch without some files", &["index", "--json"]);
    fs::rename(sandbox.beside("away"), root.join("2")).unwrap();
    check("and back", &["index", "--json"]);
    check("everything anew", &["reindex", "--json"]);
    let file = root.join("3/3.md");
    let text = fs::read(&file).unwrap();
    fs::write(&file, "# Note 3\n\nanother text\n").unwrap();
    assert_eq!(index(&sandbox, &endpoint)["embedded"], 1);
    fs::write(&file, text).unwrap();
    assert_eq!(index(&sandbox, &endpoint)["embedded"], 0);
}

#[test]
fn an_interrupt_pauses_and_the_next_run_goes_on() {
    let sandbox = filled(400);
    let endpoint = Endpoint::start(Manner::Vectors(24));
    endpoint.pause_after(Some(4));
    let child = start(&sandbox, &endpoint);
    endpoint.wait_for_requests(5);
    signal(&child, "INT");
    endpoint.pause_after(None);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap();
    let left = reply["embeddingsMissing"].as_u64().unwrap();
    assert!(left > 0 && left < 400, "{reply}");
    assert_eq!(endpoint.sent() as u64, 400 - left, "what was under way was kept");
    let reply = index(&sandbox, &endpoint);
    assert_eq!((reply["embedded"].as_u64(), endpoint.sent()), (Some(left), 400), "{reply}");
}

/// Words answer, and the reply says why meaning does not.
#[track_caller]
fn words_answer_with_a_warning(sandbox: &Sandbox, endpoint: &Endpoint, what: &str) {
    // The query itself must be new: vectors of queries are remembered.
    let reply = run(sandbox, endpoint, &["search", "--json", "--mode", "hybrid", "7th knot"]).json();
    assert_eq!(reply["hits"][0]["document"]["path"], "0/7.md", "{what}: {reply}");
    assert_eq!(reply["usedMode"], "lexical", "{what}: {reply}");
    let codes: Vec<_> =
        reply["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].clone()).collect();
    assert!(codes.contains(&Value::from("EMBEDDING_UNAVAILABLE")), "{what}: {codes:?}");
}

#[test]
fn an_endpoint_that_answers_nonsense_is_a_warning_and_words_answer() {
    let one = |numbers: &str| format!(r#"{{"data":[{{"index":0,"embedding":[{numbers}]}}]}}"#);
    let bodies = [
        ("no JSON", "<html>busy</html>".to_owned()),
        ("another shape", r#"{"error": "model not found"}"#.to_owned()),
        ("no vectors", r#"{"data": []}"#.to_owned()),
        ("not a number", one("NaN, 1.0")),
        ("too large a number", one("1e999, 1.0")),
        ("null", one("null, 1.0")),
        ("no direction", one("0.0, 0.0")),
        ("nothing", String::new()),
    ];
    let sandbox = filled(10);
    let endpoint = Endpoint::start(Manner::Vectors(24));
    for (name, body) in bodies {
        endpoint.behave(Manner::Body(body));
        let ran = run(&sandbox, &endpoint, &["index", "--json"]);
        assert!(ran.stderr.contains("unusable answer") && ran.is_orderly(), "{name}: {ran:?}");
        assert_eq!(ran.json()["documents"], 10, "{name}");
        words_answer_with_a_warning(&sandbox, &endpoint, name);
        assert_eq!(missing(&sandbox, &endpoint), 10, "{name}: nothing of it was kept");
    }
    // It comes to its senses.
    endpoint.behave(Manner::Vectors(24));
    assert_eq!(index(&sandbox, &endpoint)["embedded"], 10);
}

#[test]
fn vectors_of_another_length_than_stored_are_refused() {
    let sandbox = filled(10);
    let endpoint = Endpoint::start(Manner::Vectors(24));
    assert_eq!(index(&sandbox, &endpoint)["embedded"], 10);
    endpoint.behave(Manner::Vectors(16));
    sandbox.write("new.md", "# New\n\na text that has no vector\n");
    let ran = run(&sandbox, &endpoint, &["index", "--json"]);
    assert!(ran.stderr.contains("another length"), "{ran:?}");
    assert_eq!(missing(&sandbox, &endpoint), 1);
    words_answer_with_a_warning(&sandbox, &endpoint, "another length");
}

#[test]
fn an_endpoint_that_hangs_is_a_warning_and_words_answer() {
    let sandbox = filled(10);
    let endpoint = Endpoint::start(Manner::Hang);
    let ran = run(&sandbox, &endpoint, &["index", "--json"]);
    assert!(ran.stderr.contains("does not answer"), "{ran:?}");
    assert_eq!(ran.json()["documents"], 10);
    words_answer_with_a_warning(&sandbox, &endpoint, "hangs");
}

#[test]
fn a_process_that_is_asked_to_embed_ends_when_it_is_killed() {
    // The endpoint never answers: only a signal ends the wait.
    let sandbox = filled(5);
    let endpoint = Endpoint::start(Manner::Hang);
    let mut child = start(&sandbox, &endpoint);
    endpoint.wait_for_requests(1);
    signal(&child, "TERM");
    assert!(!wait(&mut child).success());
    assert_eq!(missing(&sandbox, &endpoint), 5);
}
