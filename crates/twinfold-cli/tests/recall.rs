//! `twinfold recall`: what it measures, what it leaves behind, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use common::corpus::{Numbers, Record, corpus, encode};
use common::{Bench, Run, assert_same, command, document, ended, files, relations, twinfold};
use serde_json::{Value, json};
use twinfold_testkit::planted::{pair_at, template_family};
use twinfold_testkit::random::FreshWords;

/// `twinfold recall INPUTS --out NAME EXTRA`.
fn recall(bench: &Bench, inputs: &[&str], out: &str, extra: &[&str]) -> Run {
    let out = bench.name(out);
    twinfold(&[&["recall"], inputs, &["--out", &out], extra].concat())
}

fn report(bench: &Bench, inputs: &[&str], out: &str, extra: &[&str]) -> Value {
    recall(bench, inputs, out, &[extra, &["--json"]].concat()).json()
}

fn fixture() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/documents.csv");
    path.to_str().unwrap().to_owned()
}

/// The rows of `recall.csv`, each by the names of its columns.
fn rows(folder: &Path) -> Vec<HashMap<String, String>> {
    csv::Reader::from_path(folder.join("recall.csv"))
        .unwrap()
        .deserialize()
        .map(|row| row.unwrap())
        .collect()
}

/// The texts of a plot, which has to be well-formed.
fn svg_texts(folder: &Path) -> Vec<String> {
    let svg = std::fs::read_to_string(folder.join("recall.svg")).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(document.root_element().tag_name().name(), "svg");
    document
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")))
        .map(|node| node.text().unwrap_or_default().trim().to_owned())
        .collect()
}

/// Pairs at similarities in per cent, as many of each, and copies: JSON Lines, and how many pairs
/// there are of each similarity.
fn planted(percents: &[usize], each: usize) -> (String, BTreeMap<usize, u64>) {
    let mut words = FreshWords::new(11);
    let mut lines = String::new();
    let mut add = |text: &str| {
        let id = lines.lines().count();
        // Unlike lengths and titles within a pair, so that blocking misses some.
        let title = format!("title {}", id % 7);
        let line = json!({"id": format!("{id:06}"), "text": text, "title": title});
        lines.push_str(&format!("{line}\n"));
    };
    let mut counts = BTreeMap::new();
    for &percent in percents {
        for _ in 0..each {
            let pair = pair_at(&mut words, percent, 100, 60);
            add(&pair.left);
            add(&pair.right);
            *counts.entry(percent).or_default() += 1;
        }
    }
    (lines, counts)
}

#[test]
fn planted_pairs_are_counted_in_their_bins() {
    let bench = Bench::new();
    let percents = [65, 70, 74, 75, 80, 84, 85, 90, 94, 95, 99, 100];
    let (lines, counts) = planted(&percents, 40);
    let input = bench.write("planted.jsonl", lines);
    let list = "lossless,lsh:8x8,lsh:20x5,lsh:0.99,blocking:title,blocking:length";
    let report = report(&bench, &[&input], "out", &["--compare", list]);
    let settings = report["settings"].as_array().unwrap();
    let names: Vec<&str> = settings
        .iter()
        .map(|s| s["setting"].as_str().unwrap())
        .collect();
    assert_eq!(names.join(","), list);
    let rows = rows(&bench.path("out"));
    assert_eq!(rows.len(), 7 * names.len());
    for (number, setting) in settings.iter().enumerate() {
        let name = names[number];
        let mut missed = 0;
        for (bin, row) in setting["bins"]
            .as_array()
            .unwrap()
            .iter()
            .zip(&rows[number * 7..])
        {
            let from = (bin["from"].as_f64().unwrap() * 100.0).round() as usize;
            let to = (bin["to"].as_f64().unwrap() * 100.0).round() as usize;
            let expected: u64 = counts
                .iter()
                .filter(|&(&percent, _)| percent == from || (from < percent && percent < to))
                .map(|(_, count)| count)
                .sum();
            let (pairs, found) = (
                bin["pairs"].as_u64().unwrap(),
                bin["found"].as_u64().unwrap(),
            );
            assert_eq!(pairs, expected, "{name} from {from}");
            missed += pairs - found;
            // The CSV says the same.
            assert_eq!(row["setting"], name);
            for key in ["from", "to", "recall", "expected", "mean_similarity"] {
                // A parser of JSON may be off in the last digit.
                match (row[key].parse::<f64>().ok(), bin[key].as_f64()) {
                    (Some(a), Some(b)) => assert!((a - b).abs() < 1e-12, "{name} {key}"),
                    (a, b) => assert_eq!(a, b, "{name} {key}"),
                }
            }
            for key in ["pairs", "found", "families"] {
                assert_eq!(
                    row[key].parse::<u64>().ok(),
                    bin[key].as_u64(),
                    "{name} {key}"
                );
            }
            assert_eq!((row["low"].as_str(), row["high"].as_str()), ("", ""));
            let recall = bin["recall"].as_f64().unwrap();
            if name == "lossless" || from == 100 {
                assert_eq!(recall, 1.0, "{name} from {from}");
            }
            // Planted pairs are independent: the curve holds within four standard errors.
            if let Some(curve) = bin["expected"].as_f64() {
                let error = (curve * (1.0 - curve) / pairs as f64).sqrt();
                assert!(
                    (recall - curve).abs() <= 4.0 * error + 0.01,
                    "{name} from {from}"
                );
            } else {
                assert!(name.starts_with("blocking"));
            }
        }
        let overall = &setting["overall"];
        assert_eq!(overall["pairs"], 40 * 11);
        assert_eq!(overall["found"], 40 * 11 - missed);
        if ["lsh:8x8", "lsh:20x5", "blocking:title"].contains(&name) {
            assert!(overall["recall"].as_f64().unwrap() < 1.0, "{name}");
        }
        // Of each missed pair, both documents are kept.
        assert_eq!(setting["kept_wrongly"], missed, "{name}");
        assert_eq!(setting["removed_wrongly"], 0);
        assert_eq!(setting["clusters"], 40 * 11 - missed);
        assert_eq!(setting["kept"], 40 * 13 + missed);
    }
    assert!(report["sample"].is_null());
    let texts = svg_texts(&bench.path("out"));
    for label in [
        "Jaccard similarity of the pair",
        "0.7",
        "100%",
        "curves: theory",
    ] {
        assert!(texts.iter().any(|text| text == label), "{label}: {texts:?}");
    }
    for name in names {
        assert!(
            texts
                .iter()
                .any(|text| text.starts_with(&format!("{name}: ")))
        );
    }
    twinfold(&["verify", &bench.name("out")]).success();
}

#[test]
fn the_fixture_and_what_is_compared_by_default() {
    let bench = Bench::new();
    let measured = |out: &str, extra: &[&str]| {
        let report = report(&bench, &[&fixture()], out, extra);
        report["settings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|setting| setting["setting"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_eq!(measured("default", &[]), "lsh:8x8,lsh:20x5");
    assert_eq!(
        measured("named", &["--candidates", "lossless"]),
        "lsh:8x8,lsh:20x5"
    );
    assert_eq!(measured("rows", &["--rows", "4"]), "lsh:8x4");
    assert_eq!(measured("seed", &["--seed", "4"]), "lsh:8x8");
    assert_eq!(
        measured("tutorial", &["--preset", "tutorial"]),
        "lsh:8x8:blake2b"
    );
    assert_eq!(
        measured("block", &["--block-by", "length"]),
        "blocking:length"
    );
    let list = [
        "--preset",
        "tutorial",
        "--compare",
        " blocking:domain , lossless",
    ];
    assert_eq!(measured("list", &list), "blocking:domain,lossless");
    let names: Vec<String> = files(&bench.path("default")).into_keys().collect();
    assert_eq!(
        names,
        ["manifest.json", "recall.csv", "recall.json", "recall.svg"]
    );
    for out in ["default", "tutorial", "list"] {
        twinfold(&["verify", &bench.name(out)]).success();
    }
    let report = report(
        &bench,
        &[&fixture()],
        "again",
        &["--target-recall", "0.999"],
    );
    assert_eq!(report["truth"]["overall"]["pairs"], 18);
    assert_eq!(report["truth"]["clusters"], 6);
    assert_eq!(report["documents"]["measured"], 24);
    assert!(
        report["notes"][0]
            .as_str()
            .unwrap()
            .contains("a recall of 0.999")
    );
    assert_eq!(report["settings"][0]["guarantee"]["kind"], "probabilistic");
    let stages = report["environment"]["settings"][1]["stage_times"]
        .as_array()
        .unwrap();
    let stages: Vec<&str> = stages
        .iter()
        .map(|s| s["stage"].as_str().unwrap())
        .collect();
    assert_eq!(
        stages,
        ["fingerprint", "group", "memberships", "join", "cluster"]
    );
    // Another seed is another draw of permutations.
    let seeded = |seed: &str, out: &str| {
        let (lines, _) = planted(&[71, 75, 80], 100);
        let input = bench.write("seeded.jsonl", lines);
        let extra = ["--compare", "lsh:8x8", "--seed", seed, "--quiet"];
        recall(&bench, &[&input], out, &extra).success();
        std::fs::read(bench.path(out).join("recall.csv")).unwrap()
    };
    assert!(seeded("1", "seed1") != seeded("2", "seed2"));
}

#[test]
fn what_is_refused() {
    let bench = Bench::new();
    let documents = document(&bench);
    let fault = |extra: &[&str], parts: &[&str]| {
        recall(&bench, &[&documents], "out", extra).fault_with(parts);
        assert!(!bench.path("out").exists());
    };
    for (list, item) in [
        ("lsh:8x8,magic", "\"magic\""),
        ("lsh:8", "\"lsh:8\""),
        ("lsh:8x8,,lossless", "\"\""),
        ("blocking:", "\"blocking:\""),
        ("lsh:99x99", "9801"),
        ("lsh:8x8:sha", "sha"),
    ] {
        fault(
            &["--compare", list],
            &["--compare", item, "lsh:RECALL", "blocking:KEY"],
        );
    }
    fault(&["--compare", "lsh:8x8,lsh:8x8"], &["the same setting"]);
    fault(&["--compare", "blocking:colour"], &["\"colour\"", "doc_id"]);
    for option in ["--publish", "--edges", "--expect"] {
        fault(&[option, "all"], &[&option[2..], "no meaning for recall"]);
    }
    for option in [
        &["--candidates", "lsh"][..],
        &["--bands", "4"],
        &["--rows", "4"],
        &["--hashes", "64"],
        &["--hash-family", "blake2b"],
        &["--target-recall", "0.9"],
        &["--block-by", "length"],
    ] {
        let list = ["--compare", "lsh:8x8"];
        fault(
            &[option, &list].concat(),
            &[&option[0][2..], "no meaning with --compare"],
        );
    }
    fault(
        &["--compare", "lossless", "--seed", "1"],
        &["seed", "--sample-seed"],
    );
    fault(
        &["--sample-seed", "1"],
        &["sample-seed", "without --sample"],
    );
    fault(&["--sample", "0"], &["no pairs"]);
    fault(&["--sample", "1"], &["no pairs"]);
    fault(&["--threshold", "2"], &["threshold"]);
    fault(&["--keep", "colour"], &["colour"]);
    twinfold(&["recall", &documents]).fault_with(&["no output folder", "--out"]);
    // The help has every option of a run but what is refused, and what a measurement adds.
    let options = |command: &str| -> BTreeSet<String> {
        let help = twinfold(&[command, "-h", "--progress", "never"]).success();
        let names = help.lines().filter_map(|line| {
            let line = line.trim_start();
            let (_, name) = line.split_once("--").filter(|_| line.starts_with('-'))?;
            Some(
                name.split(|c: char| !c.is_ascii_lowercase() && c != '-')
                    .next()?
                    .to_owned(),
            )
        });
        names.collect()
    };
    let mut expected = options("run");
    for refused in ["publish", "edges", "expect", "memory", "work-dir", "resume"] {
        assert!(expected.remove(refused), "{refused}");
    }
    expected.extend(["compare", "sample", "sample-seed"].map(str::to_owned));
    assert_eq!(options("recall"), expected);
}

#[test]
fn a_settings_file_of_a_run_will_do() {
    let bench = Bench::new();
    let documents = document(&bench);
    let out = bench.name("the-run");
    let settings = bench.write(
        "twinfold.toml",
        format!(
            "out = {out:?}\npublish = \"all\"\nedges = \"spanning\"\nthreshold = 0.6\n\
             candidates = \"lsh\"\nbands = 16\nrows = 4\nseed = 5\n"
        ),
    );
    let file = ["--config", &settings];
    let report = report(&bench, &[&documents], "first", &file);
    assert_eq!(report["settings"][0]["setting"], "lsh:16x4");
    assert_eq!(report["threshold"], "0.6");
    let list = [
        &file[..],
        &["--compare", "blocking:length,lsh:8x8", "--json"],
    ]
    .concat();
    let report = recall(&bench, &[&documents], "second", &list).json();
    assert_eq!(report["settings"].as_array().unwrap().len(), 2);
    let manifest = std::fs::read_to_string(bench.path("second/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["configuration"]["seed"], 5);
    assert_eq!(
        manifest["configuration"]["compare"],
        "blocking:length,lsh:8x8"
    );
    assert_eq!(manifest["configuration"]["bands"], Value::Null);
    assert!(!bench.path("the-run").exists());
    // The folder of the run is not the folder of the measurement.
    twinfold(&[&["recall", &documents], &file[..]].concat()).fault_with(&["no output folder"]);
}

/// Writes the records in so many files, and returns their names.
fn split(
    bench: &Bench,
    folder: &str,
    ending: &str,
    records: &[Record],
    cuts: usize,
) -> Vec<String> {
    records
        .chunks(records.len().div_ceil(cuts))
        .enumerate()
        .map(|(number, part)| {
            bench.write(&format!("{folder}/{number}.{ending}"), encode(ending, part))
        })
        .collect()
}

#[test]
fn the_same_whatever_the_order_the_cuts_and_the_threads() {
    let bench = Bench::new();
    let records = corpus(160);
    let mut shuffled = records.clone();
    Numbers(3).shuffle(&mut shuffled);
    let one = split(&bench, "one", "jsonl", &records, 1);
    let many = split(&bench, "many", "parquet", &shuffled, 5);
    let list = [
        "--compare",
        "lossless,lsh:8x8,lsh:16x4,blocking:domain,blocking:title-trigrams",
    ];
    for sample in [
        &[][..],
        &["--sample", "100"],
        &["--sample", "200", "--sample-seed", "9"],
        &["--sample", "100", "--linkage", "star"],
        &["--sample", "100000"],
    ] {
        let measured = |inputs: &[String], threads: &str| {
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let extra = [
                &list[..],
                sample,
                &["--threads", threads, "--quiet", "--overwrite"],
            ];
            recall(&bench, &inputs, "out", &extra.concat()).success();
            relations(&bench.path("out"))
        };
        let expected = measured(&one, "1");
        assert!(expected.contains_key("recall.svg"));
        for threads in ["1", "4"] {
            assert_same(
                &measured(&many, threads),
                &expected,
                &format!("{sample:?} on {threads}"),
            );
        }
    }
}

#[test]
fn samples() {
    let bench = Bench::new();
    let (lines, _) = planted(&[75, 85], 300);
    let input = bench.write("planted.jsonl", lines);
    let list = ["--compare", "lossless,lsh:8x8"];
    let of = |sample: &[&str], out: &str| report(&bench, &[&input], out, &[&list, sample].concat());
    let whole = of(&[], "whole");
    let half = of(&["--sample", "600"], "half");
    assert_eq!(half["documents"]["documents"], 1200);
    assert_eq!(half["documents"]["measured"], 600);
    assert_eq!(half["sample"]["of"], 1200);
    let probability = half["sample"]["pair_probability"].as_f64().unwrap();
    assert!((probability - 0.25).abs() < 0.001);
    let pairs = half["truth"]["overall"]["pairs"].as_u64().unwrap();
    assert!(
        (100..200).contains(&pairs),
        "{pairs} of 600 pairs are in the sample"
    );
    let lsh = &half["settings"][1]["overall"];
    let (low, high) = (&lsh["interval"]["low"], &lsh["interval"]["high"]);
    let recall_of = |report: &Value| report["settings"][1]["overall"]["recall"].as_f64().unwrap();
    let (low, high) = (low.as_f64().unwrap(), high.as_f64().unwrap());
    assert!(low < recall_of(&half) && recall_of(&half) < high);
    assert!((low..=high).contains(&recall_of(&whole)), "{low} {high}");
    assert!(whole["settings"][1]["overall"]["interval"].is_null());
    // Nothing is uncertain about what never misses.
    assert!(half["settings"][0]["overall"]["interval"].is_null());
    assert_eq!(half["settings"][0]["overall"]["recall"], 1.0);
    let cells = rows(&bench.path("half"));
    assert!(cells.iter().any(|row| row["low"].parse::<f64>().is_ok()));
    assert!(
        svg_texts(&bench.path("half"))
            .iter()
            .any(|text| text.starts_with("bars: 95%"))
    );
    assert!(
        !svg_texts(&bench.path("whole"))
            .iter()
            .any(|text| text.starts_with("bars"))
    );
    let other = of(&["--sample", "600", "--sample-seed", "1"], "other");
    assert_ne!(half["truth"]["overall"], other["truth"]["overall"]);
    let all = of(&["--sample", "1200"], "all");
    assert!(all["sample"].is_null());
    assert!(
        all["notes"][0]
            .as_str()
            .unwrap()
            .contains("all of the 1200 documents")
    );
    assert_eq!(all["settings"], whole["settings"]);
    let text = recall(&bench, &[&input], "text", &["--sample", "600"]).success();
    assert!(
        text.contains("24.98% of all pairs are in it") && text.contains("95% interval"),
        "{text}"
    );
}

#[test]
fn a_family_that_decides_is_told() {
    let bench = Bench::new();
    let (mut lines, _) = planted(&[80], 60);
    let family = template_family(&mut FreshWords::new(5), 40, 100, 8);
    for (number, text) in family.iter().enumerate() {
        lines.push_str(&format!(
            "{}\n",
            json!({"id": format!("f{number}"), "text": text})
        ));
    }
    let input = bench.write("family.jsonl", lines);
    let notes = |out: &str, extra: &[&str]| report(&bench, &[&input], out, extra)["notes"].clone();
    let told = notes("sampled", &["--sample", "120"]);
    assert!(
        told[0].as_str().unwrap().starts_with("one family has 9"),
        "{told}"
    );
    assert_eq!(notes("whole", &[]), json!([]));
}

#[test]
fn budgets() {
    let bench = Bench::new();
    let (lines, _) = planted(&[70, 90], 50);
    let input = bench.write("planted.jsonl", lines);
    let slots = |report: &Value| report["truth"]["pair_slots"].as_u64().unwrap();
    let needed = slots(&report(&bench, &[&input], "free", &[]));
    assert!(needed > 10);
    // The truth needs every pair.
    let below = (needed - 1).to_string();
    let stopped = recall(&bench, &[&input], "stopped", &["--max-pairs", &below]);
    stopped.fault_with(&[
        "no truth to measure against",
        &format!("{needed} pair slots"),
        &below,
        &format!("raise --max-pairs to {needed}"),
        "--sample ",
    ]);
    assert!(!bench.path("stopped").exists());
    // A setting is listed, and the others are measured.
    let list = "blocking:length,lsh:8x8";
    let extra = ["--compare", list, "--max-pairs", &needed.to_string()];
    let report = report(&bench, &[&input], "listed", &extra);
    let settings = report["settings"].as_array().unwrap();
    assert_eq!(settings[0]["over_budget"], true);
    assert!(settings[0]["pair_slots"].as_u64().unwrap() > needed);
    assert!(settings[0]["overall"].is_null() && settings[0]["candidate_pairs"].is_null());
    assert_eq!(settings[1]["over_budget"], false);
    assert!(settings[1]["overall"]["recall"].is_f64());
    assert!(
        report["notes"][0]
            .as_str()
            .unwrap()
            .contains("was not measured")
    );
    let rows = rows(&bench.path("listed"));
    assert_eq!(rows.len(), 14);
    assert!(
        rows[0]["pairs"] == "50" && rows[0]["found"].is_empty() && rows[0]["recall"].is_empty()
    );
    let texts = svg_texts(&bench.path("listed"));
    assert!(
        texts
            .iter()
            .any(|text| text == "blocking:length: over the budget")
    );
    let text = recall(&bench, &[&input], "text", &extra).success();
    assert!(text.contains("over budget"), "{text}");
}

#[test]
fn odd_corpora() {
    let bench = Bench::new();
    let empty = bench.write("empty.csv", "id,text\n");
    let nothing = report(
        &bench,
        &[&empty],
        "nothing",
        &["--compare", "lsh:8x8,blocking:colour"],
    );
    assert_eq!(nothing["truth"]["overall"]["pairs"], 0);
    assert!(nothing["settings"][0]["overall"]["recall"].is_null());
    assert!(!svg_texts(&bench.path("nothing")).is_empty());
    let text = recall(&bench, &[&empty], "text", &[]).success();
    assert!(text.contains("0 pairs"), "{text}");
    // Bad records are set aside and listed, empty ones counted; a threshold of 1 has one bin.
    let bad = bench.write("bad.csv", "id,text\n1,a b c\n2,A B c\n3,...\n4\n");
    let report = report(&bench, &[&bad], "bad", &["--threshold", "1"]);
    assert_eq!(report["documents"]["rejected"], 1);
    assert_eq!(report["documents"]["empty"], 1);
    assert_eq!(report["documents"]["read"], 4);
    assert_eq!(report["settings"][0]["bins"].as_array().unwrap().len(), 1);
    assert_eq!(report["settings"][0]["overall"]["recall"], 1.0);
    assert_eq!(bench.rejected("bad").len(), 1);
    assert!(svg_texts(&bench.path("bad")).iter().any(|text| text == "1"));
    twinfold(&["verify", &bench.name("bad")]).success();
    recall(&bench, &[&bad], "strict", &["--strict"]).fault_with(&["bad.csv"]);
    // The name of a column may be anything.
    for (number, name) in [
        "a<b&\"c\"'",
        "b\u{1}\u{7f}\u{ffff}",
        "ä 漢字",
        &"long".repeat(40),
    ]
    .into_iter()
    .enumerate()
    {
        let line = json!({"id": "1", "text": "one text", name: "x"});
        let input = bench.write("odd.jsonl", line.to_string());
        let out = format!("odd{number}");
        let extra = ["--compare", &format!("blocking:{name}"), "--quiet"];
        recall(&bench, &[&input], &out, &extra).success();
        let texts = svg_texts(&bench.path(&out));
        assert!(
            texts.iter().any(|text| text.starts_with("blocking:")),
            "{texts:?}"
        );
        assert_eq!(
            rows(&bench.path(&out))[0]["setting"],
            format!("blocking:{name}")
        );
    }
}

#[test]
fn the_folder_is_one_of_ours() {
    let bench = Bench::new();
    let documents = document(&bench);
    let quiet = ["--quiet"];
    let over = ["--quiet", "--overwrite"];
    recall(&bench, &[&documents], "out", &quiet).success();
    recall(&bench, &[&documents], "out", &quiet).fault_with(&["not empty", "--overwrite"]);
    bench.write("out/labels.txt", "mine");
    recall(&bench, &[&documents], "out", &over).success();
    // A run takes the place of a measurement, and the other way round; a person's files stay.
    bench.run(&[&documents], "out", &over).success();
    let found = files(&bench.path("out"));
    assert!(found.contains_key("deduped_documents.parquet") && found.contains_key("labels.txt"));
    assert!(!found.contains_key("recall.json"));
    recall(&bench, &[&documents], "out", &over).success();
    let found = files(&bench.path("out"));
    let names: Vec<&String> = found.keys().collect();
    assert_eq!(
        names,
        [
            "labels.txt",
            "manifest.json",
            "recall.csv",
            "recall.json",
            "recall.svg"
        ]
    );
    twinfold(&["verify", &bench.name("out")]).success();
    bench.write("out/recall.csv", "edited");
    twinfold(&["verify", &bench.name("out")]).fault_with(&["recall.csv"]);
    // A file of our name that no manifest claims is another's.
    bench.write("foreign/recall.svg", "<svg/>");
    recall(&bench, &[&documents], "foreign", &over).fault_with(&["recall.svg", "manifest"]);
    // A measurement is no input: it is skipped in a folder, and refused by itself.
    let inside = bench.write("folder/a.csv", "id,text\n1,one text\n");
    recall(&bench, &[&inside], "folder/measured", &quiet).success();
    let summary = bench.summary(&[&bench.name("folder")], "of-folder", &[]);
    assert_eq!(summary["records"]["read"], 1);
    bench
        .run(&[&bench.name("folder/measured")], "of-measured", &[])
        .fault_with(&["deduped"]);
}

#[test]
fn what_is_printed_where() {
    let bench = Bench::new();
    let documents = document(&bench);
    let run = |out: &str, extra: &[&str]| {
        let done = recall(&bench, &[&documents], out, extra);
        (done.success(), done.stderr())
    };
    assert_eq!(run("quiet", &["--quiet"]), (String::new(), String::new()));
    let (printed, said) = run("lines", &["--quiet", "--progress", "always"]);
    assert!(printed.is_empty());
    for line in [
        "read ",
        "truth: lossless",
        "lsh:8x8",
        "fingerprint",
        "join",
        "publish",
    ] {
        assert!(
            said.lines().any(|said| said.starts_with(line)),
            "{line}: {said}"
        );
    }
    let (json, said) = run("json", &["--json"]);
    assert!(said.is_empty());
    let printed: Value = serde_json::from_str(&json).unwrap();
    let written = std::fs::read_to_string(bench.path("json/recall.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    for (key, value) in written.as_object().unwrap() {
        assert_eq!(&printed[key], value, "{key}");
    }
    assert!(printed["environment"]["settings"].is_array() && written["environment"].is_null());
    // Tables fit the width, as far as two columns do.
    for (columns, widest) in [("60", 60), ("100", 100), ("400", 400)] {
        let list = "lsh:8x8,lsh:20x5,lsh:9x13,blocking:title-trigrams,blocking:domain,lossless";
        let out = bench.name(columns);
        let arguments = ["recall", &documents, "--out", &out, "--compare", list];
        let child = command(&arguments).env("COLUMNS", columns).spawn().unwrap();
        let text = ended(child).success();
        for line in text.lines().filter(|line| !line.starts_with("files")) {
            assert!(line.chars().count() <= widest, "{line}");
        }
        let headers = text
            .lines()
            .filter(|line| line.starts_with("similarity "))
            .count();
        assert_eq!(headers > 1, columns != "400", "{text}");
    }
}
