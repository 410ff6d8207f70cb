//! Published relations: what a run leaves behind.
//!
//! Each relation is a file of a fixed name with fixed columns, its rows ordered by document id, so
//! that the same corpus and configuration give the same bytes. Files are written to a staging
//! folder inside the output folder and moved into place together, the manifest last: an output
//! folder with a manifest is whole, one without is not.
//!
//! [`recall`] holds what a measurement of recall leaves behind, in a folder of the same kind.

mod csv_relations;
mod file;
mod folder;
mod manifest;
mod pairs;
mod parquet_relations;
pub mod recall;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use rayon::prelude::*;
use serde::Serialize;
use twinfold::Outcome;
use twinfold::labels::Labels;

use crate::source::{SourceError, Table};

pub use file::OutputFile;
pub use folder::{FolderCleanup, OutputFolder};
pub use manifest::{
    Environment, InputEntry, MANIFEST, Manifest, Records, StageTime, VerifyError, verify,
};
pub use parquet_relations::renamed_columns;

/// A relation that can be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// The kept documents, every input column included.
    DedupedDocuments,
    /// The cluster of each document.
    Clusters,
    /// The listed edges with their scores.
    DuplicatePairs,
    /// The removed documents, each with the one kept in its place and the score against it.
    RemovedDocuments,
    /// The clusters of two or more, for people to look at.
    ClusterInspection,
    /// The counts of candidates and duplicates, and the recall.
    CandidateSummary,
    /// Counts by domain.
    DomainSummary,
    /// Counts by source.
    SourceSummary,
    /// Counts of exact and near duplicates.
    DuplicateSummary,
    /// The documents without a shingle.
    EmptyDocuments,
    /// What each document was compared by.
    Fingerprinted,
    /// The keys of each document.
    Memberships,
    /// The keys that two or more documents share.
    CollisionBuckets,
    /// Every scored pair, those below the threshold included.
    ScoredPairs,
    /// What was read.
    SourceDocuments,
}

impl Relation {
    /// Every relation.
    pub const ALL: [Self; 15] = [
        Self::DedupedDocuments,
        Self::Clusters,
        Self::DuplicatePairs,
        Self::RemovedDocuments,
        Self::ClusterInspection,
        Self::CandidateSummary,
        Self::DomainSummary,
        Self::SourceSummary,
        Self::DuplicateSummary,
        Self::EmptyDocuments,
        Self::Fingerprinted,
        Self::Memberships,
        Self::CollisionBuckets,
        Self::ScoredPairs,
        Self::SourceDocuments,
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::DedupedDocuments => "deduped_documents",
            Self::Clusters => "clusters",
            Self::DuplicatePairs => "duplicate_pairs",
            Self::RemovedDocuments => "removed_documents",
            Self::ClusterInspection => "cluster_inspection",
            Self::CandidateSummary => "candidate_summary",
            Self::DomainSummary => "domain_summary",
            Self::SourceSummary => "source_summary",
            Self::DuplicateSummary => "duplicate_summary",
            Self::EmptyDocuments => "empty_documents",
            Self::Fingerprinted => "fingerprinted",
            Self::Memberships => "memberships",
            Self::CollisionBuckets => "collision_buckets",
            Self::ScoredPairs => "scored_pairs",
            Self::SourceDocuments => "source_documents",
        }
    }

    /// The file.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::DedupedDocuments => crate::marks::DEDUPED_DOCUMENTS,
            Self::Clusters => "clusters.csv",
            Self::DuplicatePairs => "duplicate_pairs.csv",
            Self::RemovedDocuments => "removed_documents.parquet",
            Self::ClusterInspection => "cluster_inspection.csv",
            Self::CandidateSummary => "candidate_summary.csv",
            Self::DomainSummary => "domain_summary.csv",
            Self::SourceSummary => "source_summary.csv",
            Self::DuplicateSummary => "duplicate_summary.csv",
            Self::EmptyDocuments => "empty_documents.csv",
            Self::Fingerprinted => "fingerprinted.parquet",
            Self::Memberships => "memberships.parquet",
            Self::CollisionBuckets => "collision_buckets.csv",
            Self::ScoredPairs => "scored_pairs.parquet",
            Self::SourceDocuments => "source_documents.parquet",
        }
    }

    /// Whether `release` publishes it.
    pub fn in_release(self) -> bool {
        self <= Self::EmptyDocuments
    }
}

/// The file that lists the records that could not be used; written whenever there are any.
pub const REJECTED: &str = "rejected.jsonl";

/// Every name that a file of ours may have in an output folder, but for the manifest.
fn known_files() -> impl Iterator<Item = &'static str> {
    let relations = Relation::ALL.into_iter().map(Relation::file_name);
    relations.chain([REJECTED]).chain(recall::FILES)
}

/// The relations that a run publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishSet(Vec<Relation>);

impl PublishSet {
    /// The relations, each once, in a fixed order.
    pub fn relations(&self) -> &[Relation] {
        &self.0
    }

    /// Whether a relation is among them.
    pub fn contains(&self, relation: Relation) -> bool {
        self.0.contains(&relation)
    }
}

impl Default for PublishSet {
    fn default() -> Self {
        Self(
            Relation::ALL
                .into_iter()
                .filter(|relation| relation.in_release())
                .collect(),
        )
    }
}

/// A name that is no relation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no relation {name:?} to publish; there are: release, all, {}",
    names()
)]
pub struct UnknownRelation {
    /// What was written.
    pub name: String,
}

fn names() -> String {
    Relation::ALL.map(Relation::name).join(", ")
}

impl FromStr for PublishSet {
    type Err = UnknownRelation;

    fn from_str(text: &str) -> Result<Self, UnknownRelation> {
        let mut relations = Vec::new();
        for name in text.split(',').map(str::trim) {
            match name {
                "release" => relations.extend(Self::default().0),
                "all" => relations.extend(Relation::ALL),
                _ => match Relation::ALL
                    .into_iter()
                    .find(|relation| relation.name() == name)
                {
                    Some(relation) => relations.push(relation),
                    None => return Err(UnknownRelation { name: name.into() }),
                },
            }
        }
        relations.sort_unstable();
        relations.dedup();
        Ok(Self(relations))
    }
}

impl fmt::Display for PublishSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("release");
        }
        if self.0 == Relation::ALL {
            return f.write_str("all");
        }
        f.write_str(
            &self
                .0
                .iter()
                .map(|relation| relation.name())
                .collect::<Vec<_>>()
                .join(","),
        )
    }
}

/// Why the output could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The output folder cannot be made or used.
    #[error("cannot write to the output folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The output path is a file.
    #[error("the output {} is not a folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// There is something in the output folder.
    #[error("the output folder {} is not empty: it holds {found}", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// The first thing in it.
        found: String,
    },
    /// A file in the output folder has a name of ours, and is not from a run of ours.
    #[error("the output folder {} holds {found}, and no twinfold manifest that claims it", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// The file.
        found: String,
    },
    /// Another run writes to the folder.
    #[error("another run is writing to the output folder {}", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A Parquet file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the writer said.
        source: ParquetError,
    },
    /// Columns do not fit together.
    #[error("cannot build {}: {source}", path.display())]
    Arrow {
        /// The file.
        path: PathBuf,
        /// What the library said.
        source: ArrowError,
    },
    /// The documents could not be gathered again.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl PublishError {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotEmpty { .. } => Some(
                "choose another folder, or replace an earlier run's files with --overwrite".into(),
            ),
            Self::NotOurs { found, .. } => {
                Some(format!("choose another folder, or move {found} away"))
            }
            Self::NotAFolder { .. } => Some("choose another name for --out".into()),
            Self::Locked { .. } => Some("wait for it, or choose another folder".into()),
            Self::Folder { .. } => Some("choose a folder that you may write to with --out".into()),
            Self::Source(error) => error.hint(),
            _ => Some("look at the free space and the permissions of the output folder".into()),
        }
    }
}

/// What is published and from what.
#[derive(Clone, Copy)]
pub struct Publication<'a> {
    /// The documents that were read.
    pub documents: &'a Table,
    /// What the run found.
    pub outcome: &'a Outcome,
    /// About the bytes that the documents which are being written may take, of those that are not
    /// held; `u64::MAX` for as many as there are. With a bound, relations are written one after
    /// another.
    pub memory: u64,
}

/// Writes the relations of `set`, and the rejected records where there are any, to the staging
/// folder of `folder`. Relations are written in parallel on the current pool, unless memory is bounded.
/// `progress` is told each one that is done. The bytes depend on neither.
pub fn publish(
    publication: Publication<'_>,
    set: &PublishSet,
    folder: &OutputFolder,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<OutputFile>, PublishError> {
    publication.documents.check_storage()?;
    let source = Labels::new(publication.documents, "source");
    let context = Context {
        publication,
        source,
    };
    let write = |&relation: &Relation| {
        let path = folder.staged(relation.file_name());
        let file = match relation {
            Relation::DedupedDocuments => parquet_relations::deduped_documents(&context, &path),
            Relation::RemovedDocuments => parquet_relations::removed_documents(&context, &path),
            Relation::Fingerprinted => parquet_relations::fingerprinted(&context, &path),
            Relation::Memberships => parquet_relations::memberships(&context, &path),
            Relation::SourceDocuments => parquet_relations::source_documents(&context, &path),
            Relation::ScoredPairs => pairs::scored_pairs(&context, &path),
            Relation::DuplicatePairs => pairs::duplicate_pairs(&context, &path),
            Relation::Clusters => csv_relations::clusters(&context, &path),
            Relation::ClusterInspection => csv_relations::cluster_inspection(&context, &path),
            Relation::CandidateSummary => csv_relations::candidate_summary(&context, &path),
            Relation::DomainSummary => {
                csv_relations::label_summary(&context, "domain", context.domains(), &path)
            }
            Relation::SourceSummary => {
                csv_relations::label_summary(&context, "source", context.source.as_ref(), &path)
            }
            Relation::DuplicateSummary => csv_relations::duplicate_summary(&context, &path),
            Relation::EmptyDocuments => csv_relations::empty_documents(&context, &path),
            Relation::CollisionBuckets => csv_relations::collision_buckets(&context, &path),
        }?;
        progress(relation.name());
        Ok(file)
    };
    // The relations are independent of each other; the largest come first.
    let relations = set.relations();
    let files: Result<Vec<OutputFile>, PublishError> = match publication.memory {
        u64::MAX => relations.par_iter().with_max_len(1).map(write).collect(),
        _ => relations.iter().map(write).collect(),
    };
    let mut files = files?;
    if !publication.documents.rejected().is_empty() {
        files.push(rejected(publication.documents, folder)?);
    }
    Ok(files)
}

/// Writes the records that could not be used to the staging folder of `folder`.
pub fn rejected(documents: &Table, folder: &OutputFolder) -> Result<OutputFile, PublishError> {
    csv_relations::rejected(documents, &folder.staged(REJECTED))
}

/// What every relation is written from.
struct Context<'a> {
    publication: Publication<'a>,
    source: Option<Labels>,
}

impl<'a> Context<'a> {
    fn documents(&self) -> &'a Table {
        self.publication.documents
    }

    fn outcome(&self) -> &'a Outcome {
        self.publication.outcome
    }

    fn domains(&self) -> Option<&'a Labels> {
        self.publication.outcome.domains()
    }

    fn id(&self, document: twinfold::DocId) -> &'a str {
        self.publication.documents.id(document.index())
    }

    /// `cluster-` and the smallest id of its members.
    fn cluster_id(&self, cluster: u32) -> String {
        let first = self.outcome().clusters().elements(cluster)[0];
        format!("cluster-{}", self.id(twinfold::DocId(first)))
    }
}

/// A file's name, size and hash, for the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct FileEntry {
    /// The name in the output folder.
    pub name: String,
    /// The size.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
    /// The rows, the header not counted.
    pub rows: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publish_sets_read_back() {
        for text in ["release", "all", "clusters,duplicate_pairs"] {
            assert_eq!(text.parse::<PublishSet>().unwrap().to_string(), text);
        }
        assert_eq!(
            "all,clusters".parse::<PublishSet>().unwrap().to_string(),
            "all"
        );
        assert!(
            "clutsers"
                .parse::<PublishSet>()
                .unwrap_err()
                .to_string()
                .contains("clusters")
        );
    }
}
