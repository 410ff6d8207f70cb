//! The inner loops of twinfold, and the only crate of the workspace with `unsafe` code.
//!
//! Each kernel is a grid cell: one operation by one instruction set. Beside every vectorised
//! version stands a serial one, which is the reference: the tests demand equal results, and a
//! processor without the instructions gets the serial version. The choice is made at run time, so
//! one binary serves every machine and gives the same bytes on all of them.

mod allocator;
mod ascii;
mod intersect;
mod minhash;
mod parity;
mod xxh3;

pub use allocator::return_large_blocks;
pub use ascii::{append_collapsed, append_words, lead_bytes};
pub use intersect::{intersection_at_least, intersection_size};
pub use minhash::{minhash, minhash_instructions, serial as minhash_serial};
pub use parity::{Parity, parity, parity_distance};
pub use xxh3::{append_window_hashes, xxh3_64};
