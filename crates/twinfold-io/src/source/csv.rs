//! CSV with a header line, and the same with tabs.
//!
//! The rules are those of the `csv` crate with its defaults (RFC 4180, blank lines skipped, LF, CR and
//! CR LF all end a record), but each record keeps the line on which it begins, an unterminated quote at
//! the end of the file is noticed, and a chunk is parsed by any thread. Every value is text and stays
//! as it is; a record with another number of fields than the header, or with bytes that are not UTF-8,
//! is rejected.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringViewBuilder;
use arrow_schema::DataType;
use memchr::memchr;

use super::batch::{Batch, ColumnInfo, Kind, Numbers, as_views, shrunk};
use super::chunks::{Chunk, count_lines, record_end};
use super::columns::{self, Chosen};
use super::unit::{FileContext, Piece};
use super::{BATCH_BYTES, BATCH_ROWS, SourceError};

/// The columns of one file.
pub(super) struct Header {
    pub(super) info: Arc<[ColumnInfo]>,
    chosen: Chosen,
    delimiter: u8,
}

/// Takes the header off the first chunk; `None` when there are only blank lines in it.
pub(super) fn header(
    file: &FileContext<'_>,
    chunk: &mut Chunk,
) -> Result<Option<Header>, SourceError> {
    let delimiter = file.delimiter;
    let mut at = 0;
    let mut fields = Vec::new();
    while let Some(end) = record_end(&chunk.bytes, at, delimiter, true) {
        let record = &chunk.bytes[at..end];
        chunk.line += count_lines(record);
        at = end;
        let closed = split(record, delimiter, &mut fields);
        if fields.is_empty() {
            continue;
        }
        let error = |reason| SourceError::Header {
            path: file.name.into(),
            reason,
        };
        if !closed {
            return Err(error("a quote in it is never closed"));
        }
        let mut names = Vec::with_capacity(fields.len());
        for (i, field) in fields.iter().enumerate() {
            let name = std::str::from_utf8(field).map_err(|_| error("it is not valid UTF-8"))?;
            names.push(if name.is_empty() {
                format!("column_{}", i + 1)
            } else {
                name.to_string()
            });
        }
        columns::distinct(file.name, &names)?;
        let chosen = file
            .columns
            .choose(&|name| names.iter().position(|n| n == name));
        file.columns
            .check(&chosen, file.make_ids, file.name, &names)?;
        let info = names
            .into_iter()
            .map(|name| ColumnInfo {
                name,
                kind: Kind::Arrow(DataType::Utf8),
            })
            .collect();
        drop(fields);
        chunk.bytes.drain(..at);
        return Ok(Some(Header {
            info,
            chosen,
            delimiter,
        }));
    }
    chunk.bytes.clear();
    Ok(None)
}

/// Parses the records of a chunk.
pub(super) fn decode(file: &FileContext<'_>, header: &Header, chunk: &Chunk) -> Vec<Piece> {
    let (mut pieces, mut at, mut line) = (Vec::new(), 0, chunk.line);
    let mut builder = Builder::new(header);
    let mut fields = Vec::new();
    while let Some(end) = record_end(&chunk.bytes, at, header.delimiter, true) {
        let record = &chunk.bytes[at..end];
        let closed = split(record, header.delimiter, &mut fields);
        if !fields.is_empty() {
            if builder.count > 0 && builder.bytes + record.len() > BATCH_BYTES {
                pieces.push(std::mem::replace(&mut builder, Builder::new(header)).finish(file));
            }
            builder.push(file, line, &fields, closed, record.len());
            if builder.count == BATCH_ROWS {
                pieces.push(std::mem::replace(&mut builder, Builder::new(header)).finish(file));
            }
        }
        line += count_lines(record);
        at = end;
    }
    if builder.count > 0 {
        pieces.push(builder.finish(file));
    }
    pieces
}

/// A piece without a record: a header alone still tells the columns.
pub(super) fn empty(file: &FileContext<'_>, header: &Header) -> Piece {
    Builder::new(header).finish(file)
}

struct Builder<'h> {
    header: &'h Header,
    columns: Vec<StringViewBuilder>,
    places: Vec<u64>,
    records: Vec<u64>,
    rejected: Vec<super::Rejected>,
    count: usize,
    bytes: usize,
}

impl<'h> Builder<'h> {
    fn new(header: &'h Header) -> Self {
        Self {
            header,
            columns: header
                .info
                .iter()
                .map(|_| StringViewBuilder::with_capacity(0))
                .collect(),
            places: Vec::new(),
            records: Vec::new(),
            rejected: Vec::new(),
            count: 0,
            bytes: 0,
        }
    }

    fn push(
        &mut self,
        file: &FileContext<'_>,
        line: u64,
        fields: &[Cow<'_, [u8]>],
        closed: bool,
        bytes: usize,
    ) {
        let record = self.count as u64;
        self.count += 1;
        self.bytes += bytes;
        match self.check(fields, closed) {
            Ok(values) => {
                for (column, value) in self.columns.iter_mut().zip(values) {
                    column.append_value(value);
                }
                self.places.push(line);
                self.records.push(record);
            }
            Err(reason) => self.rejected.push(file.rejected(line, reason)),
        }
    }

    fn check<'f>(&self, fields: &'f [Cow<'_, [u8]>], closed: bool) -> Result<Vec<&'f str>, String> {
        if !closed {
            return Err("a quote is never closed; the record runs to the end of the file".into());
        }
        let info = &self.header.info;
        if fields.len() != info.len() {
            return Err(format!(
                "the record has {} fields, the header has {}",
                fields.len(),
                info.len()
            ));
        }
        let text = |(field, column): (&'f Cow<'_, [u8]>, &ColumnInfo)| {
            std::str::from_utf8(field)
                .map_err(|_| format!("invalid UTF-8 in column `{}`", column.name.escape_debug()))
        };
        fields.iter().zip(info.iter()).map(text).collect()
    }

    fn finish(self, file: &FileContext<'_>) -> Piece {
        let columns: Vec<ArrayRef> = self
            .columns
            .into_iter()
            .map(|mut builder| shrunk(builder.finish()))
            .collect();
        let batch = Batch {
            file: file.index,
            info: self.header.info.clone(),
            roles: self
                .header
                .chosen
                .map(|slot| slot.map(|slot| as_views(&columns[slot]))),
            columns,
            rows: self.places.len(),
            places: Numbers::new(self.places),
            records: Numbers::new(self.records),
        };
        Piece {
            batch,
            rejected: self.rejected,
            records: self.count as u64,
            keys: None,
        }
    }
}

/// Splits a record, with its line end, into fields; none for a blank line. Returns whether its last
/// quote was closed.
fn split<'a>(record: &'a [u8], delimiter: u8, fields: &mut Vec<Cow<'a, [u8]>>) -> bool {
    fields.clear();
    if matches!(record, b"" | b"\n" | b"\r" | b"\r\n") {
        return true;
    }
    let mut rest = record;
    loop {
        let (field, after, closed) = if rest.first() == Some(&b'"') {
            quoted(rest, delimiter)
        } else {
            plain(rest, delimiter)
        };
        fields.push(field);
        match after {
            Some(after) => rest = after,
            None => return closed,
        }
    }
}

/// A field, what follows its delimiter, and whether its quote was closed.
type Field<'a> = (Cow<'a, [u8]>, Option<&'a [u8]>, bool);

fn plain(rest: &[u8], delimiter: u8) -> Field<'_> {
    match memchr(delimiter, rest) {
        Some(end) => (Cow::Borrowed(&rest[..end]), Some(&rest[end + 1..]), true),
        None => (Cow::Borrowed(without_end(rest)), None, true),
    }
}

fn quoted(rest: &[u8], delimiter: u8) -> Field<'_> {
    let mut value: Cow<'_, [u8]> = Cow::Borrowed(&[]);
    let mut at = 1;
    loop {
        let Some(step) = memchr(b'"', &rest[at..]) else {
            append(&mut value, &rest[at..]);
            return (value, None, false);
        };
        let close = at + step;
        if rest.get(close + 1) == Some(&b'"') {
            append(&mut value, &rest[at..=close]);
            at = close + 2;
        } else {
            append(&mut value, &rest[at..close]);
            // What stands between the closing quote and the delimiter belongs to the field.
            let tail = &rest[close + 1..];
            let (tail, after) = match memchr(delimiter, tail) {
                Some(end) => (&tail[..end], Some(&tail[end + 1..])),
                None => (without_end(tail), None),
            };
            append(&mut value, tail);
            return (value, after, true);
        }
    }
}

/// Appends a part, without a copy as long as there is only one.
fn append<'a>(value: &mut Cow<'a, [u8]>, part: &'a [u8]) {
    if value.is_empty() {
        *value = Cow::Borrowed(part);
    } else if !part.is_empty() {
        value.to_mut().extend_from_slice(part);
    }
}

fn without_end(field: &[u8]) -> &[u8] {
    let field = field.strip_suffix(b"\n").unwrap_or(field);
    field.strip_suffix(b"\r").unwrap_or(field)
}
