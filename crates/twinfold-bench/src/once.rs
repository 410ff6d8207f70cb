//! One pass over one input, in a process of its own: so its peak memory is its own, too.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use arrow_array::cast::AsArray as _;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use rayon::ThreadPool;
use rayon::prelude::*;
use twinfold::config::{Candidates, EdgeListing, Lsh};
use twinfold::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
use twinfold::outcome::Outcome;
use twinfold::pipeline::{self, Options, Unobserved};
use twinfold::sets::ShingleSets;
use twinfold::sketch::Banding;
use twinfold::text::{NormalisedText, append_shingle_hashes};
use twinfold::{Config, DocId};
use twinfold_io::publish::{OutputFolder, Publication, PublishSet, publish};
use twinfold_io::source::{Input, SourceOptions, Table};

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pass {
    /// Decode, normalise, tokenise and hash every shingle, and throw it all away.
    Floor,
    /// What a generator costs beyond reading and shingling.
    Find(Generator, EdgeListing),
    /// From the files to the published release.
    Whole(Generator, EdgeListing),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Generator {
    Lossless,
    Lsh { bands: usize, rows: usize },
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lossless => f.write_str("lossless"),
            Self::Lsh { bands, rows } => write!(f, "lsh:{bands}x{rows}"),
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor => f.write_str("floor"),
            Self::Find(generator, edges) => write!(f, "find/{generator}/{edges}"),
            Self::Whole(generator, edges) => write!(f, "whole/{generator}/{edges}"),
        }
    }
}

impl FromStr for Pass {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("{text:?} is no pass");
        let parts: Vec<&str> = text.split('/').collect();
        let (name, generator, edges) = match parts[..] {
            ["floor"] => return Ok(Self::Floor),
            [name, generator, edges] => (name, generator, edges),
            _ => return Err(unknown()),
        };
        let generator = match generator.split_once(':') {
            None => Generator::Lossless,
            Some((_, size)) => {
                let (bands, rows) = size.split_once('x').ok_or_else(unknown)?;
                Generator::Lsh {
                    bands: bands.parse().map_err(|_| unknown())?,
                    rows: rows.parse().map_err(|_| unknown())?,
                }
            }
        };
        let edges = edges.parse().map_err(|_| unknown())?;
        match name {
            "find" => Ok(Self::Find(generator, edges)),
            "whole" => Ok(Self::Whole(generator, edges)),
            _ => Err(unknown()),
        }
    }
}

/// What a pass did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) seconds: f64,
    pub(crate) text_megabytes: f64,
    pub(crate) pairs: u64,
    pub(crate) scored: u64,
    pub(crate) kept: u64,
    pub(crate) peak_megabytes: f64,
}

impl Measured {
    pub(crate) fn print(&self) {
        println!(
            "{} {} {} {} {} {}",
            self.seconds,
            self.text_megabytes,
            self.pairs,
            self.scored,
            self.kept,
            self.peak_megabytes
        );
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let fields: Vec<f64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        let [seconds, text_megabytes, pairs, scored, kept, peak_megabytes] = fields[..] else {
            return None;
        };
        Some(Self {
            seconds,
            text_megabytes,
            pairs: pairs as u64,
            scored: scored as u64,
            kept: kept as u64,
            peak_megabytes,
        })
    }
}

/// Runs a pass in this process.
pub(crate) fn run(pass: Pass, input: &Path, threads: usize) -> Result<Measured, Box<dyn Error>> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let mut measured = match pass {
        Pass::Floor => floor(input, &pool)?,
        Pass::Find(generator, edges) => find(&config(generator, edges)?, input, &pool)?,
        Pass::Whole(generator, edges) => whole(&config(generator, edges)?, input, &pool)?,
    };
    measured.peak_megabytes =
        peak_memory_kilobytes().map_or(0.0, |kilobytes| kilobytes as f64 / 1e3);
    Ok(measured)
}

fn config(generator: Generator, edges: EdgeListing) -> Result<Config, Box<dyn Error>> {
    Ok(Config {
        candidates: match generator {
            Generator::Lossless => Candidates::Lossless,
            Generator::Lsh { bands, rows } => Candidates::Lsh(Lsh {
                banding: Banding::new(bands, rows, bands * rows)?,
                ..Lsh::default()
            }),
        },
        edges,
        max_pairs: match edges {
            EdgeListing::All => u64::MAX,
            _ => Config::DEFAULT_MAX_PAIRS,
        },
        ..Config::default()
    })
}

fn open(path: &Path) -> Result<Input, Box<dyn Error>> {
    Ok(Input::open(SourceOptions {
        inputs: vec![path.to_string_lossy().into_owned()],
        ..SourceOptions::default()
    })?)
}

/// Decodes every column of a Parquet file and shingles its texts. Threads share the row groups, and
/// what they decode of one: only the decoding of a group is done by one thread at a time.
fn floor(path: &Path, pool: &ThreadPool) -> Result<Measured, Box<dyn Error>> {
    let start = Instant::now();
    let file = File::open(path)?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    let groups = (0..metadata.metadata().num_row_groups())
        .map(|group| {
            // A clone of the file would share its place in the file with the others.
            let file = File::open(path)?;
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
            Ok(Mutex::new(builder.with_row_groups(vec![group]).build()?))
        })
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let results = pool.broadcast(|thread| {
        let (mut normalised, mut hashes) = (NormalisedText::default(), Vec::new());
        let mut bytes = 0;
        // Each thread begins with a group of its own, and helps with the others afterwards.
        for at in 0..groups.len() {
            let group = &groups[(at + thread.index()) % groups.len()];
            loop {
                let batch = group.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(batch) = batch else { break };
                let batch = batch.map_err(|error| error.to_string())?;
                let texts = batch
                    .column_by_name("body")
                    .ok_or("there is no column body")?;
                let texts = texts
                    .as_string_opt::<i32>()
                    .ok_or("body is not of strings")?;
                for text in texts.iter().flatten() {
                    shingle(text, &mut normalised, &mut hashes);
                    black_box(&hashes);
                    bytes += text.len();
                }
            }
        }
        Ok::<usize, String>(bytes)
    });
    let bytes = results.into_iter().sum::<Result<usize, String>>()?;
    Ok(Measured {
        seconds: start.elapsed().as_secs_f64(),
        text_megabytes: bytes as f64 / 1e6,
        ..Measured::default()
    })
}

fn shingle(text: &str, normalised: &mut NormalisedText, hashes: &mut Vec<u64>) {
    let config = Config::default();
    normalised.set(text, config.tokenizer);
    hashes.clear();
    append_shingle_hashes(normalised, config.shingle_size, hashes);
}

/// Fingerprints of a table's texts, in its order.
fn fingerprints(config: &Config, table: &Table) -> Vec<FingerprintBatch> {
    let seen = SeenTexts::new();
    let ranks: Vec<usize> = (0..table.len()).collect();
    ranks
        .par_chunks(BATCH)
        .map_init(
            || Fingerprinter::new(config),
            |fingerprinter, ranks| {
                let mut batch = FingerprintBatch::default();
                for &rank in ranks {
                    fingerprinter.push(&table.text(rank), &seen, &mut batch);
                }
                batch
            },
        )
        .collect()
}

/// Documents of a batch.
const BATCH: usize = 256;

fn find(config: &Config, path: &Path, pool: &ThreadPool) -> Result<Measured, Box<dyn Error>> {
    let (table, _) = open(path)?.read(pool, &|_| {}, &|_| (), None)?;
    // The lossless generator's fingerprints are the shingles as they come: what every generator
    // begins with.
    let shingling = Config {
        candidates: Candidates::Lossless,
        ..config.clone()
    };
    let start = Instant::now();
    let shingles = pool.install(|| fingerprints(&shingling, &table));
    let base = start.elapsed().as_secs_f64();
    drop(shingles);
    let start = Instant::now();
    let outcome = pool.install(|| {
        let batches = fingerprints(config, &table);
        let sets = ShingleSets::new(config, batches, table.len(), |document: DocId| {
            (document.index() / BATCH, document.index() % BATCH)
        });
        pipeline::run(config, &table, sets, Options::default(), &Unobserved)
    })?;
    let seconds = start.elapsed().as_secs_f64() - base;
    Ok(counted(&table, &outcome, seconds))
}

fn whole(config: &Config, path: &Path, pool: &ThreadPool) -> Result<Measured, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let fingerprinter = Fingerprinter::new(config);
    let seen = SeenTexts::new();
    let start = Instant::now();
    let (table, batches) = open(path)?.read(
        pool,
        &|_| {},
        &|batch| fingerprinter.batch(batch.texts(), &seen),
        None,
    )?;
    let outcome = pool.install(|| {
        let sets = ShingleSets::new(config, batches, table.len(), |document: DocId| {
            table.origin(document.index())
        });
        pipeline::run(config, &table, sets, Options::default(), &Unobserved)
    })?;
    let output = OutputFolder::claim(&folder.path().join("out"), false)?;
    let publication = Publication {
        documents: &table,
        outcome: &outcome,
        memory: u64::MAX,
    };
    pool.install(|| publish(publication, &PublishSet::default(), &output, &|_| {}))?;
    Ok(counted(&table, &outcome, start.elapsed().as_secs_f64()))
}

fn counted(table: &Table, outcome: &Outcome, seconds: f64) -> Measured {
    let texts = (0..table.len()).map(|rank| table.text_bytes(rank));
    Measured {
        seconds,
        text_megabytes: texts.sum::<usize>() as f64 / 1e6,
        pairs: outcome.counts().duplicate_pairs,
        scored: outcome.counts().scored_class_pairs,
        kept: outcome.counts().kept,
        peak_megabytes: 0.0,
    }
}

/// The most memory that this program has held, where the system tells.
pub(crate) fn peak_memory_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Runs a pass in a process of its own.
pub(crate) fn spawn(pass: Pass, input: &Path, threads: usize) -> Result<Measured, Box<dyn Error>> {
    let this: PathBuf = std::env::current_exe()?;
    let output = std::process::Command::new(this)
        .arg("once")
        .arg(pass.to_string())
        .arg(input)
        .args(["--threads", &threads.to_string()])
        .output()?;
    if !output.status.success() {
        return Err(format!(
            "{pass} on {}: {}\n{}",
            input.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    let text = String::from_utf8(output.stdout)?;
    Measured::parse(&text).ok_or_else(|| format!("{pass} printed {text:?}").into())
}
