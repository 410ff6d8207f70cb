//! From a text to its set of shingle hashes.
//!
//! `normalise -> tokens -> windows of tokens -> 64-bit hashes`. A shingle is a substring of the
//! normalised text, in which tokens stand apart by one space, and its hash is XXH3-64 with seed 0
//! of its UTF-8 bytes: anyone can compute it again with a public tool.

mod classes;
mod fold;
mod normalise;
mod numbers;
mod shingle;

pub use normalise::{NormalisedText, Tokenizer, UnknownTokenizer};
pub use numbers::{NumberKeys, number_keys};
pub use shingle::{append_shingle_hashes, shingle_hash, shingles};

pub(crate) use classes::{Class, Form, is_white_space, properties, visit_beyond_ascii};
