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
