//! Exact scores: what turns a candidate into an edge.

mod jaccard;

pub use jaccard::{ScoredPair, Verifier};
