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
//! have. The frequency is that which [`ShingleSets`] counted while it grouped the fingerprints (where
//! they were made for another generator there is none, and the order is that of the hashes alone); a
//! count that is too high makes the order less sharp, never wrong. A shingle that only one set has
//! needs no posting, though it counts in the prefix: it comes first in the order.
//!
//! Order and identity are one 64-bit key, six bits of frequency above 58 bits of hash. Two shingles
//! may share a key; sets are then multisets of keys, for which the argument holds word by word.
//!
//! The index is built for a block of sets at a time, so that neither it nor what is looked up in it
//! outgrows the caches by much, or the memory of a run that is bounded. Where blocks end depends on
//! nothing but the sets. Blocks are indexed once to count what a join will look at; where there is no
//! room to hold all that the sets meet in them, the join indexes each block again, and lets go of it
//! before the next.
//!
//! What a probe meets is filtered by length, then by position: at the first shared element of the
//! order, which is the first that a walk along the order meets, one plus the shorter rest bounds the
//! overlap. Then the verifier scores it. A pair is looked at once, however many
//! elements the prefixes share.
//!
//! Sources: S. Chaudhuri, V. Ganti, R. Kaushik, "A primitive operator for similarity joins in data
//! cleaning", 2006; R. Bayardo, Y. Ma, R. Srikant, "Scaling up all pairs similarity search", 2007;
//! C. Xiao, W. Wang, X. Lin, J. Yu, "Efficient similarity joins for near duplicate detection", 2008.
//!
//! Cost: linear in the elements for counting and choosing prefixes, then one step for each pair of a
//! probe and a posting of one key.

mod index;
mod prefixes;

use std::ops::Range;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::{CandidateGenerator, Guarantee, JoinEdges, JoinRequest, Joined, Memberships, Slots};
use crate::edges;
use crate::graph::UnionFind;
use crate::sets::ShingleSets;
use crate::store::Room;
use crate::threshold::Threshold;

use index::{Block, Index, Posting, too_short};
use prefixes::Prefixes;

/// The lossless generator over the classes of a corpus.
#[derive(Debug)]
pub struct LosslessGenerator {
    threshold: Threshold,
    /// Classes by the length of their sets; what follows is in this order.
    by_length: Vec<u32>,
    lengths: Vec<u32>,
    /// What the sets probe with, where blocks have to be indexed again.
    prefixes: Prefixes,
    /// Documents of each set.
    weights: Vec<u32>,
    /// A key of the numbers of each set, where numbers are to be kept.
    numbers: Option<Vec<u64>>,
    limits: Limits,
    all: Blocks,
    /// The same among sets with equal numbers, where numbers are to be kept: what differs in a number
    /// never meets.
    of_equal_numbers: Option<Blocks>,
}

/// Sizes that memory sets.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Postings of a block.
    block: usize,
    /// Keys of the sets that are taken at a time, unless one set has more.
    window: usize,
    /// Bytes of blocks that are held.
    held: u64,
}

/// Everything that is looked at.
#[derive(Debug, Default)]
struct Blocks {
    /// None where there is no room for them.
    held: Option<Vec<Block>>,
    slots: Slots,
}

impl LosslessGenerator {
    /// Chooses the prefixes of all sets and indexes them.
    pub fn new(threshold: Threshold, sets: &ShingleSets, room: &Room) -> Self {
        /// The least keys of a window: fewer are too few to share out.
        const WINDOW: usize = 1 << 19;
        let limits = match room.storage {
            None => Limits {
                block: BLOCK,
                window: usize::MAX,
                held: u64::MAX,
            },
            Some(_) => Limits {
                block: BLOCK,
                window: ((room.bytes / 256) as usize).max(WINDOW),
                held: room.bytes / 4,
            },
        };
        Self::with_limits(threshold, sets, limits, room)
    }

    /// One whose join is over, and of which only the counts are wanted.
    pub(crate) fn of_slots(threshold: Threshold, slots: Slots, of_equal_numbers: Slots) -> Self {
        let blocks = |slots| Blocks {
            held: Some(Vec::new()),
            slots,
        };
        Self {
            threshold,
            by_length: Vec::new(),
            lengths: Vec::new(),
            prefixes: Prefixes::default(),
            weights: Vec::new(),
            numbers: None,
            limits: Limits {
                block: BLOCK,
                window: usize::MAX,
                held: 0,
            },
            all: blocks(slots),
            of_equal_numbers: Some(blocks(of_equal_numbers)),
        }
    }

    fn with_limits(threshold: Threshold, sets: &ShingleSets, limits: Limits, room: &Room) -> Self {
        let mut by_length: Vec<(u32, u32)> = (0..sets.classes() as u32)
            .into_par_iter()
            .map(|class| (sets.set_len(class) as u32, class))
            .collect();
        by_length.par_sort_unstable();
        let (lengths, by_length): (Vec<u32>, Vec<u32>) = by_length.into_iter().unzip();
        let numbers: Option<Vec<u64>> = by_length
            .iter()
            .map(|&class| sets.number_key(class))
            .collect();
        let mut generator = Self {
            threshold,
            prefixes: Prefixes::new(threshold, sets, &by_length, room),
            weights: by_length
                .iter()
                .map(|&class| sets.members(class).len() as u32)
                .collect(),
            numbers: numbers.filter(|numbers| !numbers.is_empty()),
            by_length,
            lengths,
            limits,
            all: Blocks::default(),
            of_equal_numbers: None,
        };
        let pairs = u128::from(edges::pairs_within_classes(sets));
        generator.all = generator.index(None, pairs);
        let numbers = generator.numbers.as_deref();
        generator.of_equal_numbers = numbers.map(|numbers| generator.index(Some(numbers), pairs));
        let held = |blocks: &Blocks| blocks.held.is_some();
        if held(&generator.all) && generator.of_equal_numbers.as_ref().is_none_or(held) {
            generator.prefixes = Prefixes::default();
        }
        generator
    }

    /// The blocks: which sets each one indexes, and which sets may have a partner there.
    fn ranges(&self) -> impl Iterator<Item = (Range<u32>, Range<u32>)> + '_ {
        let mut first = 0;
        std::iter::from_fn(move || {
            if first as usize >= self.lengths.len() {
                return None;
            }
            let end = self.prefixes.block_end(first, self.limits.block);
            // The sets from here on are too long for any partner in the block.
            let longest = self.lengths[end as usize - 1] as usize;
            let last = self.lengths.partition_point(|&length| {
                self.threshold.least_overlap(length as usize) <= longest
            });
            let found = (first..end, first..last as u32);
            first = end;
            Some(found)
        })
    }

    /// Indexes all sets, block by block, and counts what the join will look at: every probe with every
    /// posting of its key that is long enough. A pair counts under each key that it shares.
    /// With `numbers`, sets meet only where theirs are equal. `pairs` counts the pairs of documents
    /// of one set.
    fn index(&self, numbers: Option<&[u64]>, pairs: u128) -> Blocks {
        let mut all = Blocks {
            held: Some(Vec::new()),
            slots: Slots::default(),
        };
        let first_partner = |set| self.first_partner(set);
        let mut total = pairs;
        let mut bytes = 0;
        let copies = self.weights.iter().copied().max().unwrap_or(0);
        let mut largest = ("identical texts", u64::from(copies));
        for (block, probes) in self.ranges() {
            let index = Index::new(&self.prefixes, numbers, block, &self.weights, &self.limits);
            all.slots.shared_keys += index.lists;
            if index.fullest > largest.1 {
                largest = ("a common shingle", index.fullest);
            }
            let mut postings = Arc::default();
            if all.held.is_some() {
                postings = index.postings();
                bytes += size_of_val(&postings[..]) as u64;
            }
            let sums = index.sums(&self.weights);
            for window in self.prefixes.windows(probes, self.limits.window) {
                let keep = all.held.is_some();
                let (met, slots, work) = index.meet(
                    &window,
                    &self.weights,
                    first_partner,
                    Some(&sums),
                    keep,
                    &postings,
                );
                total += slots;
                all.slots.work = all.slots.work.saturating_add(work);
                bytes += size_of_val(&met.hits[..]) as u64 + 8 * met.hit_ends.len() as u64;
                if bytes > self.limits.held {
                    all.held = None;
                    postings = Arc::default();
                }
                if let Some(held) = &mut all.held
                    && !met.hits.is_empty()
                {
                    held.push(met);
                }
            }
        }
        all.slots.slots = total.try_into().unwrap_or(u64::MAX);
        all.slots.largest = (largest.1 > 1).then(|| (largest.0.into(), largest.1));
        all
    }

    /// Calls `visit` with everything that a join looks at, all blocks at once or one after another.
    fn for_each_block(&self, request: &JoinRequest<'_>, mut visit: impl FnMut(&[Block])) {
        let (blocks, numbers) = match &self.of_equal_numbers {
            Some(equal) if !request.count_refused => (equal, self.numbers.as_deref()),
            _ => (&self.all, None),
        };
        if let Some(held) = &blocks.held {
            return visit(held);
        }
        for (block, probes) in self.ranges() {
            let index = Index::new(&self.prefixes, numbers, block, &self.weights, &self.limits);
            let postings = index.postings();
            let first_partner = |set| self.first_partner(set);
            for window in self.prefixes.windows(probes, self.limits.window) {
                let (met, ..) =
                    index.meet(&window, &self.weights, first_partner, None, true, &postings);
                visit(&[met]);
            }
        }
    }
}

/// Postings of a block: with what they are found by, about 130 megabytes.
const BLOCK: usize = 1 << 22;

/// A walker's memory of the sets that it has met in a block, marked by whoever met them last.
struct Met(Vec<u32>);

impl Met {
    fn new(sets: usize) -> Self {
        Self(vec![0; sets])
    }

    /// Whether `set` meets `other` for the first time. The sets that ask come in no order, but each
    /// asks for all that it meets in the block at a time.
    fn is_new(&mut self, set: u32, other: u32) -> bool {
        std::mem::replace(&mut self.0[other as usize], set + 1) != set + 1
    }
}

impl LosslessGenerator {
    /// The first set, in the order of length, that is long enough to be a partner of `set`.
    fn first_partner(&self, set: u32) -> u32 {
        let least = self
            .threshold
            .least_overlap(self.lengths[set as usize] as usize) as u32;
        self.lengths.partition_point(|&other| other < least) as u32
    }

    /// Whether a first meeting at these places of the order leaves room for enough overlap.
    fn is_possible(&self, set: u32, position: u32, posting: &Posting) -> bool {
        let length = self.lengths[set as usize] as usize;
        let other = self.lengths[posting.set as usize] as usize;
        let rest = (length - position as usize).min(other - posting.position as usize);
        rest >= self.threshold.overlap_needed(length, other)
    }

    fn class(&self, set: u32) -> u32 {
        self.by_length[set as usize]
    }

    fn join_all(&self, request: &JoinRequest<'_>) -> Joined {
        /// Sets of a task.
        const SETS: u32 = 256;
        // Memories are handed from task to task: a new one costs as much as the corpus is long.
        let memories: Mutex<Vec<Met>> = Mutex::default();
        let lock = || {
            memories
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
        };
        let mut all = Joined::default();
        self.for_each_block(request, |blocks| {
            let mut tasks: Vec<(&Block, u32)> = Vec::new();
            for block in blocks {
                tasks.extend(
                    (block.first..block.end())
                        .step_by(SETS as usize)
                        .map(|at| (block, at)),
                );
            }
            // The longest sets are the most work, and are not to be left to the end.
            tasks.reverse();
            let join = |(block, start): (&Block, u32)| {
                let free = lock().pop();
                let mut met = free.unwrap_or_else(|| Met::new(self.by_length.len()));
                let mut joined = Joined::default();
                let mut slots = 0;
                for set in start..(start + SETS).min(block.end()) {
                    let first = self.first_partner(set);
                    for hit in block.hits(set) {
                        let list = block.list(hit);
                        let short = too_short(list, |posting| posting.set, first);
                        slots += (list.len() - short) as u64;
                        for posting in &list[short..] {
                            if met.is_new(set, posting.set)
                                && self.is_possible(set, hit.position, posting)
                            {
                                joined.look_at(self.class(posting.set), self.class(set), request);
                            }
                        }
                    }
                }
                // The next block has other sets, so what this one remembers does no harm there.
                lock().push(met);
                (request.progress)(slots);
                request.hand_over(&mut joined);
                joined
            };
            let joined = tasks
                .into_par_iter()
                .with_max_len(1)
                .map(join)
                .reduce(Joined::default, Joined::and);
            all = std::mem::take(&mut all).and(joined);
        });
        all
    }

    /// Each list of postings keeps a cursor: the entries before it are one component. A set that is
    /// of that component, or that matches its latest member, passes over all of them.
    fn join_spanning(&self, request: &JoinRequest<'_>) -> Joined {
        let mut met = Met::new(self.by_length.len());
        let mut connected = request.connected.clone();
        let mut joined = Joined::default();
        // The postings of a block, and the cursor of each list of them.
        let mut cursors: Option<(Arc<Vec<Posting>>, Vec<u32>)> = None;
        self.for_each_block(request, |blocks| {
            for block in blocks {
                let known = cursors
                    .take()
                    .filter(|(postings, _)| Arc::ptr_eq(postings, &block.postings))
                    .map(|(_, cursors)| cursors);
                let mut lists = known.unwrap_or_else(|| vec![0; block.postings.len()]);
                self.span(
                    block,
                    &mut lists,
                    &mut met,
                    &mut connected,
                    &mut joined,
                    request,
                );
                cursors = Some((Arc::clone(&block.postings), lists));
            }
        });
        joined
    }

    fn span(
        &self,
        block: &Block,
        cursors: &mut [u32],
        met: &mut Met,
        connected: &mut UnionFind,
        joined: &mut Joined,
        request: &JoinRequest<'_>,
    ) {
        for set in block.first..block.end() {
            let class = self.class(set);
            let first = self.first_partner(set);
            let (mut slots, mut passed_over) = (0, 0);
            for hit in block.hits(set) {
                let list = block.list(hit);
                slots += (list.len() - too_short(list, |posting| posting.set, first)) as u64;
                let mut look_at = |posting: &Posting, connected: &mut UnionFind| {
                    let other = self.class(posting.set);
                    if connected.find(other) == connected.find(class) {
                        joined.skipped += 1;
                        return true;
                    }
                    let accepted = posting.set >= first
                        && met.is_new(set, posting.set)
                        && self.is_possible(set, hit.position, posting)
                        && joined.look_at(other, class, request);
                    if accepted {
                        connected.union(other, class);
                    }
                    accepted
                };
                let cursor = &mut cursors[hit.start as usize];
                let (known, rest) = list.split_at(*cursor as usize);
                if let Some((latest, others)) = known.split_last() {
                    if look_at(latest, connected) {
                        passed_over += others.len() as u64;
                    } else {
                        // One match connects with all of them.
                        let _ = others
                            .iter()
                            .rev()
                            .any(|posting| look_at(posting, connected));
                    }
                }
                for posting in rest {
                    look_at(posting, connected);
                }
                let component = connected.find(self.class(list[0].set));
                while (*cursor as usize) < list.len()
                    && connected.find(self.class(list[*cursor as usize].set)) == component
                {
                    *cursor += 1;
                }
            }
            joined.skipped += passed_over;
            (request.progress)(slots);
        }
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
        self.all.slots.clone()
    }

    fn slots_of_equal_numbers(&self) -> Slots {
        self.of_equal_numbers
            .as_ref()
            .unwrap_or(&self.all)
            .slots
            .clone()
    }

    fn memberships(&self) -> Option<&Memberships> {
        None
    }

    fn key_label(&self, _position: usize, key: u64) -> String {
        format!("{key:016x}")
    }

    fn join(&self, request: &JoinRequest<'_>) -> Joined {
        match request.edges {
            JoinEdges::All => self.join_all(request),
            JoinEdges::Spanning => self.join_spanning(request),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::config::Config;
    use crate::document::DocId;
    use crate::fingerprint::{FingerprintBatch, FingerprintStores};
    use crate::score::{ScoredPair, Verifier};
    use crate::sketch::mix;
    use crate::store::MemoryStorage;

    /// Sets of hashes that come in families: copies of one another, with some elements taken out and
    /// others put in. Elements are drawn so that few are very common and most are rare.
    fn sets(seed: u64, count: usize, longest: usize, families: usize) -> Vec<Vec<u64>> {
        let mut state = seed;
        let mut random = move |bound: usize| {
            state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
            (state % bound.max(1) as u64) as usize
        };
        let mut sets: Vec<BTreeSet<u64>> = Vec::new();
        while sets.len() < count {
            let fresh = sets.len() < families || random(8) == 0;
            let mut set = if fresh {
                BTreeSet::new()
            } else {
                sets[random(sets.len())].clone()
            };
            let bound = 1 << random(longest.ilog2() as usize + 1);
            let length = 1 + random(bound).min(longest - 1);
            let changes = if fresh {
                length
            } else {
                random(set.len() / 2 + 2)
            };
            for _ in 0..changes {
                if !fresh && set.len() > 1 && random(2) == 0 {
                    let at = random(set.len());
                    let gone = set.iter().nth(at).copied();
                    set.remove(&gone.unwrap_or(0));
                }
                let bound = 2 << random(16);
                let rank = random(bound);
                set.insert(mix(rank as u64));
            }
            sets.push(set);
        }
        sets.into_iter()
            .map(|set| set.into_iter().collect())
            .collect()
    }

    fn shingle_sets(sets: &[Vec<u64>], threshold: Threshold, room: &Room) -> ShingleSets {
        let config = Config {
            threshold,
            candidates: crate::config::Candidates::Lossless,
            ..Config::default()
        };
        let mut batch = FingerprintBatch::default();
        for (number, set) in (0u64..).zip(sets) {
            // As a text would have them: in no order, some twice.
            let mut raw = set.clone();
            raw.rotate_left(set.len() / 2);
            raw.extend(&set[..set.len() / 3]);
            batch.push_raw(number, &raw);
        }
        let stores = room.storage.as_ref().map(|s| FingerprintStores::new(&**s));
        if let Some(stores) = &stores {
            batch.spill(stores);
            assert_eq!(batch.held_bytes(), 0);
        }
        let origin = |document: DocId| (0, document.index());
        let batches = vec![batch];
        ShingleSets::bounded(&config, batches, stores.as_ref(), sets.len(), origin, room)
    }

    fn join(
        generator: &LosslessGenerator,
        sets: &ShingleSets,
        threshold: Threshold,
        edges: JoinEdges,
    ) -> Joined {
        generator.join(&JoinRequest {
            verifier: Verifier::new(sets, threshold),
            sets,
            edges,
            list_rejected: false,
            count_refused: false,
            connected: &UnionFind::new(sets.classes()),
            domains: None,
            found: None,
            progress: &|_| (),
        })
    }

    fn sorted(mut pairs: Vec<ScoredPair>) -> Vec<ScoredPair> {
        pairs.sort_unstable();
        pairs
    }

    /// Every pair of documents with different sets at or above the threshold, by the definition.
    fn by_the_book(sets: &[Vec<u64>], threshold: Threshold) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (a, left) in sets.iter().enumerate() {
            let left: BTreeSet<u64> = left.iter().copied().collect();
            for (b, right) in sets.iter().enumerate().skip(a + 1) {
                let shared = right.iter().filter(|hash| left.contains(hash)).count();
                let union = left.len() + right.len() - shared;
                if shared < union && threshold.accepts(shared as u64, union as u64) {
                    pairs.push((a, b));
                }
            }
        }
        pairs
    }

    fn check(raw: &[Vec<u64>], threshold: &str, block: usize) {
        let threshold: Threshold = threshold.parse().unwrap();
        let room = Room::default();
        let sets = shingle_sets(raw, threshold, &room);
        let limits = Limits {
            block,
            window: usize::MAX,
            held: u64::MAX,
        };
        let generator = LosslessGenerator::with_limits(threshold, &sets, limits, &room);
        let all = join(&generator, &sets, threshold, JoinEdges::All);
        let mut found: Vec<(usize, usize)> = Vec::new();
        let documents = |class| sets.members(class).iter().map(|member| member.index());
        for pair in &all.accepted {
            for a in documents(pair.left) {
                found.extend(documents(pair.right).map(|b| (a.min(b), a.max(b))));
            }
        }
        found.sort_unstable();
        assert_eq!(found, by_the_book(raw, threshold));
        assert!(all.accepted.len() as u64 <= all.scored && all.scored <= generator.all.slots.work);

        let spanning = join(&generator, &sets, threshold, JoinEdges::Spanning);
        let groups = |pairs: &[ScoredPair]| {
            let mut connected = UnionFind::new(sets.classes());
            for pair in pairs {
                connected.union(pair.left, pair.right);
            }
            let roots: Vec<u32> = (0..sets.classes() as u32)
                .map(|class| connected.find(class))
                .collect();
            let first = |root| roots.iter().position(|&other| other == root);
            roots.iter().map(|&root| first(root)).collect::<Vec<_>>()
        };
        assert_eq!(groups(&spanning.accepted), groups(&all.accepted));
        assert!(spanning.accepted.len() < sets.classes().max(1));

        // Without room for anything the same is looked at, and the same found.
        let room = Room {
            bytes: 0,
            storage: Some(Arc::new(MemoryStorage)),
            ..Room::default()
        };
        let bounded_sets = shingle_sets(raw, threshold, &room);
        let limits = Limits {
            block,
            window: 5,
            held: 0,
        };
        let bounded = LosslessGenerator::with_limits(threshold, &bounded_sets, limits, &room);
        assert_eq!(bounded.slots(), generator.slots());
        let again = join(&bounded, &bounded_sets, threshold, JoinEdges::All);
        assert_eq!(again.scored, all.scored);
        assert_eq!(sorted(again.accepted), sorted(all.accepted));
        let again = join(&bounded, &bounded_sets, threshold, JoinEdges::Spanning);
        assert_eq!(again, spanning);
    }

    const THRESHOLDS: [&str; 9] = [
        "0.55", "0.07", "1/3", "0.999", "1.0", "0.7", "2/3", "0.29", "0.9",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn finds_what_brute_force_finds(
            seed: u64,
            count in 1usize..60,
            longest in prop::sample::select(vec![1usize, 3, 10, 100, 1000]),
            families in 1usize..20,
            threshold in prop::sample::select(THRESHOLDS.to_vec()),
            block in prop::sample::select(vec![1usize, 7, 100, 5000, BLOCK]),
        ) {
            check(&sets(seed, count, longest, families), threshold, block);
        }

        #[test]
        fn finds_what_brute_force_finds_among_long_sets(
            seed: u64,
            threshold in prop::sample::select(THRESHOLDS.to_vec()),
            block in prop::sample::select(vec![100usize, BLOCK]),
        ) {
            check(&sets(seed, 24, 5000, 4), threshold, block);
        }
    }

    #[test]
    fn all_sets_equal_or_none_alike() {
        for threshold in THRESHOLDS {
            check(&vec![(0..50).map(mix).collect(); 40], threshold, 100);
            let none: Vec<Vec<u64>> = (0..40)
                .map(|set| (set * 100..set * 100 + 50).map(mix).collect())
                .collect();
            check(&none, threshold, 100);
            check(&[vec![7]], threshold, 100);
            check(&[], threshold, 100);
        }
    }

    #[test]
    fn levels_keep_the_order_of_frequencies() {
        use prefixes::{LEVEL_COUNT, LEVELS};
        assert!(LEVELS.is_sorted());
        assert_eq!([LEVELS[0], LEVELS[1], LEVELS[2], LEVELS[15]], [0, 0, 2, 15]);
        assert!(usize::from(LEVELS[255]) < LEVEL_COUNT);
    }
}
