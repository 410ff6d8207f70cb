//! Min-hash signatures.
//!
//! Value `i` of a signature is the least of the set's elements under permutation `i`. Two sets
//! agree in a value with probability equal to their Jaccard similarity (A. Broder, 1997).
//!
//! Two families of permutations:
//!
//! - `fast`: each 64-bit shingle hash is mixed once (SplitMix64's finaliser after adding a key
//!   drawn from the seed) and then takes `multiplier * x + increment` for each lane, odd
//!   multipliers, all drawn from the seed by SplitMix64. The mixing makes the linear permutations
//!   fair for structured input too: a run of consecutive integers is as good as random ones.
//!   Cost: one multiplication for each shingle and lane, eight at a time with AVX-512.
//! - `blake2b`: value `i` is the least, over shingles, of the little-endian integer of BLAKE2b
//!   (digest size 8) of `"{seed + i}:{shingle}"`. Anyone can recompute it with a standard library.
//!   Cost: one BLAKE2b block for each shingle and lane.
//!
//! The signature of a set without elements is all zeros, by convention; such a set has no bands.

use std::fmt;
use std::io::Write as _;
use std::str::FromStr;

use blake2b_simd::many::{HashManyJob, degree, hash_many};
use serde::{Deserialize, Serialize};

/// The permutations that a signature is made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HashFamily {
    /// Vectorised permutations of the shingle hash. The default.
    #[default]
    Fast,
    /// Keyed BLAKE2b of the shingle's text, for anyone to recompute.
    Blake2b,
}

/// The name of a hash family that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a hash family: there are fast and blake2b")]
pub struct UnknownHashFamily {
    /// What was written.
    pub name: String,
}

impl FromStr for HashFamily {
    type Err = UnknownHashFamily;

    fn from_str(name: &str) -> Result<Self, UnknownHashFamily> {
        match name {
            "fast" => Ok(Self::Fast),
            "blake2b" => Ok(Self::Blake2b),
            _ => Err(UnknownHashFamily { name: name.into() }),
        }
    }
}

impl fmt::Display for HashFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "fast",
            Self::Blake2b => "blake2b",
        })
    }
}

/// Makes signatures of one family, length and seed.
#[derive(Clone, Debug)]
pub struct Sketcher {
    seed: u64,
    key: u64,
    multipliers: Vec<u64>,
    increments: Vec<u64>,
}

impl Sketcher {
    /// A sketcher of `lanes` values.
    pub fn new(lanes: usize, seed: u64) -> Self {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        };
        let key = next();
        let (multipliers, increments) = (0..lanes).map(|_| (next() | 1, next())).unzip();
        Self {
            seed,
            key,
            multipliers,
            increments,
        }
    }

    /// The number of values of a signature.
    pub fn lanes(&self) -> usize {
        self.multipliers.len()
    }

    /// Appends the `fast` signature of a set of shingle hashes to `signature`. `scratch` is reused
    /// from set to set.
    pub fn fast(&self, hashes: &[u64], scratch: &mut Vec<u64>, signature: &mut Vec<u64>) {
        let start = signature.len();
        signature.resize(start + self.lanes(), 0);
        if hashes.is_empty() {
            return;
        }
        scratch.clear();
        scratch.extend(hashes.iter().map(|hash| mix(hash.wrapping_add(self.key))));
        twinfold_kernels::minhash(
            scratch,
            &self.multipliers,
            &self.increments,
            &mut signature[start..],
        );
    }

    /// Appends the `blake2b` signature of a set of shingles to `signature`. Repeated shingles do
    /// not change it, but cost as much again.
    pub fn blake2b<'a>(&self, shingles: impl Iterator<Item = &'a [u8]>, signature: &mut Vec<u64>) {
        let start = signature.len();
        signature.resize(start + self.lanes(), u64::MAX);
        let prefixes: Vec<String> = (0..self.lanes() as u64)
            .map(|lane| format!("{}:", self.seed.wrapping_add(lane)))
            .collect();
        let mut parameters = blake2b_simd::Params::new();
        parameters.hash_length(8);
        let mut messages: Vec<Vec<u8>> = vec![Vec::new(); degree()];
        let mut any = false;
        for shingle in shingles {
            any = true;
            let lanes = &mut signature[start..];
            for (prefixes, lanes) in prefixes
                .chunks(messages.len())
                .zip(lanes.chunks_mut(degree()))
            {
                for (message, prefix) in messages.iter_mut().zip(prefixes) {
                    message.clear();
                    // Writing to a vector cannot fail.
                    let _ = message.write_all(prefix.as_bytes());
                    message.extend_from_slice(shingle);
                }
                let mut jobs: Vec<HashManyJob<'_>> = messages[..prefixes.len()]
                    .iter()
                    .map(|message| HashManyJob::new(&parameters, message))
                    .collect();
                hash_many(&mut jobs);
                for (job, least) in jobs.iter().zip(lanes) {
                    let digest = job.to_hash();
                    let value = digest
                        .as_bytes()
                        .first_chunk()
                        .map_or(0, |bytes| u64::from_le_bytes(*bytes));
                    *least = (*least).min(value);
                }
            }
        }
        if !any {
            signature[start..].fill(0);
        }
    }
}

/// SplitMix64's finaliser (D. Stafford's variant 13): a permutation of the 64-bit integers in which
/// every input bit sways every output bit.
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fast(hashes: &[u64], sketcher: &Sketcher) -> Vec<u64> {
        let mut signature = Vec::new();
        sketcher.fast(hashes, &mut Vec::new(), &mut signature);
        signature
    }

    #[test]
    fn golden_fast_signature() {
        let sketcher = Sketcher::new(4, 42);
        assert_eq!(
            fast(&[1, 2, 3, u64::MAX], &sketcher),
            GOLDEN_FAST,
            "the fast family is a published format: its values may not change"
        );
    }

    // Computed from the definition by a program in another language.
    const GOLDEN_FAST: [u64; 4] = [
        7_259_536_249_373_044_813,
        793_292_369_206_601_278,
        495_223_381_830_681_340,
        2_050_935_664_454_037_985,
    ];

    #[test]
    fn prefixes_of_a_signature_are_the_shorter_signature() {
        let hashes: Vec<u64> = (0..100).collect();
        let long = fast(&hashes, &Sketcher::new(100, 7));
        assert_eq!(fast(&hashes, &Sketcher::new(64, 7)), long[..64]);
        assert_ne!(fast(&hashes, &Sketcher::new(64, 8)), long[..64]);
    }

    #[test]
    fn the_empty_set_has_zeros() {
        let sketcher = Sketcher::new(8, 42);
        assert_eq!(fast(&[], &sketcher), [0; 8]);
        let mut signature = Vec::new();
        sketcher.blake2b(std::iter::empty(), &mut signature);
        assert_eq!(signature, [0; 8]);
    }

    /// The mean of the overlap minus the Jaccard similarity over `pairs` pairs of sets, and its
    /// standard error. A pair is given by the sizes of both sets and what they share; `element` makes
    /// the elements, and must not give two pairs the same ones.
    fn bias(
        pairs: u64,
        sizes: impl Fn(u64) -> (u64, u64, u64),
        element: impl Fn(u64, u64) -> u64,
    ) -> (f64, f64) {
        let sketcher = Sketcher::new(64, 42);
        let (mut sum, mut squares) = (0.0, 0.0);
        for pair in 0..pairs {
            let (left, right, shared) = sizes(pair);
            let set = |range: std::ops::Range<u64>| -> Vec<u64> {
                range.map(|i| element(pair, i)).collect()
            };
            let (a, b) = (set(0..left), set(left - shared..left - shared + right));
            let (a, b) = (fast(&a, &sketcher), fast(&b, &sketcher));
            let overlap = a.iter().zip(&b).filter(|(a, b)| a == b).count() as f64 / 64.0;
            let error = overlap - shared as f64 / (left + right - shared) as f64;
            sum += error;
            squares += error * error;
        }
        let mean = sum / pairs as f64;
        let variance = squares / pairs as f64 - mean * mean;
        (mean, (variance / pairs as f64).sqrt())
    }

    #[test]
    fn fast_overlap_is_unbiased_in_ten_bins_of_similarity() {
        /// Pairs of a bin.
        const PAIRS: u64 = 10_000;
        let structured = |pair: u64, i: u64| pair * 1000 + i;
        let spread = |pair: u64, i: u64| mix(pair * 1000 + i);
        for bin in 0..10u64 {
            // Unions of 60 to 99, shared so that the similarity is within the bin, sizes unequal.
            let sizes = |pair: u64| {
                let union = 60 + pair % 40;
                let shared = (union * bin / 10 + 1 + pair % 3).min(union * (bin + 1) / 10);
                let left = shared + (union - shared) * (pair % 5) / 4;
                (left, union - (left - shared), shared)
            };
            for (what, element) in [
                ("consecutive", &structured as &dyn Fn(u64, u64) -> u64),
                ("spread", &spread),
            ] {
                let (mean, error) = bias(PAIRS, sizes, element);
                assert!(
                    mean.abs() < 3.0 * error,
                    "bin {bin}, {what}: {mean} +- {error}"
                );
            }
        }
        for shared in 1..5 {
            for element in [&structured as &dyn Fn(u64, u64) -> u64, &spread] {
                let (mean, error) = bias(PAIRS, |_| (5, 5, shared), element);
                assert!(
                    mean.abs() < 3.0 * error,
                    "5 elements, {shared} shared: {mean} +- {error}"
                );
            }
        }
    }
}
