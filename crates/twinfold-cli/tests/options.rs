//! Every option of `twinfold run` takes effect.
//!
//! The list of options is read off `twinfold run --help`, so one that is added without a test, or parsed
//! and then ignored, fails here.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::collections::BTreeMap;

use common::{Bench, document, files, relations, twinfold};
use serde_json::Value;

/// The options that the help lists, without those of every command.
fn options() -> Vec<String> {
    let help = twinfold(&["run", "--help", "--progress", "never"]).success();
    help.lines()
        .filter_map(|line| {
            let line = line.trim_start();
            let at = line.starts_with('-').then(|| line.find("--")).flatten()?;
            let name = &line[at + 2..];
            let end = name
                .find(|c: char| !c.is_ascii_lowercase() && c != '-')
                .unwrap_or(name.len());
            Some(name[..end].trim_end_matches('-').to_owned())
        })
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn every_option_takes_effect_or_is_refused() {
    let bench = Bench::new();
    let documents = document(&bench);
    let settings = bench.write("twinfold.toml", "threshold = 0.9\n");
    let expected = bench.write("expected.json", r#"{"counts": {"clusters": 0}}"#);
    let twice = bench.write("twice.csv", "doc_id,body\n1,a b c\n1,d e f\n2\n");
    let other = bench.write(
        "other.csv",
        "doc_id,body,note,source\n1,a b c,x,y\n2,A b c,x,z\n",
    );
    let stray = bench.write("stray.csv", "id,text\n1,\"a b c\n2,A b c\n");
    let words = |from: usize| {
        (from..from + 20)
            .map(|word| format!("w{word} "))
            .collect::<String>()
    };
    let chain = [0, 10, 20]
        .map(|from| format!("{from},{}\n", words(from)))
        .concat();
    let chain = bench.write("chain.csv", format!("id,text\n{chain}"));
    let run = |input: &str, arguments: &[&str]| -> BTreeMap<String, Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let done = twinfold(&[&["run", input, "--out", out.to_str().unwrap()], arguments].concat());
        let mut found = match done.code() {
            Some(0) => relations(&out),
            _ => BTreeMap::new(),
        };
        let said = done.stderr();
        // Results that name no folder and no time, and whether anything was said.
        let printed = if done.code() == Some(0) {
            done.success()
        } else {
            String::new()
        };
        let kind = match printed.chars().next() {
            Some('{') => "json",
            Some(_) => "text",
            None => "nothing",
        };
        found.insert("printed".into(), kind.into());
        found.insert(
            "said".into(),
            said.lines()
                .map(|line| &line[..line.len().min(9)])
                .collect::<String>()
                .into(),
        );
        if let Some(manifest) = found.get_mut("manifest.json") {
            // What the manifest merely repeats of the configuration is no effect.
            let mut value: Value = serde_json::from_slice(manifest).unwrap();
            value.as_object_mut().unwrap().remove("configuration");
            *manifest = value.to_string().into_bytes();
        }
        found
    };
    // For each option: an input, and settings without and with it, which must not come to the same.
    let cases: Vec<(&str, &str, Vec<&str>, Vec<&str>)> = vec![
        ("config", &documents, vec![], vec!["--config", &settings]),
        ("preset", &documents, vec![], vec!["--preset", "tutorial"]),
        ("format", &other, vec![], vec!["--format", "jsonl"]),
        ("delimiter", &other, vec![], vec!["--delimiter", "tab"]),
        ("quote", &stray, vec![], vec!["--quote", "none"]),
        (
            "id-column",
            &other,
            vec!["--make-ids"],
            vec!["--make-ids", "--id-column", "note"],
        ),
        ("text-column", &other, vec![], vec!["--text-column", "note"]),
        (
            "source-column",
            &other,
            vec![],
            vec!["--source-column", "note"],
        ),
        (
            "domain-column",
            &other,
            vec![],
            vec!["--domain-column", "note"],
        ),
        (
            "date-column",
            &documents,
            vec![],
            vec!["--date-column", "title"],
        ),
        (
            "title-column",
            &documents,
            vec!["--candidates", "blocking", "--block-by", "title-trigrams"],
            vec![
                "--title-column",
                "note",
                "--candidates",
                "blocking",
                "--block-by",
                "title-trigrams",
            ],
        ),
        ("make-ids", &twice, vec![], vec!["--make-ids"]),
        (
            "strict",
            &twice,
            vec!["--make-ids"],
            vec!["--make-ids", "--strict"],
        ),
        (
            "tokenizer",
            &documents,
            vec![],
            vec!["--tokenizer", "chars"],
        ),
        (
            "shingle-size",
            &documents,
            vec![],
            vec!["--shingle-size", "2"],
        ),
        ("threshold", &documents, vec![], vec!["--threshold", "0.95"]),
        ("keep-numbers", &documents, vec![], vec!["--keep-numbers"]),
        (
            "candidates",
            &documents,
            vec![],
            vec!["--candidates", "blocking"],
        ),
        (
            "hash-family",
            &documents,
            vec![],
            vec!["--hash-family", "blake2b"],
        ),
        ("hashes", &documents, vec![], vec!["--hashes", "65"]),
        ("bands", &documents, vec![], vec!["--bands", "4"]),
        ("rows", &documents, vec![], vec!["--rows", "4"]),
        ("seed", &documents, vec![], vec!["--seed", "43"]),
        (
            "target-recall",
            &documents,
            vec![],
            vec!["--target-recall", "0.999"],
        ),
        (
            "block-by",
            &documents,
            vec!["--candidates", "blocking"],
            vec!["--candidates", "blocking", "--block-by", "length"],
        ),
        (
            "linkage",
            &chain,
            vec!["--threshold", "0.2", "--bands", "64", "--rows", "1"],
            vec![
                "--threshold",
                "0.2",
                "--bands",
                "64",
                "--rows",
                "1",
                "--linkage",
                "star",
            ],
        ),
        ("edges", &documents, vec![], vec!["--edges", "spanning"]),
        ("max-pairs", &documents, vec![], vec!["--max-pairs", "1"]),
        ("keep", &documents, vec![], vec!["--keep", "note"]),
        ("publish", &documents, vec![], vec!["--publish", "clusters"]),
        ("expect", &documents, vec![], vec!["--expect", &expected]),
        ("progress", &documents, vec![], vec!["--progress", "always"]),
        ("quiet", &documents, vec![], vec!["--quiet"]),
        ("json", &documents, vec![], vec!["--json"]),
    ];
    for (option, input, without, with) in &cases {
        assert!(
            run(input, without) != run(input, with),
            "--{option} is parsed and ignored"
        );
    }
    // The rest is tested by what it does: where, over what, and on how many threads;
    // memory, and going on from a work folder, in `bounded`.
    let mut known: Vec<&str> = cases.iter().map(|case| case.0).collect();
    known.extend([
        "out",
        "overwrite",
        "threads",
        "memory",
        "work-dir",
        "resume",
    ]);
    let mut found = options();
    found.sort();
    found.dedup();
    known.sort_unstable();
    assert_eq!(
        found, known,
        "an option without a test, or a test without an option"
    );
    let threads = bench.summary(&[&documents], "threads", &["--threads", "3"]);
    assert!(threads.is_object());
    let manifest: Value =
        serde_json::from_slice(&files(&bench.path("threads"))["manifest.json"]).unwrap();
    assert_eq!(manifest["environment"]["threads"], 3);
}
