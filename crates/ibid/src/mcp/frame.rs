//! Splits a byte stream into lines without ever holding more than one allowed line.

use rmcp::model::RequestId;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The largest message read. Larger ones are answered with an error.
pub(super) const MAX_FRAME: usize = 16 * 1024 * 1024;

/// What came in.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    /// One line, without its end.
    Line(Vec<u8>),
    /// A line too long to keep, with the id of its request where it could be seen.
    Oversized(Option<RequestId>),
    /// The stream ended, or can no longer be read.
    End,
}

/// Reads lines. `next` may be dropped at any await and called again.
pub(super) struct Frames<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Set while the rest of an oversized line is thrown away.
    discarding: Option<IdScanner>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            discarding: None,
            limit,
        }
    }

    pub(super) async fn next(&mut self) -> Frame {
        loop {
            let (taken, ended) = {
                let available = match self.reader.fill_buf().await {
                    Ok(available) => available,
                    Err(error) => {
                        tracing::warn!(%error, "standard input can no longer be read");
                        &[]
                    }
                };
                if available.is_empty() {
                    return self.last();
                }
                let newline = available.iter().position(|byte| *byte == b'\n');
                let part = &available[..newline.unwrap_or(available.len())];
                if let Some(scanner) = &mut self.discarding {
                    scanner.feed(part);
                } else if self.line.len() + part.len() > self.limit {
                    let mut scanner = IdScanner::default();
                    scanner.feed(&self.line);
                    scanner.feed(part);
                    self.line = Vec::new();
                    self.discarding = Some(scanner);
                } else {
                    self.line.extend_from_slice(part);
                }
                (part.len() + usize::from(newline.is_some()), newline.is_some())
            };
            self.reader.consume(taken);
            if !ended {
                continue;
            }
            if let Some(scanner) = self.discarding.take() {
                return Frame::Oversized(scanner.id());
            }
            let line = trimmed(std::mem::take(&mut self.line));
            if !line.is_empty() {
                return Frame::Line(line);
            }
        }
    }

    /// A last line without an end counts; then nothing more comes.
    fn last(&mut self) -> Frame {
        if let Some(scanner) = self.discarding.take() {
            return Frame::Oversized(scanner.id());
        }
        match trimmed(std::mem::take(&mut self.line)) {
            line if line.is_empty() => Frame::End,
            line => Frame::Line(line),
        }
    }
}

fn trimmed(mut line: Vec<u8>) -> Vec<u8> {
    line.truncate(line.trim_ascii_end().len());
    // RFC 8259 lets a reader ignore a byte order mark.
    if line.starts_with(b"\xEF\xBB\xBF") {
        line.drain(..3);
    }
    line
}

/// Finds the value of the outermost `id` in a message too long to keep.
#[derive(Debug, Default)]
struct IdScanner {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The outermost string being read, then the key it turned out to be.
    text: Vec<u8>,
    key_is_id: bool,
    value: Option<Vec<u8>>,
    found: Option<Vec<u8>>,
}

/// No id worth answering is longer.
const MAX_ID: usize = 256;

impl IdScanner {
    fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if let Some(value) = &mut self.value
            && (self.in_string || !matches!(byte, b',' | b'}'))
        {
            if value.len() < MAX_ID {
                value.push(byte);
            }
            if !self.in_string && byte != b'"' {
                return;
            }
        }
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ if self.depth == 1 && self.text.len() < MAX_ID => self.text.push(byte),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.text.clear();
            }
            b':' if self.depth == 1 => {
                self.key_is_id = self.text == b"id";
                if self.key_is_id {
                    self.value = Some(Vec::new());
                }
            }
            b'{' | b'[' => self.depth += 1,
            b',' | b'}' | b']' => {
                if self.depth == 1
                    && let Some(value) = self.value.take()
                {
                    self.found = Some(value);
                }
                if byte != b',' {
                    self.depth = self.depth.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn id(self) -> Option<RequestId> {
        let value: Value = serde_json::from_slice(self.found.as_deref()?).ok()?;
        serde_json::from_value(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(input: &[u8], limit: usize) -> Vec<Frame> {
        let mut frames = Frames::new(input, limit);
        let mut all = Vec::new();
        loop {
            match frames.next().await {
                Frame::End => return all,
                frame => all.push(frame),
            }
        }
    }

    fn line(text: &str) -> Frame {
        Frame::Line(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_come_without_ends_and_empty_ones_not_at_all() {
        let frames = read(b"a\r\n\n \n\xEF\xBB\xBFb\nlast", 10).await;
        assert_eq!(frames, [line("a"), line("b"), line("last")]);
        assert_eq!(read(b"", 10).await, []);
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_reported_and_the_next_one_read() {
        let frames = read(b"12345\n1234567890\nok\n12345678", 6).await;
        assert_eq!(frames, [line("12345"), Frame::Oversized(None), line("ok"), Frame::Oversized(None)]);
    }

    #[track_caller]
    fn check(message: &str, expected: Option<RequestId>) {
        for pieces in [1, 3, message.len()] {
            let mut scanner = IdScanner::default();
            message.as_bytes().chunks(pieces).for_each(|piece| scanner.feed(piece));
            assert_eq!(scanner.id(), expected, "{message}");
        }
    }

    #[test]
    fn the_id_of_an_oversized_message_is_found_wherever_it_stands() {
        let text = |id: &str| Some(RequestId::String(id.into()));
        check(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"id":1}}"#, Some(RequestId::Number(7)));
        check(
            r#"{"method":"x","params":{"a":[1,{"id":2}],"b":"\"id\":3"},"id": 8}"#,
            Some(RequestId::Number(8)),
        );
        check(r#"{ "id" : "a,}b" , "params":{}}"#, text("a,}b"));
        check(r#"{"id":"a\"b","x":1}"#, text("a\"b"));
        check(r#"{"params":{"id":1}}"#, None);
        check(r#"{"id":null}"#, None);
        check(r#"{"id":[1,2]}"#, None);
        check(r#"[{"id":1}]"#, None);
        check("not json", None);
    }
}
