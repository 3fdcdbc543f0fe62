//! Requirement 002 over the wire: each acceptance scenario and edge case, under its name.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    harness::{Home, Pipes, Server},
    sandbox::Sandbox,
};

struct Base {
    _folder: tempfile::TempDir,
    file: PathBuf,
}

impl Base {
    fn missing() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kb.txt");
        Self { _folder: folder, file }
    }

    fn with(content: impl AsRef<[u8]>) -> Self {
        let base = Self::missing();
        fs::write(&base.file, content).unwrap();
        base
    }

    fn serve(&self) -> Pipes {
        serve(&["--toolsets", "text", "--kb-file", self.file.to_str().unwrap()])
    }
}

fn serve(arguments: &[&str]) -> Pipes {
    initialized(Pipes::start_bare(arguments))
}

fn initialized(mut pipes: Pipes) -> Pipes {
    assert!(pipes.initialize("2025-03-26")["result"].is_object());
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    pipes
}

/// The reply of a tool: one text item holding the JSON that is also the structured content.
#[track_caller]
fn call(pipes: &mut Pipes, tool: &str) -> Value {
    let answer = pipes.call(tool, json!({}));
    let result = &answer["result"];
    assert_eq!(result["isError"], false, "{answer}");
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    text
}

#[test]
fn scenario_1_info_of_a_readable_non_empty_file() {
    let base = Base::with("Grafana\n");
    let reply = call(&mut base.serve(), "get_kb_info");
    assert_eq!(reply["status"], "available");
    assert_eq!(reply["info"]["fileSizeBytes"], 8);
    assert_eq!(reply["info"]["contentLength"], 8);
    assert_eq!(reply["info"]["isAvailable"], true);
    assert_eq!(reply["info"]["description"], "Azure Managed Grafana knowledge base");
    assert!(reply["info"]["lastModified"].as_str().unwrap().starts_with("20"));
}

#[test]
fn scenario_2_content_of_a_readable_non_empty_file() {
    let base = Base::with("Grafana\n");
    let reply = call(&mut base.serve(), "get_kb_content");
    assert_eq!(reply, json!({"status": "ok", "contentLength": 8, "content": "Grafana\n"}));
}

#[test]
fn scenario_3_content_of_an_empty_file() {
    let base = Base::with("");
    let reply = call(&mut base.serve(), "get_kb_content");
    assert_eq!(reply, json!({"status": "empty", "contentLength": 0, "content": ""}));
}

#[test]
fn scenario_4_info_of_a_path_that_does_not_exist() {
    let base = Base::missing();
    let mut pipes = base.serve();
    let reply = call(&mut pipes, "get_kb_info");
    assert_eq!((&reply["status"], &reply["info"]["isAvailable"]), (&json!("unavailable"), &json!(false)));
    assert!(!reply.to_string().contains(base.file.to_str().unwrap()));
    assert_eq!(call(&mut pipes, "get_kb_content")["status"], "error", "the server lives on");
}

#[test]
fn scenario_5_content_while_a_read_error_passes() {
    let base = Base::missing();
    fs::create_dir(&base.file).unwrap();
    let mut pipes = base.serve();
    let reply = call(&mut pipes, "get_kb_content");
    assert_eq!(reply["status"], "error");
    assert!(!reply["error"].as_str().unwrap().is_empty());
    assert!(reply.get("content").is_none() && reply.get("contentLength").is_none());
    fs::remove_dir(&base.file).unwrap();
    fs::write(&base.file, "healed").unwrap();
    assert_eq!(call(&mut pipes, "get_kb_content")["content"], "healed");
}

#[test]
fn edge_case_missing_file_path_configuration() {
    let mut pipes = serve(&["--toolsets", "text"]);
    assert_eq!(call(&mut pipes, "get_kb_info")["status"], "unavailable");
    assert_eq!(call(&mut pipes, "get_kb_content")["status"], "error");
}

#[test]
fn edge_case_zero_length_file() {
    let base = Base::with("");
    let reply = call(&mut base.serve(), "get_kb_info");
    assert_eq!((&reply["status"], &reply["info"]["contentLength"]), (&json!("available"), &json!(0)));
}

/// The program as somebody for whom permissions hold: the all-powerful user gives its powers up first.
#[cfg(unix)]
fn without_powers(home: &Home, file: &Path) -> Option<Command> {
    let ibid = env!("CARGO_BIN_EXE_ibid");
    let is_powerful = fs::read(file).is_ok();
    let mut command = if is_powerful { Command::new("setpriv") } else { Command::new(ibid) };
    if is_powerful {
        let drops = ["--inh-caps=-all", "--bounding-set=-all"];
        if !Command::new("setpriv").args(drops).arg("true").status().is_ok_and(|status| status.success()) {
            return None;
        }
        command.args(drops).arg(ibid);
    }
    home.of(&mut command);
    command.args(["mcp", "--toolsets", "text", "--kb-file", file.to_str().unwrap()]);
    Some(command)
}

#[cfg(unix)]
#[test]
fn edge_case_file_locked() {
    use std::os::unix::fs::PermissionsExt;

    let base = Base::with("locked");
    let mode = |mode: u32| fs::set_permissions(&base.file, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o000);
    let home = Home::new();
    let Some(command) = without_powers(&home, &base.file) else {
        eprintln!("skipped: this user may read everything and `setpriv` is not there to give that up");
        return;
    };
    let mut pipes = initialized(Pipes::of(command));
    assert_eq!(call(&mut pipes, "get_kb_info")["status"], "unavailable");
    let reply = call(&mut pipes, "get_kb_content");
    assert_eq!(reply["status"], "error");
    assert!(!reply.to_string().contains(base.file.to_str().unwrap()), "{reply}");
    mode(0o600);
    assert_eq!(call(&mut pipes, "get_kb_content")["content"], "locked");
}

#[test]
fn edge_case_large_file_is_fully_returned() {
    for size in [10_000_000, 12_000_000] {
        let base = Base::with("é".repeat(size / 2));
        let started = Instant::now();
        let mut pipes = base.serve();
        assert!(started.elapsed().as_secs() < 5, "it starts in under five seconds");
        assert_eq!(call(&mut pipes, "get_kb_info")["info"]["fileSizeBytes"], size);
        let reply = call(&mut pipes, "get_kb_content");
        assert_eq!(reply["contentLength"], size / 2);
        assert_eq!(reply["content"].as_str().unwrap().len(), size);
    }
}

#[test]
fn edge_case_decoding_failure() {
    let base = Base::with(b"caf\xe9 \xff");
    let mut pipes = base.serve();
    assert_eq!(call(&mut pipes, "get_kb_content")["status"], "error");
    assert_eq!(call(&mut pipes, "get_kb_info")["status"], "unavailable");
}

#[test]
fn the_protocol_ids_are_exactly_those_of_the_contract() {
    let mut pipes = serve(&["--toolsets", "text"]);
    let list = pipes.request("tools/list", json!({}));
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["get_kb_content", "get_kb_info"]);
}

#[test]
fn the_log_tells_success_from_failure_without_naming_the_file() {
    let base = Base::with("Grafana");
    let pipes = base.serve();
    pipes.log.wait_for("knowledge base text loaded");
    assert!(!pipes.log.text().contains(base.file.to_str().unwrap()));
    let base = Base::missing();
    let pipes = base.serve();
    pipes.log.wait_for("knowledge base unavailable");
    assert!(!pipes.log.text().contains(base.file.to_str().unwrap()));
}

#[test]
fn a_server_of_this_toolset_alone_leaves_the_folder_it_starts_in_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("note.md", "# A note that nobody asked to index");
    sandbox.write("kb.txt", "Grafana");
    let serve = |toolsets: &str| {
        let command =
            sandbox.command(&["serve", "--port", "0", "--toolsets", toolsets, "--kb-file", "kb.txt"]);
        Server::of(command).unwrap()
    };
    drop(serve("text"));
    assert!(!sandbox.data().exists());
    drop(serve("text,vault"));
    assert!(sandbox.data().exists());
    // A server that nobody gave a text has nothing to complain of.
    let server = Server::of(sandbox.command(&["serve", "--port", "0"])).unwrap();
    assert!(!server.log.text().contains("knowledge base unavailable"), "{}", server.log.text());
}
