//! Corpora whose duplicates are known because they were put there.
//!
//! - [`pairs`]: pairs at a wanted similarity, families, chains, copies.
//! - [`scripts`]: pages in scripts other than Latin.
//! - [`corpora`]: whole corpora made of those, one for each kind of difficulty.

pub mod corpora;
pub mod pairs;
pub mod scripts;

pub use corpora::{PlantedCorpus, all_corpora};
pub use pairs::{PlantedPair, chain, near_copy, pair_at, template_family};
pub use scripts::{Script, page, sentences};

/// The tokens of a shingle that planted similarities are meant for: the library's default.
pub const SHINGLE: usize = 5;
