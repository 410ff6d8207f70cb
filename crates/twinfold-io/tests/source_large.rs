//! Sizes past 32 bits. Ignored by default: `cargo test -p twinfold-io --test source_large -- --ignored`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray, RecordBatch, StringArray};
use source_helpers::*;
use twinfold_io::source::{Input, SourceError, Table};

const DOCUMENTS: usize = 2200;
const EACH: usize = 1 << 20;

/// Reads without the checks of `read`, which gather everything.
fn read_plain(path: &std::path::Path) -> Table {
    Input::open(options(&[path]))
        .unwrap()
        .read(&pool(2), &|_| (), &|_| (), None)
        .unwrap()
        .0
}

fn check_large(table: &Table, text_is_32_bit: bool) {
    assert_eq!(table.len(), DOCUMENTS);
    assert!((0..DOCUMENTS).all(|rank| table.text(rank).len() == EACH));
    let all: Vec<u32> = (0..DOCUMENTS as u32).collect();
    match table.gather(&all) {
        Err(SourceError::TooLarge { bytes, .. }) => {
            assert!(text_is_32_bit && bytes == (DOCUMENTS * EACH) as u64)
        }
        Ok(batch) => assert!(!text_is_32_bit && batch.num_rows() == DOCUMENTS),
        Err(other) => panic!("{other}"),
    }
    assert_eq!(table.gather(&all[2100..]).unwrap().num_rows(), 100);
}

#[test]
#[ignore = "takes 10 GiB of memory"]
fn more_than_two_gigabytes_in_one_column() {
    let folder = tempfile::tempdir().unwrap();
    let text = "x".repeat(EACH);
    for large in [false, true] {
        let mut writer = None;
        for from in (0..DOCUMENTS).step_by(100) {
            let ids: StringArray = (from..from + 100)
                .map(|i| Some(format!("{i:05}")))
                .collect();
            let texts = vec![text.as_str(); 100];
            let texts: ArrayRef = if large {
                Arc::new(LargeStringArray::from(texts))
            } else {
                Arc::new(StringArray::from(texts))
            };
            let batch =
                RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef), ("text", texts)])
                    .unwrap();
            let properties = parquet::file::properties::WriterProperties::builder()
                .set_dictionary_enabled(false)
                .build();
            writer
                .get_or_insert_with(|| {
                    let file = std::fs::File::create(folder.path().join("x.parquet")).unwrap();
                    parquet::arrow::ArrowWriter::try_new(file, batch.schema(), Some(properties))
                        .unwrap()
                })
                .write(&batch)
                .unwrap();
        }
        writer.unwrap().close().unwrap();
        check_large(&read_plain(&folder.path().join("x.parquet")), !large);
    }
    let path = folder.path().join("x.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    for i in 0..DOCUMENTS {
        writeln!(file, r#"{{"id":"{i:05}","text":"{text}"}}"#).unwrap();
    }
    file.into_inner().unwrap();
    check_large(&read_plain(&path), true);
}

#[test]
#[ignore = "takes 3 GiB of memory"]
fn one_document_of_500_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let text = "long ".repeat(100 << 20);
    for name in ["x.csv", "x.jsonl"] {
        let bytes = if name == "x.csv" {
            format!("id,text\na,b\nc,\"{text}\"\nd,e\n")
        } else {
            format!(
                "{{\"id\":\"a\",\"text\":\"b\"}}\n{{\"id\":\"c\",\"text\":\"{text}\"}}\n{{\"id\":\"d\",\"text\":\"e\"}}\n"
            )
        };
        let table = read_plain(&write(folder.path(), name, bytes));
        assert_eq!(
            (table.len(), table.text(1).len(), table.text(2)),
            (3, text.len(), "e".into())
        );
    }
}
