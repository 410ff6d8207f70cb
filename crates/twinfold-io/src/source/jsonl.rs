//! JSON Lines: one object on each line.
//!
//! A line is split into its keys and the raw text of their values, in two passes over a batch: the
//! first finds which keys there are, the second checks the values and builds the columns. Nothing is
//! parsed further than the columns need, and keys are compared with those of the line before first, so
//! that lines of one writer cost no look-ups.
//!
//! Guarantee: each line that isn't blank is a document or is rejected with its line number, unless the
//! file is one JSON value and no lines at all, which is an error; a rejected line adds no column.
//! Columns are typed by all their values ([`super::shape`]). `NaN` and `Infinity` are read as Python
//! writes them ([`super::literals`]).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use memchr::memchr;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::batch::{Batch, ColumnInfo, Numbers};
use super::chunks::Chunk;
use super::columns::{Chosen, ROLES, Role};
use super::texts::Texts;
use super::unit::{FileContext, KeysSeen, Piece};
use super::values::{Column, Value};
use super::{BATCH_BYTES, BATCH_ROWS, ids, literals};

/// Parses the lines of a chunk.
pub(super) fn decode(file: &FileContext<'_>, chunk: &Chunk) -> Vec<Piece> {
    let (mut pieces, mut line, mut at) = (Vec::new(), chunk.line, 0);
    let masked = literals::masked(&chunk.bytes);
    let mut lines = Vec::new();
    let mut bytes = 0;
    while at < chunk.bytes.len() {
        let end =
            memchr(chunk.line_end, &chunk.bytes[at..]).map_or(chunk.bytes.len(), |step| at + step);
        let text = &chunk.bytes[at..end];
        if !is_blank(text) {
            if !lines.is_empty() && bytes + text.len() > BATCH_BYTES {
                pieces.push(batch(file, &std::mem::take(&mut lines)));
                bytes = 0;
            }
            bytes += text.len();
            let masked = match &masked {
                Cow::Borrowed(_) => text,
                Cow::Owned(masked) => &masked[at..end],
            };
            lines.push(Written { line, text, masked });
            if lines.len() == BATCH_ROWS {
                pieces.push(batch(file, &std::mem::take(&mut lines)));
                bytes = 0;
            }
        }
        (line, at) = (line + 1, end + 1);
    }
    if !lines.is_empty() {
        pieces.push(batch(file, &lines));
    }
    pieces
}

/// A line that isn't blank.
struct Written<'a> {
    line: u64,
    text: &'a [u8],
    /// The same without what JSON doesn't know ([`literals`]).
    masked: &'a [u8],
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// Whether a file that begins so holds one value instead of lines: an `array` of objects, or an
/// `object` written over several lines. Reading on would reject its every line, or all but a few.
/// `whole` when there is no more of the file.
pub(super) fn one_value(bytes: &[u8], whole: bool) -> Option<&'static str> {
    let mut lines = bytes
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty());
    let (first, second) = (lines.next()?, lines.next());
    let parsed = |line: &[u8]| serde_json::from_slice::<IgnoredAny>(line);
    let array = match (first, second) {
        (b"{", Some(second)) if second.starts_with(b"\"") => return Some("object"),
        ([b'[', rest @ ..], None) => {
            whole && rest.trim_ascii_start().starts_with(b"{") && parsed(first).is_ok()
        }
        // A line that breaks off somewhere, and a whole object after it, are lines.
        ([b'[', ..], Some(second)) => {
            let object = second.starts_with(b"{") && parsed(second).is_ok();
            parsed(first).is_err_and(|error| error.is_eof()) && (!object || first.ends_with(b","))
        }
        _ => false,
    };
    array.then_some("array")
}

/// The keys and raw values of one line: a range of `Parsed::pairs`, or why there is none.
type Line = Result<std::ops::Range<usize>, String>;

#[derive(Default)]
struct Parsed<'a> {
    names: Vec<String>,
    slots: HashMap<String, usize>,
    /// The last line (from 1) that had the key.
    last: Vec<usize>,
    pairs: Vec<(usize, &'a str)>,
    /// Where the pairs of the line before begin, to guess slots by position.
    before: usize,
    /// The key that the line at hand has twice.
    twice: Option<usize>,
    /// Lines that are well-formed objects.
    objects: u64,
}

impl<'a> Parsed<'a> {
    fn slot(&mut self, position: usize, key: &str) -> usize {
        if let Some(&(slot, _)) = self.pairs.get(self.before + position)
            && self.names[slot] == key
        {
            return slot;
        }
        if let Some(&slot) = self.slots.get(key) {
            return slot;
        }
        self.names.push(key.to_string());
        self.last.push(0);
        self.slots.insert(key.to_string(), self.names.len() - 1);
        self.names.len() - 1
    }

    fn line(&mut self, number: usize, written: &Written<'a>) -> Line {
        let text = std::str::from_utf8(written.masked).map_err(|error| {
            format!(
                "invalid UTF-8 at byte {} of the line",
                error.valid_up_to() + 1
            )
        })?;
        let (start, names) = (self.pairs.len(), self.names.len());
        if !text.trim_start().starts_with('{') {
            serde_json::from_str::<IgnoredAny>(text).map_err(|error| syntax(&error))?;
            return Err(format!(
                "the line is {}, not an object",
                kind(text.trim_start())
            ));
        }
        self.twice = None;
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let result = deserializer
            .deserialize_map(Pairs {
                parsed: self,
                number,
            })
            .and_then(|()| deserializer.end());
        if let Err(error) = result {
            // A broken line leaves no trace, or its keys would count as seen.
            self.pairs.truncate(start);
            self.last.truncate(names);
            for name in self.names.drain(names..) {
                self.slots.remove(&name);
            }
            return Err(syntax(&error));
        }
        self.objects += 1;
        self.before = start;
        if !std::ptr::eq(written.masked, written.text) {
            // The values as they were written; masks are as long as what they hide.
            for (_, raw) in &mut self.pairs[start..] {
                let at = raw.as_ptr() as usize - text.as_ptr() as usize;
                let value = written.text.get(at..at + raw.len()).unwrap_or_default();
                *raw = std::str::from_utf8(value).unwrap_or(raw);
            }
        }
        match self.twice {
            Some(slot) => Err(format!(
                "the key {} stands twice",
                quoted(&self.names[slot])
            )),
            None => Ok(start..self.pairs.len()),
        }
    }
}

struct Pairs<'p, 'a> {
    parsed: &'p mut Parsed<'a>,
    number: usize,
}

impl<'a> Visitor<'a> for Pairs<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let mut position = 0;
        while let Some(Key(key)) = map.next_key::<Key<'a>>()? {
            let value: &'a RawValue = map.next_value()?;
            let slot = self.parsed.slot(position, &key);
            if self.parsed.last[slot] == self.number {
                self.parsed.twice.get_or_insert(slot);
            }
            self.parsed.last[slot] = self.number;
            self.parsed.pairs.push((slot, value.get()));
            position += 1;
        }
        Ok(())
    }
}

/// A key, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

fn batch(file: &FileContext<'_>, lines: &[Written<'_>]) -> Piece {
    let mut parsed = Parsed::default();
    let split: Vec<Line> = lines
        .iter()
        .enumerate()
        .map(|(i, written)| parsed.line(i + 1, written))
        .collect();
    let chosen = file.columns.choose(&|name| parsed.slots.get(name).copied());
    let keys = keys_seen(file, &parsed, &split);

    let mut columns: Vec<Column> = parsed.names.iter().map(|_| Column::default()).collect();
    let (mut rows, mut places, mut records) = (
        0,
        Vec::with_capacity(lines.len()),
        Vec::with_capacity(lines.len()),
    );
    let mut rejected = Vec::new();
    let mut values: Vec<(usize, Value<'_>)> = Vec::new();
    for (record, (line, written)) in split.into_iter().zip(lines).enumerate() {
        let number = written.line;
        values.clear();
        let checked = line.and_then(|range| {
            for &(slot, raw) in &parsed.pairs[range] {
                values.push((slot, value(file, &chosen, slot, raw, &parsed.names[slot])?));
            }
            Ok(())
        });
        match checked {
            Ok(()) => {
                for (slot, value) in values.drain(..) {
                    columns[slot].push(rows, value);
                }
                rows += 1;
                places.push(number);
                records.push(record as u64);
            }
            Err(reason) => rejected.push(file.rejected(number, reason)),
        }
    }

    // Columns of rejected lines alone are dropped, so the slots move.
    let mut moved = vec![None; columns.len()];
    let (mut info, mut arrays) = (Vec::new(), Vec::new());
    for (slot, column) in columns
        .into_iter()
        .enumerate()
        .filter(|(_, column)| column.used)
    {
        let (kind, array) = column.finish(rows);
        moved[slot] = Some(info.len());
        info.push(ColumnInfo {
            name: parsed.names[slot].clone(),
            kind,
        });
        arrays.push(array);
    }
    let roles = ROLES.map(|role| {
        let slot = moved[chosen[role as usize]?]?;
        super::values::texts(&info[slot].kind, &arrays[slot]).map(Texts::from)
    });
    let batch = Batch {
        file: file.index,
        info: info.into(),
        columns: arrays,
        roles,
        spilled: None,
        rows,
        places: Numbers::new(places),
        records: Numbers::new(records),
    };
    Piece {
        batch,
        rejected,
        records: lines.len() as u64,
        keys: Some(keys),
    }
}

/// Checks a value against what its column is for.
fn value<'a>(
    file: &FileContext<'_>,
    chosen: &Chosen,
    slot: usize,
    raw: &'a str,
    name: &str,
) -> Result<Value<'a>, String> {
    let value = Value::parse(raw)
        .map_err(|error| format!("the value of {}: {}", quoted(name), syntax(&error)))?;
    let is = |role: Role| chosen[role as usize] == Some(slot);
    Ok(match value {
        Value::Nan if is(Role::Text) || is(Role::Id) => Value::Null,
        Value::Null | Value::Text(_) => value,
        _ if is(Role::Text) => {
            return Err(format!(
                "the text {} is {}, not a string",
                quoted(name),
                kind(raw)
            ));
        }
        Value::Int(_) => value,
        _ if is(Role::Id) => match ids::integral(raw) {
            Some(id) => Value::Int(id),
            // An integer too long for 64 bits is still an id.
            None if raw.bytes().all(|b| b.is_ascii_digit() || b == b'-') => value,
            None if file.make_ids => Value::Null,
            None => return Err(ids::unusable(name, kind(raw))),
        },
        value => value,
    })
}

/// Which of the wanted keys the objects of a batch have; the rest is decided when the file is read.
fn keys_seen(file: &FileContext<'_>, parsed: &Parsed<'_>, split: &[Line]) -> KeysSeen {
    let mut seen = KeysSeen {
        objects: parsed.objects > 0,
        names: parsed.names.clone(),
        ..Default::default()
    };
    for role in ROLES {
        let wanted = file.columns.wanted(role);
        let slots: Vec<Option<usize>> = wanted
            .iter()
            .map(|name| parsed.slots.get(*name).copied())
            .collect();
        seen.first[role as usize] = slots[0].is_some();
        // A line that has both names leaves no doubt: the first goes.
        seen.second[role as usize] = slots.get(1).copied().flatten().is_some_and(|second| {
            split.iter().flatten().any(|range| {
                let has = |slot| {
                    parsed.pairs[range.clone()]
                        .iter()
                        .any(|&(s, _)| Some(s) == slot)
                };
                has(Some(second)) && !has(slots[0])
            })
        });
    }
    seen
}

/// A JSON error without its line, which is always 1.
fn syntax(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(reason, _)| reason);
    format!("not valid JSON: {reason} at column {}", error.column())
}

fn kind(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ if raw.trim_end().contains(['.', 'e', 'E', 'N', 'I']) => "a float",
        _ => "a number",
    }
}

/// A name in one line.
fn quoted(name: &str) -> String {
    format!("`{}`", name.escape_debug())
}
