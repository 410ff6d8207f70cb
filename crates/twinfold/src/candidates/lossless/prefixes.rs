//! What each set probes with, and what it is found by: the rarest of its elements.

use std::ops::Range;

use rayon::prelude::*;

use crate::sets::ShingleSets;
use crate::store::{self, Room, Values};
use crate::threshold::Threshold;

/// What each set probes with: its keys that more than one set may have, ascending.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    starts: Vec<usize>,
    keys: Keys,
    /// How many elements stand before the first of them in the order.
    pub(super) skipped: Vec<u32>,
    /// How many of them the set is found by.
    pub(super) found_by: Vec<u32>,
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
pub(super) struct Window<'a> {
    prefixes: &'a Prefixes,
    pub(super) sets: Range<u32>,
    /// The keys of these sets, where they had to be read.
    read: Option<Vec<u64>>,
}

/// The place of a shingle in the order, and its identity: see the head of the module.
fn key(level: u8, hash: u64) -> u64 {
    u64::from(level) << 58 | hash >> 6
}

/// The level of each approximate frequency: its leading digits, so that six bits hold it. Level 0 is
/// for elements that no other set has.
pub(super) const LEVELS: [u8; 256] = {
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
pub(super) const LEVEL_COUNT: usize = 64;

impl Prefixes {
    /// Sets of a task.
    const SETS: usize = 512;

    pub(super) fn new(
        threshold: Threshold,
        sets: &ShingleSets,
        by_length: &[u32],
        room: &Room,
    ) -> Self {
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
    pub(super) fn windows(
        &self,
        sets: Range<u32>,
        keys: usize,
    ) -> impl Iterator<Item = Window<'_>> {
        self.ranges(sets, keys).map(|sets| self.window(sets))
    }

    /// Cuts `sets` into runs of up to `keys` keys, or of one set.
    pub(super) fn ranges(
        &self,
        sets: Range<u32>,
        keys: usize,
    ) -> impl Iterator<Item = Range<u32>> + '_ {
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

    pub(super) fn window(&self, sets: Range<u32>) -> Window<'_> {
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
    pub(super) fn block_end(&self, first: u32, postings: usize) -> u32 {
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
    pub(super) fn keys(&self, set: u32) -> &[u64] {
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
