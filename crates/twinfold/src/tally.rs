//! The listed edges counted by kind and by cluster.
//!
//! Edges between copies are as many as the square of the copies, so where every edge is listed they
//! are counted by class, and not one by one. Cost: linear in documents and accepted pairs of classes.

use std::collections::HashMap;

use crate::candidates::JoinEdges;
use crate::document::DocId;
use crate::edges::{self, Instrument};
use crate::graph::Groups;
use crate::labels::Labels;
use crate::outcome::Outcome;
use crate::score::{ScoredPair, Verifier};

/// Edges of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// The edges.
    pub pairs: u64,
    /// Of those, edges within one domain; none where there are no domains.
    pub same_domain: u64,
}

/// The edges within one cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterEdges {
    /// The edges.
    pub edges: u64,
    /// The least similarity of any.
    pub weakest_jaccard: Option<f64>,
    /// The least share of equal signature values of any, where there are signatures.
    pub weakest_overlap: Option<f64>,
}

/// The listed edges of a run, counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Pairs of equal texts.
    pub exact: EdgeCounts,
    /// The other edges.
    pub near: EdgeCounts,
    /// By cluster. Stars may part what an edge connects: such an edge is in no cluster.
    pub clusters: Vec<ClusterEdges>,
}

impl ClusterEdges {
    fn add(&mut self, edges: u64, jaccard: f64, overlap: Option<f64>) {
        if edges == 0 {
            return;
        }
        let least = |a: Option<f64>, b: f64| Some(a.map_or(b, |a| a.min(b)));
        self.edges = self.edges.saturating_add(edges);
        self.weakest_jaccard = least(self.weakest_jaccard, jaccard);
        if let Some(overlap) = overlap {
            self.weakest_overlap = least(self.weakest_overlap, overlap);
        }
    }
}

impl EdgeCounts {
    fn add(&mut self, pairs: u64, same_domain: u64) {
        self.pairs = self.pairs.saturating_add(pairs);
        self.same_domain = self.same_domain.saturating_add(same_domain);
    }
}

impl Tally {
    pub(crate) fn new(outcome: &Outcome) -> Self {
        let mut tally = Self {
            clusters: vec![ClusterEdges::default(); outcome.clusters().len()],
            ..Self::default()
        };
        match outcome.listing() {
            JoinEdges::All => tally.count_classes(outcome),
            JoinEdges::Spanning => outcome.for_each_edge(|edge| {
                tally.add_edge(outcome, edge.left, edge.right, edge.instrument, &edge.pair);
            }),
        }
        tally
    }

    fn add_edge(
        &mut self,
        outcome: &Outcome,
        left: DocId,
        right: DocId,
        instrument: Instrument,
        pair: &ScoredPair,
    ) {
        let domain = |labels: &Labels| labels.number(left) == labels.number(right);
        let same_domain = outcome.domains().is_some_and(domain);
        let counts = match instrument {
            Instrument::Exact => &mut self.exact,
            Instrument::Shingles => &mut self.near,
        };
        counts.add(1, u64::from(same_domain));
        let cluster = outcome.clusters().of(left.0);
        if cluster == outcome.clusters().of(right.0) {
            let overlap = outcome.signature_overlap(pair);
            self.clusters[cluster as usize].add(1, pair.jaccard(), overlap);
        }
    }

    fn count_classes(&mut self, outcome: &Outcome) {
        let sets = outcome.sets();
        let text = |document| sets.exact_first(document);
        let clusters = outcome.clusters();
        let homes: Vec<Option<u32>> = (0..sets.classes() as u32)
            .map(|class| only_cluster(sets.members(class), clusters))
            .collect();

        for class in 0..sets.classes() as u32 {
            let members = sets.members(class);
            if members.len() < 2 {
                continue;
            }
            let pairs = edges::pairs(members.len() as u64);
            let exact = edges::equal_pairs_within(members, text);
            let (mut same, mut same_exact) = (0, 0);
            if let Some(labels) = outcome.domains() {
                let domain = |document| labels.number(document);
                same = edges::equal_pairs_within(members, domain);
                same_exact = edges::equal_pairs_within(members, |document| {
                    (text(document), domain(document))
                });
            }
            self.exact.add(exact, same_exact);
            self.near.add(pairs - exact, same - same_exact);
            let overlap = (sets.lanes() > 0).then_some(1.0);
            for (cluster, count) in by_cluster(members, homes[class as usize], clusters) {
                self.clusters[cluster as usize].add(edges::pairs(count), 1.0, overlap);
            }
        }

        for pair in outcome.accepted().iter() {
            let (left, right) = (sets.members(pair.left), sets.members(pair.right));
            let pairs = left.len() as u64 * right.len() as u64;
            let exact = edges::equal_pairs(left, right, text);
            let (mut same, mut same_exact) = (0, 0);
            if let Some(labels) = outcome.domains() {
                let domain = |document| labels.number(document);
                same = edges::equal_pairs(left, right, domain);
                if exact > 0 {
                    same_exact = edges::equal_pairs(left, right, |document| {
                        (text(document), domain(document))
                    });
                }
            }
            self.exact.add(exact, same_exact);
            self.near.add(pairs - exact, same - same_exact);
            let homes = [pair.left, pair.right].map(|class| homes[class as usize]);
            if let [Some(a), Some(b)] = homes {
                if a == b {
                    let overlap = outcome.signature_overlap(&pair);
                    self.clusters[a as usize].add(pairs, pair.jaccard(), overlap);
                }
                continue;
            }
            let overlap = outcome.signature_overlap(&pair);
            let others: HashMap<u32, u64> = by_cluster(right, homes[1], clusters).collect();
            for (cluster, count) in by_cluster(left, homes[0], clusters) {
                let edges = count * others.get(&cluster).copied().unwrap_or(0);
                self.clusters[cluster as usize].add(edges, pair.jaccard(), overlap);
            }
        }

        let verifier = Verifier::new(sets, outcome.config().threshold);
        for &(left, right) in outcome.exact_across_classes() {
            if let (Some(a), Some(b)) = (sets.class_of(left), sets.class_of(right)) {
                let pair = verifier.score(a, b);
                self.add_edge(outcome, left, right, Instrument::Exact, &pair);
            }
        }
    }
}

/// The cluster of the members of a class, if it is the same for all. Stars part a class where one of
/// its members has the text of a centre and the others do not.
fn only_cluster(members: &[DocId], clusters: &Groups) -> Option<u32> {
    let first = clusters.of(members[0].0);
    let same = members[1..]
        .iter()
        .all(|member| clusters.of(member.0) == first);
    same.then_some(first)
}

/// The clusters of the members of a class, each with the number of members in it.
fn by_cluster(
    members: &[DocId],
    only: Option<u32>,
    clusters: &Groups,
) -> impl Iterator<Item = (u32, u64)> {
    let counts: Vec<(u32, u64)> = match only {
        Some(cluster) => vec![(cluster, members.len() as u64)],
        None => {
            let mut all: Vec<u32> = members.iter().map(|member| clusters.of(member.0)).collect();
            all.sort_unstable();
            all.chunk_by(|a, b| a == b)
                .map(|run| (run[0], run.len() as u64))
                .collect()
        }
    };
    counts.into_iter()
}
