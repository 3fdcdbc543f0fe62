//! Clients of the real program: MCP on its stdin and stdout, and HTTP byte by byte.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, ChildStdin, Command, ExitStatus},
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Everything a process wrote to one of its streams so far.
type Written = Arc<Mutex<String>>;

/// `ibid mcp` as a child process.
pub(crate) struct Stdio {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    out: Written,
    err: Written,
    next_id: i64,
}

impl Stdio {
    /// Starts the program and shakes hands.
    pub(crate) fn start(command: Command) -> Self {
        let mut client = Self::spawn(command);
        let reply = client.request("initialize", initialize("2025-06-18"));
        assert!(reply.get("result").is_some(), "{reply}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Starts the program and says nothing.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let (out, err) = (Written::default(), Written::default());
        let (sender, lines) = mpsc::channel();
        follow(child.stdout.take().unwrap(), out.clone(), move |line| {
            let _ = sender.send(line.to_owned());
        });
        follow(child.stderr.take().unwrap(), err.clone(), |_| {});
        Self { stdin: child.stdin.take(), child, lines, out, err, next_id: 1 }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }

    /// The next message, whatever it answers.
    pub(crate) fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            panic!("no answer; stderr: {}", self.err.lock().unwrap());
        });
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Sends a request and does not wait.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Calls a tool: its structured content, or the JSON-RPC error.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        outcome(self.request("tools/call", json!({"name": tool, "arguments": arguments})))
    }

    /// Closes stdin and waits for the program to end.
    pub(crate) fn finish(mut self) -> Ended {
        self.stdin = None;
        // Its end closes its streams.
        while match self.lines.recv_timeout(PATIENCE) {
            Ok(_) => true,
            Err(RecvTimeoutError::Disconnected) => false,
            Err(RecvTimeoutError::Timeout) => panic!("the program does not end"),
        } {}
        let status = self.child.wait().unwrap();
        Ended { status, out: self.out.lock().unwrap().clone(), err: self.err.lock().unwrap().clone() }
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that ended, with all it wrote.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

/// What a `tools/call` came to. The text must be the structured content as JSON.
pub(crate) fn outcome(mut message: Value) -> Result<Value, Value> {
    if let Some(error) = message.get_mut("error") {
        return Err(error.take());
    }
    let result = &mut message["result"];
    let content = result["structuredContent"].take();
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"));
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), content);
    Ok(content)
}

/// `ibid serve` as a child process.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    err: Written,
    key: Option<String>,
}

impl Server {
    /// Starts the program on a free port and waits until it listens.
    pub(crate) fn start(command: Command) -> Self {
        Self::try_start(command).unwrap_or_else(|err| panic!("the server ended: {err}"))
    }

    /// The same; what it wrote to stderr if it ended instead.
    pub(crate) fn try_start(mut command: Command) -> Result<Self, String> {
        let mut child = command.spawn().unwrap();
        let err = Written::default();
        let (sender, lines) = mpsc::channel();
        follow(child.stderr.take().unwrap(), err.clone(), move |line| {
            let _ = sender.send(line.to_owned());
        });
        loop {
            let Ok(line) = lines.recv_timeout(PATIENCE) else {
                let _ = child.kill();
                let _ = child.wait();
                return Err(err.lock().unwrap().clone());
            };
            if let Some((_, address)) = line.split_once("listening on http://") {
                let address = address.split('/').next().unwrap().trim();
                return Ok(Self { child, address: address.parse().unwrap(), err, key: None });
            }
        }
    }

    /// Sends this key with every request.
    pub(crate) fn with_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.request("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// Sends exactly these bytes as path: nothing is encoded or normalised.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("Host: {}\r\n", self.address);
        }
        if let Some(key) = &self.key {
            head += &format!("Authorization: Bearer {key}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses by the head alone may close before the body is sent.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Reply::parse(&bytes)
    }

    /// Everything it wrote to stderr so far.
    pub(crate) fn log(&self) -> String {
        self.err.lock().unwrap().clone()
    }

    /// Ends it, and returns everything it wrote to stderr.
    pub(crate) fn stop(mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.log()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n").unwrap_or_else(|| {
            panic!("no HTTP answer: {}", String::from_utf8_lossy(bytes));
        });
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let body = &bytes[end + 4..];
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { unchunk(body) } else { body.to_vec() };
        Self { status, headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {} {}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    /// The data of a success.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        let body = self.json();
        assert!(body["warnings"].is_array(), "{body}");
        body["data"].clone()
    }

    /// Status and code of a failure, in the envelope of the contract.
    #[track_caller]
    pub(crate) fn refused(&self) -> (u16, String) {
        let body = self.json();
        let id = body["error"]["details"]["requestId"].as_str().unwrap_or_else(|| panic!("{body}"));
        assert_eq!(id.len(), 36, "{body}");
        assert!(body["error"]["message"].is_string(), "{body}");
        (self.status, body["error"]["code"].as_str().unwrap().to_owned())
    }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|part| part == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size.split(';').next().unwrap().trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    body
}

fn follow(stream: impl std::io::Read + Send + 'static, into: Written, each: impl Fn(&str) + Send + 'static) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            into.lock().unwrap().push_str(&format!("{line}\n"));
            each(&line);
        }
    });
}
