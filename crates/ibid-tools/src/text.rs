//! Toolset `text`: one plain-text knowledge base, loaded once and returned whole.
//!
//! A failure is a status in a normal reply, never an error.

use std::{
    fs, io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use ibid_api::Result;
use jiff::{Timestamp, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ErrorStyle, Spec, Toolset};

/// Where the text is and what to call it.
#[derive(Debug, Clone)]
pub struct TextConfig {
    /// The file; none is a state that is reported, not an error.
    pub file: Option<PathBuf>,
    /// Whether nobody named the file: it is where one would be, and may well not be there.
    pub is_default: bool,
    /// What the text is about.
    pub description: String,
}

impl TextConfig {
    /// What the text is about unless configured otherwise.
    pub const DESCRIPTION: &str = "Azure Managed Grafana knowledge base";

    /// The text in `file`, described by default.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { file, is_default: false, description: Self::DESCRIPTION.to_owned() }
    }
}

/// The toolset. Reads the file now; if that fails, each call tries again, so a passing lock heals.
pub fn toolset(config: TextConfig) -> Toolset {
    let base = Arc::new(Base { config, loaded: OnceLock::new() });
    match base.text() {
        Ok(text) => tracing::info!(bytes = text.size, "knowledge base text loaded"),
        // Whoever serves something else has nothing to mend.
        Err(reason @ Unavailable::NotConfigured) => tracing::debug!("{}", reason.message()),
        Err(reason) => tracing::warn!("{}", reason.message()),
    }
    Toolset::build("text", base)
        .errors(ErrorStyle::TextResult)
        .instructions(
            "One plain-text knowledge base. Call get_kb_info first: it is cheap and says how long the text \
             is. get_kb_content returns all of it in one answer.",
        )
        .tool(
            Spec::read(
                "get_kb_info",
                "Knowledge base information",
                "Describes the text knowledge base without returning it: size in bytes, length in \
                 characters, when it was last modified, and whether it can be read. Use it to decide \
                 whether to fetch the whole text with get_kb_content. Takes no arguments.",
            )
            .examples(&["{}"]),
            info,
        )
        .tool(
            Spec::read(
                "get_kb_content",
                "Knowledge base content",
                "Returns the whole text of the knowledge base, unchanged and in one answer; there is no \
                 paging. Check its length with get_kb_info first. `status` is `ok`, `empty` or `error`. \
                 Takes no arguments.",
            )
            .examples(&["{}"]),
            content,
        )
        .finish()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NoArguments {}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum InfoStatus {
    Available,
    Unavailable,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct InfoReply {
    /// Whether the text can be read.
    status: InfoStatus,
    info: Info,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct Info {
    /// Size of the file.
    file_size_bytes: u64,
    /// Length of the text in characters.
    content_length: u64,
    /// Whether get_kb_content will return the text.
    is_available: bool,
    /// What the text is about.
    description: String,
    /// When the file last changed, as an ISO 8601 time; year 1 when unknown.
    last_modified: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ContentStatus {
    Ok,
    Empty,
    Error,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct ContentReply {
    /// Whether there is text, an empty text, or none to be had.
    status: ContentStatus,
    /// Length of the text in characters; absent on error.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_length: Option<u64>,
    /// The text; absent on error.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// Why there is no text; present only on error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

async fn info(base: Arc<Base>, _: NoArguments) -> Result<InfoReply> {
    let description = base.config.description.clone();
    Ok(match base.text() {
        Ok(text) => InfoReply {
            status: InfoStatus::Available,
            info: Info {
                file_size_bytes: text.size,
                content_length: text.length,
                is_available: true,
                description,
                last_modified: text.modified.clone(),
            },
            error: None,
        },
        Err(reason) => InfoReply {
            status: InfoStatus::Unavailable,
            info: Info {
                file_size_bytes: 0,
                content_length: 0,
                is_available: false,
                description,
                last_modified: UNKNOWN_TIME.to_owned(),
            },
            error: Some(reason.message()),
        },
    })
}

async fn content(base: Arc<Base>, _: NoArguments) -> Result<ContentReply> {
    Ok(match base.text() {
        Ok(text) => ContentReply {
            status: if text.length == 0 { ContentStatus::Empty } else { ContentStatus::Ok },
            content_length: Some(text.length),
            content: Some(text.content.clone()),
            error: None,
        },
        Err(reason) => ContentReply {
            status: ContentStatus::Error,
            content_length: None,
            content: None,
            error: Some(reason.message()),
        },
    })
}

const UNKNOWN_TIME: &str = "0001-01-01T00:00:00Z";

struct Base {
    config: TextConfig,
    loaded: OnceLock<Text>,
}

/// The text as it was when it was first read whole.
#[derive(Debug)]
struct Text {
    content: String,
    /// Characters, that is Unicode scalar values.
    length: u64,
    /// Bytes of the file, a byte order mark included.
    size: u64,
    modified: String,
}

/// Why there is no text. Says nothing of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unavailable {
    NotConfigured,
    Missing,
    NotAFile,
    Denied,
    NotUtf8,
    Unreadable,
}

impl Unavailable {
    fn message(self) -> &'static str {
        match self {
            Self::NotConfigured => {
                "knowledge base unavailable: no file is configured; name one with `--kb-file`"
            }
            Self::Missing => "knowledge base unavailable: the configured file does not exist",
            Self::NotAFile => "knowledge base unavailable: the configured path is not a regular file",
            Self::Denied => "knowledge base unavailable: the file may not be read; check its permissions",
            Self::NotUtf8 => "knowledge base unavailable: the file is not UTF-8 text; convert it",
            Self::Unreadable => {
                "knowledge base unavailable: the file cannot be read at the moment; try again"
            }
        }
    }
}

impl Base {
    fn text(&self) -> Result<&Text, Unavailable> {
        if let Some(text) = self.loaded.get() {
            return Ok(text);
        }
        let text = self.load()?;
        Ok(self.loaded.get_or_init(|| text))
    }

    fn load(&self) -> Result<Text, Unavailable> {
        let file = self.config.file.as_deref().ok_or(Unavailable::NotConfigured)?;
        // Opening a pipe or a device could wait for ever.
        let metadata = fs::metadata(file).map_err(|error| match reason(&error) {
            Unavailable::Missing if self.config.is_default => Unavailable::NotConfigured,
            reason => reason,
        })?;
        if !metadata.is_file() {
            return Err(Unavailable::NotAFile);
        }
        let bytes = fs::read(file).map_err(|error| reason(&error))?;
        let size = bytes.len() as u64;
        let mut content = String::from_utf8(bytes).map_err(|_| Unavailable::NotUtf8)?;
        if content.starts_with('\u{feff}') {
            content.drain(..'\u{feff}'.len_utf8());
        }
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| Timestamp::try_from(time).ok()?.round(Unit::Second).ok())
            .map_or_else(|| UNKNOWN_TIME.to_owned(), |time| time.to_string());
        Ok(Text { length: content.chars().count() as u64, content, size, modified })
    }
}

fn reason(error: &io::Error) -> Unavailable {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Unavailable::Missing,
        io::ErrorKind::PermissionDenied => Unavailable::Denied,
        io::ErrorKind::IsADirectory => Unavailable::NotAFile,
        _ => Unavailable::Unreadable,
    }
}

#[cfg(test)]
mod tests;
