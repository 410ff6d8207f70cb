//! Tables that tell how many sets an element is in, about: indexed by the leading bits of its hash,
//! so that strangers may share a cell, which makes a count too high and never too low.
//!
//! A table is much larger than a cache and hashes are spread evenly, so counting one at a time
//! would miss the cache each time. Hashes are gathered by their leading bits first, and then counted
//! into the part of the table that they all belong to, under that part's lock. Counts do not depend
//! on the order, so threads need no more order than that.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use twinfold_kernels::prefer_huge_pages;

/// Cells for each element: more make fewer strangers share one.
const SPREAD: usize = 4;

/// The leading bits by which hashes are gathered.
const PART_BITS: u32 = 8;

/// Hashes that are gathered before they are counted: a few pages for each part.
const GATHERED: usize = 512;

/// Hashes gathered by their leading bits.
struct Gathered {
    hashes: Vec<u64>,
    lengths: [usize; 1 << PART_BITS],
}

impl Gathered {
    fn new() -> Self {
        Self {
            hashes: vec![0; GATHERED << PART_BITS],
            lengths: [0; 1 << PART_BITS],
        }
    }

    fn part(&self, number: usize) -> &[u64] {
        &self.hashes[number * GATHERED..][..self.lengths[number]]
    }
}

/// Counts every element of `rows` into a table; `count` counts hashes into the part of it that they
/// belong to.
fn count_parts<'a, T: Send>(
    table: &mut [T],
    rows: impl ParallelIterator<Item = &'a [u64]>,
    count: impl Fn(&mut [T], &[u64]) + Sync,
) {
    prefer_huge_pages(table);
    let part = table.len() >> PART_BITS;
    let parts: Vec<Mutex<&mut [T]>> = table.chunks_mut(part).map(Mutex::new).collect();
    let flush = |number: usize, gathered: &mut Gathered| {
        let mut cells = parts[number].lock().unwrap_or_else(PoisonError::into_inner);
        count(&mut cells, gathered.part(number));
        gathered.lengths[number] = 0;
    };
    rows.fold(Gathered::new, |mut gathered, row| {
        for &hash in row {
            let number = (hash >> (64 - PART_BITS)) as usize;
            let length = gathered.lengths[number];
            gathered.hashes[number * GATHERED + length] = hash;
            gathered.lengths[number] = length + 1;
            if length + 1 == GATHERED {
                flush(number, &mut gathered);
            }
        }
        gathered
    })
    .for_each(|mut gathered| {
        for number in 0..1 << PART_BITS {
            if gathered.lengths[number] > 0 {
                flush(number, &mut gathered);
            }
        }
    });
}

/// The bits of a hash that index a table for so many elements.
fn index_bits(elements: usize) -> u32 {
    (elements.max(1) * SPREAD)
        .next_power_of_two()
        .ilog2()
        .clamp(PART_BITS + 6, 40)
}

/// Which elements may be in more than one set: two bits an element, met and met again.
#[derive(Debug)]
pub(crate) struct Shared {
    shift: u32,
    words: Vec<u64>,
}

/// Elements to a word of [`Shared`].
const CELLS: u32 = 32;

impl Shared {
    /// Counts every element of `rows`, of which there are about `elements`. An element that one row
    /// has twice counts as shared.
    pub(crate) fn new<'a>(elements: usize, rows: impl ParallelIterator<Item = &'a [u64]>) -> Self {
        let bits = index_bits(elements);
        let shift = 64 - bits;
        let mut words = vec![0u64; (1usize << bits) / CELLS as usize];
        let mask = words.len() / (1 << PART_BITS) - 1;
        count_parts(&mut words, rows, |part, hashes| {
            for &hash in hashes {
                let (word, at) = place(hash, shift);
                let word = &mut part[word & mask];
                let met = *word >> at & 1;
                *word |= (1 | met << 1) << at;
            }
        });
        Self { shift, words }
    }

    /// Whether more than one set may have the element.
    pub(crate) fn contains(&self, hash: u64) -> bool {
        let (word, at) = place(hash, self.shift);
        self.words[word] >> at & 2 != 0
    }
}

/// The word of an element and the first of its bits there.
fn place(hash: u64, shift: u32) -> (usize, u32) {
    let cell = hash >> shift;
    (
        (cell / u64::from(CELLS)) as usize,
        (cell as u32 % CELLS) * 2,
    )
}

/// How many sets have an element, about, and at most 255.
#[derive(Debug)]
pub(crate) struct Frequencies {
    shift: u32,
    counts: Vec<u8>,
}

impl Frequencies {
    /// Counts every element of `sets`, of which there are `elements`.
    pub(crate) fn new<'a>(elements: usize, sets: impl ParallelIterator<Item = &'a [u64]>) -> Self {
        let bits = index_bits(elements);
        let shift = 64 - bits;
        let mut counts = vec![0u8; 1 << bits];
        let mask = counts.len() / (1 << PART_BITS) - 1;
        count_parts(&mut counts, sets, |part, hashes| {
            for &hash in hashes {
                let count = &mut part[(hash >> shift) as usize & mask];
                *count = count.saturating_add(1);
            }
        });
        Self { shift, counts }
    }

    pub(crate) fn of(&self, hash: u64) -> u8 {
        self.counts[(hash >> self.shift) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::mix;

    #[test]
    fn counts_are_never_too_low_and_seldom_too_high() {
        // Element i is in 1 + i % 5 of the sets.
        let sets: Vec<Vec<u64>> = (0..5)
            .map(|set| (0..20_000).filter(|i| i % 5 >= set).map(mix).collect())
            .collect();
        let elements = sets.iter().map(Vec::len).sum();
        let shared = Shared::new(elements, sets.par_iter().map(Vec::as_slice));
        let frequencies = Frequencies::new(elements, sets.par_iter().map(Vec::as_slice));
        let mut too_high = 0;
        for i in 0..20_000u64 {
            let exact = 1 + i % 5;
            let count = u64::from(frequencies.of(mix(i)));
            assert!(count >= exact);
            assert!(exact == 1 || shared.contains(mix(i)));
            too_high += u64::from(count > exact);
            too_high += u64::from(exact == 1 && shared.contains(mix(i)));
        }
        assert!(too_high < 4_000, "{too_high}");
    }

    #[test]
    fn counters_saturate() {
        let sets = vec![vec![7u64, u64::MAX]; 1000];
        let frequencies = Frequencies::new(2000, sets.par_iter().map(Vec::as_slice));
        assert_eq!([frequencies.of(7), frequencies.of(u64::MAX)], [255, 255]);
        let none = Frequencies::new(0, Vec::new().into_par_iter());
        assert_eq!(none.of(7), 0);
    }
}
