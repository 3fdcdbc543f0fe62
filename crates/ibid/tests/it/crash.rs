//! The program is killed at random points while it writes: what it had acknowledged is still there.

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::sandbox::{Sandbox, long};

/// Files written in a round that is killed.
const FILES: usize = 40;

/// A word that occurs once in the tree, and is nobody else's stem.
fn mark(round: usize, file: usize) -> String {
    let letters = |number: usize| -> String {
        number.to_string().bytes().map(|digit| char::from(b"bdfghjkmpq"[usize::from(digit - b'0')])).collect()
    };
    format!("qz{}x{}ok", letters(round), letters(file))
}

/// Where the word is found. In quotes, it stands for nothing but itself.
fn found(sandbox: &Sandbox, mark: &str) -> Vec<String> {
    sandbox.found(&format!("\"{mark}\""))
}

fn note(title: &str, mark: &str) -> String {
    let filling = "The keeper of the gate writes down who comes and who goes, and when. ".repeat(20);
    format!("---\ntags: [kept]\n---\n# {title}\n\nThis page says {mark}.\n\n## More\n\n{filling}\n")
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_point() {
    let rounds = if long() { 200 } else { 20 };
    let sandbox = Sandbox::new();
    for file in 0..FILES {
        sandbox.write(&format!("start/{file}.md"), note("Start", &mark(1_000, file)));
    }
    let started = Instant::now();
    sandbox.index();
    // Points are drawn over what a whole run takes, which the load of the machine changes all the time.
    let mut whole = started.elapsed();
    let mut killed = 0;
    for round in 0..rounds {
        match one_round(&sandbox, round, whole) {
            Outcome::Killed => {
                killed += 1;
                whole = whole.mul_f64(1.1);
            }
            Outcome::Ended(after) => whole = after,
        }
    }
    // A run that always ends before it is killed would prove nothing.
    assert!(killed * 4 > rounds, "only {killed} of {rounds} runs were killed");
}

/// How a run came to its end.
#[derive(Debug)]
enum Outcome {
    Killed,
    /// By itself, after this long.
    Ended(Duration),
}

fn one_round(sandbox: &Sandbox, round: usize, whole: Duration) -> Outcome {
    let acknowledged = format!("acknowledged/{round}.md");
    sandbox.write(&acknowledged, note("Acknowledged", &mark(round, 999)));
    let generation = sandbox.index()["generation"].as_u64().expect("a generation");

    for file in 0..FILES {
        sandbox.write(&format!("round/{round}-{file}.md"), note("Unacknowledged", &mark(round, file)));
    }
    if round > 0 {
        for file in 0..FILES / 2 {
            fs::remove_file(sandbox.root().join(format!("round/{}-{file}.md", round - 1)))
                .expect("a file to remove");
        }
    }
    let delay = whole.mul_f64(random_fraction());
    let mut command = sandbox.command(&["index"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let outcome = kill_after(child, delay);
    let at = format!("round {round}, {outcome:?}, to be killed after {delay:?}");

    // Readers work at once, before anybody repairs anything.
    for earlier in [round, random_below(round + 1), 0] {
        let found = found(sandbox, &mark(earlier, 999));
        assert_eq!(found, [format!("acknowledged/{earlier}.md")], "{at}");
    }
    let status = sandbox.status();
    assert!(status["index"]["generation"].as_u64() >= Some(generation), "{at}: {status}");

    let reply = sandbox.index();
    let files = count_files(sandbox);
    assert_eq!(reply["documents"].as_u64(), Some(files), "{at}: {reply}");
    for file in [0, random_below(FILES), FILES - 1] {
        let found = found(sandbox, &mark(round, file));
        assert_eq!(found, [format!("round/{round}-{file}.md")], "{at}");
    }
    if round > 0 {
        assert_eq!(found(sandbox, &mark(round - 1, 0)), [] as [String; 0], "{at}");
    }
    let reply = sandbox.search("keeper of the gate");
    let lags = |warning: &Value| warning["code"] == "INDEX_CATCHING_UP";
    assert!(!reply["warnings"].as_array().expect("a list of warnings").iter().any(lags), "{at}: {reply}");
    assert_eq!(reply["generation"], sandbox.status()["index"]["generation"], "{at}");
    outcome
}

fn kill_after(mut child: Child, delay: Duration) -> Outcome {
    let started = Instant::now();
    while started.elapsed() < delay {
        if child.try_wait().expect("the state of the program").is_some() {
            return Outcome::Ended(started.elapsed());
        }
        // The point in time is what is tested, so there is nothing else to wait for.
        std::thread::sleep(Duration::from_micros(200));
    }
    let was_running = child.try_wait().expect("the state of the program").is_none();
    child.kill().expect("a kill");
    child.wait().expect("the end of the program");
    if was_running { Outcome::Killed } else { Outcome::Ended(started.elapsed()) }
}

fn count_files(sandbox: &Sandbox) -> u64 {
    let folders = ["start", "acknowledged", "round"].map(|name| sandbox.root().join(name));
    folders.iter().map(|folder| fs::read_dir(folder).expect("a folder").count() as u64).sum()
}

fn random_fraction() -> f64 {
    RandomState::new().hash_one(0_u8) as f64 / u64::MAX as f64
}

fn random_below(end: usize) -> usize {
    ((random_fraction() * end as f64) as usize).min(end - 1)
}
