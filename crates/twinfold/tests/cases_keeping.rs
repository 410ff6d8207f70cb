//! Inputs that users of other tools reported as faults: who is kept.

use std::cmp::Reverse;

use twinfold::represent::DateCounts;
use twinfold::{Config, Corpus, Document, Documents, Outcome, deduplicate};
use twinfold_testkit::random::{FreshWords, Random};

/// Near-copies with sources, dates and lengths, some of them missing or unreadable.
fn dated() -> Vec<Document> {
    let page = FreshWords::new(89).words(60).join(" ");
    let sources = ["web", "curated", "mirror", "other"];
    let dates = [
        "2024-05-01",
        "2025-01-31T10:00:00Z",
        "",
        "yesterday",
        "20230101120000",
    ];
    (0..20)
        .map(|n| {
            let text = format!("{page}{}", " more".repeat(n % 3));
            let document = Document::new(format!("{:03}", n * 37 % 100), text);
            let document = document.with("source", sources[n % 4]);
            match n % 7 {
                0 => document,
                _ => document.with("crawled_at", dates[n % 5]),
            }
        })
        .collect()
}

fn kept_id(outcome: &Outcome, corpus: &Corpus) -> String {
    assert_eq!(outcome.counts().kept, 1);
    corpus.id(outcome.kept(0)).to_owned()
}

#[test]
fn who_is_kept_does_not_depend_on_the_order_of_rows() {
    let rank = |source: &str| {
        let known = ["curated", "web"].iter().position(|s| *s == source);
        known.unwrap_or(2)
    };
    let length = |document: &Document| document.text.split(' ').count();
    let source = |document: &Document| rank(&document.columns["source"]);
    let by_source = dated()
        .into_iter()
        .min_by_key(|d| (source(d), Reverse(length(d)), d.id.clone()))
        .unwrap();
    let by_length = dated()
        .into_iter()
        .min_by_key(|d| (length(d), Reverse(d.id.clone())))
        .unwrap();
    let greatest = dated().into_iter().map(|d| d.id).max().unwrap();
    let newest = dated()
        .into_iter()
        .filter(|d| {
            d.columns
                .get("crawled_at")
                .is_some_and(|at| at.starts_with("2025"))
        })
        .min_by_key(|d| (Reverse(length(d)), d.id.clone()))
        .unwrap();
    let mut random = Random::new(97);
    for (rule, expected) in [
        (
            "source=[curated,web], token_count desc, doc_id",
            &by_source.id,
        ),
        ("source=[curated,web], token_count desc", &by_source.id),
        ("token_count, doc_id desc", &by_length.id),
        ("doc_id desc", &greatest),
        ("crawled_at desc, token_count desc, doc_id", &newest.id),
    ] {
        for _ in 0..6 {
            let mut documents = dated();
            random.shuffle(&mut documents);
            let corpus = Corpus::new(documents).unwrap();
            let config = Config {
                keep: rule.parse().unwrap(),
                ..Config::default()
            };
            let outcome = deduplicate(&config, &corpus).unwrap();
            assert_eq!(&kept_id(&outcome, &corpus), expected, "{rule}");
        }
    }
}

#[test]
fn dates_that_are_missing_or_cannot_be_read_sort_last_and_are_counted() {
    for rule in ["crawled_at", "crawled_at desc"] {
        let config = Config {
            keep: rule.parse().unwrap(),
            ..Config::default()
        };
        let corpus = Corpus::new(dated()).unwrap();
        let outcome = deduplicate(&config, &corpus).unwrap();
        let kept = outcome.kept(0);
        let date = &corpus.documents()[kept.index()].columns["crawled_at"];
        let wanted = if rule.ends_with("desc") {
            "2025"
        } else {
            "2023"
        };
        assert!(date.starts_with(wanted), "{rule}: {date}");
        let unreadable = dated()
            .iter()
            .filter(|d| {
                d.columns
                    .get("crawled_at")
                    .is_some_and(|at| at == "yesterday")
            })
            .count() as u64;
        let missing = dated()
            .iter()
            .filter(|d| !d.columns.contains_key("crawled_at"))
            .count() as u64;
        let blank = dated()
            .iter()
            .filter(|d| {
                d.columns
                    .get("crawled_at")
                    .is_some_and(|at| at.trim().is_empty())
            })
            .count() as u64;
        let dates = DateCounts {
            missing: missing + blank,
            unreadable,
        };
        assert_eq!(outcome.keep_order().dates, Some(dates));
    }
}
