//! An embedding endpoint on this machine that remembers what it was asked, and can misbehave.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
};

use serde_json::{Value, json};

use crate::harness::PATIENCE;

/// What it answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Manner {
    /// Vectors of this length, made from the texts.
    Vectors(usize),
    /// This body.
    Body(String),
    /// Nothing, and keeps the connection.
    Hang,
}

#[derive(Default)]
struct State {
    manner: Option<Manner>,
    /// How often each text was sent.
    texts: HashMap<String, usize>,
    requests: usize,
    /// Requests beyond this number wait.
    limit: Option<usize>,
    held: Vec<TcpStream>,
}

/// The endpoint; it lives as long as the process.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Endpoint {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { manner: Some(manner), ..State::default() };
        let endpoint = Self { address, shared: Arc::new((Mutex::new(state), Condvar::new())) };
        let served = endpoint.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = served.clone();
                thread::spawn(move || served.answer(stream));
            }
        });
        endpoint
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1/embeddings", self.address)
    }

    pub(crate) fn hangs(&self) -> bool {
        self.shared.0.lock().unwrap().manner == Some(Manner::Hang)
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.shared.0.lock().unwrap().manner = Some(manner);
    }

    /// Texts that were sent until now: each one's count.
    pub(crate) fn texts(&self) -> HashMap<String, usize> {
        self.shared.0.lock().unwrap().texts.clone()
    }

    /// How many texts were sent until now.
    pub(crate) fn sent(&self) -> usize {
        self.texts().values().sum()
    }

    /// Waits until so many requests have come in all.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        let (state, changed) = &*self.shared;
        let (_state, timeout) = changed
            .wait_timeout_while(state.lock().unwrap(), PATIENCE, |state| state.requests < count)
            .unwrap();
        assert!(!timeout.timed_out(), "fewer than {count} requests came");
    }

    /// Lets requests beyond this number in all wait until another limit is set.
    pub(crate) fn pause_after(&self, limit: Option<usize>) {
        let (state, changed) = &*self.shared;
        state.lock().unwrap().limit = limit;
        changed.notify_all();
    }

    pub(crate) fn requests(&self) -> usize {
        self.shared.0.lock().unwrap().requests
    }

    fn answer(&self, stream: TcpStream) {
        let Some(body) = read_body(&stream) else { return };
        let texts: Vec<String> =
            body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
        let (state, changed) = &*self.shared;
        let mut state = state.lock().unwrap();
        for text in &texts {
            *state.texts.entry(text.clone()).or_default() += 1;
        }
        state.requests += 1;
        changed.notify_all();
        let number = state.requests;
        let waits = |state: &mut State| state.limit.is_some_and(|limit| number > limit);
        let (mut state, _) = changed.wait_timeout_while(state, PATIENCE, waits).unwrap();
        let body = match state.manner.clone().unwrap() {
            Manner::Vectors(length) => vectors(&texts, length),
            Manner::Body(body) => body,
            Manner::Hang => {
                state.held.push(stream);
                return;
            }
        };
        drop(state);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        // A client that was killed does not read.
        let _ = (&stream).write_all(format!("{head}{body}").as_bytes());
    }
}

fn read_body(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// A vector that depends on the text and nothing else.
fn vectors(texts: &[String], length: usize) -> String {
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let mut vector = vec![0.01_f64; length];
            for (place, byte) in text.bytes().enumerate() {
                vector[(usize::from(byte) * 7 + place) % length] += 1.0;
            }
            json!({"index": index, "embedding": vector})
        })
        .collect();
    json!({"model": "test", "data": data}).to_string()
}
