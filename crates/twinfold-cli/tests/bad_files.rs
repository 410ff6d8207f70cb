//! Files that are broken, empty, or in no format that was meant.
//!
//! A file that cannot be read stops the run with one line that names the file, the place and a remedy.
//! One without a record is said to be, and of which at least the columns are known, it is a clean end
//! with every published file and its header.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use common::corpus::{compress, parquet_file};
use common::{Bench, files, records, twinfold, twinfold_with_input};
use serde_json::json;

/// Every file that a run publishes by default.
const RELEASE: [&str; 11] = [
    "candidate_summary.csv",
    "cluster_inspection.csv",
    "clusters.csv",
    "deduped_documents.parquet",
    "domain_summary.csv",
    "duplicate_pairs.csv",
    "duplicate_summary.csv",
    "empty_documents.csv",
    "manifest.json",
    "removed_documents.parquet",
    "source_summary.csv",
];

#[test]
fn json_that_is_no_lines_is_explained() {
    let bench = Bench::new();
    let records = json!([{"id": "a", "text": "x y z"}, {"id": "b", "text": "x y z"}]);
    let by_line = "[\n{\"id\":\"a\",\"text\":\"x\"},\n{\"id\":\"b\",\"text\":\"y\"}\n]\n";
    let arrays = [
        records.to_string(),
        serde_json::to_string_pretty(&records).unwrap(),
        by_line.into(),
        by_line.replacen('\n', "", 1),
    ];
    for (number, text) in arrays.iter().enumerate() {
        let file = bench.write(&format!("{number}.json"), text);
        bench
            .run(&[&file], "out", &[])
            .fault_with(&[&file, "JSON array", "jq -c '.[]'"]);
    }
    let file = bench.write(
        "one.json",
        serde_json::to_string_pretty(&records[0]).unwrap(),
    );
    bench
        .run(&[&file], "out", &[])
        .fault_with(&[&file, "JSON object", "jq -c ."]);
    // Lines of which the first breaks off are still lines.
    let torn = bench.write("torn.jsonl", "[{\"id\":\n{\"id\":\"a\",\"text\":\"x\"}\n");
    assert_eq!(bench.records(&torn), [2, 1, 0, 1]);
    let torn = bench.write("torn.jsonl", "{\n{\"id\":\"a\",\"text\":\"x\"}\n");
    assert_eq!(bench.records(&torn), [2, 1, 0, 1]);
}

#[test]
fn a_run_in_which_no_record_can_be_used_is_a_fault() {
    let bench = Bench::new();
    for (name, text, said) in [
        ("array.jsonl", "[1,2]\n", "the only record cannot be used"),
        (
            "float.jsonl",
            "{\"id\":1.5,\"text\":\"a\"}\n{\"id\":2.5,\"text\":\"b\"}\n",
            "none of the 2 records can be used",
        ),
        (
            "ragged.csv",
            "id,text\n1,a,b\n2\n",
            "none of the 2 records can be used",
        ),
    ] {
        let file = bench.write(name, text);
        let run = bench.run(&[&file], "out", &[]);
        run.fault_with(&[&file, said, "--id-column"]);
    }
}

#[test]
fn a_wrong_column_name_is_answered_with_the_nearest() {
    let bench = Bench::new();
    let rows = "Doc_ID,Body,sauce\n1,a b c,x\n";
    let csv = bench.write("x.csv", rows);
    let jsonl = bench.write(
        "x.jsonl",
        "{\"Doc_ID\":\"1\",\"Body\":\"a b c\",\"sauce\":\"x\"}\n",
    );
    let column = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("Doc_ID", column("1")),
        ("Body", column("a b c")),
        ("sauce", column("x")),
    ]);
    let parquet = bench.write("x.parquet", parquet_file(&batch.unwrap(), 10));
    for file in [csv, jsonl, parquet] {
        let run = |extra: &[&str]| bench.run(&[&file], "out", extra);
        run(&[]).fault_with(&[
            &file,
            "text column `body` or `text`",
            "`Doc_ID`",
            "did you mean `Body`?",
            "--text-column",
        ]);
        run(&["--text-column", "Body"]).fault_with(&[
            "id column `doc_id` or `id`",
            "did you mean `Doc_ID`?",
            "--id-column",
        ]);
        let named = ["--text-column", "Body", "--id-column", "Doc_ID"];
        for role in ["source", "domain", "date", "title"] {
            let option = format!("--{role}-column");
            let said = run(&[&named[..], &[&option, "source"]].concat())
                .fault_with(&[&format!("no {role} column `source`")]);
            assert!(said.contains("did you mean `sauce`?"), "{said}");
        }
        run(&[&named[..], &["--keep", "sourze desc"]].concat())
            .fault_with(&["\"sourze\"", "sauce"]);
        run(&[&named[..], &["--quiet"]].concat()).success();
        std::fs::remove_dir_all(bench.path("out")).unwrap();
    }
}

#[test]
fn damaged_files_stop_the_run_in_one_line() {
    let bench = Bench::new();
    let mut lines = Vec::new();
    for number in 0..3000 {
        lines.extend(format!("{{\"id\":\"{number}\",\"text\":\"text of {number}\"}}\n").bytes());
    }
    for compression in ["gz", "zst"] {
        let whole = compress(compression, &lines);
        let cut = bench.write(
            &format!("cut.jsonl.{compression}"),
            &whole[..whole.len() / 2],
        );
        bench
            .run(&[&cut], "out", &[])
            .fault_with(&[&cut, "cut short after line", " -t`"]);
        let two = bench.write(
            &format!("two.jsonl.{compression}"),
            [
                &whole[..],
                &compress(compression, b"{\"id\":\"x\",\"text\":\"y\"}"),
            ]
            .concat(),
        );
        assert_eq!(bench.records(&two), [3001, 3001, 0, 0]);
        std::fs::remove_dir_all(bench.path("out")).unwrap();
    }
    // Tapes and some writers fill up the last block.
    let gzip = compress("gz", &lines);
    let padded = [&gzip[..], &[0; 1000], &gzip[..0], &[0; 300_000]].concat();
    let padded = bench.write("padded.jsonl.gz", padded);
    assert_eq!(bench.records(&padded), [3000, 3000, 0, 0]);
    std::fs::remove_dir_all(bench.path("out")).unwrap();
    let junk = bench.write("junk.jsonl.gz", [&gzip[..], &[0; 10], b"junk"].concat());
    bench.run(&[&junk], "out", &[]).fault_with(&[&junk, "gzip"]);

    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..3000).map(|n| format!("text of {n}")),
    ));
    let whole = parquet_file(
        &RecordBatch::try_from_iter([("id", texts.clone()), ("text", texts)]).unwrap(),
        1000,
    );
    let cut = bench.write("cut.parquet", &whole[..whole.len() - 3]);
    bench
        .run(&[&cut], "out", &[])
        .fault_with(&[&cut, "not a whole Parquet file"]);
    // Whatever one byte does, it is no bug of ours: no panic is shown.
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0xff;
        let file = bench.write("flipped.parquet", flipped);
        let run = bench.run(&[&file], "flipped", &["--quiet", "--overwrite"]);
        match run.code() {
            Some(0) => {}
            _ => drop(run.fault_with(&["flipped.parquet"])),
        }
    }
    let wide = bench.write("wide.csv", b"\xff\xfei\0d\0,\0t\0e\0x\0t\0\n\0");
    bench
        .run(&[&wide], "out", &[])
        .fault_with(&[&wide, "UTF-16", "iconv"]);
    let same = bench.write("same.csv", "id,text,text\n1,a,b\n");
    bench
        .run(&[&same], "out", &[])
        .fault_with(&[&same, "both called `text`"]);
    let unknown = bench.write("unknown.txt", "id,text\n1,a\n");
    bench
        .run(&[&unknown], "out", &[])
        .fault_with(&[&unknown, "--format"]);
    bench
        .run(&[], "out", &[])
        .fault_with(&["no input was named"]);
}

#[test]
fn standard_input() {
    let bench = Bench::new();
    let lines = "{\"id\":\"1\",\"text\":\"the same text\"}\nbroken\n{\"id\":\"2\",\"text\":\"the same text\"}\n";
    let csv = "id,text\n1,the same text\n2\n3,the same text\n";
    for (format, text) in [("jsonl", lines), ("csv", csv)] {
        for compression in ["", "gz", "zst"] {
            let out = bench.name(&format!("{format}-{compression}"));
            let arguments = ["run", "-", "--format", format, "--out", &out, "--json"];
            let arguments = if format == "jsonl" {
                [&arguments[..2], &arguments[4..]].concat()
            } else {
                arguments.to_vec()
            };
            let summary =
                twinfold_with_input(&arguments, compress(compression, text.as_bytes())).json();
            assert_eq!(records(&summary), [3, 2, 0, 1], "{format} {compression}");
            assert_eq!(summary["counts"]["removed"], 1);
        }
    }
    let run = |arguments: &[&str], input: &[u8]| {
        twinfold_with_input(
            &[&["run", "--out", &bench.name("never")], arguments].concat(),
            input,
        )
    };
    run(&["-", "--format", "parquet"], b"PAR1")
        .fault_with(&["can't be read from a stream", "file first"]);
    let cut = compress("gz", lines.as_bytes());
    run(&["-"], &cut[..cut.len() - 5]).fault_with(&["cut short after line 3"]);
    run(&["-"], b"[\n{\"id\":1},\n").fault_with(&["JSON array"]);
    run(&["-"], b"{\"key\":1,\"word\":\"x\"}").fault_with(&["no text column"]);
}

#[test]
fn almost_nothing_is_a_clean_end_with_every_file() {
    let bench = Bench::new();
    let none: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
    let empty = RecordBatch::try_from_iter([("id", none.clone()), ("text", none)]).unwrap();
    let cases = [
        (bench.write("header.csv", "id,text\n"), 0),
        (bench.write("header-only-no-end.csv", "id,text"), 0),
        (bench.write("rows.parquet", parquet_file(&empty, 10)), 0),
        (bench.write("one.csv", "id,text\n1,a b c\n"), 1),
        (bench.write("two.csv", "id,text\n1,a b c\n2,d e f\n"), 2),
        (
            bench.write(
                "blanks.csv",
                "id,text\n1,\n2, \n3,?!\n4,\u{1f600}\u{1f680}\n",
            ),
            4,
        ),
    ];
    for (at, (file, documents)) in cases.iter().enumerate() {
        for extra in [
            &[][..],
            &["--candidates", "blocking"],
            &["--edges", "spanning"],
            &["--linkage", "star"],
        ] {
            let out = format!("out{at}{}", extra.join(""));
            let summary = bench.summary(&[file], &out, extra);
            assert_eq!(records(&summary)[0], *documents, "{file}");
            let kept = summary["files"]
                .as_array()
                .unwrap()
                .iter()
                .find(|file| file["name"] == RELEASE[3]);
            assert_eq!(kept.unwrap()["rows"], *documents, "{file}");
            assert_eq!(summary["counts"]["duplicate_pairs"], 0, "{file}");
            let found = files(&bench.path(&out));
            assert_eq!(found.keys().collect::<Vec<_>>(), RELEASE, "{file}");
            assert!(found.values().all(|bytes| !bytes.is_empty()), "headers");
            twinfold(&["verify", &bench.name(&out)]).success();
        }
    }
    // All of it together.
    let inputs: Vec<&str> = cases.iter().take(3).map(|case| case.0.as_str()).collect();
    assert_eq!(
        records(&bench.summary(&inputs, "together", &["--publish", "all"])),
        [0; 4]
    );
    assert!(
        bench
            .run(&[inputs[0]], "text", &[])
            .success()
            .contains("0 read: 0 used")
    );
}

#[test]
fn nothing_at_all_is_said() {
    let bench = Bench::new();
    let nothing = [
        bench.write("zero.csv", ""),
        bench.write("zero.tsv", ""),
        bench.write("zero.jsonl", ""),
        bench.write("blank.jsonl", "\n \n\n"),
        bench.write("blank.csv", "\n\r\n\n"),
        bench.write("mark.csv", "\u{feff}"),
        bench.write("sep.csv", "sep=;\n"),
        bench.write("zero.jsonl.gz", compress("gz", b"")),
        bench.write("zero.csv.zst", compress("zst", b"")),
    ];
    let good = bench.write("good.csv", "id,text\n1,a b c\n");
    let header = bench.write("header.csv", "id,text\n");
    for file in &nothing {
        bench
            .run(&[file], "never", &["--quiet"])
            .fault_with(&[&format!("there is no record in {file} ("), "hint: "]);
        for file in [file, &header] {
            let said = bench.run(&[file, &good], "out", &["--overwrite"]).success();
            let notes: Vec<&str> = said
                .lines()
                .filter(|line| line.starts_with("note"))
                .collect();
            let own = notes
                .iter()
                .filter(|note| note.contains("no record"))
                .count();
            assert!(own == 1 && said.contains(file.as_str()), "{said}");
        }
    }
    let all: Vec<&str> = nothing.iter().map(String::as_str).collect();
    bench
        .run(&all, "never", &[])
        .fault_with(&["in any of the 9 inputs", &nothing[0]]);
    let said = bench
        .run(&[&all[..], &[&good]].concat(), "out", &["--overwrite"])
        .success();
    // Of many, a few stand for the others.
    assert_eq!(said.matches("there is no record in").count(), 5, "{said}");
    assert!(said.contains("4 more inputs have no record"), "{said}");
    let summary = bench.summary(&[all[0], &good], "out", &["--overwrite"]);
    let manifest = std::fs::read(bench.path("out").join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(
        manifest["notes"],
        serde_json::json!([format!("there is no record in {} (0 bytes)", all[0])])
    );
    assert_eq!(summary["notes"], manifest["notes"]);
    let said = bench.run(&[&good], "out", &["--overwrite"]).success();
    assert!(!said.contains("no record"), "{said}");
    assert!(!bench.path("never").exists());
    for format in ["csv", "jsonl"] {
        let out = bench.name("never");
        let arguments = ["run", "-", "--format", format, "--out", &out];
        twinfold_with_input(&arguments, "")
            .fault_with(&["there is no record in standard input (0 bytes)"]);
    }
}

#[test]
fn csv_of_other_dialects() {
    let bench = Bench::new();
    let text = "id;text\n1;the same text\n2;\"the same text\"\n3;5\" screen\n4;\"stray\n5;other\n";
    for compression in ["", "gz", "zst"] {
        let name = ["x.csv", compression].join(".");
        let file = bench.write(
            name.trim_end_matches('.'),
            compress(compression, text.as_bytes()),
        );
        bench.run(&[&file], "never", &[]).fault_with(&[
            &file,
            "`id;text`",
            "hint: add --delimiter ';'",
        ]);
        let extra = ["--overwrite", "--delimiter", ";"];
        assert_eq!(
            records(&bench.summary(&[&file], "out", &extra)),
            [5, 4, 0, 1]
        );
        let reason = bench.rejected("out")[0].to_string();
        for part in ["\"line\":5", "opens in line 5", "2 lines", "--quote none"] {
            assert!(reason.contains(part), "{reason}");
        }
        let extra = [&extra[..], &["--quote", "none"]].concat();
        assert_eq!(
            records(&bench.summary(&[&file], "out", &extra)),
            [5, 5, 0, 0]
        );
        let out = bench.name("stdin");
        let arguments = [
            &["run", "-", "--format", "csv", "--out", &out, "--json"],
            &extra[..],
        ]
        .concat();
        let summary =
            twinfold_with_input(&arguments, compress(compression, text.as_bytes())).json();
        assert_eq!(records(&summary), [5, 5, 0, 0]);
    }
    let file = bench.write("x.csv", text);
    let settings = bench.write("x.toml", "delimiter = \";\"\nquote = \"none\"\n");
    let summary = bench.summary(&[&file], "settings", &["--config", &settings]);
    assert_eq!(records(&summary), [5, 5, 0, 0]);
    let lines = bench.write("x.jsonl", "{\"id\":1,\"text\":\"a\"}\n");
    bench
        .run(&[&lines], "never", &["--quote", "none"])
        .fault_with(&["quote has no meaning", "--format csv"]);
    for (option, value) in [
        ("--delimiter", ";;"),
        ("--delimiter", "\""),
        ("--quote", "'"),
    ] {
        bench
            .run(&[&file], "never", &[option, value])
            .fault_with(&["is not a"]);
    }
}
