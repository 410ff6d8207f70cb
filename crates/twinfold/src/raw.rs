//! Shingles as they come from the texts, until it is known who can have a partner at all.
//!
//! How many documents have a shingle is a question for a hash table much larger than a cache, and
//! asking it for each shingle of a corpus would miss the cache each time. So shingles are gathered by
//! the leading bits of their hashes first ([`Block`]), a few hundred kilobytes of text at a time while
//! those are in the cache, and then counted part by part ([`count`]): a part of the table fits. The
//! count takes the place of the leading bits, which the part tells. Every pass but the gathering
//! itself is sequential.
//!
//! Blocks may lie in a store: then a count takes a byte of its own in another store, and as many parts
//! are counted at a time as there is room for.
//!
//! Counts are approximate: strangers may share a cell, and a text that has a shingle twice counts it
//! twice. So a count is sometimes too high, and never too low. It does not depend on the order of
//! anything.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::state::{Reader, Writer};
use crate::store::{Store, Values};

/// The leading bits by which shingles are gathered.
const PART_BITS: u32 = 9;
const PARTS: usize = 1 << PART_BITS;

/// Shingles of a block, unless one document has more.
pub(crate) const BLOCK: usize = 1 << 17;

/// Rows of a block.
pub(crate) const BLOCK_ROWS: usize = 1 << 16;

/// Cells of the table for each shingle: more make fewer strangers share one.
const SPREAD: usize = 4;

/// Where the count stands in a shingle that has been counted.
const COUNT_SHIFT: u32 = 56;

/// The shingles of some consecutive rows, gathered by their leading bits; within a part in the order
/// of the rows.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    starts: Vec<u32>,
    shingles: Values<u64>,
    /// The row of each, counted from the first of the block.
    rows: Values<u16>,
    /// The shingles of each row.
    lengths: Vec<u32>,
}

/// A block in memory whose shingles have been counted.
#[derive(Debug)]
pub(crate) struct Counted {
    starts: Vec<u32>,
    shingles: Vec<u64>,
    rows: Vec<u16>,
    lengths: Vec<u32>,
}

fn part_of(hash: u64) -> usize {
    (hash >> (64 - PART_BITS)) as usize
}

impl Block {
    /// Gathers the shingles of rows that are as long as `lengths` says.
    pub(crate) fn new(shingles: &[u64], lengths: Vec<u32>) -> Self {
        let mut starts = vec![0u32; PARTS + 1];
        for &hash in shingles {
            starts[part_of(hash) + 1] += 1;
        }
        for part in 0..PARTS {
            starts[part + 1] += starts[part];
        }
        let mut next = starts.clone();
        let mut gathered = vec![0; shingles.len()];
        let mut rows = vec![0u16; shingles.len()];
        let mut rest = shingles;
        for (row, &length) in (0..=u16::MAX).zip(&lengths) {
            let (own, later) = rest.split_at(length as usize);
            rest = later;
            for &hash in own {
                let at = &mut next[part_of(hash)];
                gathered[*at as usize] = hash;
                rows[*at as usize] = row;
                *at += 1;
            }
        }
        Self {
            starts,
            shingles: Values::Held(gathered),
            rows: Values::Held(rows),
            lengths,
        }
    }

    /// The number of shingles, repeats included.
    pub(crate) fn len(&self) -> usize {
        self.shingles.len()
    }

    /// The bytes of memory that its shingles take.
    pub(crate) fn held_bytes(&self) -> u64 {
        match &self.shingles {
            Values::Held(held) => 10 * held.len() as u64,
            Values::Stored { .. } => 0,
        }
    }

    /// Moves the shingles to a store.
    pub(crate) fn spill(&mut self, store: &Arc<dyn Store>) {
        self.shingles.spill(store);
        self.rows.spill(store);
    }

    pub(crate) fn save(&self, writer: &mut Writer) {
        writer.column(&self.starts);
        writer.column(&self.lengths);
        writer.stored(&self.shingles);
        writer.stored(&self.rows);
    }

    pub(crate) fn load(reader: &mut Reader<'_>, store: &Arc<dyn Store>) -> Option<Self> {
        Some(Self {
            starts: reader.column()?,
            lengths: reader.column()?,
            shingles: reader.stored(store)?,
            rows: reader.stored(store)?,
        })
    }

    /// The shingles of a run of parts.
    fn run(&self, parts: &Range<usize>) -> Range<usize> {
        self.starts[parts.start] as usize..self.starts[parts.end] as usize
    }
}

impl Counted {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// The shingles of each row, repeats included.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// How many shingles of each row were met once, in no other row and once in this. After
    /// [`count`].
    pub(crate) fn own(&self) -> Vec<u32> {
        let mut own = vec![0u32; self.rows()];
        for (&shingle, &row) in self.shingles.iter().zip(&self.rows) {
            own[usize::from(row)] += u32::from(shingle >> COUNT_SHIFT <= 1);
        }
        own
    }

    /// Appends the set of each row that is `wanted` to `sets`, in the order of the rows. After
    /// [`count`].
    pub(crate) fn append_sets(&self, wanted: &[bool], sets: &mut Sets) {
        // The shingles of rows that are not wanted all go to one place past the others, so that no
        // branch depends on whose a shingle is.
        let first = sets.hashes.len();
        let mut next = Vec::with_capacity(self.rows());
        let mut nowhere = first;
        for (&length, &wanted) in self.lengths.iter().zip(wanted) {
            next.push((nowhere, usize::from(wanted)));
            nowhere += if wanted { length as usize } else { 0 };
        }
        for (at, step) in &mut next {
            if *step == 0 {
                *at = nowhere;
            }
        }
        sets.hashes.resize(nowhere + 1, 0);
        sets.counts.resize(nowhere + 1, 0);
        for part in 0..PARTS {
            let leading = (part as u64) << (64 - PART_BITS);
            let run = self.starts[part] as usize..self.starts[part + 1] as usize;
            for (&shingle, &row) in self.shingles[run.clone()].iter().zip(&self.rows[run]) {
                let (at, step) = &mut next[usize::from(row)];
                sets.hashes[*at] = leading | shingle & (u64::MAX >> PART_BITS);
                sets.counts[*at] = (shingle >> COUNT_SHIFT) as u8;
                *at += *step;
            }
        }
        let (mut start, mut written) = (first, first);
        for (&length, &wanted) in self.lengths.iter().zip(wanted) {
            if wanted {
                let end = start + length as usize;
                order(&mut sets.hashes[start..end], &mut sets.counts[start..end]);
                let beginning = written;
                for at in start..end {
                    let hash = sets.hashes[at];
                    let repeated = written > beginning && sets.hashes[written - 1] == hash;
                    sets.hashes[written] = hash;
                    sets.counts[written] = sets.counts[at];
                    written += usize::from(!repeated);
                }
                start = end;
            }
            sets.ends.push(written);
        }
        sets.hashes.truncate(written);
        sets.counts.truncate(written);
    }
}

/// Sets of hashes, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    /// Where each set ends.
    pub(crate) ends: Vec<usize>,
    /// The distinct hashes of each set, ascending.
    pub(crate) hashes: Vec<u64>,
    /// How often each was met, which is at most 255.
    pub(crate) counts: Vec<u8>,
}

/// Puts hashes that are in order by their leading bits in order by all of them, and their counts with
/// them.
fn order(hashes: &mut [u64], counts: &mut [u8]) {
    // Most hashes have few of their part beside them, so an insertion sort has little to move. Where
    // it has much to move, a text is very long, or repeats itself.
    let mut moves = hashes.len() * 8;
    for at in 1..hashes.len() {
        let (hash, count) = (hashes[at], counts[at]);
        let mut place = at;
        while place > 0 && hashes[place - 1] > hash {
            hashes[place] = hashes[place - 1];
            counts[place] = counts[place - 1];
            place -= 1;
        }
        (hashes[place], counts[place]) = (hash, count);
        moves = moves.saturating_sub(at - place);
        if moves == 0 {
            let mut pairs: Vec<(u64, u8)> =
                hashes.iter().copied().zip(counts.iter().copied()).collect();
            pairs.sort_unstable();
            for (at, (hash, count)) in pairs.into_iter().enumerate() {
                (hashes[at], counts[at]) = (hash, count);
            }
            return;
        }
    }
}

/// The counts of all blocks' shingles.
#[derive(Debug)]
pub(crate) enum Counts {
    /// In the place of the shingles' leading bits.
    InPlace,
    /// By run of parts, and within it by block; with the runs.
    Stored(Vec<(Range<usize>, Vec<Values<u8>>)>),
}

/// Counts the shingles of all blocks; no count is above 255. Blocks that are stored are counted with
/// about `room` bytes, and their counts go to `store`.
pub(crate) fn count(
    blocks: &mut [&mut Block],
    room: u64,
    store: Option<&Arc<dyn Store>>,
) -> Counts {
    match store {
        Some(store) => Counts::Stored(count_stored(blocks, room, store)),
        None => {
            count_held(blocks);
            Counts::InPlace
        }
    }
}

fn count_held(blocks: &mut [&mut Block]) {
    let mut parts: Vec<Vec<&mut [u64]>> = (0..PARTS).map(|_| Vec::new()).collect();
    for block in blocks {
        let Values::Held(shingles) = &mut block.shingles else {
            continue;
        };
        let mut rest = &mut shingles[..];
        for (part, ends) in parts.iter_mut().zip(block.starts.windows(2)) {
            let (run, later) = rest.split_at_mut((ends[1] - ends[0]) as usize);
            rest = later;
            if !run.is_empty() {
                part.push(run);
            }
        }
    }
    parts.into_par_iter().with_max_len(1).for_each_init(
        Vec::new,
        |table: &mut Vec<u8>, mut runs| {
            let cell = tabulate(table, &runs);
            for run in &mut runs {
                for hash in &mut **run {
                    *hash = counted(table[cell(*hash)], *hash);
                }
            }
        },
    );
}

/// Counts as many parts at a time as fit: of each shingle the hash, its count and eight cells.
fn count_stored(
    blocks: &[&mut Block],
    room: u64,
    store: &Arc<dyn Store>,
) -> Vec<(Range<usize>, Vec<Values<u8>>)> {
    let mut runs = Vec::new();
    let size = |part: usize| -> u64 {
        let shingles = |block: &&mut Block| u64::from(block.starts[part + 1] - block.starts[part]);
        blocks.iter().map(shingles).sum::<u64>() * 17
    };
    let mut first = 0;
    while first < PARTS {
        let (mut end, mut bytes) = (first + 1, size(first));
        while end < PARTS && bytes + size(end) <= room {
            bytes += size(end);
            end += 1;
        }
        let parts = first..end;
        let shingles: Vec<Vec<u64>> = blocks
            .par_iter()
            .map(|block| block.shingles.get(block.run(&parts)).into_owned())
            .collect();
        let mut counts: Vec<Vec<u8>> = shingles.iter().map(|run| vec![0; run.len()]).collect();
        let mut by_part: Vec<Vec<(&[u64], &mut [u8])>> =
            parts.clone().map(|_| Vec::new()).collect();
        for ((block, shingles), counts) in blocks.iter().zip(&shingles).zip(&mut counts) {
            let (mut shingles, mut counts) = (&shingles[..], &mut counts[..]);
            for (part, runs) in parts.clone().zip(&mut by_part) {
                let length = (block.starts[part + 1] - block.starts[part]) as usize;
                let (now, later) = shingles.split_at(length);
                let (now_counts, later_counts) = std::mem::take(&mut counts).split_at_mut(length);
                (shingles, counts) = (later, later_counts);
                if length > 0 {
                    runs.push((now, now_counts));
                }
            }
        }
        by_part.into_par_iter().with_max_len(1).for_each_init(
            Vec::new,
            |table: &mut Vec<u8>, mut runs| {
                let hashes: Vec<&[u64]> = runs.iter().map(|run| run.0).collect();
                let cell = tabulate(table, &hashes);
                for (hashes, counts) in &mut runs {
                    for (hash, count) in hashes.iter().zip(&mut **counts) {
                        *count = table[cell(*hash)];
                    }
                }
            },
        );
        let stored = counts
            .iter()
            .map(|counts| Values::stored(store, counts))
            .collect();
        runs.push((parts, stored));
        first = end;
    }
    runs
}

/// Counts the shingles of a part in a table; returns where the count of each stands.
fn tabulate<R: AsRef<[u64]>>(table: &mut Vec<u8>, runs: &[R]) -> impl Fn(u64) -> usize + use<R> {
    let shingles: usize = runs.iter().map(|run| run.as_ref().len()).sum();
    let bits = (shingles.max(1) * SPREAD)
        .next_power_of_two()
        .ilog2()
        .clamp(1, 64 - PART_BITS);
    // The leading bits are those of the part.
    let cell = move |hash: u64| (hash << PART_BITS >> (64 - bits)) as usize;
    table.clear();
    table.resize(1 << bits, 0);
    for run in runs {
        for &hash in run.as_ref() {
            let count = &mut table[cell(hash)];
            *count = count.saturating_add(1);
        }
    }
    cell
}

/// A shingle whose count has taken the place of its leading bits.
fn counted(count: u8, hash: u64) -> u64 {
    u64::from(count) << COUNT_SHIFT | hash & (u64::MAX >> (64 - COUNT_SHIFT))
}

impl Counts {
    /// The block of this number, with its counts.
    pub(crate) fn of(&self, number: usize, block: Block) -> Counted {
        let mut shingles = block.shingles.into_vec();
        if let Self::Stored(runs) = self {
            for (parts, blocks) in runs {
                let run = block.starts[parts.start] as usize..block.starts[parts.end] as usize;
                let counts = blocks[number].get(0..run.len());
                for (shingle, &count) in shingles[run].iter_mut().zip(&*counts) {
                    *shingle = counted(count, *shingle);
                }
            }
        }
        Counted {
            starts: block.starts,
            shingles,
            rows: block.rows.into_vec(),
            lengths: block.lengths,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::sketch::mix;
    use crate::store::{MemoryStorage, Storage as _};

    fn counted_blocks(
        mut blocks: Vec<Block>,
        room: u64,
        store: Option<&Arc<dyn Store>>,
    ) -> Vec<Counted> {
        let counts = count(&mut blocks.iter_mut().collect::<Vec<_>>(), room, store);
        let blocks = blocks.into_iter().enumerate();
        blocks
            .map(|(number, block)| counts.of(number, block))
            .collect()
    }

    fn check(texts: &[Vec<u64>], cut: usize) {
        let mut exact: BTreeMap<u64, usize> = BTreeMap::new();
        for &hash in texts.iter().flatten() {
            *exact.entry(hash).or_default() += 1;
        }
        let blocks: Vec<Block> = texts
            .chunks(cut)
            .map(|rows| {
                let lengths = rows.iter().map(|row| row.len() as u32).collect();
                Block::new(&rows.concat(), lengths)
            })
            .collect();
        let held = counted_blocks(blocks.clone(), 0, None);
        for room in [0, 1000, u64::MAX] {
            let store = MemoryStorage.create("raw");
            let mut stored = blocks.clone();
            stored.iter_mut().for_each(|block| block.spill(&store));
            assert!(stored.iter().all(|block| block.held_bytes() == 0));
            let stored = counted_blocks(stored, room, Some(&store));
            for (a, b) in held.iter().zip(&stored) {
                assert_eq!((&a.shingles, &a.rows), (&b.shingles, &b.rows));
            }
        }
        let (mut too_high, mut shingles) = (0, 0);
        for (block, rows) in held.iter().zip(texts.chunks(cut)) {
            let wanted: Vec<bool> = (0..rows.len()).map(|row| row % 3 != 1).collect();
            let mut sets = Sets {
                ends: vec![2],
                hashes: vec![7, 8],
                counts: vec![1, 1],
            };
            block.append_sets(&wanted, &mut sets);
            assert_eq!(sets.ends.len(), 1 + rows.len());
            assert_eq!((&sets.hashes[..2], sets.counts[1]), (&[7, 8][..], 1));
            for (row, ends) in sets.ends.windows(2).enumerate() {
                let expected: BTreeSet<u64> =
                    rows[row].iter().copied().filter(|_| wanted[row]).collect();
                let hashes = &sets.hashes[ends[0]..ends[1]];
                assert_eq!(hashes, expected.into_iter().collect::<Vec<_>>());
                for (hash, &count) in hashes.iter().zip(&sets.counts[ends[0]..ends[1]]) {
                    assert!(usize::from(count) >= exact[hash].min(255));
                    too_high += usize::from(usize::from(count) > exact[hash]);
                    shingles += 1;
                }
            }
            assert_eq!(sets.hashes.len(), sets.counts.len());
            for (own, row) in block.own().iter().zip(rows) {
                let alone = row.iter().filter(|hash| exact[hash] == 1).count();
                assert!(*own as usize <= alone);
            }
        }
        assert!(too_high * 4 <= shingles + 40, "{too_high} of {shingles}");
    }

    #[test]
    fn spread_evenly_or_not_with_and_without_repeats() {
        for length in [0u64, 1, 20, 1000, 40_000] {
            let even: Vec<u64> = (0..length).map(mix).collect();
            let repeated: Vec<u64> = (0..length).map(|i| mix(i % 3)).collect();
            let ends = vec![0, u64::MAX, 1, u64::MAX - 1];
            check(
                &[even.clone(), repeated.clone(), ends.clone(), even.clone()],
                2,
            );
            check(&[ends, even, vec![], repeated], 4);
        }
        check(&[], 1);
    }

    proptest! {
        #[test]
        fn equals_a_set(
            texts in prop::collection::vec(prop::collection::vec(0u64..2000, 0..200), 0..12),
            cut in 1usize..6,
        ) {
            let texts: Vec<Vec<u64>> = texts
                .into_iter()
                .map(|text| text.into_iter().map(mix).collect())
                .collect();
            check(&texts, cut);
        }
    }
}
