//! Paging of lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which part of a list is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Paging {
    /// At most this many.
    pub limit: u32,
    /// After skipping this many.
    #[serde(default)]
    pub offset: u32,
}

impl Default for Paging {
    fn default() -> Self {
        Self { limit: 100, offset: 0 }
    }
}

/// Part of a list and the size of the whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// The part.
    pub items: Vec<T>,
    /// How many there are in all.
    pub total: u64,
}
