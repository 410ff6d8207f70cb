//! Parquet: each row group is a unit of its own.
//!
//! Guarantee: page checksums are verified where the file has them, the rows of a row group are counted
//! against the footer, and a decoder that panics on a damaged file is an error of that file.
//! Cost: the text is held in the decompressed pages, once.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringViewArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::filter::filter_record_batch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::batch::{Batch, Numbers, as_views};
use super::columns::{ROLES, Role};
use super::footer::{Footer, guard, is_binary, open};
use super::texts::Texts;
use super::unit::{FileContext, Piece};
use super::{BATCH_BYTES, SourceError, ids};

/// The rows of one row group, batch by batch.
pub(super) struct GroupReader {
    footer: Arc<Footer>,
    index: usize,
    reader: Option<ParquetRecordBatchReader>,
    read: u64,
}

/// Some rows as the decoder gives them, and the number of rows in the file before them.
pub(super) struct Rows {
    batch: RecordBatch,
    before: u64,
    /// The part of the file that they took.
    pub(super) bytes: u64,
}

impl GroupReader {
    pub(super) fn new(footer: Arc<Footer>, index: usize) -> Self {
        Self {
            footer,
            index,
            reader: None,
            read: 0,
        }
    }

    pub(super) fn next(&mut self, file: &FileContext<'_>) -> Result<Option<Rows>, SourceError> {
        let group = self.footer.groups[self.index];
        let (path, after) = (|| file.name.to_string(), group.before + self.read);
        if self.reader.is_none() {
            // Each reader has a file of its own: copies of one handle would share its position.
            let handle = open(file)?;
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
                handle,
                self.footer.metadata(file)?,
            )
            .with_row_groups(vec![self.index])
            .with_batch_size(group.batch_rows);
            let built =
                guard(|| builder.build()).map_err(|message| SourceError::ParquetDecoder {
                    path: path(),
                    after,
                    message,
                })?;
            self.reader = Some(built.map_err(|error| SourceError::ParquetPage {
                path: path(),
                after,
                source: error.into(),
            })?);
        }
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        let next = guard(|| reader.next()).map_err(|message| SourceError::ParquetDecoder {
            path: path(),
            after,
            message,
        })?;
        match next
            .transpose()
            .map_err(|source| SourceError::ParquetPage {
                path: path(),
                after,
                source,
            })? {
            Some(batch) if batch.num_rows() > 0 => {
                let rows = batch.num_rows() as u64;
                self.read += rows;
                let bytes = |read: u64| {
                    (u128::from(group.bytes) * u128::from(read.min(group.rows))
                        / u128::from(group.rows.max(1))) as u64
                };
                Ok(Some(Rows {
                    batch,
                    before: after,
                    bytes: bytes(self.read) - bytes(self.read - rows),
                }))
            }
            _ if self.read != group.rows => Err(SourceError::ParquetRows {
                path: path(),
                group: self.index,
                expected: group.rows as i64,
                found: self.read,
            }),
            _ => {
                self.footer.group_read();
                Ok(None)
            }
        }
    }

    pub(super) fn footer(&self) -> &Arc<Footer> {
        &self.footer
    }
}

/// Makes batches of what was read: more than one where a few rows have very much text.
pub(super) fn decode(
    file: &FileContext<'_>,
    footer: &Footer,
    rows: Rows,
) -> Result<Vec<Piece>, SourceError> {
    let error = |source| SourceError::ParquetPage {
        path: file.name.into(),
        after: rows.before,
        source,
    };
    guard(|| pieces(file, footer, &rows))
        .map_err(|message| SourceError::ParquetDecoder {
            path: file.name.into(),
            after: rows.before,
            message,
        })?
        .map_err(error)
}

fn pieces(file: &FileContext<'_>, footer: &Footer, rows: &Rows) -> Result<Vec<Piece>, ArrowError> {
    let mut roles = Vec::new();
    let mut reasons: Vec<Option<String>> = vec![None; rows.batch.num_rows()];
    let integers = integer_ids(file, footer, rows, &mut reasons)?;
    let rows = integers.as_ref().unwrap_or(rows);
    for role in ROLES {
        let column = footer.columns.chosen[role as usize];
        roles.push(
            column
                .map(|c| {
                    texts(
                        rows.batch.column(c),
                        &footer.columns.info[c].name,
                        &mut reasons,
                    )
                })
                .transpose()?,
        );
    }
    let text = roles[Role::Text as usize].as_ref();
    let (mut pieces, mut start, mut bytes) = (Vec::new(), 0, 0);
    for row in 0..rows.batch.num_rows() {
        let len = text.map_or(0, |text| text.value(row).len());
        if row > start && bytes + len > BATCH_BYTES {
            pieces.push(piece(file, footer, rows, &roles, &reasons, start..row)?);
            (start, bytes) = (row, 0);
        }
        bytes += len;
    }
    pieces.push(piece(
        file,
        footer,
        rows,
        &roles,
        &reasons,
        start..rows.batch.num_rows(),
    )?);
    Ok(pieces)
}

/// The rows with integers for ids, where the file has floats. A row whose id is none gets a reason, or
/// no id where ids are made.
fn integer_ids(
    file: &FileContext<'_>,
    footer: &Footer,
    rows: &Rows,
    reasons: &mut [Option<String>],
) -> Result<Option<Rows>, ArrowError> {
    let floats = |column: &usize| rows.batch.column(*column).data_type().is_floating();
    let Some(column) = footer.columns.chosen[Role::Id as usize].filter(floats) else {
        return Ok(None);
    };
    let name = &footer.columns.info[column].name;
    let integers = ids::integers(rows.batch.column(column), |row, value| {
        if !file.make_ids {
            reasons[row] = Some(ids::unusable(name, &value.to_string()));
        }
    })?;
    let mut columns = rows.batch.columns().to_vec();
    columns[column] = Arc::new(integers);
    let schema = rows.batch.schema();
    let mut fields = schema.fields().to_vec();
    fields[column] = Arc::new(Field::new(name, DataType::Int64, true));
    Ok(Some(Rows {
        batch: RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?,
        before: rows.before,
        bytes: rows.bytes,
    }))
}

fn piece(
    file: &FileContext<'_>,
    footer: &Footer,
    rows: &Rows,
    roles: &[Option<StringViewArray>],
    reasons: &[Option<String>],
    range: std::ops::Range<usize>,
) -> Result<Piece, ArrowError> {
    let first = rows.before + range.start as u64 + 1;
    let mut batch = rows.batch.slice(range.start, range.len());
    let mut roles = roles
        .iter()
        .map(|role| role.as_ref().map(|r| r.slice(range.start, range.len())))
        .collect::<Vec<_>>();
    let reasons = &reasons[range];
    let numbers = || (first..).zip(reasons);
    let mut rejected = Vec::new();
    let mut places = Numbers::From(first);
    if reasons.iter().any(Option::is_some) {
        rejected = numbers()
            .filter_map(|(n, reason)| Some(file.rejected(n, reason.clone()?)))
            .collect();
        places = Numbers::new(
            numbers()
                .filter(|(_, reason)| reason.is_none())
                .map(|(n, _)| n)
                .collect(),
        );
        let keep: BooleanArray = reasons
            .iter()
            .map(|reason| Some(reason.is_none()))
            .collect();
        batch = filter_record_batch(&batch, &keep)?;
        for role in roles.iter_mut().flatten() {
            *role = arrow_select::filter::filter(role, &keep)?
                .as_string_view()
                .clone();
        }
    }
    let records = reasons.len() as u64;
    let batch = Batch {
        file: file.index,
        info: footer.columns.info.clone(),
        rows: batch.num_rows(),
        columns: batch.columns().to_vec(),
        roles: std::array::from_fn(|i| roles[i].take().map(Texts::from)),
        spilled: None,
        records: places.clone(),
        places,
    };
    Ok(Piece {
        batch,
        rejected,
        records,
        keys: None,
    })
}

/// A column as text; rows that can't be get a reason.
fn texts(
    array: &ArrayRef,
    name: &str,
    reasons: &mut [Option<String>],
) -> Result<StringViewArray, ArrowError> {
    if !is_binary(array.data_type()) {
        return super::schema::texts(array);
    }
    let views = cast(array, &DataType::BinaryView)?;
    let views = views.as_binary_view();
    let mut builder = arrow_array::builder::StringViewBuilder::with_capacity(views.len());
    let mut whole = true;
    for (value, reason) in views.iter().zip(reasons.iter_mut()) {
        if value.is_some_and(|value| std::str::from_utf8(value).is_err()) {
            reason.get_or_insert_with(|| {
                format!("invalid UTF-8 in column `{}`", name.escape_debug())
            });
            whole = false;
        }
    }
    if whole {
        // The same bytes, without a copy.
        return Ok(as_views(
            &(Arc::new(views.clone().to_string_view()?) as ArrayRef),
        ));
    }
    for value in views {
        match value.map(std::str::from_utf8) {
            Some(Ok(value)) => builder.try_append_value(value)?,
            _ => builder.append_null(),
        }
    }
    Ok(builder.finish())
}
