//! What the tests of the sources share: files of all formats with the same documents, and reading.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use twinfold::{Documents as _, MemoryStorage, Storage, Store};
use twinfold_io::source::{
    Batch, ColumnNames, Input, ReadProgress, SourceError, SourceOptions, Spill, Table,
};

/// id, title, text.
pub(crate) type Doc = (String, Option<String>, String);

pub(crate) fn doc(id: &str, title: Option<&str>, text: &str) -> Doc {
    (id.into(), title.map(String::from), text.into())
}

/// Every format and compression that a file may have.
pub(crate) const ENDINGS: [&str; 10] = [
    "csv",
    "tsv",
    "csv.gz",
    "csv.zst",
    "tsv.gz",
    "jsonl",
    "ndjson.gz",
    "json.zst",
    "parquet",
    "pq",
];

pub(crate) fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

pub(crate) fn options(inputs: &[&Path]) -> SourceOptions {
    SourceOptions {
        inputs: inputs
            .iter()
            .map(|path| path.to_str().unwrap().to_string())
            .collect(),
        ..Default::default()
    }
}

pub(crate) fn columns(id: &str, text: &str) -> ColumnNames {
    ColumnNames {
        id: Some(id.into()),
        text: Some(text.into()),
        ..Default::default()
    }
}

pub(crate) fn read_with(
    options: SourceOptions,
    threads: usize,
) -> Result<(Table, Vec<usize>), SourceError> {
    let input = Input::open(options)?;
    let told = std::sync::Mutex::new(ReadProgress::default());
    let progress = |step: ReadProgress| {
        let mut told = told.lock().unwrap();
        told.documents += step.documents;
        told.bytes += step.bytes;
    };
    let result = input.read(
        &pool(threads),
        &progress,
        &|batch| {
            assert!(batch.len() <= 8192 && !batch.is_empty());
            (0..batch.len())
                .map(|row| batch.text(row).len())
                .sum::<usize>()
        },
        None,
    );
    if input
        .files()
        .iter()
        .all(|file| file.bytes > 0 && file.path.is_some())
    {
        spilled(&input, &result, threads);
    }
    let result = result?;
    let told = told.into_inner().unwrap();
    assert_eq!(told.documents, result.0.read());
    assert_eq!(
        told.bytes,
        result
            .0
            .file_hashes()
            .iter()
            .map(|file| file.bytes)
            .sum::<u64>()
    );
    check(&result.0, &result.1);
    Ok(result)
}

/// Reads the same into a storage, from the start: everything has to be as in memory.
fn spilled(input: &Input, held: &Result<(Table, Vec<usize>), SourceError>, threads: usize) {
    let told = std::sync::atomic::AtomicUsize::new(0);
    let storage = Arc::new(Shared::default());
    let tell = |_: &mut usize| {
        told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let spill = Spill {
        most_in_flight: threads,
        ..Spill::new(storage.clone(), 0, &|_: &usize| 0, &tell)
    };
    let work = |batch: &Batch| (0..batch.len()).map(|row| batch.text(row).len()).sum();
    let found = input.read(&pool(threads), &|_| (), &work, Some(&spill));
    let (held, found) = match (held, found) {
        (Err(a), Err(b)) => return assert_eq!(a.to_string(), b.to_string()),
        (Ok(held), found) => (held, found.unwrap()),
        (Err(error), Ok(_)) => panic!("{error} in memory only"),
    };
    assert_eq!(held.1, found.1);
    assert_eq!(told.into_inner(), found.1.len());
    let (held, found) = (&held.0, found.0);
    same(held, &found);
    assert!(held.save().is_none());
    let state = found.save().unwrap();
    drop(found);
    let store = storage.store(Table::STORE);
    let restored = Table::restore(&state, storage, store).unwrap();
    assert!(restored.save().unwrap() == state);
    same(held, &restored);
}

/// Stores in memory that can be had again.
#[derive(Debug, Default)]
pub(crate) struct Shared(std::sync::Mutex<HashMap<String, Arc<dyn Store>>>);

impl Shared {
    pub(crate) fn store(&self, name: &str) -> Arc<dyn Store> {
        self.0.lock().unwrap()[name].clone()
    }
}

impl Storage for Shared {
    fn create(&self, name: &str) -> Arc<dyn Store> {
        let store = MemoryStorage.create(name);
        let before = self.0.lock().unwrap().insert(name.into(), store.clone());
        assert!(before.is_none(), "{name} twice");
        store
    }

    fn failed(&self) -> bool {
        false
    }
}

/// Compares a table in a storage to one in memory.
fn same(held: &Table, found: &Table) {
    assert!(found.is_spilled() && !held.is_spilled());
    assert_eq!(held.len(), found.len());
    assert_eq!(held.notes(), found.notes());
    assert_eq!(held.rejected(), found.rejected());
    assert_eq!(held.file_hashes(), found.file_hashes());
    assert_eq!(held.schema(), found.schema());
    assert_eq!(held.id_column(), found.id_column());
    assert_eq!(held.text_column(), found.text_column());
    assert_eq!(held.has_date(), found.has_date());
    for rank in 0..held.len() {
        assert_eq!(held.id(rank), found.id(rank));
        assert_eq!(held.title(rank), found.title(rank));
        assert_eq!(held.source(rank), found.source(rank));
        assert_eq!(held.domain(rank), found.domain(rank));
        assert_eq!(held.date(rank), found.date(rank));
        assert_eq!(held.place(rank), found.place(rank));
        assert_eq!(held.text_bytes(rank), found.text_bytes(rank));
        assert_eq!(held.origin(rank), found.origin(rank));
    }
    let seen = std::sync::Mutex::new(vec![0; held.len()]);
    found.for_each_text(&|document| document.0 % 3 != 1, &|texts| {
        for (document, text) in texts {
            assert_eq!(held.text(document.index()), text);
            seen.lock().unwrap()[document.index()] += 1;
        }
    });
    for (rank, times) in seen.into_inner().unwrap().into_iter().enumerate() {
        assert_eq!(times, usize::from(rank % 3 != 1));
    }
    let ranks: Vec<u32> = (0..held.len() as u32).collect();
    for some in ranks.chunks(5000) {
        let bytes = |table: &Table| {
            let batch = table.gather(some).unwrap();
            let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.into_inner().unwrap()
        };
        assert!(bytes(held) == bytes(found));
    }
    for name in held.column_names() {
        let values = |table: &Table| format!("{:?}", table.column_values(&name));
        assert!(values(held) == values(found), "{name}");
    }
    if !held.is_empty() {
        assert_eq!(held.text(0), found.text(0));
    }
}

pub(crate) fn read(path: &Path) -> Result<Table, SourceError> {
    read_with(options(&[path]), 2).map(|(table, _)| table)
}

/// What has to hold of any table.
fn check(table: &Table, work: &[usize]) {
    assert_eq!(table.read(), (table.len() + table.rejected().len()) as u64);
    let total: usize = (0..table.len()).map(|rank| table.text(rank).len()).sum();
    assert_eq!(total, work.iter().sum::<usize>());
    for rank in 1..table.len() {
        assert!(table.id(rank - 1) < table.id(rank));
    }
    let counted: u64 = table
        .file_hashes()
        .iter()
        .map(|file| file.documents + file.rejected)
        .sum();
    assert_eq!(counted, table.read());
    let ranks: Vec<u32> = (0..table.len() as u32).collect();
    for some in ranks.chunks(5000) {
        let batch = table.gather(some).unwrap();
        assert_eq!(batch.num_rows(), some.len());
        assert_eq!(batch.schema(), table.schema());
    }
    assert!(table.rejected().is_sorted());
    assert!(table.rejected().iter().all(|r| !r.reason.contains('\n')));
    for name in table.column_names() {
        let values = table.column_values(&name);
        assert_eq!(values.map(|v| v.len()), Some(table.len()), "{name}");
    }
}

/// The documents as one gathered batch.
pub(crate) fn gather(table: &Table) -> RecordBatch {
    table
        .gather(&(0..table.len() as u32).collect::<Vec<_>>())
        .unwrap()
}

pub(crate) fn compressed(ending: &str, bytes: &[u8]) -> Vec<u8> {
    if ending.ends_with(".gz") {
        // Two members.
        let (a, b) = bytes.split_at(bytes.len() / 2);
        [a, b].iter().flat_map(|part| gzip(part)).collect()
    } else if ending.ends_with(".zst") {
        let (a, b) = bytes.split_at(bytes.len() / 2);
        [a, b]
            .iter()
            .flat_map(|part| zstd::encode_all(*part, 3).unwrap())
            .collect()
    } else {
        bytes.to_vec()
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Writes the documents; a null title is an empty field in CSV and a missing key in JSON.
pub(crate) fn bytes(ending: &str, docs: &[Doc]) -> Vec<u8> {
    let plain = match ending.split('.').next().unwrap() {
        kind @ ("csv" | "tsv") => {
            let delimiter = if kind == "tsv" { b'\t' } else { b',' };
            let mut writer = csv::WriterBuilder::new()
                .delimiter(delimiter)
                .from_writer(Vec::new());
            writer.write_record(["doc_id", "title", "body"]).unwrap();
            for (id, title, text) in docs {
                writer
                    .write_record([id, title.as_deref().unwrap_or(""), text])
                    .unwrap();
            }
            writer.into_inner().unwrap()
        }
        "jsonl" | "ndjson" | "json" => {
            let mut out = Vec::new();
            for (id, title, text) in docs {
                let mut object = serde_json::json!({"doc_id": id, "body": text});
                if let Some(title) = title {
                    object["title"] = title.as_str().into();
                }
                out.extend(object.to_string().into_bytes());
                out.push(b'\n');
            }
            out
        }
        _ => {
            let column = |f: &dyn Fn(&Doc) -> Option<String>| -> ArrayRef {
                Arc::new(docs.iter().map(f).collect::<StringArray>())
            };
            let batch = RecordBatch::try_from_iter([
                ("doc_id", column(&|d| Some(d.0.clone()))),
                ("title", column(&|d| d.1.clone())),
                ("body", column(&|d| Some(d.2.clone()))),
            ])
            .unwrap();
            parquet(&[batch], 7)
        }
    };
    compressed(ending, &plain)
}

pub(crate) fn parquet(batches: &[RecordBatch], group: usize) -> Vec<u8> {
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_write_page_header_statistics(false)
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batches[0].schema(), Some(properties)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

pub(crate) fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// A figure of this process, in MiB.
pub(crate) fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib >> 10
}

/// The shared data, or `None` with a word that the test is skipped.
pub(crate) fn shared(part: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(part);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}
