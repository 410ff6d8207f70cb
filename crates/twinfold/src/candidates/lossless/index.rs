//! The index of a block of sets, and what other sets meet in it.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::Limits;
use super::prefixes::{Prefixes, Window};
use crate::sketch::mix;

/// The index of a block of sets, and what each of some sets meets in it.
#[derive(Debug)]
pub(super) struct Block {
    /// The first of the sets that meet one of the block.
    pub(super) first: u32,
    /// Where the hits of each set from the first on end.
    pub(super) hit_ends: Vec<usize>,
    pub(super) hits: Vec<Hit>,
    /// List after list; within a list in the order of the sets.
    pub(super) postings: Arc<Vec<Posting>>,
}

/// A list of postings that a set meets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) start: u32,
    /// The postings of sets before the one that meets them.
    earlier: u32,
    /// The elements of the set that stand before the list's key in the order.
    pub(super) position: u32,
}

/// A set that can be found by a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) set: u32,
    /// The elements of the set that stand before the key in the order.
    pub(super) position: u32,
}

/// The postings of a block of sets by key.
pub(super) struct Index<'a> {
    prefixes: &'a Prefixes,
    numbers: Option<&'a [u64]>,
    shift: u32,
    /// Where the entries of each bucket of keys begin.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    /// The number of keys.
    pub(super) lists: u64,
    /// The documents that the fullest list holds.
    pub(super) fullest: u64,
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
    pub(super) fn new(
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
    pub(super) fn postings(&self) -> Arc<Vec<Posting>> {
        let posting = |entry: &Entry| Posting {
            set: entry.set,
            position: entry.position,
        };
        Arc::new(self.entries.iter().map(posting).collect())
    }

    /// How many documents the entries up to each one stand for.
    pub(super) fn sums(&self, weights: &[u32]) -> Vec<u64> {
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
    pub(super) fn meet(
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
pub(super) fn too_short<T>(list: &[T], set: impl Fn(&T) -> u32, first: u32) -> usize {
    match list.first() {
        Some(least) if set(least) < first => list.partition_point(|one| set(one) < first),
        _ => 0,
    }
}

impl Block {
    /// One past the last set that may meet one of the block.
    pub(super) fn end(&self) -> u32 {
        self.first + self.hit_ends.len() as u32
    }

    /// The lists that a set meets, in the order of their keys.
    pub(super) fn hits(&self, set: u32) -> &[Hit] {
        let at = (set - self.first) as usize;
        let start = if at == 0 { 0 } else { self.hit_ends[at - 1] };
        &self.hits[start..self.hit_ends[at]]
    }

    /// The postings that a set meets in a list.
    pub(super) fn list(&self, hit: &Hit) -> &[Posting] {
        &self.postings[hit.start as usize..(hit.start + hit.earlier) as usize]
    }
}
