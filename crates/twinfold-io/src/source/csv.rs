//! CSV with a header line, and the same with tabs or any other delimiter.
//!
//! Where records end, and which of them a stray quote makes none, is decided by [`super::chunks`]; a
//! chunk is parsed by any thread. Blank lines are skipped, and each record keeps the line on which it
//! begins. Every value is text and stays as it is; a record with another number of fields than the
//! header, or with bytes that are not UTF-8, is rejected.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringViewBuilder;
use arrow_schema::DataType;
use memchr::{memchr, memchr_iter};

use super::batch::{Batch, ColumnInfo, Kind, Numbers, as_views, shrunk};
use super::chunks::{Chunk, Record, count_lines};
use super::columns::{self, Chosen};
use super::dialect::{Delimiter, Dialect, Quotes};
use super::unit::{FileContext, Piece};
use super::{BATCH_BYTES, BATCH_ROWS, SourceError};

/// The columns of one file.
pub(super) struct Header {
    pub(super) info: Arc<[ColumnInfo]>,
    chosen: Chosen,
}

/// Takes the header off the first chunk; `None` when there are only blank lines in it.
pub(super) fn header(
    file: &FileContext<'_>,
    chunk: &mut Chunk,
) -> Result<Option<Header>, SourceError> {
    let mut at = 0;
    let is_header = |record: &Record| {
        let bytes = &chunk.bytes[std::mem::replace(&mut at, record.end)..record.end];
        !is_blank(bytes)
    };
    let Some(index) = chunk.records.iter().position(is_header) else {
        return Ok(None);
    };
    let from = index
        .checked_sub(1)
        .map_or(0, |before| chunk.records[before].end);
    let header = &chunk.records[index];
    let record = &chunk.bytes[from..header.end];
    let (names, chosen) = match &header.stray {
        Some(_) => Err(SourceError::Header {
            path: file.name.into(),
            reason: "a quote in it is never closed where a field ends",
        }),
        None => columns_of(file, record, chunk.dialect),
    }?;
    let info = names
        .into_iter()
        .map(|name| ColumnInfo {
            name,
            kind: Kind::Arrow(DataType::Utf8),
        })
        .collect();
    chunk.from = header.end;
    chunk.line += count_lines(&chunk.bytes[..header.end]);
    chunk.records.drain(..=index);
    Ok(Some(Header { info, chosen }))
}

/// The columns that a header names, and which of them are for what.
fn columns_of(
    file: &FileContext<'_>,
    record: &[u8],
    dialect: Dialect,
) -> Result<(Vec<String>, Chosen), SourceError> {
    let names = names(file, record, dialect)?;
    columns::distinct(file.name, &names)?;
    let choose = |names: &[String]| {
        file.columns
            .choose(&|name| names.iter().position(|n| n == name))
    };
    let check = |names: &[String]| {
        let chosen = choose(names);
        file.columns
            .check(&chosen, file.make_ids, file.name, names)
            .map(|()| chosen)
    };
    let missing = match check(&names) {
        Ok(chosen) => return Ok((names, chosen)),
        Err(missing) => missing,
    };
    // Perhaps it is only the delimiter that is another one: first such that all columns are there,
    // then such that what seems to be one column becomes several.
    let mut others = Delimiter::USUAL
        .into_iter()
        .filter(|delimiter| delimiter.0 != dialect.delimiter)
        .filter_map(|delimiter| {
            let dialect = dialect.with(Some(delimiter), dialect.quotes);
            let other = self::names(file, record, dialect).ok()?;
            (other.len() > 1).then_some((delimiter, other))
        })
        .collect::<Vec<_>>();
    others.sort_by_key(|(_, other)| (check(other).is_err(), std::cmp::Reverse(other.len())));
    match others.first() {
        Some((delimiter, other)) if names.len() == 1 || check(other).is_ok() => {
            Err(SourceError::Delimiter {
                path: file.name.into(),
                header: names.join(&(dialect.delimiter as char).to_string()),
                delimiter: *delimiter,
                columns: other.len(),
            })
        }
        _ => Err(missing),
    }
}

fn names(
    file: &FileContext<'_>,
    record: &[u8],
    dialect: Dialect,
) -> Result<Vec<String>, SourceError> {
    let error = |reason| SourceError::Header {
        path: file.name.into(),
        reason,
    };
    let mut fields = Vec::new();
    split(record, dialect, &mut fields);
    let name = |(i, field): (usize, &Cow<'_, [u8]>)| {
        if field.contains(&0) {
            return Err(error("it has a NUL byte"));
        }
        let name = std::str::from_utf8(field).map_err(|_| error("it is not valid UTF-8"))?;
        Ok(if name.is_empty() {
            format!("column_{}", i + 1)
        } else {
            name.to_string()
        })
    };
    fields.iter().enumerate().map(name).collect()
}

/// Parses the records of a chunk.
pub(super) fn decode(file: &FileContext<'_>, header: &Header, chunk: &Chunk) -> Vec<Piece> {
    let (mut pieces, mut at, mut line) = (Vec::new(), chunk.from, chunk.line);
    let mut builder = Builder::new(header);
    let mut fields = Vec::new();
    for Record { end, stray } in &chunk.records {
        let record = &chunk.bytes[at..*end];
        if !is_blank(record) {
            if builder.count > 0 && builder.bytes + record.len() > BATCH_BYTES {
                pieces.push(std::mem::replace(&mut builder, Builder::new(header)).finish(file));
            }
            let values = match stray {
                Some(stray) => Err(stray.reason(line)),
                None => {
                    split(record, chunk.dialect, &mut fields);
                    check(&header.info, &fields, record, chunk.dialect)
                }
            };
            builder.push(file, line, values, record.len());
            if builder.count == BATCH_ROWS {
                pieces.push(std::mem::replace(&mut builder, Builder::new(header)).finish(file));
            }
        }
        line += count_lines(record);
        at = *end;
    }
    if builder.count > 0 {
        pieces.push(builder.finish(file));
    }
    pieces
}

/// The values of a record, or why it is rejected.
fn check<'f>(
    info: &[ColumnInfo],
    fields: &'f [Cow<'_, [u8]>],
    record: &[u8],
    dialect: Dialect,
) -> Result<Vec<&'f str>, String> {
    if fields.len() != info.len() {
        let lines = count_lines(record).max(1);
        let plain = memchr_iter(dialect.delimiter, record).count() + 1;
        // What quotes have to do with it.
        let quotes = if dialect.quotes == Quotes::Never {
            String::new()
        } else if lines > 1 {
            format!(
                "; its quotes take {lines} lines (--quote none reads quotes as plain characters)"
            )
        } else if plain == info.len() {
            "; it would have as many if quotes were plain characters (--quote none)".into()
        } else {
            String::new()
        };
        return Err(format!(
            "the record has {} fields, the header has {}{quotes}",
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
        values: Result<Vec<&str>, String>,
        bytes: usize,
    ) {
        let record = self.count as u64;
        self.count += 1;
        self.bytes += bytes;
        match values {
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
                .map(|slot| slot.map(|slot| as_views(&columns[slot]).into())),
            columns,
            spilled: None,
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

/// Whether a record is a blank line, which is none.
pub(super) fn is_blank(record: &[u8]) -> bool {
    matches!(record, b"" | b"\n" | b"\r" | b"\r\n")
}

/// The fields of a record.
pub(super) fn count_fields(record: &[u8], dialect: Dialect) -> usize {
    let mut fields = Vec::new();
    split(record, dialect, &mut fields);
    fields.len()
}

/// Splits a record, with its line end, into fields. Its quotes are closed.
fn split<'a>(record: &'a [u8], dialect: Dialect, fields: &mut Vec<Cow<'a, [u8]>>) {
    fields.clear();
    let mut rest = Some(record);
    while let Some(text) = rest {
        let quoted = text.first() == Some(&b'"') && dialect.quotes != Quotes::Never;
        let (field, after) = if quoted {
            self::quoted(text, dialect.delimiter)
        } else {
            plain(text, dialect.delimiter)
        };
        fields.push(field);
        rest = after;
    }
}

/// A field, and what follows its delimiter.
type Field<'a> = (Cow<'a, [u8]>, Option<&'a [u8]>);

fn plain(rest: &[u8], delimiter: u8) -> Field<'_> {
    match memchr(delimiter, rest) {
        Some(end) => (Cow::Borrowed(&rest[..end]), Some(&rest[end + 1..])),
        None => (Cow::Borrowed(without_end(rest)), None),
    }
}

fn quoted(rest: &[u8], delimiter: u8) -> Field<'_> {
    let mut value: Cow<'_, [u8]> = Cow::Borrowed(&[]);
    let mut at = 1;
    loop {
        let Some(step) = memchr(b'"', &rest[at..]) else {
            append(&mut value, &rest[at..]);
            return (value, None);
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
            return (value, after);
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
