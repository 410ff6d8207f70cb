//! Twinfold finds the near-duplicates of a text corpus, says how sure it is that it found them
//! all, groups them, and keeps one of each group.
//!
//! The set of pairs that a pipeline looks at decides what it can find. So every candidate
//! generator states its guarantee, its recall is given beside every figure that depends on it, and
//! an exact score decides.
//!
//! ```
//! use twinfold::{Config, Corpus, Document, deduplicate};
//!
//! let text = "the retention job deletes rows older than ninety days and writes a receipt";
//! let corpus = Corpus::new(vec![
//!     Document::new("a", text),
//!     Document::new("b", text.to_uppercase()),
//!     Document::new("c", "nothing of the kind"),
//! ])?;
//! let outcome = deduplicate(&Config::default(), &corpus)?;
//!
//! assert_eq!(outcome.counts().clusters, 1);
//! let removed = &outcome.removed()[0];
//! assert_eq!((removed.document.index(), removed.kept.index(), removed.score), (1, 0, 1.0));
//! # Ok::<(), twinfold::Error>(())
//! ```
//!
//! The library does no input and output, and runs on the rayon pool that it is called from. Read
//! [`pipeline`] first.

pub mod candidates;
pub mod config;
pub mod document;
pub mod edges;
pub mod error;
pub mod exact;
pub mod fingerprint;
pub mod graph;
pub mod labels;
mod numeric;
pub mod outcome;
pub mod pairs;
pub mod pipeline;
mod raw;
pub mod recall;
pub mod represent;
pub mod score;
pub mod sets;
pub mod sketch;
mod sort;
mod state;
pub mod store;
pub mod tally;
pub mod text;
pub mod threshold;

pub use config::Config;
pub use document::{Corpus, DocId, Document, Documents, Value};
pub use error::Error;
pub use outcome::Outcome;
pub use pipeline::deduplicate;
pub use represent::KeepRule;
pub use store::{MemoryStorage, Room, Storage, Store};
pub use threshold::Threshold;

/// The instruction set that each kernel uses on this machine. Results do not depend on it.
pub fn kernels() -> [(&'static str, &'static str); 1] {
    [("minhash", twinfold_kernels::minhash_instructions())]
}
