//! `twinfold verify` notices whatever happened to the files of a run since they were written.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use common::corpus::{corpus, encode};
use common::{Bench, files, twinfold};

#[test]
fn damage_to_any_file_is_noticed() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(40)));
    let bad = bench.write("bad.csv", "doc_id,body\nx,a b c\ny\n");
    bench
        .run(&[&good, &bad], "out", &["--quiet", "--publish", "all"])
        .success();
    let out = bench.name("out");
    let verify = || twinfold(&["verify", &out]);
    let published = files(&bench.path("out"));
    assert_eq!(published.len(), 17, "{:?}", published.keys());
    assert!(verify().success().contains("16 files"));
    for (name, bytes) in &published {
        let path = bench.path("out").join(name);
        let flipped = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x20;
            bytes
        };
        let mut damaged = vec![
            bytes[..bytes.len() - 1].to_vec(),
            Vec::new(),
            bytes[..bytes.len() / 2].to_vec(),
        ];
        if name == "manifest.json" {
            // It ends in a line feed, which nothing depends on.
            damaged[0].pop();
        } else {
            damaged.extend([
                flipped(0),
                flipped(bytes.len() / 2),
                flipped(bytes.len() - 1),
            ]);
            damaged.push([&bytes[..], b"\n"].concat());
        }
        for damaged in damaged {
            std::fs::write(&path, &damaged).unwrap();
            verify().fault_with(&[name]);
        }
        std::fs::remove_file(&path).unwrap();
        verify().fault_with(&[name]);
        std::fs::write(&path, bytes).unwrap();
    }
    verify().success();
}

#[test]
fn damage_to_what_the_manifest_says_of_files_is_noticed() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(10)));
    bench.run(&[&good], "out", &["--quiet"]).success();
    let manifest = std::fs::read_to_string(bench.path("out/manifest.json")).unwrap();
    let outputs = manifest.find("\"outputs\"").unwrap();
    for (at, byte) in manifest.bytes().enumerate().skip(outputs) {
        let in_rows = manifest[..at]
            .rfind('"')
            .is_some_and(|quote| manifest[..quote].ends_with("\"rows"));
        if at % 7 != 0 || !byte.is_ascii_alphanumeric() || in_rows {
            continue;
        }
        let mut damaged = manifest.clone().into_bytes();
        damaged[at] ^= 1;
        bench.write("out/manifest.json", damaged);
        let verified = twinfold(&["verify", &bench.name("out")]);
        assert_eq!(
            verified.code(),
            Some(2),
            "byte {at}: {}",
            &manifest[at - 20..at + 5]
        );
    }
}

#[test]
fn verify_says_where_no_run_has_finished() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("empty")).unwrap();
    for folder in ["empty", "absent"] {
        twinfold(&["verify", &bench.name(folder)]).fault_with(&[folder, "no run has finished"]);
    }
    bench.write("file", "");
    twinfold(&["verify", &bench.name("file")]).fault_with(&["file"]);
}
