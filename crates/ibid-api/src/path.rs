//! `RelPath`: a source-relative path that cannot escape its root.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A `/`-separated path below a source's root. Only a `RelPath` is ever joined to a root.
///
/// It has at least one segment, no empty, `.` or `..` segment, no NUL, no backslash, no drive letter, and
/// does not start with `/`. It is kept byte for byte otherwise: no case folding, no Unicode normalisation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct RelPath(String);

/// Why a path was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RelPathError {
    /// The path is empty.
    #[error("the path is empty")]
    Empty,
    /// The path is absolute.
    #[error("the path is absolute; give it relative to the root of the source")]
    Absolute,
    /// The path has a `..` segment.
    #[error("the path has a `..` segment")]
    Climbs,
    /// The path has a NUL, backslash or other character that no path here may have.
    #[error("the path has a character that is not allowed")]
    BadCharacter,
    /// The path is longer than any real one.
    #[error("the path is too long")]
    TooLong,
}

impl RelPath {
    const MAX_BYTES: usize = 4096;

    /// Parses a path, dropping `.` and empty segments and refusing everything that could leave the root.
    pub fn parse(raw: &str) -> Result<Self, RelPathError> {
        if raw.len() > Self::MAX_BYTES {
            return Err(RelPathError::TooLong);
        }
        if raw.contains(['\0', '\\']) {
            return Err(RelPathError::BadCharacter);
        }
        if raw.starts_with('/') {
            return Err(RelPathError::Absolute);
        }
        let bytes = raw.as_bytes();
        if bytes.len() >= 2 && bytes[1] == b':' && bytes[0].is_ascii_alphabetic() {
            return Err(RelPathError::Absolute);
        }
        let mut clean = String::with_capacity(raw.len());
        for segment in raw.split('/') {
            match segment {
                "" | "." => {}
                ".." => return Err(RelPathError::Climbs),
                _ => {
                    if !clean.is_empty() {
                        clean.push('/');
                    }
                    clean.push_str(segment);
                }
            }
        }
        if clean.is_empty() { Err(RelPathError::Empty) } else { Ok(Self(clean)) }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments, never empty.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The last segment.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The file name without its last extension.
    pub fn stem(&self) -> &str {
        let name = self.file_name();
        match name.rfind('.') {
            Some(0) | None => name,
            Some(dot) => &name[..dot],
        }
    }

    /// The last extension in lower case, without its dot.
    pub fn extension(&self) -> Option<String> {
        let name = self.file_name();
        match name.rfind('.') {
            Some(0) | None => None,
            Some(dot) => Some(name[dot + 1..].to_lowercase()),
        }
    }

    /// Whether any segment starts with a dot.
    pub fn is_hidden(&self) -> bool {
        self.segments().any(|segment| segment.starts_with('.'))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for RelPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(deserializer)?;
        Self::parse(&raw).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_could_escape_are_refused() {
        for (raw, want) in [
            ("", RelPathError::Empty),
            (".", RelPathError::Empty),
            ("./.", RelPathError::Empty),
            ("/etc/passwd", RelPathError::Absolute),
            ("//host/share", RelPathError::Absolute),
            ("C:/x", RelPathError::Absolute),
            ("c:x", RelPathError::Absolute),
            ("a/../b", RelPathError::Climbs),
            ("..", RelPathError::Climbs),
            ("a\\b", RelPathError::BadCharacter),
            ("a\0b", RelPathError::BadCharacter),
        ] {
            assert_eq!(RelPath::parse(raw), Err(want), "{raw:?}");
        }
    }

    #[test]
    fn paths_are_cleaned_and_taken_apart() {
        let path = RelPath::parse("./a//B c/.x/Note.v2.MD").unwrap();
        assert_eq!(path.as_str(), "a/B c/.x/Note.v2.MD");
        assert_eq!(path.file_name(), "Note.v2.MD");
        assert_eq!(path.stem(), "Note.v2");
        assert_eq!(path.extension().as_deref(), Some("md"));
        assert!(path.is_hidden());
        assert_eq!(RelPath::parse("..a/b..").unwrap().as_str(), "..a/b..");
        assert_eq!(RelPath::parse(".env").unwrap().extension(), None);
    }
}
