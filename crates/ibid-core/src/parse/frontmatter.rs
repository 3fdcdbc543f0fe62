//! The YAML header of a document: where it ends, what it says, and what can be saved of a broken one.

use std::collections::{HashMap, HashSet};

use ibid_api::Metadata;
use saphyr_parser::{Event, Parser, ScalarStyle};

/// A header is searched for and read up to this size.
const MAX_BYTES: usize = 64 * 1024;
/// Deeper nesting than this is no header of a document.
const MAX_DEPTH: usize = 64;
/// How many scalars aliases may add, so that a few lines cannot unfold into millions.
const MAX_ALIASED: usize = 10_000;
/// Longest title that is kept.
pub(super) const MAX_TITLE_BYTES: usize = 512;

/// A header taken apart.
#[derive(Debug, Default)]
pub(super) struct Frontmatter {
    /// Fields in order, keys as written.
    entries: Vec<(String, Value)>,
    /// Whether it is not YAML, so that only simple lines were read.
    pub(super) broken: bool,
    /// Where the body starts.
    pub(super) body_start: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Null,
    /// A scalar as written, quotes and folding resolved.
    Scalar(String),
    /// All scalars of a list, lists in it laid flat.
    List(Vec<String>),
    /// Anything deeper.
    Nested,
}

/// Why a header could not be read as YAML.
enum Fault {
    Syntax,
    NotAMapping,
}

/// Reads the header at the start of a text; `None` when there is none.
pub(super) fn read(text: &str) -> Option<Frontmatter> {
    let (source, body_start) = locate(text)?;
    match read_yaml(source) {
        Ok(entries) => Some(Frontmatter { entries, broken: false, body_start }),
        // A document may start with a thematic break; what follows it is text then.
        Err(Fault::NotAMapping) => None,
        Err(Fault::Syntax) => {
            let entries = salvage(source);
            (!entries.is_empty()).then_some(Frontmatter { entries, broken: true, body_start })
        }
    }
}

impl Frontmatter {
    /// The `title`, when there is one.
    pub(super) fn title(&self) -> Option<String> {
        let title = self.text(&["title"])?;
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = title.floor_char_boundary(MAX_TITLE_BYTES);
        (end > 0).then(|| title[..end].to_owned())
    }

    /// The fields that every document may have.
    pub(super) fn metadata(&self) -> Metadata {
        let tags = self
            .names(&["tags", "tag"], |text| text.split([',', ' ', '\t', '\n']).map(str::to_owned).collect());
        Metadata {
            aliases: self.names(&["aliases", "alias"], |text| vec![text]),
            tags: bare_tags(tags),
            date: self.text(&["date"]),
            created: self.text(&["created"]),
            updated: self.text(&["updated"]),
            attachment_count: 0,
        }
    }

    /// All fields made of scalars, keys as written.
    pub(super) fn fields(self) -> Vec<(String, Vec<String>)> {
        self.entries
            .into_iter()
            .filter_map(|(key, value)| match value {
                Value::Null => Some((key, Vec::new())),
                Value::Scalar(text) => Some((key, vec![text])),
                Value::List(items) => Some((key, items)),
                Value::Nested => None,
            })
            .collect()
    }

    /// The value under the first of these keys; of a repeated key the last.
    fn value(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().find_map(|wanted| {
            self.entries
                .iter()
                .rev()
                .find(|(key, value)| key.eq_ignore_ascii_case(wanted) && *value != Value::Null)
                .map(|(_, value)| value)
        })
    }

    fn text(&self, keys: &[&str]) -> Option<String> {
        let text = match self.value(keys)? {
            Value::Scalar(text) => text.trim(),
            Value::List(items) if items.len() == 1 => items[0].trim(),
            _ => return None,
        };
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn names(&self, keys: &[&str], split: impl Fn(String) -> Vec<String>) -> Vec<String> {
        let items = match self.value(keys) {
            Some(Value::Scalar(text)) => split(text.clone()),
            Some(Value::List(items)) => items.clone(),
            _ => return Vec::new(),
        };
        items.iter().map(|item| item.trim()).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }
}

/// Tags in their bare form, each once.
fn bare_tags(tags: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    tags.into_iter()
        .map(|tag| tag.trim_start_matches('#').trim().to_owned())
        .filter(|tag| !tag.is_empty() && seen.insert(tag.clone()))
        .collect()
}

/// The source of the header between its two fences, and where the body starts.
fn locate(text: &str) -> Option<(&str, usize)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" || !first.ends_with('\n') {
        return None;
    }
    let mut offset = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&text[first.len()..offset], offset + line.len()));
        }
        offset += line.len();
        if offset > MAX_BYTES {
            return None;
        }
    }
    None
}

/// Reads YAML from its events: nothing is typed, so scalars stay as written, and nothing recurses.
fn read_yaml(source: &str) -> Result<Vec<(String, Value)>, Fault> {
    let mut reader = YamlReader { parser: Parser::new_from_str(source), anchors: HashMap::new(), aliased: 0 };
    loop {
        match reader.next()? {
            Event::MappingStart(..) => return reader.mapping(),
            Event::StreamEnd => return Ok(Vec::new()),
            Event::Scalar(text, ScalarStyle::Plain, ..) if is_null(&text) => return Ok(Vec::new()),
            Event::Scalar(..) | Event::SequenceStart(..) | Event::Alias(_) => return Err(Fault::NotAMapping),
            _ => {}
        }
    }
}

struct YamlReader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    anchors: HashMap<usize, Value>,
    aliased: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<Event<'a>, Fault> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(_)) | None => Err(Fault::Syntax),
        }
    }

    fn mapping(&mut self) -> Result<Vec<(String, Value)>, Fault> {
        let mut entries = Vec::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => break,
                event => self.value(event)?,
            };
            let event = self.next()?;
            let value = self.value(event)?;
            if let Value::Scalar(key) = key {
                entries.push((key, value));
            }
        }
        // What stands after the mapping must be well-formed too.
        while !matches!(self.next()?, Event::StreamEnd) {}
        Ok(entries)
    }

    /// The value that starts with this event.
    fn value(&mut self, first: Event<'a>) -> Result<Value, Fault> {
        let (value, anchor) = match first {
            Event::Scalar(text, style, anchor, _) => (scalar(text.into_owned(), style), anchor),
            Event::Alias(anchor) => (self.aliased(anchor)?, 0),
            Event::SequenceStart(anchor, _) => (self.nested(Some(Vec::new()))?, anchor),
            Event::MappingStart(anchor, _) => (self.nested(None)?, anchor),
            _ => return Err(Fault::Syntax),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    /// Reads to the end of a collection; `items` gathers the scalars of a list as long as it has no mappings.
    fn nested(&mut self, mut items: Option<Vec<String>>) -> Result<Value, Fault> {
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                Event::SequenceStart(..) => depth += 1,
                Event::MappingStart(..) => {
                    depth += 1;
                    items = None;
                }
                Event::SequenceEnd | Event::MappingEnd => depth -= 1,
                Event::Scalar(text, style, anchor, _) => {
                    let value = scalar(text.into_owned(), style);
                    if let (Some(items), Value::Scalar(text)) = (&mut items, &value) {
                        items.push(text.clone());
                    }
                    if anchor != 0 {
                        self.anchors.insert(anchor, value);
                    }
                }
                Event::Alias(anchor) => match (self.aliased(anchor)?, &mut items) {
                    (Value::Scalar(text), Some(items)) => items.push(text),
                    (Value::List(more), Some(items)) => items.extend(more),
                    _ => {}
                },
                _ => return Err(Fault::Syntax),
            }
            if depth > MAX_DEPTH {
                return Err(Fault::Syntax);
            }
        }
        Ok(items.map_or(Value::Nested, Value::List))
    }

    fn aliased(&mut self, anchor: usize) -> Result<Value, Fault> {
        let value = self.anchors.get(&anchor).unwrap_or(&Value::Nested);
        self.aliased += match value {
            Value::List(items) => items.len(),
            _ => 1,
        };
        if self.aliased > MAX_ALIASED { Err(Fault::Syntax) } else { Ok(value.clone()) }
    }
}

fn scalar(text: String, style: ScalarStyle) -> Value {
    if style == ScalarStyle::Plain && is_null(&text) { Value::Null } else { Value::Scalar(text) }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Reads what is plain to see in a header that is not YAML: `key: value`, `key: [a, b]`, and lists of lines.
fn salvage(source: &str) -> Vec<(String, Value)> {
    let mut entries: Vec<(String, Value)> = Vec::new();
    for line in source.lines() {
        let trimmed = line.trim();
        if let Some(item) = trimmed.strip_prefix("- ") {
            let item = unquoted(item);
            if item.is_empty() {
                continue;
            }
            match entries.last_mut() {
                Some((_, Value::List(items))) => items.push(item),
                Some((_, value @ Value::Null)) => *value = Value::List(vec![item]),
                _ => {}
            }
        } else if let Some((key, value)) = key_and_value(line) {
            entries.push((key.to_owned(), salvaged_value(value)));
        }
    }
    entries
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.starts_with(|first: char| first.is_alphanumeric() || first == '_')
        && key.len() <= 64
        && key.chars().all(|character| character.is_alphanumeric() || " _-.".contains(character));
    (is_key && (value.is_empty() || value.starts_with([' ', '\t', '\r']))).then(|| (key.trim(), value.trim()))
}

fn salvaged_value(value: &str) -> Value {
    if let Some(inner) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let items = inner.split(',').map(unquoted).filter(|item| !item.is_empty());
        return Value::List(items.collect());
    }
    match value.chars().next() {
        None => Value::Null,
        Some('{' | '|' | '>' | '&' | '*' | '!' | '[') => Value::Nested,
        Some(_) => Value::Scalar(unquoted(value)),
    }
}

fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.trim().to_owned();
        }
    }
    value.to_owned()
}
