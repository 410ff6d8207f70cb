//! The relations that are read by programs: Parquet, compressed with Zstandard.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, ListBuilder, StringBuilder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, compute_leaves};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;
use twinfold::DocId;
use twinfold::sketch::band_label;
use twinfold::text::{NormalisedText, shingle_hash, shingles};

use super::file::HashedFile;
use super::{Context, OutputFile, PublishError};
use crate::marks::PROGRAM;
use crate::source::What;

/// A Parquet file that counts its rows.
pub(super) struct ParquetFile {
    writer: ArrowWriter<HashedFile>,
    path: PathBuf,
    rows: u64,
}

/// Bytes of a row group in memory, at which it is written out.
const ROW_GROUP_BYTES: usize = 32 << 20;

impl ParquetFile {
    pub(super) fn create(path: &Path, schema: SchemaRef) -> Result<Self, PublishError> {
        Ok(Self {
            writer: writer(path, schema)?,
            path: path.into(),
            rows: 0,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), PublishError> {
        self.rows += batch.num_rows() as u64;
        let fault = |source| PublishError::Parquet {
            path: self.path.clone(),
            source,
        };
        self.writer.write(batch).map_err(fault)?;
        if self.writer.in_progress_size() >= ROW_GROUP_BYTES {
            self.writer.flush().map_err(fault)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<OutputFile, PublishError> {
        let path = self.path;
        let file = self
            .writer
            .into_inner()
            .map_err(|source| PublishError::Parquet { path, source })?;
        file.finish(self.rows)
    }
}

fn writer(path: &Path, schema: SchemaRef) -> Result<ArrowWriter<HashedFile>, PublishError> {
    let fault = |source| PublishError::Parquet {
        path: path.into(),
        source,
    };
    let level = ZstdLevel::try_new(1).map_err(fault)?;
    // Readers look for metadata beside the schema, not in its Arrow form; in a fixed order.
    let pairs: BTreeMap<&String, &String> = schema.metadata().iter().collect();
    let pairs = pairs
        .into_iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect::<Vec<_>>();
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(pairs).filter(|pairs| !pairs.is_empty()))
        .set_compression(Compression::ZSTD(level))
        .set_created_by(PROGRAM.into())
        .build();
    ArrowWriter::try_new(HashedFile::create(path)?, schema, Some(properties)).map_err(fault)
}

/// Writes a Parquet file of documents with all that they hold; `columns` makes the columns of a run of
/// documents from those of the table. Row groups are encoded in parallel, as many at a time as there are
/// threads and memory is, and written in order; where they are cut depends on the documents only.
fn write_documents(
    context: &Context<'_>,
    path: &Path,
    schema: &SchemaRef,
    documents: &[u32],
    columns: impl Fn(&[u32], RecordBatch) -> Result<Vec<ArrayRef>, PublishError> + Sync,
) -> Result<OutputFile, PublishError> {
    /// Runs of a row group.
    const RUNS: usize = 4;
    let fault = |source| PublishError::Parquet {
        path: path.into(),
        source,
    };
    let (mut file, factory) = writer(path, schema.clone())?
        .into_serialized_writer()
        .map_err(fault)?;
    let encode = |number: usize, runs: &[&[u32]], load: &dyn Fn(usize) -> Rows| {
        let mut writers = factory.create_column_writers(number).map_err(fault)?;
        for (at, run) in runs.iter().enumerate() {
            let batch = batch(path, schema, columns(run, load(at)?)?)?;
            let mut next = writers.iter_mut();
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                for leaf in compute_leaves(field, column).map_err(fault)? {
                    if let Some(writer) = next.next() {
                        writer.write(&leaf).map_err(fault)?;
                    }
                }
            }
        }
        writers
            .into_iter()
            .map(|writer| writer.close().map_err(fault))
            .collect::<Result<Vec<_>, PublishError>>()
    };
    let runs = runs(context, documents);
    let groups: Vec<&[&[u32]]> = runs.chunks(RUNS).collect();
    let memory = context.publication.memory;
    let gatherer = context
        .documents()
        .gatherer(What::All, &groups, memory, &store_name(path))?;
    let mut write = |encoded: Vec<Vec<ArrowColumnChunk>>| {
        for chunks in encoded {
            let mut group = file.next_row_group().map_err(fault)?;
            for chunk in chunks {
                chunk.append_to_row_group(&mut group).map_err(fault)?;
            }
            group.close().map_err(fault)?;
        }
        Ok::<(), PublishError>(())
    };
    let (mut number, mut ahead) = (0, None);
    while let Some(load) = gatherer.loads().get(number) {
        if load.run.is_some() {
            // A group whose runs do not fit together: each is loaded when it is its turn.
            let group = load.groups.start;
            let runs = groups[group];
            let run = |run: usize| Ok(gatherer.load(number + run)?.gather(runs[run])?);
            write(vec![encode(group, runs, &run)?])?;
            number += runs.len();
            continue;
        }
        // While a group is encoded there are its runs, and what they become.
        let fits = memory / 2 / load.largest.saturating_mul(2).max(1);
        let width = rayon::current_num_threads().min(fits.clamp(1, 1 << 16) as usize);
        let loaded = match ahead.take() {
            Some(loaded) => loaded,
            None => gatherer.load(number)?,
        };
        let next = gatherer.loads().get(number + 1);
        let next = next.and_then(|next| next.run.is_none().then_some(number + 1));
        // The next is read while this is encoded.
        let (written, read) = rayon::join(
            || {
                // It goes when it is written, whenever the next is there.
                let loaded = loaded;
                for first in load.groups.clone().step_by(width) {
                    let wave = first..load.groups.end.min(first + width);
                    let encoded = wave
                        .into_par_iter()
                        .with_max_len(1)
                        .map(|group| {
                            let runs = groups[group];
                            encode(group, runs, &|run| Ok(loaded.gather(runs[run])?))
                        })
                        .collect::<Result<_, PublishError>>()?;
                    write(encoded)?;
                }
                Ok::<(), PublishError>(())
            },
            || next.map(|next| gatherer.load(next)).transpose(),
        );
        written?;
        ahead = read?;
        number += 1;
    }
    file.into_inner()
        .map_err(fault)?
        .finish(documents.len() as u64)
}

/// The documents of a run, or why they can't be had.
type Rows = Result<RecordBatch, PublishError>;

/// The store in which the documents of a file are put in order, where they have to be.
fn store_name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    format!("{name} in order")
}

/// Cuts `documents` into runs of at most 8,192, fewer where rows are wide, and of about 8 MiB of text.
fn runs<'a>(context: &Context<'_>, documents: &'a [u32]) -> Vec<&'a [u32]> {
    const ROWS: usize = 8192;
    const BYTES: usize = 8 << 20;
    /// Columns that a run of all rows may have.
    const COLUMNS: usize = 16;
    let columns = context.documents().schema().fields().len();
    let rows = (ROWS * COLUMNS / columns.max(COLUMNS)).max(256);
    let runs = documents.chunks(rows);
    runs.flat_map(|run| runs_of_bytes(context, run, BYTES))
        .collect()
}

/// Cuts `documents` into runs of at most so many bytes of text, or of one document.
fn runs_of_bytes<'a>(context: &Context<'_>, documents: &'a [u32], most: usize) -> Vec<&'a [u32]> {
    let mut found = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, &document) in documents.iter().enumerate() {
        let text = context.documents().text_bytes(document as usize);
        if bytes + text > most && at > start {
            found.push(&documents[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += text;
    }
    if start < documents.len() {
        found.push(&documents[start..]);
    }
    found
}

/// Names that the output adds; an input column of one of them is renamed.
const ADDED: [&str; 4] = [
    "cluster_id",
    "cluster_size",
    "representative_doc_id",
    "token_count",
];

/// The name of an input column in the output.
fn output_column(name: &str, taken: &[String]) -> String {
    if !ADDED.contains(&name) {
        return name.to_owned();
    }
    let mut renamed = format!("input_{name}");
    while taken.contains(&renamed) {
        renamed.insert_str(0, "input_");
    }
    renamed
}

/// The input columns that are renamed in `deduped_documents`, each with its new name.
pub fn renamed_columns(names: &[String]) -> Vec<(String, String)> {
    names
        .iter()
        .map(|name| (name.clone(), output_column(name, names)))
        .filter(|(name, renamed)| name != renamed)
        .collect()
}

pub(super) fn deduped_documents(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let (table, outcome) = (context.documents(), context.outcome());
    let input = table.schema();
    let names: Vec<String> = input
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let mut fields = vec![
        Field::new("cluster_id", DataType::Utf8, false),
        Field::new("cluster_size", DataType::UInt64, false),
        Field::new("representative_doc_id", DataType::Utf8, false),
    ];
    fields.extend(input.fields().iter().map(|field| {
        field
            .as_ref()
            .clone()
            .with_name(output_column(field.name(), &names))
            .with_nullable(true)
    }));
    fields.push(Field::new("token_count", DataType::UInt64, false));
    let schema = Arc::new(Schema::new_with_metadata(fields, input.metadata().clone()));

    let clusters = outcome.clusters();
    let mut kept: Vec<u32> = (0..clusters.len() as u32)
        .map(|cluster| outcome.kept(cluster).0)
        .collect();
    kept.sort_unstable();
    write_documents(context, path, &schema, &kept, |run, rows| {
        let (mut cluster_ids, mut kept_ids) = (StringBuilder::new(), StringBuilder::new());
        let (mut sizes, mut tokens) = (UInt64Builder::new(), UInt64Builder::new());
        for &document in run {
            let cluster = clusters.of(document);
            cluster_ids.append_value(context.cluster_id(cluster));
            sizes.append_value(clusters.elements(cluster).len() as u64);
            kept_ids.append_value(context.id(DocId(document)));
            tokens.append_value(outcome.sets().token_count(DocId(document)));
        }
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(cluster_ids.finish()),
            Arc::new(sizes.finish()),
            Arc::new(kept_ids.finish()),
        ];
        columns.extend(rows.columns().iter().cloned());
        columns.push(Arc::new(tokens.finish()));
        Ok(columns)
    })
}

fn batch(
    path: &Path,
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
) -> Result<RecordBatch, PublishError> {
    RecordBatch::try_new(schema.clone(), columns).map_err(|source| PublishError::Arrow {
        path: path.into(),
        source,
    })
}

pub(super) fn removed_documents(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("doc_id", DataType::Utf8, false),
        Field::new("kept_doc_id", DataType::Utf8, false),
        Field::new("cluster_id", DataType::Utf8, false),
        Field::new("score", DataType::Float64, false),
        Field::new("instrument", DataType::Utf8, false),
        Field::new("direct", DataType::Boolean, false),
    ]));
    let mut file = ParquetFile::create(path, schema.clone())?;
    for removed in context.outcome().removed().chunks(1 << 16) {
        let mut texts: [StringBuilder; 4] = Default::default();
        let (mut scores, mut direct) = (Float64Builder::new(), BooleanBuilder::new());
        for row in removed {
            texts[0].append_value(context.id(row.document));
            texts[1].append_value(context.id(row.kept));
            texts[2].append_value(context.cluster_id(row.cluster));
            texts[3].append_value(row.instrument.name());
            scores.append_value(row.score);
            direct.append_value(row.direct);
        }
        let [ids, kept, clusters, instruments] =
            texts.map(|mut text| Arc::new(text.finish()) as ArrayRef);
        let columns = vec![
            ids,
            kept,
            clusters,
            Arc::new(scores.finish()) as ArrayRef,
            instruments,
            Arc::new(direct.finish()),
        ];
        file.write(&batch(path, &schema, columns)?)?;
    }
    file.finish()
}

pub(super) fn source_documents(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    let table = context.documents();
    let input = table.schema();
    let fields: Vec<Field> = input
        .fields()
        .iter()
        .map(|field| field.as_ref().clone().with_nullable(true))
        .collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, input.metadata().clone()));
    let all: Vec<u32> = (0..table.len() as u32).collect();
    write_documents(context, path, &schema, &all, |_, rows| {
        Ok(rows.columns().to_vec())
    })
}

pub(super) fn memberships(context: &Context<'_>, path: &Path) -> Result<OutputFile, PublishError> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("doc_id", DataType::Utf8, false),
    ]));
    let outcome = context.outcome();
    let mut file = ParquetFile::create(path, schema.clone())?;
    let Some(memberships) = outcome.generator().memberships() else {
        return file.finish();
    };
    let (mut keys, mut ids) = (StringBuilder::new(), StringBuilder::new());
    let all: Vec<u32> = (0..context.documents().len() as u32).collect();
    for run in all.chunks(8192) {
        for &document in run {
            let Some(class) = outcome.sets().class_of(DocId(document)) else {
                continue;
            };
            for (position, &key) in memberships.keys(class).iter().enumerate() {
                keys.append_value(outcome.generator().key_label(position, key));
                ids.append_value(context.id(DocId(document)));
            }
        }
        let columns: Vec<ArrayRef> = vec![Arc::new(keys.finish()), Arc::new(ids.finish())];
        file.write(&batch(path, &schema, columns)?)?;
    }
    file.finish()
}

/// One document's row of `fingerprinted`.
struct Fingerprint {
    normalised: String,
    tokens: u64,
    token_set: BTreeSet<String>,
    /// Shingles in the order of their text, with their hashes.
    shingles: Vec<(String, u64)>,
}

pub(super) fn fingerprinted(
    context: &Context<'_>,
    path: &Path,
) -> Result<OutputFile, PublishError> {
    /// Documents whose strings are there at a time.
    const PART: usize = 128;
    /// Bytes of text whose rows are made at a time: they take about forty times as much.
    const RUN_BYTES: usize = 1 << 20;
    let outcome = context.outcome();
    let config = outcome.config();
    let list = |kind: DataType| DataType::List(Arc::new(Field::new_list_field(kind, true)));
    let schema = Arc::new(Schema::new(vec![
        Field::new("doc_id", DataType::Utf8, false),
        Field::new("normalized_text", DataType::LargeUtf8, false),
        Field::new("token_count", DataType::UInt64, false),
        Field::new("unique_tokens", DataType::UInt64, false),
        Field::new("token_set", list(DataType::Utf8), false),
        Field::new("shingle_count", DataType::UInt64, false),
        Field::new("shingle_set", list(DataType::Utf8), false),
        Field::new("shingle_hashes", list(DataType::UInt64), false),
        Field::new("signature", list(DataType::UInt64), false),
        Field::new("lsh_bands", list(DataType::Utf8), false),
    ]));
    let mut file = ParquetFile::create(path, schema.clone())?;
    let all: Vec<u32> = (0..context.documents().len() as u32).collect();
    // Rows grow with the shingle size: each token stands in so many shingles, all of them strings.
    let runs: Vec<&[u32]> = all
        .chunks(1024)
        .flat_map(|chunk| runs_of_bytes(context, chunk, RUN_BYTES))
        .collect();
    let groups: Vec<&[&[u32]]> = runs.chunks(1).collect();
    let memory = context.publication.memory;
    let gatherer = context
        .documents()
        .gatherer(What::Texts, &groups, memory, &store_name(path))?;
    let mut loaded = None;
    let loads = (0..).zip(gatherer.loads());
    for (load, group) in loads.flat_map(|(at, load)| load.groups.clone().map(move |g| (at, g))) {
        let run = runs[group];
        if loaded.as_ref().is_none_or(|(at, _)| *at != load) {
            // What was loaded goes before the next comes.
            drop(loaded.take());
            loaded = Some((load, gatherer.load(load)?));
        }
        let Some((_, loaded)) = &loaded else { continue };
        let texts = loaded.gather(run)?;
        let texts = texts.column(0).as_string_view();
        let fingerprint = |normalised: &mut NormalisedText, row: usize| {
            let text = texts.is_valid(row).then(|| texts.value(row));
            normalised.set(text.unwrap_or(""), config.tokenizer);
            let mut set: Vec<(String, u64)> = shingles(normalised, config.shingle_size)
                .map(|shingle| {
                    (
                        String::from_utf8_lossy(shingle).into_owned(),
                        shingle_hash(shingle),
                    )
                })
                .collect();
            set.sort_unstable();
            set.dedup();
            Fingerprint {
                normalised: normalised.as_str().to_owned(),
                tokens: normalised.token_count() as u64,
                token_set: normalised.tokens().map(str::to_owned).collect(),
                shingles: set,
            }
        };
        let mut ids = StringBuilder::new();
        let mut normalised = arrow_array::builder::LargeStringBuilder::new();
        let mut counts: [UInt64Builder; 3] = Default::default();
        let mut text_lists: [ListBuilder<StringBuilder>; 3] =
            std::array::from_fn(|_| ListBuilder::new(StringBuilder::new()));
        let mut number_lists: [ListBuilder<UInt64Builder>; 2] =
            std::array::from_fn(|_| ListBuilder::new(UInt64Builder::new()));
        // Strings of their own take much more than columns, so there are those of a part at a time.
        for part in (0..run.len()).step_by(PART) {
            let rows: Vec<Fingerprint> = (part..run.len().min(part + PART))
                .into_par_iter()
                .map_init(NormalisedText::default, fingerprint)
                .collect();
            for (&document, row) in run[part..].iter().zip(&rows) {
                let document = DocId(document);
                ids.append_value(context.id(document));
                normalised.append_value(&row.normalised);
                counts[0].append_value(row.tokens);
                counts[1].append_value(row.token_set.len() as u64);
                counts[2].append_value(row.shingles.len() as u64);
                text_lists[0].append_value(row.token_set.iter().map(Some));
                text_lists[1].append_value(row.shingles.iter().map(|shingle| Some(&shingle.0)));
                number_lists[0].append_value(row.shingles.iter().map(|shingle| Some(shingle.1)));
                let class = outcome.sets().class_of(document);
                // The signature of a document without shingles is all zeros.
                let zeros = || vec![0; signature_lanes(context)].into();
                let signature = class.map_or_else(zeros, |class| outcome.sets().signature(class));
                number_lists[1].append_value(signature.iter().copied().map(Some));
                let bands = class.map_or(&[][..], |class| outcome.sets().band_keys(class));
                text_lists[2].append_value(
                    bands
                        .iter()
                        .enumerate()
                        .map(|(band, &key)| Some(band_label(band, key))),
                );
            }
        }
        let [tokens, unique, shingle_counts] =
            counts.map(|mut count| Arc::new(count.finish()) as ArrayRef);
        let [token_set, shingle_set, bands] =
            text_lists.map(|mut list| Arc::new(list.finish()) as ArrayRef);
        let [hashes, signatures] = number_lists.map(|mut list| Arc::new(list.finish()) as ArrayRef);
        let columns = vec![
            Arc::new(ids.finish()) as ArrayRef,
            Arc::new(normalised.finish()),
            tokens,
            unique,
            token_set,
            shingle_counts,
            shingle_set,
            hashes,
            signatures,
            bands,
        ];
        file.write(&batch(path, &schema, columns)?)?;
    }
    file.finish()
}

/// The values of a signature; none where the generator needs no signatures.
fn signature_lanes(context: &Context<'_>) -> usize {
    match &context.outcome().config().candidates {
        twinfold::config::Candidates::Lsh(lsh) => lsh.banding.hashes(),
        _ => 0,
    }
}
