//! The relations of pairs: `duplicate_pairs` and `scored_pairs`.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use rayon::prelude::*;
use twinfold::edges::{Edge, Instrument};
use twinfold::{DocId, Outcome};

use super::csv_relations::{CsvFile, CsvRows, decimal};
use super::parquet_relations::ParquetFile;
use super::{Context, OutputFile, PublishError};

/// The columns of both relations.
const COLUMNS: [&str; 11] = [
    "left_doc_id",
    "right_doc_id",
    "left_domain",
    "right_domain",
    "shared_bands",
    "shingle_jaccard",
    "signature_overlap",
    "is_duplicate",
    "reason",
    "instrument",
    "generator",
];

/// What a pair's row says beyond its documents.
struct Verdict {
    shared_bands: Option<u32>,
    jaccard: f64,
    overlap: Option<f64>,
    accepted: bool,
    reason: &'static str,
}

impl Verdict {
    fn new(outcome: &Outcome, edge: &Edge, accepted: bool) -> Self {
        let pair = &edge.pair;
        let agreement = outcome.signature_agreement(pair);
        let threshold = outcome.config().threshold;
        let sketch_agrees = agreement.is_some_and(|(equal, lanes)| threshold.accepts(equal, lanes));
        let reason = match (edge.instrument, accepted) {
            (Instrument::Exact, _) => "identical_text",
            (Instrument::Shingles, true) if sketch_agrees => "jaccard_and_minhash",
            (Instrument::Shingles, true) => "jaccard_match",
            (Instrument::Shingles, false) if pair.reaches(threshold) => "numbers_differ_rejected",
            (Instrument::Shingles, false) if sketch_agrees => "minhash_only_rejected",
            (Instrument::Shingles, false) => "below_jaccard_threshold",
        };
        Self {
            shared_bands: outcome
                .generator()
                .memberships()
                .map(|memberships| memberships.shared(pair.left, pair.right) as u32),
            jaccard: pair.jaccard(),
            overlap: agreement.map(|(equal, lanes)| equal as f64 / lanes as f64),
            accepted,
            reason,
        }
    }
}

/// The generator that an edge came from: pairs of equal texts or equal sets need none.
fn generator_name<'a>(edge: &Edge, name: &'a str) -> &'a str {
    match edge.instrument {
        Instrument::Exact => "exact_text",
        Instrument::Shingles if edge.pair.left == edge.pair.right => "equal_sets",
        Instrument::Shingles => name,
    }
}

pub(super) fn duplicate_pairs(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    /// Rows that a thread makes at a time, and such portions that are made before they are written.
    const ROWS: usize = 4096;
    const PORTIONS: usize = 32;
    let outcome = context.outcome();
    let name = outcome.generator().name();
    let mut file = CsvFile::create(path, &COLUMNS)?;
    // Where copies abound there are far more pairs than documents, so their rows are made in
    // parallel, and written in order.
    let mut waiting: Vec<Edge> = Vec::with_capacity(ROWS * PORTIONS);
    let mut write = |waiting: &mut Vec<Edge>| {
        let portions: Vec<CsvRows> = waiting
            .par_chunks(ROWS)
            .map(|edges| {
                let mut rows = CsvRows::default();
                for edge in edges {
                    duplicate_pair(context, edge, &name, &mut rows);
                }
                rows
            })
            .collect();
        waiting.clear();
        portions.into_iter().try_for_each(|rows| file.rows(rows))
    };
    let mut result = Ok(());
    outcome.for_each_edge(|edge| {
        if result.is_ok() {
            waiting.push(edge);
            if waiting.len() == ROWS * PORTIONS {
                result = write(&mut waiting);
            }
        }
    });
    result.and_then(|()| write(&mut waiting))?;
    file.finish()
}

fn duplicate_pair(context: &Context<'_>, edge: &Edge, generator: &str, rows: &mut CsvRows) {
    let verdict = Verdict::new(context.outcome(), edge, true);
    let domain = |document: DocId| {
        context
            .domains()
            .map_or("", |domains| domains.name(document))
    };
    rows.push(&[
        context.id(edge.left),
        context.id(edge.right),
        domain(edge.left),
        domain(edge.right),
        &verdict
            .shared_bands
            .map_or_else(String::new, |bands| bands.to_string()),
        &decimal(verdict.jaccard),
        &verdict.overlap.map_or_else(String::new, decimal),
        "true",
        verdict.reason,
        edge.instrument.name(),
        generator_name(edge, generator),
    ]);
}

pub(super) fn scored_pairs(context: &Context<'_>, path: &Path) -> Result<OutputFile, PublishError> {
    /// Rows of a record batch.
    const ROWS: usize = 1 << 16;
    let outcome = context.outcome();
    let types = [
        DataType::Utf8,
        DataType::Utf8,
        DataType::Utf8,
        DataType::Utf8,
        DataType::UInt32,
        DataType::Float64,
        DataType::Float64,
        DataType::Boolean,
        DataType::Utf8,
        DataType::Utf8,
        DataType::Utf8,
    ];
    let fields: Vec<Field> = COLUMNS
        .into_iter()
        .zip(types)
        .map(|(name, kind)| Field::new(name, kind, true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let mut file = ParquetFile::create(path, schema.clone())?;
    let name = outcome.generator().name();
    let mut write = |rows: &mut Vec<(Edge, bool)>| {
        let mut texts: [StringBuilder; 7] = Default::default();
        let mut bands = UInt32Builder::new();
        let (mut jaccard, mut overlap) = (Float64Builder::new(), Float64Builder::new());
        let mut accepted = BooleanBuilder::new();
        for (edge, is_duplicate) in rows.drain(..) {
            let verdict = Verdict::new(outcome, &edge, is_duplicate);
            texts[0].append_value(context.id(edge.left));
            texts[1].append_value(context.id(edge.right));
            for (column, document) in [(2, edge.left), (3, edge.right)] {
                texts[column]
                    .append_option(context.domains().map(|domains| domains.name(document)));
            }
            bands.append_option(verdict.shared_bands);
            jaccard.append_value(verdict.jaccard);
            overlap.append_option(verdict.overlap);
            accepted.append_value(verdict.accepted);
            texts[4].append_value(verdict.reason);
            texts[5].append_value(edge.instrument.name());
            texts[6].append_value(generator_name(&edge, &name));
        }
        let [
            left,
            right,
            left_domain,
            right_domain,
            reason,
            instrument,
            generator,
        ] = texts.map(|mut text| Arc::new(text.finish()) as ArrayRef);
        let columns: Vec<ArrayRef> = vec![
            left,
            right,
            left_domain,
            right_domain,
            Arc::new(bands.finish()),
            Arc::new(jaccard.finish()),
            Arc::new(overlap.finish()),
            Arc::new(accepted.finish()),
            reason,
            instrument,
            generator,
        ];
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(|source| {
            PublishError::Arrow {
                path: path.into(),
                source,
            }
        })?;
        file.write(&batch)
    };
    let mut rows: Vec<(Edge, bool)> = Vec::new();
    let mut result = Ok(());
    outcome.for_each_scored_pair(|edge, is_duplicate| {
        if result.is_ok() {
            rows.push((edge, is_duplicate));
            if rows.len() == ROWS {
                result = write(&mut rows);
            }
        }
    });
    result?;
    if !rows.is_empty() {
        write(&mut rows)?;
    }
    file.finish()
}
