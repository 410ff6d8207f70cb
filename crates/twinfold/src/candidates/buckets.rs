//! Joins over memberships: classes that share a key are looked at in pairs.
//!
//! The rows are sorted by (key, class); each run of one key is a bucket. Memory: 16 bytes a row.
//!
//! Where numbers are to be kept, only classes with the same numbers can be an edge. So the rows of a
//! bucket are sorted by their numbers first, and each run of equal numbers is joined by itself: a
//! family of pages of one template, each with numbers of its own, costs no comparison at all. That a
//! pair was refused is then not known. Where a caller wants refusals counted, whole buckets are
//! joined, which takes time in proportion to their pairs.
//!
//! Listing every edge takes time in proportion to the slots. Listing spanning edges takes less: in
//! a bucket the classes seen so far are kept in groups that are known to be connected, and a class
//! that matches one member of a group skips the rest of it. A bucket of near-copies then costs one
//! score for each class; only pairs that really are apart have to be looked at one by one.
//!
//! Determinism: buckets are taken in waves of a fixed size. Within a wave they are joined in
//! parallel against what was connected before it, and their edges are then applied in order, so
//! the choice of spanning edges does not depend on the number of threads.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{JoinEdges, JoinRequest, Joined, Memberships, Slots};
use crate::edges;
use crate::graph::UnionFind;
use crate::score::ScoredPair;
use crate::sets::ShingleSets;

/// A key and the classes that have it, or those of them that have the same numbers.
#[derive(Clone, Copy, Debug)]
pub struct Bucket<'a> {
    /// The key.
    pub key: u64,
    rows: &'a [(u64, u32)],
}

impl<'a> Bucket<'a> {
    /// The parts whose classes have the same numbers: one, unless numbers are to be kept.
    fn by_numbers(self, sets: &'a ShingleSets) -> impl Iterator<Item = Bucket<'a>> {
        let key = self.key;
        self.rows
            .chunk_by(|a, b| sets.number_key(a.1) == sets.number_key(b.1))
            .map(move |rows| Bucket { key, rows })
    }

    /// The classes, ascending; by their numbers first, where numbers are to be kept.
    pub fn classes(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().map(|row| row.1)
    }
}

/// How often a pair of documents with equal sets counts among the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EqualSets {
    /// Under each of its keys: they follow from the set.
    UnderEachKey,
    /// Once, whether or not the two share a key: their keys follow from something else.
    Once,
}

/// The rows of a membership relation by key.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    rows: Vec<(u64, u32)>,
}

impl Buckets {
    pub(crate) fn new(memberships: &Memberships, sets: &ShingleSets) -> Self {
        let mut rows = Vec::with_capacity(memberships.len());
        for class in 0..memberships.classes() as u32 {
            rows.extend(memberships.keys(class).iter().map(|&key| (key, class)));
        }
        rows.par_sort_unstable();
        if keeps_numbers(sets) {
            rows.par_chunk_by_mut(|a, b| a.0 == b.0).for_each(|rows| {
                rows.sort_unstable_by_key(|&(_, class)| (sets.number_key(class), class));
            });
        }
        Self { rows }
    }

    /// What a join takes one by one: buckets, or their parts of equal numbers; none of one class.
    fn units<'a>(&'a self, sets: &'a ShingleSets, count_refused: bool) -> Vec<Bucket<'a>> {
        let more_than_one = |bucket: &Bucket<'_>| bucket.rows.len() > 1;
        let whole = self.iter().filter(more_than_one);
        if count_refused || !keeps_numbers(sets) {
            return whole.collect();
        }
        whole
            .flat_map(|bucket| bucket.by_numbers(sets))
            .filter(more_than_one)
            .collect()
    }

    /// The buckets by key, those of a single class included.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Bucket<'_>> {
        self.rows.chunk_by(|a, b| a.0 == b.0).map(|rows| Bucket {
            key: rows[0].0,
            rows,
        })
    }

    /// Counts what a join will look at, in documents, and which key the most documents share.
    pub(crate) fn slots(
        &self,
        sets: &ShingleSets,
        equal: EqualSets,
        label: &dyn Fn(u64) -> String,
    ) -> Slots {
        count_slots(self.iter(), sets, equal, label)
    }

    /// As [`Buckets::slots`], for a join that passes over pairs that differ in a number.
    pub(crate) fn slots_of_equal_numbers(
        &self,
        sets: &ShingleSets,
        equal: EqualSets,
        label: &dyn Fn(u64) -> String,
    ) -> Slots {
        let parts = self.iter().flat_map(|bucket| bucket.by_numbers(sets));
        count_slots(parts, sets, equal, label)
    }

    pub(crate) fn join(&self, memberships: &Memberships, request: &JoinRequest<'_>) -> Joined {
        match request.edges {
            JoinEdges::All => self.join_all(memberships, request),
            JoinEdges::Spanning => self.join_spanning(memberships, request),
        }
    }

    fn join_all(&self, memberships: &Memberships, request: &JoinRequest<'_>) -> Joined {
        /// Rows of one bucket that a task takes: small enough to share out a large bucket.
        const ROWS: usize = 256;
        let buckets = self.units(request.sets, request.count_refused);
        buckets
            .par_iter()
            .flat_map(|bucket| {
                (0..bucket.rows.len().div_ceil(ROWS))
                    .into_par_iter()
                    .map(move |part| (*bucket, part * ROWS))
            })
            .fold(Joined::default, |mut joined, (bucket, first)| {
                let rows = bucket.rows;
                let mut slots = 0;
                for (at, &(_, a)) in rows.iter().enumerate().skip(first).take(ROWS) {
                    let others = &rows[at + 1..];
                    slots += others.len() as u64;
                    for &(_, b) in others {
                        if memberships.is_first_shared(a, b, bucket.key) {
                            joined.look_at(a, b, request);
                        }
                    }
                }
                (request.progress)(slots);
                request.hand_over(&mut joined);
                joined
            })
            .reduce(Joined::default, Joined::and)
    }

    fn join_spanning(&self, memberships: &Memberships, request: &JoinRequest<'_>) -> Joined {
        /// Rows after which what was found is applied. More rows are more parallel and know less.
        const WAVE_ROWS: usize = 1 << 14;
        let buckets = self.units(request.sets, request.count_refused);
        let mut connected = request.connected.clone();
        let mut joined = Joined::default();
        let mut rest = &buckets[..];
        while !rest.is_empty() {
            let mut rows = 0;
            let size = rest
                .iter()
                .position(|bucket| {
                    rows += bucket.rows.len();
                    rows > WAVE_ROWS
                })
                .map_or(rest.len(), |position| position.max(1));
            let (wave, later) = rest.split_at(size);
            rest = later;
            let found: Vec<Joined> = wave
                .par_iter()
                .map(|bucket| bucket.join_spanning(memberships, request, &connected))
                .collect();
            for mut part in found {
                part.accepted
                    .retain(|pair| connected.union(pair.left, pair.right));
                joined = joined.and(part);
            }
            request.hand_over(&mut joined);
        }
        joined
    }
}

/// Counts the slots of buckets.
fn count_slots<'a>(
    buckets: impl Iterator<Item = Bucket<'a>>,
    sets: &ShingleSets,
    equal: EqualSets,
    label: &dyn Fn(u64) -> String,
) -> Slots {
    let mut slots = Slots::default();
    let mut total = match equal {
        EqualSets::UnderEachKey => 0,
        EqualSets::Once => u128::from(edges::pairs_within_classes(sets)),
    };
    let mut largest: Option<(u64, u64)> = None;
    for bucket in buckets {
        let work = pairs_of(bucket.rows.len() as u64);
        slots.work = slots
            .work
            .saturating_add(work.try_into().unwrap_or(u64::MAX));
        let sizes = || {
            bucket
                .classes()
                .map(|class| sets.members(class).len() as u64)
        };
        let documents: u64 = sizes().sum();
        if documents < 2 {
            continue;
        }
        slots.shared_keys += 1;
        total += pairs_of(documents);
        if equal == EqualSets::Once {
            total -= sizes().map(pairs_of).sum::<u128>();
        }
        // The first of equals, in key order.
        if largest.is_none_or(|(_, most)| documents > most) {
            largest = Some((bucket.key, documents));
        }
    }
    slots.slots = total.try_into().unwrap_or(u64::MAX);
    slots.largest = largest.map(|(key, documents)| (label(key), documents));
    slots
}

/// Whether pairs that differ in a number are refused.
fn keeps_numbers(sets: &ShingleSets) -> bool {
    sets.classes() > 0 && sets.number_key(0).is_some()
}

impl Bucket<'_> {
    fn join_spanning(
        &self,
        memberships: &Memberships,
        request: &JoinRequest<'_>,
        connected: &UnionFind,
    ) -> Joined {
        /// Slots after which progress is told: one bucket may hold most of the work.
        const SLOTS: u64 = 1 << 16;
        let mut joined = Joined::default();
        let mut groups = Groups::default();
        let mut slots = 0;
        for (position, class) in self.classes().enumerate() {
            if slots >= SLOTS {
                (request.progress)(std::mem::take(&mut slots));
            }
            slots += position as u64;
            let mut home = groups.home(connected.find_frozen(class));
            joined.skipped += groups.classes[home].len() as u64;
            let mut next = 0;
            while let Some(&other) = groups.alive.get(next) {
                if other == home {
                    next += 1;
                    continue;
                }
                let members = &groups.classes[other];
                // The latest first: neighbours in id are neighbours in text more often than not.
                let matched = members.iter().rev().position(|&member| {
                    memberships.is_first_shared(member, class, self.key)
                        && joined.look_at(member, class, request)
                });
                match matched {
                    None => next += 1,
                    Some(looked_at) => {
                        joined.skipped += (members.len() - looked_at - 1) as u64;
                        home = groups.merge(home, other);
                    }
                }
            }
            groups.classes[home].push(class);
        }
        (request.progress)(slots);
        joined
    }
}

/// The classes of one bucket in groups that are known to be connected.
#[derive(Default)]
struct Groups {
    classes: Vec<Vec<u32>>,
    /// The components of before the wave that each group is made of.
    roots: Vec<Vec<u32>>,
    group_of_root: HashMap<u32, usize>,
    /// The groups that have not been merged into another.
    alive: Vec<usize>,
}

impl Groups {
    /// The group of a component, made if need be.
    fn home(&mut self, root: u32) -> usize {
        *self.group_of_root.entry(root).or_insert_with(|| {
            self.classes.push(Vec::new());
            self.roots.push(vec![root]);
            self.alive.push(self.classes.len() - 1);
            self.classes.len() - 1
        })
    }

    /// Merges the smaller group into the larger, whose index it returns.
    fn merge(&mut self, a: usize, b: usize) -> usize {
        let (large, small) = if self.roots[a].len() >= self.roots[b].len() {
            (a, b)
        } else {
            (b, a)
        };
        let roots = std::mem::take(&mut self.roots[small]);
        for &root in &roots {
            self.group_of_root.insert(root, large);
        }
        self.roots[large].extend(roots);
        let mut classes = std::mem::take(&mut self.classes[small]);
        if classes.len() > self.classes[large].len() {
            std::mem::swap(&mut classes, &mut self.classes[large]);
        }
        self.classes[large].append(&mut classes);
        self.alive.retain(|&group| group != small);
        large
    }
}

impl JoinRequest<'_> {
    /// Hands over what was found, once it is worth the while.
    pub(super) fn hand_over(&self, joined: &mut Joined) {
        const PAIRS: usize = 1 << 12;
        if let Some(found) = self.found
            && joined.accepted.len().max(joined.rejected.len()) >= PAIRS
        {
            found.take(&mut joined.accepted, &mut joined.rejected);
        }
    }
}

impl Joined {
    /// Scores a pair, files it, and says whether it was accepted. A pair that differs in a number is
    /// passed over where numbers are to be kept and refusals are not to be counted.
    pub(super) fn look_at(&mut self, a: u32, b: u32, request: &JoinRequest<'_>) -> bool {
        if !request.count_refused && request.sets.number_key(a) != request.sets.number_key(b) {
            return false;
        }
        self.scored += 1;
        let (left, right) = (request.sets.members(a), request.sets.members(b));
        let documents = (left.len() as u64).saturating_mul(right.len() as u64);
        self.proposed_documents = self.proposed_documents.saturating_add(documents);
        if let Some(domains) = request.domains {
            self.proposed_same_domain = self.proposed_same_domain.saturating_add(
                edges::equal_pairs(left, right, |document| domains[document.index()]),
            );
        }
        let pair: Option<ScoredPair> = if request.list_rejected {
            Some(request.verifier.score(a, b))
        } else {
            request.verifier.score_if_reached(a, b)
        };
        match pair {
            Some(pair) if request.verifier.accepts(&pair) => {
                self.accepted.push(pair);
                true
            }
            Some(pair) => {
                if pair.reaches(request.verifier.threshold()) {
                    // Equal texts are an edge all the same, by their text.
                    let refused = documents
                        - edges::equal_pairs(left, right, |document| {
                            request.sets.exact_first(document)
                        });
                    self.refused_for_numbers = self.refused_for_numbers.saturating_add(refused);
                }
                if request.list_rejected {
                    self.rejected.push(pair);
                }
                false
            }
            None => false,
        }
    }

    pub(super) fn and(mut self, mut other: Self) -> Self {
        if other.accepted.len() > self.accepted.len() {
            std::mem::swap(&mut self, &mut other);
        }
        self.accepted.append(&mut other.accepted);
        self.rejected.append(&mut other.rejected);
        self.proposed_documents = self
            .proposed_documents
            .saturating_add(other.proposed_documents);
        self.proposed_same_domain = self
            .proposed_same_domain
            .saturating_add(other.proposed_same_domain);
        self.refused_for_numbers = self
            .refused_for_numbers
            .saturating_add(other.refused_for_numbers);
        self.scored += other.scored;
        self.skipped += other.skipped;
        self
    }
}

/// The pairs among `documents` documents.
pub(crate) fn pairs_of(documents: u64) -> u128 {
    let documents = u128::from(documents);
    documents * documents.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pair_counts_do_not_wrap() {
        assert_eq!(pairs_of(0), 0);
        assert_eq!(pairs_of(1), 0);
        assert_eq!(pairs_of(24), 276);
        assert_eq!(pairs_of(1 << 32), (1u128 << 63) - (1 << 31));
        assert_eq!(
            pairs_of(u64::MAX),
            (u128::from(u64::MAX) * (u128::from(u64::MAX) - 1)) / 2
        );
    }
}
