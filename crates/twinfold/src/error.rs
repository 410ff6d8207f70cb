//! The library's one error type.

use crate::config::{ConfigError, EdgeListing};
use crate::represent::KeepError;

/// What can stop a run. All of it is the caller's to mend; [`Error::hint`] says how.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is out of range, or two settings contradict each other.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The keep rule cannot be read, or names a column that does not exist.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// Every pair was asked for, and there are more than the budget allows.
    #[error(
        "the join would look at {needed} pair slots, over the budget of {budget}; \
         the largest bucket, {largest_key}, holds {largest_documents} documents"
    )]
    PairBudget {
        /// The budget, `--max-pairs`.
        budget: u64,
        /// The slots that were counted.
        needed: u64,
        /// The key of the fullest bucket.
        largest_key: String,
        /// The documents in the fullest bucket.
        largest_documents: u64,
        /// Which edges were to be listed. If not all, it is star linkage that needs so many.
        edges: EdgeListing,
    },
    /// Two documents have the same id.
    #[error("two documents have the id {id:?}")]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// More documents than an index of 32 bits can name.
    #[error("{documents} documents are more than one run can hold (4,294,967,294)")]
    TooManyDocuments {
        /// How many there are.
        documents: u64,
    },
    /// Blocking asks for a column that the documents do not have.
    #[error("there is no column {column:?} to block by; there are: {present}")]
    NoBlockColumn {
        /// The column asked for.
        column: String,
        /// The columns there are, joined by commas.
        present: String,
    },
    /// What memory had no room for could not be kept, or not read back; the storage knows why.
    #[error("what memory has no room for could not be kept in the work folder")]
    Storage,
}

impl Error {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Config(error) => error.hint(),
            Self::Keep(error) => error.hint(),
            Self::PairBudget {
                needed,
                edges: EdgeListing::All,
                ..
            } => Some(format!(
                "raise --max-pairs to {needed}, or list just enough edges to connect each cluster \
                 with --edges spanning"
            )),
            Self::PairBudget { needed, .. } => Some(format!(
                "raise --max-pairs to {needed}, or use --linkage components, which can do with fewer pairs"
            )),
            Self::DuplicateId { .. } => Some("give each document an id of its own".into()),
            Self::Storage => Some("look at the free space of the work folder".into()),
            Self::TooManyDocuments { .. } => Some("split the corpus".into()),
            Self::NoBlockColumn { .. } => Some(
                "name a column of the input, or one of prefix-tokens, title-trigrams, length"
                    .into(),
            ),
        }
    }
}
