//! Parity digests of sets: a lower bound of how many elements two sets do not share, from eight words
//! each.
//!
//! An element flips one bit of its set's digest. Elements that both sets have flip the same bits, so
//! two digests differ in no more bits than there are elements that only one of the sets has; and in
//! nearly as many, as long as those are few beside the bits, however large the sets are.
//!
//! Source of the idea: E. Sandes, G. Teodoro, A. Melo, "Bitmap filter: speeding up exact set
//! similarity joins with bitwise operations", 2020.

/// The digest of a set.
pub type Parity = [u64; 8];

/// The digest of a set of hashes, of which the trailing bits are used.
pub fn parity(hashes: &[u64]) -> Parity {
    let mut digest = [0u64; 8];
    for &hash in hashes {
        digest[(hash >> 6 & 7) as usize] ^= 1 << (hash & 63);
    }
    digest
}

/// In how many bits two digests differ: at most the number of elements that only one set has.
pub fn parity_distance(left: &Parity, right: &Parity) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has just said that it has the instruction.
        return unsafe { distance_popcnt(left, right) };
    }
    distance(left, right)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn distance_popcnt(left: &Parity, right: &Parity) -> u32 {
    distance(left, right)
}

/// Inlined into each version.
#[inline(always)]
fn distance(left: &Parity, right: &Parity) -> u32 {
    let mut bits = 0;
    for (a, b) in left.iter().zip(right) {
        bits += (a ^ b).count_ones();
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_never_more_than_the_difference(
            left in prop::collection::btree_set(any::<u64>(), 0..400),
            right in prop::collection::btree_set(any::<u64>(), 0..400),
            both in prop::collection::btree_set(any::<u64>(), 0..400),
        ) {
            let set = |own: &std::collections::BTreeSet<u64>| own.union(&both).copied().collect::<Vec<_>>();
            let (a, b) = (set(&left), set(&right));
            let different = left.union(&both).filter(|x| !right.contains(x) && !both.contains(x)).count()
                + right.union(&both).filter(|x| !left.contains(x) && !both.contains(x)).count();
            let bits = parity_distance(&parity(&a), &parity(&b));
            prop_assert!(bits as usize <= different);
            prop_assert_eq!(bits, distance(&parity(&a), &parity(&b)));
            prop_assert_eq!(bits as usize % 2, different % 2);
        }
    }
}
