//! Texts, and the clusters that they make in every format.

use super::Bench;
use super::corpus::{BODY, Record, encode};

/// One of each kind of reader.
pub(crate) const FORMATS: [&str; 6] =
    ["csv", "tsv.gz", "jsonl", "ndjson.zst", "json.gz", "parquet"];

pub(crate) fn records(texts: &[(&str, String)]) -> Vec<Record> {
    texts
        .iter()
        .map(|(id, text)| {
            let mut record = Record::default();
            (record[0], record[BODY]) = ((*id).to_owned(), text.clone());
            record
        })
        .collect()
}

pub(crate) fn ids(groups: &[&[&str]]) -> Vec<Vec<String>> {
    groups
        .iter()
        .map(|group| group.iter().map(|id| (*id).to_owned()).collect())
        .collect()
}

/// The clusters of two or more in these texts, which have to be the same in every format.
pub(crate) fn clusters(texts: &[(&str, String)], extra: &[&str]) -> Vec<Vec<String>> {
    let bench = Bench::new();
    let mut all: Option<Vec<Vec<String>>> = None;
    for format in FORMATS {
        let file = bench.write(&format!("x.{format}"), encode(format, &records(texts)));
        let summary = bench.summary(&[&file], "out", &[extra, &["--overwrite"]].concat());
        assert_eq!(summary["records"]["read"], texts.len(), "{format}");
        assert_eq!(summary["records"]["rejected"], 0, "{format}");
        let found = bench.clusters("out");
        match &all {
            None => all = Some(found),
            Some(all) => assert_eq!(found, *all, "{format}"),
        }
    }
    all.unwrap()
}

pub(crate) fn owned<'a>(texts: &[(&'a str, &str)]) -> Vec<(&'a str, String)> {
    texts
        .iter()
        .map(|(id, text)| (*id, (*text).to_owned()))
        .collect()
}
