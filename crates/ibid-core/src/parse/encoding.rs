//! Bytes to UTF-8: byte order marks, UTF-16, and older encodings where they can be told.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use ibid_api::SkipReason;

/// How many bytes the detector looks at.
const DETECTION_BYTES: usize = 256 * 1024;

/// The text of a file, without a byte order mark.
pub(super) fn decode(bytes: &[u8], decode_legacy: bool) -> Result<String, SkipReason> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes)
        && (encoding == UTF_16LE || encoding == UTF_16BE)
    {
        if !decode_legacy {
            return Err(SkipReason::NotUtf8);
        }
        let (text, had_errors) = encoding.decode_without_bom_handling(&bytes[mark..]);
        return if had_errors || text.contains('\0') {
            Err(SkipReason::Binary)
        } else {
            Ok(text.into_owned())
        };
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if bytes.contains(&0) {
        return Err(SkipReason::Binary);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) if !decode_legacy => Err(SkipReason::NotUtf8),
        Err(_) => decode_by_guess(bytes),
    }
}

fn decode_by_guess(bytes: &[u8]) -> Result<String, SkipReason> {
    if control_share_is_high(bytes) {
        return Err(SkipReason::Binary);
    }
    // A few broken bytes in a UTF-8 file must not turn all its other letters into nonsense.
    if is_mostly_utf8(bytes) {
        return Ok(String::from_utf8_lossy(bytes).into_owned());
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(DETECTION_BYTES)], true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    match encoding.decode_without_bom_handling_and_without_replacement(bytes) {
        Some(text) if !has_control_characters(&text) => Ok(Cow::into_owned(text)),
        _ => Err(SkipReason::NotUtf8),
    }
}

/// Whether there are at least ten good multi-byte characters for each broken place.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut broken) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    good >= broken.saturating_mul(10)
}

fn control_share_is_high(bytes: &[u8]) -> bool {
    let controls = bytes.iter().filter(|byte| is_odd_control(**byte)).count();
    controls > 4 && controls * 50 > bytes.len()
}

fn is_odd_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B)
}

/// A wrong guess shows in C1 control characters, which no real text has.
fn has_control_characters(text: &str) -> bool {
    text.chars().any(|character| ('\u{80}'..='\u{9F}').contains(&character) && character != '\u{85}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], decode_legacy: bool, want: Result<&str, SkipReason>) {
        assert_eq!(decode(bytes, decode_legacy).as_deref(), want.as_ref().copied(), "{bytes:x?}");
    }

    #[test]
    fn utf8_is_taken_as_it_is_without_its_mark() {
        check("Grüße".as_bytes(), false, Ok("Grüße"));
        check(b"\xEF\xBB\xBFx", false, Ok("x"));
    }

    #[test]
    fn nul_bytes_mean_binary() {
        check(b"a\0b", true, Err(SkipReason::Binary));
        check(b"\x89PNG\r\n\x1a\n\0\0\0\x0d", true, Err(SkipReason::Binary));
    }

    #[test]
    fn utf16_with_a_mark_is_decoded_only_when_allowed() {
        let utf16: Vec<u8> =
            [0xFF, 0xFE].into_iter().chain("Grüße".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        check(&utf16, true, Ok("Grüße"));
        check(&utf16, false, Err(SkipReason::NotUtf8));
        let utf16: Vec<u8> =
            [0xFE, 0xFF].into_iter().chain("Grüße".encode_utf16().flat_map(u16::to_be_bytes)).collect();
        check(&utf16, true, Ok("Grüße"));
    }

    #[test]
    fn older_encodings_are_told_apart() {
        let german = "Über die Größe der Häuser läßt sich schön streiten, sagte der Bürgermeister.";
        let (latin, ..) = encoding_rs::WINDOWS_1252.encode(german);
        check(&latin, true, Ok(german));
        check(&latin, false, Err(SkipReason::NotUtf8));
        let japanese = "これは日本語の文章です。文字コードの判定を試します。";
        let (shift_jis, ..) = encoding_rs::SHIFT_JIS.encode(japanese);
        check(&shift_jis, true, Ok(japanese));
        let russian = "Это русский текст в старой кодировке, которую нужно узнать.";
        let (cyrillic, ..) = encoding_rs::WINDOWS_1251.encode(russian);
        check(&cyrillic, true, Ok(russian));
    }

    #[test]
    fn a_broken_byte_does_not_spoil_the_rest() {
        let mut bytes = "ä".repeat(40).into_bytes();
        bytes.push(0xC3);
        check(&bytes, true, Ok(&format!("{}\u{FFFD}", "ä".repeat(40))));
    }

    #[test]
    fn bytes_full_of_controls_are_binary() {
        let bytes: Vec<u8> = (1..=255).cycle().take(4096).collect();
        check(&bytes, true, Err(SkipReason::Binary));
    }
}
