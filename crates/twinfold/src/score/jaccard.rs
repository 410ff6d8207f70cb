//! Exact Jaccard similarity of shingle sets.

use twinfold_kernels::{intersection_at_least, intersection_size};

use crate::sets::ShingleSets;
use crate::threshold::Threshold;

/// Two classes of documents and the exact sizes that their similarity is the ratio of.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::NoUninit, bytemuck::AnyBitPattern,
)]
#[repr(C)]
pub struct ScoredPair {
    /// The lesser class.
    pub left: u32,
    /// The greater class.
    pub right: u32,
    /// The shingles that both have.
    pub intersection: u32,
    /// The shingles that either has.
    pub union: u32,
}

impl ScoredPair {
    /// Intersection over union, in IEEE double.
    pub fn jaccard(&self) -> f64 {
        f64::from(self.intersection) / f64::from(self.union)
    }

    /// Whether the similarity is at or above the threshold, by integers.
    pub fn reaches(&self, threshold: Threshold) -> bool {
        threshold.accepts(u64::from(self.intersection), u64::from(self.union))
    }
}

/// Scores pairs of classes.
#[derive(Clone, Copy, Debug)]
pub struct Verifier<'a> {
    sets: &'a ShingleSets,
    threshold: Threshold,
}

impl<'a> Verifier<'a> {
    /// A verifier over `sets`.
    pub fn new(sets: &'a ShingleSets, threshold: Threshold) -> Self {
        Self { sets, threshold }
    }

    /// The score of a pair, whatever it is.
    pub fn score(&self, a: u32, b: u32) -> ScoredPair {
        let (x, y) = (self.sets.set(a), self.sets.set(b));
        scored(a, b, x.len() + y.len(), intersection_size(&x, &y))
    }

    /// Whether a scored pair is an edge: it is at or above the threshold, and differs in no number
    /// where numbers are to be kept.
    pub fn accepts(&self, pair: &ScoredPair) -> bool {
        pair.reaches(self.threshold)
            && self.sets.number_key(pair.left) == self.sets.number_key(pair.right)
    }

    /// The score of a pair if it is at or above the threshold; a pair below it costs less than its
    /// score would.
    pub fn score_if_reached(&self, a: u32, b: u32) -> Option<ScoredPair> {
        let (x, y) = (self.sets.set_len(a), self.sets.set_len(b));
        let needed = self.threshold.overlap_needed(x, y);
        if x.min(y) < needed || self.sets.least_difference(a, b) > x + y - 2 * needed {
            return None;
        }
        intersection_at_least(&self.sets.set(a), &self.sets.set(b), needed)
            .map(|shared| scored(a, b, x + y, shared))
    }

    /// The threshold.
    pub fn threshold(&self) -> Threshold {
        self.threshold
    }
}

fn scored(a: u32, b: u32, sizes: usize, shared: usize) -> ScoredPair {
    ScoredPair {
        left: a.min(b),
        right: a.max(b),
        intersection: shared as u32,
        union: (sizes - shared) as u32,
    }
}
