//! What a run does, complete and validated.
//!
//! The command's options and `twinfold.toml` are what a user writes; they resolve into a
//! [`Config`], in which nothing is left open.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::represent::KeepRule;
use crate::sketch::{Banding, BandingError, HashFamily, UnknownHashFamily};
use crate::text::{Tokenizer, UnknownTokenizer};
use crate::threshold::{Threshold, ThresholdError};

/// The configuration of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How a text is cut into tokens.
    pub tokenizer: Tokenizer,
    /// The tokens of a shingle.
    pub shingle_size: usize,
    /// The Jaccard similarity from which a pair is an edge.
    pub threshold: Threshold,
    /// Where candidate pairs come from.
    pub candidates: Candidates,
    /// How edges become clusters.
    pub linkage: Linkage,
    /// Which edges are listed.
    pub edges: EdgeListing,
    /// The pair slots up to which every edge is listed.
    pub max_pairs: u64,
    /// Which member of a cluster is kept.
    pub keep: KeepRule,
    /// Whether a pair that differs in a number is refused, however similar it is.
    pub keep_numbers: bool,
}

impl Config {
    /// The pair slots up to which every edge is listed, unless told otherwise.
    pub const DEFAULT_MAX_PAIRS: u64 = 50_000_000;

    /// The most tokens that a shingle may have.
    pub const MOST_SHINGLE_TOKENS: usize = 1000;

    /// Checks what no field can check alone.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if !(1..=Self::MOST_SHINGLE_TOKENS).contains(&self.shingle_size) {
            return Err(ConfigError::ShingleSize {
                size: self.shingle_size,
            });
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tokenizer: Tokenizer::default(),
            shingle_size: 5,
            threshold: Threshold::DEFAULT,
            candidates: Candidates::default(),
            linkage: Linkage::default(),
            edges: EdgeListing::default(),
            max_pairs: Self::DEFAULT_MAX_PAIRS,
            keep: KeepRule::default(),
            keep_numbers: false,
        }
    }
}

/// A candidate generator and its settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Candidates {
    /// Every pair at or above the threshold, by a prefix-filter join. The default.
    #[default]
    Lossless,
    /// Documents that agree in a band of min-hash values.
    Lsh(Lsh),
    /// Documents that share a cheap key.
    Blocking(BlockKey),
}

/// Settings of the LSH generator.
#[derive(Clone, Debug, PartialEq)]
pub struct Lsh {
    /// The permutations.
    pub family: HashFamily,
    /// Bands and rows.
    pub banding: Banding,
    /// What the permutations are drawn from.
    pub seed: u64,
}

impl Default for Lsh {
    fn default() -> Self {
        Self {
            family: HashFamily::default(),
            banding: Banding::new(8, 8, 64).expect("8 bands of 8 rows use 64 values"),
            seed: 42,
        }
    }
}

/// What documents must share to be candidates of the blocking generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum BlockKey {
    /// The first 64 tokens.
    PrefixTokens,
    /// A min-hash band of the title's trigrams.
    TitleTrigrams,
    /// The length of the normalised text, to 5%.
    Length,
    /// The value of a column.
    Column(String),
}

impl From<String> for BlockKey {
    fn from(name: String) -> Self {
        match name.as_str() {
            "prefix-tokens" => Self::PrefixTokens,
            "title-trigrams" => Self::TitleTrigrams,
            "length" => Self::Length,
            _ => Self::Column(name),
        }
    }
}

impl From<BlockKey> for String {
    fn from(key: BlockKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrefixTokens => "prefix-tokens",
            Self::TitleTrigrams => "title-trigrams",
            Self::Length => "length",
            Self::Column(name) => name,
        })
    }
}

/// How edges become clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Linkage {
    /// Connected components of the edges. The default.
    #[default]
    Components,
    /// A representative and the members that match it directly.
    Star,
}

/// Which edges are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeListing {
    /// Every accepted pair, as long as the slots fit the budget; just enough edges above it.
    #[default]
    Auto,
    /// Every accepted pair; an error above the budget.
    All,
    /// Just enough edges to connect each cluster: with stars, one from each removed document to the
    /// kept one.
    Spanning,
}

macro_rules! named {
    (@list $first:literal $(, $rest:literal)*) => { concat!($first $(, ", ", $rest)*) };
    ($type:ident, $noun:literal, $($variant:ident = $name:literal),+) => {
        impl FromStr for $type {
            type Err = ConfigError;

            fn from_str(name: &str) -> Result<Self, ConfigError> {
                match name {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(ConfigError::UnknownName {
                        noun: $noun,
                        name: name.into(),
                        known: named!(@list $($name),+),
                    }),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $name),+ })
            }
        }
    };
}

named!(Linkage, "linkage", Components = "components", Star = "star");
named!(
    EdgeListing,
    "edge listing",
    Auto = "auto",
    All = "all",
    Spanning = "spanning"
);

/// Why a configuration was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The threshold.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// Bands, rows, hashes or the wanted recall.
    #[error(transparent)]
    Banding(#[from] BandingError),
    /// The tokeniser.
    #[error(transparent)]
    Tokenizer(#[from] UnknownTokenizer),
    /// The hash family.
    #[error(transparent)]
    HashFamily(#[from] UnknownHashFamily),
    /// A name that does not exist.
    #[error("there is no {noun} {name:?}; there are: {known}")]
    UnknownName {
        /// What it should have been the name of.
        noun: &'static str,
        /// What was written.
        name: String,
        /// The names there are.
        known: &'static str,
    },
    /// A shingle without tokens, or absurdly many.
    #[error(
        "a shingle of {size} tokens is out of range: it must have 1 to {}",
        Config::MOST_SHINGLE_TOKENS
    )]
    ShingleSize {
        /// The tokens asked for.
        size: usize,
    },
}

impl ConfigError {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Banding(BandingError::TooFewHashes { bands, rows, .. }) => Some(format!(
                "raise --hashes to {}, or lower --bands or --rows",
                bands.saturating_mul(*rows)
            )),
            Self::Banding(BandingError::OutOfReach { needed, .. })
                if *needed <= Banding::MOST_HASHES as u64 =>
            {
                Some(format!("raise --hashes to {needed} or more"))
            }
            _ => None,
        }
    }
}
