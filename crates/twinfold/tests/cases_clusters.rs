//! Inputs that users of other tools reported as faults: shapes of clusters, and size.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicU64, Ordering};

use twinfold::candidates::JoinEdges;
use twinfold::config::{BlockKey, Candidates, EdgeListing, Linkage, Lsh};
use twinfold::edges::{Instrument, pairs_within_classes};
use twinfold::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
use twinfold::pipeline::{Observer, Options, Stage, run};
use twinfold::sets::ShingleSets;
use twinfold::sketch::Banding;
use twinfold::{Config, Corpus, DocId, Document, Documents, Threshold, deduplicate};
use twinfold_testkit::contract::{all_generators, pairs_of};
use twinfold_testkit::planted::{chain, near_copy};
use twinfold_testkit::random::{FreshWords, Random, scramble};

fn ranked(texts: &[String]) -> Corpus {
    let documents = texts.iter().enumerate();
    Corpus::new(
        documents
            .map(|(n, text)| Document::new(format!("{n:06}"), text))
            .collect(),
    )
    .unwrap()
}

fn sure() -> Config {
    Config {
        candidates: Candidates::Lsh(Lsh {
            banding: Banding::new(40, 3, 120).unwrap(),
            ..Lsh::default()
        }),
        ..Config::default()
    }
}

#[test]
fn a_path_of_ten_thousand_is_one_cluster() {
    let texts = chain(&mut FreshWords::new(73), 10_000, 20, 2);
    let documents = texts.into_iter().enumerate().map(|(link, text)| {
        // Ids in an order that has nothing to do with the path's.
        Document::new(format!("{:016x}", scramble(link as u64)), text)
    });
    let corpus = Corpus::new(documents.collect()).unwrap();
    for edges in [EdgeListing::All, EdgeListing::Spanning] {
        let outcome = deduplicate(&Config { edges, ..sure() }, &corpus).unwrap();
        let counts = outcome.counts();
        assert_eq!((counts.clusters, counts.largest_cluster), (1, 10_000));
        assert_eq!(counts.duplicate_pairs, 9_999);
        // All but the neighbours of the kept one are there by way of others.
        assert!(counts.removed_indirectly >= 9_997);
    }
}

/// A page of 204 words and six that each lack another part of it: they match it and not each other.
fn hub_and_spokes(hub_last: bool) -> Corpus {
    let mut words = FreshWords::new(79);
    let page = words.words(204);
    let mut texts: Vec<String> = (0..6)
        .map(|spoke| {
            let mut text = page.clone();
            for word in &mut text[spoke * 34..spoke * 34 + 28] {
                *word = words.word();
            }
            text.join(" ")
        })
        .collect();
    texts.insert(if hub_last { 6 } else { 0 }, page.join(" "));
    ranked(&texts)
}

#[test]
fn a_hub_connects_spokes_that_do_not_match_each_other() {
    let outcome = deduplicate(&sure(), &hub_and_spokes(false)).unwrap();
    assert_eq!(outcome.counts().clusters, 1);
    assert_eq!(outcome.counts().duplicate_pairs, 6);
    assert_eq!(outcome.counts().removed_indirectly, 0);

    // With the smallest id kept, five spokes are removed for one that they do not match.
    let outcome = deduplicate(&sure(), &hub_and_spokes(true)).unwrap();
    assert_eq!(outcome.counts().clusters, 1);
    assert_eq!(outcome.counts().removed_indirectly, 5);
    for removed in outcome.removed() {
        assert_eq!(removed.direct, removed.document == DocId(6));
        assert_eq!(removed.direct, removed.score >= 0.7);
        assert!(removed.score < 1.0);
    }

    let star = Config {
        linkage: Linkage::Star,
        ..sure()
    };
    let outcome = deduplicate(&star, &hub_and_spokes(true)).unwrap();
    assert_eq!((outcome.counts().clusters, outcome.counts().kept), (1, 6));
}

#[test]
fn a_clique_is_one_cluster_with_all_its_pairs() {
    let (mut random, mut words) = (Random::new(83), FreshWords::new(83));
    let page = words.words(120).join(" ");
    let texts: Vec<String> = (0..500)
        .map(|_| near_copy(&page, &mut random, &mut words))
        .collect();
    let outcome = deduplicate(&sure(), &ranked(&texts)).unwrap();
    assert_eq!(outcome.listing(), JoinEdges::All);
    assert_eq!(outcome.counts().clusters, 1);
    assert_eq!(outcome.counts().near_pairs, 500 * 499 / 2);
    assert_eq!(outcome.counts().removed_indirectly, 0);
}

#[test]
fn of_identical_rows_one_is_kept() {
    for rows in [2usize, 10] {
        let texts = vec!["the same row of some words again and again".to_owned(); rows];
        for linkage in [Linkage::Components, Linkage::Star] {
            let config = Config {
                linkage,
                ..Config::default()
            };
            let outcome = deduplicate(&config, &ranked(&texts)).unwrap();
            assert_eq!(outcome.counts().kept, 1);
            let removed: Vec<u32> = outcome.removed().iter().map(|r| r.document.0).collect();
            assert_eq!(removed, (1..rows as u32).collect::<Vec<_>>());
            for removed in outcome.removed() {
                assert_eq!((removed.kept, removed.score), (DocId(0), 1.0));
                assert_eq!(removed.instrument, Instrument::Exact);
                assert!(removed.direct);
            }
        }
    }
}

#[test]
fn the_end_of_a_chain_says_how_little_it_shares_and_a_star_leaves_it_out() {
    // The middle is the union of two ends, which share ten of ninety shingles.
    let long = FreshWords::new(101).words(94);
    let texts = [&long[..54], &long[..], &long[40..]].map(|words| words.join(" "));
    let config = Config {
        threshold: Threshold::from_ratio(1, 2).unwrap(),
        keep: "doc_id".parse().unwrap(),
        ..sure()
    };
    let outcome = deduplicate(&config, &ranked(&texts)).unwrap();
    assert_eq!(pairs_of(&outcome), [(0, 1), (1, 2)]);
    let [middle, end] = outcome.removed() else {
        panic!("two are removed");
    };
    assert_eq!((middle.score, middle.direct), (50.0 / 90.0, true));
    assert_eq!(
        (end.score, end.direct, end.kept),
        (10.0 / 90.0, false, DocId(0))
    );
    assert_eq!(outcome.counts().removed_indirectly, 1);

    let star = Config {
        linkage: Linkage::Star,
        ..config
    };
    let outcome = deduplicate(&star, &ranked(&texts)).unwrap();
    let clusters: Vec<&[u32]> = outcome.clusters().iter().collect();
    assert_eq!(clusters, [&[0, 1][..], &[2]]);
    assert!(outcome.removed().iter().all(|removed| removed.direct));
}

#[test]
fn many_copies_of_one_page_take_linear_work() {
    let copies = 20_000u64;
    let page = FreshWords::new(103).words(100).join(" ");
    let corpus = ranked(&vec![page; copies as usize]);
    let pairs = copies * (copies - 1) / 2;
    for (candidates, keys) in [
        (Candidates::Lossless, 1),
        (Candidates::Lsh(Lsh::default()), 8),
    ] {
        let config = Config {
            candidates,
            ..Config::default()
        };
        let outcome = deduplicate(&config, &corpus).unwrap();
        let counts = outcome.counts();
        assert_eq!(outcome.listing(), JoinEdges::Spanning);
        assert_eq!(counts.pair_slots, keys * pairs);
        assert_eq!(counts.possible_pairs, pairs);
        assert_eq!(pairs_within_classes(outcome.sets()), pairs);
        assert_eq!((counts.clusters, counts.largest_cluster), (1, copies));
        assert_eq!((counts.scored_class_pairs, counts.skipped_slots), (0, 0));
        // What is listed grows with the copies and not with their pairs.
        assert_eq!(counts.duplicate_pairs, copies - 1);
        assert_eq!(counts.exact_pairs, copies - 1);
        assert_eq!(outcome.removed().len() as u64, copies - 1);
        assert_eq!(outcome.sets().classes(), 1);
    }
}

/// Copies need one edge each, so stars around them need no pair slots of theirs.
#[test]
fn stars_of_many_copies_fit_a_small_budget() {
    let copies = 200_000usize;
    let mut words = FreshWords::new(109);
    let page = words.words(40).join(" ");
    // A near copy, and a text whose exact key is another's though its set is not.
    let near = format!("{} indeed", &page);
    let (ligature, plain) = (format!("{page} ﬁ"), format!("{page} fi"));
    let mut texts = vec![page; copies];
    texts.push(near);
    texts.extend(vec![ligature; 1000]);
    texts.extend(vec![plain; 1000]);
    let corpus = ranked(&texts);
    for candidates in [sure().candidates, Candidates::Lossless] {
        for edges in [EdgeListing::Auto, EdgeListing::Spanning] {
            let config = Config {
                linkage: Linkage::Star,
                max_pairs: 10_000,
                candidates: candidates.clone(),
                edges,
                ..Config::default()
            };
            let outcome = deduplicate(&config, &corpus).unwrap();
            let counts = outcome.counts();
            assert_eq!(outcome.listing(), JoinEdges::Spanning);
            assert_eq!((counts.kept, counts.removed), (1, texts.len() as u64 - 1));
            assert_eq!(counts.removed_indirectly, 0);
            assert_eq!(counts.duplicate_pairs, counts.removed);
            assert_eq!(pairs_of(&outcome).len() as u64, counts.removed);
            // All edges are more than the budget.
            let all = Config {
                edges: EdgeListing::All,
                ..config
            };
            let error = deduplicate(&all, &corpus).unwrap_err();
            assert!(
                error.hint().unwrap().contains("--edges spanning"),
                "{error}"
            );
        }
    }
}

/// A family of pages of one template with numbers of their own takes no comparison where numbers are
/// kept, and where refusals are counted they are counted exactly.
#[test]
fn a_template_with_numbers_of_its_own_takes_linear_work() {
    let pages = 20_000u64;
    let mut words = FreshWords::new(113);
    let (before, after) = (words.words(70).join(" "), words.words(50).join(" "));
    let template = |number: u64| format!("{before} {number} {after}");
    let document = |number: u64| {
        Document::new(format!("{number:06}"), template(number / 2))
            .with("title", "one title")
            .with("topic", "one")
    };
    let corpus = |pages| Corpus::new((0..pages).map(document).collect()).unwrap();
    let large = corpus(pages);
    for generator in all_generators() {
        if generator.name.contains("blake2b") {
            continue;
        }
        for edges in [EdgeListing::Auto, EdgeListing::Spanning] {
            let config = Config {
                keep_numbers: true,
                candidates: generator.candidates.clone(),
                edges,
                ..Config::default()
            };
            let outcome = deduplicate(&config, &large).unwrap();
            let counts = outcome.counts();
            assert_eq!((counts.clusters, counts.removed), (pages / 2, pages / 2));
            assert_eq!(counts.scored_class_pairs, 0, "{}", generator.name);
            assert_eq!(counts.refused_for_numbers, None, "{}", generator.name);
            assert_eq!(
                outcome.listing() == JoinEdges::All,
                edges == EdgeListing::Auto,
                "{}: pairs that are passed over are not held against the budget",
                generator.name
            );
        }
    }
    // Two copies of each number: all pairs but those within a number are refused.
    let config = Config {
        keep_numbers: true,
        ..sure()
    };
    let outcome = deduplicate(&config, &corpus(200)).unwrap();
    let possible = outcome.counts().possible_pairs;
    assert_eq!(outcome.counts().refused_for_numbers, Some(possible - 100));
    // One slot short of looking at all of them, and they are not.
    let config = Config {
        max_pairs: outcome.slots().slots - 1,
        ..config
    };
    let outcome = deduplicate(&config, &corpus(200)).unwrap();
    assert_eq!(outcome.listing(), JoinEdges::All);
    assert_eq!(outcome.counts().refused_for_numbers, None);
    assert_eq!(outcome.counts().removed, 100);
}

#[test]
fn bounds_hold_at_the_ends_of_their_integers() {
    let half = Threshold::from_ratio(1, 2).unwrap();
    assert!(half.accepts(u64::MAX / 2 + 1, u64::MAX));
    assert!(!half.accepts(u64::MAX / 2, u64::MAX));
    let one = Threshold::from_ratio(u64::MAX, u64::MAX).unwrap();
    assert_eq!(one.overlap_needed(usize::MAX, usize::MAX), usize::MAX);
    let least = Threshold::from_ratio(1, u64::MAX).unwrap();
    assert_eq!(least.overlap_needed(1 << 32, 1 << 32), 1);
    assert!(Banding::new(1 << 33, 1 << 33, 64).is_err());
}

#[derive(Default)]
struct Progress {
    total: AtomicU64,
    done: AtomicU64,
    largest_step: AtomicU64,
}

impl Observer for Progress {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        if stage == Stage::Join {
            self.total.store(total.unwrap_or(0), Ordering::Relaxed);
        }
    }

    fn advance(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
        self.largest_step.fetch_max(work, Ordering::Relaxed);
    }
}

/// Runs and gives the progress of the join.
fn progress_of(config: &Config, corpus: &Corpus) -> Progress {
    let mut batch = FingerprintBatch::default();
    let (seen, mut fingerprinter) = (SeenTexts::new(), Fingerprinter::new(config));
    for document in corpus.documents() {
        fingerprinter.push(&document.text, &seen, &mut batch);
    }
    let sets = ShingleSets::new(config, vec![batch], corpus.len(), |document| {
        (0, document.index())
    });
    let progress = Progress::default();
    run(config, corpus, sets, Options::default(), &progress).unwrap();
    progress
}

#[test]
fn the_join_ends_at_its_announced_total() {
    let (mut random, mut words) = (Random::new(107), FreshWords::new(107));
    let page = words.words(60).join(" ");
    let near = (0..40).map(|_| near_copy(&page, &mut random, &mut words));
    let mut texts: Vec<String> = near.collect();
    texts.extend(vec![page.clone(); 30]);
    texts.extend((0..40).map(|number| format!("{page} {}", number / 2)));
    let corpus = ranked(&texts);
    for edges in [EdgeListing::All, EdgeListing::Spanning] {
        for keep_numbers in [false, true] {
            let config = Config {
                edges,
                keep_numbers,
                ..sure()
            };
            let progress = progress_of(&config, &corpus);
            let (total, done) = (progress.total.into_inner(), progress.done.into_inner());
            assert!(total > 0);
            assert_eq!(done, total, "{edges}");
        }
    }
}

/// One bucket may hold all of the work: what it has done is told long before its end.
#[test]
fn progress_moves_within_one_bucket() {
    let pages = 4_000;
    let mut words = FreshWords::new(127);
    let page = words.words(40).join(" ");
    let texts: Vec<String> = (0..pages).map(|n| format!("{page} w{n}")).collect();
    let documents = ranked(&texts).documents().to_vec().into_iter();
    let corpus = Corpus::new(documents.map(|d| d.with("topic", "one")).collect()).unwrap();
    for edges in [EdgeListing::All, EdgeListing::Spanning] {
        let config = Config {
            candidates: Candidates::Blocking(BlockKey::Column("topic".into())),
            edges,
            ..Config::default()
        };
        let progress = progress_of(&config, &corpus);
        let (total, largest) = (
            progress.total.into_inner(),
            progress.largest_step.into_inner(),
        );
        assert_eq!(total, pages * (pages - 1) / 2);
        assert!(largest * 5 < total, "{edges}: {largest} of {total} at once");
    }
}
