//! The lossless generator: a prefix-filter self-join.
//!
//! Guarantee: every pair of classes at or above the threshold is scored. Why:
//!
//! Fix any total order over shingles. Two sets of `l` and `m` elements that share at least `o` of
//! them share one among the first `l - o + 1` of the one and the first `m - o + 1` of the other:
//! let `a` and `b` be the last elements of those prefixes, and `a <= b`. If the prefixes had nothing
//! in common, no element of the first prefix could be in the second set at all (being at most `b`,
//! it would stand in its prefix), and only the `o - 1` elements behind the first prefix could be
//! shared. At a threshold `t` a set of `l` elements shares at least `ceil(t l)` with any partner, so
//! `l - ceil(t l) + 1` elements are enough to *probe* with. Taken in the order of length, a set has
//! to be *found* only by partners that are at least as long, with which it shares at least
//! `ceil(2t / (1 + t) l)`, so the index holds even fewer. All bounds are integers.
//!
//! The order is (approximate frequency, hash), rarest first, so that prefixes hold what few sets
//! have. The frequency comes from a table of saturating counters indexed by leading hash bits; a
//! collision makes the order less sharp, never wrong. A shingle that only one set has needs no
//! posting, though it counts in the prefix: it comes first in the order, so a set whose prefix is
//! made of such shingles has no partner at all, and costs nothing but the counting.
//!
//! Order and identity are one 64-bit key, six bits of frequency above 58 bits of hash. Two shingles
//! may share a key; sets are then multisets of keys, for which the argument holds word by word.
//!
//! What a probe meets is filtered by length, then by position: at the first shared element of the
//! order, which is the first that a walk along the order meets, one plus the shorter rest bounds the
//! overlap. Then the sets are merged, with an early end. A pair is looked at once, however many
//! elements the prefixes share.
//!
//! Sources: S. Chaudhuri, V. Ganti, R. Kaushik, "A primitive operator for similarity joins in data
//! cleaning", 2006; R. Bayardo, Y. Ma, R. Srikant, "Scaling up all pairs similarity search", 2007;
//! C. Xiao, W. Wang, X. Lin, J. Yu, "Efficient similarity joins for near duplicate detection", 2008.
//!
//! Cost: linear in the elements for counting and choosing prefixes, then one step for each pair of a
//! probe and a posting of one key.

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::{CandidateGenerator, Guarantee, JoinEdges, JoinRequest, Joined, Memberships, Slots};
use crate::edges;
use crate::graph::UnionFind;
use crate::sets::ShingleSets;
use crate::threshold::Threshold;

/// The lossless generator over the classes of a corpus.
#[derive(Debug)]
pub struct LosslessGenerator {
    threshold: Threshold,
    /// Classes by the length of their sets; what follows is in this order.
    by_length: Vec<u32>,
    lengths: Vec<u32>,
    probes: Probes,
    postings: Postings,
    slots: Slots,
}

/// What each set probes with: its keys that more than one set may have, ascending.
#[derive(Debug)]
struct Probes {
    starts: Vec<usize>,
    keys: Vec<u64>,
    /// How many elements stand before the first of them in the order.
    skipped: Vec<u32>,
}

/// A set that can be found by a key.
#[derive(Clone, Copy, Debug)]
struct Posting {
    key: u64,
    set: u32,
    /// The elements of the set that stand before the key in the order.
    position: u32,
}

/// Postings in buckets of mixed key bits; within a bucket in the order of the sets.
#[derive(Debug)]
struct Postings {
    shift: u32,
    starts: Vec<u32>,
    entries: Vec<Posting>,
}

impl LosslessGenerator {
    /// Chooses the prefixes of all sets and indexes them.
    pub fn new(threshold: Threshold, sets: &ShingleSets) -> Self {
        let mut by_length: Vec<u32> = (0..sets.classes() as u32).collect();
        by_length.par_sort_unstable_by_key(|&class| (sets.set(class).len(), class));
        let lengths: Vec<u32> = by_length
            .iter()
            .map(|&class| sets.set(class).len() as u32)
            .collect();
        let frequencies = Frequencies::new(sets);
        let (probes, entries) = prefixes(threshold, sets, &by_length, &frequencies);
        drop(frequencies);
        let postings = Postings::new(entries);
        let mut generator = Self {
            threshold,
            by_length,
            lengths,
            probes,
            postings,
            slots: Slots::default(),
        };
        generator.slots = generator.count_slots(sets);
        generator
    }

    /// An upper bound of the pairs that the join will look at: every probe with every posting of
    /// its key, the length filter and repeats not taken off.
    fn count_slots(&self, sets: &ShingleSets) -> Slots {
        let weight = |set: u32| sets.members(self.by_length[set as usize]).len() as u64;
        let (slots, work) = (0..self.by_length.len() as u32)
            .into_par_iter()
            .map(|set| {
                let (mut slots, mut work) = (0u128, 0u64);
                for &key in self.probes.of(set) {
                    let list = self.postings.list(key);
                    let earlier = list.partition_point(|posting| posting.set < set);
                    work += earlier as u64;
                    for posting in &list[..earlier] {
                        slots += u128::from(weight(set)) * u128::from(weight(posting.set));
                    }
                }
                (slots, work)
            })
            .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let total = slots + u128::from(edges::pairs_within_classes(sets));
        Slots {
            slots: total.try_into().unwrap_or(u64::MAX),
            work,
            shared_keys: self.postings.lists() as u64,
            largest: None,
        }
    }
}

/// How many sets have an element, about.
struct Frequencies {
    shift: u32,
    counts: Vec<u8>,
}

impl Frequencies {
    /// Counts every element of every set. The threads share out the range of hashes, so that the
    /// counts are the same for any number of them.
    fn new(sets: &ShingleSets) -> Self {
        /// Counters for each element: more make fewer strangers share one.
        const SPREAD: usize = 4;
        let elements: usize = (0..sets.classes() as u32)
            .map(|class| sets.set(class).len())
            .sum();
        let bits = (elements.max(1) * SPREAD)
            .next_power_of_two()
            .ilog2()
            .clamp(6, 36);
        let shift = 64 - bits;
        let mut counts = vec![0u8; 1 << bits];
        let part = counts
            .len()
            .div_ceil(rayon::current_num_threads().next_power_of_two());
        counts
            .par_chunks_mut(part)
            .enumerate()
            .for_each(|(number, counts)| {
                let first = number * part;
                let slot = |hash: u64| (hash >> shift) as usize;
                for class in 0..sets.classes() as u32 {
                    let set = sets.set(class);
                    let start = set.partition_point(|&hash| slot(hash) < first);
                    for &hash in &set[start..] {
                        match counts.get_mut(slot(hash) - first) {
                            Some(count) => *count = count.saturating_add(1),
                            None => break,
                        }
                    }
                }
            });
        Self { shift, counts }
    }

    fn of(&self, hash: u64) -> u8 {
        self.counts[(hash >> self.shift) as usize]
    }
}

/// The place of a shingle in the order, and its identity: see the head of the module.
fn key(frequency: u8, hash: u64) -> u64 {
    /// Up to here each frequency is a level of its own, above there are eight to an octave.
    const FINE: u32 = 16;
    let frequency = u32::from(frequency);
    let level = if frequency < FINE {
        frequency
    } else {
        let octave = frequency.ilog2();
        FINE + (octave - 4) * 8 + ((frequency >> (octave - 3)) & 7)
    };
    u64::from(level) << 58 | hash >> 6
}

/// The prefixes that sets probe with, and the postings of those that they are found by.
fn prefixes(
    threshold: Threshold,
    sets: &ShingleSets,
    by_length: &[u32],
    frequencies: &Frequencies,
) -> (Probes, Vec<Posting>) {
    /// Sets of a task.
    const SETS: usize = 512;
    #[derive(Default)]
    struct Part {
        counts: Vec<u32>,
        skipped: Vec<u32>,
        keys: Vec<u64>,
        postings: Vec<Posting>,
    }
    let parts: Vec<Part> = by_length
        .par_chunks(SETS)
        .enumerate()
        .map(|(number, classes)| {
            let mut part = Part::default();
            let mut keys: Vec<u64> = Vec::new();
            for (set, &class) in ((number * SETS) as u32..).zip(classes) {
                let elements = sets.set(class);
                let length = elements.len();
                let probe = length - least_overlap(threshold, length) + 1;
                let index = length - threshold.overlap_needed(length, length) + 1;
                keys.clear();
                keys.extend(elements.iter().filter_map(|&hash| {
                    let frequency = frequencies.of(hash);
                    (frequency > 1).then(|| key(frequency, hash))
                }));
                // The others have no other set, and come first in the order.
                let alone = length - keys.len();
                let wanted = probe.saturating_sub(alone);
                if wanted < keys.len() && wanted > 0 {
                    keys.select_nth_unstable(wanted - 1);
                }
                keys.truncate(wanted);
                keys.sort_unstable();
                let found_by = index.saturating_sub(alone).min(keys.len());
                part.postings.extend(
                    keys[..found_by]
                        .iter()
                        .zip(alone as u32..)
                        .map(|(&key, position)| Posting { key, set, position }),
                );
                part.counts.push(keys.len() as u32);
                part.skipped.push(alone as u32);
                part.keys.extend_from_slice(&keys);
            }
            part
        })
        .collect();
    let mut probes = Probes {
        starts: vec![0],
        keys: Vec::new(),
        skipped: Vec::new(),
    };
    let mut postings = Vec::with_capacity(parts.iter().map(|part| part.postings.len()).sum());
    probes
        .keys
        .reserve(parts.iter().map(|part| part.keys.len()).sum());
    for mut part in parts {
        let mut end = probes.keys.len();
        probes.starts.extend(part.counts.iter().map(|&count| {
            end += count as usize;
            end
        }));
        probes.keys.append(&mut part.keys);
        probes.skipped.append(&mut part.skipped);
        postings.append(&mut part.postings);
    }
    (probes, postings)
}

/// The least number of elements that a set of `length` shares with any partner: `ceil(t * length)`.
fn least_overlap(threshold: Threshold, length: usize) -> usize {
    let numerator = u128::from(threshold.numerator()) * length as u128;
    numerator.div_ceil(u128::from(threshold.denominator())) as usize
}

impl Probes {
    fn of(&self, set: u32) -> &[u64] {
        &self.keys[self.starts[set as usize]..self.starts[set as usize + 1]]
    }
}

impl Postings {
    fn new(mut entries: Vec<Posting>) -> Self {
        entries.par_sort_unstable_by_key(|posting| (posting.key << 6, posting.key, posting.set));
        let bits = entries
            .len()
            .max(1)
            .next_power_of_two()
            .ilog2()
            .clamp(1, 30);
        let shift = 64 - bits;
        let mut starts = vec![0u32; (1 << bits) + 1];
        for posting in &entries {
            starts[((posting.key << 6) >> shift) as usize + 1] += 1;
        }
        for bucket in 1..starts.len() {
            starts[bucket] += starts[bucket - 1];
        }
        Self {
            shift,
            starts,
            entries,
        }
    }

    /// The postings of a key, in the order of their sets.
    fn list(&self, key: u64) -> &[Posting] {
        &self.entries[self.range(key)]
    }

    fn range(&self, key: u64) -> Range<usize> {
        let bucket = ((key << 6) >> self.shift) as usize;
        let start = self.starts[bucket] as usize;
        let bucket = &self.entries[start..self.starts[bucket + 1] as usize];
        // Most buckets hold one key; the order within is by hash bits, then key.
        let place = |posting: &Posting| (posting.key << 6, posting.key);
        let first = bucket.partition_point(|posting| place(posting) < (key << 6, key));
        let count = bucket[first..].partition_point(|posting| posting.key == key);
        start + first..start + first + count
    }

    /// The number of keys.
    fn lists(&self) -> usize {
        self.entries.chunk_by(|a, b| a.key == b.key).count()
    }
}

/// A walker's memory of the sets that it has met, marked by whoever met them last.
struct Met(Vec<u32>);

impl Met {
    fn new(sets: usize) -> Self {
        Self(vec![0; sets])
    }

    /// Whether `set` meets `other` for the first time.
    fn is_new(&mut self, set: u32, other: u32) -> bool {
        std::mem::replace(&mut self.0[other as usize], set + 1) != set + 1
    }
}

impl LosslessGenerator {
    /// The first set, in the order of length, that is long enough to be a partner of `set`.
    fn first_partner(&self, set: u32) -> u32 {
        let least = least_overlap(self.threshold, self.lengths[set as usize] as usize) as u32;
        self.lengths.partition_point(|&other| other < least) as u32
    }

    /// Whether a first meeting at these places of the order leaves room for enough overlap.
    fn is_possible(&self, set: u32, position: u32, posting: &Posting) -> bool {
        let length = self.lengths[set as usize] as usize;
        let other = self.lengths[posting.set as usize] as usize;
        let rest = (length - position as usize).min(other - posting.position as usize);
        rest >= self.threshold.overlap_needed(length, other)
    }

    /// The keys that a set probes with, each with its place in the order.
    fn probes(&self, set: u32) -> impl Iterator<Item = (u64, u32)> {
        self.probes
            .of(set)
            .iter()
            .copied()
            .zip(self.probes.skipped[set as usize]..)
    }

    fn class(&self, set: u32) -> u32 {
        self.by_length[set as usize]
    }

    fn join_all(&self, request: &JoinRequest<'_>) -> Joined {
        /// Sets of a task.
        const SETS: usize = 256;
        // Memories are handed from task to task: a new one costs as much as the corpus is long.
        let memories: Mutex<Vec<Met>> = Mutex::default();
        let lock = || {
            memories
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
        };
        let sets = self.by_length.len();
        (0..sets.div_ceil(SETS))
            .into_par_iter()
            .with_max_len(1)
            .map(|task| {
                let free = lock().pop();
                let mut met = free.unwrap_or_else(|| Met::new(sets));
                let mut joined = Joined::default();
                let mut slots = 0;
                for set in (task * SETS) as u32..((task + 1) * SETS).min(sets) as u32 {
                    let first = self.first_partner(set);
                    for (key, position) in self.probes(set) {
                        let list = self.postings.list(key);
                        let skipped = list.partition_point(|posting| posting.set < first);
                        slots += skipped as u64;
                        for posting in &list[skipped..] {
                            if posting.set >= set {
                                break;
                            }
                            slots += 1;
                            if met.is_new(set, posting.set)
                                && self.is_possible(set, position, posting)
                            {
                                joined.look_at(self.class(posting.set), self.class(set), request);
                            }
                        }
                    }
                }
                lock().push(met);
                (request.progress)(slots);
                joined
            })
            .reduce(Joined::default, Joined::and)
    }

    /// Each list of postings keeps a cursor: the entries before it are one component. A set that is
    /// of that component, or that matches its latest member, passes over all of them.
    fn join_spanning(&self, request: &JoinRequest<'_>) -> Joined {
        let sets = self.by_length.len() as u32;
        let mut met = Met::new(sets as usize);
        let mut connected = request.connected.clone();
        let mut cursors = vec![0u32; self.postings.entries.len()];
        let mut joined = Joined::default();
        for set in 0..sets {
            let class = self.class(set);
            let first = self.first_partner(set);
            let (mut slots, mut passed_over) = (0, 0);
            for (key, position) in self.probes(set) {
                let range = self.postings.range(key);
                let list = &self.postings.entries[range.clone()];
                let earlier = list.partition_point(|posting| posting.set < set);
                if earlier == 0 {
                    continue;
                }
                slots += earlier as u64;
                let mut look_at = |posting: &Posting, connected: &mut UnionFind| {
                    let other = self.class(posting.set);
                    if connected.find(other) == connected.find(class) {
                        joined.skipped += 1;
                        return true;
                    }
                    let accepted = posting.set >= first
                        && met.is_new(set, posting.set)
                        && self.is_possible(set, position, posting)
                        && joined.look_at(other, class, request);
                    if accepted {
                        connected.union(other, class);
                    }
                    accepted
                };
                let cursor = &mut cursors[range.start];
                let (known, rest) = list[..earlier].split_at(*cursor as usize);
                if let Some((latest, others)) = known.split_last() {
                    if look_at(latest, &mut connected) {
                        passed_over += others.len() as u64;
                    } else {
                        // One match connects with all of them.
                        let _ = others
                            .iter()
                            .rev()
                            .any(|posting| look_at(posting, &mut connected));
                    }
                }
                for posting in rest {
                    look_at(posting, &mut connected);
                }
                let component = connected.find(self.class(list[0].set));
                while (*cursor as usize) < earlier
                    && connected.find(self.class(list[*cursor as usize].set)) == component
                {
                    *cursor += 1;
                }
            }
            joined.skipped += passed_over;
            (request.progress)(slots);
        }
        joined
    }
}

impl CandidateGenerator for LosslessGenerator {
    fn name(&self) -> String {
        "lossless".into()
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Lossless
    }

    fn probability(&self, _similarity: f64) -> Option<f64> {
        Some(1.0)
    }

    fn slots(&self) -> Slots {
        self.slots.clone()
    }

    fn memberships(&self) -> Option<&Memberships> {
        None
    }

    fn key_label(&self, _position: usize, key: u64) -> String {
        format!("{key:016x}")
    }

    fn join(&self, request: &JoinRequest<'_>) -> Joined {
        let mut joined = match request.edges {
            JoinEdges::All => self.join_all(request),
            JoinEdges::Spanning => self.join_spanning(request),
        };
        joined.accepted.par_sort_unstable();
        joined.rejected.par_sort_unstable();
        joined
    }
}
