//! Identifiers: documents, notes, chunks, contents, generations and spaces.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, ErrorCode, RelPath};

/// A document's number inside one knowledge base; never used again after the document is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct DocumentId(pub i64);

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A chunk: its document and its zero-based place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ChunkRef {
    /// The document.
    pub document: DocumentId,
    /// Zero-based place in document order.
    pub index: u32,
}

/// A note's public identifier: the first 16 bytes of the SHA-256 of its path, as 32 lower-case hex digits.
/// A rename therefore changes it, and anybody can compute it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoteId([u8; 16]);

impl NoteId {
    /// The identifier of the note at this path.
    pub fn of(path: &RelPath) -> Self {
        Self(first_half(path.as_str().as_bytes()))
    }

    /// The sixteen bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// From the sixteen bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for NoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl FromStr for NoteId {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        parse_hex(raw).map(Self).ok_or_else(|| {
            Error::new(ErrorCode::InvalidId, "a note id is 32 lower-case hexadecimal digits")
                .with_hint("take the `noteId` of a search result")
        })
    }
}

/// Identity of a piece of content: the first 16 bytes of its SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 16]);

impl ContentHash {
    /// Hashes bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(first_half(bytes))
    }

    /// The sixteen bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// From the sixteen bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

macro_rules! hex_serde {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = String::deserialize(deserializer)?;
                parse_hex(&raw).map(Self).ok_or_else(|| serde::de::Error::custom("expected 32 hexadecimal digits"))
            }
        }
        impl JsonSchema for $name {
            fn inline_schema() -> bool { true }
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": "^[0-9a-f]{32}$"})
            }
        }
    )*};
}
hex_serde!(NoteId, ContentHash);

/// How a caller names a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKey {
    /// By number.
    Id(DocumentId),
    /// By note identifier.
    Note(NoteId),
    /// By path below its source.
    Path(RelPath),
}

/// Counts committed writes. A reader that saw generation `n` sees everything acknowledged up to `n`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Generation(pub u64);

/// One branch of the typed graph, or the default one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Space(pub String);

fn first_half(bytes: &[u8]) -> [u8; 16] {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    half
}

fn hex(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

fn parse_hex(raw: &str) -> Option<[u8; 16]> {
    let digits = raw.as_bytes();
    if digits.len() != 32 {
        return None;
    }
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_ids_are_the_first_half_of_the_hash_of_the_path() {
        let id = NoteId::of(&RelPath::parse("a.md").unwrap());
        assert_eq!(id.to_string().len(), 32);
        assert_eq!(id.to_string().parse::<NoteId>().unwrap(), id);
        assert!("A".repeat(32).parse::<NoteId>().is_err());
        assert!("abc".parse::<NoteId>().is_err());
    }
}
