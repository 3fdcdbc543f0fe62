//! OpenAI-compatible endpoints: batches, timeouts, bounded retries, and no trust in what comes back.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use ureq::{
    Agent,
    http::Uri,
    unversioned::{resolver::DefaultResolver, transport::DefaultConnector},
};

use super::{
    EmbedError, Embedder,
    endpoint::{self, PrivateResolver},
};

/// Texts in one request.
const BATCH: usize = 32;
/// Larger answers are not read.
const LARGEST_ANSWER: u64 = 64 << 20;
/// Nobody waits longer between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// After a query waited in vain, the next ones are spared the wait for this long.
const REST: Duration = Duration::from_secs(30);
/// Attempts for a query: somebody is waiting.
const QUERY_ATTEMPTS: u32 = 2;

/// How to reach an endpoint.
#[derive(Clone)]
pub struct HttpOptions {
    /// Where to send requests, such as `http://127.0.0.1:11434/v1/embeddings`.
    pub url: String,
    /// Name of the model, as the endpoint knows it.
    pub model: String,
    /// Sent as a bearer token.
    pub key: Option<String>,
    /// Length of the vectors, if known; otherwise that of the first answer.
    pub dimensions: Option<usize>,
    /// Whether the endpoint may be on the private network.
    pub allow_private_network: bool,
    /// Longest wait for the answer to a batch of passages.
    pub timeout: Duration,
    /// Longest wait for the answer to a query.
    pub query_timeout: Duration,
    /// How often a batch is sent before it counts as failed.
    pub attempts: u32,
    /// Pause before the second attempt; doubled for each further one.
    pub pause: Duration,
    /// Put in front of every query.
    pub query_prefix: String,
    /// Put in front of every passage.
    pub passage_prefix: String,
}

impl HttpOptions {
    /// The usual options for this endpoint and model.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            dimensions: None,
            allow_private_network: false,
            timeout: Duration::from_mins(2),
            query_timeout: Duration::from_secs(15),
            attempts: 4,
            pause: Duration::from_millis(500),
            query_prefix: String::new(),
            passage_prefix: String::new(),
        }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key and the URL, which may hold one, stay out of logs.
        f.debug_struct("HttpOptions")
            .field("model", &self.model)
            .field("key", &self.key.as_ref().map(|_| "set"))
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

/// An endpoint that embeds.
pub struct HttpEmbedder {
    agent: Agent,
    url: Uri,
    options: HttpOptions,
    /// Length of the vectors; zero while it is not known.
    dimensions: AtomicUsize,
    /// When a query last waited in vain.
    hung: Mutex<Option<Instant>>,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Why an attempt failed, and whether another one may help.
enum Failure {
    Final(EmbedError),
    Passing(String, Option<Duration>),
}

impl HttpEmbedder {
    /// Prepares an endpoint; nothing is sent yet.
    pub fn new(options: HttpOptions) -> Result<Self, EmbedError> {
        let url = endpoint::parse(&options.url, options.allow_private_network)?;
        if options.model.trim().is_empty() {
            return Err(EmbedError::Config("name the model of the embedding endpoint".into()));
        }
        if options.key.as_ref().is_some_and(|key| !key.bytes().all(|byte| (0x21..0x7F).contains(&byte))) {
            return Err(EmbedError::Config(
                "the key of the embedding endpoint has invalid characters".into(),
            ));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // The environment must not send texts elsewhere.
            .proxy(None)
            .build();
        let resolver = PrivateResolver {
            allow_private: options.allow_private_network,
            inner: DefaultResolver::default(),
        };
        let agent = Agent::with_parts(config, DefaultConnector::default(), resolver);
        let dimensions = AtomicUsize::new(options.dimensions.unwrap_or(0));
        Ok(Self { agent, url, options, dimensions, hung: Mutex::default() })
    }

    fn embed(&self, texts: &[String], timeout: Duration, attempts: u32) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.batch(batch, timeout, attempts)?);
        }
        Ok(vectors)
    }

    fn batch(&self, texts: &[String], timeout: Duration, attempts: u32) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut pause = self.options.pause;
        for attempt in 1.. {
            let (reason, wanted) = match self.attempt(texts, timeout) {
                Ok(vectors) => return Ok(vectors),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(reason, wanted)) => (reason, wanted),
            };
            if attempt >= attempts {
                return Err(EmbedError::Unreachable(reason));
            }
            thread::sleep(wanted.unwrap_or_else(|| spread(pause)).min(LONGEST_PAUSE));
            pause = pause.saturating_mul(2);
        }
        Ok(Vec::new())
    }

    fn attempt(&self, texts: &[String], timeout: Duration) -> Result<Vec<Vec<f32>>, Failure> {
        let mut request = self.agent.post(self.url.clone()).config().timeout_global(Some(timeout)).build();
        if let Some(key) = &self.options.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let body = Request { model: &self.options.model, input: texts };
        let mut response = request.send_json(&body).map_err(|error| failure(&error))?;
        let status = response.status().as_u16();
        if status == 429 || status >= 500 {
            let wanted =
                response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
            return Err(Failure::Passing(format!("status {status}"), wanted.map(Duration::from_secs)));
        }
        if status != 200 {
            let why = match status {
                300..=399 => "it redirects elsewhere".to_owned(),
                401 | 403 => format!("status {status}; check the key"),
                404 => "status 404; check the path of the endpoint and the name of the model".to_owned(),
                _ => format!("status {status}"),
            };
            return Err(Failure::Final(EmbedError::Unreachable(why)));
        }
        let answer = response.body_mut().with_config().limit(LARGEST_ANSWER).read_json::<Answer>();
        let answer = answer.map_err(|error| failure(&error))?;
        self.vectors(answer, texts.len()).map_err(Failure::Final)
    }

    /// Checks an answer, and that its vectors are as long as those before.
    fn vectors(&self, answer: Answer, count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = ordered(answer, count).map_err(EmbedError::BadAnswer)?;
        let Some(found) = vectors.first().map(Vec::len) else {
            return Ok(vectors);
        };
        // The first answer must agree with itself before it decides what later ones must look like.
        if vectors.iter().any(|vector| vector.len() != found) {
            return Err(EmbedError::BadAnswer("its vectors differ in length"));
        }
        match self.dimensions.compare_exchange(0, found, Ordering::Relaxed, Ordering::Relaxed) {
            Err(expected) if expected != found => Err(EmbedError::OtherLength { expected, found }),
            _ => Ok(vectors),
        }
    }
}

/// The vectors of an answer in the order of the texts.
fn ordered(answer: Answer, count: usize) -> Result<Vec<Vec<f32>>, &'static str> {
    if answer.data.len() != count {
        return Err("it has another number of vectors than texts were sent");
    }
    let mut ordered = vec![None; count];
    for (place, item) in answer.data.into_iter().enumerate() {
        let Item { index, embedding: mut vector } = item;
        let place = ordered.get_mut(index.unwrap_or(place)).ok_or("it numbers vectors that do not exist")?;
        if vector.iter().any(|value| !value.is_finite()) {
            return Err("a vector holds something that is not a number");
        }
        if !super::unit_length(&mut vector) {
            return Err("a vector has no direction");
        }
        if place.replace(vector).is_some() {
            return Err("it numbers two vectors alike");
        }
    }
    Ok(ordered.into_iter().flatten().collect())
}

fn failure(error: &ureq::Error) -> Failure {
    let reason = |text: &str| EmbedError::Unreachable(text.to_owned());
    match error {
        ureq::Error::Timeout(_) => Failure::Final(reason("it took too long")),
        ureq::Error::HostNotFound => Failure::Passing("its host is not found on this network".into(), None),
        ureq::Error::Io(error) => Failure::Passing(error.kind().to_string(), None),
        ureq::Error::ConnectionFailed => Failure::Passing("no connection".into(), None),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => {
            Failure::Final(reason("its certificate is not trusted"))
        }
        ureq::Error::BodyExceedsLimit(_) => Failure::Final(EmbedError::BadAnswer("it is too large")),
        ureq::Error::Json(_) => Failure::Final(EmbedError::BadAnswer("it is not the expected JSON")),
        _ => Failure::Final(EmbedError::BadAnswer("it does not speak HTTP properly")),
    }
}

/// A pause lengthened by up to a half at random, so that several clients do not come back at once.
fn spread(pause: Duration) -> Duration {
    let random = RandomState::new().hash_one(0_u8);
    pause + pause.mul_f64((random >> 11) as f64 / (1_u64 << 54) as f64)
}

impl Embedder for HttpEmbedder {
    fn model(&self) -> &str {
        &self.options.model
    }

    /// Zero until the endpoint has answered once, unless the options say it.
    fn dimensions(&self) -> usize {
        self.dimensions.load(Ordering::Relaxed)
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<String> =
            texts.iter().map(|text| sendable(&self.options.passage_prefix, text)).collect();
        self.embed(&texts, self.options.timeout, self.options.attempts.max(1))
    }

    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let mut hung = self.hung.lock().unwrap_or_else(PoisonError::into_inner);
        if hung.is_some_and(|when| when.elapsed() < REST) {
            return Err(EmbedError::Unreachable("it took too long a moment ago".to_owned()));
        }
        *hung = None;
        drop(hung);
        let texts = [sendable(&self.options.query_prefix, query)];
        let started = Instant::now();
        let vectors = self.embed(&texts, self.options.query_timeout, QUERY_ATTEMPTS);
        if vectors.is_err() && started.elapsed() >= self.options.query_timeout {
            *self.hung.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        let vectors = vectors?;
        vectors.into_iter().next().ok_or(EmbedError::BadAnswer("it has no vector"))
    }

    fn fertility(&self, _text: &str) -> Option<f32> {
        None
    }

    fn expect_dimensions(&self, dimensions: usize) {
        self.dimensions.store(dimensions, Ordering::Relaxed);
    }
}

/// Endpoints refuse texts of nothing.
fn sendable(prefix: &str, text: &str) -> String {
    let whole = format!("{prefix}{text}");
    if whole.is_empty() { " ".to_owned() } else { whole }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
