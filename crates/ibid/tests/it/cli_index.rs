//! `ibid index` and `ibid doctor`: updates, watching, interruption, and what may be wrong.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command},
    time::{Duration, Instant},
};

use crate::cli_program::World;

fn world() -> World {
    World::with(&[("a.md", "# Alpha\n\nfirst\n"), ("b.md", "# Beta\n\nsecond\n")])
        .set("IBID_EMBEDDING_ENABLED", "false")
        .set("IBID_WATCH_DEBOUNCE_MS", "50")
        .set("IBID_WATCH_MAX_BATCH_DELAY_MS", "200")
}

#[test]
fn an_update_reads_only_what_changed() {
    let world = world();
    let first = world.json(&["index", "--json"]);
    assert_eq!((&first["added"], &first["documents"]), (&2.into(), &2.into()));
    assert!(world.ok(&["index"]).contains("nothing changed"));
    world.write("a.md", "# Alpha\n\nchanged and longer\n");
    fs::remove_file(world.vault().join("b.md")).unwrap();
    world.write("c.md", "# Gamma\n");
    assert!(world.ok(&["index"]).contains("(1 added, 1 changed, 1 removed)"));
    let full = world.json(&["reindex", "--json"]);
    assert_eq!((&full["full"], &full["documents"]), (&true.into(), &2.into()));
}

#[test]
fn the_index_is_kept_where_it_was_asked_for() {
    let world = world();
    let elsewhere = world.home().join("elsewhere");
    world.ok(&["index", "--data-dir", elsewhere.to_str().unwrap()]);
    assert!(fs::read_dir(&elsewhere).unwrap().next().is_some());
    assert!(!world.home().join(".local/share/ibid").exists());
    world.ok(&["index"]);
    assert_eq!(fs::read_dir(world.home().join(".local/share/ibid")).unwrap().count(), 1);
}

#[test]
fn read_only_means_that_nothing_is_written() {
    let world = world();
    world.fails(&["--set", "read_only=true", "search", "first"], 4, "INDEX_NOT_FOUND");
    assert!(!world.home().join(".local").exists());
    world.ok(&["index"]);
    assert!(world.ok(&["--set", "read_only=true", "search", "first"]).contains("a.md"));
}

#[test]
#[cfg(unix)]
fn watching_follows_changes_until_interrupted() {
    let world = world();
    let mut child = world.command(&["index", "--watch", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The first answer spans lines; changes come as one line each.
    let mut first = String::new();
    while !first.ends_with("}\n") || first.matches('{').count() != first.matches('}').count() {
        first.push_str(&lines.next().unwrap().unwrap());
        first.push('\n');
    }
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(notes.next().unwrap().unwrap().contains("watching for changes"));
    world.write("c.md", "# Gamma\n\nthird\n");
    let update = lines.by_ref().map(Result::unwrap).find(|line| line.contains("\"added\":1"));
    assert!(update.is_some(), "the change was seen");
    assert!(world.ok(&["search", "third"]).contains("c.md"));
    interrupt(&child);
    assert!(ends_within(&mut child, Duration::from_secs(20)).success());
}

#[test]
#[cfg(unix)]
fn an_interrupted_index_leaves_everything_whole() {
    let world = World::new().set("IBID_EMBEDDING_ENABLED", "false");
    for number in 0..3000 {
        world.write(
            &format!("{}/{number}.md", number % 50),
            &format!("# Note {number}\n\n{}\n", "words and words ".repeat(50)),
        );
    }
    let mut child = world.command(&["index"]).spawn().unwrap();
    // Once the data folder exists, the work has begun.
    let data = world.home().join(".local/share/ibid");
    let started = Instant::now();
    while !data.exists() && started.elapsed() < Duration::from_secs(20) {
        std::thread::yield_now();
    }
    interrupt(&child);
    let status = ends_within(&mut child, Duration::from_secs(30));
    assert!(matches!(status.code(), Some(130 | 0)), "{status}");
    let reply = world.json(&["index", "--json"]);
    assert_eq!(reply["documents"], 3000, "the next run goes on from there");
}

#[test]
fn doctor_finds_what_is_wrong_and_says_how_to_fix_it() {
    let world = world();
    fs::write(world.home().join(".claude.json"), "{}").unwrap();
    let out = world.ok(&["doctor"]);
    assert!(out.contains("warn  index") && out.contains("fix: ibid index"), "{out}");
    assert!(out.contains("ibid install-client claude-code"), "{out}");
    world.ok(&["index"]);
    let out = world.ok(&["doctor"]);
    assert!(out.contains("ok    index") && out.contains("ok    search"), "{out}");
    let gone = world.run(&["doctor", "--set", "vault.root=nowhere"]);
    assert_eq!(gone.code, 1, "{}", gone.out);
    assert!(gone.out.contains("fail  sources"), "{}", gone.out);
    let findings = world.json(&["doctor", "--json"]);
    assert!(findings.as_array().unwrap().iter().all(|finding| finding["verdict"].is_string()), "{findings}");
}

#[test]
#[cfg(unix)]
fn doctor_sees_a_data_folder_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = world();
    world.ok(&["index"]);
    let data = fs::read_dir(world.home().join(".local/share/ibid")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let out = world.ok(&["doctor"]);
    assert!(out.contains("others on this machine can read it") && out.contains("fix: chmod 700"), "{out}");
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn ends_within(child: &mut Child, patience: Duration) -> std::process::ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > patience {
            child.kill().unwrap();
            panic!("it did not end in time");
        }
        std::thread::yield_now();
    }
}
