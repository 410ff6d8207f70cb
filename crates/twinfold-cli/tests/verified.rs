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
fn an_edit_of_the_manifest_is_noticed() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(10)));
    bench.run(&[&good], "out", &["--quiet"]).success();
    let manifest = std::fs::read_to_string(bench.path("out/manifest.json")).unwrap();
    let verify = || twinfold(&["verify", &bench.name("out")]);
    let damaged = |text: &[u8], what: &str| {
        bench.write("out/manifest.json", text);
        let verified = verify();
        assert_eq!(verified.code(), Some(2), "{what}");
        verified.fault_with(&["manifest.json"]);
    };
    // Any byte of it, white space included.
    for at in (0..manifest.len()).step_by(5) {
        let mut bytes = manifest.clone().into_bytes();
        bytes[at] ^= 1;
        damaged(&bytes, &format!("byte {at}: {}", &manifest[..at + 1]));
    }
    for at in (0..manifest.len()).step_by(41) {
        let (before, after) = manifest.split_at(at);
        damaged(format!("{before} {after}").as_bytes(), "a space more");
        damaged(before.as_bytes(), "cut short");
    }
    // Any line of it left out or said twice.
    let lines: Vec<&str> = manifest.lines().collect();
    for at in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(at);
        damaged(fewer.join("\n").as_bytes(), lines[at]);
        let mut more = lines.clone();
        more.insert(at, lines[at]);
        damaged(more.join("\n").as_bytes(), lines[at]);
    }
    // Edits that leave it a manifest.
    for (from, to) in [
        ("\"threshold\": \"0.7\"", "\"threshold\": \"0.9\""),
        ("\"kept\": ", "\"kept\": 1"),
        ("\"engine\": \"local\"", "\"engine\": \"other\""),
        ("\"at_threshold\": 1.", "\"at_threshold\": 0."),
    ] {
        assert_eq!(manifest.matches(from).count(), 1, "{from}");
        bench.write("out/manifest.json", manifest.replace(from, to));
        verify().fault_with(&["manifest.json", "not what was written", "SHA-256"]);
    }
    bench.write("out/manifest.json", &manifest);
    verify().success();
}

/// The hash is one that anyone can compute: that of the text with the hash left empty.
#[test]
fn the_hash_of_the_manifest_can_be_recomputed() {
    let bench = Bench::new();
    let good = bench.write("good.jsonl", encode("jsonl", &corpus(10)));
    bench.run(&[&good], "out", &["--quiet"]).success();
    let manifest = std::fs::read_to_string(bench.path("out/manifest.json")).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let hash = parsed["environment"]["manifest_sha256"].as_str().unwrap();
    assert_eq!(hash.len(), 64);
    let open = bench.write("open.json", manifest.replace(hash, ""));
    let sum = std::process::Command::new("sha256sum").arg(open).output();
    // Not every system has the program.
    if let Ok(sum) = sum {
        assert!(String::from_utf8(sum.stdout).unwrap().starts_with(hash));
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
