//! Input folders that hold what earlier runs left, and the notes that tell what was made of them.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use common::corpus::{corpus, encode};
use common::{Bench, relations};
use serde_json::Value;

fn notes(bench: &Bench, out: &str) -> Vec<String> {
    let manifest = std::fs::read(bench.path(out).join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    serde_json::from_value(manifest["notes"].clone()).unwrap()
}

#[test]
fn an_output_in_an_input_folder_is_not_read() {
    let bench = Bench::new();
    bench.write("data/a.jsonl", encode("jsonl", &corpus(40)));
    let data = bench.name("data");
    bench.run(&[&data], "outside", &["--quiet"]).success();
    let expected = relations(&bench.path("outside"));
    assert_eq!(notes(&bench, "outside"), [""; 0]);
    // Inside of the input, over itself, and beside another one.
    for (out, extra) in [
        ("data/out", ""),
        ("data/out", "--overwrite"),
        ("data/other", "--overwrite"),
    ] {
        let extra: Vec<&str> = Some(extra).filter(|e| !e.is_empty()).into_iter().collect();
        bench.run(&[&data], out, &extra).success();
        let mut found = relations(&bench.path(out));
        found.remove("manifest.json");
        let mut expected = expected.clone();
        expected.remove("manifest.json");
        common::assert_same(&found, &expected, out);
    }
    assert_eq!(
        notes(&bench, "data/out"),
        [format!("skipped {data}/out: this run writes to it")]
    );
    let note = format!(
        "skipped {data}/out: the output of an earlier run; name its deduped_documents.parquet to read it"
    );
    assert_eq!(notes(&bench, "data/other"), [note.as_str()]);
    let printed = bench.run(&[&data], "last", &[]).success();
    assert_eq!(printed.matches(&note).count(), 1, "{printed}");
    let summary = bench.summary(&[&data], "last", &["--overwrite"]);
    assert_eq!(summary["notes"][0], note.replace("data/out", "data/other"));
    assert_eq!(summary["notes"][1], note.as_str());
}

#[test]
fn a_run_on_the_output_of_another_reads_what_was_kept() {
    let bench = Bench::new();
    let file = bench.write("a.jsonl", encode("jsonl", &corpus(40)));
    let first = bench.summary(&[&file], "first", &[]);
    let folder = bench.name("first");
    let second = bench.summary(&[&folder], "second", &[]);
    // Those without a word are kept beside the others.
    let kept = |summary: &Value| {
        let empty = summary["records"]["empty"].as_u64().unwrap();
        summary["counts"]["kept"].as_u64().unwrap() + empty
    };
    assert_eq!(second["records"]["read"], kept(&first));
    let third = bench.summary(&[&bench.name("second")], "third", &[]);
    assert_eq!(third["records"]["read"], kept(&second));
    assert_eq!(
        notes(&bench, "second"),
        [format!(
            "{folder} is the output of an earlier run: its deduped_documents.parquet is read"
        )]
    );
    // Never over itself, and only where there are kept documents.
    bench
        .run(&[&folder], "first", &["--overwrite"])
        .fault_with(&["deduped_documents.parquet", "--overwrite replaces"]);
    let other = ["--publish", "clusters", "--quiet"];
    bench.run(&[&file], "fourth", &other).success();
    bench
        .run(&[&bench.name("fourth")], "fifth", &[])
        .fault_with(&["published no deduped_documents", "hint: name the file"]);
    bench
        .run(&[&bench.name("fourth/*.csv")], "fifth", &[])
        .fault_with(&[
            "no CSV, Parquet or JSON Lines file",
            "output of an earlier run",
        ]);
}
