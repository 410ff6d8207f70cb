//! Corners where an instrument, a listing and a count meet: texts that are equal to one instrument
//! and not to another, members of one class that differ, keys that are missing.
#![expect(clippy::unwrap_used, reason = "tests")]

use twinfold::candidates::JoinEdges;
use twinfold::config::{BlockKey, Candidates, EdgeListing, Lsh};
use twinfold::sketch::Banding;
use twinfold::{Config, Corpus, Document, Outcome, Threshold, deduplicate};
use twinfold_testkit::contract::pairs_of;

fn document(number: usize, text: &str) -> Document {
    Document::new(number.to_string(), text)
}

fn corpus(texts: &[&str]) -> Corpus {
    let documents = texts.iter().enumerate();
    Corpus::new(documents.map(|(n, text)| document(n, text)).collect()).unwrap()
}

/// Single tokens, half of which must be shared, and a sketch that misses nothing of that.
fn loose() -> Config {
    Config {
        shingle_size: 1,
        threshold: Threshold::from_ratio(1, 2).unwrap(),
        candidates: Candidates::Lsh(Lsh {
            banding: Banding::new(64, 1, 64).unwrap(),
            ..Lsh::default()
        }),
        ..Config::default()
    }
}

fn find(config: &Config, texts: &[&str]) -> Outcome {
    deduplicate(config, &corpus(texts)).unwrap()
}

/// The documents of a class hold together by themselves; one more edge ties the class to the other
/// texts of its exact group.
#[test]
fn spanning_edges_across_classes_are_just_enough() {
    let config = Config {
        edges: EdgeListing::Spanning,
        ..Config::default()
    };
    let outcome = find(&config, &["fi", "ﬁ", "ﬁ"]);
    assert_eq!(outcome.counts().removed, 2);
    assert_eq!(pairs_of(&outcome).len(), 2, "{:?}", pairs_of(&outcome));
}

/// Equal texts whose sets differ in a number token (`1` and `①`) and are similar, too: the edge is
/// an exact one, and not among the near edges that differ in numbers.
#[test]
fn numeric_pairs_are_near_pairs() {
    let outcome = find(&loose(), &["a b c d 1", "a b c d ①"]);
    let counts = outcome.counts();
    assert_eq!((counts.exact_pairs, counts.near_pairs), (1, 0));
    assert_eq!(counts.numeric_pairs, 0);
}

/// The same two documents where numbers are kept: they are an edge, and not counted as refused.
#[test]
fn a_pair_of_equal_texts_is_not_refused_for_numbers() {
    let config = Config {
        keep_numbers: true,
        ..loose()
    };
    let outcome = find(&config, &["a b c d 1", "a b c d ①"]);
    assert_eq!(pairs_of(&outcome), [(0, 1)]);
    assert_eq!(outcome.counts().refused_for_numbers, Some(0));
}

/// Members of one class can differ in the order of their tokens. Of these one pair differs in a
/// number only, and the others do not.
#[test]
fn numeric_pairs_are_counted_by_document() {
    let outcome = find(&loose(), &["1 a b", "a 1 b", "a 2 b"]);
    assert_eq!(pairs_of(&outcome), [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(outcome.counts().numeric_pairs, 1);
    let outcome = find(&loose(), &["a 1 b", "1 a b", "a 2 b"]);
    assert_eq!(outcome.counts().numeric_pairs, 1);
}

fn by_column(values: &[&str], max_pairs: u64) -> Result<Outcome, twinfold::Error> {
    let documents = values.iter().enumerate();
    let documents = documents.map(|(n, value)| document(n, "the same").with("url", *value));
    let config = Config {
        candidates: Candidates::Blocking(BlockKey::Column("url".into())),
        max_pairs,
        ..Config::default()
    };
    deduplicate(&config, &Corpus::new(documents.collect())?)
}

/// Copies that share no key are pairs all the same, and 200,000 of them would be 2 * 10^10 edges.
#[test]
fn the_budget_bounds_the_pairs_of_copies_without_a_key() {
    let outcome = by_column(&[""; 10], 3).unwrap();
    assert_eq!(
        outcome.listing(),
        JoinEdges::Spanning,
        "{} edges are listed with a budget of 3",
        outcome.counts().duplicate_pairs
    );
}

/// A class has the keys of all its members; its own pairs count once, however many keys it has.
#[test]
fn slots_are_those_of_documents_that_share_a_key() {
    let outcome = by_column(&["x", "y", "z"], 1000).unwrap();
    assert_eq!(outcome.counts().duplicate_pairs, 3);
    assert!(
        outcome.counts().pair_slots <= 3,
        "{} slots for three documents",
        outcome.counts().pair_slots
    );
}

/// The members of a class can differ in length and prefix. Here the second and the third document are of one length, and the first, which has
/// the second's set, is longer.
#[test]
fn every_member_of_a_class_is_blocked_by_its_own_length() {
    let config = Config {
        candidates: Candidates::Blocking(BlockKey::Length),
        ..loose()
    };
    assert_eq!(pairs_of(&find(&config, &["a b", "a c"])), []);
    let config = Config {
        threshold: Threshold::from_ratio(1, 3).unwrap(),
        ..config
    };
    assert_eq!(pairs_of(&find(&config, &["a b", "a c"])), [(0, 1)]);
    let outcome = find(&config, &["a b a b a b", "a b", "a c"]);
    assert!(pairs_of(&outcome).contains(&(1, 2)));
}

/// As for lengths: the second and the third document begin with the same 64 tokens.
#[test]
fn every_member_of_a_class_is_blocked_by_its_own_prefix() {
    let words: Vec<String> = (0..70).map(|n| format!("w{n}")).collect();
    let turned: Vec<&str> = words.iter().rev().map(String::as_str).collect();
    let plain = words.join(" ");
    let near = format!("{} other", words[..69].join(" "));
    let config = Config {
        candidates: Candidates::Blocking(BlockKey::PrefixTokens),
        ..loose()
    };
    assert_eq!(pairs_of(&find(&config, &[&plain, &near])), [(0, 1)]);
    let outcome = find(&config, &[&turned.join(" "), &plain, &near]);
    assert!(pairs_of(&outcome).contains(&(1, 2)));
}

/// White space is no value to the columns' type, but sorts before every text.
#[test]
fn a_blank_value_is_missing_and_sorts_last() {
    let documents = [" ", "b"].iter().enumerate();
    let documents = documents.map(|(n, source)| document(n, "the same").with("source", *source));
    let config = Config {
        keep: "source".parse().unwrap(),
        ..Config::default()
    };
    let outcome = deduplicate(&config, &Corpus::new(documents.collect()).unwrap()).unwrap();
    assert_eq!(outcome.kept(0).0, 1);
}
