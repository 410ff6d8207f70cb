//! A run that is interrupted leaves the output folder as it was, or whole, and nothing hidden in it.
//!
//! After every SIGINT or SIGTERM: the exit code is that of the signal, one line says what has become
//! of the results, and the same run again gives the bytes of an unbroken run. Signals are timed on
//! sight of the files that mark the moments of a run, and while it waits for its input.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::corpus::{corpus, encode};
use common::{Bench, Run, assert_same, command, ended, files, relations, twinfold};

const SIGNALS: [(&str, i32); 2] = [("-INT", 130), ("-TERM", 143)];

/// Sends a signal to a run, which may have ended by then.
fn send(child: &Child, signal: &str) {
    Command::new("kill")
        .args([signal, &child.id().to_string()])
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
}

/// Waits until something is there, or the run has ended, or it takes too long to be worth waiting.
fn wait(child: &mut Child, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::hint::spin_loop();
    }
}

/// Checks what an interrupted run said and left; whether its results are complete.
fn check(run: &Run, code: i32, folder: &Path, what: &str) -> bool {
    let said = run.stderr();
    let left = files(folder);
    assert!(
        left.keys().all(|name| !name.starts_with('.')),
        "{what}: {:?}",
        left.keys()
    );
    let complete = left.contains_key("manifest.json");
    if run.code() == Some(0) {
        // The run had ended before the signal came.
        assert!(complete, "{what}");
        return true;
    }
    assert_eq!(run.code(), Some(code), "{what}: {said}");
    assert_eq!(said.lines().count(), 1, "{what}: {said}");
    assert!(said.starts_with("interrupted: "), "{what}: {said}");
    assert_eq!(said.contains("are complete"), complete, "{what}: {said}");
    complete
}

struct Case {
    bench: Bench,
    input: String,
    whole: BTreeMap<String, Vec<u8>>,
}

impl Case {
    fn new(families: usize) -> Self {
        let bench = Bench::new();
        let input = bench.write("in.jsonl", encode("jsonl", &corpus(families)));
        bench
            .run(&[&input], "whole", &["--quiet", "--publish", "all"])
            .success();
        let whole = relations(&bench.path("whole"));
        Self {
            bench,
            input,
            whole,
        }
    }
}

#[test]
fn at_every_step() {
    let case = Case::new(120);
    let mut interrupted = 0;
    for (at, file) in [
        ".twinfold-lock",
        ".twinfold-staging",
        ".twinfold-staging/deduped_documents.parquet",
        ".twinfold-staging/fingerprinted.parquet",
        ".twinfold-staging/source_documents.parquet",
        ".twinfold-staging/manifest.json",
        ".twinfold-staging/committing.json",
        "deduped_documents.parquet",
        "manifest.json",
    ]
    .into_iter()
    .enumerate()
    {
        for (signal, code) in SIGNALS {
            for round in 0..3u32 {
                let out = format!("out{at}{signal}{round}");
                let (folder, name) = (case.bench.path(&out), case.bench.name(&out));
                let arguments = [
                    "run",
                    &case.input,
                    "--out",
                    &name,
                    "--quiet",
                    "--publish",
                    "all",
                ];
                let mut child = command(&arguments).spawn().unwrap();
                let sign = folder.join(file);
                wait(&mut child, || sign.exists());
                std::thread::sleep(Duration::from_micros(u64::from(round) * 700));
                send(&child, signal);
                let what = format!("{signal} {round} on sight of {file}");
                let run = ended(child);
                interrupted += u32::from(run.code() != Some(0));
                if !check(&run, code, &folder, &what) {
                    assert!(!folder.exists(), "{what}: the run made the folder");
                    twinfold(&arguments).success();
                }
                assert_same(&relations(&folder), &case.whole, &what);
            }
        }
    }
    assert!(interrupted > 20, "{interrupted}");
}

#[test]
fn while_it_waits_for_its_input() {
    let bench = Bench::new();
    for (signal, code) in SIGNALS {
        for progress in ["never", "always"] {
            let out = format!("deep/er/{signal}");
            let name = bench.name(&out);
            let arguments = ["run", "-", "--out", &name, "--progress", progress];
            let mut child = command(&arguments).spawn().unwrap();
            let staging = bench.path(&out).join(".twinfold-staging");
            wait(&mut child, || staging.exists());
            send(&child, signal);
            // Standard input stays open: nothing but the signal can end the run.
            let input = child.stdin.take();
            let run = ended(child);
            drop(input);
            assert!(!check(&run, code, &bench.path(&out), signal));
            assert!(!bench.path("deep").exists(), "the run made it");
        }
    }
}

#[test]
fn an_earlier_run_is_left_as_it_was() {
    let case = Case::new(60);
    let bench = &case.bench;
    let other = bench.write("other.csv", "doc_id,body\n1,a b c d\n2,a b c d\n");
    for (signal, code) in SIGNALS {
        bench
            .run(&[&other], "out", &["--quiet", "--overwrite"])
            .success();
        bench.write("out/labels.csv", "mine");
        let earlier = files(&bench.path("out"));
        let name = bench.name("out");
        let arguments = ["run", "-", "--out", &name, "--overwrite"];
        let mut child = command(&arguments).spawn().unwrap();
        let staging = bench.path("out/.twinfold-staging");
        wait(&mut child, || staging.exists());
        send(&child, signal);
        let input = child.stdin.take();
        let run = ended(child);
        drop(input);
        assert_eq!(run.code(), Some(code));
        assert!(
            run.stderr().contains("nothing was written"),
            "{}",
            run.stderr()
        );
        assert_same(&files(&bench.path("out")), &earlier, signal);
        twinfold(&["verify", &name]).success();
    }
}

/// A second signal ends the run at once, whatever the first is waiting for; the next run cleans up.
#[test]
fn twice() {
    let case = Case::new(60);
    for (round, (first, second, code)) in [
        ("-INT", "-INT", 130),
        ("-TERM", "-TERM", 143),
        ("-INT", "-TERM", 143),
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("out{round}");
        let name = case.bench.name(&out);
        let arguments = [
            "run",
            &case.input,
            "--out",
            &name,
            "--quiet",
            "--publish",
            "all",
        ];
        let mut child = command(&arguments).spawn().unwrap();
        let staging = case.bench.path(&out).join(".twinfold-staging");
        wait(&mut child, || staging.exists());
        send(&child, first);
        send(&child, second);
        let run = ended(child);
        assert!(
            [Some(code), Some(130), Some(143)].contains(&run.code()),
            "{:?}",
            run.code()
        );
        if !case.bench.path(&out).join("manifest.json").exists() {
            twinfold(&arguments).success();
        }
        assert_same(&relations(&case.bench.path(&out)), &case.whole, first);
    }
}
