//! How much of what there is to find was found.
//!
//! Of a run by itself there are two figures, which answer two questions:
//!
//! - the generator's recall *at the threshold*: the probability that a pair with the least
//!   similarity that counts is proposed. It is a property of the settings, and the worst case.
//! - the *estimated* recall of this run: each accepted pair at similarity `s` was proposed with
//!   probability `p(s)`, so it stands for `1 / p(s)` pairs that exist, and the sum over the accepted
//!   pairs estimates how many there are (D. Horvitz, D. Thompson, 1952). It is unbiased where every
//!   pair above the threshold has a chance, and says nothing where nothing was found.
//!
//! Beside a lossless run on the same documents there is a third, the *measured* recall of [`measure`]:
//! which of the true pairs were found. Of a sample of the documents ([`sample`]) it is an estimate,
//! with the interval of [`bootstrap`].

pub mod bootstrap;
mod expected;
mod measured;
mod sample;

pub use bootstrap::Interval;
pub use expected::{ExpectedRecall, expected};
pub use measured::{Bin, Bins, ClusterEffect, Families, Measured, Share, measure};
pub use sample::{Selection, sample};
