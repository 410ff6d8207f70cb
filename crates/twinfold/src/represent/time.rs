//! Dates and times as people and archives write them.

use chrono::{DateTime, NaiveDate, NaiveDateTime};

/// The instant that a text names, in microseconds since 1970 UTC: RFC 3339, ISO 8601 dates and
/// times with or without an offset (UTC if without), RFC 2822, the digits that web archives use
/// (`20240513210000`), and seconds, milliseconds or microseconds since 1970, which the number of
/// digits (9 or 10, 13, 16) tells apart.
pub fn parse_time(text: &str) -> Option<i64> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp_micros());
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return match text.len() {
            9 | 10 => return text.parse::<i64>().ok().map(|seconds| seconds * 1_000_000),
            13 => return text.parse::<i64>().ok().map(|millis| millis * 1000),
            16 => return text.parse().ok(),
            14 => NaiveDateTime::parse_from_str(text, "%Y%m%d%H%M%S").ok(),
            8 => NaiveDate::parse_from_str(text, "%Y%m%d")
                .ok()
                .and_then(|d| d.and_hms_opt(0, 0, 0)),
            _ => None,
        }
        .map(|time| time.and_utc().timestamp_micros());
    }
    for format in [
        "%Y-%m-%d %H:%M:%S%.f%#z",
        "%Y-%m-%dT%H:%M:%S%.f%#z",
        "%Y-%m-%dT%H:%M%#z",
    ] {
        if let Ok(time) = DateTime::parse_from_str(text, format) {
            return Some(time.timestamp_micros());
        }
    }
    for format in [
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%dT%H:%M",
        "%Y-%m-%d %H:%M",
    ] {
        if let Ok(time) = NaiveDateTime::parse_from_str(text, format) {
            return Some(time.and_utc().timestamp_micros());
        }
    }
    for format in ["%Y-%m-%d", "%Y/%m/%d"] {
        if let Ok(date) = NaiveDate::parse_from_str(text, format) {
            return date
                .and_hms_opt(0, 0, 0)
                .map(|time| time.and_utc().timestamp_micros());
        }
    }
    DateTime::parse_from_rfc2822(text)
        .ok()
        .map(|time| time.timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let day = 86_400_000_000;
        for (text, micros) in [
            ("1970-01-02", day),
            ("1970-01-02T00:00:00Z", day),
            ("1970-01-02 00:00:00", day),
            ("1970-01-02T01:00:00+01:00", day),
            ("1970-01-02 00:00:00.5", day + 500_000),
            ("19700102000000", day),
            ("19700102", day),
            ("1700000000", 1_700_000_000_000_000),
            ("1700000000123", 1_700_000_000_123_000),
            ("1700000000123456", 1_700_000_000_123_456),
            ("Fri, 02 Jan 1970 00:00:00 +0000", day),
        ] {
            assert_eq!(parse_time(text), Some(micros), "{text}");
        }
        for text in ["", "x", "1970-13-01", "1970-02-30", "0", "12", "yesterday"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
