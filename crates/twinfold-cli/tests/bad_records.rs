//! Records that cannot be used, in files that can.
//!
//! Each is set aside with its place and reason, and counted; the others keep their values as they are.
//! Nothing is dropped in silence: in every case and format, read = used + empty + rejected. Only a
//! missing or repeated id stops the run, unless ids may be made.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use common::corpus::{compress, parquet_file};
use common::{Bench, records, twinfold};
use serde_json::json;

/// Reads a file with bad records in plain, gzip and Zstandard, and compares counts and reasons.
fn check(name: &str, bytes: &[u8], expected: [u64; 4], rejected: &[(u64, &str)]) {
    for compression in ["", "gz", "zst"] {
        let bench = Bench::new();
        let name = [name, compression].join(".");
        let file = bench.write(name.trim_end_matches('.'), compress(compression, bytes));
        let summary = bench.summary(&[&file], "out", &[]);
        assert_eq!(records(&summary), expected, "{name}");
        let found = bench.rejected("out");
        assert_eq!(found.len(), rejected.len(), "{found:?}");
        for (found, (line, reason)) in found.iter().zip(rejected) {
            assert_eq!(found["file"], file.as_str());
            assert_eq!(found["line"], *line);
            let said = found["reason"].as_str().unwrap();
            assert!(said.contains(reason) && !said.contains('\n'), "{said}");
        }
        twinfold(&["verify", &bench.name("out")]).success();
        // Nothing is set aside in a strict run.
        let strict = bench.run(&[&file], "strict", &["--strict"]);
        match rejected.first() {
            None => assert_eq!(strict.code(), Some(0)),
            Some((line, reason)) => {
                let count = match rejected.len() {
                    1 => "the only record".into(),
                    count => format!("the first of {count} records"),
                };
                strict.fault_with(&[&file, &format!("line {line}"), reason, &count, "--strict"]);
                assert!(!bench.path("strict").exists());
            }
        }
    }
}

#[test]
fn csv_records_kept_as_they_are_or_rejected() {
    let csv = b"doc_id,body,note\r\n\
        1,null,NA\r\n\
        2,NA,null\r\n\
        3,\"\",\"\"\r\n\
        4,\"a quoted\nnew line\",\"doubled \"\" quote\"\r\n\
        5,two fields\r\n\
        6,four,of,them\r\n\
        7,a nul \0 byte,x\r\n\
        8,not utf-8 \xff,x\r\n\
        \r\n\
        9,lone,cr\r10,after,it\n\
        11,\"never closed,x\n";
    let rejected = [
        (7, "2 fields"),
        (8, "4 fields"),
        (10, "UTF-8"),
        (14, "never closed"),
    ];
    check("x.csv", csv, [11, 6, 1, 4], &rejected);
    check(
        "x.csv",
        &[b"\xef\xbb\xbf", &csv[..]].concat(),
        [11, 6, 1, 4],
        &rejected,
    );
    let tsv = String::from_utf8_lossy(csv)
        .replace(',', "\t")
        .replace('\u{fffd}', "?");
    check(
        "x.tsv",
        tsv.as_bytes(),
        [11, 7, 1, 3],
        &[(7, "2 fields"), (8, "4 fields"), (14, "never closed")],
    );

    let bench = Bench::new();
    let file = bench.write("x.csv", csv);
    bench
        .run(
            &[&file],
            "out",
            &["--quiet", "--publish", "source_documents"],
        )
        .success();
    let batches = common::parquet_batches(&bench.path("out/source_documents.parquet"));
    let column = |name: &str| -> Vec<String> {
        let column = batches[0].column_by_name(name).unwrap().clone();
        let column = column.as_any().downcast_ref::<StringArray>().unwrap();
        column
            .iter()
            .map(|value| value.unwrap().to_owned())
            .collect()
    };
    assert_eq!(column("doc_id"), ["1", "10", "2", "3", "4", "7", "9"]);
    assert_eq!(
        column("body"),
        [
            "null",
            "after",
            "NA",
            "",
            "a quoted\nnew line",
            "a nul \0 byte",
            "lone"
        ]
    );
    assert_eq!(
        column("note"),
        ["NA", "it", "null", "", "doubled \" quote", "x", "cr"]
    );
}

#[test]
fn json_lines_kept_as_they_are_or_rejected() {
    let long = format!(
        "{{\"id\":\"long\",\"text\":\"{}\"}}\n",
        "long word ".repeat(1_000_000)
    );
    let lines = [
        "{\"id\":\"1\",\"text\":\"a b c\"}\n\n   \n",
        "{\"id\":\"2\",\"text\":\"broken\n",
        "{\"id\":\"3\",\"text\":3}\n",
        "{\"id\":\"4\",\"text\":{\"nested\":\"text\"}}\r\n",
        "{\"id\":\"5\",\"text\":\"twice\",\"text\":\"twice\"}\n",
        &long,
        "[\"an\",\"array\"]\n",
        "{\"id\":[1],\"text\":\"x\"}\n",
        "{\"id\":9007199254740993,\"text\":null}\n",
        "{\"id\":\"12\",\"text\":\"half \\ud800 a pair\"}\n",
        "{\"id\":\"13\",\"text\":\"tail\"} tail\n",
        "{\"id\":\"14\",\"text\":\"no line end\",\"more\":[{\"a\":1}]}",
    ];
    let rejected = [
        (4, "not valid JSON"),
        (5, "`text` is a number, not a string"),
        (6, "`text` is an object, not a string"),
        (7, "`text` stands twice"),
        (9, "an array, not an object"),
        (10, "`id` is an array"),
        (12, "not valid JSON"),
        (13, "trailing characters"),
    ];
    check(
        "x.jsonl",
        lines.concat().as_bytes(),
        [12, 3, 1, 8],
        &rejected,
    );
    check(
        "x.ndjson",
        b"{\"id\":1,\"text\":\"\xff\"}\n{\"id\":2,\"text\":\"x\"}",
        [2, 1, 0, 1],
        &[(1, "invalid UTF-8")],
    );
}

#[test]
fn ids_missing_or_repeated() {
    let bench = Bench::new();
    let ids = |ids: &[Option<&str>]| Arc::new(StringArray::from(ids.to_vec())) as ArrayRef;
    let parquet = |name: &str, found: &[Option<&str>]| {
        let texts = Arc::new(StringArray::from(vec!["the same text"; found.len()])) as ArrayRef;
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("id", ids(found), true),
            ("text", texts, false),
        ]);
        bench.write(name, parquet_file(&batch.unwrap(), 2))
    };
    let twice = [
        (bench.write("t.csv", "id,text\n1,the same text\n2,the same text\n1,the same text\n"), "line 2", "line 4"),
        (bench.write("t.jsonl", "{\"id\":1,\"text\":\"the same text\"}\n{\"id\":2,\"text\":\"the same text\"}\n{\"id\":1,\"text\":\"the same text\"}\n"), "line 1", "line 3"),
        (parquet("t.parquet", &[Some("1"), Some("2"), Some("1")]), "row 1", "row 3"),
    ];
    for (file, first, second) in &twice {
        bench.run(&[file], "out", &[]).fault_with(&[
            "`1` stands twice",
            file,
            first,
            second,
            "--make-ids",
        ]);
    }
    let missing = [
        (bench.write("m.csv", "id,text\n1,the same text\n,the same text\n2,the same text\n"), "line 3"),
        (bench.write("m.jsonl", "{\"id\":\"1\",\"text\":\"the same text\"}\n{\"id\":null,\"text\":\"the same text\"}\n{\"text\":\"the same text\"}\n"), "line 2"),
        (parquet("m.parquet", &[Some("1"), None, Some("")]), "row 2"),
    ];
    for (file, place) in &missing {
        bench
            .run(&[file], "out", &[])
            .fault_with(&[file, place, "null or empty", "--make-ids"]);
    }
    // With made ids all are read, and each has one of its own.
    let all: Vec<&str> = twice
        .iter()
        .map(|case| &*case.0)
        .chain(missing.iter().map(|case| &*case.0))
        .collect();
    let summary = bench.summary(&all, "out", &["--make-ids"]);
    assert_eq!(records(&summary), [18, 18, 0, 0]);
    assert_eq!(summary["counts"]["kept"], 1);
    let mut made: Vec<String> = bench
        .csv("out", "clusters")
        .iter()
        .map(|row| row[1].to_owned())
        .collect();
    made.sort();
    made.dedup();
    assert_eq!(made.len(), 18, "{made:?}");
    assert!(
        made.contains(&"m.csv:2".into()) && made.contains(&"1@t.csv:3".into()),
        "{made:?}"
    );
    // Without any id column at all.
    let none = bench.write("none.csv", "text\nthe same text\nthe same text\n");
    bench
        .run(&[&none], "none", &[])
        .fault_with(&["no id column", "--id-column", "--make-ids"]);
    let summary = bench.summary(&[&none], "none", &["--make-ids=true"]);
    assert_eq!(summary["counts"]["removed"], 1);
    let clash = bench.write("clash.csv", "id,text\n1,a\n1,b\n1@clash.csv:1,c\n");
    bench
        .run(&[&clash], "clash", &["--make-ids"])
        .fault_with(&["`1@clash.csv:1` stands twice", "rename it"]);
}

/// What pandas makes of integers with gaps, and of missing values.
#[test]
fn what_pandas_writes() {
    let bench = Bench::new();
    let ids = |ids: Vec<f64>| Arc::new(Float64Array::from(ids)) as ArrayRef;
    let parquet = |name: &str, found: Vec<f64>| {
        let texts = Arc::new(StringArray::from(vec!["the same text"; found.len()])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("id", ids(found)), ("text", texts)]).unwrap();
        bench.write(name, parquet_file(&batch, 2))
    };
    let lines = bench.write(
        "x.jsonl",
        "{\"id\":1.0,\"text\":\"the same text\",\"title\":NaN,\"score\":NaN}\n\
         {\"id\":2.0,\"text\":\"the same text\",\"title\":\"t\",\"score\":-Infinity}\n\
         {\"id\":2.5,\"text\":\"other\",\"title\":\"t\",\"score\":0.5}\n",
    );
    let whole = parquet("x.parquet", vec![3.0, 4.0]);
    let summary = bench.summary(&[&lines, &whole], "out", &[]);
    assert_eq!(records(&summary), [5, 4, 0, 1]);
    assert_eq!(bench.clusters("out"), [["1", "2", "3", "4"]]);
    let reason = bench.rejected("out")[0].to_string();
    for part in ["\"line\":3", "is a float", "--id-column", "--make-ids"] {
        assert!(reason.contains(part), "{reason}");
    }
    let twice = parquet("y.parquet", vec![1.0, 5.0]);
    bench.run(&[&lines, &twice], "never", &[]).fault_with(&[
        "`1` stands twice",
        &lines,
        "line 1",
        &twice,
        "row 1",
        "--make-ids",
    ]);
    let gap = parquet("z.parquet", vec![1.0, f64::NAN]);
    bench
        .run(&[&gap], "never", &[])
        .fault_with(&[&gap, "row 2", "null or empty", "--make-ids"]);
    let summary = bench.summary(&[&lines, &twice, &gap], "made", &["--make-ids"]);
    assert_eq!(records(&summary), [7, 7, 0, 0]);
}

#[test]
fn parquet_texts_that_are_not_utf8_and_ids_of_other_types() {
    let bench = Bench::new();
    let texts: ArrayRef = Arc::new(BinaryArray::from(vec![
        Some(&b"good text"[..]),
        Some(b"bad \xff"),
        None,
    ]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![3, 2, 1]));
    let batch = RecordBatch::try_from_iter([("id", ids.clone()), ("text", texts)]).unwrap();
    let file = bench.write("x.parquet", parquet_file(&batch, 2));
    assert_eq!(bench.records(&file), [3, 1, 1, 1]);
    let found = bench.rejected("out");
    assert_eq!(
        (&found[0]["row"], &found[0]["file"]),
        (&json!(2), &json!(file))
    );
    bench
        .run(&[&file], "strict", &["--strict"])
        .fault_with(&["row 2", "UTF-8"]);
    let batch = RecordBatch::try_from_iter([("id", ids.clone()), ("text", ids)]).unwrap();
    let file = bench.write("numbers.parquet", parquet_file(&batch, 2));
    bench
        .run(&[&file], "never", &[])
        .fault_with(&[&file, "text column `text` is of type Int64"]);
}
