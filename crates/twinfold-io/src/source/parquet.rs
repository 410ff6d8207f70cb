//! Parquet: each row group is a unit of its own.
//!
//! Guarantee: page checksums are verified where the file has them, the rows of a row group are counted
//! against the footer, and a decoder that panics on a damaged file is an error of that file. Strings
//! and binary values are read as views, so that no column of a batch can overflow 32-bit offsets.
//! Cost: the text is held in the decompressed pages, once.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringViewArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::filter::filter_record_batch;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;

use super::batch::{Batch, ColumnInfo, Kind, Numbers, as_views};
use super::columns::{self, Chosen, ROLES, Role};
use super::read::{FileContext, Piece};
use super::{BATCH_BYTES, BATCH_ROWS, SourceError};

/// What the footer of a file says.
pub(super) struct Footer {
    metadata: ArrowReaderMetadata,
    pub(super) info: Arc<[ColumnInfo]>,
    chosen: Chosen,
    /// For each row group: its rows, the rows before it, its bytes in the file, rows in a batch.
    pub(super) groups: Vec<Group>,
}

#[derive(Clone, Copy)]
pub(super) struct Group {
    rows: u64,
    before: u64,
    pub(super) bytes: u64,
    batch_rows: usize,
}

/// Reads the footer and checks the columns.
pub(super) fn footer(file: &FileContext<'_>) -> Result<Footer, SourceError> {
    let path = file.name.to_string();
    let (plain, metadata, bytes) = load(file)?;
    let fields = plain.schema().fields();
    let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    columns::distinct(file.name, &names)?;
    let mut chosen = file
        .columns
        .choose(&|name| names.iter().position(|n| n == name));
    file.columns
        .check(&chosen, file.make_ids, file.name, &names)?;
    for role in ROLES {
        let Some(column) = chosen[role as usize] else {
            continue;
        };
        let (fits, wanted) = fits(role, fields[column].data_type());
        if fits {
            continue;
        }
        if matches!(role, Role::Id | Role::Text) || file.columns.named(role).is_some() {
            return Err(SourceError::ColumnType {
                path,
                role: role.name(),
                column: names[column].clone(),
                found: fields[column].data_type().to_string(),
                wanted,
            });
        }
        // A nested column that merely has the usual name of an optional role.
        chosen[role as usize] = None;
    }
    assemble(file, &plain, metadata, chosen, bytes)
}

/// The metadata with the file's own types, the same with views for strings, and the file's size.
fn load(
    file: &FileContext<'_>,
) -> Result<(ArrowReaderMetadata, ArrowReaderMetadata, u64), SourceError> {
    let path = file.name.to_string();
    let handle = open(file)?;
    let bytes = handle
        .metadata()
        .map_err(|source| SourceError::Io {
            path: path.clone(),
            source,
        })?
        .len();
    if bytes == 0 {
        return Err(SourceError::ParquetEmpty { path });
    }
    let error = |source| SourceError::ParquetFooter {
        path: path.clone(),
        bytes,
        source,
    };
    let loaded = guard(|| {
        let plain = ArrowReaderMetadata::load(&handle, ArrowReaderOptions::new())?;
        let hint = Schema::new(
            plain
                .schema()
                .fields()
                .iter()
                .map(|field| view(field))
                .collect::<Vec<_>>(),
        );
        let options = ArrowReaderOptions::new().with_schema(Arc::new(hint));
        let viewed = ArrowReaderMetadata::try_new(plain.metadata().clone(), options)?;
        Ok::<_, ParquetError>((plain, viewed))
    });
    match loaded {
        Ok(result) => result
            .map(|(plain, viewed)| (plain, viewed, bytes))
            .map_err(error),
        Err(message) => Err(SourceError::ParquetDecoder {
            path,
            after: 0,
            message,
        }),
    }
}

fn assemble(
    file: &FileContext<'_>,
    plain: &ArrowReaderMetadata,
    metadata: ArrowReaderMetadata,
    chosen: Chosen,
    bytes: u64,
) -> Result<Footer, SourceError> {
    let error = |source| SourceError::ParquetFooter {
        path: file.name.into(),
        bytes,
        source,
    };
    let fields = plain.schema().fields();
    let mut groups = Vec::new();
    let mut before = 0;
    for group in metadata.metadata().row_groups() {
        let rows = u64::try_from(group.num_rows()).map_err(|_| {
            error(ParquetError::General(format!(
                "a row group of {} rows",
                group.num_rows()
            )))
        })?;
        let average = usize::try_from(group.total_byte_size().max(0) as u64 / rows.max(1))
            .unwrap_or(usize::MAX);
        groups.push(Group {
            rows,
            before,
            // Damaged sizes would make the sum meaningless; the file's size is the bound.
            bytes: (guard(|| group.compressed_size()).unwrap_or(0).max(0) as u64).min(bytes),
            batch_rows: (BATCH_BYTES / average.max(1)).clamp(1, BATCH_ROWS),
        });
        before = before.saturating_add(rows);
    }
    let info = fields
        .iter()
        .map(|field| ColumnInfo {
            name: field.name().clone(),
            kind: Kind::Arrow(field.data_type().clone()),
        })
        .collect();
    Ok(Footer {
        metadata,
        info,
        chosen,
        groups,
    })
}

fn open(file: &FileContext<'_>) -> Result<File, SourceError> {
    let path = file.path.ok_or_else(|| SourceError::ParquetStream {
        path: file.name.into(),
    })?;
    File::open(path).map_err(|source| SourceError::Io {
        path: file.name.into(),
        source,
    })
}

/// Runs the decoder, and returns what it said if it panicked.
fn guard<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    // After a panic what `run` touched is dropped, never used again.
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no reason given".into())
    })
}

/// The type in which a column is read: strings and binary values as views.
fn view(field: &Field) -> Field {
    let kind = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        other => other.clone(),
    };
    field.clone().with_data_type(kind)
}

fn is_binary(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

/// Whether a column of this type can serve, and what could.
fn fits(role: Role, kind: &DataType) -> (bool, &'static str) {
    let string = kind.is_string() || is_binary(kind);
    match (role, kind) {
        (Role::Text | Role::Id, DataType::Dictionary(_, value)) => (
            value.is_string() || (role == Role::Id && value.is_integer()),
            "a string",
        ),
        (Role::Text, _) => (string, "a string"),
        (Role::Id, _) => (string || kind.is_integer(), "a string or an integer"),
        _ => (
            !kind.is_nested()
                || matches!(kind, DataType::Dictionary(_, value) if !value.is_nested()),
            "a plain value",
        ),
    }
}

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
                self.footer.metadata.clone(),
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
            _ => Ok(None),
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
    for role in ROLES {
        let column = footer.chosen[role as usize];
        roles.push(
            column
                .map(|c| texts(rows.batch.column(c), &footer.info[c].name, &mut reasons))
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
        info: footer.info.clone(),
        rows: batch.num_rows(),
        columns: batch.columns().to_vec(),
        roles: std::array::from_fn(|i| roles[i].take()),
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

#[cfg(test)]
mod tests {
    use super::super::{ColumnNames, Format};
    use super::*;

    /// Decodes every column of a file that need not have a text column; the rows, or the error.
    fn decode_all(path: &std::path::Path) -> Result<u64, SourceError> {
        let columns = ColumnNames::default();
        let file = FileContext {
            index: 0,
            name: "odd",
            path: Some(path),
            format: Format::Parquet,
            delimiter: b',',
            columns: &columns,
            make_ids: true,
        };
        let (plain, metadata, bytes) = load(&file)?;
        let footer = Arc::new(assemble(
            &file,
            &plain,
            metadata,
            [None; ROLES.len()],
            bytes,
        )?);
        let mut read = 0;
        for group in 0..footer.groups.len() {
            let mut reader = GroupReader::new(footer.clone(), group);
            while let Some(rows) = reader.next(&file)? {
                read += decode(&file, &footer, rows)?
                    .iter()
                    .map(|piece| piece.records)
                    .sum::<u64>();
            }
        }
        Ok(read)
    }

    /// Two rows of a gigabyte each.
    const LARGE: &str = "large_string_map.brotli.parquet";

    #[test]
    #[ignore = "takes 2 GiB of memory and 20 seconds"]
    fn two_gigabytes_in_a_nested_column() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/data/odd/parquet")
            .join(LARGE);
        if path.exists() {
            assert_eq!(decode_all(&path).expect("it is whole"), 2);
        } else {
            println!("skipped: {} is not there", path.display());
        }
    }

    #[test]
    fn odd_files_decode_or_fail_in_one_line() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/data/odd/parquet");
        if !folder.exists() {
            println!("skipped: {} is not there", folder.display());
            return;
        }
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if name == LARGE {
                continue;
            }
            let result = decode_all(&path);
            match &result {
                Ok(rows) => println!("{name}: {rows} rows"),
                Err(error) => {
                    println!("{name}: {error}");
                    assert!(!error.to_string().contains('\n'));
                }
            }
            if name == "datapage_v1-corrupt-checksum.parquet" {
                let error = result.expect_err("its first page has a wrong checksum");
                assert!(error.to_string().contains("CRC"), "{error}");
            }
        }
    }
}
