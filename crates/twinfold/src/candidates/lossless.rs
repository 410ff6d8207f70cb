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

use std::ops::Range;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::{CandidateGenerator, Guarantee, JoinEdges, JoinRequest, Joined, Memberships, Slots};
use crate::edges;
use crate::graph::UnionFind;
use crate::sets::ShingleSets;
use crate::sketch::mix;
use crate::store::{self, Room, Values};
use crate::threshold::Threshold;

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

/// What each set probes with: its keys that more than one set may have, ascending.
#[derive(Debug, Default)]
struct Prefixes {
    starts: Vec<usize>,
    keys: Keys,
    /// How many elements stand before the first of them in the order.
    skipped: Vec<u32>,
    /// How many of them the set is found by.
    found_by: Vec<u32>,
}

/// Keys of sets, one set after another.
#[derive(Debug)]
enum Keys {
    /// In memory, those of [`Prefixes::SETS`] sets together, as they were made.
    Held(Vec<Vec<u64>>),
    Stored(Values<u64>),
}

impl Default for Keys {
    fn default() -> Self {
        Self::Held(Vec::new())
    }
}

/// The keys of some consecutive sets.
struct Window<'a> {
    prefixes: &'a Prefixes,
    sets: Range<u32>,
    /// The keys of these sets, where they had to be read.
    read: Option<Vec<u64>>,
}

/// The index of a block of sets, and what each of some sets meets in it.
#[derive(Debug)]
struct Block {
    /// The first of the sets that meet one of the block.
    first: u32,
    /// Where the hits of each set from the first on end.
    hit_ends: Vec<usize>,
    hits: Vec<Hit>,
    /// List after list; within a list in the order of the sets.
    postings: Arc<Vec<Posting>>,
}

/// A list of postings that a set meets.
#[derive(Clone, Copy, Debug)]
struct Hit {
    start: u32,
    /// The postings of sets before the one that meets them.
    earlier: u32,
    /// The elements of the set that stand before the list's key in the order.
    position: u32,
}

/// A set that can be found by a key.
#[derive(Clone, Copy, Debug)]
struct Posting {
    set: u32,
    /// The elements of the set that stand before the key in the order.
    position: u32,
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

/// The place of a shingle in the order, and its identity: see the head of the module.
fn key(level: u8, hash: u64) -> u64 {
    u64::from(level) << 58 | hash >> 6
}

/// The level of each approximate frequency: its leading digits, so that six bits hold it. Level 0 is
/// for elements that no other set has.
const LEVELS: [u8; 256] = {
    /// Up to here each frequency is a level of its own, above there are eight to an octave.
    const FINE: u32 = 16;
    let mut levels = [0; 256];
    let mut frequency = 2u32;
    while frequency < 256 {
        levels[frequency as usize] = if frequency < FINE {
            frequency as u8
        } else {
            let octave = frequency.ilog2();
            (FINE + (octave - 4) * 8 + ((frequency >> (octave - 3)) & 7)) as u8
        };
        frequency += 1;
    }
    levels
};

/// One more than the highest level.
const LEVEL_COUNT: usize = 64;

impl Prefixes {
    /// Sets of a task.
    const SETS: usize = 512;

    fn new(threshold: Threshold, sets: &ShingleSets, by_length: &[u32], room: &Room) -> Self {
        /// Tasks whose keys are made before they are put away.
        const TASKS: usize = 64;
        /// The share of the room that keys may take.
        const SHARE: f64 = 0.25;
        #[derive(Default)]
        struct Part {
            counts: Vec<u32>,
            skipped: Vec<u32>,
            found_by: Vec<u32>,
            keys: Vec<u64>,
        }
        let probe = |length: usize| length - threshold.least_overlap(length) + 1;
        let make = |classes: &[u32]| {
            let mut part = Part::default();
            let mut levels: Vec<u8> = Vec::new();
            for &class in classes {
                let elements = sets.set(class);
                let length = elements.len();
                let index = length - threshold.overlap_needed(length, length) + 1;
                let before = part.keys.len();
                levels.clear();
                match sets.counts(class) {
                    Some(counts) => {
                        levels.extend(counts.iter().map(|&count| LEVELS[usize::from(count)]));
                    }
                    None => levels.resize(length, LEVELS[255]),
                }
                let alone = append_prefix(&elements, &levels, probe(length), &mut part.keys);
                let count = part.keys.len() - before;
                part.counts.push(count as u32);
                part.skipped.push(alone as u32);
                part.found_by
                    .push(index.saturating_sub(alone).min(count) as u32);
            }
            part
        };
        let most: usize = by_length
            .par_iter()
            .map(|&class| probe(sets.set_len(class)))
            .sum();
        let store = room.store_if(8 * most as u64, SHARE, "prefixes");
        let wave = match store {
            None => usize::MAX,
            Some(_) => Self::SETS * TASKS,
        };
        let mut all = Self {
            starts: Vec::with_capacity(by_length.len() + 1),
            keys: Keys::default(),
            skipped: Vec::with_capacity(by_length.len()),
            found_by: Vec::with_capacity(by_length.len()),
        };
        all.starts.push(0);
        let mut held: Vec<Vec<u64>> = Vec::new();
        let (mut end, mut first) = (0, None);
        for wave in by_length.chunks(wave.min(by_length.len().max(1))) {
            let parts: Vec<Part> = wave.par_chunks(Self::SETS).map(make).collect();
            for mut part in parts {
                all.starts.extend(part.counts.iter().map(|&count| {
                    end += count as usize;
                    end
                }));
                match &store {
                    Some(store) => {
                        // Nobody else appends to it, so the keys are all in one place.
                        let at = store::append(&**store, &part.keys);
                        first.get_or_insert(at);
                    }
                    None => held.push(part.keys),
                }
                all.skipped.append(&mut part.skipped);
                all.found_by.append(&mut part.found_by);
            }
        }
        all.keys = match store {
            None => Keys::Held(held),
            Some(store) => Keys::Stored(Values::Stored {
                store,
                start: first.unwrap_or(0),
                len: end,
            }),
        };
        all
    }

    /// The keys of `sets`, in windows of up to `keys` keys, or of one set.
    fn windows(&self, sets: Range<u32>, keys: usize) -> impl Iterator<Item = Window<'_>> {
        self.ranges(sets, keys).map(|sets| self.window(sets))
    }

    /// Cuts `sets` into runs of up to `keys` keys, or of one set.
    fn ranges(&self, sets: Range<u32>, keys: usize) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut first = sets.start;
        std::iter::from_fn(move || {
            if first >= sets.end {
                return None;
            }
            let before = self.starts[first as usize];
            let rest = &self.starts[first as usize + 1..=sets.end as usize];
            let count = rest.partition_point(|&end| end - before <= keys).max(1);
            let sets = first..first + count as u32;
            first = sets.end;
            Some(sets)
        })
    }

    fn window(&self, sets: Range<u32>) -> Window<'_> {
        let keys = self.starts[sets.start as usize]..self.starts[sets.end as usize];
        Window {
            prefixes: self,
            read: match &self.keys {
                Keys::Held(_) => None,
                Keys::Stored(stored) => Some(stored.get(keys).into_owned()),
            },
            sets,
        }
    }

    /// The end of a block that begins with `first`: it has up to `postings`, or one set.
    fn block_end(&self, first: u32, postings: usize) -> u32 {
        let mut end = first as usize;
        let mut total = 0;
        while end < self.found_by.len() {
            total += self.found_by[end] as usize;
            if total > postings && end > first as usize {
                break;
            }
            end += 1;
        }
        end as u32
    }
}

impl Window<'_> {
    fn keys(&self, set: u32) -> &[u64] {
        let starts = &self.prefixes.starts;
        let (keys, first) = match (&self.read, &self.prefixes.keys) {
            (Some(read), _) => (read, self.sets.start as usize),
            (None, Keys::Held(held)) => {
                let part = set as usize / Prefixes::SETS;
                (&held[part], part * Prefixes::SETS)
            }
            (None, Keys::Stored(_)) => return &[],
        };
        let set = set as usize;
        &keys[starts[set] - starts[first]..starts[set + 1] - starts[first]]
    }
}

/// Appends the keys of those of the first `prefix` elements in the order that another set may have,
/// ascending, to `keys`; returns how many elements no other set has. Elements come in the order of
/// their hashes, so a counting sort by level is all that it takes.
fn append_prefix(elements: &[u64], levels: &[u8], prefix: usize, keys: &mut Vec<u64>) -> usize {
    let mut counts = [0usize; LEVEL_COUNT];
    for &level in levels {
        counts[usize::from(level)] += 1;
    }
    let alone = counts[0];
    // Where the next key of each level goes, and where those of the level end.
    let mut wanted = prefix.saturating_sub(alone);
    let mut next = [0usize; LEVEL_COUNT];
    let mut ends = [0usize; LEVEL_COUNT];
    let mut end = keys.len();
    for level in 1..LEVEL_COUNT {
        next[level] = end;
        let taken = counts[level].min(wanted);
        wanted -= taken;
        end += taken;
        ends[level] = end;
    }
    if end == keys.len() {
        return alone;
    }
    keys.resize(end, 0);
    for (&hash, &level) in elements.iter().zip(levels) {
        let at = &mut next[usize::from(level)];
        if *at < ends[usize::from(level)] {
            keys[*at] = key(level, hash);
            *at += 1;
        }
    }
    alone
}

/// The postings of a block of sets by key.
struct Index<'a> {
    prefixes: &'a Prefixes,
    numbers: Option<&'a [u64]>,
    shift: u32,
    /// Where the entries of each bucket of keys begin.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    /// The number of keys.
    lists: u64,
    /// The documents that the fullest list holds.
    fullest: u64,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    /// The key by which it is found, which is spread evenly.
    turned: u64,
    set: u32,
    position: u32,
}

/// A key with its hash in front; mixed with the numbers of its set, where they must be equal. Keys
/// that come to be the same by that make more pairs to look at, and lose none.
fn turn(key: u64, numbers: Option<&[u64]>, set: u32) -> u64 {
    let turned = key.rotate_left(6);
    numbers.map_or(turned, |numbers| mix(turned ^ mix(numbers[set as usize])))
}

impl<'a> Index<'a> {
    fn new(
        prefixes: &'a Prefixes,
        numbers: Option<&'a [u64]>,
        block: Range<u32>,
        weights: &[u32],
        limits: &Limits,
    ) -> Self {
        /// The leading bits by which entries are parted, so that each part fits in a cache.
        const PARTS: u32 = 8;
        /// Keys of sets that a thread parts at a time.
        const KEYS: usize = 1 << 17;
        let part_of = |turned: u64| (turned >> (64 - PARTS)) as usize;
        let windows: Vec<Range<u32>> = prefixes.ranges(block, KEYS.min(limits.window)).collect();
        // The entries of each window, and where each part of them begins.
        let parted: Vec<(Vec<Entry>, Vec<u32>)> = windows
            .into_par_iter()
            .map(|sets| {
                let window = prefixes.window(sets.clone());
                let entries = || {
                    sets.clone().flat_map(|set| {
                        let keys = &window.keys(set)[..prefixes.found_by[set as usize] as usize];
                        keys.iter().zip(prefixes.skipped[set as usize]..).map(
                            move |(&key, position)| Entry {
                                turned: turn(key, numbers, set),
                                set,
                                position,
                            },
                        )
                    })
                };
                let mut starts = vec![0u32; (1 << PARTS) + 1];
                for entry in entries() {
                    starts[part_of(entry.turned) + 1] += 1;
                }
                for part in 1..starts.len() {
                    starts[part] += starts[part - 1];
                }
                let mut next = starts.clone();
                let mut parted = vec![Entry::default(); starts[1 << PARTS] as usize];
                for entry in entries() {
                    let at = &mut next[part_of(entry.turned)];
                    parted[*at as usize] = entry;
                    *at += 1;
                }
                (parted, starts)
            })
            .collect();
        let total: usize = parted.iter().map(|(entries, _)| entries.len()).sum();
        let bits = total.max(1).next_power_of_two().ilog2().clamp(PARTS, 30);
        let shift = 64 - bits;
        let mut entries = vec![Entry::default(); total];
        let mut starts = vec![0u32; (1 << bits) + 1];
        starts[1 << bits] = total as u32;
        // What each part fills: its entries, the starts of its buckets, and the entries before it.
        let mut parts = Vec::with_capacity(1 << PARTS);
        let (mut rest, mut before) = (&mut entries[..], 0);
        for (part, buckets) in starts
            .chunks_exact_mut(1 << (bits - PARTS))
            .take(1 << PARTS)
            .enumerate()
        {
            let count: u32 = parted
                .iter()
                .map(|(_, starts)| starts[part + 1] - starts[part])
                .sum();
            let (now, later) = rest.split_at_mut(count as usize);
            parts.push((part, now, buckets, before));
            (rest, before) = (later, before + count);
        }
        let documents = |list: &[Entry]| {
            list.iter()
                .map(|entry| u64::from(weights[entry.set as usize]))
                .sum()
        };
        let fill = |(part, entries, buckets, before): (usize, &mut [Entry], &mut [u32], u32)| {
            let mut filled = 0;
            for (parted, starts) in &parted {
                let run = &parted[starts[part] as usize..starts[part + 1] as usize];
                entries[filled..filled + run.len()].copy_from_slice(run);
                filled += run.len();
            }
            entries.sort_unstable_by_key(|entry| (entry.turned, entry.set));
            let first = part << (bits - PARTS);
            let mut at = 0;
            for (bucket, start) in buckets.iter_mut().enumerate() {
                while at < entries.len() && (entries[at].turned >> shift) as usize - first < bucket
                {
                    at += 1;
                }
                *start = before + at as u32;
            }
            entries
                .chunk_by(|a, b| a.turned == b.turned)
                .map(documents)
                .fold((0, 0), |(lists, fullest), list| {
                    (lists + 1, u64::max(fullest, list))
                })
        };
        let (lists, fullest) = parts
            .into_par_iter()
            .map(fill)
            .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1.max(b.1)));
        Self {
            prefixes,
            numbers,
            shift,
            starts,
            entries,
            lists,
            fullest,
        }
    }

    /// Where the entries of a key begin, and how many of them are of sets before `set`.
    fn earlier(&self, key: u64, set: u32) -> (u32, u32) {
        /// Buckets up to this long are searched from the front.
        const SHORT: usize = 16;
        let turned = turn(key, self.numbers, set);
        let bucket = (turned >> self.shift) as usize;
        let start = self.starts[bucket];
        let bucket = &self.entries[start as usize..self.starts[bucket + 1] as usize];
        let before = |at: (u64, u32)| {
            let is_before = |entry: &Entry| (entry.turned, entry.set) < at;
            if bucket.len() <= SHORT {
                bucket.iter().take_while(|entry| is_before(entry)).count()
            } else {
                bucket.partition_point(is_before)
            }
        };
        let first = before((turned, 0));
        let earlier = before((turned, set)) - first;
        (start + first as u32, earlier as u32)
    }

    /// The entries as a join sees them.
    fn postings(&self) -> Arc<Vec<Posting>> {
        let posting = |entry: &Entry| Posting {
            set: entry.set,
            position: entry.position,
        };
        Arc::new(self.entries.iter().map(posting).collect())
    }

    /// How many documents the entries up to each one stand for.
    fn sums(&self, weights: &[u32]) -> Vec<u64> {
        let mut sums = Vec::with_capacity(self.entries.len() + 1);
        sums.push(0);
        for entry in &self.entries {
            sums.push(sums[sums.len() - 1] + u64::from(weights[entry.set as usize]));
        }
        sums
    }

    /// What each set of a window meets among the sets before it, from its first possible partner on,
    /// if it is to be kept. With `sums` it is counted, too: how many pairs of documents that is, and
    /// how many pairs of sets.
    fn meet(
        &self,
        window: &Window<'_>,
        weights: &[u32],
        first_partner: impl Fn(u32) -> u32 + Sync,
        sums: Option<&[u64]>,
        keep: bool,
        postings: &Arc<Vec<Posting>>,
    ) -> (Block, u128, u64) {
        /// Sets of a task.
        const SETS: u32 = 1024;
        #[derive(Default)]
        struct Part {
            counts: Vec<u32>,
            hits: Vec<Hit>,
            slots: u128,
            work: u64,
        }
        let tasks: Vec<u32> = window.sets.clone().step_by(SETS as usize).collect();
        let parts: Vec<Part> = tasks
            .into_par_iter()
            .map(|first| {
                let mut part = Part::default();
                for set in first..(first + SETS).min(window.sets.end) {
                    let before = part.hits.len();
                    let mut documents = 0;
                    let first = first_partner(set);
                    for (&key, position) in window
                        .keys(set)
                        .iter()
                        .zip(self.prefixes.skipped[set as usize]..)
                    {
                        let (start, earlier) = self.earlier(key, set);
                        let end = start + earlier;
                        let list = &self.entries[start as usize..end as usize];
                        let short = too_short(list, |entry| entry.set, first) as u32;
                        if short == earlier {
                            continue;
                        }
                        if let Some(sums) = sums {
                            documents += sums[end as usize] - sums[(start + short) as usize];
                            part.work = part.work.saturating_add((earlier - short).into());
                        }
                        if keep {
                            part.hits.push(Hit {
                                start,
                                earlier,
                                position,
                            });
                        }
                    }
                    part.slots += u128::from(documents) * u128::from(weights[set as usize]);
                    part.counts.push((part.hits.len() - before) as u32);
                }
                part
            })
            .collect();
        let mut block = Block {
            first: window.sets.start,
            hit_ends: Vec::with_capacity(window.sets.len()),
            hits: Vec::with_capacity(parts.iter().map(|part| part.hits.len()).sum()),
            postings: Arc::clone(postings),
        };
        let (mut slots, mut work) = (0, 0u64);
        for mut part in parts {
            let mut end = block.hits.len();
            block.hit_ends.extend(part.counts.iter().map(|&count| {
                end += count as usize;
                end
            }));
            block.hits.append(&mut part.hits);
            slots += part.slots;
            work = work.saturating_add(part.work);
        }
        (block, slots, work)
    }
}

/// How many of a list, which is in the order of the sets, come before the set `first`. Most often
/// none do.
fn too_short<T>(list: &[T], set: impl Fn(&T) -> u32, first: u32) -> usize {
    match list.first() {
        Some(least) if set(least) < first => list.partition_point(|one| set(one) < first),
        _ => 0,
    }
}

impl Block {
    /// One past the last set that may meet one of the block.
    fn end(&self) -> u32 {
        self.first + self.hit_ends.len() as u32
    }

    /// The lists that a set meets, in the order of their keys.
    fn hits(&self, set: u32) -> &[Hit] {
        let at = (set - self.first) as usize;
        let start = if at == 0 { 0 } else { self.hit_ends[at - 1] };
        &self.hits[start..self.hit_ends[at]]
    }

    /// The postings that a set meets in a list.
    fn list(&self, hit: &Hit) -> &[Posting] {
        &self.postings[hit.start as usize..(hit.start + hit.earlier) as usize]
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
        assert!(LEVELS.is_sorted());
        assert_eq!([LEVELS[0], LEVELS[1], LEVELS[2], LEVELS[15]], [0, 0, 2, 15]);
        assert!(usize::from(LEVELS[255]) < LEVEL_COUNT);
    }
}
