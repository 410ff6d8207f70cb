//! Sketches: a short signature of a set, whose overlap estimates the Jaccard similarity.
//!
//! A signature only ever proposes; the exact score decides. Its overlap is published as
//! `signature_overlap` and never called a score.

mod bands;
mod minhash;
mod parameters;

pub use bands::{BandKeys, band_label};
pub(crate) use minhash::mix;
pub use minhash::{HashFamily, Sketcher, UnknownHashFamily};
pub use parameters::{Banding, BandingError, CurvePoint};
