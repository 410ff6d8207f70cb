//! Min-hash lanes: for each lane `i`, the least of `multiplier[i] * x + increment[i]` (mod 2^64)
//! over the values `x` of a set.
//!
//! With an odd multiplier each lane is a permutation of the 64-bit integers. Linear permutations
//! are biased on structured input (consecutive integers, say), so callers mix the values first.
//!
//! Cost: `values x lanes` multiplications; a lane block of 32 stays in registers while the values
//! stream through. On AVX-512 one instruction multiplies eight lanes.

/// Lanes that are worked on together, so that their minima stay in registers.
const BLOCK: usize = 32;

/// Writes the least permuted value of each lane to `minima`; an empty set gives `u64::MAX`.
///
/// # Panics
/// If `multipliers`, `increments` and `minima` differ in length.
pub fn minhash(values: &[u64], multipliers: &[u64], increments: &[u64], minima: &mut [u64]) {
    assert!(
        multipliers.len() == minima.len() && increments.len() == minima.len(),
        "one multiplier, increment and minimum for each lane"
    );
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has just said that it has both instruction sets.
            return unsafe { avx512(values, multipliers, increments, minima) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just said that it has the instruction set.
            return unsafe { avx2(values, multipliers, increments, minima) };
        }
    }
    serial(values, multipliers, increments, minima);
}

/// The instruction set that [`minhash`] uses on this machine, for the manifest.
pub fn minhash_instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            return "avx512";
        }
        if is_x86_feature_detected!("avx2") {
            return "avx2";
        }
    }
    "serial"
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn avx512(values: &[u64], multipliers: &[u64], increments: &[u64], minima: &mut [u64]) {
    blocks(values, multipliers, increments, minima);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(values: &[u64], multipliers: &[u64], increments: &[u64], minima: &mut [u64]) {
    blocks(values, multipliers, increments, minima);
}

/// The reference: the same loop without any instruction set asked for.
pub fn serial(values: &[u64], multipliers: &[u64], increments: &[u64], minima: &mut [u64]) {
    blocks(values, multipliers, increments, minima);
}

/// Inlined into each version, where the compiler vectorises it for that version's instructions.
#[inline(always)]
fn blocks(values: &[u64], multipliers: &[u64], increments: &[u64], minima: &mut [u64]) {
    let mut multiplier_blocks = multipliers.chunks_exact(BLOCK);
    let mut increment_blocks = increments.chunks_exact(BLOCK);
    let mut minimum_blocks = minima.chunks_exact_mut(BLOCK);
    for ((multiplier, increment), minimum) in (&mut multiplier_blocks)
        .zip(&mut increment_blocks)
        .zip(&mut minimum_blocks)
    {
        let mut least = [u64::MAX; BLOCK];
        for &value in values {
            for lane in 0..BLOCK {
                let permuted = value
                    .wrapping_mul(multiplier[lane])
                    .wrapping_add(increment[lane]);
                least[lane] = least[lane].min(permuted);
            }
        }
        minimum.copy_from_slice(&least);
    }
    let rest = minimum_blocks.into_remainder();
    for (lane, minimum) in rest.iter_mut().enumerate() {
        let (multiplier, increment) = (
            multiplier_blocks.remainder()[lane],
            increment_blocks.remainder()[lane],
        );
        *minimum = values
            .iter()
            .map(|value| value.wrapping_mul(multiplier).wrapping_add(increment))
            .min()
            .unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(values: &[u64], multipliers: &[u64], increments: &[u64]) -> Vec<u64> {
        multipliers
            .iter()
            .zip(increments)
            .map(|(m, a)| {
                values
                    .iter()
                    .map(|v| v.wrapping_mul(*m).wrapping_add(*a))
                    .min()
                    .unwrap_or(u64::MAX)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn every_version_equals_the_definition(
            values in prop::collection::vec(any::<u64>(), 0..200),
            lanes in prop::collection::vec(any::<(u64, u64)>(), 0..150),
        ) {
            let multipliers: Vec<u64> = lanes.iter().map(|l| l.0 | 1).collect();
            let increments: Vec<u64> = lanes.iter().map(|l| l.1).collect();
            let expected = naive(&values, &multipliers, &increments);
            let mut minima = vec![0; lanes.len()];
            minhash(&values, &multipliers, &increments, &mut minima);
            prop_assert_eq!(&minima, &expected);
            serial(&values, &multipliers, &increments, &mut minima);
            prop_assert_eq!(&minima, &expected);
        }
    }
}
