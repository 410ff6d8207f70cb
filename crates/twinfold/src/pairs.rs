//! Pairs of classes: sorted, in memory or in a store.
//!
//! A join hands over what it finds while it goes on, so that a run that is bounded
//! holds no more than a run of it. Cost: a sort; 16 bytes for each rejected pair, and 32 for each
//! accepted one, which stands with both its classes.

use std::borrow::Cow;
use std::sync::Arc;

use crate::score::ScoredPair;
use crate::state::{Reader, Writer};
use crate::store::{Room, Sorter, Store, Values};

/// The names of stores.
const PAIRS: &str = "pairs";
const REJECTED: &str = "rejected_pairs";

/// What a join has found so far.
#[derive(Debug)]
pub(crate) struct Found {
    /// With a store each pair stands with both its classes already.
    accepted: Sorter<ScoredPair>,
    rejected: Sorter<ScoredPair>,
    both_ways: bool,
}

impl Found {
    /// Room for up to `most` pairs.
    pub(crate) fn new(most: u64, room: &Room) -> Self {
        /// The share of the room that pairs may take, and a run of them.
        const SHARE: f64 = 0.25;
        let bytes = most.saturating_mul(3 * size_of::<ScoredPair>() as u64);
        let accepted = room.stage_store_if(bytes, SHARE, PAIRS);
        Self {
            both_ways: accepted.is_some(),
            accepted: room.sorter(accepted),
            rejected: room.sorter(room.stage_store_if(bytes, SHARE, REJECTED)),
        }
    }

    /// Takes pairs, which are left empty.
    pub(crate) fn take(&self, accepted: &mut Vec<ScoredPair>, rejected: &mut Vec<ScoredPair>) {
        if self.both_ways {
            let turned: Vec<ScoredPair> = accepted.iter().copied().map(turned).collect();
            accepted.extend(turned);
        }
        self.accepted.take(accepted);
        self.rejected.take(rejected);
    }

    /// The accepted pairs of `classes` classes, and the rejected ones.
    pub(crate) fn finish(self, classes: usize) -> (AcceptedPairs, RejectedPairs) {
        let accepted = self.accepted.finish();
        let accepted = match self.both_ways {
            true => AcceptedPairs::both_ways(classes, accepted),
            false => AcceptedPairs::new(classes, accepted),
        };
        (accepted, RejectedPairs(self.rejected.finish()))
    }
}

/// Writes pairs that are in stores.
pub(crate) fn save(accepted: &AcceptedPairs, rejected: &RejectedPairs, writer: &mut Writer) {
    let starts: Vec<u64> = accepted.starts.iter().map(|&start| start as u64).collect();
    writer.column(&starts);
    writer.stored(&accepted.directed);
    writer.stored(&rejected.0);
}

/// The pairs of [`save`].
pub(crate) fn load(
    reader: &mut Reader<'_>,
    open: &dyn Fn(&str) -> Arc<dyn Store>,
) -> Option<(AcceptedPairs, RejectedPairs)> {
    let starts: Vec<u64> = reader.column()?;
    let accepted = AcceptedPairs {
        starts: starts.into_iter().map(|start| start as usize).collect(),
        directed: reader.stored(&open(PAIRS))?,
    };
    Some((accepted, RejectedPairs(reader.stored(&open(REJECTED))?)))
}

/// The same pair as its other class sees it.
fn turned(pair: ScoredPair) -> ScoredPair {
    ScoredPair {
        left: pair.right,
        right: pair.left,
        ..pair
    }
}

/// The accepted pairs of classes, by class.
#[derive(Clone, Debug)]
pub struct AcceptedPairs {
    /// Where the pairs of each class begin.
    starts: Vec<usize>,
    /// Each pair twice: once with each of its classes on the left. Ascending.
    directed: Values<ScoredPair>,
}

impl Default for AcceptedPairs {
    fn default() -> Self {
        Self::new(0, Values::default())
    }
}

impl AcceptedPairs {
    /// From sorted pairs with the lesser class on the left.
    pub(crate) fn new(classes: usize, pairs: Values<ScoredPair>) -> Self {
        let mut starts = vec![0usize; classes + 1];
        for pair in pairs.iter() {
            starts[pair.left as usize + 1] += 1;
            starts[pair.right as usize + 1] += 1;
        }
        for class in 0..classes {
            starts[class + 1] += starts[class];
        }
        let mut next = starts.clone();
        let nothing = ScoredPair {
            left: 0,
            right: 0,
            intersection: 0,
            union: 0,
        };
        let mut directed = vec![nothing; starts[classes]];
        // Pairs ascend, so those that a class is the greater of come before those of which it is the
        // lesser, and both in the order of the other class.
        for pair in pairs.iter() {
            for pair in [pair, turned(pair)] {
                let at = &mut next[pair.left as usize];
                directed[*at] = pair;
                *at += 1;
            }
        }
        Self {
            starts,
            directed: Values::Held(directed),
        }
    }

    fn both_ways(classes: usize, directed: Values<ScoredPair>) -> Self {
        let mut starts = vec![0usize; classes + 1];
        for pair in directed.iter() {
            starts[pair.left as usize + 1] += 1;
        }
        for class in 0..classes {
            starts[class + 1] += starts[class];
        }
        Self { starts, directed }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.directed.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pairs, each once with the lesser class on the left, ascending.
    pub fn iter(&self) -> impl Iterator<Item = ScoredPair> + '_ {
        self.directed.iter().filter(|pair| pair.left < pair.right)
    }

    /// The pairs of a class, which stands on the left, by the other class.
    pub fn of(&self, class: u32) -> Cow<'_, [ScoredPair]> {
        let class = class as usize;
        self.directed
            .get(self.starts[class]..self.starts[class + 1])
    }

    /// Whether two classes are a pair.
    pub fn contains(&self, a: u32, b: u32) -> bool {
        // The shorter of the two lists.
        let count = |class: u32| self.starts[class as usize + 1] - self.starts[class as usize];
        let (a, b) = if count(a) <= count(b) { (a, b) } else { (b, a) };
        self.of(a)
            .binary_search_by_key(&b, |pair| pair.right)
            .is_ok()
    }
}

/// The scored pairs of classes that are no edges, ascending.
#[derive(Clone, Debug, Default)]
pub struct RejectedPairs(Values<ScoredPair>);

impl RejectedPairs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = ScoredPair> + '_ {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStorage;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_in_memory_and_in_a_store(
            pairs in prop::collection::btree_set((0u32..50, 0u32..50), 0..400),
        ) {
            let mut pairs: Vec<ScoredPair> = pairs
                .into_iter()
                .filter(|(a, b)| a < b)
                .map(|(left, right)| ScoredPair { left, right, intersection: left, union: right })
                .collect();
            let expected = pairs.clone();
            pairs.reverse();
            let bounded = Room {
                bytes: 16,
                storage: Some(Arc::new(MemoryStorage)),
                ..Room::default()
            };
            for room in [Room::default(), bounded] {
                let found = Found::new(pairs.len() as u64, &room);
                for part in pairs.chunks(7) {
                    found.take(&mut part.to_vec(), &mut part.to_vec());
                }
                let (accepted, rejected) = found.finish(50);
                prop_assert!(accepted.iter().eq(expected.iter().copied()));
                prop_assert!(rejected.iter().eq(expected.iter().copied()));
                prop_assert_eq!(accepted.len(), expected.len());
                for a in 0..50 {
                    prop_assert!(accepted.of(a).is_sorted());
                    prop_assert!(accepted.of(a).iter().all(|pair| pair.left == a));
                    for b in 0..50 {
                        let is_pair = expected.iter().any(|p| (p.left, p.right) == (a.min(b), a.max(b)));
                        prop_assert_eq!(accepted.contains(a, b), is_pair);
                    }
                }
            }
        }
    }
}
