//! Texts of a few words, of none, and of a template, through the command, in every format.
//!
//! Nothing makes a pair by accident: not texts shorter than a shingle, not those without a word, and,
//! if it is asked for, not those that differ in a number only.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use common::texts::{FORMATS, clusters, ids, owned, records};
use common::{Bench, corpus::encode};

#[test]
fn texts_shorter_than_a_shingle() {
    let texts = owned(&[
        ("1", "one red house"),
        ("2", "two blue cars"),
        ("3", "three old trees"),
        ("4", "cat"),
        ("5", "dog"),
        ("6", "cat"),
        ("7", "x"),
        ("8", "a text of more words than a shingle has by far"),
        ("9", "Cat!"),
    ]);
    for tokenizer in ["words", "unicode"] {
        assert_eq!(
            clusters(&texts, &["--tokenizer", tokenizer]),
            ids(&[&["4", "6", "9"]]),
            "{tokenizer}"
        );
    }
    assert_eq!(
        clusters(&texts, &["--candidates", "blocking"]),
        ids(&[&["4", "6", "9"]])
    );
}

#[test]
fn texts_without_a_word_are_listed_and_make_no_pair() {
    let texts = owned(&[
        ("1", ""),
        ("2", ""),
        ("3", " \t \u{a0}\u{3000}"),
        ("4", " \t \u{a0}\u{3000}"),
        ("5", "... !!! ???"),
        ("6", "... !!! ???"),
        ("7", "\u{1f600}\u{1f680}"),
        ("8", "\u{1f600}\u{1f680}"),
        ("9", "\u{200b}\u{feff}\u{ad}"),
        ("a", "a real text"),
    ]);
    let bench = Bench::new();
    for tokenizer in ["words", "unicode"] {
        assert!(
            clusters(&texts, &["--tokenizer", tokenizer]).is_empty(),
            "{tokenizer}"
        );
        for format in FORMATS {
            let file = bench.write(&format!("x.{format}"), encode(format, &records(&texts)));
            let summary =
                bench.summary(&[&file], "out", &["--overwrite", "--tokenizer", tokenizer]);
            assert_eq!(
                (&summary["records"]["used"], &summary["records"]["empty"]),
                (&1.into(), &9.into())
            );
            let listed: Vec<String> = bench
                .csv("out", "empty_documents")
                .iter()
                .map(|row| row[0].to_owned())
                .collect();
            assert_eq!(
                listed,
                ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
                "{format}"
            );
            let kept = common::parquet_batches(&bench.path("out/deduped_documents.parquet"));
            assert_eq!(
                kept.iter().map(|batch| batch.num_rows()).sum::<usize>(),
                10,
                "they are kept"
            );
        }
    }
}

#[test]
fn rows_that_differ_in_a_number_only() {
    let template = |number: usize| {
        format!(
            "Farm to Market Road {number} is a road in the U.S. state of Texas, maintained by the county of C. It begins at the border of the county, runs north through several small towns, crosses the old railway line twice, and ends near the river."
        )
    };
    let names: Vec<String> = (0..50).map(|number| format!("{number:02}")).collect();
    let texts: Vec<(&str, String)> = names
        .iter()
        .enumerate()
        .map(|(number, name)| (name.as_str(), template(number * 37 + 100)))
        .collect();
    let bench = Bench::new();
    for format in FORMATS {
        let file = bench.write(&format!("x.{format}"), encode(format, &records(&texts)));
        let said = bench.run(&[&file], "out", &["--overwrite"]).success();
        assert!(
            said.contains("differ in numbers only (--keep-numbers refuses them)"),
            "{said}"
        );
        let summary = bench.summary(&[&file], "out", &["--overwrite"]);
        assert_eq!(summary["counts"]["removed"], 49);
        assert_eq!(
            summary["counts"]["numeric_pairs"],
            summary["counts"]["near_pairs"]
        );
        let summary = bench.summary(&[&file], "out", &["--overwrite", "--keep-numbers"]);
        assert_eq!(summary["counts"]["removed"], 0, "{format}");
        assert!(summary["counts"]["refused_for_numbers"].as_u64().unwrap() > 0);
    }
}
