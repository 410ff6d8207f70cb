//! What a run found: edges, clusters, the kept and the removed, and the counts of all that.

use serde::Serialize;

use crate::candidates::{CandidateGenerator, Guarantee, JoinEdges, Joined, Slots};
use crate::config::{Config, Linkage};
use crate::document::DocId;
use crate::edges::{self, Edge, ExactPairs, Instrument};
use crate::graph::Groups;
use crate::labels::Labels;
use crate::pairs::{AcceptedPairs, RejectedPairs};
use crate::pipeline::Plan;
use crate::recall::ExpectedRecall;
use crate::represent::KeepOrder;
use crate::score::{ScoredPair, Verifier};
use crate::sets::ShingleSets;
use crate::store::Room;
use crate::tally::Tally;

/// A document that is not kept, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Removed {
    /// The document.
    pub document: DocId,
    /// The member of its cluster that is kept.
    pub kept: DocId,
    /// Their cluster.
    pub cluster: u32,
    /// What compares them.
    pub instrument: Instrument,
    /// Their exact score against each other: 1 for equal texts, else the Jaccard similarity.
    pub score: f64,
    /// Whether they match each other directly, and not only by way of other members.
    pub direct: bool,
}

impl Removed {
    pub(crate) fn new(
        document: DocId,
        kept: DocId,
        cluster: u32,
        sets: &ShingleSets,
        verifier: &Verifier<'_>,
    ) -> Self {
        let (instrument, score, direct) = if sets.exact_first(document) == sets.exact_first(kept) {
            (Instrument::Exact, 1.0, true)
        } else {
            match (sets.class_of(document), sets.class_of(kept)) {
                (Some(a), Some(b)) if a == b => (Instrument::Shingles, 1.0, true),
                (Some(a), Some(b)) => {
                    let pair = verifier.score(a, b);
                    (
                        Instrument::Shingles,
                        pair.jaccard(),
                        verifier.accepts(&pair),
                    )
                }
                // Documents without shingles are in no cluster with others.
                _ => (Instrument::Shingles, 0.0, false),
            }
        };
        Self {
            document,
            kept,
            cluster,
            instrument,
            score,
            direct,
        }
    }
}

/// The kept document of each cluster and all that are not kept.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    of_cluster: Vec<DocId>,
    removed: Vec<Removed>,
}

impl Kept {
    /// Those that are not kept, by id.
    pub(crate) fn removed(&self) -> &[Removed] {
        &self.removed
    }

    pub(crate) fn new(parts: Vec<(DocId, Vec<Removed>)>) -> Self {
        let mut kept = Self::default();
        for (representative, removed) in parts {
            kept.of_cluster.push(representative);
            kept.removed.extend(removed);
        }
        kept.removed
            .sort_unstable_by_key(|removed| removed.document);
        kept
    }
}

/// The counts of a run. Pairs and edges are of documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Documents with a place in the graph: all but the empty ones.
    pub documents: u64,
    /// Documents without a shingle.
    pub empty_documents: u64,
    /// Pairs among the documents.
    pub possible_pairs: u64,
    /// Slots that the generator counted.
    pub pair_slots: u64,
    /// Pairs that were proposed, those of equal sets included. With spanning edges, pairs that
    /// were connected already are not proposed.
    pub candidate_pairs: u64,
    /// Of those, pairs within one domain, where there are domains.
    pub same_domain_candidates: Option<u64>,
    /// Pairs of classes of equal sets that were scored.
    pub scored_class_pairs: u64,
    /// Slots that were skipped because their pair was connected already.
    pub skipped_slots: u64,
    /// Listed edges.
    pub duplicate_pairs: u64,
    /// Of those, pairs of equal texts.
    pub exact_pairs: u64,
    /// The other edges.
    pub near_pairs: u64,
    /// Of the near pairs, those that are the same but for numbers.
    pub numeric_pairs: u64,
    /// Pairs at or above the threshold that were refused because they differ in a number; none where
    /// they were not counted, since not every edge is listed or they are too many to be looked at.
    pub refused_for_numbers: Option<u64>,
    /// Of the edges, those within one domain, where there are domains.
    pub same_domain_duplicates: Option<u64>,
    /// Clusters of two or more.
    pub clusters: u64,
    /// Documents alone, the empty ones not counted.
    pub singletons: u64,
    /// The members of the largest cluster.
    pub largest_cluster: u64,
    /// Documents that are kept, the empty ones not counted.
    pub kept: u64,
    /// Documents that are removed.
    pub removed: u64,
    /// Of those, documents that match the kept one only by way of others.
    pub removed_indirectly: u64,
}

impl Counts {
    /// The share of the possible pairs that was not proposed; none without pairs.
    pub fn reduction_ratio(&self) -> Option<f64> {
        (self.possible_pairs > 0)
            .then(|| 1.0 - self.candidate_pairs as f64 / self.possible_pairs as f64)
    }
}

/// What the stages of a run found.
pub(crate) struct Found {
    pub(crate) config: Config,
    pub(crate) sets: ShingleSets,
    pub(crate) generator: Box<dyn CandidateGenerator>,
    pub(crate) plan: Plan,
    pub(crate) domains: Option<Labels>,
    pub(crate) joined: Joined,
    pub(crate) accepted: AcceptedPairs,
    pub(crate) rejected: RejectedPairs,
    pub(crate) exact: ExactPairs,
    pub(crate) clusters: Groups,
    pub(crate) kept: Kept,
    pub(crate) keep_order: KeepOrder,
    pub(crate) recall: ExpectedRecall,
    pub(crate) numeric_pairs: u64,
    pub(crate) room: Room,
}

/// A pair of documents while pairs are sorted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::NoUninit, bytemuck::AnyBitPattern,
)]
#[repr(C)]
struct ScoredRow {
    left: u32,
    right: u32,
    pair: ScoredPair,
    is_edge: u32,
}

impl ScoredRow {
    fn new(left: DocId, right: DocId, pair: ScoredPair, is_edge: bool) -> Self {
        Self {
            left: left.0,
            right: right.0,
            pair,
            is_edge: u32::from(is_edge),
        }
    }
}

/// Everything that a run found, counted.
pub struct Outcome {
    found: Found,
    counts: Counts,
    tally: Tally,
}

impl Outcome {
    /// Counts what was found.
    pub(crate) fn new(found: Found) -> Self {
        let mut outcome = Self {
            found,
            counts: Counts::default(),
            tally: Tally::default(),
        };
        outcome.tally = Tally::new(&outcome);
        outcome.counts = outcome.count();
        outcome
    }

    fn count(&self) -> Counts {
        let sets = &self.found.sets;
        let empty = sets.empty().len() as u64;
        let documents = sets.documents() as u64 - empty;
        let within = edges::pairs_within_classes(sets);
        let mut counts = Counts {
            documents,
            empty_documents: empty,
            possible_pairs: edges::pairs(documents),
            pair_slots: self.found.plan.slots.slots,
            candidate_pairs: within.saturating_add(self.found.joined.proposed_documents),
            scored_class_pairs: self.found.joined.scored,
            skipped_slots: self.found.joined.skipped,
            numeric_pairs: self.found.numeric_pairs,
            refused_for_numbers: (self.found.plan.count_refused || !self.found.config.keep_numbers)
                .then_some(self.found.joined.refused_for_numbers),
            removed: self.found.kept.removed.len() as u64,
            removed_indirectly: self.found.kept.removed.iter().filter(|r| !r.direct).count() as u64,
            ..Counts::default()
        };
        for cluster in self.found.clusters.iter() {
            counts.largest_cluster = counts.largest_cluster.max(cluster.len() as u64);
            if cluster.len() > 1 {
                counts.clusters += 1;
            } else {
                counts.singletons += 1;
            }
        }
        // Every empty document is a cluster of its own.
        counts.singletons -= empty;
        if documents == 0 {
            counts.largest_cluster = 0;
        }
        counts.kept = counts.clusters + counts.singletons;
        let (exact, near) = (self.tally.exact, self.tally.near);
        counts.exact_pairs = exact.pairs;
        counts.near_pairs = near.pairs;
        counts.duplicate_pairs = exact.pairs.saturating_add(near.pairs);
        if let Some(domains) = &self.found.domains {
            counts.same_domain_duplicates =
                Some(exact.same_domain.saturating_add(near.same_domain));
            // Candidates: those that were looked at, and all pairs of equal sets.
            let within_same = (0..sets.classes() as u32).fold(0u64, |sum, class| {
                let domain = |document| domains.number(document);
                sum.saturating_add(edges::equal_pairs_within(sets.members(class), domain))
            });
            counts.same_domain_candidates =
                Some(within_same.saturating_add(self.found.joined.proposed_same_domain));
        }
        counts
    }

    /// Calls `visit` with each listed edge, ascending by left and right document.
    ///
    /// With every edge listed, those are all accepted pairs; else a choice that connects each
    /// cluster: each class is a star around its smallest member, and classes are joined by their
    /// smallest members. With star linkage the choice is each removed document and the kept one.
    ///
    /// Cost: linear in the edges, which are as many as the square of the copies where every edge is
    /// listed; [`Outcome::tally`] has their counts for less.
    pub fn for_each_edge(&self, mut visit: impl FnMut(Edge)) {
        let sets = &self.found.sets;
        if self.listing() == JoinEdges::Spanning && self.found.config.linkage == Linkage::Star {
            return self.for_each_removal(visit);
        }
        let exact = edges::document_adjacency(self.found.exact.documents());
        let verifier = Verifier::new(sets, self.found.config.threshold);
        let mut found: Vec<(DocId, ScoredPair)> = Vec::new();
        for rank in 0..sets.documents() as u32 {
            let left = DocId(rank);
            let Some(class) = sets.class_of(left) else {
                continue;
            };
            let members = sets.members(class);
            found.clear();
            if self.found.plan.listing == JoinEdges::All || members[0] == left {
                let later = members.partition_point(|&member| member <= left);
                found.extend(
                    members[later..]
                        .iter()
                        .map(|&right| (right, self.identical(class))),
                );
            }
            for directed in &*self.found.accepted.of(class) {
                let others = sets.members(directed.right);
                let pair = ScoredPair {
                    left: directed.left.min(directed.right),
                    right: directed.left.max(directed.right),
                    ..*directed
                };
                match self.found.plan.listing {
                    JoinEdges::All => {
                        let later = others.partition_point(|&member| member <= left);
                        found.extend(others[later..].iter().map(|&right| (right, pair)));
                    }
                    JoinEdges::Spanning => {
                        if members[0] == left && others[0] > left {
                            found.push((others[0], pair));
                        }
                    }
                }
            }
            for &right in exact
                .get(&left)
                .into_iter()
                .flatten()
                .filter(|&&right| right > left)
            {
                if let Some(other) = sets.class_of(right) {
                    found.push((right, verifier.score(class, other)));
                }
            }
            found.sort_unstable();
            for &(right, pair) in &found {
                visit(self.edge(left, right, pair));
            }
        }
    }

    /// Calls `visit` with the edge from each removed document to the kept one, ascending.
    fn for_each_removal(&self, visit: impl FnMut(Edge)) {
        let sets = &self.found.sets;
        let verifier = Verifier::new(sets, self.found.config.threshold);
        let pairs = self.removed().iter().filter_map(|removed| {
            let pair = match (sets.class_of(removed.document), sets.class_of(removed.kept)) {
                (Some(a), Some(b)) if a == b => self.identical(a),
                (Some(a), Some(b)) => verifier.score(a, b),
                // Documents without shingles are in no cluster with others.
                _ => return None,
            };
            let (left, right) = (removed.document, removed.kept);
            Some(self.edge(left.min(right), left.max(right), pair))
        });
        let mut edges: Vec<Edge> = pairs.collect();
        edges.sort_unstable_by_key(|edge| (edge.left, edge.right));
        edges.into_iter().for_each(visit);
    }

    /// Calls `visit` with each pair of documents that was scored or found equal, ascending, and
    /// whether it is a listed edge. Pairs that are not are there if they were asked for.
    pub fn for_each_scored_pair(&self, mut visit: impl FnMut(Edge, bool)) {
        /// Pairs that are sorted in at a time.
        const PAIRS: usize = 1 << 16;
        let sets = &self.found.sets;
        /// The share of the room that they may take.
        const SHARE: f64 = 0.25;
        let room = &self.found.room;
        let counts = &self.counts;
        let most = counts
            .candidate_pairs
            .saturating_add(counts.duplicate_pairs);
        let bytes = most.saturating_mul(size_of::<ScoredRow>() as u64);
        let sorter = room.sorter(room.store_if(bytes, SHARE, "scored_pairs"));
        let mut rows: Vec<ScoredRow> = Vec::new();
        let mut push = |row: ScoredRow| {
            rows.push(row);
            if rows.len() == PAIRS {
                sorter.take(&mut rows);
            }
        };
        self.for_each_edge(|edge| push(ScoredRow::new(edge.left, edge.right, edge.pair, true)));
        for pair in self.found.rejected.iter() {
            for &a in sets.members(pair.left) {
                for &b in sets.members(pair.right) {
                    // Equal texts with unlike sets are edges already.
                    if sets.exact_first(a) != sets.exact_first(b) {
                        push(ScoredRow::new(a.min(b), a.max(b), pair, false));
                    }
                }
            }
        }
        sorter.take(&mut rows);
        for row in sorter.finish().iter() {
            let edge = self.edge(DocId(row.left), DocId(row.right), row.pair);
            visit(edge, row.is_edge != 0);
        }
    }

    fn edge(&self, left: DocId, right: DocId, pair: ScoredPair) -> Edge {
        let sets = &self.found.sets;
        let same = sets.exact_first(left) == sets.exact_first(right);
        Edge {
            left,
            right,
            instrument: if same {
                Instrument::Exact
            } else {
                Instrument::Shingles
            },
            pair,
        }
    }

    /// A pair within a class.
    fn identical(&self, class: u32) -> ScoredPair {
        let size = self.found.sets.set(class).len() as u32;
        ScoredPair {
            left: class,
            right: class,
            intersection: size,
            union: size,
        }
    }

    /// The values in which the signatures of a pair of classes agree, and the values that each has;
    /// none without signatures.
    pub fn signature_agreement(&self, pair: &ScoredPair) -> Option<(u64, u64)> {
        let sets = &self.found.sets;
        let left = sets.signature(pair.left);
        let lanes = left.len() as u64;
        let equal = match pair.left == pair.right {
            true => lanes,
            false => left
                .iter()
                .zip(&*sets.signature(pair.right))
                .filter(|(a, b)| a == b)
                .count() as u64,
        };
        (lanes > 0).then_some((equal, lanes))
    }

    /// The share of signature values in which the classes of a pair agree, where there are
    /// signatures.
    pub fn signature_overlap(&self, pair: &ScoredPair) -> Option<f64> {
        let (equal, lanes) = self.signature_agreement(pair)?;
        Some(equal as f64 / lanes as f64)
    }

    /// The pairs of equal texts with unlike sets that no accepted pair of classes stands for.
    pub(crate) fn exact_across_classes(&self) -> &[(DocId, DocId)] {
        self.found.exact.documents()
    }

    /// The listed edges, counted by kind and cluster.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The domains of the documents, where there is such a column.
    pub fn domains(&self) -> Option<&Labels> {
        self.found.domains.as_ref()
    }

    /// The configuration of the run.
    pub fn config(&self) -> &Config {
        &self.found.config
    }

    /// The fingerprints.
    pub fn sets(&self) -> &ShingleSets {
        &self.found.sets
    }

    /// The candidate generator.
    pub fn generator(&self) -> &dyn CandidateGenerator {
        &*self.found.generator
    }

    /// What the generator promises.
    pub fn guarantee(&self) -> Guarantee {
        self.found.generator.guarantee()
    }

    /// What was to be looked at, counted before the join.
    pub fn slots(&self) -> &Slots {
        &self.found.plan.slots
    }

    /// Whether every edge is listed.
    pub fn listing(&self) -> JoinEdges {
        self.found.plan.listing
    }

    /// The accepted pairs of classes.
    pub fn accepted(&self) -> &AcceptedPairs {
        &self.found.accepted
    }

    /// The other scored pairs of classes, where they were asked for.
    pub fn rejected(&self) -> &RejectedPairs {
        &self.found.rejected
    }

    /// The clusters, singletons included, by their smallest member.
    pub fn clusters(&self) -> &Groups {
        &self.found.clusters
    }

    /// The kept document of a cluster.
    pub fn kept(&self, cluster: u32) -> DocId {
        self.found.kept.of_cluster[cluster as usize]
    }

    /// The documents that are not kept, by id.
    pub fn removed(&self) -> &[Removed] {
        &self.found.kept.removed
    }

    /// What could not be read while ordering documents by the keep rule.
    pub fn keep_order(&self) -> &KeepOrder {
        &self.found.keep_order
    }

    /// The recall that the generator's settings give.
    pub fn recall(&self) -> &ExpectedRecall {
        &self.found.recall
    }

    /// The counts.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outcome")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
