//! Measured recall against brute force, on every generator and every planted corpus; and what samples
//! say of the whole.

use std::collections::BTreeSet;
use std::sync::Mutex;

use twinfold::config::{Candidates, Config, EdgeListing, Linkage, Lsh};
use twinfold::document::{Corpus, DocId, Documents as _};
use twinfold::pipeline::{self, Options, Unobserved};
use twinfold::recall::{Bins, Measured, Selection, measure, sample};
use twinfold::sketch::{Banding, HashFamily};
use twinfold::{Outcome, deduplicate};
use twinfold_testkit::contract::all_generators;
use twinfold_testkit::oracle::Oracle;
use twinfold_testkit::planted::corpora::Builder;
use twinfold_testkit::planted::{all_corpora, pair_at, template_family};
use twinfold_testkit::random::{FreshWords, Random};

fn config(candidates: &Candidates, linkage: Linkage) -> Config {
    Config {
        candidates: candidates.clone(),
        linkage,
        edges: EdgeListing::All,
        max_pairs: u64::MAX,
        ..Config::default()
    }
}

fn pairs(outcome: &Outcome) -> BTreeSet<(u32, u32)> {
    let mut pairs = BTreeSet::new();
    outcome.for_each_edge(|edge| {
        pairs.insert((edge.left.0, edge.right.0));
    });
    pairs
}

fn removed(outcome: &Outcome) -> BTreeSet<u32> {
    outcome.removed().iter().map(|r| r.document.0).collect()
}

/// Holds a measurement against every pair of the oracle.
fn check(name: &str, oracle: &Oracle, truth: &Outcome, other: &Outcome, measured: &Measured) {
    let threshold = truth.config().threshold;
    let bins = Bins::new(threshold);
    let found = pairs(other);
    let mut counts = vec![(0u64, 0u64, 0.0, 0.0); bins.len()];
    for left in 0..oracle.documents() {
        for right in left + 1..oracle.documents() {
            if oracle.is_empty(left) || !oracle.reaches(left, right, threshold) {
                continue;
            }
            let (intersection, union) = oracle.sizes(left, right);
            let jaccard = f64::from(intersection) / f64::from(union);
            let bin = (0..bins.len())
                .rfind(|&bin| bins.bounds(bin).0 <= jaccard + 1e-12)
                .expect("it is at or above the threshold");
            // Just below a border, and 1 by itself.
            let bin = if bin + 1 == bins.len() && intersection < union {
                bin - 1
            } else {
                bin
            };
            let count = &mut counts[bin];
            count.0 += 1;
            // A pair that only the exact instrument found was not proposed.
            let proposed = found.contains(&(left, right));
            count.1 += u64::from(proposed);
            count.2 += jaccard;
            count.3 += other.generator().probability(jaccard).unwrap_or(f64::NAN);
        }
    }
    let mut total = (0, 0);
    for (bin, &(pairs, found, similarity, probability)) in measured.bins.iter().zip(&counts) {
        assert_eq!(
            bin.share.pairs, pairs,
            "{name}: true pairs from {}",
            bin.from
        );
        assert_eq!(bin.share.found, found, "{name}: found from {}", bin.from);
        assert_eq!(bin.share.recall.is_some(), pairs > 0);
        if let (Some(mean), Some(expected)) = (bin.mean_similarity, bin.share.expected) {
            assert!((mean - similarity / pairs as f64).abs() < 1e-9, "{name}");
            assert!(
                (expected - probability / pairs as f64).abs() < 1e-9,
                "{name}"
            );
        }
        let curve = other.generator().probability(0.9).is_some();
        assert_eq!(bin.share.expected.is_some(), curve && pairs > 0, "{name}");
        total = (total.0 + pairs, total.1 + found);
    }
    assert_eq!(
        (measured.overall.pairs, measured.overall.found),
        total,
        "{name}"
    );
    let effect = measured.effect;
    let (true_removed, other_removed) = (removed(truth), removed(other));
    assert_eq!(
        effect.kept_wrongly,
        true_removed.difference(&other_removed).count() as u64,
        "{name}"
    );
    assert_eq!(
        effect.removed_wrongly,
        other_removed.difference(&true_removed).count() as u64,
        "{name}"
    );
    assert_eq!(
        truth.counts().kept + effect.kept_wrongly,
        effect.kept + effect.removed_wrongly,
        "{name}"
    );
}

#[test]
fn equals_brute_force() {
    for planted in all_corpora() {
        let corpus = planted.corpus();
        let oracle = Oracle::new(&Config::default(), &corpus);
        for linkage in [Linkage::Components, Linkage::Star] {
            let truth = deduplicate(&config(&Candidates::Lossless, linkage), &corpus).unwrap();
            for generator in all_generators() {
                let name = format!("{} on {} ({linkage})", generator.name, planted.name);
                let other = deduplicate(&config(&generator.candidates, linkage), &corpus);
                // A corpus may lack the column to block by.
                let Ok(other) = other else { continue };
                let measured = measure(&truth, &other).expect("both list every edge");
                if planted.name == "compatibility forms" {
                    // Its exact pairs are edges of every generator, and no pairs here.
                    assert!(measured.overall.found <= measured.overall.pairs);
                } else {
                    check(&name, &oracle, &truth, &other, &measured);
                }
                if linkage == Linkage::Components {
                    assert_eq!(measured.effect.removed_wrongly, 0, "{name}");
                }
                if generator.candidates == Candidates::Lossless {
                    for bin in &measured.bins {
                        let whole = (bin.share.pairs > 0).then_some(1.0);
                        assert_eq!(bin.share.recall, whole, "{name}");
                        assert_eq!(bin.share.expected, whole, "{name}");
                    }
                    assert_eq!(measured.effect.kept_wrongly, 0, "{name}");
                }
                let last = measured.bins.last().expect("there is the bin of 1");
                assert_eq!(last.share.pairs, last.share.found, "{name}");
            }
        }
    }
}

#[test]
fn what_cannot_be_compared() {
    let corpus = all_corpora().remove(3).corpus();
    let all = config(&Candidates::Lossless, Linkage::Components);
    let truth = deduplicate(&all, &corpus).unwrap();
    let spanning = Config {
        edges: EdgeListing::Spanning,
        ..all.clone()
    };
    let spanning = deduplicate(&spanning, &corpus).unwrap();
    assert!(measure(&truth, &spanning).is_none());
    let fewer = Corpus::new(corpus.documents()[1..].to_vec()).unwrap();
    assert!(measure(&truth, &deduplicate(&all, &fewer).unwrap()).is_none());
}

#[test]
fn samples_are_of_their_size_spread_evenly_and_free_of_order() {
    let documents = Builder::new("", 1).finish().documents;
    assert!(documents.is_empty());
    let mut builder = Builder::new("numbered", 1);
    builder.unrelated(400, 6);
    let corpus = builder.finish().corpus();
    for size in [0, 1, 2, 100, 399, 400, 1000] {
        let drawn = sample(&corpus, size, 7);
        assert_eq!(drawn.len(), size.min(400));
        assert!(drawn.is_sorted());
        // A smaller sample is part of a larger one.
        let larger = sample(&corpus, size + 10, 7);
        assert!(drawn.iter().all(|document| larger.contains(document)));
    }
    assert_ne!(sample(&corpus, 100, 7), sample(&corpus, 100, 8));
    // Each document comes up in about a quarter of the samples.
    let mut times = vec![0u32; 400];
    for seed in 0..200 {
        for document in sample(&corpus, 100, seed) {
            times[document.index()] += 1;
        }
    }
    assert!(times.iter().all(|&n| (25..=80).contains(&n)), "{times:?}");
    let drawn = sample(&corpus, 3, 7);
    let selection = Selection::new(&corpus, &drawn);
    assert_eq!(selection.len(), 3);
    let titles = selection.column("title").unwrap();
    for (rank, &document) in drawn.iter().enumerate() {
        let here = DocId(rank as u32);
        assert_eq!(selection.id(here), corpus.id(document));
        assert_eq!(selection.title(here), corpus.title(document));
        assert_eq!(
            titles[rank],
            corpus.column("title").unwrap()[document.index()]
        );
    }
    let seen = Mutex::new(Vec::new());
    selection.for_each_text(&|here| here != DocId(1), &|texts| {
        for (here, text) in texts {
            assert_eq!(text, corpus.text(drawn[here.index()]));
            seen.lock().unwrap().push(here);
        }
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, [DocId(0), DocId(2)]);
    assert!(selection.column("nothing").is_none());
}

fn lsh(bands: usize, rows: usize) -> Candidates {
    Candidates::Lsh(Lsh {
        family: HashFamily::Fast,
        banding: Banding::new(bands, rows, bands * rows).expect("they fit"),
        seed: 42,
    })
}

fn measured_on(corpus: &Corpus, ranks: &[DocId], candidates: &Candidates) -> Measured {
    let selection = Selection::new(corpus, ranks);
    let run = |candidates: &Candidates| {
        let config = config(candidates, Linkage::Components);
        let sets = pipeline::fingerprint(&config, &selection, &Unobserved);
        pipeline::run(&config, &selection, sets, Options::default(), &Unobserved)
            .expect("the budget has no end")
    };
    measure(&run(&Candidates::Lossless), &run(candidates)).expect("both list every edge")
}

/// The interval of a sample covers the recall of the whole corpus about as often as it says, though
/// families are of very different sizes.
#[test]
fn intervals_of_samples_cover_the_recall_of_the_whole() {
    let mut builder = Builder::new("families of many sizes", 5);
    let mut random = Random::new(6);
    for _ in 0..500 {
        let percent = 70 + random.below(29);
        let pair = pair_at(&mut FreshWords::new(random.bits()), percent, 100, 60);
        builder.related([pair.left, pair.right]);
    }
    for members in [3, 4, 5, 6, 8, 12].repeat(12) {
        let shared = 60 + random.below(200);
        let texts = template_family(&mut FreshWords::new(random.bits()), members, shared, 8);
        builder.related(texts);
    }
    let corpus = builder.finish().corpus();
    let everything: Vec<DocId> = (0..corpus.len() as u32).map(DocId).collect();
    let candidates = lsh(8, 8);
    let whole = measured_on(&corpus, &everything, &candidates);
    let recall = whole.overall.recall.unwrap();
    assert!((0.5..0.99).contains(&recall), "{recall}");
    let samples = 60;
    let covered = (0..samples)
        .filter(|&seed| {
            let drawn = sample(&corpus, corpus.len() / 2, seed);
            let mut measured = measured_on(&corpus, &drawn, &candidates);
            assert_eq!(measured.overall.interval, None);
            measured.resample(seed);
            let interval = measured.overall.interval.expect("there are many families");
            (interval.low..=interval.high).contains(&recall)
        })
        .count();
    assert!(covered >= 52, "{covered} of {samples}");
}
