//! The keep rule: a total order over documents, whose least member of a cluster is kept.
//!
//! `crawled_at desc, token_count desc, doc_id` is the default. A rule is a list of criteria, the
//! first being the most important:
//!
//! ```text
//! rule      = criterion { "," criterion }
//! criterion = column [ "=" "[" value { "," value } "]" ] [ "asc" | "desc" ]
//! ```
//!
//! `source=[curated,web]` puts `curated` first, then `web`, then everything else. Columns and
//! values that hold other characters than letters, digits, `_`, `-`, `.`, `:` and `/` stand in
//! double quotes, in which a quote is doubled. `token_count` and `doc_id` are always there. Every
//! rule ends in `doc_id`, which is added where it was not written, so no tie is left to chance.
//!
//! A column of numbers is ordered as numbers, one of dates as dates, any other by its bytes; the
//! dates' column `crawled_at` is always one of dates. What is missing, or no date among dates,
//! sorts last whatever the direction, and is counted.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use crate::document::{DocId, Documents, Value};
use crate::sets::ShingleSets;

/// A keep rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct KeepRule {
    criteria: Vec<Criterion>,
    /// Whether a column that is not there is an error: not in the default rule.
    written: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Criterion {
    column: String,
    values: Option<Vec<String>>,
    descending: bool,
}

/// Why a keep rule was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The rule does not follow the grammar.
    #[error("the keep rule cannot be read at character {at}: {problem}")]
    Syntax {
        /// The 1-based character.
        at: usize,
        /// What is wrong there.
        problem: String,
    },
    /// A column twice.
    #[error("the keep rule names {column:?} twice")]
    Repeated {
        /// The column.
        column: String,
    },
    /// Something after `doc_id`, which decides everything.
    #[error("the keep rule goes on after doc_id, which leaves no ties to break")]
    AfterId,
    /// A column that the documents do not have.
    #[error("the keep rule names the column {column:?}, which is not there; there are: {}", present.join(", "))]
    NoColumn {
        /// The column.
        column: String,
        /// The columns there are.
        present: Vec<String>,
    },
}

impl KeepError {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Syntax { .. } => Some(
                "write it like: source=[curated,web], crawled_at desc, token_count desc, doc_id"
                    .into(),
            ),
            Self::Repeated { .. } => Some("name each column once".into()),
            Self::AfterId => Some("put doc_id last".into()),
            Self::NoColumn { column, present } => {
                nearest(column, present).map(|name| format!("did you mean {name:?}?"))
            }
        }
    }
}

/// The name that looks most like `wanted`, if one does.
pub fn nearest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    names
        .iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.as_str())
}

const TOKEN_COUNT: &str = "token_count";
const DOC_ID: &str = "doc_id";
const CRAWLED_AT: &str = "crawled_at";

impl Default for KeepRule {
    fn default() -> Self {
        let criterion = |column: &str, descending| Criterion {
            column: column.into(),
            values: None,
            descending,
        };
        Self {
            criteria: vec![
                criterion(CRAWLED_AT, true),
                criterion(TOKEN_COUNT, true),
                criterion(DOC_ID, false),
            ],
            written: false,
        }
    }
}

impl fmt::Display for KeepRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, criterion) in self.criteria.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{}", Word(&criterion.column))?;
            if let Some(values) = &criterion.values {
                f.write_str("=[")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{}", if index > 0 { "," } else { "" }, Word(value))?;
                }
                f.write_str("]")?;
            }
            if criterion.descending {
                f.write_str(" desc")?;
            }
        }
        Ok(())
    }
}

/// A name or value as the grammar wants it.
struct Word<'a>(&'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = matches!(self.0, "asc" | "desc");
        if !self.0.is_empty() && !direction && self.0.chars().all(is_plain) {
            f.write_str(self.0)
        } else {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        }
    }
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ':' | '/')
}

impl FromStr for KeepRule {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Self, KeepError> {
        let mut parser = Parser {
            characters: text.chars().collect(),
            at: 0,
        };
        let mut criteria: Vec<Criterion> = Vec::new();
        loop {
            let criterion = parser.criterion()?;
            if criteria
                .iter()
                .any(|earlier| earlier.column == criterion.column)
            {
                return Err(KeepError::Repeated {
                    column: criterion.column,
                });
            }
            if criteria.last().is_some_and(|last| last.column == DOC_ID) {
                return Err(KeepError::AfterId);
            }
            criteria.push(criterion);
            parser.skip_space();
            match parser.peek() {
                Some(',') => parser.at += 1,
                None => break,
                Some(other) => return Err(parser.error(format!("expected a comma, not {other:?}"))),
            }
        }
        let ends_in_id = criteria
            .last()
            .is_some_and(|last| last.column == DOC_ID && last.values.is_none());
        if !ends_in_id {
            if criteria.iter().any(|criterion| criterion.column == DOC_ID) {
                // `doc_id=[..]` alone leaves ties among the ids that it does not list.
                return Err(KeepError::Syntax {
                    at: 1,
                    problem: "doc_id takes no list of values".into(),
                });
            }
            criteria.push(Criterion {
                column: DOC_ID.into(),
                values: None,
                descending: false,
            });
        }
        let rule = Self {
            criteria,
            written: true,
        };
        // The default rule, written out, is still the default.
        let default = Self::default();
        Ok(if rule.criteria == default.criteria {
            default
        } else {
            rule
        })
    }
}

struct Parser {
    characters: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn error(&self, problem: impl Into<String>) -> KeepError {
        KeepError::Syntax {
            at: self.at + 1,
            problem: problem.into(),
        }
    }

    /// A word, and whether it was quoted.
    fn word(&mut self, what: &str) -> Result<(String, bool), KeepError> {
        self.skip_space();
        if self.peek() != Some('"') {
            let start = self.at;
            while self.peek().is_some_and(is_plain) {
                self.at += 1;
            }
            return match self.characters[start..self.at].iter().collect::<String>() {
                word if word.is_empty() => Err(self.error(format!("expected {what}"))),
                word => Ok((word, false)),
            };
        }
        self.at += 1;
        let mut word = String::new();
        loop {
            match self.peek() {
                None => return Err(self.error("the quote is not closed")),
                Some('"') => {
                    self.at += 1;
                    if self.peek() != Some('"') {
                        return Ok((word, true));
                    }
                    word.push('"');
                }
                Some(other) => word.push(other),
            }
            self.at += 1;
        }
    }

    fn criterion(&mut self) -> Result<Criterion, KeepError> {
        let (column, _) = self.word("a column name")?;
        self.skip_space();
        let mut values = None;
        if self.peek() == Some('=') {
            self.at += 1;
            self.skip_space();
            if self.peek() != Some('[') {
                return Err(self.error("expected a list such as [curated,web]"));
            }
            self.at += 1;
            let mut list = Vec::new();
            loop {
                list.push(self.word("a value")?.0);
                self.skip_space();
                match self.peek() {
                    Some(',') => self.at += 1,
                    Some(']') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(self.error("expected a comma or ]")),
                }
            }
            values = Some(list);
        }
        self.skip_space();
        let mut descending = false;
        if self.peek().is_some_and(is_plain) {
            let start = self.at;
            match self.word("asc or desc")?.0.as_str() {
                "asc" => {}
                "desc" => descending = true,
                other => {
                    let problem = format!("expected asc, desc or a comma, not {other:?}");
                    return Err(KeepError::Syntax {
                        at: start + 1,
                        problem,
                    });
                }
            }
        }
        Ok(Criterion {
            column,
            values,
            descending,
        })
    }
}

impl From<KeepRule> for String {
    fn from(rule: KeepRule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for KeepRule {
    type Error = KeepError;

    fn try_from(text: String) -> Result<Self, KeepError> {
        text.parse()
    }
}

/// Documents without a usable date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DateCounts {
    /// Documents without a date.
    pub missing: u64,
    /// Documents with something that is no date.
    pub unreadable: u64,
}

/// The documents in the order of a keep rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepOrder {
    /// For each document its place in the order; the least of a cluster is kept.
    pub(crate) places: Vec<u32>,
    /// Documents that a date sorts last, where the rule goes by dates.
    pub dates: Option<DateCounts>,
}

impl KeepOrder {
    /// The document of `members` that is kept.
    pub fn best(&self, members: &[u32]) -> DocId {
        let best = members
            .iter()
            .min_by_key(|&&member| self.places[member as usize]);
        DocId(*best.expect("a cluster has a member"))
    }
}

impl KeepRule {
    /// Orders all documents.
    ///
    /// # Errors
    /// If the rule names a column that is not there, unless it is the default rule.
    pub fn order(
        &self,
        documents: &dyn Documents,
        sets: &ShingleSets,
    ) -> Result<KeepOrder, KeepError> {
        let mut dates = None;
        let mut keys: Vec<Vec<u64>> = Vec::new();
        let mut id_descending = false;
        for criterion in &self.criteria {
            if criterion.column == DOC_ID {
                id_descending = criterion.descending;
                continue;
            }
            let ranks = (0..documents.len() as u32).map(DocId);
            let values = if criterion.column == TOKEN_COUNT {
                Some(
                    ranks
                        .map(|d| Value::Integer(sets.token_count(d) as i64))
                        .collect(),
                )
            } else {
                documents.column(&criterion.column)
            };
            let values = match values {
                Some(values) => values,
                None if !self.written || documents.is_empty() => continue,
                None => {
                    return Err(KeepError::NoColumn {
                        column: criterion.column.clone(),
                        present: documents.column_names(),
                    });
                }
            };
            keys.push(criterion.keys(&values, &mut dates));
        }
        let mut order: Vec<u32> = (0..documents.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            keys.iter()
                .map(|key| key[a as usize].cmp(&key[b as usize]))
                .find(|order| order.is_ne())
                .unwrap_or_else(|| if id_descending { b.cmp(&a) } else { a.cmp(&b) })
        });
        let mut places = vec![0; order.len()];
        for (place, &document) in (0u32..).zip(&order) {
            places[document as usize] = place;
        }
        Ok(KeepOrder { places, dates })
    }
}

/// The key of a missing value: after every other.
const MISSING: u64 = u64::MAX;

impl Criterion {
    /// A number for each document whose order is the criterion's.
    fn keys(&self, values: &[Value], dates: &mut Option<DateCounts>) -> Vec<u64> {
        let keys: Vec<Option<u64>> = match &self.values {
            Some(list) => {
                let places: HashMap<&str, u64> = list
                    .iter()
                    .rev()
                    .map(|v| v.as_str())
                    .zip((0..list.len() as u64).rev())
                    .collect();
                let key = |value: &Value| match value {
                    Value::Null => None,
                    Value::Text(text) => places.get(text.as_str()).copied(),
                    Value::Integer(number) => places.get(number.to_string().as_str()).copied(),
                    Value::Float(number) => places.get(number.to_string().as_str()).copied(),
                    Value::Time(_) => None,
                };
                values.iter().map(key).collect()
            }
            None if self.column == CRAWLED_AT => {
                let counts = dates.insert(DateCounts::default());
                values
                    .iter()
                    .map(|value| {
                        let key = time_of(value);
                        let blank = match value {
                            Value::Null => true,
                            Value::Text(text) => text.trim().is_empty(),
                            _ => false,
                        };
                        match key {
                            None if blank => counts.missing += 1,
                            None => counts.unreadable += 1,
                            Some(_) => {}
                        }
                        key.map(ordered_integer)
                    })
                    .collect()
            }
            None => natural_keys(values),
        };
        keys.into_iter()
            .map(|key| match key {
                None => MISSING,
                Some(key) if self.descending => (MISSING - 1).saturating_sub(key),
                Some(key) => key.min(MISSING - 1),
            })
            .collect()
    }
}

/// Numbers as numbers, dates as dates, anything else by its bytes; decided over the whole column.
fn natural_keys(values: &[Value]) -> Vec<Option<u64>> {
    let present = || {
        values.iter().filter(|value| match value {
            Value::Null => false,
            // What is not a number is missing from a column of numbers.
            Value::Float(number) => !number.is_nan(),
            Value::Text(text) => {
                let text = text.trim();
                !text.is_empty() && !text.eq_ignore_ascii_case("nan")
            }
            _ => true,
        })
    };
    let integer = |value: &Value| match value {
        Value::Integer(number) => Some(ordered_integer(*number)),
        Value::Text(text) => text.trim().parse().ok().map(ordered_integer),
        _ => None,
    };
    if present().all(|value| integer(value).is_some()) {
        return values.iter().map(integer).collect();
    }
    if present().all(|value| number_of(value).is_some()) {
        return values.iter().map(number_of).collect();
    }
    if present().all(|value| time_of(value).is_some()) {
        return values
            .iter()
            .map(|value| time_of(value).map(ordered_integer))
            .collect();
    }
    let texts: Vec<Option<String>> = values
        .iter()
        .map(|value| match value {
            Value::Null => None,
            Value::Text(text) if text.trim().is_empty() => None,
            Value::Text(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Time(micros) => Some(micros.to_string()),
        })
        .collect();
    let mut distinct: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    distinct.sort_unstable();
    distinct.dedup();
    texts
        .iter()
        .map(|text| {
            text.as_deref()
                .and_then(|t| distinct.binary_search(&t).ok())
                .map(|p| p as u64)
        })
        .collect()
}

fn number_of(value: &Value) -> Option<u64> {
    match value {
        // Among floats, an integer past 2^53 is rounded like one.
        Value::Integer(number) => ordered_float(*number as f64),
        Value::Float(number) => ordered_float(*number),
        Value::Text(text) => text.trim().parse().ok().and_then(ordered_float),
        _ => None,
    }
}

fn ordered_float(number: f64) -> Option<u64> {
    if number.is_nan() {
        return None;
    }
    // Positive zero for both zeros.
    let bits = (number + 0.0).to_bits() as i64;
    let ordered = if bits < 0 { !bits } else { bits | i64::MIN };
    Some(ordered as u64)
}

fn ordered_integer(number: i64) -> u64 {
    (number as u64) ^ (1 << 63)
}

fn time_of(value: &Value) -> Option<i64> {
    match value {
        Value::Time(micros) => Some(*micros),
        Value::Text(text) => parse_time(text.trim()),
        Value::Integer(number) => parse_time(&number.to_string()),
        _ => None,
    }
}

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
    use crate::config::Config;
    use crate::document::{Corpus, Document};
    use crate::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
    use proptest::prelude::*;

    fn rule(text: &str) -> KeepRule {
        text.parse().unwrap()
    }

    fn order(
        rule: &KeepRule,
        documents: Vec<Document>,
    ) -> Result<(Vec<String>, KeepOrder), KeepError> {
        let corpus = Corpus::new(documents).unwrap();
        let mut batch = FingerprintBatch::default();
        let mut fingerprinter = Fingerprinter::new(&Config::default());
        for document in corpus.documents() {
            fingerprinter.push(&document.text, &SeenTexts::new(), &mut batch);
        }
        let sets = ShingleSets::new(vec![batch], corpus.len(), |d| (0, d.index()));
        let order = rule.order(&corpus, &sets)?;
        let mut ids: Vec<(u32, String)> = (0..corpus.len() as u32)
            .map(|d| (order.places[d as usize], corpus.id(DocId(d)).to_owned()))
            .collect();
        ids.sort();
        Ok((ids.into_iter().map(|(_, id)| id).collect(), order))
    }

    #[test]
    fn the_default_is_newest_longest_smallest() {
        let at =
            |id: &str, date: &str, text: &str| Document::new(id, text).with("crawled_at", date);
        let (ids, order) = order(
            &KeepRule::default(),
            vec![
                at("e", "", "a b c"),
                at("d", "not a date", "a b c d"),
                at("b", "2026-06-12", "a b"),
                at("a", "2026-06-12", "a b"),
                at("c", "2026-06-12T01:00:00Z", "a"),
                at("f", "2026-06-12", "a b c"),
            ],
        )
        .unwrap();
        assert_eq!(ids, ["c", "f", "a", "b", "d", "e"]);
        assert_eq!(
            order.dates,
            Some(DateCounts {
                missing: 1,
                unreadable: 1
            })
        );
    }

    #[test]
    fn value_lists_numbers_and_directions() {
        let doc = |id: &str, source: &str, score: &str| {
            Document::new(id, "x")
                .with("source", source)
                .with("score", score)
        };
        let documents = vec![
            doc("a", "other", "10"),
            doc("b", "web", "9"),
            doc("c", "web", "10"),
            doc("d", "curated", "-1"),
            doc("e", "", ""),
        ];
        let by = |text: &str| order(&rule(text), documents.clone()).unwrap().0.concat();
        assert_eq!(by("source=[curated,web], score desc"), "dcbae");
        assert_eq!(by("score"), "dbace");
        assert_eq!(by("score desc"), "acbde");
        assert_eq!(by("doc_id desc"), "edcba");
        assert_eq!(by("source desc, doc_id desc"), "cbade");
    }

    #[test]
    fn a_column_that_is_not_there() {
        let error = order(
            &rule("sorce, doc_id"),
            vec![Document::new("a", "x").with("source", "y")],
        );
        let error = error.unwrap_err();
        assert!(matches!(&error, KeepError::NoColumn { .. }));
        assert_eq!(error.hint().as_deref(), Some("did you mean \"source\"?"));
        assert!(order(&KeepRule::default(), vec![Document::new("a", "x")]).is_ok());
    }

    #[test]
    fn syntax_errors_name_the_place() {
        for (text, at) in [
            ("", 1),
            ("a b", 3),
            ("a,,b", 3),
            ("a=[", 4),
            ("a=[x", 5),
            ("a=x", 3),
            ("\"a", 3),
            ("a desc x", 8),
        ] {
            match text.parse::<KeepRule>() {
                Err(KeepError::Syntax { at: found, .. }) => assert_eq!(found, at, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
        assert_eq!(
            "a, a".parse::<KeepRule>(),
            Err(KeepError::Repeated { column: "a".into() })
        );
        assert_eq!("doc_id, a".parse::<KeepRule>(), Err(KeepError::AfterId));
    }

    #[test]
    fn a_rule_always_ends_in_the_id() {
        assert_eq!(
            rule("token_count desc").to_string(),
            "token_count desc, doc_id"
        );
        assert_eq!(
            rule("\"odd \"\"name\" , x=[\"a b\",c]").to_string(),
            "\"odd \"\"name\", x=[\"a b\",c], doc_id"
        );
        assert_eq!(rule(&KeepRule::default().to_string()), KeepRule::default());
    }

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

    proptest! {
        #[test]
        fn arbitrary_rules_never_panic_and_read_back(text in "[a-c\"=\\[\\], desc]{0,24}") {
            if let Ok(rule) = text.parse::<KeepRule>() {
                prop_assert_eq!(rule.to_string().parse::<KeepRule>(), Ok(rule));
            }
        }

        #[test]
        fn any_text_never_panics(text in any::<String>()) {
            let _ = text.parse::<KeepRule>();
            let _ = parse_time(&text);
        }

        #[test]
        fn float_keys_keep_the_order(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            let (x, y) = (ordered_float(a).unwrap(), ordered_float(b).unwrap());
            prop_assert_eq!(a.partial_cmp(&b), Some(x.cmp(&y)));
        }
    }
}
