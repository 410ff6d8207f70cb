//! What twinfold reads and writes: documents from CSV, Parquet and JSON Lines, and the published
//! relations of a run.
//!
//! [`source`] reads files into a table ordered by document id; [`publish`] writes what a run found.
//! The algorithms between the two are in the crate `twinfold`, which does no input and output.

mod documents;
mod folders;
mod marks;
pub mod publish;
pub mod source;
pub mod work;
