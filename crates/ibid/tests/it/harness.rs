//! The binary as a child process, and small clients for what it speaks.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Long enough for a loaded machine; every wait ends earlier when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// A home and a folder to work in of its own: neither the settings nor the indexes of whoever runs the tests
/// are touched.
#[derive(Debug)]
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(home.work()).unwrap();
        home
    }

    fn work(&self) -> std::path::PathBuf {
        self.0.path().join("work")
    }

    /// Makes a command live here and nowhere else.
    pub(crate) fn of(&self, command: &mut Command) {
        command.current_dir(self.work()).env_clear().env("HOME", self.0.path());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
    }

    fn ibid(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ibid"));
        self.of(&mut command);
        command
    }
}

/// Runs it to its end and returns what it printed as JSON.
#[track_caller]
pub(crate) fn printed(arguments: &[&str]) -> Value {
    let output = Home::new().ibid().args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Sends a signal by name.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(started.elapsed() < PATIENCE, "the process does not end");
        thread::yield_now();
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// What a child writes to standard error.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<(Mutex<String>, std::sync::Condvar)>, Arc<AtomicBool>);

impl Log {
    fn follow(stream: impl Read + Send + 'static) -> Self {
        let log = Self::default();
        let writer = log.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let (text, changed) = &*writer.0;
                let mut text = text.lock().unwrap();
                text.push_str(&line);
                text.push('\n');
                changed.notify_all();
            }
            let (text, changed) = &*writer.0;
            let _text = text.lock().unwrap();
            writer.1.store(true, Ordering::Relaxed);
            changed.notify_all();
        });
        log
    }

    /// Waits for a line that contains `part`; none if the log ends without it.
    #[track_caller]
    pub(crate) fn wait_for_or_end(&self, part: &str) -> Option<String> {
        let (text, changed) = &*self.0;
        let (text, timeout) = changed
            .wait_timeout_while(text.lock().unwrap(), PATIENCE, |text| {
                !self.1.load(Ordering::Relaxed) && !text.lines().any(|line| line.contains(part))
            })
            .unwrap();
        assert!(!timeout.timed_out(), "no {part:?} in the log:\n{text}");
        text.lines().find(|line| line.contains(part)).map(str::to_owned)
    }

    /// Waits until everything was written.
    pub(crate) fn whole(&self) -> String {
        self.wait_for_or_end("\n");
        self.text()
    }

    /// Waits for a line that contains `part`, and returns it.
    #[track_caller]
    pub(crate) fn wait_for(&self, part: &str) -> String {
        let (text, changed) = &*self.0;
        let (text, timeout) = changed
            .wait_timeout_while(text.lock().unwrap(), PATIENCE, |text| {
                !text.lines().any(|line| line.contains(part))
            })
            .unwrap();
        assert!(!timeout.timed_out(), "no {part:?} in the log:\n{text}");
        text.lines().find(|line| line.contains(part)).unwrap().to_owned()
    }

    pub(crate) fn text(&self) -> String {
        self.0.0.lock().unwrap().clone()
    }
}

/// `ibid mcp` with its pipes.
pub(crate) struct Pipes {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    pub(crate) log: Log,
    next_id: i64,
    home: Option<Home>,
}

impl Drop for Pipes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pipes {
    /// Starts it with the fixtures.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_bare(&[&["--conformance-fixtures"], arguments].concat())
    }

    /// Starts it with exactly these arguments.
    pub(crate) fn start_bare(arguments: &[&str]) -> Self {
        let home = Home::new();
        let mut command = home.ibid();
        command.arg("mcp").args(arguments);
        let mut pipes = Self::of(command);
        pipes.home = Some(home);
        pipes
    }

    /// Starts a command that speaks MCP on its pipes.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::follow(child.stderr.take().unwrap());
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, log, next_id: 100, home: None }
    }

    /// Starts it and shakes hands.
    pub(crate) fn initialized(arguments: &[&str]) -> Self {
        let mut pipes = Self::start(arguments);
        let answer = pipes.initialize(LEGACY);
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        pipes
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        self.request("initialize", initialize_params(version))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// The next message, whatever it is.
    #[track_caller]
    pub(crate) fn receive(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("nothing came");
        let message: Value = serde_json::from_str(&line).expect("standard output carries protocol only");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// The answers to a batch.
    #[track_caller]
    pub(crate) fn receive_batch(&self) -> Vec<Value> {
        let line = self.lines.recv_timeout(PATIENCE).expect("nothing came");
        serde_json::from_str(&line).expect("a batch is answered with an array")
    }

    /// The answer to `id`; others on the way are thrown away.
    #[track_caller]
    pub(crate) fn answer(&self, id: i64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params);
        self.answer(id)
    }

    /// Sends a request and returns its id.
    pub(crate) fn post(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes standard input and returns everything still written, and how it ended.
    pub(crate) fn finish(mut self) -> (Vec<Value>, ExitStatus) {
        self.close_stdin();
        self.rest()
    }

    /// Everything still written until the process ends.
    pub(crate) fn rest(&mut self) -> (Vec<Value>, ExitStatus) {
        let status = wait(&mut self.child);
        let messages =
            self.lines.iter().map(|line| serde_json::from_str(&line).expect("protocol only")).collect();
        (messages, status)
    }
}

pub(crate) fn initialize_params(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    })
}

/// Parameters with the metadata every request of the newer era carries.
pub(crate) fn modern(mut params: Value, version: &str) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// `ibid serve` on a free port.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) log: Log,
    home: Option<Home>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts it with MCP and the fixtures.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_bare(&[&["--mcp-enabled", "--conformance-fixtures"], arguments].concat())
    }

    /// Starts it with exactly these arguments, and a free port.
    pub(crate) fn start_bare(arguments: &[&str]) -> Self {
        let home = Home::new();
        let mut command = home.ibid();
        command.args(["serve", "--port", "0"]).args(arguments);
        let mut server = Self::of(command).unwrap_or_else(|log| panic!("the server does not start:\n{log}"));
        server.home = Some(home);
        server
    }

    /// Starts a command that serves HTTP; what it wrote instead if it ends without listening.
    pub(crate) fn of(mut command: Command) -> Result<Self, String> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::follow(child.stderr.take().unwrap());
        let Some(line) = log.wait_for_or_end("listening on http://") else {
            wait(&mut child);
            return Err(log.text());
        };
        let address = line.split("http://").nth(1).unwrap().trim().parse().unwrap();
        Ok(Self { child, address, log, home: None })
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        Request::new("GET", path).send(self)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        Request::new("POST", path).json(body).send(self)
    }

    /// A session of the older era.
    pub(crate) fn session(&self, path: &str) -> Session<'_> {
        let body =
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params(LEGACY)});
        let reply = self.post(path, &body);
        assert_eq!(reply.status, 200, "{reply:?}");
        let id = reply.header("mcp-session-id").map(str::to_owned);
        Session { server: self, path: path.to_owned(), id, next_id: 0 }
    }
}

pub(crate) struct Session<'a> {
    server: &'a Server,
    path: String,
    pub(crate) id: Option<String>,
    next_id: i64,
}

impl Session<'_> {
    /// A request within the session, ready to be sent.
    pub(crate) fn prepare(&mut self, method: &str, params: &Value) -> Request {
        self.next_id += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.raw("POST").json(&body)
    }

    pub(crate) fn raw(&self, method: &str) -> Request {
        let request = Request::new(method, &self.path).header("MCP-Protocol-Version", LEGACY);
        match &self.id {
            Some(id) => request.header("Mcp-Session-Id", id),
            None => request,
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let request = self.prepare(method, params);
        request.send(self.server).message()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }
}

/// An HTTP request, written byte by byte, so that tests can send what no client would.
#[derive(Clone)]
pub(crate) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        let headers = vec![("Accept".to_owned(), "application/json, text/event-stream".to_owned())];
        Self { method: method.to_owned(), path: path.to_owned(), headers, body: Vec::new() }
    }

    /// A request of the newer era, as a client sends it.
    pub(crate) fn modern(path: &str, method: &str, params: Value) -> Self {
        let request =
            Self::new("POST", path).header("MCP-Protocol-Version", MODERN).header("Mcp-Method", method);
        let request = match params["name"].as_str() {
            Some(name) => request.header("Mcp-Name", name),
            None => request,
        };
        request.json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": modern(params, MODERN)}))
    }

    /// Sets a header; one of the same name is replaced.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it and leaves the answer to be read.
    pub(crate) fn open(mut self, server: &Server) -> TcpStream {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            self = self.header("Host", &server.address.to_string());
        }
        let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        let mut bytes = format!("{head}Content-Length: {}\r\n\r\n", self.body.len()).into_bytes();
        bytes.extend(&self.body);
        // A server that refuses early may close before everything is written.
        let _ = stream.write_all(&bytes);
        stream
    }

    pub(crate) fn send(self, server: &Server) -> Reply {
        Reply::read(self.open(server))
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Self { status, headers, body: Vec::new() };
        if reply.header("transfer-encoding") == Some("chunked") {
            loop {
                line.clear();
                reader.read_line(&mut line).unwrap();
                let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
                if size == 0 {
                    break;
                }
                let start = reply.body.len();
                reply.body.resize(start + size + 2, 0);
                reader.read_exact(&mut reply.body[start..]).unwrap();
                reply.body.truncate(start + size);
            }
        } else {
            reader.read_to_end(&mut reply.body).unwrap();
        }
        reply
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The messages in it, be it JSON or a stream of events.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let text = self.text();
            let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
            return data
                .filter(|data| !data.is_empty())
                .map(|data| serde_json::from_str(data).unwrap())
                .collect();
        }
        vec![self.json()]
    }

    /// The answer in it.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        let answer = |message: &Value| message.get("result").is_some() || message.get("error").is_some();
        let message = self.messages().into_iter().find(answer);
        message.unwrap_or_else(|| panic!("no answer in {}: {}", self.status, self.text()))
    }
}
