//! What a measurement of recall leaves behind: the report as JSON, as CSV and as a plot.
//!
//! | file | what |
//! |---|---|
//! | `recall.json` | everything: the truth, and each setting by similarity and by its effect on clusters |
//! | `recall.csv` | a row for each setting and bin of similarity |
//! | `recall.svg` | measured recall beside the curves of theory |
//!
//! All three are the same for the same documents and settings; times stand in the manifest, under
//! `environment`. Pairs are pairs of documents by their shingle sets, as [`twinfold::recall`] has them.

mod plot;

use serde::Serialize;
use serde_json::Value;
use twinfold::candidates::Guarantee;
use twinfold::recall::Measured;
use twinfold::sketch::CurvePoint;

use super::csv_relations::{CsvFile, decimal, optional_decimal};
use super::file::HashedFile;
use super::manifest::{write_json, write_sealed};
use super::{FileEntry, InputEntry, OutputFile, OutputFolder, PublishError, StageTime};

const JSON: &str = "recall.json";
const CSV: &str = "recall.csv";
const SVG: &str = "recall.svg";

/// The files of a report.
pub(super) const FILES: [&str; 3] = [JSON, CSV, SVG];

/// A measurement of recall.
#[derive(Clone, Debug, Serialize)]
pub struct RecallReport {
    /// `twinfold` and its version.
    pub program: String,
    /// The threshold, as it was written.
    pub threshold: String,
    /// What was measured on.
    pub documents: DocumentCounts,
    /// How the documents were drawn, if not all were taken.
    pub sample: Option<SampleEntry>,
    /// The lossless run that the settings are held against.
    pub truth: SettingEntry,
    /// The settings, in the order in which they were named.
    pub settings: Vec<SettingEntry>,
    /// What the user should know of the settings.
    pub notes: Vec<String>,
}

/// Records read, and what became of them: read = documents + rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DocumentCounts {
    /// Records in the input.
    pub read: u64,
    /// Records that could not be used.
    pub rejected: u64,
    /// Documents in the input.
    pub documents: u64,
    /// Documents that were measured on.
    pub measured: u64,
    /// Those of them without a shingle, which are in no pair.
    pub empty: u64,
}

/// How a sample was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SampleEntry {
    /// The documents in it.
    pub documents: u64,
    /// The documents that it was drawn from.
    pub of: u64,
    /// What it was drawn by.
    pub seed: u64,
    /// The probability that a pair of documents is in it, whatever its similarity.
    pub pair_probability: f64,
    /// How often families of pairs were resampled for the intervals.
    pub resamples: u64,
}

/// What became of a setting.
#[derive(Clone, Debug, Serialize)]
pub struct SettingEntry {
    /// The setting, as `--compare` takes it.
    pub setting: String,
    /// The generator's own name; none if it was over the budget.
    pub generator: Option<String>,
    /// What the generator promises.
    pub guarantee: Option<Guarantee>,
    /// The pair slots that were counted before the join.
    pub pair_slots: u64,
    /// Whether they are over the budget, so that it was not measured.
    pub over_budget: bool,
    /// The pairs of documents that it proposed.
    pub candidate_pairs: Option<u64>,
    /// What it found of the truth.
    #[serde(flatten)]
    pub measured: Option<Measured>,
    /// Its curve from the threshold up; empty where it has none.
    #[serde(skip)]
    pub curve: Vec<CurvePoint>,
}

/// The manifest of a measurement. Everything but `environment` is the same for the same input and
/// configuration.
#[derive(Clone, Debug, Serialize)]
pub struct RecallManifest {
    /// `twinfold` and its version.
    pub program: String,
    /// What was done: `recall`.
    pub command: &'static str,
    /// The whole configuration.
    pub configuration: Value,
    /// The input files.
    pub inputs: Vec<InputEntry>,
    /// Records read, and what became of them.
    pub documents: DocumentCounts,
    /// What the user should know of the inputs: what was skipped, and what was read as something
    /// else.
    pub notes: Vec<String>,
    /// What ran it, and how long it took.
    pub environment: RecallEnvironment,
    /// The files beside the manifest.
    pub outputs: Vec<FileEntry>,
}

/// What ran a measurement: all that may differ between two with the same results.
#[derive(Clone, Debug, Serialize)]
pub struct RecallEnvironment {
    /// The engine.
    pub engine: &'static str,
    /// The instruction set of each kernel.
    pub kernels: Value,
    /// Threads that were used.
    pub threads: usize,
    /// How long reading and writing took.
    pub stage_times: Vec<StageTime>,
    /// How long each setting took, the truth first.
    pub settings: Vec<SettingTimes>,
    /// As in the manifest of a run: [`RecallManifest::write`] sets it.
    pub manifest_sha256: String,
}

/// The times of a setting.
#[derive(Clone, Debug, Serialize)]
pub struct SettingTimes {
    /// The setting.
    pub setting: String,
    /// How long each of its stages took.
    pub stage_times: Vec<StageTime>,
}

impl RecallManifest {
    /// Writes the manifest to the staging folder, with its hash.
    pub fn write(&self, folder: &OutputFolder) -> Result<OutputFile, PublishError> {
        write_sealed(self, folder)
    }
}

/// Writes the files of a report to the staging folder of `folder`.
pub fn publish(
    report: &RecallReport,
    folder: &OutputFolder,
) -> Result<Vec<OutputFile>, PublishError> {
    let rows = report.settings.len() as u64;
    Ok(vec![
        write_json(report, &folder.staged(JSON), rows)?,
        csv(report, folder)?,
        svg(report, folder)?,
    ])
}

/// Cells without a value are empty: a bin without true pairs has no recall, a setting over the budget
/// none in any bin, a generator without a curve no expectation.
fn csv(report: &RecallReport, folder: &OutputFolder) -> Result<OutputFile, PublishError> {
    let header = [
        "setting",
        "generator",
        "from",
        "to",
        "pairs",
        "found",
        "recall",
        "low",
        "high",
        "expected",
        "mean_similarity",
        "families",
    ];
    let mut file = CsvFile::create(&folder.staged(CSV), &header)?;
    let truth = report.truth.measured.iter();
    for setting in &report.settings {
        for (number, bin) in truth.clone().flat_map(|truth| &truth.bins).enumerate() {
            let measured = setting.measured.as_ref().map(|m| &m.bins[number].share);
            let interval = measured.and_then(|share| share.interval);
            let cell = |value: Option<f64>| optional_decimal(value);
            file.row(&[
                setting.setting.clone(),
                setting.generator.clone().unwrap_or_default(),
                decimal(bin.from),
                decimal(bin.to),
                bin.share.pairs.to_string(),
                measured.map_or_else(String::new, |share| share.found.to_string()),
                cell(measured.and_then(|share| share.recall)),
                cell(interval.map(|interval| interval.low)),
                cell(interval.map(|interval| interval.high)),
                cell(measured.and_then(|share| share.expected)),
                cell(bin.mean_similarity),
                bin.share.families.to_string(),
            ])?;
        }
    }
    file.finish()
}

fn svg(report: &RecallReport, folder: &OutputFolder) -> Result<OutputFile, PublishError> {
    let path = folder.staged(SVG);
    let fault = |source| PublishError::Write {
        path: path.clone(),
        source,
    };
    let drawn = plot::draw(report).map_err(fault)?;
    let mut file = HashedFile::create(&path)?;
    std::io::Write::write_all(&mut file, drawn.as_bytes()).map_err(fault)?;
    file.finish(0)
}
