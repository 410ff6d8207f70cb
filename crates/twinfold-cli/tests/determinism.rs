//! The same documents give the same bytes, however they come in and however many threads work.
//!
//! Everything that a run publishes is compared, and the manifest too but for what names the inputs
//! and the machine. A fault here shows as a single differing file, whose name says where to look.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::collections::BTreeMap;

use common::corpus::{Numbers, Record, corpus, encode};
use common::{Bench, assert_same, relations};

/// Writes the records as `shards` files of these formats in turn, and returns their names.
fn shards(
    bench: &Bench,
    folder: &str,
    endings: &[&str],
    records: &[Record],
    shards: usize,
) -> Vec<String> {
    let size = records.len().div_ceil(shards);
    records
        .chunks(size)
        .enumerate()
        .map(|(number, shard)| {
            let ending = endings[number % endings.len()];
            bench.write(
                &format!("{folder}/{number}.{ending}"),
                encode(ending, shard),
            )
        })
        .collect()
}

/// What a run of these inputs publishes.
fn published(bench: &Bench, inputs: &[String], extra: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let arguments = [extra, &["--publish", "all", "--quiet", "--overwrite"]].concat();
    bench.run(&inputs, "out", &arguments).success();
    relations(&bench.path("out"))
}

#[test]
fn formats_cuts_orders_and_threads() {
    let bench = Bench::new();
    let records = corpus(160);
    let mut shuffled = records.clone();
    Numbers(3).shuffle(&mut shuffled);
    let mixed = [
        "jsonl",
        "csv.gz",
        "parquet",
        "tsv",
        "ndjson.zst",
        "pq",
        "json.gz",
    ];
    let mut layouts = vec![
        (
            "shuffled",
            shards(&bench, "shuffled", &["jsonl"], &shuffled, 1),
        ),
        ("seven", shards(&bench, "seven", &["jsonl"], &shuffled, 7)),
        ("mixed", shards(&bench, "mixed", &mixed, &shuffled, 7)),
        ("folder", vec![bench.name("mixed")]),
        ("pattern", vec![bench.name("seven/*.jsonl")]),
    ];
    for ending in [
        "csv", "tsv.gz", "csv.zst", "jsonl.gz", "json.zst", "parquet",
    ] {
        layouts.push((ending, shards(&bench, ending, &[ending], &records, 1)));
    }
    let one = shards(&bench, "one", &["jsonl"], &records, 1);
    let expected = published(&bench, &one, &["--threads", "1"]);
    let clusters = String::from_utf8_lossy(&expected["duplicate_pairs.csv"])
        .lines()
        .count();
    assert!(clusters > 50, "the corpus has duplicates");
    for (layout, inputs) in layouts {
        for threads in ["1", "2", "5"] {
            let found = published(&bench, &inputs, &["--threads", threads]);
            assert_same(&found, &expected, &format!("{layout} on {threads} threads"));
        }
    }
}

#[test]
fn every_generator_listing_linkage_and_tokenizer() {
    let bench = Bench::new();
    let records = corpus(64);
    let mut shuffled = records.clone();
    Numbers(5).shuffle(&mut shuffled);
    let one = shards(&bench, "one", &["csv"], &records, 1);
    let mixed = shards(
        &bench,
        "mixed",
        &["parquet", "jsonl.gz", "csv"],
        &shuffled,
        5,
    );
    let settings: &[&[&str]] = &[
        &["--edges", "all"],
        &["--edges", "spanning"],
        &["--linkage", "star"],
        &[
            "--linkage",
            "star",
            "--edges",
            "all",
            "--threshold",
            "0.3",
            "--bands",
            "32",
            "--rows",
            "2",
        ],
        &["--hash-family", "blake2b"],
        &["--preset", "tutorial"],
        &["--target-recall", "0.99", "--threshold", "0.5"],
        &["--tokenizer", "words"],
        &["--tokenizer", "chars", "--edges", "spanning"],
        &["--tokenizer", "code"],
        &["--shingle-size", "1"],
        &["--keep-numbers"],
        &["--max-pairs", "1"],
        &[
            "--keep",
            "source=[curated,forum], note, crawled_at, doc_id desc",
        ],
        &["--candidates", "blocking"],
        &[
            "--candidates",
            "blocking",
            "--block-by",
            "prefix-tokens",
            "--edges",
            "spanning",
        ],
        &["--candidates", "blocking", "--block-by", "title-trigrams"],
        &["--candidates", "blocking", "--block-by", "length"],
        &[
            "--candidates",
            "blocking",
            "--block-by",
            "length",
            "--edges",
            "spanning",
        ],
        &[
            "--candidates",
            "blocking",
            "--block-by",
            "domain",
            "--linkage",
            "star",
        ],
        &["--candidates", "blocking", "--block-by", "note"],
    ];
    for &setting in settings {
        let expected = published(&bench, &one, &[setting, &["--threads", "1"]].concat());
        let found = published(&bench, &mixed, &[setting, &["--threads", "5"]].concat());
        assert_same(&found, &expected, &setting.join(" "));
    }
}

#[test]
fn spanning_edges_give_the_clusters_of_all_edges() {
    let bench = Bench::new();
    let inputs = shards(&bench, "in", &["jsonl"], &corpus(100), 3);
    for setting in [
        &["--bands", "16", "--rows", "4"][..],
        &["--candidates", "blocking", "--block-by", "length"],
    ] {
        let all = published(&bench, &inputs, &[setting, &["--edges", "all"]].concat());
        let spanning = published(
            &bench,
            &inputs,
            &[setting, &["--edges", "spanning"]].concat(),
        );
        for relation in [
            "clusters.csv",
            "deduped_documents.parquet",
            "source_summary.csv",
        ] {
            assert!(
                all[relation] == spanning[relation],
                "{relation} of {setting:?}"
            );
        }
    }
}

#[test]
fn a_written_id_order_does_not_depend_on_the_locale() {
    let bench = Bench::new();
    let ids = [
        "b",
        "B",
        "a",
        "\u{e4}",
        "10",
        "9",
        "a b",
        "a\u{301}",
        "\u{10ffff}",
        "\u{fffd}",
        "",
    ];
    let rows: Vec<String> = ids
        .iter()
        .filter(|id| !id.is_empty())
        .map(|id| {
            serde_json::json!({"id": id, "text": "one text for all of these ids"}).to_string()
        })
        .collect();
    let input = bench.write("ids.jsonl", rows.join("\n"));
    bench.run(&[&input], "out", &["--quiet"]).success();
    let members: Vec<String> = bench
        .csv("out", "clusters")
        .iter()
        .map(|row| row[1].to_owned())
        .collect();
    let mut sorted: Vec<&str> = ids.into_iter().filter(|id| !id.is_empty()).collect();
    sorted.sort_unstable();
    assert_eq!(members, sorted);
    assert_eq!(&bench.csv("out", "clusters")[0][0], "cluster-10");
}
