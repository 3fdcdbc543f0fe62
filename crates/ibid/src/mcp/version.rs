//! Which protocol versions are spoken, and what `initialize` answers.

use rmcp::{
    ErrorData,
    model::{ErrorCode, ProtocolVersion},
};
use serde_json::{Value, json};

/// Every released version, oldest first.
pub(crate) const SUPPORTED: &[ProtocolVersion] = ProtocolVersion::KNOWN_VERSIONS;

/// The version `initialize` agrees on. A version this server does not know but could once exist is answered
/// with the newest that still has a handshake; anything else is refused.
pub(super) fn negotiate(requested: &str) -> Result<ProtocolVersion, ErrorData> {
    if let Some(known) = SUPPORTED.iter().find(|version| version.as_str() == requested) {
        return Ok(if known.has_initialize() {
            known.clone()
        } else {
            ProtocolVersion::LATEST_WITH_INITIALIZE
        });
    }
    let oldest = SUPPORTED.first().map_or("", ProtocolVersion::as_str);
    if is_date(requested) && requested > oldest {
        return Ok(ProtocolVersion::LATEST_WITH_INITIALIZE);
    }
    Err(unsupported(&json!(requested)))
}

/// The answer to an `initialize` whose version is malformed, missing or too old.
pub(super) fn unsupported(requested: &Value) -> ErrorData {
    // What was asked for is echoed for programs to compare, so it has to stay small.
    let requested = match requested {
        Value::String(text) => Value::String(text.chars().take(32).collect()),
        Value::Array(_) | Value::Object(_) => Value::Null,
        other => other.clone(),
    };
    ErrorData::invalid_params(
        "unsupported protocol version; ask for one of those in `data.supported`",
        Some(json!({ "supported": SUPPORTED, "requested": requested })),
    )
}

/// The answer to a request that names a version nobody released, in its header.
pub(super) fn unknown(requested: &str) -> ErrorData {
    let requested: String = requested.chars().take(32).collect();
    ErrorData::new(
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        "unsupported protocol version; ask for one of those in `data.supported`",
        Some(json!({ "supported": SUPPORTED, "requested": requested })),
    )
}

fn is_date(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let in_range = |part: Option<&str>, most: u8| {
        part.and_then(|part| part.parse::<u8>().ok()).is_some_and(|number| (1..=most).contains(&number))
    };
    text.len() == 10
        && text.as_bytes()[4] == b'-'
        && text.as_bytes()[7] == b'-'
        && digits(0..4).is_some()
        && in_range(digits(5..7), 12)
        && in_range(digits(8..10), 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(requested: &str, expected: Option<&str>) {
        let agreed = negotiate(requested).ok();
        assert_eq!(agreed.as_ref().map(ProtocolVersion::as_str), expected, "{requested}");
    }

    #[test]
    fn released_versions_with_a_handshake_are_echoed() {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            check(version, Some(version));
        }
    }

    #[test]
    fn newer_versions_are_answered_with_the_newest_handshake() {
        for version in ["2026-07-28", "2027-01-01", "2099-12-31", "2025-05-05"] {
            check(version, Some("2025-11-25"));
        }
    }

    #[test]
    fn older_and_malformed_versions_are_refused_with_what_is_supported() {
        for version in
            ["2024-10-07", "1999-01-01", "", "1.0", "draft", "2025-13-01", "2025-1-001", "20250618"]
        {
            check(version, None);
        }
        let error = negotiate("1.0").unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert_eq!(
            error.data,
            Some(json!({
                "supported": ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"],
                "requested": "1.0",
            }))
        );
    }
}
