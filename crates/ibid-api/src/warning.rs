//! Warnings, and how many of them an answer shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::WarningCode;

/// An answer shows at most this many warnings, and one more that counts the rest.
pub const MAX_WARNINGS: usize = 100;

/// Something the caller should know about an answer that is not an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable code.
    pub code: WarningCode,
    /// One sentence.
    pub message: String,
    /// Typed facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

impl Warning {
    /// A warning without details.
    pub fn new(code: WarningCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    /// Stands for warnings that are not shown.
    pub fn omitted(count: u64) -> Self {
        Self {
            code: WarningCode::WarningsTruncated,
            message: format!("{count} more warnings are not shown"),
            details: Some(json!({ "omitted": count })),
        }
    }

    /// How many warnings this one stands for without showing them.
    fn omits(&self) -> Option<u64> {
        if self.code != WarningCode::WarningsTruncated {
            return None;
        }
        self.details.as_ref()?.get("omitted")?.as_u64()
    }

    /// The first hundred, and one that counts the rest. What was limited already stays as it is.
    pub fn limited(mut warnings: Vec<Self>) -> Vec<Self> {
        let before = warnings.last().and_then(Self::omits);
        if before.is_some() {
            warnings.pop();
        }
        let more = warnings.len().saturating_sub(MAX_WARNINGS) as u64;
        warnings.truncate(MAX_WARNINGS);
        let omitted = before.unwrap_or(0) + more;
        if omitted > 0 {
            warnings.push(Self::omitted(omitted));
        }
        warnings
    }

    /// How many there are, shown or not.
    pub fn count(warnings: &[Self]) -> u64 {
        let (omitting, shown): (Vec<_>, Vec<_>) = warnings.iter().map(Self::omits).partition(Option::is_some);
        shown.len() as u64 + omitting.into_iter().flatten().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_warnings_are_shown_and_the_rest_counted_once() {
        let many = |n: usize| vec![Warning::new(WarningCode::FileBinary, "a file is binary"); n];
        assert_eq!(Warning::limited(many(100)), many(100));
        let limited = Warning::limited(many(130));
        assert_eq!(limited[..100], many(100));
        assert_eq!(limited[100..], [Warning::omitted(30)]);
        assert_eq!(limited[100].details, Some(json!({ "omitted": 30 })));
        assert_eq!(Warning::limited(limited.clone()), limited);
        assert_eq!((Warning::count(&many(7)), Warning::count(&limited)), (7, 130));
        // Something was said before what was limited.
        let longer = [many(1), limited].concat();
        assert_eq!(Warning::limited(longer).last(), Some(&Warning::omitted(31)));
    }
}
