//! How far a recall that was measured on a sample may be off: the percentile bootstrap.
//!
//! The pairs of a family, a connected component of the truth's edges, are found or missed together:
//! as independent trials they would promise far more than is known, which rules out the intervals of
//! a binomial share (Wald, Wilson). So whole families are drawn with replacement, as many as there
//! are, the recall of each such resample is taken, and the interval reaches from the 2.5th to the
//! 97.5th percentile (B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13).
//!
//! It tells of the families that were drawn; with a handful of them it is too narrow, and of a kind of
//! pair that the sample has none of it knows nothing. Sets of permutations are not drawn anew: the
//! recall is that of the seed that was used.
//!
//! Cost: [`RESAMPLES`] times families times bins, on all threads.

use rayon::prelude::*;
use serde::Serialize;

use super::Families;
use crate::sketch::mix;

/// How often the families are drawn.
pub const RESAMPLES: usize = 1000;

/// What the true value lies between in 95 of 100 samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The intervals of the recall, overall and by bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// Of all pairs.
    pub overall: Option<Interval>,
    /// Of the pairs of each bin.
    pub bins: Vec<Option<Interval>>,
}

/// The 95% intervals. None where resampling cannot tell: there are fewer than two families, or all of
/// their pairs were found, or none was, so that every resample is the same.
pub fn intervals(families: &Families, seed: u64) -> Intervals {
    let bins = families.bins();
    let resamples: Vec<Vec<[u64; 2]>> = (0..RESAMPLES as u64)
        .into_par_iter()
        .map(|number| {
            let mut draws = Draws::new(seed, number);
            let mut sums = vec![[0u64; 2]; bins];
            for _ in 0..families.len() {
                let family = families.counts(draws.below(families.len()));
                for (sum, count) in sums.iter_mut().zip(family) {
                    sum[0] = sum[0].saturating_add(count[0]);
                    sum[1] = sum[1].saturating_add(count[1]);
                }
            }
            sums
        })
        .collect();
    let of = |range: std::ops::Range<usize>| {
        let total = |counts: &[[u64; 2]]| {
            counts[range.clone()].iter().fold([0u64; 2], |sum, count| {
                [
                    sum[0].saturating_add(count[0]),
                    sum[1].saturating_add(count[1]),
                ]
            })
        };
        let (mut with_pairs, mut all) = (0, [0u64; 2]);
        for family in 0..families.len() {
            let [pairs, found] = total(families.counts(family));
            with_pairs += usize::from(pairs > 0);
            all = [all[0].saturating_add(pairs), all[1].saturating_add(found)];
        }
        if with_pairs < 2 || all[1] == 0 || all[1] == all[0] {
            return None;
        }
        let mut recalls: Vec<f64> = resamples
            .iter()
            .map(|sums| total(sums))
            // A resample may have missed every family with such pairs.
            .filter(|&[pairs, _]| pairs > 0)
            .map(|[pairs, found]| found as f64 / pairs as f64)
            .collect();
        recalls.sort_unstable_by(f64::total_cmp);
        let last = recalls.len().checked_sub(1)?;
        let at = |share: f64| share * last as f64;
        Some(Interval {
            low: recalls[at(0.025).floor() as usize],
            high: recalls[at(0.975).ceil() as usize],
        })
    };
    Intervals {
        overall: of(0..bins),
        bins: (0..bins).map(|bin| of(bin..bin + 1)).collect(),
    }
}

/// Random numbers by SplitMix64 (G. Steele, D. Lea, C. Flood, 2014), a stream for each resample, so that
/// they do not depend on threads.
struct Draws(u64);

impl Draws {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new(seed: u64, stream: u64) -> Self {
        Self(
            mix(seed.wrapping_add(Self::GAMMA)).wrapping_add(mix(stream.wrapping_mul(Self::GAMMA))),
        )
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        ((u128::from(mix(self.0)) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Families of one bin, of which each pair, or each family as a whole, is found.
    fn drawn(count: usize, whole: bool, draws: &mut Draws) -> Families {
        let counts = (0..count)
            .map(|_| {
                let pairs = 1 + draws.below(12) as u64;
                let found = if whole {
                    pairs * u64::from(draws.below(10) < 7)
                } else {
                    (0..pairs).filter(|_| draws.below(10) < 7).count() as u64
                };
                [pairs, found]
            })
            .collect();
        Families::new(1, counts)
    }

    #[test]
    fn intervals_cover_the_truth_in_about_95_of_100_samples() {
        for whole in [true, false] {
            let mut draws = Draws::new(3, u64::from(whole));
            let covered = (0..300)
                .filter(|&seed| {
                    let families = drawn(60, whole, &mut draws);
                    let interval = intervals(&families, seed).overall.unwrap();
                    (interval.low..=interval.high).contains(&0.7)
                })
                .count();
            assert!((270..=297).contains(&covered), "{covered} of 300");
        }
    }

    #[test]
    fn families_that_are_found_as_a_whole_tell_less() {
        let mut draws = Draws::new(4, 0);
        let width = |whole, draws: &mut Draws| {
            let interval = intervals(&drawn(200, whole, draws), 1).overall.unwrap();
            interval.high - interval.low
        };
        let (whole, single) = (width(true, &mut draws), width(false, &mut draws));
        assert!(whole > 1.5 * single, "{whole} {single}");
    }

    #[test]
    fn what_resampling_cannot_tell() {
        let of = |counts: &[[u64; 2]]| intervals(&Families::new(1, counts.to_vec()), 1).overall;
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[[5, 3]]), None);
        assert_eq!(of(&[[5, 3], [0, 0]]), None);
        assert_eq!(of(&[[5, 5], [2, 2]]), None);
        assert_eq!(of(&[[5, 0], [2, 0]]), None);
        assert!(of(&[[5, 0], [2, 2]]).is_some());
        assert!(of(&[[u64::MAX, 1], [u64::MAX, 3]]).is_some());
    }

    #[test]
    fn the_same_on_any_number_of_threads_and_another_for_another_seed() {
        let families = drawn(100, true, &mut Draws::new(5, 0));
        let on = |threads, seed| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
                .install(|| intervals(&families, seed))
        };
        assert_eq!(on(1, 7), on(3, 7));
        assert_ne!(on(1, 7), on(1, 8));
    }
}
