//! Clients of the real program, as the contract sees it: tools and envelopes.

use std::process::{Command, ExitStatus};

use serde_json::{Value, json};

pub(crate) use crate::harness::Reply;
use crate::harness::{self, Pipes, Request};

/// Version of the protocol that these clients speak.
pub(crate) const VERSION: &str = "2025-06-18";

/// `ibid mcp` as a child process.
pub(crate) struct Stdio {
    pipes: Pipes,
}

impl Stdio {
    /// Starts the program and shakes hands.
    pub(crate) fn start(command: Command) -> Self {
        let mut client = Self::spawn(command);
        let reply = client.request("initialize", initialize(VERSION));
        assert!(reply.get("result").is_some(), "{reply}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Starts the program and says nothing.
    pub(crate) fn spawn(command: Command) -> Self {
        Self { pipes: Pipes::of(command) }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.pipes.send(message);
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.pipes.request(method, params)
    }

    /// Sends a request and does not wait.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.pipes.post(method, params)
    }

    /// Calls a tool: its structured content, or the JSON-RPC error.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        outcome(self.pipes.call(tool, arguments))
    }

    /// Closes stdin and waits for the program to end.
    pub(crate) fn finish(self) -> Ended {
        let log = self.pipes.log.clone();
        let (messages, status) = self.pipes.finish();
        Ended { status, messages, err: log.whole() }
    }
}

/// A program that ended, with what it wrote since it was last listened to.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) messages: Vec<Value>,
    pub(crate) err: String,
}

pub(crate) fn initialize(version: &str) -> Value {
    harness::initialize_params(version)
}

/// What a `tools/call` came to. The text must be the structured content as JSON.
#[track_caller]
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
    inner: harness::Server,
    key: Option<String>,
}

impl Server {
    /// Starts the program and waits until it listens.
    #[track_caller]
    pub(crate) fn start(command: Command) -> Self {
        Self::try_start(command).unwrap_or_else(|log| panic!("the server ended:\n{log}"))
    }

    /// The same; what it wrote to stderr if it ended instead.
    pub(crate) fn try_start(command: Command) -> Result<Self, String> {
        Ok(Self { inner: harness::Server::of(command)?, key: None })
    }

    /// Sends this key with every request.
    pub(crate) fn with_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// The process.
    pub(crate) fn child(&mut self) -> &mut std::process::Child {
        &mut self.inner.child
    }

    pub(crate) fn port(&self) -> u16 {
        self.inner.address.port()
    }

    /// A session of MCP in the older era.
    pub(crate) fn session(&self, path: &str) -> harness::Session<'_> {
        self.inner.session(path)
    }

    /// Calls a tool over MCP in the newer era.
    pub(crate) fn modern_call(&self, path: &str, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        Request::modern(path, "tools/call", params).send(&self.inner).message()
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.request("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// Sends exactly these bytes as path: nothing is encoded or normalised.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut request = Request::new(method, path).body(body);
        if let Some(key) = &self.key {
            request = request.header("Authorization", &format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.send(&self.inner)
    }

    /// Everything it wrote to stderr so far.
    pub(crate) fn log(&self) -> String {
        self.inner.log.text()
    }

    /// Ends it, and returns everything it wrote to stderr.
    pub(crate) fn stop(self) -> String {
        let log = self.inner.log.clone();
        drop(self);
        log.whole()
    }
}

/// An answer in the envelope of the contract.
pub(crate) trait Enveloped {
    /// The data of a success.
    fn data(&self) -> Value;
    /// Status and code of a failure.
    fn refused(&self) -> (u16, String);
}

impl Enveloped for Reply {
    #[track_caller]
    fn data(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        let body = self.json();
        assert!(body["warnings"].is_array(), "{body}");
        body["data"].clone()
    }

    #[track_caller]
    fn refused(&self) -> (u16, String) {
        let body = self.json();
        let id = body["error"]["details"]["requestId"].as_str().unwrap_or_else(|| panic!("{body}"));
        assert_eq!(id.len(), 36, "{body}");
        assert!(body["error"]["message"].is_string(), "{body}");
        (self.status, body["error"]["code"].as_str().unwrap().to_owned())
    }
}
