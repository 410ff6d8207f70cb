//! What twinfold is tested with: corpora whose duplicates are known, an oracle that looks at every
//! pair, and the contract that every candidate generator has to pass. Development only.
//!
//! - [`planted`] makes corpora from seeds, so a failure is the same failure on every machine.
//! - [`oracle`] answers by brute force and shares no code with the pipeline but the tokenisers of
//!   text outside ASCII and the exact key.
//! - [`contract`] runs the pipeline and compares. A new generator is added to
//!   [`contract::all_generators`] and to nothing else.

pub mod contract;
pub mod oracle;
pub mod planted;
pub mod random;
pub mod tokens;
