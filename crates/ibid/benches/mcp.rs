//! How fast the MCP server starts and answers, beside a bare rmcp server.
//!
//! Run with `cargo bench --bench mcp`. Figures depend on the machine and on what else it does; compare ratios.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program for the terminal that measures and ends"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// What a prototype on rmcp 3.8.0 alone (three trivial tools, release build, two shared cores) took at p50.
struct Prototype;

impl Prototype {
    const START: Duration = Duration::from_micros(1_500);
    const STDIO: Duration = Duration::from_micros(77);
    const HTTP_MODERN: Duration = Duration::from_micros(192);
    const HTTP_STATELESS: Duration = Duration::from_micros(180);
    const HTTP_SESSION: Duration = Duration::from_micros(190);
    const MEMORY_MB: f64 = 7.9;
}

/// What is aimed at, at p50 on a quiet machine.
struct Target;

impl Target {
    const START: Duration = Duration::from_millis(5);
    const STDIO: Duration = Duration::from_micros(150);
    const HTTP: Duration = Duration::from_micros(500);
    const MEMORY_MB: f64 = 15.0;
}

const STARTS: usize = 60;
const CALLS: usize = 3_000;
const WARM_UP: usize = 200;
const TOOL: &str = "get_kb_info";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("kb.txt");
    fs::write(&text, "Grafana\n".repeat(1_000)).unwrap();
    let text = text.to_str().unwrap();

    println!("{:<34}{:>10}{:>10}{:>10}{:>14}{:>10}", "", "min", "p50", "p99", "rmcp alone", "target");
    report("start to initialize answer", &mut starts(text), Prototype::START, Target::START);
    let (mut times, memory) = over_pipes(text);
    report("tools/call over stdio", &mut times, Prototype::STDIO, Target::STDIO);
    let mut served = over_http(text, &[], Era::Modern);
    report("tools/call over HTTP, newer era", &mut served.0, Prototype::HTTP_MODERN, Target::HTTP);
    let mut times = over_http(text, &["--mcp-stateless"], Era::Legacy).0;
    report("tools/call over HTTP, stateless", &mut times, Prototype::HTTP_STATELESS, Target::HTTP);
    let mut times = over_http(text, &[], Era::Session).0;
    report("tools/call over HTTP, session", &mut times, Prototype::HTTP_SESSION, Target::HTTP);
    report_memory("memory after calls, stdio", memory);
    report_memory("memory after calls, HTTP", served.1);
}

fn report(name: &str, times: &mut [Duration], prototype: Duration, target: Duration) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let show = |time: Duration| format!("{} µs", time.as_micros());
    println!(
        "{name:<34}{:>10}{:>10}{:>10}{:>14}{:>10}",
        show(at(0.0)),
        show(at(0.5)),
        show(at(0.99)),
        show(prototype),
        show(target),
    );
}

fn report_memory(name: &str, megabytes: Option<(f64, f64)>) {
    let shown =
        megabytes.map_or_else(|| "unknown".to_owned(), |(own, all)| format!("{own:.1} own, {all:.1} MB"));
    println!(
        "{name:<34}{shown:>20}{:>24}{:>10}",
        format!("{} MB", Prototype::MEMORY_MB),
        format!("{} MB", Target::MEMORY_MB)
    );
}

/// Memory of a process in megabytes: its own, and with the parts of the program and of files that are mapped.
fn memory(child: &Child) -> Option<(f64, f64)> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let megabytes = |name: &str| -> Option<f64> {
        let line = status.lines().find(|line| line.starts_with(name))?;
        Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
    };
    Some((megabytes("RssAnon:")?, megabytes("VmRSS:")?))
}

/// The program at home in the folder of the text, where there is nothing else to index.
fn program(text: &str) -> Command {
    let folder = Path::new(text).parent().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ibid"));
    command.current_dir(folder).env("HOME", folder.join("home")).env("IBID_DATA_DIR", folder.join("data"));
    command
}

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "0"},
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

struct Pipes {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Pipes {
    fn start(text: &str) -> Self {
        let mut child = program(text)
            .args(["mcp", "--toolsets", "text", "--kb-file", text])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout, line: String::new() }
    }

    fn round_trip(&mut self, message: &str) {
        self.stdin.write_all(message.as_bytes()).unwrap();
        self.line.clear();
        self.stdout.read_line(&mut self.line).unwrap();
        assert!(self.line.contains("\"result\""), "{}", self.line);
    }

    fn end(mut self) {
        drop(self.stdin);
        self.child.wait().unwrap();
    }
}

fn starts(text: &str) -> Vec<Duration> {
    let message = format!("{}\n", initialize());
    let start = || {
        let started = Instant::now();
        let mut pipes = Pipes::start(text);
        pipes.round_trip(&message);
        let time = started.elapsed();
        pipes.end();
        time
    };
    (0..STARTS).map(|_| start()).collect()
}

fn over_pipes(text: &str) -> (Vec<Duration>, Option<(f64, f64)>) {
    let mut pipes = Pipes::start(text);
    pipes.round_trip(&format!("{}\n", initialize()));
    let times = (1..=CALLS).map(|id| {
        let message = format!("{}\n", call(id, None));
        let started = Instant::now();
        pipes.round_trip(&message);
        started.elapsed()
    });
    let times = times.skip(WARM_UP).collect();
    let memory = memory(&pipes.child);
    pipes.end();
    (times, memory)
}

fn call(id: usize, meta: Option<Value>) -> Value {
    let mut params = json!({"name": TOOL, "arguments": {}});
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Modern,
    Legacy,
    Session,
}

fn over_http(text: &str, flags: &[&str], era: Era) -> (Vec<Duration>, Option<(f64, f64)>) {
    let mut child = program(text)
        .args(["serve", "--port", "0", "--mcp-enabled", "--toolsets", "text", "--kb-file", text])
        .args(flags)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "the server did not start");
        if let Some(address) = line.trim().split("listening on http://").nth(1) {
            break address.to_owned();
        }
    };
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    let mut connection = Connection::open(&address);
    let mut headers = String::from("MCP-Protocol-Version: 2025-11-25\r\n");
    let mut meta = None;
    match era {
        Era::Modern => {
            headers =
                format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {TOOL}\r\n");
            meta = Some(json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }));
        }
        Era::Legacy => {}
        Era::Session => {
            let session = connection.round_trip("", &initialize().to_string()).expect("a session");
            headers.extend(["Mcp-Session-Id: ", &session, "\r\n"]);
        }
    }
    let times = (1..=CALLS).map(|id| {
        let body = call(id, meta.clone()).to_string();
        let started = Instant::now();
        connection.round_trip(&headers, &body);
        started.elapsed()
    });
    let times = times.skip(WARM_UP).collect();
    let memory = memory(&child);
    drop(connection);
    child.kill().unwrap();
    child.wait().unwrap();
    (times, memory)
}

/// One connection, kept.
struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Connection {
    fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), address: address.to_owned() }
    }

    /// Sends a body and reads the whole answer; returns the session it names.
    fn round_trip(&mut self, headers: &str, body: &str) -> Option<String> {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut length, mut session) = (None, None);
        let mut line = self.line();
        assert!(line.contains(" 200 "), "{line}");
        loop {
            line = self.line();
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok(),
                "mcp-session-id" => session = Some(value.to_owned()),
                _ => {}
            }
        }
        match length {
            Some(length) => self.skip(length),
            None => loop {
                let size = usize::from_str_radix(self.line().trim(), 16).unwrap();
                self.skip(size + 2);
                if size == 0 {
                    break;
                }
            },
        }
        session
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line
    }

    fn skip(&mut self, bytes: usize) {
        let mut rest = vec![0; bytes];
        self.stream.read_exact(&mut rest).unwrap();
    }
}
