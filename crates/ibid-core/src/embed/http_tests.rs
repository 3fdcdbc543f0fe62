//! The client against a server that behaves badly in every way.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use super::*;

/// What the server does with a request.
enum Reply {
    Status(u16, String),
    Silence,
    HangUp,
}

/// A server on a free port; it ends with the test.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
    seen: mpsc::Receiver<(String, serde_json::Value)>,
}

fn read_request(stream: &TcpStream) -> Option<(String, serde_json::Value)> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, serde_json::from_slice(&body).ok()?))
}

fn serve(reply: impl Fn(usize, &serde_json::Value) -> Reply + Send + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/embeddings", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let (sender, seen) = mpsc::channel();
    let counter = Arc::clone(&requests);
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some((head, body)) = read_request(&stream) else { continue };
            let number = counter.fetch_add(1, Ordering::SeqCst);
            let answer = reply(number, &body);
            let _ = sender.send((head, body));
            match answer {
                Reply::Status(status, body) => {
                    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
                    let rest = "connection: close\r\nlocation: http://127.0.0.1:1/\r\ncontent-type: application/json";
                    let _ = write!(stream, "{head}{rest}\r\n\r\n{body}");
                }
                Reply::Silence => silent.push(stream),
                Reply::HangUp => drop(stream),
            }
        }
    });
    Server { url, requests, seen }
}

fn vectors(body: &serde_json::Value, dimensions: usize) -> String {
    let inputs = body["input"].as_array().unwrap();
    let items: Vec<serde_json::Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let mut vector = vec![0.0; dimensions];
            vector[text.as_str().unwrap().len() % dimensions] = 3.0;
            serde_json::json!({"object": "embedding", "index": index, "embedding": vector})
        })
        .rev()
        .collect();
    serde_json::json!({"object": "list", "model": "m", "data": items}).to_string()
}

fn options(server: &Server) -> HttpOptions {
    HttpOptions { pause: Duration::from_millis(1), ..HttpOptions::new(&server.url, "m") }
}

fn client(server: &Server) -> HttpEmbedder {
    HttpEmbedder::new(options(server)).unwrap()
}

#[test]
fn texts_are_sent_in_batches_and_come_back_in_order() {
    let server = serve(|_, body| Reply::Status(200, vectors(body, 100)));
    let embedder = HttpEmbedder::new(HttpOptions { key: Some("secret".into()), ..options(&server) }).unwrap();
    assert_eq!(embedder.dimensions(), 0);
    let texts: Vec<String> = (1..=70).map(|length| "x".repeat(length)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = embedder.embed_passages(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&found) {
        assert_eq!(vector.iter().position(|value| (value - 1.0).abs() < 1e-6), Some(text.len()));
    }
    assert_eq!((found.len(), embedder.dimensions(), embedder.model()), (70, 100, "m"));
    let sizes: Vec<usize> = server
        .seen
        .try_iter()
        .map(|(head, body)| {
            assert!(head.to_ascii_lowercase().contains("authorization: bearer secret"), "{head}");
            assert_eq!(body["model"], "m");
            body["input"].as_array().unwrap().len()
        })
        .collect();
    assert_eq!(sizes, [32, 32, 6]);
}

#[test]
fn an_unusable_answer_is_an_error_at_once() {
    let check = |body: &'static str| {
        let server = serve(move |_, _| Reply::Status(200, body.into()));
        let error = client(&server).embed_passages(&["a", "b"]).unwrap_err();
        assert!(matches!(error, EmbedError::BadAnswer(_)), "{body}: {error}");
        assert_eq!(server.requests.load(Ordering::SeqCst), 1, "{body}");
    };
    check(r#"{"data":[]}"#);
    check(r#"{"data":[{"embedding":[1,0]}]}"#);
    check(r#"{"data":[{"embedding":[1,0]},{"embedding":[1,0]},{"embedding":[1,0]}]}"#);
    check(r#"{"data":[{"embedding":[1,0]},{"embedding":[1,0,0]}]}"#);
    check(r#"{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}"#);
    check(r#"{"data":[{"index":5,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}"#);
    check(r#"{"data":[{"embedding":[0,0]},{"embedding":[1,0]}]}"#);
    check(r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#);
    check(r#"{"data":[{"embedding":[1e300,0]},{"embedding":[1,0]}]}"#);
    check(r#"{"data":[{"embedding":[null,0]},{"embedding":[1,0]}]}"#);
    check(r#"{"data":[{"embedding":[NaN,0]},{"embedding":[1,0]}]}"#);
    check(r#"{"error":"no"}"#);
    check("<html>");
    check("");
}

#[test]
fn vectors_of_another_length_than_before_are_refused() {
    let server = serve(|number, body| Reply::Status(200, vectors(body, if number == 0 { 8 } else { 9 })));
    let embedder = client(&server);
    assert!(embedder.embed_query("first").is_ok());
    assert!(matches!(embedder.embed_query("second"), Err(EmbedError::OtherLength { expected: 8, found: 9 })));
    let told = HttpEmbedder::new(HttpOptions { dimensions: Some(8), ..options(&server) }).unwrap();
    assert_eq!(told.dimensions(), 8);
    assert!(matches!(told.embed_query("third"), Err(EmbedError::OtherLength { expected: 8, found: 9 })));
    told.expect_dimensions(0);
    assert!(told.embed_query("fourth").is_ok());
    assert_eq!(told.dimensions(), 9);
}

#[test]
fn a_passing_failure_is_tried_again() {
    let check = |first: fn() -> Reply| {
        let server = serve(move |number, body| match number {
            0 => first(),
            _ => Reply::Status(200, vectors(body, 4)),
        });
        assert!(client(&server).embed_query("text").is_ok());
        assert_eq!(server.requests.load(Ordering::SeqCst), 2);
    };
    check(|| Reply::Status(500, String::new()));
    check(|| Reply::Status(503, "busy".into()));
    check(|| Reply::Status(429, String::new()));
    check(|| Reply::HangUp);
}

#[test]
fn attempts_are_bounded() {
    let server = serve(|_, _| Reply::Status(502, String::new()));
    let error = client(&server).embed_passages(&["text"]).unwrap_err();
    assert!(matches!(error, EmbedError::Unreachable(_)), "{error}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 4);
}

#[test]
fn a_final_refusal_is_not_tried_again() {
    for status in [301, 307, 400, 401, 404, 413] {
        let server = serve(move |_, _| Reply::Status(status, String::new()));
        let error = client(&server).embed_passages(&["text"]).unwrap_err();
        assert!(matches!(error, EmbedError::Unreachable(_)), "{status}: {error}");
        assert_eq!(server.requests.load(Ordering::SeqCst), 1, "{status}");
    }
}

#[test]
fn a_server_that_hangs_costs_no_more_than_the_timeout() {
    let server = serve(|_, _| Reply::Silence);
    let timeout = Duration::from_millis(100);
    let embedder =
        HttpEmbedder::new(HttpOptions { timeout, query_timeout: timeout, ..options(&server) }).unwrap();
    let start = std::time::Instant::now();
    assert!(matches!(embedder.embed_query("text"), Err(EmbedError::Unreachable(_))));
    assert!(matches!(embedder.embed_passages(&["text"]), Err(EmbedError::Unreachable(_))));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(server.requests.load(Ordering::SeqCst), 2);
}

#[test]
fn nobody_listening_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let options = HttpOptions { pause: Duration::from_millis(1), ..HttpOptions::new(url, "m") };
    let error = HttpEmbedder::new(options).unwrap().embed_query("text").unwrap_err();
    assert!(matches!(error, EmbedError::Unreachable(_)), "{error}");
}

#[test]
fn options_that_cannot_work_are_refused() {
    let refused = |options: HttpOptions| matches!(HttpEmbedder::new(options), Err(EmbedError::Config(_)));
    let good = HttpOptions::new("http://127.0.0.1:1/", "m");
    assert!(!refused(good.clone()));
    assert!(refused(HttpOptions { url: "https://example.com/".into(), ..good.clone() }));
    assert!(refused(HttpOptions { model: " ".into(), ..good.clone() }));
    assert!(refused(HttpOptions { key: Some("two\r\nlines".into()), ..good.clone() }));
    assert!(!format!("{:?}", HttpOptions { key: Some("hidden".into()), ..good }).contains("hidden"));
}
