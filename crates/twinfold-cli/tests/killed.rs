//! A run that is killed at any moment leaves nothing that looks whole and is not.
//!
//! After every kill: either there is a manifest and `twinfold verify` passes, or there is none; and
//! the same run again, without `--overwrite`, gives the bytes of an unbroken run. Kills are timed in
//! two ways: after delays spread over a run, and on sight of the files that mark its last moments.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use common::corpus::{Numbers, corpus, encode};
use common::{Bench, assert_same, command, files, relations, twinfold};

/// Starts a run, waits until `enough` says so or the run has ended, and kills it.
fn killed(arguments: &[&str], enough: &mut dyn FnMut(Duration) -> bool) {
    let mut child = command(arguments).spawn().unwrap();
    let start = Instant::now();
    while !enough(start.elapsed()) && child.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
    let _ = child.kill();
    child.wait().unwrap();
}

/// What a reader may find after a kill; whether the run had committed.
fn committed(folder: &Path) -> bool {
    let manifest = folder.join("manifest.json").exists();
    if manifest {
        twinfold(&["verify", folder.to_str().unwrap()]).success();
    }
    manifest
}

/// A sign that a run has come so far: its name, and whether it is there.
type Sign = (&'static str, Box<dyn FnMut() -> bool>);

/// Signs that a run whose last file is `last` has come so far.
fn signs(out: &Path, last: &str) -> Vec<Sign> {
    let there = |name: &str| {
        let path = out.join(name);
        Box::new(move || path.exists()) as Box<dyn FnMut() -> bool>
    };
    vec![
        ("the lock", there(".twinfold-lock")),
        ("the staging folder", there(".twinfold-staging")),
        (
            "the first file",
            there(".twinfold-staging/deduped_documents.parquet"),
        ),
        ("the last file", there(&format!(".twinfold-staging/{last}"))),
        (
            "the manifest, staged",
            there(".twinfold-staging/manifest.json"),
        ),
        (
            "the list of the commit",
            there(".twinfold-staging/committing.json"),
        ),
        ("a file in place", there("deduped_documents.parquet")),
        ("the last file in place", there(last)),
        ("the manifest in place", there("manifest.json")),
    ]
}

struct Case {
    bench: Bench,
    input: String,
    whole: BTreeMap<String, Vec<u8>>,
    time: Duration,
}

impl Case {
    fn new(families: usize) -> Self {
        let bench = Bench::new();
        let input = bench.write("in.jsonl", encode("jsonl", &corpus(families)));
        let start = Instant::now();
        bench
            .run(&[&input], "whole", &["--quiet", "--publish", "all"])
            .success();
        let time = start.elapsed();
        let whole = relations(&bench.path("whole"));
        Self {
            bench,
            input,
            whole,
            time,
        }
    }

    /// Runs, kills when `enough` says so, and checks what is left; then runs again.
    fn kill(&self, out: &str, what: &str, enough: &mut dyn FnMut(Duration) -> bool) -> bool {
        let folder = self.bench.path(out);
        let name = self.bench.name(out);
        let arguments = [
            "run",
            &self.input,
            "--out",
            &name,
            "--quiet",
            "--publish",
            "all",
        ];
        killed(&arguments, enough);
        let whole = committed(&folder);
        if !whole {
            twinfold(&arguments).success();
        } else if folder.join(".twinfold-lock").exists() {
            // Killed after the commit: the next run over it is told that there are results.
            twinfold(&arguments).fault_with(&["not empty"]);
        }
        assert_same(&relations(&folder), &self.whole, what);
        whole
    }
}

#[test]
fn at_any_time() {
    let case = Case::new(400);
    let mut numbers = Numbers(11);
    let rounds = 10;
    let mut commits = 0;
    for round in 0..rounds {
        // Spread over the run and a little beyond it.
        let share = (f64::from(round) + numbers.below(1000) as f64 / 1000.0) / f64::from(rounds);
        let delay = case.time.mul_f64(share * 1.1);
        let what = format!("killed after {delay:?} of {:?}", case.time);
        commits +=
            u32::from(case.kill(&format!("out{round}"), &what, &mut |passed| passed >= delay));
    }
    println!("{commits} of {rounds} runs had committed");
    assert!(commits < rounds as u32);
}

#[test]
fn on_sight_of_every_step() {
    let case = Case::new(60);
    for (at, (what, _)) in signs(Path::new(""), "").iter().enumerate() {
        for round in 0..3u32 {
            let out = format!("out-{at}-{round}");
            let mut sign = signs(&case.bench.path(&out), "source_documents.parquet")
                .swap_remove(at)
                .1;
            let mut seen: Option<Instant> = None;
            let delay = Duration::from_micros(u64::from(round) * 700);
            case.kill(&out, what, &mut |_| {
                if seen.is_none() && sign() {
                    seen = Some(Instant::now());
                }
                seen.is_some_and(|seen| seen.elapsed() >= delay)
            });
        }
    }
}

#[test]
fn while_it_replaces_an_earlier_run() {
    let case = Case::new(60);
    let bench = &case.bench;
    let other = bench.write(
        "other.csv",
        "doc_id,body\n1,a b c d e f\n2,a b c d e f\n3\n",
    );
    for (at, (what, _)) in signs(Path::new(""), "").iter().enumerate().skip(3) {
        for round in 0..3u32 {
            let out = format!("out-{at}-{round}");
            // The earlier run has files that the later one lacks.
            bench
                .run(&[&other], &out, &["--quiet", "--publish", "all"])
                .success();
            bench.write(&format!("{out}/labels.csv"), "mine");
            let earlier = files(&bench.path(&out));
            let name = bench.name(&out);
            let arguments = ["run", &case.input, "--out", &name, "--quiet", "--overwrite"];
            let mut sign = signs(&bench.path(&out), "empty_documents.csv")
                .swap_remove(at)
                .1;
            let mut gone = false;
            let mut seen: Option<Instant> = None;
            let manifest = bench.path(&out).join("manifest.json");
            let delay = Duration::from_micros(u64::from(round) * 500);
            killed(&arguments, &mut |_| {
                // A sign that the earlier run left counts once it has gone and come back.
                gone |= at < 6 || !manifest.exists();
                if gone && seen.is_none() && sign() {
                    seen = Some(Instant::now());
                }
                seen.is_some_and(|seen| seen.elapsed() >= delay)
            });
            // Where the earlier manifest still is, so is everything that it lists.
            let left = files(&bench.path(&out));
            if committed(&bench.path(&out)) && left["manifest.json"] == earlier["manifest.json"] {
                for (name, bytes) in &earlier {
                    assert!(
                        left[name] == *bytes,
                        "{what}: {name} of the earlier run has changed"
                    );
                }
            }
            assert_eq!(
                std::fs::read(bench.path(&out).join("labels.csv")).unwrap(),
                b"mine"
            );
            twinfold(&arguments).success();
            let mut found = relations(&bench.path(&out));
            found.remove("labels.csv").unwrap();
            let mut expected = case.whole.clone();
            expected.retain(|name, _| found.contains_key(name));
            // The manifest says what was published.
            for files in [&mut found, &mut expected] {
                files.remove("manifest.json");
            }
            assert_same(&found, &expected, what);
            assert!(
                !found.contains_key("fingerprinted.parquet")
                    && !found.contains_key("rejected.jsonl")
            );
            twinfold(&["verify", &name]).success();
        }
    }
}
