//! Read speed on real text. Ignored by default:
//! `cargo test --release -p twinfold-io --test source_speed -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::path::Path;
use std::time::Instant;

use source_helpers::*;
use twinfold_io::source::{Input, Table};

fn measure(path: &Path, threads: usize) -> Table {
    let mut best = f64::INFINITY;
    let mut last = None;
    let pool = pool(threads);
    for _ in 0..5 {
        let input = Input::open(options(&[path])).unwrap();
        let start = Instant::now();
        let (table, _) = input.read(&pool, &|_| (), &|_| (), None).unwrap();
        best = best.min(start.elapsed().as_secs_f64());
        last = Some(table);
    }
    let table = last.unwrap();
    let text: usize = (0..table.len()).map(|rank| table.text(rank).len()).sum();
    let file = table.file_hashes()[0].bytes;
    println!(
        "{}: {threads} threads, {:.0} ms, {:.0} MB/s of the file ({:.1} MB), {:.0} MB/s of text ({:.1} MB)",
        path.file_name().unwrap().display(),
        best * 1e3,
        file as f64 / best / 1e6,
        file as f64 / 1e6,
        text as f64 / best / 1e6,
        text as f64 / 1e6,
    );
    table
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let Some(path) = shared("debian_pages/documents.parquet") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let table = measure(&path, 1);
    measure(&path, 2);
    let start = Instant::now();
    let batch = gather(&table);
    println!(
        "gather of all: {:.0} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    let mut json = arrow_json::LineDelimitedWriter::new(Vec::new());
    json.write(&batch).unwrap();
    json.finish().unwrap();
    let json = json.into_inner();
    let text = batch.column_by_name(table.text_column().unwrap()).unwrap();
    let names: Vec<String> = table.column_names();
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(&names).unwrap();
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| arrow_cast::cast(column, &arrow_schema::DataType::Utf8View).unwrap())
        .collect();
    for row in 0..text.len() {
        use arrow_array::{Array, cast::AsArray};
        let value = |c: &arrow_array::ArrayRef| {
            if c.is_null(row) {
                String::new()
            } else {
                c.as_string_view().value(row).to_string()
            }
        };
        csv.write_record(columns.iter().map(value)).unwrap();
    }
    let files = [
        ("x.jsonl", json.clone()),
        ("x.jsonl.gz", gzip(&json)),
        ("x.jsonl.zst", zstd::encode_all(json.as_slice(), 3).unwrap()),
        ("x.csv", csv.into_inner().unwrap()),
    ];
    for (name, bytes) in files {
        let path = write(folder.path(), name, bytes);
        for threads in [1, 2] {
            let other = measure(&path, threads);
            assert_eq!(other.len(), table.len());
            assert!((0..table.len()).all(|rank| other.text(rank) == table.text(rank)));
        }
    }
}
