//! Paths of attachments as callers write them: plain, or percent-encoded as in a Markdown link.

use ibid_api::{Error, ErrorCode, RelPath, Result};

/// A path that is still encoded after this many rounds is an attack, not a file name.
const MAX_ROUNDS: usize = 4;

/// The files a path may mean: the path as it is, then as it reads without percent-encoding.
///
/// Every reading must be a path below the root, so that no encoding gets past the check.
pub(super) fn spellings(raw: &str) -> Result<Vec<RelPath>> {
    let mut paths = Vec::new();
    let mut reading = raw.to_owned();
    for _ in 0..MAX_ROUNDS {
        if reading.chars().any(char::is_control) {
            return Err(refused("the path has a control character"));
        }
        let path = RelPath::parse(&reading).map_err(|error| refused(error.to_string()))?;
        if !paths.contains(&path) {
            paths.push(path);
        }
        match decode(&reading) {
            Some(decoded) => reading = decoded,
            None => return Ok(paths),
        }
    }
    Err(refused("the path is encoded more than once"))
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidPath, message)
        .with_hint("give the path of a file relative to the root of the vault, such as `images/plan.png`")
}

/// The text with its percent-encoded bytes decoded; none when there are none, or they are not text.
fn decode(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high << 4 | low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    let decoded = String::from_utf8(decoded).ok()?;
    (decoded != text).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, expected: &[&str]) {
        let paths = spellings(raw).unwrap();
        assert_eq!(paths.iter().map(RelPath::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_path_means_itself_first_and_then_what_it_encodes() {
        check("images/plan.png", &["images/plan.png"]);
        check("./images//plan.png", &["images/plan.png"]);
        check("my%20plan.png", &["my%20plan.png", "my plan.png"]);
        check("100%.png", &["100%.png"]);
        check("caf%C3%A9.png", &["caf%C3%A9.png", "café.png"]);
        check("%ff.png", &["%ff.png"]);
        check("...hidden..", &["...hidden.."]);
    }

    #[test]
    fn no_encoding_gets_past_the_check() {
        for raw in [
            "",
            ".",
            "/",
            "/etc/passwd",
            "../secret",
            "a/../../secret",
            "..\\secret",
            "a\\b",
            "C:/secret",
            "a\0.png",
            "a\n.png",
            "%2e%2e/secret",
            "%2E%2E%2Fsecret",
            "a/%2e%2e/%2e%2e/secret",
            "..%2fsecret",
            "..%5csecret",
            "%2fetc/passwd",
            "%252e%252e%252fsecret",
            "%25252e%25252e%25252fsecret",
            "%2525252525252e",
            "a%00.png",
            "%63:/secret",
        ] {
            let code = spellings(raw).map_err(|error| error.code);
            assert_eq!(code, Err(ErrorCode::InvalidPath), "{raw:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_path_is_refused_or_stays_below_the_root(raw in "[a%2eEfF5cC./\\\\\\x00]{0,24}|\\PC{0,24}") {
            for path in spellings(&raw).unwrap_or_default() {
                proptest::prop_assert!(!path.as_str().starts_with('/'));
                proptest::prop_assert!(path.segments().all(|segment| segment != ".." && !segment.is_empty()));
            }
        }
    }
}
