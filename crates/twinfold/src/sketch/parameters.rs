//! Bands and rows, their curve, and the choice of both for a wanted recall.
//!
//! With `b` bands of `r` rows, a pair at similarity `s` shares at least one band with probability
//! `1 - (1 - s^r)^b` (J. Leskovec, A. Rajaraman, J. Ullman, "Mining of Massive Datasets", ch. 3).
//! More rows make the curve steeper, so fewer pairs below the threshold are looked at; more bands
//! lift it. Both cost hash values.

use serde::{Deserialize, Serialize};

/// Bands and rows over a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Banding {
    bands: usize,
    rows: usize,
    hashes: usize,
}

/// Why bands and rows were refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BandingError {
    /// No band, no row or no hash value.
    #[error("bands, rows and hashes must each be at least 1, not {bands}, {rows} and {hashes}")]
    Zero {
        /// The bands asked for.
        bands: usize,
        /// The rows asked for.
        rows: usize,
        /// The hash values asked for.
        hashes: usize,
    },
    /// More values than the signature has.
    #[error("{bands} bands of {rows} rows need {} hash values, and there are {hashes}", bands.saturating_mul(*rows))]
    TooFewHashes {
        /// The bands asked for.
        bands: usize,
        /// The rows asked for.
        rows: usize,
        /// The hash values of a signature.
        hashes: usize,
    },
    /// More values than any signature may have.
    #[error(
        "{hashes} hash values are more than the {} that a signature may have",
        Banding::MOST_HASHES
    )]
    TooManyHashes {
        /// The hash values asked for.
        hashes: usize,
    },
    /// Not a probability below one.
    #[error("a recall of {recall} cannot be aimed at: it must be above 0 and below 1")]
    Recall {
        /// The recall asked for.
        recall: f64,
    },
    /// No choice of bands and rows reaches the recall with so few values.
    #[error(
        "a recall of {recall} at similarity {similarity} needs at least {needed} hash values, and \
         {hashes} are allowed"
    )]
    OutOfReach {
        /// The recall asked for.
        recall: f64,
        /// The threshold.
        similarity: f64,
        /// The least number of values that reaches it.
        needed: u64,
        /// The most values allowed.
        hashes: usize,
    },
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The Jaccard similarity of a pair.
    pub similarity: f64,
    /// The probability that the pair is proposed.
    pub probability: f64,
}

impl Banding {
    /// The most hash values that a signature may have.
    pub const MOST_HASHES: usize = 4096;

    /// The hash values that [`Banding::for_recall`] may use unless told otherwise.
    pub const DEFAULT_RECALL_HASHES: usize = 256;

    /// `bands` bands of `rows` rows over `hashes` values.
    pub fn new(bands: usize, rows: usize, hashes: usize) -> Result<Self, BandingError> {
        if bands == 0 || rows == 0 || hashes == 0 {
            return Err(BandingError::Zero {
                bands,
                rows,
                hashes,
            });
        }
        if hashes > Self::MOST_HASHES {
            return Err(BandingError::TooManyHashes { hashes });
        }
        if bands.saturating_mul(rows) > hashes {
            return Err(BandingError::TooFewHashes {
                bands,
                rows,
                hashes,
            });
        }
        Ok(Self {
            bands,
            rows,
            hashes,
        })
    }

    /// The steepest curve that reaches `recall` at `similarity` with at most `hashes` values: the
    /// most rows for which the bands still fit, and then the fewest bands that reach it.
    pub fn for_recall(recall: f64, similarity: f64, hashes: usize) -> Result<Self, BandingError> {
        if !(recall > 0.0 && recall < 1.0) {
            return Err(BandingError::Recall { recall });
        }
        if hashes > Self::MOST_HASHES {
            return Err(BandingError::TooManyHashes { hashes });
        }
        let mut best = None;
        for rows in 1..=hashes {
            let bands = Self::bands_for(recall, similarity, rows);
            if bands.is_some_and(|bands| bands.saturating_mul(rows as u64) <= hashes as u64) {
                best = bands.map(|bands| (bands as usize, rows));
            }
        }
        match best {
            Some((bands, rows)) => Self::new(bands, rows, bands * rows),
            None => Err(BandingError::OutOfReach {
                recall,
                similarity,
                needed: Self::bands_for(recall, similarity, 1).unwrap_or(u64::MAX),
                hashes,
            }),
        }
    }

    /// The fewest bands of `rows` rows that reach `recall`, if any number does.
    fn bands_for(recall: f64, similarity: f64, rows: usize) -> Option<u64> {
        let agree = similarity.powi(rows as i32);
        if agree >= 1.0 {
            return Some(1);
        }
        let bands = ((1.0 - recall).ln() / (-agree).ln_1p()).ceil();
        if !(bands.is_finite() && bands < 1e9) {
            return None;
        }
        // The quotient of logarithms may be off in the last place.
        let bands = bands.max(1.0) as u64;
        let reaches = |bands: u64| Self::curve(agree, bands) >= recall;
        Some(match reaches(bands) {
            true if bands > 1 && reaches(bands - 1) => bands - 1,
            true => bands,
            false => bands + 1,
        })
    }

    fn curve(agree: f64, bands: u64) -> f64 {
        if agree >= 1.0 {
            return 1.0;
        }
        -((-agree).ln_1p() * bands as f64).exp_m1()
    }

    /// The number of bands.
    pub fn bands(self) -> usize {
        self.bands
    }

    /// The number of rows of a band.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// The number of values of a signature.
    pub fn hashes(self) -> usize {
        self.hashes
    }

    /// The values of a signature that the bands use.
    pub fn used(self) -> usize {
        self.bands * self.rows
    }

    /// The probability that a pair at `similarity` shares a band.
    pub fn probability(self, similarity: f64) -> f64 {
        Self::curve(similarity.powi(self.rows as i32), self.bands as u64)
    }

    /// The curve at 0.5, 0.6 .. 1.0.
    pub fn points(self) -> Vec<CurvePoint> {
        (5..=10)
            .map(|tenth| f64::from(tenth) / 10.0)
            .map(|similarity| CurvePoint {
                similarity,
                probability: self.probability(similarity),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_curve_of_eight_by_eight() {
        let banding = Banding::new(8, 8, 64).unwrap();
        assert!((banding.probability(0.7) - 0.378).abs() < 0.0005);
        assert_eq!(banding.probability(1.0), 1.0);
        assert_eq!(banding.points().len(), 6);
        let swapped = Banding::new(4, 16, 64).unwrap();
        assert!(swapped.probability(0.7) < 0.02);
    }

    #[test]
    fn bands_and_rows_must_fit() {
        assert!(matches!(
            Banding::new(9, 8, 64),
            Err(BandingError::TooFewHashes { .. })
        ));
        assert!(matches!(
            Banding::new(0, 8, 64),
            Err(BandingError::Zero { .. })
        ));
        assert!(matches!(
            Banding::new(usize::MAX, 8, 64),
            Err(BandingError::TooFewHashes { .. })
        ));
        assert!(matches!(
            Banding::new(1, 1, 5000),
            Err(BandingError::TooManyHashes { .. })
        ));
        assert_eq!(Banding::new(5, 8, 64).unwrap().used(), 40);
    }

    #[test]
    fn recall_out_of_reach_names_what_it_needs() {
        let error = Banding::for_recall(0.999, 0.01, 64).unwrap_err();
        assert!(
            matches!(error, BandingError::OutOfReach { needed: 688, .. }),
            "{error}"
        );
        for recall in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert!(matches!(
                Banding::for_recall(recall, 0.7, 64),
                Err(BandingError::Recall { .. })
            ));
        }
    }

    proptest! {
        #[test]
        fn a_chosen_banding_reaches_its_recall(recall in 0.01f64..0.9999, similarity in 0.05f64..1.0, hashes in 1usize..600) {
            if let Ok(banding) = Banding::for_recall(recall, similarity, hashes) {
                prop_assert!(banding.probability(similarity) >= recall - 1e-12);
                prop_assert!(banding.used() <= hashes);
                // Neither one band fewer nor one row more would do.
                if banding.bands() > 1 {
                    let fewer = Banding::new(banding.bands() - 1, banding.rows(), hashes).unwrap();
                    prop_assert!(fewer.probability(similarity) < recall + 1e-12);
                }
            }
        }
    }
}
