//! Stability: the same result on any number of threads, for documents in any order and batch, and
//! whatever room there is in memory.

use std::sync::Arc;

use twinfold::candidates::JoinEdges;
use twinfold::config::EdgeListing;
use twinfold::document::{Corpus, DocId, Documents};
use twinfold::edges::Edge;
use twinfold::fingerprint::{FingerprintBatch, FingerprintStores, Fingerprinter, SeenTexts};
use twinfold::outcome::{Counts, Outcome, Removed};
use twinfold::pipeline::{Options, Unobserved, run};
use twinfold::recall::ExpectedRecall;
use twinfold::sets::ShingleSets;
use twinfold::{MemoryStorage, Room};

use super::{Case, edges_of};
use crate::random::Random;

/// All of an outcome that anyone sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    edges: Vec<Edge>,
    clusters: Vec<Vec<u32>>,
    kept: Vec<DocId>,
    removed: Vec<Removed>,
    empty: Vec<DocId>,
    counts: Counts,
    recall: ExpectedRecall,
}

impl Found {
    /// What an outcome found.
    pub fn of(outcome: &Outcome) -> Self {
        let clusters = outcome.clusters();
        Self {
            edges: edges_of(outcome),
            clusters: clusters.iter().map(<[u32]>::to_vec).collect(),
            kept: (0..clusters.len() as u32)
                .map(|c| outcome.kept(c))
                .collect(),
            removed: outcome.removed().to_vec(),
            empty: outcome.sets().empty().to_vec(),
            counts: outcome.counts().clone(),
            recall: outcome.recall().clone(),
        }
    }
}

/// One, two and five threads find the same.
pub fn any_threads(case: &Case) {
    let spanning = case.with(|config| config.edges = EdgeListing::Spanning);
    for case in [case.listing_all(), spanning] {
        let [one, two, five] = [1, 2, 5].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("some threads can be started");
            pool.install(|| Found::of(&case.run()))
        });
        assert_eq!(one, two, "{}: on two threads", case.name);
        assert_eq!(one, five, "{}: on five threads", case.name);
    }
}

/// Documents that arrive in another order, and are fingerprinted in batches of other sizes, give
/// the same result; and the list of rejected pairs is whole.
pub fn any_order(case: &Case) {
    let spanning = case.with(|config| config.edges = EdgeListing::Spanning);
    for case in [case.listing_all(), spanning] {
        let expected = Found::of(&case.run());
        let mut random = Random::new(17);
        let mut documents = case.corpus.documents().to_vec();
        random.shuffle(&mut documents);
        let shuffled = Corpus::new(documents).expect("the ids were unique before");
        let again = Case {
            corpus: shuffled,
            ..case.clone()
        };
        assert_eq!(Found::of(&again.run()), expected, "{}: shuffled", case.name);

        let outcome = out_of_order(&case, &mut random, &Room::default());
        assert_eq!(Found::of(&outcome), expected, "{}: batched", case.name);
        let bounded = Room {
            bytes: 0,
            storage: Some(Arc::new(MemoryStorage)),
            ..Room::default()
        };
        let again = out_of_order(&case, &mut random, &bounded);
        assert_eq!(Found::of(&again), expected, "{}: bounded", case.name);
        assert_eq!(
            scored_pairs(&again),
            scored_pairs(&outcome),
            "{}: scored pairs, bounded",
            case.name
        );
        if outcome.listing() == JoinEdges::All {
            assert_eq!(
                (outcome.accepted().len() + outcome.rejected().len()) as u64,
                outcome.counts().scored_class_pairs,
                "{}: accepted and rejected pairs",
                case.name
            );
        }
    }
}

fn scored_pairs(outcome: &Outcome) -> Vec<(Edge, bool)> {
    let mut pairs = Vec::new();
    outcome.for_each_scored_pair(|edge, is_edge| pairs.push((edge, is_edge)));
    pairs
}

/// A run on fingerprints that were made in a random order and in batches of random sizes, some of
/// which are spilled at once where there is a storage.
fn out_of_order(case: &Case, random: &mut Random, room: &Room) -> Outcome {
    let stores = room.storage.as_ref().map(|s| FingerprintStores::new(&**s));
    let documents = case.corpus.len();
    let mut order: Vec<usize> = (0..documents).collect();
    random.shuffle(&mut order);
    let seen = SeenTexts::new();
    let mut fingerprinter = Fingerprinter::new(&case.config);
    let mut origin = vec![(0, 0); documents];
    // The first batch is empty: a file can be.
    let mut batches = vec![FingerprintBatch::default()];
    let mut rest = &order[..];
    while !rest.is_empty() {
        let (now, later) = rest.split_at((1 + random.below(40)).min(rest.len()));
        rest = later;
        let mut batch = FingerprintBatch::default();
        for (row, &rank) in now.iter().enumerate() {
            let text = case.corpus.text(DocId(rank as u32));
            fingerprinter.push(text, &seen, &mut batch);
            origin[rank] = (batches.len(), row);
        }
        if let Some(stores) = &stores
            && (batches.len() == 1 || random.below(2) == 0)
        {
            batch.spill(stores);
        }
        batches.push(batch);
    }
    let sets = ShingleSets::bounded(
        &case.config,
        batches,
        stores.as_ref(),
        documents,
        |document| origin[document.index()],
        room,
    );
    let options = Options {
        list_rejected: true,
        room: room.clone(),
    };
    run(&case.config, &case.corpus, sets, options, &Unobserved)
        .unwrap_or_else(|error| panic!("{}: {error}", case.name))
}
