//! Whole runs of the command on real corpora whose duplicates are known, and on texts whose
//! fingerprints another program computed. They lie beside the repository, in `../shared`; where
//! they are not, these tests say so and pass.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array as _, ArrayRef};
use common::{csv_rows, parquet_batches, twinfold};
use twinfold::sketch::Banding;

fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// A pair of ids and its similarity.
type Truth = HashMap<(String, String), f64>;

fn truth(corpus: &str) -> Option<Truth> {
    let path = shared(&format!("data/{corpus}/pairs_jaccard_05.parquet"))?;
    let mut pairs = Truth::new();
    for batch in parquet_batches(&path) {
        let left = batch.column(0).as_string::<i32>();
        let right = batch.column(1).as_string::<i32>();
        let jaccard = batch.column(2).as_primitive::<Float64Type>();
        for row in 0..batch.num_rows() {
            let (a, b) = (left.value(row).to_owned(), right.value(row).to_owned());
            let key = if a < b { (a, b) } else { (b, a) };
            pairs.insert(key, jaccard.value(row));
        }
    }
    Some(pairs)
}

/// Runs on a corpus and holds every published pair, score and cluster against the truth.
fn check(corpus: &str, truth: &Truth, threshold: &str, extra: &[&str]) {
    let documents =
        shared(&format!("data/{corpus}/documents.parquet")).expect("the truth is there");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut arguments = vec![
        "run",
        documents.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    arguments.extend(["--tokenizer", "words", "--threshold", threshold, "--json"]);
    arguments.extend(extra);
    let summary: serde_json::Value = serde_json::from_str(&twinfold(&arguments).success()).unwrap();

    let least: f64 = threshold.parse().unwrap();
    let mut components = Components::default();
    let mut found = 0u64;
    for row in csv_rows(&out.join("duplicate_pairs.csv")) {
        let (left, right, jaccard, instrument) = (&row[0], &row[1], &row[5], &row[9]);
        assert!(left < right, "{left} {right}");
        components.join(left, right);
        let jaccard: f64 = jaccard.parse().unwrap();
        let key = (left.to_owned(), right.to_owned());
        if instrument == "exact" && jaccard < least {
            // Equal after NFKC, unlike to the tokeniser: not a pair of the truth's instrument.
            continue;
        }
        let expected = truth
            .get(&key)
            .unwrap_or_else(|| panic!("{corpus}: {key:?} is not true"));
        assert!(
            (jaccard - expected).abs() <= 1e-12,
            "{key:?}: {jaccard}, not {expected}"
        );
        assert!(jaccard >= least);
        found += 1;
    }

    // Clusters are the components of the edges that were found.
    let mut clusters: HashMap<String, Vec<String>> = HashMap::new();
    for row in csv_rows(&out.join("clusters.csv")) {
        assert_eq!(
            components.of(&row[1]),
            row[0]["cluster-".len()..],
            "{corpus}"
        );
        clusters
            .entry(row[0].to_owned())
            .or_default()
            .push(row[1].to_owned());
    }

    // Each cluster keeps exactly one of its own members.
    let mut kept = HashSet::new();
    for batch in parquet_batches(&out.join("deduped_documents.parquet")) {
        let cluster = batch
            .column_by_name("cluster_id")
            .unwrap()
            .as_string::<i32>();
        let id = batch.column_by_name("doc_id").unwrap().as_string::<i32>();
        for row in 0..batch.num_rows() {
            assert!(
                kept.insert(cluster.value(row).to_owned()),
                "two kept of one cluster"
            );
            assert!(
                clusters[cluster.value(row)]
                    .iter()
                    .any(|member| member == id.value(row))
            );
        }
    }
    assert_eq!(kept.len(), clusters.len());

    let exist = truth.values().filter(|&&jaccard| jaccard >= least).count();
    if summary["guarantee"]["kind"] == "lossless" {
        println!("{corpus} at {threshold}: {found} of {exist} pairs found");
        assert_eq!(found, exist as u64, "{corpus} at {threshold}");
    }

    // As many pairs as the curve predicts. Pairs of one cluster share shingles, so they are found
    // or missed together: the tolerance is far wider than that of independent pairs.
    let banding = summary["guarantee"]["curve"].as_array().map(|_| {
        let name = summary["generator"].as_str().unwrap();
        let (bands, rows) = name.split(' ').nth(1).unwrap().split_once('x').unwrap();
        let (bands, rows): (usize, usize) = (bands.parse().unwrap(), rows.parse().unwrap());
        Banding::new(bands, rows, bands * rows).unwrap()
    });
    if let Some(banding) = banding {
        let expected: f64 = truth
            .values()
            .filter(|&&jaccard| jaccard >= least)
            .map(|&jaccard| banding.probability(jaccard))
            .sum();
        println!(
            "{corpus} at {threshold} {extra:?}: {found} of {exist} pairs found ({:.2}%), {:.2}% predicted",
            found as f64 / exist as f64 * 100.0,
            expected / exist as f64 * 100.0
        );
        assert!(
            (found as f64 - expected).abs() <= 0.12 * expected.max(1.0),
            "{corpus}: found {found}, the curve predicts {expected}"
        );
    }
}

/// Connected ids, named after the smallest.
#[derive(Default)]
struct Components {
    parents: HashMap<String, String>,
}

impl Components {
    fn of(&mut self, id: &str) -> String {
        let mut root = id.to_owned();
        while let Some(parent) = self.parents.get(&root) {
            root = parent.clone();
        }
        if root != id {
            self.parents.insert(id.to_owned(), root.clone());
        }
        root
    }

    fn join(&mut self, a: &str, b: &str) {
        let (a, b) = (self.of(a), self.of(b));
        if a != b {
            let (small, large) = if a < b { (a, b) } else { (b, a) };
            self.parents.insert(large, small);
        }
    }
}

fn check_corpus(corpus: &str) {
    let Some(truth) = truth(corpus) else { return };
    for threshold in ["0.5", "0.6", "0.7", "0.8", "0.9", "1.0"] {
        check(
            corpus,
            &truth,
            threshold,
            &["--edges", "all", "--max-pairs", "1000000000"],
        );
    }
    check(corpus, &truth, "0.7", &["--candidates", "lsh"]);
    check(corpus, &truth, "0.8", &["--candidates", "lsh"]);
    check(corpus, &truth, "0.7", &["--target-recall", "0.99"]);
}

#[test]
fn licences() {
    check_corpus("licences");
}

#[test]
fn debian_pages() {
    check_corpus("debian_pages");
}

#[test]
fn debian_blocks() {
    check_corpus("debian_blocks");
}

#[test]
fn stories() {
    check_corpus("stories");
}

/// What `recall` says of 8 bands of 8 rows is what a run with them has found, of the true pairs.
#[test]
fn measured_recall_is_found_over_true() {
    for corpus in ["licences", "stories"] {
        let Some(truth) = truth(corpus) else { continue };
        let documents =
            shared(&format!("data/{corpus}/documents.parquet")).expect("the truth is there");
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let input = [documents.to_str().unwrap(), "--tokenizer", "words"];
        let (run, measured) = (path("run"), path("measured"));
        let lsh = ["--bands", "8", "--rows", "8", "--quiet"];
        twinfold(&[&["run"], &input[..], &["--out", &run], &lsh].concat()).success();
        let list = ["--compare", "lossless,lsh:8x8", "--json"];
        let report =
            twinfold(&[&["recall"], &input[..], &["--out", &measured], &list].concat()).json();

        // Bins of a twentieth from 0.7 up, and 1; ratios of small integers are no nearer to a border
        // than this unless they lie on it.
        let bin = |jaccard: f64| {
            if jaccard == 1.0 {
                6
            } else {
                ((jaccard - 0.7) * 20.0 + 1e-9) as usize
            }
        };
        let mut counts = [[0u64; 2]; 7];
        for &jaccard in truth.values().filter(|&&jaccard| jaccard >= 0.7) {
            counts[bin(jaccard)][0] += 1;
        }
        for row in csv_rows(&folder.path().join("run/duplicate_pairs.csv")) {
            if let Some(&jaccard) = truth.get(&(row[0].to_owned(), row[1].to_owned()))
                && jaccard >= 0.7
            {
                counts[bin(jaccard)][1] += 1;
            }
        }
        for (setting, lossless) in [(0, true), (1, false)] {
            let setting = &report["settings"][setting];
            let bins = setting["bins"].as_array().unwrap();
            assert_eq!(bins.len(), counts.len());
            for (bin, &[exist, found]) in bins.iter().zip(&counts) {
                let found = if lossless { exist } else { found };
                assert_eq!(bin["pairs"], exist, "{corpus} from {}", bin["from"]);
                assert_eq!(bin["found"], found, "{corpus} from {}", bin["from"]);
            }
            let [exist, found] = counts
                .iter()
                .fold([0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
            let found = if lossless { exist } else { found };
            assert_eq!(setting["overall"]["pairs"], exist);
            let recall = setting["overall"]["recall"].as_f64().unwrap();
            assert!(
                (recall - found as f64 / exist as f64).abs() < 1e-12,
                "{corpus}"
            );
            println!("{corpus}: {found} of {exist} pairs found ({recall})");
        }
    }
}

#[test]
fn verses_run_whole() {
    let Some(path) = shared("data/verses/documents.parquet") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let summary = twinfold(&["run", path.to_str().unwrap(), "--out", out, "--json"]).success();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["records"]["read"], 62_360);
    assert_eq!(summary["records"]["rejected"], 0);
    assert!(summary["counts"]["clusters"].as_u64().unwrap() > 500);
    twinfold(&["verify", out]).success();
}

#[test]
fn the_tutorial_number_for_number() {
    let Some(path) = shared("data/tutorial/documents.csv") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = [
        "run",
        path.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    let summary =
        twinfold(&[&arguments[..], &["--preset", "tutorial", "--json"]].concat()).success();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    for (name, expected) in [
        ("documents", 24),
        ("possible_pairs", 276),
        ("pair_slots", 80),
        ("candidate_pairs", 18),
        ("duplicate_pairs", 18),
        ("exact_pairs", 6),
        ("near_pairs", 12),
        ("same_domain_duplicates", 0),
        ("clusters", 6),
        ("largest_cluster", 3),
        ("singletons", 6),
        ("kept", 12),
    ] {
        assert_eq!(summary["counts"][name], expected, "{name}");
    }
    let reduction = summary["reduction_ratio"].as_f64().unwrap();
    assert_eq!(format!("{:.2}", reduction * 100.0), "93.48");
    for row in csv_rows(&out.join("cluster_inspection.csv")) {
        assert_eq!(&row[1], "3");
        assert!(row[2].ends_with("-canonical"), "{}", &row[2]);
    }
}

#[test]
fn golden_fingerprints() {
    let Some(path) = shared("golden/text_words_blake2b.json") else {
        return;
    };
    let golden: Vec<serde_json::Value> =
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(!golden.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("golden.jsonl");
    let lines: Vec<String> = golden
        .iter()
        .enumerate()
        .map(|(number, entry)| {
            serde_json::json!({"doc_id": format!("{number:04}"), "body": entry["text"]}).to_string()
        })
        .collect();
    std::fs::write(&input, lines.join("\n")).unwrap();
    let out = folder.path().join("out");
    let arguments = [
        "run",
        input.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    twinfold(&[&arguments[..], &["--preset", "tutorial", "--quiet"]].concat()).success();

    let texts = |list: ArrayRef| -> Vec<String> {
        let values = list.as_string::<i32>();
        (0..values.len())
            .map(|at| values.value(at).to_owned())
            .collect()
    };
    let numbers = |list: ArrayRef| -> Vec<String> {
        list.as_primitive::<UInt64Type>()
            .values()
            .iter()
            .map(u64::to_string)
            .collect()
    };
    let mut seen = 0;
    for batch in parquet_batches(&out.join("fingerprinted.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap().clone();
        for row in 0..batch.num_rows() {
            let entry = &golden[seen];
            let list = |name: &str| column(name).as_list::<i32>().value(row);
            let number = |name: &str| column(name).as_primitive::<UInt64Type>().value(row);
            let text = entry["text"].as_str().unwrap();
            let exact = twinfold::exact::exact_text(text, &mut Vec::new()).key;
            let exact: String = exact.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(exact, entry["exact_key"].as_str().unwrap(), "{text:?}");
            let normalised = column("normalized_text");
            assert_eq!(
                normalised.as_string::<i64>().value(row),
                entry["normalized_words"],
                "{text:?}"
            );
            assert_eq!(number("token_count"), entry["token_count"], "{text:?}");
            assert_eq!(number("unique_tokens"), entry["unique_tokens"], "{text:?}");
            assert_eq!(
                serde_json::json!(texts(list("shingle_set"))),
                entry["shingle_set"]
            );
            assert_eq!(
                serde_json::json!(numbers(list("shingle_hashes"))),
                entry["shingle_hashes_xxh3_64"]
            );
            assert_eq!(
                serde_json::json!(numbers(list("signature"))),
                entry["signature"]
            );
            assert_eq!(
                serde_json::json!(texts(list("lsh_bands"))),
                entry["lsh_bands"]
            );
            seen += 1;
        }
    }
    assert_eq!(seen, golden.len());
}
