//! Many files at once: folders of thousands, and a system that lets a process open only a few.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::process::Command;

use common::corpus::{HEADER, corpus, encode, parquet_file};
use common::{Bench, assert_same, relations};

/// `twinfold run` in a process that may open 24 files, its standard streams and libraries included.
fn run_with_few_files(bench: &Bench, inputs: &[&str], out: &str) {
    let status = Command::new("sh")
        .args(["-c", r#"ulimit -n 24; exec "$@""#, "sh"])
        .args([
            env!("CARGO_BIN_EXE_twinfold"),
            "run",
            "--quiet",
            "--progress",
            "never",
        ])
        .args(["--threads", "4", "--out", &bench.name(out)])
        .args(inputs)
        .status()
        .unwrap();
    assert!(status.success(), "{out}");
}

#[test]
fn a_file_is_open_only_while_it_is_read() {
    let bench = Bench::new();
    let records = corpus(96);
    let one = bench.write("one.jsonl", encode("jsonl", &records));
    bench.run(&[&one], "whole", &["--quiet"]).success();
    let whole = relations(&bench.path("whole"));
    for ending in ["csv", "tsv.gz", "jsonl", "json.zst", "parquet"] {
        for (number, record) in records.iter().enumerate() {
            let bytes = encode(ending, std::slice::from_ref(record));
            bench.write(&format!("{ending}/{number}.{ending}"), bytes);
        }
        run_with_few_files(&bench, &[&bench.name(ending)], &format!("out-{ending}"));
        let found = relations(&bench.path(&format!("out-{ending}")));
        assert_same(&found, &whole, ending);
    }
    let batch = common::parquet_batches(&bench.path("whole/deduped_documents.parquet")).remove(0);
    let columns: Vec<usize> = HEADER
        .iter()
        .map(|name| batch.schema().index_of(name).unwrap())
        .collect();
    let batch = batch.project(&columns).unwrap();
    let groups = bench.write("groups.parquet", parquet_file(&batch, 1));
    run_with_few_files(&bench, &[&groups], "out-groups");
}
