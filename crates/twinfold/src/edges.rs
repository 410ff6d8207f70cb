//! Edges between documents: what the pairs of classes, the classes and the exact groups stand for.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::candidates::JoinEdges;
use crate::document::DocId;
use crate::graph::UnionFind;
use crate::pairs::AcceptedPairs;
use crate::score::ScoredPair;
use crate::sets::ShingleSets;

/// What witnessed that two documents are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Instrument {
    /// The exact text.
    Exact,
    /// The Jaccard similarity of shingle sets.
    Shingles,
}

impl Instrument {
    /// The name in published relations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Shingles => "shingles",
        }
    }
}

/// An accepted pair of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The document with the smaller id.
    pub left: DocId,
    /// The document with the greater id.
    pub right: DocId,
    /// What witnessed it.
    pub instrument: Instrument,
    /// The exact sizes of the two shingle sets' intersection and union, with their classes.
    pub pair: ScoredPair,
}

/// The pairs of documents within classes of equal sets.
pub fn pairs_within_classes(sets: &ShingleSets) -> u64 {
    (0..sets.classes() as u32).fold(0, |sum: u64, class| {
        sum.saturating_add(pairs(sets.members(class).len() as u64))
    })
}

/// The pairs of a left and a right document that are equal by `key`.
pub(crate) fn equal_pairs<K: Eq + Hash>(
    left: &[DocId],
    right: &[DocId],
    key: impl Fn(DocId) -> K,
) -> u64 {
    if let ([a], [b]) = (left, right) {
        return u64::from(key(*a) == key(*b));
    }
    let mut counts: HashMap<K, u64> = HashMap::new();
    for &document in left {
        *counts.entry(key(document)).or_default() += 1;
    }
    right
        .iter()
        .filter_map(|&document| counts.get(&key(document)))
        .sum()
}

/// The pairs among documents that are equal by `key`.
pub(crate) fn equal_pairs_within<K: Ord>(members: &[DocId], key: impl Fn(DocId) -> K) -> u64 {
    if members.len() < 2 {
        return 0;
    }
    let mut keys: Vec<K> = members.iter().map(|&document| key(document)).collect();
    keys.sort_unstable();
    keys.chunk_by(|a, b| a == b).fold(0, |sum: u64, run| {
        sum.saturating_add(pairs(run.len() as u64))
    })
}

pub(crate) fn pairs(documents: u64) -> u64 {
    crate::candidates::pairs_of(documents)
        .try_into()
        .unwrap_or(u64::MAX)
}

/// Documents with the same exact text, group by group; groups of one are left out.
fn exact_groups(sets: &ShingleSets) -> Vec<Vec<DocId>> {
    let mut groups: HashMap<DocId, Vec<DocId>> = HashMap::new();
    for rank in 0..sets.documents() as u32 {
        let document = DocId(rank);
        let first = sets.exact_first(document);
        if first != document {
            groups
                .entry(first)
                .or_insert_with(|| vec![first])
                .push(document);
        }
    }
    let mut groups: Vec<Vec<DocId>> = groups.into_values().collect();
    groups.sort_unstable();
    groups
}

/// Of the groups of documents with the same exact text, those whose shingle sets differ, by their
/// smallest document.
pub(crate) fn exact_groups_across_classes(sets: &ShingleSets) -> HashMap<DocId, Vec<DocId>> {
    let across = |group: &Vec<DocId>| {
        let class = sets.class_of(group[0]);
        group
            .iter()
            .any(|&document| sets.class_of(document) != class)
    };
    let groups = exact_groups(sets).into_iter().filter(across);
    groups.map(|group| (group[0], group)).collect()
}

/// The pairs of documents with the same exact text and different sets, which a listing of every
/// edge has to look at beside the generator's.
pub(crate) fn exact_pairs_needed(sets: &ShingleSets) -> u64 {
    exact_groups(sets).iter().fold(0, |sum: u64, group| {
        let mut classes: HashMap<Option<u32>, u64> = HashMap::new();
        for &document in group {
            *classes.entry(sets.class_of(document)).or_default() += 1;
        }
        let within = classes
            .values()
            .fold(0u64, |sum, &n| sum.saturating_add(pairs(n)));
        sum.saturating_add(pairs(group.len() as u64).saturating_sub(within))
    })
}

/// Pairs of documents with the same exact text whose shingle sets differ, as those of `ﬁ` and `fi`
/// do. Pairs with equal sets need no listing here: their class holds them together.
#[derive(Clone, Debug, Default)]
pub struct ExactPairs {
    documents: Vec<(DocId, DocId)>,
    class_pairs: Vec<(u32, u32)>,
}

impl ExactPairs {
    pub(crate) fn across_classes(sets: &ShingleSets, listing: JoinEdges) -> Self {
        let mut documents = Vec::new();
        let mut class_pairs = HashSet::new();
        let mut linked = UnionFind::new(sets.classes());
        let mut add = |a: DocId, b: DocId| {
            if let (Some(x), Some(y)) = (sets.class_of(a), sets.class_of(b))
                && x != y
            {
                documents.push((a, b));
                class_pairs.insert((x.min(y), x.max(y)));
            }
        };
        for group in exact_groups(sets) {
            match listing {
                JoinEdges::All => {
                    for (at, &a) in group.iter().enumerate() {
                        for &b in &group[at + 1..] {
                            add(a, b);
                        }
                    }
                }
                // The members of a class hold together by themselves: one link to each class is
                // enough, and none where another group has made it.
                JoinEdges::Spanning => {
                    for &b in &group[1..] {
                        if let (Some(x), Some(y)) = (sets.class_of(group[0]), sets.class_of(b))
                            && linked.union(x, y)
                        {
                            add(group[0], b);
                        }
                    }
                }
            }
        }
        let mut class_pairs: Vec<(u32, u32)> = class_pairs.into_iter().collect();
        class_pairs.sort_unstable();
        documents.sort_unstable();
        Self {
            documents,
            class_pairs,
        }
    }

    /// Leaves out the pairs whose classes are an accepted pair: that pair stands for them.
    pub(crate) fn without(mut self, accepted: &AcceptedPairs, sets: &ShingleSets) -> Self {
        self.documents
            .retain(|&(a, b)| match (sets.class_of(a), sets.class_of(b)) {
                (Some(x), Some(y)) => !accepted.contains(x, y),
                _ => true,
            });
        self
    }

    /// The pairs, ascending.
    pub fn documents(&self) -> &[(DocId, DocId)] {
        &self.documents
    }

    /// The pairs of classes that are connected by any of them.
    pub fn class_pairs(&self) -> &[(u32, u32)] {
        &self.class_pairs
    }
}

/// The neighbours of each document by exact pairs.
pub fn document_adjacency(pairs: &[(DocId, DocId)]) -> HashMap<DocId, Vec<DocId>> {
    let mut neighbours: HashMap<DocId, Vec<DocId>> = HashMap::new();
    for &(a, b) in pairs {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    neighbours
}
