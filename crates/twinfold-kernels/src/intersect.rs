//! Intersection sizes of sorted sets of 64-bit hashes.
//!
//! Cost: one step for each element of either set, without branches that depend on the data, since
//! the outcome of a comparison between hashes cannot be predicted.

/// The number of elements that two strictly ascending slices share.
pub fn intersection_size(left: &[u64], right: &[u64]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < left.len() && j < right.len() {
        let (a, b) = (left[i], right[j]);
        shared += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    shared
}

/// The number of shared elements if it is at least `needed`, else `None`, and then as soon as the
/// rest of either slice cannot make up what is missing.
pub fn intersection_at_least(left: &[u64], right: &[u64], needed: usize) -> Option<usize> {
    /// Steps between two looks at the bound: rare enough to cost nothing, often enough to save.
    const STRIDE: usize = 32;
    let (mut i, mut j, mut shared) = (0, 0, 0);
    loop {
        let rest = (left.len() - i).min(right.len() - j);
        if shared + rest < needed {
            return None;
        }
        // Each step moves each side by one at most, so `rest` steps are safe without a check.
        if rest == 0 {
            return Some(shared);
        }
        for _ in 0..rest.min(STRIDE) {
            let (a, b) = (left[i], right[j]);
            shared += usize::from(a == b);
            i += usize::from(a <= b);
            j += usize::from(b <= a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn equals_the_definition(
            left in prop::collection::btree_set(0u64..400, 0..300),
            right in prop::collection::btree_set(0u64..400, 0..300),
            needed in 0usize..320,
        ) {
            let expected = left.intersection(&right).count();
            let (a, b): (Vec<u64>, Vec<u64>) = (
                left.iter().copied().collect(),
                right.iter().copied().collect::<BTreeSet<_>>().into_iter().collect(),
            );
            prop_assert_eq!(intersection_size(&a, &b), expected);
            prop_assert_eq!(
                intersection_at_least(&a, &b, needed),
                (expected >= needed).then_some(expected)
            );
        }
    }
}
