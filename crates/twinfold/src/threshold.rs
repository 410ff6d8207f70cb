//! The similarity threshold as an exact ratio.
//!
//! A threshold that a person writes is a decimal, and most decimals have no exact binary form: in
//! doubles `0.55 * 100` rounds up past 55, and a bound that is one too high loses a pair. So the
//! decimal is kept as a ratio of integers, and every comparison and bound is integer arithmetic.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A similarity in (0, 1] as a reduced ratio of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Threshold {
    numerator: u64,
    denominator: u64,
}

/// Why a threshold was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// Not a decimal number nor a ratio.
    #[error(
        "{text:?} is not a threshold: write a decimal above 0 and up to 1, such as 0.7, or a ratio such as 2/3"
    )]
    NotANumber {
        /// What was written.
        text: String,
    },
    /// A number outside (0, 1].
    #[error("the threshold {text} is out of range: it must be above 0 and at most 1")]
    OutOfRange {
        /// What was written.
        text: String,
    },
    /// More digits than an exact ratio of 64-bit integers holds.
    #[error("the threshold {text} has more than 18 digits")]
    TooManyDigits {
        /// What was written.
        text: String,
    },
}

impl Threshold {
    /// The default, 0.7.
    pub const DEFAULT: Self = Self {
        numerator: 7,
        denominator: 10,
    };

    /// The ratio `numerator / denominator`, if it lies in (0, 1].
    pub fn from_ratio(numerator: u64, denominator: u64) -> Option<Self> {
        if numerator == 0 || numerator > denominator {
            return None;
        }
        let divisor = gcd(numerator, denominator);
        Some(Self {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        })
    }

    /// The numerator of the reduced ratio.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator of the reduced ratio.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest double, for curves and displays; never for a decision.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Whether `part / whole` is at or above the threshold.
    pub fn accepts(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(self.denominator)
            >= u128::from(self.numerator) * u128::from(whole)
    }

    /// The least number of elements that a set of `length` shares with any partner that is at or
    /// above the threshold: the ceiling of `t * length`.
    pub fn least_overlap(self, length: usize) -> usize {
        let numerator = u128::from(self.numerator) * length as u128;
        numerator.div_ceil(u128::from(self.denominator)) as usize
    }

    /// The least intersection of sets of these sizes that is at or above the threshold:
    /// the ceiling of `t / (1 + t) * (left + right)`.
    pub fn overlap_needed(self, left: usize, right: usize) -> usize {
        let sum = left as u128 + right as u128;
        let numerator = u128::from(self.numerator) * sum;
        let denominator = u128::from(self.numerator) + u128::from(self.denominator);
        // At most `sum`, since the ratio is below one.
        numerator.div_ceil(denominator) as usize
    }
}

impl Default for Threshold {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let text = text.trim();
        let not_a_number = || ThresholdError::NotANumber { text: text.into() };
        let out_of_range = || ThresholdError::OutOfRange { text: text.into() };
        if let Some((numerator, denominator)) = text.split_once('/') {
            let part = |part: &str| {
                let part = part.trim();
                if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(not_a_number());
                }
                if part.trim_start_matches('0').len() > 18 {
                    return Err(ThresholdError::TooManyDigits { text: text.into() });
                }
                part.parse::<u64>().map_err(|_| not_a_number())
            };
            return Self::from_ratio(part(numerator)?, part(denominator)?).ok_or_else(out_of_range);
        }
        // Anything that is some number, but not one we keep exactly, deserves the range.
        let (sign, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
            return match text.parse::<f64>() {
                Ok(number) if number > 0.0 && number <= 1.0 => format!("{number}").parse(),
                Ok(_) => Err(out_of_range()),
                Err(_) => Err(not_a_number()),
            };
        }
        let fraction = fraction.trim_end_matches('0');
        let whole = whole.trim_start_matches('0');
        if sign || whole.len() > 1 {
            return Err(out_of_range());
        }
        if fraction.len() > 18 {
            return Err(ThresholdError::TooManyDigits { text: text.into() });
        }
        let denominator = 10u64.pow(fraction.len() as u32);
        let fraction = if fraction.is_empty() { "0" } else { fraction };
        let whole = if whole.is_empty() { "0" } else { whole };
        let whole: u64 = whole.parse().map_err(|_| not_a_number())?;
        let fraction: u64 = fraction.parse().map_err(|_| not_a_number())?;
        if whole > 1 {
            return Err(out_of_range());
        }
        Self::from_ratio(whole * denominator + fraction, denominator).ok_or_else(out_of_range)
    }
}

impl fmt::Display for Threshold {
    /// The decimal where one of at most 18 digits is exact, else the ratio.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut scale = 1u64;
        for digits in 0..=18usize {
            if scale.is_multiple_of(self.denominator) {
                let value = self.numerator * (scale / self.denominator);
                return match digits {
                    0 => write!(f, "{value}.0"),
                    _ if value == scale => write!(f, "1.0"),
                    _ => write!(f, "0.{value:0digits$}"),
                };
            }
            scale = scale.saturating_mul(10);
        }
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl From<Threshold> for String {
    fn from(threshold: Threshold) -> Self {
        threshold.to_string()
    }
}

impl TryFrom<String> for Threshold {
    type Error = ThresholdError;

    fn try_from(text: String) -> Result<Self, ThresholdError> {
        text.parse()
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Threshold, ThresholdError> {
        text.parse()
    }

    #[test]
    fn decimals_are_exact() {
        for (text, ratio) in [
            ("0.7", (7, 10)),
            ("0.55", (11, 20)),
            (".5", (1, 2)),
            ("1", (1, 1)),
            ("1.0", (1, 1)),
            ("0.070", (7, 100)),
            ("1/3", (1, 3)),
            ("7e-1", (7, 10)),
            (
                "0.999999999999999999",
                (999_999_999_999_999_999, 1_000_000_000_000_000_000),
            ),
        ] {
            let threshold = parse(text).unwrap();
            assert_eq!(
                (threshold.numerator, threshold.denominator),
                ratio,
                "{text}"
            );
        }
    }

    #[test]
    fn everything_else_is_refused_with_the_range() {
        for text in [
            "0", "0.0", "-0.5", "-1", "1.0001", "2", "70", "NaN", "inf", "-inf", "4/3", "0/5",
            "1/0", "1e300",
        ] {
            assert!(
                matches!(parse(text), Err(ThresholdError::OutOfRange { .. })),
                "{text}"
            );
        }
        for text in [
            "", " ", "abc", "0,7", "0.7.1", "1/", "/3", "a/b", "70%", ".",
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                matches!(error, ThresholdError::NotANumber { .. }),
                "{text}: {error}"
            );
            assert!(error.to_string().contains("above 0"), "{error}");
        }
        assert!(matches!(
            parse("0.1234567890123456789"),
            Err(ThresholdError::TooManyDigits { .. })
        ));
    }

    #[test]
    fn the_decimal_that_doubles_get_wrong() {
        // 0.55 * 100 is 55.000000000000007 in doubles, whose ceiling is 56.
        let threshold = parse("0.55").unwrap();
        assert!(threshold.accepts(55, 100));
        assert!(!threshold.accepts(54, 100));
    }

    proptest! {
        #[test]
        fn display_reads_back(numerator in 1u64..1000, extra in 0u64..1000) {
            let threshold = Threshold::from_ratio(numerator, numerator + extra).unwrap();
            prop_assert_eq!(parse(&threshold.to_string()).unwrap(), threshold);
        }

        #[test]
        fn overlap_needed_is_the_least_that_is_accepted(
            numerator in 1u64..50, extra in 0u64..50, left in 1usize..300, right in 1usize..300,
        ) {
            let threshold = Threshold::from_ratio(numerator, numerator + extra).unwrap();
            let accepts = |overlap: usize| threshold.accepts(overlap as u64, (left + right - overlap) as u64);
            let needed = threshold.overlap_needed(left, right);
            prop_assert!(accepts(needed));
            prop_assert!(needed == 0 || !accepts(needed - 1));
        }

        #[test]
        fn arbitrary_text_never_panics(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
