//! Recall: planted pairs at known similarities, against what the generator promises; and the work
//! that a spanning listing may take.
//!
//! The seeds are fixed, so a check passes always or never. The interval of four standard errors
//! leaves one false alarm in some 16,000 bins to whoever changes a seed.

use std::collections::{HashMap, HashSet};
use std::fmt;

use twinfold::candidates::Guarantee;
use twinfold::config::{Config, EdgeListing};
use twinfold::deduplicate;
use twinfold::document::{Corpus, Document};

use super::{Case, Generator};
use crate::planted::{near_copy, pair_at};
use crate::random::{FreshWords, Random};

/// The planted pairs at one similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecallBin {
    /// The similarity, in per cent.
    pub percent: usize,
    /// The planted pairs.
    pub planted: usize,
    /// How many of them were found.
    pub found: usize,
    /// The probability that each is found, where the generator knows it.
    pub probability: Option<f64>,
}

/// Recall by similarity.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallTable {
    /// The name of the generator.
    pub name: String,
    /// What the generator promises.
    pub guarantee: Guarantee,
    /// One bin for each similarity at or above the threshold.
    pub bins: Vec<RecallBin>,
    /// Edges that were not planted.
    pub strays: usize,
}

/// Plants pairs at each similarity and looks for them with a generator.
pub fn recall_by_similarity(
    generator: &Generator,
    percents: &[usize],
    pairs: usize,
    seed: u64,
) -> RecallTable {
    let config = Config {
        candidates: generator.candidates.clone(),
        edges: EdgeListing::All,
        max_pairs: u64::MAX,
        ..Config::default()
    };
    let mut words = FreshWords::new(seed);
    let mut documents = Vec::new();
    for &percent in percents {
        for number in 0..pairs {
            let pair = pair_at(&mut words, percent, 100, 60);
            let title = words.words(3).join(" ");
            for (side, text) in [("a", pair.left), ("b", pair.right)] {
                let id = format!("{percent:03} {number:05} {side}");
                documents.push(
                    Document::new(id, text)
                        .with("title", &title)
                        .with("topic", &title),
                );
            }
        }
    }
    let corpus = Corpus::new(documents).expect("the ids are unique");
    let outcome =
        deduplicate(&config, &corpus).unwrap_or_else(|error| panic!("{}: {error}", generator.name));
    let mut found: HashSet<(u32, u32)> = HashSet::new();
    outcome.for_each_edge(|edge| {
        found.insert((edge.left.0, edge.right.0));
    });
    let mut bins = Vec::new();
    for (bin, &percent) in percents.iter().enumerate() {
        // The ids are in the order of the bins, so a pair's ranks are neighbours.
        let first = (bin * pairs * 2) as u32;
        let hits = (0..pairs as u32)
            .map(|pair| first + 2 * pair)
            .filter(|&left| found.remove(&(left, left + 1)))
            .count();
        bins.push(RecallBin {
            percent,
            planted: pairs,
            found: hits,
            probability: outcome.generator().probability(percent as f64 / 100.0),
        });
    }
    RecallTable {
        name: generator.name.clone(),
        guarantee: outcome.guarantee(),
        bins,
        strays: found.len(),
    }
}

impl RecallTable {
    /// Panics unless as much was found as the generator promises, and nothing else.
    pub fn check(&self) {
        assert_eq!(self.strays, 0, "{}: edges that were not planted", self.name);
        for bin in &self.bins {
            let (planted, found) = (bin.planted as f64, bin.found as f64);
            match (&self.guarantee, bin.probability) {
                (Guarantee::Lossless, _) => {
                    assert_eq!(bin.found, bin.planted, "{}: {bin:?}", self.name);
                }
                (Guarantee::Probabilistic { .. }, Some(probability)) => {
                    let error = (planted * probability * (1.0 - probability)).sqrt();
                    assert!(
                        (found - planted * probability).abs() <= 4.0 * error + 0.5,
                        "{}: {bin:?} is off the curve by more than chance",
                        self.name
                    );
                }
                (Guarantee::Probabilistic { .. }, None) => {
                    panic!("{}: a probability is promised and not known", self.name)
                }
                (Guarantee::Heuristic { .. }, _) => {}
            }
        }
    }
}

impl fmt::Display for RecallTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        writeln!(f, "similarity  planted  found  recall  curve")?;
        for bin in &self.bins {
            let recall = bin.found as f64 / bin.planted as f64;
            let curve = bin
                .probability
                .map_or("-".into(), |probability| format!("{probability:.3}"));
            writeln!(
                f,
                "{:>10.2}  {:>7}  {:>5}  {recall:>6.3}  {curve:>5}",
                bin.percent as f64 / 100.0,
                bin.planted,
                bin.found,
            )?;
        }
        Ok(())
    }
}

/// Pairs of equal sets are found whatever the generator, though their texts differ.
pub fn equal_sets_are_always_found(case: &Case) {
    let outcome = case.run();
    let mut first_of_set: HashMap<_, u32> = HashMap::new();
    for document in 0..case.oracle.documents() {
        if case.oracle.is_empty(document) {
            continue;
        }
        let set = case.oracle.shingles(document);
        let first = *first_of_set.entry(set).or_insert(document);
        assert_eq!(
            outcome.clusters().of(first),
            outcome.clusters().of(document),
            "{}: {first} and {document} have equal sets",
            case.name
        );
    }
}

/// Nine tenths of the near-copies of one page or more become one cluster, and a spanning listing scores fewer than 20 pairs
/// for each document.
pub fn near_copies_cost_near_linear_work(generator: &Generator, copies: usize) {
    let (mut random, mut words) = (Random::new(23), FreshWords::new(23));
    let page = words.words(120).join(" ");
    let documents = (0..copies)
        .map(|number| {
            let text = near_copy(&page, &mut random, &mut words);
            Document::new(format!("{number:08}"), text)
                .with("title", "one page")
                .with("topic", "one")
        })
        .collect();
    let corpus = Corpus::new(documents).expect("the ids are unique");
    let config = Config {
        candidates: generator.candidates.clone(),
        edges: EdgeListing::Spanning,
        ..Config::default()
    };
    let outcome =
        deduplicate(&config, &corpus).unwrap_or_else(|error| panic!("{}: {error}", generator.name));
    let counts = outcome.counts();
    assert!(
        counts.scored_class_pairs < 20 * copies as u64,
        "{}: {} pairs were scored for {copies} near-copies",
        generator.name,
        counts.scored_class_pairs
    );
    // One band misses those whose change took away the very shingle that it looks at.
    if !matches!(outcome.guarantee(), Guarantee::Heuristic { .. }) {
        assert!(
            counts.largest_cluster * 10 >= copies as u64 * 9,
            "{}: of {copies} near-copies only {} are one cluster",
            generator.name,
            counts.largest_cluster
        );
    }
}
