//! Results appear whole or not at all, and nothing that a person put beside them is lost.
//!
//! A dedup run is started again and again over folders that hold other work. The promises tested
//! here: a run that fails leaves everything as it was, `--overwrite` takes only what an earlier run
//! wrote, and two runs never share a folder.
//! What happens when a run is killed is in `killed.rs`, and when a file is damaged in `verified.rs`.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::corpus::{corpus, encode};
use common::{Bench, assert_same, command, ended, files, relations, twinfold};

/// Inputs and settings of runs that cannot succeed, each with a word of what is said.
fn failures(bench: &Bench) -> Vec<(Vec<String>, &'static str)> {
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(40)));
    let twice = bench.write("twice.csv", "id,text\n1,a b c\n1,d e f\n");
    let unnamed = bench.write("unnamed.csv", "id,text\n1,a b c\n,d e f\n");
    let other = bench.write("other.csv", "key,words\n1,a b c\n");
    let ragged = bench.write("ragged.csv", "id,text\n1,a b c\n2\n");
    let short = encode("jsonl.gz", &corpus(40));
    let short = bench.write("short.jsonl.gz", &short[..short.len() - 9]);
    let torn = encode("parquet", &corpus(40));
    let torn = bench.write("torn.parquet", &torn[..torn.len() - 1]);
    let expected = bench.write("expected.json", r#"{"counts": {"kept": 1}}"#);
    let absent = bench.name("absent.csv");
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        (list(&[&good, "--threshold", "1.5"]), "threshold"),
        (list(&[&good, "--bands", "9"]), "hash values"),
        (list(&[&good, "--keep", "colour desc"]), "colour"),
        (
            list(&[&good, "--candidates", "blocking", "--block-by", "colour"]),
            "colour",
        ),
        (
            list(&[&good, "--edges", "all", "--max-pairs", "1"]),
            "budget",
        ),
        (list(&[&good, "--expect", &expected]), "counts.kept"),
        (list(&[&good, "--expect", &absent]), "absent.csv"),
        (list(&[&good, "--source-column", "colour"]), "colour"),
        (list(&[&twice]), "stands twice"),
        (list(&[&unnamed]), "null or empty"),
        (list(&[&other]), "no text column"),
        (list(&[&ragged, "--strict"]), "line 3"),
        (list(&[&short]), "cut short"),
        (list(&[&torn]), "not a whole Parquet file"),
        (list(&[&absent]), "no such file"),
    ]
}

fn run(inputs: &[String], out: &str, extra: &[&str]) -> common::Run {
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    twinfold(&[&["run", "--out", out], extra, &inputs].concat())
}

#[test]
fn a_run_that_fails_leaves_no_folder() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("base")).unwrap();
    for (arguments, said) in failures(&bench) {
        run(&arguments, &bench.name("base/not/yet/there"), &[]).fault_with(&[said]);
        assert!(files(&bench.path("base")).is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_run_that_fails_leaves_a_folder_as_it_was() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("empty")).unwrap();
    let failures = failures(&bench);
    let good = bench.name("good.jsonl");
    bench
        .run(&[&good], "full", &["--quiet", "--publish", "all"])
        .success();
    bench.write("full/labels.csv", "id,label\n");
    let before = files(&bench.path("full"));
    for (arguments, said) in failures {
        run(&arguments, &bench.name("empty"), &[]).fault_with(&[said]);
        assert_eq!(files(&bench.path("empty")).len(), 0, "{arguments:?}");
        assert!(bench.path("empty").is_dir());
        run(&arguments, &bench.name("full"), &["--overwrite"]).fault_with(&[said]);
        assert_same(&files(&bench.path("full")), &before, said);
    }
}

#[test]
fn a_folder_with_anything_in_it_is_refused_untouched() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(20)));
    for name in ["notes.md", ".hidden", "clusters.csv", "sub/deep.txt"] {
        let folder = format!("with-{}", name.replace(['/', '.'], "-"));
        bench.write(&format!("{folder}/{name}"), "mine");
        let before = files(&bench.path(&folder));
        let first = name.split('/').next().unwrap();
        bench
            .run(&[&good], &folder, &[])
            .fault_with(&["not empty", first, "--overwrite"]);
        assert_same(&files(&bench.path(&folder)), &before, name);
    }
    bench.run(&[&good], "earlier", &["--quiet"]).success();
    let before = files(&bench.path("earlier"));
    bench
        .run(&[&good], "earlier", &["--quiet"])
        .fault_with(&["not empty"]);
    assert_same(&files(&bench.path("earlier")), &before, "an earlier run");
}

#[test]
fn overwrite_replaces_the_files_of_a_run_and_nothing_else() {
    let bench = Bench::new();
    let bad = bench.write("bad.csv", "id,text\n1,a b c\n2\n3,a b c\n");
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(30)));
    bench.run(&[&good], "fresh", &["--quiet"]).success();

    bench
        .run(&[&bad], "out", &["--quiet", "--publish", "all"])
        .success();
    assert!(bench.path("out/rejected.jsonl").exists());
    let mine = [
        "labels.csv",
        "notes.md",
        "sub/scored_pairs.parquet",
        ".git/config",
        "clusters.csv.bak",
    ];
    for name in mine {
        bench.write(&format!("out/{name}"), format!("{name} of a person"));
    }
    bench
        .run(&[&good], "out", &["--quiet", "--overwrite"])
        .success();
    let mut found = relations(&bench.path("out"));
    for name in mine {
        assert_eq!(
            found.remove(name).unwrap(),
            format!("{name} of a person").as_bytes()
        );
    }
    found.retain(|name, _| !name.ends_with('/'));
    assert_same(
        &found,
        &relations(&bench.path("fresh")),
        "nothing of the run before is left",
    );

    // Nothing that a manifest says makes the run reach outside of the folder.
    bench.write("outside.txt", "mine");
    let manifest = std::fs::read_to_string(bench.path("out/manifest.json")).unwrap();
    let manifest = manifest.replace("clusters.csv", "../outside.txt");
    bench.write("out/manifest.json", manifest);
    bench
        .run(&[&good], "out", &["--quiet", "--overwrite"])
        .success();
    assert!(bench.path("outside.txt").exists());
    twinfold(&["verify", &bench.name("out")]).success();
}

#[test]
fn a_run_never_removes_what_it_reads() {
    let bench = Bench::new();
    bench.write("data/good.jsonl", encode("jsonl", &corpus(10)));
    let data = bench.name("data");
    let read = |arguments: &[&str]| {
        let arguments = [&["--json", "--publish", "all"], arguments].concat();
        let summary = bench.run(&[&data], "data/out", &arguments).success();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        summary["records"]["read"].as_u64().unwrap()
    };
    let records = read(&[]);
    let before = files(&bench.path("data"));
    let one = bench.name("data/out/source_documents.parquet");
    let mut inputs = vec![one.clone(), bench.name("data/out")];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&one, bench.path("link.parquet")).unwrap();
        inputs.push(bench.name("link.parquet"));
    }
    for input in &inputs {
        let run = bench.run(&[input], "data/out", &["--overwrite"]);
        run.fault_with(&["the input", "--overwrite replaces", "choose another --out"]);
        assert_same(&files(&bench.path("data")), &before, input);
    }
    bench.run(&[&one], "elsewhere", &["--quiet"]).success();
    // Of a pattern or a folder, what an earlier run wrote is no part.
    bench
        .run(
            &[&bench.name("data/out/*.parquet")],
            "data/out",
            &["--overwrite"],
        )
        .fault_with(&["the output of an earlier run"]);
    assert_same(&files(&bench.path("data")), &before, "the pattern");
    assert_eq!(read(&["--overwrite"]), records);
}

#[test]
fn nothing_hidden_remains_and_the_files_are_those_of_the_manifest() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(20)));
    let bad = bench.write("bad.csv", "doc_id,body\nx,a b c\ny\n");
    for publish in ["release", "all", "clusters", "clusters,scored_pairs"] {
        let out = format!("out-{publish}");
        let summary = bench.summary(&[&good, &bad], &out, &["--publish", publish]);
        let mut listed: Vec<&str> = summary["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["name"].as_str().unwrap())
            .collect();
        listed.sort_unstable();
        let found = files(&bench.path(&out));
        assert_eq!(found.keys().collect::<Vec<_>>(), listed);
        assert!(found.contains_key("rejected.jsonl") && found.contains_key("manifest.json"));
    }
}

#[test]
fn places_where_no_folder_can_be() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(5)));
    let file = bench.write("file", "mine");
    bench
        .run(&[&good], "file", &[])
        .fault_with(&["file is not a folder", "--out"]);
    bench
        .run(&[&good], "file", &["--overwrite"])
        .fault_with(&["is not a folder"]);
    bench
        .run(&[&good], "file/below", &[])
        .fault_with(&["cannot write to the output folder", "file/below"]);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    if Path::new("/proc/self").exists() {
        twinfold(&["run", &good, "--out", "/proc/twinfold"]).fault_with(&["/proc/twinfold"]);
    }
    // An unset variable in a script is no order to write into the working folder.
    let mut empty = command(&["run", &good, "--out", "", "--overwrite"]);
    bench.write("here/manifest.json", "{}");
    ended(empty.current_dir(bench.path("here")).spawn().unwrap())
        .fault_with(&["no output folder", "--out"]);
    assert_eq!(files(&bench.path("here"))["manifest.json"], b"{}");
    twinfold(&["run", &good]).fault_with(&["no output folder", "--out"]);
}

#[test]
fn a_folder_of_any_form() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(5)));
    std::fs::create_dir(bench.path("here")).unwrap();
    for out in [
        "plain",
        "./a/../a/b",
        "deep/er/and/deeper/",
        "sp ace \u{fc}\u{4e2d}'\"",
    ] {
        let mut started = command(&["run", &good, "--out", out, "--quiet"]);
        ended(started.current_dir(bench.path("here")).spawn().unwrap()).success();
        assert!(
            bench.path("here").join(out).join("manifest.json").exists(),
            "{out}"
        );
    }
    #[cfg(unix)]
    {
        std::fs::create_dir(bench.path("real")).unwrap();
        std::os::unix::fs::symlink("real", bench.path("link")).unwrap();
        bench.run(&[&good], "link", &["--quiet"]).success();
        assert!(bench.path("real/manifest.json").exists());
        assert!(bench.path("link").is_symlink());
    }
    std::fs::create_dir(bench.path("dot")).unwrap();
    let mut here = command(&["run", &good, "--out", ".", "--quiet"]);
    ended(here.current_dir(bench.path("dot")).spawn().unwrap()).success();
    assert!(bench.path("dot/manifest.json").exists());
}

#[test]
fn of_two_runs_at_once_the_second_is_told() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(5)));
    let out = bench.name("out");
    // It waits for its input, and has the folder.
    let mut first = command(&["run", "-", "--out", &out, "--quiet"])
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !bench.path("out/.twinfold-staging").exists() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "the first run never began"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    for extra in [&[][..], &["--overwrite"]] {
        bench
            .run(&[&good], "out", extra)
            .fault_with(&["another run", "wait for it"]);
    }
    let mut input = first.stdin.take().unwrap();
    input.write_all(&encode("jsonl", &corpus(5))).unwrap();
    drop(input);
    ended(first).success();
    bench.run(&[&good], "alone", &["--quiet"]).success();
    assert_same(
        &relations(&bench.path("out")),
        &relations(&bench.path("alone")),
        "the first run",
    );
}

/// A small file system, unmounted at the end.
struct Mounted(String);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("disk")).unwrap();
    let disk = bench.name("disk");
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs", &disk])
        .output();
    if !mount.is_ok_and(|mount| mount.status.success()) {
        println!("skipped: no file system of 512 KiB can be mounted here");
        return;
    }
    let _mounted = Mounted(disk);
    let small = bench.write("small.jsonl", encode("jsonl", &corpus(20)));
    let large = bench.write("large.jsonl", encode("jsonl", &corpus(2500)));
    let said = bench
        .run(&[&large], "disk/out", &["--publish", "all"])
        .fault_with(&["cannot write"]);
    assert!(said.contains("hint: look at the free space"), "{said}");
    assert!(
        files(&bench.path("disk")).is_empty(),
        "{:?}",
        files(&bench.path("disk")).keys()
    );
    bench.run(&[&small], "disk/out", &["--quiet"]).success();
    let before = files(&bench.path("disk"));
    bench
        .run(&[&large], "disk/out", &["--publish", "all", "--overwrite"])
        .fault_with(&["cannot write"]);
    assert_same(&files(&bench.path("disk")), &before, "the earlier run");
}
