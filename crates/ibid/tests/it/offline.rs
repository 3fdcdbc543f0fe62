//! Nothing needs a network: the program works where there is none at all, and tries nothing.

#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{
    endpoint::{Endpoint, Manner},
    harness::{LEGACY, Pipes, initialize_params},
    sandbox::{Ran, Sandbox},
};

/// The same command in a network of its own, without routes and with its loopback down.
fn without_network(command: &Command) -> Command {
    let mut inside = Command::new("unshare");
    inside.args(["--map-root-user", "--net", "--"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    inside.env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            inside.env(name, value);
        }
    }
    inside.stdin(Stdio::null());
    inside
}

/// Whether this user may make a network of its own.
fn permitted() -> bool {
    let mut probe = Command::new("unshare");
    probe.args(["--map-root-user", "--net", "--", "true"]);
    let permitted = probe.output().is_ok_and(|output| output.status.success());
    if !permitted {
        eprintln!("skipped: this user may not make a network namespace (`unshare --map-root-user --net`)");
    }
    permitted
}

fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("bread.md", "# Baking\n\nyeast makes the dough rise\n");
    sandbox.write("stars.md", "# Astronomy\n\nclouds of gas collapse and begin to shine\n");
    sandbox.write("keys.md", "# Security\n\ncredentials are replaced every ninety days\n");
    sandbox
}

fn with_meaning(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = sandbox.command(arguments);
    command.env("IBID_EMBEDDING_ENABLED", "true");
    command
}

#[test]
fn everything_works_without_a_network() {
    if !permitted() {
        return;
    }
    let sandbox = filled();
    let run = |arguments: &[&str]| -> Value {
        Ran::from(without_network(&with_meaning(&sandbox, arguments)).output().unwrap()).json()
    };
    assert_eq!(run(&["index", "--json"])["embedded"], 3);
    // By meaning: no word of the question is in the text.
    let reply = run(&["search", "--json", "--mode", "hybrid", "how often do passwords have to change"]);
    assert_eq!((&reply["usedMode"], &reply["warnings"]), (&json!("hybrid"), &json!([])), "{reply}");
    assert_eq!(reply["hits"][0]["document"]["path"], "keys.md", "{reply}");

    let mut command = without_network(&with_meaning(&sandbox, &["mcp"]));
    command.stdin(Stdio::piped());
    let mut pipes = Pipes::of(command);
    assert!(pipes.request("initialize", initialize_params(LEGACY)).get("result").is_some());
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let answer = pipes.call("search", json!({"query": "how does a sun form", "mode": "hybrid"}));
    let text = answer.to_string();
    assert!(text.contains("stars.md") && !text.contains("EMBEDDING_UNAVAILABLE"), "{answer}");
    assert!(pipes.finish().1.success());
}

#[test]
fn the_network_that_is_missing_is_really_missing() {
    if !permitted() {
        return;
    }
    // An endpoint that answers everybody else is out of reach in there.
    let sandbox = filled();
    let endpoint = Endpoint::start(Manner::Vectors(24));
    let mut command = with_meaning(&sandbox, &["index", "--json"]);
    command.env("IBID_EMBEDDING_ENDPOINT", endpoint.url()).env("IBID_EMBEDDING_MODEL", "test");
    let ran = Ran::from(without_network(&command).output().unwrap());
    assert!(ran.stderr.contains("does not answer"), "{ran:?}");
    assert_eq!((endpoint.requests(), &ran.json()["embedded"]), (0, &json!(0)));
    assert_eq!(Ran::from(command.output().unwrap()).json()["embedded"], 3);
}

#[test]
fn no_connection_is_tried_where_there_is_a_network() {
    let trace = Command::new("strace").arg("--version").output();
    if !trace.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: strace is not installed");
        return;
    }
    let sandbox = filled();
    for arguments in [&["index", "--json"][..], &["search", "--json", "--mode", "hybrid", "dough"]] {
        let log = sandbox.beside("trace");
        let plain = with_meaning(&sandbox, arguments);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-q", "-e", "trace=socket,connect,sendto", "-o"]).arg(&log);
        traced.arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.root()).env_clear();
        for (name, value) in plain.get_envs() {
            if let Some(value) = value {
                traced.env(name, value);
            }
        }
        let output = traced.stdin(Stdio::null()).output().unwrap();
        if !output.status.success() && output.stdout.is_empty() {
            eprintln!("skipped: this user may not trace");
            return;
        }
        let calls = std::fs::read_to_string(&log).unwrap();
        let network: Vec<&str> = calls.lines().filter(|line| line.contains("AF_INET")).collect();
        assert_eq!(network, [] as [&str; 0], "{arguments:?}");
    }
}
