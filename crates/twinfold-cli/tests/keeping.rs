//! Which member of a cluster is kept, and what the counts say of those that are not.
//!
//! A keep rule may go by a column of any type; missing values and what is no date come last, and are
//! counted. Counts by source and domain add up to those of the whole, and a source that loses more than
//! half of its documents is named.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::*;
use common::corpus::{corpus, encode};
use common::{Bench, kept, with_columns};

#[test]
fn keep_rules_over_columns_of_every_type() {
    let bench = Bench::new();
    let numbers = |values: [i64; 4]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let batch = with_columns(vec![
        ("int", numbers([10, 0, 9, 0])),
        (
            "float",
            Arc::new(Float64Array::from(vec![9.5, 0.0, 10.0, 0.0])),
        ),
        (
            "text",
            Arc::new(StringArray::from(vec!["10", "x", "9", "x"])),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![true, true, false, true])),
        ),
        (
            "when",
            Arc::new(TimestampSecondArray::from(vec![2, 0, 1, 0]).with_timezone("+05:00")),
        ),
        ("day", Arc::new(Date32Array::from(vec![2, 0, 1, 0]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![1000, 0, 999, 0])
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
        ),
        (
            "kind",
            Arc::new(DictionaryArray::<Int32Type>::from_iter([
                "low", "x", "high", "x",
            ])),
        ),
        (
            "null",
            Arc::new(StringArray::from(vec![
                None,
                Some("x"),
                Some(""),
                Some("x"),
            ])),
        ),
    ]);
    for (rule, expected) in [
        ("int desc", "a"),
        ("int", "c"),
        ("float", "a"),
        ("float desc", "c"),
        ("text desc", "c"),
        ("text", "a"),
        ("flag", "c"),
        ("flag desc", "a"),
        ("flag=[false,true]", "c"),
        ("when", "c"),
        ("day desc", "a"),
        ("price", "c"),
        ("kind=[high,low]", "c"),
        ("kind", "c"),
        ("int=[9]", "c"),
        ("null, doc_id desc", "c"),
        ("token_count, doc_id", "a"),
    ] {
        let kept = kept(&bench, &batch, &["--keep", rule]);
        let ids = kept
            .column_by_name("doc_id")
            .unwrap()
            .as_string::<i32>()
            .clone();
        assert_eq!(
            ids.value(if expected == "a" { 0 } else { 1 }),
            expected,
            "{rule}"
        );
    }
}

#[test]
fn what_is_no_number_comes_last_and_leaves_the_others_numbers() {
    let bench = Bench::new();
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![9.5, f64::NAN, 10.0, 0.0]));
    let batch = with_columns(vec![("float", floats)]);
    for (rule, expected) in [("float", "a"), ("float desc", "c")] {
        let kept = kept(&bench, &batch, &["--keep", rule]);
        let ids = kept
            .column_by_name("doc_id")
            .unwrap()
            .as_string::<i32>()
            .clone();
        assert!(ids.iter().flatten().any(|id| id == expected), "{rule}");
    }
}

#[test]
fn dates_missing_or_unreadable_come_last_and_are_counted() {
    let bench = Bench::new();
    let row = |id: u32, date: &str| format!("{id},one text of some words,{date}\n");
    let dates = [
        "",
        "  ",
        "yesterday",
        "2024-13-01",
        "0000",
        "2023-05-01",
        "2024-01-01T00:00:00+02:00",
        "2023-12-31T23:00:00Z",
        "1704067200x",
    ];
    let rows: String = dates
        .iter()
        .zip(1..)
        .map(|(date, id)| row(id, date))
        .collect();
    let file = bench.write("x.csv", format!("id,text,crawled_at\n{rows}"));
    let summary = bench.summary(&[&file], "out", &[]);
    assert_eq!(
        summary["dates"],
        serde_json::json!({"missing": 2, "unreadable": 4})
    );
    assert_eq!(
        &bench.csv("out", "cluster_inspection")[0][2],
        "8",
        "an hour later than the other, in UTC"
    );
    let said = bench.run(&[&file], "text", &[]).success();
    assert!(
        said.contains("2 documents have none, 4 have something that is no date"),
        "{said}"
    );
    bench
        .run(&[&file], "asc", &["--quiet", "--keep", "crawled_at"])
        .success();
    assert_eq!(
        &bench.csv("asc", "cluster_inspection")[0][2],
        "6",
        "what is no date is not the oldest"
    );
    let none = bench.write("none.csv", "id,text\n1,one text\n2,one text\n");
    let summary = bench.summary(&[&none], "none", &[]);
    assert!(summary["dates"].is_null());
    bench
        .run(&[&none], "never", &["--keep", "crawled_at"])
        .fault_with(&["crawled_at", "not there"]);
}

#[test]
fn counts_by_source_and_domain_add_up() {
    let bench = Bench::new();
    let file = bench.write("x.jsonl", encode("jsonl", &corpus(90)));
    let bad = bench.write("bad.csv", "doc_id,body\nno-source,alone\nragged\n");
    let summary = bench.summary(&[&file, &bad], "out", &[]);
    let count = |name: &str| summary["counts"][name].as_u64().unwrap();
    for relation in ["source_summary", "domain_summary"] {
        let rows = bench.csv("out", relation);
        let sum = |column: usize| {
            rows.iter()
                .map(|row| row[column].parse::<u64>().unwrap())
                .sum::<u64>()
        };
        assert_eq!(
            sum(1),
            count("documents") + count("empty_documents"),
            "{relation}"
        );
        assert_eq!(sum(2), count("empty_documents"));
        assert_eq!(sum(4), count("removed"));
        assert_eq!(sum(3), sum(1) - sum(4));
        assert_eq!(&rows[0][0], "", "documents without one are counted too");
    }
    let pairs = bench.csv("out", "duplicate_summary");
    let number = |row: usize, column: usize| pairs[row][column].parse::<u64>().unwrap();
    assert_eq!(number(2, 1), count("duplicate_pairs"));
    assert_eq!(number(2, 2), count("same_domain_duplicates"));
    for column in 1..4 {
        assert_eq!(number(0, column) + number(1, column), number(2, column));
    }
    assert_eq!(number(0, 2) + number(0, 3), number(0, 1));
    let sizes: u64 = bench.csv("out", "clusters").len() as u64;
    assert_eq!(sizes, count("documents") + count("empty_documents"));
}

#[test]
fn a_source_that_loses_most_is_named() {
    let bench = Bench::new();
    let mut rows = String::from("id,text,source,note\n");
    for number in 0..10 {
        rows.push_str(&format!(
            "{number},text number {number} of the good source,good,1\n"
        ));
        let copied = if number < 7 {
            format!("text number {number} of the good source")
        } else {
            format!("own words {number}")
        };
        rows.push_str(&format!("x{number},{copied},copier,2\n"));
    }
    let file = bench.write("x.csv", rows);
    let arguments = ["--keep", "source=[good]", "--tokenizer", "words"];
    let said = bench.run(&[&file], "text", &arguments).success();
    assert!(
        said.contains("source \"copier\" lost 7 of its 10 documents"),
        "{said}"
    );
    assert!(!said.contains("source \"good\""), "{said}");
    let summary = bench.summary(&[&file], "json", &arguments);
    assert_eq!(
        summary["sources_losing_most"],
        serde_json::json!([{"source": "copier", "documents": 10, "removed": 7}])
    );
    let summary = bench.summary(
        &[&file],
        "other",
        &[&arguments[..], &["--source-column", "note"]].concat(),
    );
    assert_eq!(summary["sources_losing_most"].as_array().unwrap().len(), 1);
}
