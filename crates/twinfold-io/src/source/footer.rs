//! What the footer of a Parquet file tells before a row is read: columns, types, row groups.
//!
//! Guarantee: a missing or unusable column is found here, before anything is decoded. Strings and
//! binary values will be read as views, so that no column of a batch can overflow 32-bit offsets.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetStatisticsPolicy;

use super::batch::{ColumnInfo, Kind};
use super::columns::{self, Chosen, ROLES, Role};
use super::unit::FileContext;
use super::{BATCH_BYTES, BATCH_ROWS, SourceError};

/// What the footer of a file says.
pub(super) struct Footer {
    pub(super) columns: Arc<Columns>,
    pub(super) groups: Vec<Group>,
    /// What the decoder needs, while somebody needs it or there is room.
    metadata: Mutex<Option<ArrowReaderMetadata>>,
    /// The row groups that are not yet read to their end.
    left: AtomicUsize,
}

/// What a footer says of the columns.
#[derive(PartialEq)]
pub(super) struct Columns {
    pub(super) info: Arc<[ColumnInfo]>,
    pub(super) chosen: Chosen,
    /// The key-value metadata of the file, without the writer's own copy of the schema.
    pub(super) metadata: HashMap<String, String>,
    /// The metadata of each column.
    pub(super) fields: Vec<HashMap<String, String>>,
}

/// How much metadata was kept from looking at footers to reading row groups. A few large files are
/// parsed once; thousands of small ones are parsed again rather than held all at once.
#[derive(Default)]
pub(super) struct Room(AtomicUsize);

impl Room {
    const BYTES: usize = 32 << 20;

    fn take(&self, bytes: usize) -> bool {
        self.0
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes)
            <= Self::BYTES
    }
}

/// A row group.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Group {
    pub(super) rows: u64,
    /// The rows of the file before it.
    pub(super) before: u64,
    /// Its bytes in the file.
    pub(super) bytes: u64,
    /// How many rows make about 16 MiB.
    pub(super) batch_rows: usize,
}

/// Reads the footer and checks the columns.
pub(super) fn read(file: &FileContext<'_>, room: &Room) -> Result<Footer, SourceError> {
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
    let mut footer = assemble(file, &plain, metadata, chosen, bytes)?;
    let held = footer
        .metadata
        .get_mut()
        .unwrap_or_else(PoisonError::into_inner);
    *held = held
        .take()
        .filter(|held| room.take(held.metadata().memory_size()));
    Ok(footer)
}

impl Footer {
    /// What the decoder needs, read again if it was let go.
    pub(super) fn metadata(
        &self,
        file: &FileContext<'_>,
    ) -> Result<ArrowReaderMetadata, SourceError> {
        let mut held = self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(metadata) = &*held {
            return Ok(metadata.clone());
        }
        let (plain, metadata, bytes) = load(file)?;
        let now = assemble(file, &plain, metadata.clone(), self.columns.chosen, bytes)?;
        if now.groups != self.groups || now.columns != self.columns {
            return Err(SourceError::Changed {
                path: file.name.into(),
            });
        }
        *held = Some(metadata.clone());
        Ok(metadata)
    }

    /// A row group was read to its end; with the last one goes what the decoder needed.
    pub(super) fn group_read(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            *self.metadata.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
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
        // Statistics are most of a footer, and nobody asks for them.
        let options = ArrowReaderOptions::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
        let plain = ArrowReaderMetadata::load(&handle, options)?;
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
            // Decoders make room for a whole batch, however few rows there are.
            batch_rows: (BATCH_BYTES / average.max(1))
                .min(usize::try_from(rows).unwrap_or(BATCH_ROWS))
                .clamp(1, BATCH_ROWS),
        });
        before = before.saturating_add(rows);
    }
    // Numbers of rows come from the file; beyond this they can't be counted, and differing is damage.
    let all = metadata.metadata().file_metadata().num_rows();
    if u64::try_from(all) != Ok(before) {
        return Err(error(ParquetError::General(format!(
            "{all} rows in the file, but {before} in its row groups"
        ))));
    }
    // Ids are integers, also where the writer made floats of them.
    let made_integer =
        chosen[Role::Id as usize].filter(|&column| fields[column].data_type().is_floating());
    let info = fields
        .iter()
        .enumerate()
        .map(|(column, field)| ColumnInfo {
            name: field.name().clone(),
            kind: Kind::Arrow(if made_integer == Some(column) {
                DataType::Int64
            } else {
                field.data_type().clone()
            }),
        })
        .collect();
    let mut pairs = plain.schema().metadata().clone();
    pairs.remove(ARROW_SCHEMA_META_KEY);
    let columns = Columns {
        info,
        chosen,
        metadata: pairs,
        fields: fields
            .iter()
            .enumerate()
            .map(|(column, field)| match made_integer {
                // What is said of floats need not hold of integers.
                Some(id) if id == column => HashMap::new(),
                _ => field.metadata().clone(),
            })
            .collect(),
    };
    Ok(Footer {
        columns: Arc::new(columns),
        left: AtomicUsize::new(groups.len()),
        groups,
        metadata: Mutex::new(Some(metadata)),
    })
}

pub(super) fn open(file: &FileContext<'_>) -> Result<File, SourceError> {
    let path = file.path.ok_or_else(|| SourceError::ParquetStream {
        path: file.name.into(),
    })?;
    File::open(path).map_err(|source| SourceError::Io {
        path: file.name.into(),
        source,
    })
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a decoder whose panic would become an error of the file that it reads.
/// A panic hook that asks can leave such a panic to the error's message.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Runs the decoder, and returns what it said if it panicked.
pub(super) fn guard<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    let outer = DECODING.replace(true);
    // After a panic what `run` touched is dropped, never used again.
    let result = catch_unwind(AssertUnwindSafe(run));
    DECODING.set(outer);
    result.map_err(|panic| {
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

pub(super) fn is_binary(kind: &DataType) -> bool {
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
        (Role::Id, _) => (
            string || kind.is_integer() || kind.is_floating(),
            "a string or an integer",
        ),
        _ => (
            !kind.is_nested()
                || matches!(kind, DataType::Dictionary(_, value) if !value.is_nested()),
            "a plain value",
        ),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    use super::super::parquet::{GroupReader, decode};
    use super::super::{ColumnNames, Format};
    use super::*;

    fn context<'a>(path: &'a std::path::Path, columns: &'a ColumnNames) -> FileContext<'a> {
        FileContext {
            index: 0,
            name: "odd",
            path: Some(path),
            format: Format::Parquet,
            columns,
            make_ids: true,
            most_text: u64::MAX,
        }
    }

    /// Decodes every column of a file that need not have a text column; the rows, or the error.
    fn decode_all(path: &std::path::Path) -> Result<u64, SourceError> {
        let columns = ColumnNames::default();
        let file = context(path, &columns);
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

    #[test]
    fn a_panic_hook_can_tell_a_decoder_from_a_bug() {
        assert!(!is_decoding());
        let said = guard(|| -> usize { panic!("decoding: {}", is_decoding()) });
        assert_eq!(said, Err("decoding: true".into()));
        assert_eq!(guard(|| guard(is_decoding)), Ok(Ok(true)));
        assert!(!is_decoding());
    }

    fn file(rows: i32) -> Vec<u8> {
        let ids = Int32Array::from_iter_values(0..rows);
        let texts: StringArray = (0..rows).map(|row| Some(format!("text {row}"))).collect();
        let batch = RecordBatch::try_from_iter([
            ("id", Arc::new(ids) as ArrayRef),
            ("text", Arc::new(texts)),
        ])
        .unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(2))
            .build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn metadata_is_let_go_and_had_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        std::fs::write(&path, file(6)).unwrap();
        let columns = ColumnNames::default();
        let file_context = context(&path, &columns);
        let held = |footer: &Footer| footer.metadata.lock().unwrap().is_some();
        assert!(held(&read(&file_context, &Room::default()).unwrap()));
        let full = Room(AtomicUsize::new(Room::BYTES));
        let footer = Arc::new(read(&file_context, &full).unwrap());
        assert!(!held(&footer));
        for group in 0..3 {
            let mut reader = GroupReader::new(footer.clone(), group);
            while let Some(rows) = reader.next(&file_context).unwrap() {
                assert_eq!(decode(&file_context, &footer, rows).unwrap().len(), 1);
                assert!(held(&footer));
            }
        }
        assert!(!held(&footer));
        // It is another file by now, with more rows, fewer, or none at all.
        for bytes in [file(8), file(4), file(5), b"PAR1".to_vec(), Vec::new()] {
            let whole = bytes.len() > 4;
            std::fs::write(&path, bytes).unwrap();
            let error = GroupReader::new(footer.clone(), 2)
                .next(&file_context)
                .err();
            let changed = matches!(error, Some(SourceError::Changed { .. }));
            assert_eq!(changed, whole, "{error:?}");
            assert!(error.is_some());
        }
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
