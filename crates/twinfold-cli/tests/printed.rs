//! What a run prints and writes, by the options that say so: the summary, progress, relations by name,
//! and expectations that have to be met first.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use common::{Bench, command, document, ended, files, twinfold};
use serde_json::Value;

#[test]
fn what_is_printed_where() {
    let bench = Bench::new();
    let documents = document(&bench);
    let run = |out: &str, arguments: &[&str]| {
        let done = bench.run(&[&documents], out, arguments);
        (done.success(), done.stderr())
    };
    assert_eq!(run("quiet", &["--quiet"]), (String::new(), String::new()));
    let (out, said) = run("text", &[]);
    assert!(
        out.starts_with("documents ") && out.contains("recall") && said.is_empty(),
        "{out}{said}"
    );
    let (out, said) = run("always", &["--quiet", "--progress", "always"]);
    assert!(out.is_empty());
    for stage in ["read", "group", "join", "cluster", "publish"] {
        assert!(said.lines().any(|line| line.starts_with(stage)), "{said}");
    }
    assert!(
        !said.contains('\u{1b}'),
        "no bars where there is no terminal"
    );
    assert_eq!(run("auto", &["--quiet", "--progress", "auto"]).1, "");
    assert!(
        run("shown", &["--progress", "auto", "--json"])
            .1
            .contains("publish")
    );
    for arguments in [
        &["--json"][..],
        &["--json", "--quiet"],
        &["--json", "--progress", "always"],
    ] {
        let (out, _) = run(&arguments.join(""), arguments);
        let summary: Value = serde_json::from_str(&out).unwrap();
        for key in [
            "program",
            "records",
            "counts",
            "generator",
            "guarantee",
            "recall",
            "threshold",
            "stage_times",
            "out",
            "files",
        ] {
            assert!(summary.get(key).is_some(), "{key}");
        }
    }
    // A reader that has gone away is no fault.
    let mut gone = command(&["run", &documents, "--out", &bench.name("gone"), "--json"])
        .spawn()
        .unwrap();
    drop(gone.stdout.take());
    drop(gone.stdin.take());
    assert_eq!(ended(gone).code(), Some(0));
    let version = twinfold(&["--version"]).success();
    assert!(version.starts_with("twinfold "), "{version}");
}

#[test]
fn relations_by_name() {
    let bench = Bench::new();
    let documents = document(&bench);
    let help = twinfold(&["run", "--publish", "help"]).success();
    let all: Vec<(bool, &str, &str)> = help
        .lines()
        .skip(1)
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (
                words[0] == "*",
                words[words.len() - 2],
                words[words.len() - 1],
            )
        })
        .collect();
    assert!(all.len() >= 15, "{help}");
    for (_, name, file) in &all {
        bench
            .run(&[&documents], name, &["--quiet", "--publish", name])
            .success();
        let found = files(&bench.path(name));
        assert_eq!(found.keys().collect::<Vec<_>>(), {
            let mut both = vec!["manifest.json", *file];
            both.sort_unstable();
            both
        });
    }
    let release = all.iter().filter(|relation| relation.0).count();
    for (publish, count) in [
        ("release", release),
        ("all", all.len()),
        (" clusters , clusters,release", release),
        ("release,scored_pairs", release + 1),
    ] {
        bench
            .run(
                &[&documents],
                "some",
                &["--quiet", "--overwrite", "--publish", publish],
            )
            .success();
        assert_eq!(files(&bench.path("some")).len(), count + 1, "{publish}");
    }
    // A relation is the same file whatever is published beside it.
    bench
        .run(&[&documents], "whole", &["--quiet", "--publish", "all"])
        .success();
    for (_, name, file) in &all {
        assert!(
            files(&bench.path(name))[*file] == files(&bench.path("whole"))[*file],
            "{name}"
        );
    }
}

#[test]
fn expectations_met_and_not_met() {
    let bench = Bench::new();
    let documents = document(&bench);
    let summary = bench.summary(&[&documents], "out", &[]);
    let expect = |text: String| {
        let file = bench.write("expected.json", text);
        bench.run(
            &[&documents],
            "out",
            &["--overwrite", "--quiet", "--expect", &file],
        )
    };
    let part = |keys: &[&str]| {
        let fields = keys
            .iter()
            .map(|key| ((*key).to_owned(), summary[*key].clone()));
        Value::Object(fields.collect()).to_string()
    };
    expect("{}".into()).success();
    expect(part(&[
        "records",
        "counts",
        "reduction_ratio",
        "recall",
        "generator",
    ]))
    .success();
    expect(r#"{"counts": {"clusters": 9999, "kept": -1}}"#.into()).fault_with(&[
        "2 results",
        "counts.clusters is",
        "not 9999",
    ]);
    expect(r#"{"generator": "magic"}"#.into()).fault_with(&["generator is"]);
    expect(r#"{"colour": 1}"#.into()).fault_with(&["colour is not a result of a run"]);
    expect(r#"{"kept_doc_ids": ["nobody"]}"#.into()).fault_with(&["\"nobody\" is missing"]);
    expect("[]".into()).fault_with(&["not what"]);
    expect("{".into()).fault_with(&["expected.json", "not JSON"]);
    twinfold(&["verify", &bench.name("out")]).success();
}

/// Standard error may be a pipe whose reader has gone, or a full device; the results still come.
#[cfg(target_os = "linux")]
#[test]
fn a_standard_error_that_cannot_be_written_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.csv");
    std::fs::write(&input, "id,text\n1,one text\n2,another text\n").unwrap();
    let out = folder.path().join("out");
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_twinfold"))
        .args([
            "run",
            input.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
        ])
        .args(["--progress", "always"])
        .stdout(std::process::Stdio::null())
        .stderr(full)
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    assert!(out.join("manifest.json").exists());
}

/// Whoever reads the summary must not take a lost one for success; the results are there all the same.
#[cfg(target_os = "linux")]
#[test]
fn a_standard_output_that_cannot_be_written_is_a_failure() {
    let bench = Bench::new();
    let documents = document(&bench);
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let out = bench.name("out");
    bench.run(&[&documents], "whole", &["--quiet"]).success();
    let whole = bench.name("whole");
    let run = ["run", &documents, "--out", &out, "--overwrite"];
    let recall = ["recall", &documents, "--out", &out, "--overwrite"];
    for arguments in [
        [&recall[..], &["--json", "--quiet"]].concat(),
        recall.to_vec(),
        [&run[..], &["--json", "--quiet"]].concat(),
        [&run[..], &["--json"]].concat(),
        run.to_vec(),
        vec!["config"],
        vec!["verify", &whole],
        vec!["run", "--publish", "help"],
    ] {
        let child = command(&arguments).stdout(full()).spawn().unwrap();
        let ended = ended(child);
        assert_eq!(ended.code(), Some(2), "{arguments:?}: {}", ended.stderr());
        assert!(ended.stderr().contains("cannot write to standard output"));
        if arguments.contains(&out.as_str()) {
            assert!(ended.stderr().contains("hint: the results in"));
            twinfold(&["verify", &out]).success();
        }
    }
    // What is not printed cannot be lost.
    let quiet = [&run[..], &["--quiet"]].concat();
    let child = command(&quiet).stdout(full()).spawn().unwrap();
    assert_eq!(ended(child).code(), Some(0));
}

/// What a line of the summary says, without its name.
fn line<'a>(summary: &'a str, name: &str) -> &'a str {
    let line = summary.lines().find(|line| line.starts_with(name));
    line.unwrap_or_else(|| panic!("{name} is not in {summary}"))[13..].trim_end()
}

/// What is kept are the rows of `deduped_documents`, and kept and removed are what was read.
#[test]
fn the_counts_of_the_summary_add_up() {
    let bench = Bench::new();
    let text = "a text of quite some words that nobody else has";
    let other = "something else altogether that is of its own";
    for (copies, empties, rejected) in [(0, 0, 0), (3, 0, 0), (3, 2, 0), (1, 1, 2), (0, 3, 1)] {
        let mut rows = format!("doc_id,body\nk,{text}\no,{other}\n");
        (0..copies).for_each(|n| rows += &format!("c{n},{text}\n"));
        (0..empties).for_each(|n| rows += &format!("e{n},...\n"));
        (0..rejected).for_each(|n| rows += &format!("r{n}\n"));
        let file = bench.write("x.csv", rows);
        let said = bench.run(&[&file], "out", &["--overwrite"]).success();
        let (used, read) = (2 + copies, 2 + copies + empties + rejected);
        assert_eq!(
            line(&said, "documents"),
            format!("{read} read: {used} used, {empties} empty, {rejected} rejected")
        );
        let kept = 2 + empties;
        assert_eq!(
            line(&said, "kept"),
            match empties {
                0 => format!("{kept} documents; removed {copies}"),
                _ => format!(
                    "{kept} documents: 2 of those used, and the {empties} empty that \
                     empty_documents.csv lists; removed {copies}"
                ),
            }
        );
        let rows = common::parquet_batches(&bench.path("out/deduped_documents.parquet"));
        let rows: usize = rows.iter().map(|batch| batch.num_rows()).sum();
        assert_eq!(rows, kept);
        assert_eq!(kept + copies + rejected, read);
        if rejected == 1 {
            assert!(line(&said, "warning").starts_with("1 record could not"));
        }
    }
}

/// The pairs that numbers keep apart are counted or said not to be, in every place that tells.
#[test]
fn refused_pairs_are_counted_or_said_not_to_be() {
    let bench = Bench::new();
    let page = |n: usize| {
        format!(
            "road {n} runs from the border of the county to the river and ends near the old mill"
        )
    };
    let mut rows = String::from("doc_id,body\n");
    (0..20).for_each(|n| rows += &format!("{n},{}\n", page(n + 100)));
    let file = bench.write("x.csv", rows);
    let base = ["--overwrite", "--keep-numbers", "--threshold", "0.5"];
    for generator in [
        &["--bands", "32", "--rows", "2"][..],
        &["--candidates", "lossless"],
        &["--candidates", "blocking", "--block-by", "length"],
    ] {
        for (extra, refused) in [
            (&[][..], Some(190)),
            (&["--edges", "all"], Some(190)),
            (&["--edges", "spanning"], None),
            (&["--max-pairs", "50"], None),
        ] {
            let arguments = [&base[..], generator, extra].concat();
            let said = bench.run(&[&file], "out", &arguments).success();
            let summary = bench.summary(&[&file], "out", &arguments);
            let manifest: Value =
                serde_json::from_slice(&files(&bench.path("out"))["manifest.json"]).unwrap();
            for counts in [&summary["counts"], &manifest["counts"]] {
                assert_eq!(counts["refused_for_numbers"], serde_json::json!(refused));
                assert_eq!(counts["removed"], 0);
            }
            let (told, cell) = match refused {
                Some(_) => ("190 pairs differing in a number and refused", "190"),
                None => ("were refused, and not counted", "not counted"),
            };
            assert!(said.contains(told), "{arguments:?}: {said}");
            let row = &bench.csv("out", "candidate_summary")[0];
            assert!(row.iter().any(|found| found == cell), "{row:?}");
        }
    }
}

/// The recall says where it comes from, which is another place for each kind of generator.
#[test]
fn the_recall_says_where_it_comes_from() {
    let bench = Bench::new();
    let documents = document(&bench);
    for (arguments, origin, at_threshold) in [
        (&["--candidates", "lossless"][..], "the method", true),
        (
            &["--candidates", "lossless", "--edges", "spanning"],
            "the method",
            true,
        ),
        (&["--candidates", "lsh"], "Horvitz-Thompson", true),
        (
            &["--candidates", "lsh", "--edges", "spanning"],
            "estimated: not",
            true,
        ),
        (&["--candidates", "blocking"], "unknown", false),
    ] {
        let arguments = [&["--overwrite"], arguments].concat();
        let summary = bench.summary(&[&documents], "out", &arguments);
        let manifest: Value =
            serde_json::from_slice(&files(&bench.path("out"))["manifest.json"]).unwrap();
        assert_eq!(summary["recall"], manifest["recall"]);
        let recall = &manifest["recall"];
        assert!(
            recall["origin"].as_str().unwrap().contains(origin),
            "{recall}"
        );
        assert_eq!(recall["at_threshold"].is_number(), at_threshold, "{recall}");
    }
}

/// A pipe by its name in the file system is a file like any other.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = ["run", "/dev/stdin", "--format", "jsonl", "--json"];
    let run = common::twinfold_with_input(
        &[&arguments[..], &["--out", out.to_str().unwrap()]].concat(),
        "{\"id\":\"a\",\"text\":\"one text\"}\n",
    );
    let summary: serde_json::Value = serde_json::from_str(&run.success()).unwrap();
    assert_eq!(summary["records"]["used"], 1);
}
