//! Sorting hashes into sets.
//!
//! Hashes are spread evenly, so their leading bits tell where they belong: one pass counts them
//! into as many buckets as there are hashes, one puts each into its bucket, and what is left is to
//! order the few hashes within a bucket. Expected time: linear, whatever the order they come in;
//! hashes that are not spread evenly cost a comparison sort.

/// Sorts `hashes` and moves the distinct ones to the front; returns how many there are.
///
/// `scratch` and `counts` are reused from set to set.
pub(crate) fn sort_distinct(
    hashes: &mut [u64],
    scratch: &mut Vec<u64>,
    counts: &mut Vec<u32>,
) -> usize {
    /// Below so many a comparison sort is as fast.
    const SMALL: usize = 48;
    /// A bucket of more hashes than this holds repeats, or hashes that are not spread evenly.
    const CROWDED: usize = 24;
    if hashes.len() <= SMALL || hashes.len() > 1 << 30 {
        hashes.sort_unstable();
        return dedup_sorted(hashes);
    }
    // At least half as many buckets as hashes, and no more than fit in the second-level cache.
    let bits = (hashes.len().ilog2()).min(16);
    let shift = 64 - bits;
    counts.clear();
    counts.resize((1 << bits) + 1, 0);
    for &hash in &*hashes {
        counts[(hash >> shift) as usize + 1] += 1;
    }
    for bucket in 1..counts.len() {
        counts[bucket] += counts[bucket - 1];
    }
    scratch.clear();
    scratch.resize(hashes.len(), 0);
    for &hash in &*hashes {
        let next = &mut counts[(hash >> shift) as usize];
        scratch[*next as usize] = hash;
        *next += 1;
    }
    // Now `counts[b]` is where bucket `b` ends.
    let (mut start, mut distinct) = (0, 0);
    for &end in &counts[..1 << bits] {
        let bucket = &mut scratch[start..end as usize];
        if bucket.len() > CROWDED {
            bucket.sort_unstable();
        } else {
            for at in 1..bucket.len() {
                let hash = bucket[at];
                let mut place = at;
                while place > 0 && bucket[place - 1] > hash {
                    bucket[place] = bucket[place - 1];
                    place -= 1;
                }
                bucket[place] = hash;
            }
        }
        // Equal hashes share a bucket.
        for at in 0..bucket.len() {
            if at == 0 || bucket[at] != bucket[at - 1] {
                hashes[distinct] = bucket[at];
                distinct += 1;
            }
        }
        start = end as usize;
    }
    distinct
}

/// Moves the distinct elements of a sorted slice to its front and returns how many there are.
fn dedup_sorted(values: &mut [u64]) -> usize {
    let mut distinct = 0;
    for index in 0..values.len() {
        if index == 0 || values[index] != values[distinct - 1] {
            values[distinct] = values[index];
            distinct += 1;
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::mix;
    use proptest::prelude::*;

    fn check(values: Vec<u64>) {
        let expected: Vec<u64> = values
            .iter()
            .copied()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let mut sorted = values;
        let distinct = sort_distinct(&mut sorted, &mut Vec::new(), &mut Vec::new());
        assert_eq!(sorted[..distinct], expected);
    }

    #[test]
    fn spread_evenly_or_not_with_and_without_repeats() {
        for len in [0u64, 1, 2, 47, 48, 49, 63, 64, 65, 1000, 100_000] {
            check((0..len).map(mix).collect());
            check((0..len).map(|i| mix(i / 3)).collect());
            check((0..len).rev().collect());
            check((0..len).map(|i| u64::MAX - i).collect());
            check(vec![7; len as usize]);
        }
    }

    proptest! {
        #[test]
        fn equals_a_set(values in prop::collection::vec(any::<u64>(), 0..400), modulus in 1u64..1000) {
            check(values.clone());
            check(values.into_iter().map(|value| value % modulus).collect());
        }
    }
}
