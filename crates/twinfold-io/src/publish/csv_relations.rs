//! The relations that are read by people: CSV with a header, one line for each row.

use std::io::Write as _;
use std::path::Path;

use twinfold::DocId;
use twinfold::candidates::{Guarantee, JoinEdges};
use twinfold::labels::Labels;
use twinfold::tally::EdgeCounts;

use super::file::HashedFile;
use super::{Context, OutputFile, PublishError};
use crate::source::Table;

/// A CSV file that counts its rows.
pub(super) struct CsvFile {
    file: HashedFile,
    waiting: CsvRows,
    path: std::path::PathBuf,
    rows: u64,
}

impl CsvFile {
    pub(super) fn create(path: &Path, header: &[&str]) -> Result<Self, PublishError> {
        let mut file = Self {
            file: HashedFile::create(path)?,
            waiting: CsvRows::default(),
            path: path.into(),
            rows: 0,
        };
        file.waiting.push(header);
        file.flush()?;
        // The header is no row of the relation.
        file.rows = 0;
        Ok(file)
    }

    pub(super) fn row<I: AsRef<[u8]>>(&mut self, fields: &[I]) -> Result<(), PublishError> {
        /// Bytes that are written at a time.
        const WAITING: usize = 1 << 16;
        self.waiting.push(fields);
        if self.waiting.writer.get_ref().len() >= WAITING {
            self.flush()?;
        }
        Ok(())
    }

    /// Appends rows that were made apart.
    pub(super) fn rows(&mut self, rows: CsvRows) -> Result<(), PublishError> {
        self.flush()?;
        self.write(rows)
    }

    fn flush(&mut self) -> Result<(), PublishError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.write(waiting)
    }

    fn write(&mut self, rows: CsvRows) -> Result<(), PublishError> {
        self.rows += rows.rows;
        rows.writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)
            .and_then(|bytes| self.file.write_all(&bytes))
            .map_err(|source| PublishError::Write {
                path: self.path.clone(),
                source,
            })
    }

    pub(super) fn finish(mut self) -> Result<OutputFile, PublishError> {
        self.flush()?;
        self.file.finish(self.rows)
    }
}

/// Rows of a CSV file in memory.
pub(super) struct CsvRows {
    writer: csv::Writer<Vec<u8>>,
    rows: u64,
}

impl Default for CsvRows {
    fn default() -> Self {
        Self {
            writer: csv::Writer::from_writer(Vec::new()),
            rows: 0,
        }
    }
}

impl CsvRows {
    pub(super) fn push<I: AsRef<[u8]>>(&mut self, fields: &[I]) {
        self.rows += 1;
        self.writer
            .write_record(fields)
            .expect("memory takes every row, and all have as many fields");
    }
}

/// A number as the shortest decimal that reads back, with a point: `1.0`, `0.8125`.
pub(super) fn decimal(number: f64) -> String {
    format!("{number:?}")
}

pub(super) fn optional(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

pub(super) fn optional_decimal(number: Option<f64>) -> String {
    number.map_or_else(String::new, decimal)
}

pub(super) fn clusters(context: &Context<'_>, path: &Path) -> Result<OutputFile, PublishError> {
    let clusters = context.outcome().clusters();
    let mut file = CsvFile::create(path, &["cluster_id", "doc_id", "cluster_size"])?;
    for (number, members) in (0u32..).zip(clusters.iter()) {
        let (id, size) = (context.cluster_id(number), members.len().to_string());
        for &member in members {
            file.row(&[id.as_str(), context.id(DocId(member)), &size])?;
        }
    }
    file.finish()
}

/// Ids in one cell, as a JSON list: ids may hold any character.
fn list(items: impl Iterator<Item = String>) -> String {
    serde_json::Value::from_iter(items).to_string()
}

pub(super) fn cluster_inspection(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let outcome = context.outcome();
    let clusters = outcome.clusters();
    let least_direct = {
        let mut least = vec![f64::INFINITY; clusters.len()];
        for removed in outcome.removed() {
            let score = &mut least[removed.cluster as usize];
            *score = score.min(removed.score);
        }
        least
    };
    let column = |name: &str| Labels::new(context.documents(), name);
    let (records, captures) = (column("warc_record_id"), column("capture_url"));
    let distinct = |labels: Option<&Labels>, members: &[u32]| {
        labels.map_or_else(String::new, |labels| {
            let mut numbers: Vec<u32> = members
                .iter()
                .map(|&member| labels.number(DocId(member)))
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len().to_string()
        })
    };
    let mut file = CsvFile::create(
        path,
        &[
            "cluster_id",
            "cluster_size",
            "representative_doc_id",
            "source_count",
            "domain_count",
            "warc_record_count",
            "member_capture_urls",
            "member_doc_ids",
            "duplicate_edge_rows",
            "weakest_shingle_jaccard",
            "weakest_signature_overlap",
            "least_direct_score",
        ],
    )?;
    for (number, members) in (0u32..).zip(clusters.iter()) {
        if members.len() < 2 {
            continue;
        }
        let edges = outcome.tally().clusters[number as usize];
        file.row(&[
            context.cluster_id(number),
            members.len().to_string(),
            context.id(outcome.kept(number)).to_owned(),
            distinct(context.source.as_ref(), members),
            distinct(context.domains(), members),
            distinct(records.as_ref(), members),
            captures.as_ref().map_or_else(String::new, |captures| {
                list(
                    members
                        .iter()
                        .map(|&member| captures.name(DocId(member)).to_owned()),
                )
            }),
            list(
                members
                    .iter()
                    .map(|&member| context.id(DocId(member)).to_owned()),
            ),
            edges.edges.to_string(),
            optional_decimal(edges.weakest_jaccard),
            optional_decimal(edges.weakest_overlap),
            decimal(least_direct[number as usize]),
        ])?;
    }
    file.finish()
}

pub(super) fn candidate_summary(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let outcome = context.outcome();
    let counts = outcome.counts();
    let recall = outcome.recall();
    let cross = |all: u64, same: Option<u64>| optional(same.map(|same| all - same));
    let guarantee = match outcome.guarantee() {
        Guarantee::Lossless => "lossless",
        Guarantee::Probabilistic { .. } => "probabilistic",
        Guarantee::Heuristic { .. } => "heuristic",
    };
    let edges = match outcome.listing() {
        JoinEdges::All => "all",
        JoinEdges::Spanning => "spanning",
    };
    let columns: [(&str, String); 24] = [
        ("documents", counts.documents.to_string()),
        ("empty_documents", counts.empty_documents.to_string()),
        ("possible_pairs", counts.possible_pairs.to_string()),
        ("candidate_pairs", counts.candidate_pairs.to_string()),
        (
            "same_domain_candidates",
            optional(counts.same_domain_candidates),
        ),
        (
            "cross_domain_candidates",
            cross(counts.candidate_pairs, counts.same_domain_candidates),
        ),
        (
            "reduction_ratio",
            optional_decimal(counts.reduction_ratio()),
        ),
        ("pair_slots", counts.pair_slots.to_string()),
        ("pair_slot_budget", outcome.config().max_pairs.to_string()),
        ("edges_listed", edges.to_owned()),
        ("duplicate_pairs", counts.duplicate_pairs.to_string()),
        ("exact_pairs", counts.exact_pairs.to_string()),
        ("near_pairs", counts.near_pairs.to_string()),
        ("numeric_pairs", counts.numeric_pairs.to_string()),
        (
            "refused_for_numbers",
            match counts.refused_for_numbers {
                Some(refused) => refused.to_string(),
                None => "not counted".to_owned(),
            },
        ),
        (
            "same_domain_duplicates",
            optional(counts.same_domain_duplicates),
        ),
        (
            "cross_domain_duplicates",
            cross(counts.duplicate_pairs, counts.same_domain_duplicates),
        ),
        ("threshold", outcome.config().threshold.to_string()),
        ("generator", outcome.generator().name()),
        ("guarantee", guarantee.to_owned()),
        ("recall_at_threshold", optional_decimal(recall.at_threshold)),
        ("estimated_recall", optional_decimal(recall.estimated)),
        ("recall_origin", recall.origin.to_owned()),
        ("shared_keys", outcome.slots().shared_keys.to_string()),
    ];
    let mut file = CsvFile::create(path, &columns.each_ref().map(|column| column.0))?;
    file.row(&columns.each_ref().map(|column| column.1.as_str()))?;
    file.finish()
}

pub(super) fn label_summary(
    context: &Context<'_>,
    name: &str,
    labels: Option<&Labels>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let header = [
        name,
        "documents",
        "empty",
        "kept",
        "removed",
        "removed_share",
        "duplicate_clusters",
    ];
    let mut file = CsvFile::create(path, &header)?;
    for counts in labels
        .map(|labels| labels.counts(context.outcome()))
        .unwrap_or_default()
    {
        file.row(&[
            counts.name.clone(),
            counts.documents.to_string(),
            counts.empty.to_string(),
            (counts.documents - counts.removed).to_string(),
            counts.removed.to_string(),
            decimal(counts.removed_share()),
            counts.clusters.to_string(),
        ])?;
    }
    file.finish()
}

pub(super) fn duplicate_summary(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let (exact, near) = (
        context.outcome().tally().exact,
        context.outcome().tally().near,
    );
    let all = EdgeCounts {
        pairs: exact.pairs.saturating_add(near.pairs),
        same_domain: exact.same_domain.saturating_add(near.same_domain),
    };
    let header = ["kind", "duplicate_pairs", "same_domain", "cross_domain"];
    let mut file = CsvFile::create(path, &header)?;
    for (kind, counts) in [("exact", exact), ("near", near), ("all", all)] {
        let same = context.domains().map(|_| counts.same_domain);
        file.row(&[
            kind.to_owned(),
            counts.pairs.to_string(),
            optional(same),
            optional(same.map(|same| counts.pairs - same)),
        ])?;
    }
    file.finish()
}

pub(super) fn empty_documents(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let mut file = CsvFile::create(path, &["doc_id", "source", "domain", "text_bytes"])?;
    for &document in context.outcome().sets().empty() {
        let label = |labels: Option<&Labels>| {
            labels.map_or_else(String::new, |labels| labels.name(document).to_owned())
        };
        file.row(&[
            context.id(document).to_owned(),
            label(context.source.as_ref()),
            label(context.domains()),
            context.documents().text_bytes(document.index()).to_string(),
        ])?;
    }
    file.finish()
}

pub(super) fn collision_buckets(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let outcome = context.outcome();
    let header = [
        "bucket",
        "member_doc_ids",
        "document_count",
        "domain_count",
        "pair_slots",
    ];
    let mut file = CsvFile::create(path, &header)?;
    let Some(memberships) = outcome.generator().memberships() else {
        return file.finish();
    };
    let mut rows: Vec<(u64, u32, u32)> = Vec::with_capacity(memberships.len());
    for class in 0..memberships.classes() as u32 {
        for (position, &key) in (0u32..).zip(memberships.keys(class)) {
            rows.push((key, class, position));
        }
    }
    rows.sort_unstable();
    let mut buckets: Vec<(String, Vec<DocId>)> = rows
        .chunk_by(|a, b| a.0 == b.0)
        .map(|rows| {
            let mut members: Vec<DocId> = rows
                .iter()
                .flat_map(|row| outcome.sets().members(row.1))
                .copied()
                .collect();
            members.sort_unstable();
            (
                outcome.generator().key_label(rows[0].2 as usize, rows[0].0),
                members,
            )
        })
        .filter(|(_, members)| members.len() > 1)
        .collect();
    buckets.sort_unstable();
    for (label, members) in buckets {
        let domains = context.domains().map(|domain| {
            let mut numbers: Vec<u32> = members
                .iter()
                .map(|&member| domain.number(member))
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len() as u64
        });
        let count = members.len() as u64;
        file.row(&[
            label,
            list(members.iter().map(|&member| context.id(member).to_owned())),
            count.to_string(),
            optional(domains),
            (count * (count - 1) / 2).to_string(),
        ])?;
    }
    file.finish()
}

pub(super) fn rejected(documents: &Table, path: &Path) -> Result<OutputFile, PublishError> {
    let mut file = HashedFile::create(path)?;
    let rejected = documents.rejected();
    for record in rejected {
        serde_json::to_writer(&mut file, record)
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .map_err(|source| PublishError::Write {
                path: path.into(),
                source,
            })?;
    }
    file.finish(rejected.len() as u64)
}
