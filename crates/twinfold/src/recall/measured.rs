//! Measured recall: a run held against the truth, which is a lossless run on the same documents.
//!
//! A *pair* is a pair of documents at or above the threshold by its shingle sets; a pair of classes
//! stands for as many as their sizes' product. Pairs inside a class of equal sets are found by every
//! generator, so the bin of similarity 1 is always whole. Pairs that only the exact instrument sees,
//! equal after NFKC and unlike to the tokenizer, are no pairs here: no generator has to propose them.
//! They do count in the clusters. A pair that both see is one, and found if it was proposed.
//!
//! Cost: one binary search for each true pair of classes.

use serde::Serialize;

use super::bootstrap::{self, Interval};
use crate::candidates::JoinEdges;
use crate::document::DocId;
use crate::edges;
use crate::graph::UnionFind;
use crate::outcome::Outcome;
use crate::score::ScoredPair;
use crate::threshold::Threshold;

/// Ranges of similarity: from the threshold up in steps of a twentieth, and 1 by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins {
    threshold: Threshold,
    below_one: usize,
}

/// The bins of a similarity of 1.
const STEPS: u64 = 20;

impl Bins {
    /// The bins above a threshold.
    pub fn new(threshold: Threshold) -> Self {
        let above = u128::from(threshold.denominator() - threshold.numerator());
        let below_one = (above * u128::from(STEPS)).div_ceil(u128::from(threshold.denominator()));
        Self {
            threshold,
            below_one: below_one as usize,
        }
    }

    /// How many there are, at least one.
    pub fn len(self) -> usize {
        self.below_one + 1
    }

    /// Never: there is always the bin of 1.
    pub fn is_empty(self) -> bool {
        false
    }

    /// The bin of a pair at or above the threshold, by integers.
    pub fn of(self, pair: &ScoredPair) -> usize {
        if pair.intersection == pair.union {
            return self.below_one;
        }
        let [numerator, denominator] =
            [self.threshold.numerator(), self.threshold.denominator()].map(u128::from);
        let (part, whole) = (u128::from(pair.intersection), u128::from(pair.union));
        let above = (part * denominator).saturating_sub(whole * numerator);
        (above * u128::from(STEPS) / (whole * denominator)) as usize
    }

    /// The least similarity of a bin, and where the next begins; both 1 for the last.
    pub fn bounds(self, bin: usize) -> (f64, f64) {
        let [numerator, denominator] =
            [self.threshold.numerator(), self.threshold.denominator()].map(u128::from);
        let steps = u128::from(STEPS);
        let start = |bin: usize| {
            if bin >= self.below_one {
                return 1.0;
            }
            let part = numerator * steps + bin as u128 * denominator;
            part as f64 / (steps * denominator) as f64
        };
        (start(bin), start(bin + 1))
    }
}

/// How many of some true pairs were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// The true pairs.
    pub pairs: u64,
    /// Those that were found.
    pub found: u64,
    /// Their share; none without pairs.
    pub recall: Option<f64>,
    /// The mean over the true pairs of the probability that the generator proposes them; none
    /// without pairs, or where the generator has no curve.
    pub expected: Option<f64>,
    /// The 95% interval of the recall, where the documents are a sample and resampling can tell:
    /// see [`bootstrap::intervals`].
    pub interval: Option<Interval>,
    /// The families that have such pairs: the fewer, the less is known.
    pub families: u64,
}

/// The pairs of a range of similarity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The least similarity in it.
    pub from: f64,
    /// The similarity that lies above it; 1 in the last, which holds the pairs at 1.
    pub to: f64,
    /// The mean similarity of its true pairs.
    pub mean_similarity: Option<f64>,
    /// How many of them were found.
    #[serde(flatten)]
    pub share: Share,
}

/// What a difference in pairs comes to in clusters and documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClusterEffect {
    /// Clusters of two or more.
    pub clusters: u64,
    /// Documents that are kept, the empty ones not counted.
    pub kept: u64,
    /// Those that the truth removes.
    pub kept_wrongly: u64,
    /// Documents that are removed, though the truth keeps them: only stars can do that.
    pub removed_wrongly: u64,
}

/// The counts of each family in each bin: what is resampled. A family is a connected component of the
/// truth's edges, since the pairs of one are found or missed together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Families {
    bins: usize,
    counts: Vec<[u64; 2]>,
}

impl Families {
    /// From (true, found) pairs by bin, family after family. Families without pairs are left out.
    pub fn new(bins: usize, counts: Vec<[u64; 2]>) -> Self {
        let mut families = Self {
            bins,
            counts: Vec::new(),
        };
        for family in counts.chunks_exact(bins) {
            if family.iter().any(|count| count[0] > 0) {
                families.counts.extend_from_slice(family);
            }
        }
        families
    }

    /// The number of families.
    pub fn len(&self) -> usize {
        self.counts.len() / self.bins.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The number of bins.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// The true pairs and the found ones of a family, by bin.
    pub fn counts(&self, family: usize) -> &[[u64; 2]] {
        &self.counts[family * self.bins..(family + 1) * self.bins]
    }
}

/// The recall of a run against the truth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Of all true pairs.
    pub overall: Share,
    /// By similarity.
    pub bins: Vec<Bin>,
    /// Of the clusters.
    #[serde(flatten)]
    pub effect: ClusterEffect,
    /// What the pairs depend on.
    #[serde(skip)]
    pub families: Families,
}

/// Holds `other` against `truth`, a lossless run on the same documents at the same threshold. None if
/// one of them lists only spanning edges, or they are not on as many documents.
pub fn measure(truth: &Outcome, other: &Outcome) -> Option<Measured> {
    let (sets, others) = (truth.sets(), other.sets());
    let every_edge = [truth, other]
        .iter()
        .all(|outcome| outcome.listing() == JoinEdges::All);
    if !every_edge || sets.documents() != others.documents() {
        return None;
    }
    let bins = Bins::new(truth.config().threshold);
    let accepted = other.accepted();
    // Classes are equal sets of documents, and only their numbers may differ: the lossless generator
    // has none for documents without a partner.
    let class = |class: u32| others.class_of(sets.members(class)[0]);
    let is_found = |pair: &ScoredPair| match (class(pair.left), class(pair.right)) {
        (Some(a), Some(b)) => accepted.contains(a, b),
        _ => false,
    };

    let (family_of, families) = families(truth);
    let mut counts = vec![[0u64; 2]; families * bins.len()];
    let mut sums = vec![Sums::default(); bins.len()];
    let mut add = |document: DocId, bin: usize, similarity: f64, pairs: u64, found: u64| {
        let family = family_of[truth.clusters().of(document.0) as usize] as usize;
        let count = &mut counts[family * bins.len() + bin];
        count[0] = count[0].saturating_add(pairs);
        count[1] = count[1].saturating_add(found);
        sums[bin].similarity += similarity * pairs as f64;
        sums[bin].probability = other
            .generator()
            .probability(similarity)
            .map(|probability| sums[bin].probability.unwrap_or(0.0) + probability * pairs as f64);
    };
    for class in 0..sets.classes() as u32 {
        let members = sets.members(class);
        let pairs = edges::pairs(members.len() as u64);
        if pairs > 0 {
            add(members[0], bins.len() - 1, 1.0, pairs, pairs);
        }
    }
    for pair in truth.accepted().iter() {
        let [left, right] = [pair.left, pair.right].map(|class| sets.members(class));
        let pairs = (left.len() as u64).saturating_mul(right.len() as u64);
        let found = if is_found(&pair) { pairs } else { 0 };
        add(left[0], bins.of(&pair), pair.jaccard(), pairs, found);
    }

    let families = Families::new(bins.len(), counts);
    let mut measured = Measured {
        overall: Share::default(),
        bins: Vec::with_capacity(bins.len()),
        effect: effect(truth, other),
        families,
    };
    let mut total = Sums::default();
    for (bin, sums) in sums.iter().enumerate() {
        let (from, to) = bins.bounds(bin);
        let share = measured.families.share(bin..bin + 1, sums);
        total.probability = match (total.probability, sums.probability) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        measured.bins.push(Bin {
            from,
            to,
            mean_similarity: (share.pairs > 0).then(|| sums.similarity / share.pairs as f64),
            share,
        });
    }
    measured.overall = measured.families.share(0..bins.len(), &total);
    Some(measured)
}

/// Sums over the true pairs of a bin.
#[derive(Clone, Copy, Default)]
struct Sums {
    similarity: f64,
    probability: Option<f64>,
}

impl Families {
    fn share(&self, bins: std::ops::Range<usize>, sums: &Sums) -> Share {
        let mut share = Share::default();
        for family in 0..self.len() {
            let (mut pairs, mut found) = (0u64, 0u64);
            for count in &self.counts(family)[bins.clone()] {
                pairs = pairs.saturating_add(count[0]);
                found = found.saturating_add(count[1]);
            }
            share.pairs = share.pairs.saturating_add(pairs);
            share.found = share.found.saturating_add(found);
            share.families += u64::from(pairs > 0);
        }
        if share.pairs > 0 {
            share.recall = Some(share.found as f64 / share.pairs as f64);
            // A mean of ones is one, whatever the sum has lost in its last digits.
            share.expected = sums
                .probability
                .map(|sum| (sum / share.pairs as f64).min(1.0));
        }
        share
    }
}

impl Measured {
    /// Fills in the intervals: for documents that are a sample. `seed` draws the resamples.
    pub fn resample(&mut self, seed: u64) {
        let intervals = bootstrap::intervals(&self.families, seed);
        for (bin, interval) in self.bins.iter_mut().zip(intervals.bins) {
            bin.share.interval = interval;
        }
        self.overall.interval = intervals.overall;
    }
}

/// The family of each of the truth's clusters, and how many there are. Stars part what edges connect,
/// so those of one component are one family.
fn families(truth: &Outcome) -> (Vec<u32>, usize) {
    let (sets, clusters) = (truth.sets(), truth.clusters());
    let mut connected = UnionFind::new(clusters.len());
    for class in 0..sets.classes() as u32 {
        let members = sets.members(class);
        for member in &members[1..] {
            connected.union(clusters.of(members[0].0), clusters.of(member.0));
        }
    }
    for pair in truth.accepted().iter() {
        let [a, b] = [pair.left, pair.right].map(|class| clusters.of(sets.members(class)[0].0));
        connected.union(a, b);
    }
    let groups = connected.into_groups();
    let of = (0..clusters.len() as u32)
        .map(|cluster| groups.of(cluster))
        .collect();
    (of, groups.len())
}

fn effect(truth: &Outcome, other: &Outcome) -> ClusterEffect {
    // How many of the first list, ascending, are not in the second.
    let missing = |from: &Outcome, list: &Outcome| {
        let list = list.removed();
        from.removed()
            .iter()
            .filter(|removed| {
                list.binary_search_by_key(&removed.document, |other| other.document)
                    .is_err()
            })
            .count() as u64
    };
    ClusterEffect {
        clusters: other.counts().clusters,
        kept: other.counts().kept,
        kept_wrongly: missing(truth, other),
        removed_wrongly: missing(other, truth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(intersection: u32, union: u32) -> ScoredPair {
        ScoredPair {
            left: 0,
            right: 1,
            intersection,
            union,
        }
    }

    fn bins(threshold: &str) -> Bins {
        Bins::new(threshold.parse().unwrap())
    }

    #[test]
    fn borders_are_exact() {
        let seventy = bins("0.7");
        assert_eq!(seventy.len(), 7);
        // 0.75 and 0.8 begin bins, though 0.75 - 0.7 is below 0.05 in doubles.
        for (part, whole, bin) in [
            (7, 10, 0),
            (749, 1000, 0),
            (3, 4, 1),
            (4, 5, 2),
            (17, 20, 3),
            (949_999, 1_000_000, 4),
            (19, 20, 5),
            (999, 1000, 5),
            (5, 5, 6),
        ] {
            assert_eq!(seventy.of(&pair(part, whole)), bin, "{part}/{whole}");
        }
        assert_eq!(seventy.bounds(0), (0.7, 0.75));
        assert_eq!(seventy.bounds(5), (0.95, 1.0));
        assert_eq!(seventy.bounds(6), (1.0, 1.0));
        assert_eq!((bins("1").len(), bins("1").bounds(0)), (1, (1.0, 1.0)));
        assert_eq!(bins("0.98").bounds(0), (0.98, 1.0));
        assert_eq!(bins("2/3").len(), 8);
        assert_eq!(bins("0.01").len(), 21);
    }

    proptest! {
        #[test]
        fn a_pair_lies_within_the_bounds_of_its_bin(
            part in 1u32..=u32::MAX, rest in 0u32..1000, numerator in 1u64..1000, more in 0u64..1000
        ) {
            let whole = part.saturating_add(rest);
            let threshold = Threshold::from_ratio(numerator, numerator + more).unwrap();
            prop_assume!(threshold.accepts(u64::from(part), u64::from(whole)));
            let bins = Bins::new(threshold);
            let pair = pair(part, whole);
            let bin = bins.of(&pair);
            prop_assert!(bin < bins.len());
            let (from, to) = bins.bounds(bin);
            prop_assert!(from - 1e-9 <= pair.jaccard() && pair.jaccard() <= to + 1e-9);
            prop_assert_eq!(bin == bins.len() - 1, part == whole);
        }
    }
}
