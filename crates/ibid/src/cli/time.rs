//! Times as people write and read them.

use std::time::Duration;

use ibid_api::{Error, ErrorCode, Result};
use jiff::{Span, Timestamp, Zoned, civil, tz::TimeZone};

/// A point in time in milliseconds since 1970: a date, a date with a time, or how long ago.
pub(super) fn parse_moment(raw: &str, flag: &str) -> Result<i64> {
    let raw = raw.trim();
    let now = Zoned::now();
    moment(raw, &now).map(|time| time.timestamp().as_millisecond()).ok_or_else(|| {
        Error::new(ErrorCode::InvalidParameter, format!("`{flag}` is not a date and not a span of time"))
            .with_hint("write `2026-03-01`, `2026-03-01T12:00`, `7d`, `3 months` or `yesterday`")
    })
}

fn moment(raw: &str, now: &Zoned) -> Option<Zoned> {
    let start_of = |date: civil::Date| date.to_zoned(now.time_zone().clone()).ok();
    match raw {
        "today" => return start_of(now.date()),
        "yesterday" => return start_of(now.date().yesterday().ok()?),
        _ => {}
    }
    if let Ok(timestamp) = raw.parse::<Timestamp>() {
        return Some(timestamp.to_zoned(now.time_zone().clone()));
    }
    if let Ok(time) = raw.parse::<civil::DateTime>() {
        return time.to_zoned(now.time_zone().clone()).ok();
    }
    if let Some((year, month)) = raw.split_once('-').filter(|_| raw.len() == 7) {
        return start_of(civil::Date::new(year.parse().ok()?, month.parse().ok()?, 1).ok()?);
    }
    let span: Span = raw.trim_end_matches("ago").trim().parse().ok()?;
    now.checked_sub(span.abs()).ok()
}

/// A time in milliseconds since 1970, as people of this place write it.
pub(super) fn local(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds)
        .map(|time| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default()
}

/// How long ago a time in milliseconds since 1970 was, roughly.
pub(super) fn ago(milliseconds: i64) -> String {
    let seconds = (Timestamp::now().as_millisecond() - milliseconds).max(0) / 1000;
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// How long something took.
pub(super) fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1000.0) } else { format!("{seconds:.1} s") }
}

/// A size in bytes.
pub(super) fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if value < 1000.0 {
            return if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// A count and its noun.
pub(super) fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_times_or_spans() {
        let now = civil::date(2026, 3, 15).at(12, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap();
        for (raw, want) in [
            ("2026-03-01", Some("2026-03-01T00:00:00Z")),
            ("2026-03", Some("2026-03-01T00:00:00Z")),
            ("2026-03-01T10:30", Some("2026-03-01T10:30:00Z")),
            ("2026-03-01T10:30:00Z", Some("2026-03-01T10:30:00Z")),
            ("today", Some("2026-03-15T00:00:00Z")),
            ("yesterday", Some("2026-03-14T00:00:00Z")),
            ("7d", Some("2026-03-08T12:00:00Z")),
            ("2 weeks ago", Some("2026-03-01T12:00:00Z")),
            ("3 months", Some("2025-12-15T12:00:00Z")),
            ("soon", None),
            ("", None),
        ] {
            let got = moment(raw, &now).map(|time| time.timestamp().to_string());
            assert_eq!(got.as_deref(), want, "{raw}");
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(1_234_567, "file"), "1,234,567 files");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500_000), "1.5 MB");
        assert_eq!(seconds(Duration::from_millis(12)), "12 ms");
        assert_eq!(seconds(Duration::from_millis(1200)), "1.2 s");
    }
}
