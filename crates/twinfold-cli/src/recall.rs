//! `twinfold recall`: what candidate generators miss on the user's own documents.
//!
//! The documents are read once and held; the truth and then each setting fingerprint them anew, so
//! that each has times of its own. Two outcomes are held at a time, the truth and the setting's.

use twinfold::config::{BlockKey, Candidates, Config, EdgeListing};
use twinfold::pipeline::{self, Options};
use twinfold::recall::{Measured, Selection, bootstrap, measure, sample};
use twinfold::sketch::CurvePoint;
use twinfold::{DocId, Documents, Error, Outcome, Threshold};
use twinfold_io::publish::recall::{
    DocumentCounts, RecallEnvironment, RecallManifest, RecallReport, SampleEntry, SettingEntry,
    SettingTimes, publish,
};
use twinfold_io::publish::{InputEntry, rejected};
use twinfold_io::source::Table;

use crate::compare::{Measurement, Sample, Setting};
use crate::fault::Fault;
use crate::interrupt::Interrupts;
use crate::progress::{Progress, Unit};
use crate::report::Printed;
use crate::run::{PROGRAM, Workplace, print_summary};
use crate::words::percent;

/// The setting of the truth.
const LOSSLESS: &str = "lossless";

/// Measures what was asked for.
pub(crate) fn run(measurement: &Measurement, interrupts: &Interrupts) -> Result<(), Fault> {
    let resolved = &measurement.resolved;
    let workplace = Workplace::new(resolved, interrupts)?;
    let (table, _) = workplace.read(resolved, &|_| (), None)?;
    let Workplace {
        pool,
        folder,
        progress,
        ..
    } = workplace;
    check_columns(&measurement.settings, &table)?;
    let drawn = measurement.sample.and_then(|sample| draw(&table, sample));
    let selection = drawn.as_deref().map(|ranks| Selection::new(&table, ranks));
    let documents: &dyn Documents = match &selection {
        Some(selection) => selection,
        None => &table,
    };
    let mut stage_times = progress.finish();

    let bench = Bench {
        config: &resolved.config,
        documents,
        progress: &progress,
        seed: measurement
            .sample
            .filter(|_| drawn.is_some())
            .map(|sample| sample.seed),
    };
    let (truth, settings, times) = pool.install(|| bench.run(&measurement.settings))?;

    let rejected_records = table.rejected().len() as u64;
    let report = RecallReport {
        program: PROGRAM.into(),
        threshold: resolved.config.threshold.to_string(),
        documents: DocumentCounts {
            read: table.read(),
            rejected: rejected_records,
            documents: table.len() as u64,
            measured: documents.len() as u64,
            empty: truth.empty,
        },
        sample: bench
            .seed
            .map(|seed| sampled(table.len(), documents.len(), seed)),
        notes: notes(measurement, &table, &truth.entry, &settings),
        truth: truth.entry,
        settings,
    };
    progress.stage("publish", Unit::Files, None);
    let mut files = publish(&report, &folder)?;
    if rejected_records > 0 {
        files.push(rejected(&table, &folder)?);
    }
    stage_times.extend(progress.finish());
    let manifest = RecallManifest {
        program: PROGRAM.into(),
        command: "recall",
        configuration: measurement.configuration()?,
        inputs: table.file_hashes().iter().map(InputEntry::from).collect(),
        documents: report.documents,
        notes: table.notes(),
        environment: RecallEnvironment {
            engine: "local",
            kernels: twinfold::kernels().into_iter().collect(),
            threads: resolved.threads,
            stage_times,
            settings: times,
            manifest_sha256: String::new(),
        },
        outputs: files.clone(),
    };
    let entry = manifest.write(&folder)?;
    files.push(entry);
    let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
    let out = folder.path().to_owned();
    folder.commit(&names)?;

    let printed = Printed {
        report: &report,
        input_notes: &manifest.notes,
        environment: &manifest.environment,
        out: out.display().to_string(),
        files: &files,
    };
    let text = match (resolved.json, resolved.quiet) {
        (true, _) => serde_json::to_string_pretty(&printed).map_err(Fault::new)? + "\n",
        (false, true) => return Ok(()),
        (false, false) => printed.text(crate::text_table::width()),
    };
    print_summary(&text, &out)
}

/// A column to block by that is not there is told before the dear part.
fn check_columns(settings: &[Setting], documents: &Table) -> Result<(), Fault> {
    for setting in settings {
        if let Candidates::Blocking(BlockKey::Column(column)) = &setting.candidates
            && !documents.is_empty()
            && Documents::column(documents, column).is_none()
        {
            return Err(Error::NoBlockColumn {
                column: column.clone(),
                present: documents.column_names().join(", "),
            }
            .into());
        }
    }
    Ok(())
}

/// The documents of a sample, unless it is all of them.
fn draw(documents: &Table, wanted: Sample) -> Option<Vec<DocId>> {
    (wanted.size < documents.len() as u64)
        .then(|| sample(documents, wanted.size as usize, wanted.seed))
}

fn sampled(of: usize, documents: usize, seed: u64) -> SampleEntry {
    let (n, all) = (documents as f64, of as f64);
    SampleEntry {
        documents: documents as u64,
        of: of as u64,
        seed,
        pair_probability: n * (n - 1.0) / (all * (all - 1.0)),
        resamples: bootstrap::RESAMPLES as u64,
    }
}

/// Where settings are run, one after the other.
struct Bench<'a> {
    config: &'a Config,
    documents: &'a dyn Documents,
    progress: &'a Progress,
    /// What draws the resamples, where the documents are a sample.
    seed: Option<u64>,
}

/// The truth, and the documents in it that have no shingle.
struct Truth {
    entry: SettingEntry,
    empty: u64,
}

impl Bench<'_> {
    fn run(
        &self,
        settings: &[Setting],
    ) -> Result<(Truth, Vec<SettingEntry>, Vec<SettingTimes>), Fault> {
        self.progress.section("truth: lossless");
        let truth = self
            .outcome(&Candidates::Lossless)
            .map_err(|error| self.truth_fault(error))?;
        let whole = self.entry(LOSSLESS, &truth, &truth);
        let mut times = vec![self.times("truth")];
        let mut entries = Vec::new();
        for setting in settings {
            if setting.candidates == Candidates::Lossless {
                // The truth has run.
                entries.push(SettingEntry {
                    setting: setting.name.clone(),
                    ..whole.clone()
                });
                times.push(SettingTimes {
                    setting: setting.name.clone(),
                    stage_times: times[0].stage_times.clone(),
                });
                continue;
            }
            self.progress.section(&setting.name);
            entries.push(match self.outcome(&setting.candidates) {
                Ok(outcome) => self.entry(&setting.name, &truth, &outcome),
                Err(Error::PairBudget { needed, .. }) => SettingEntry {
                    setting: setting.name.clone(),
                    generator: None,
                    guarantee: None,
                    pair_slots: needed,
                    over_budget: true,
                    candidate_pairs: None,
                    measured: None,
                    curve: Vec::new(),
                },
                Err(error) => return Err(error.into()),
            });
            times.push(self.times(&setting.name));
        }
        let truth = Truth {
            entry: whole,
            empty: truth.counts().empty_documents,
        };
        Ok((truth, entries, times))
    }

    fn outcome(&self, candidates: &Candidates) -> Result<Outcome, Error> {
        // A pair that was left out for being connected already would look like one that was missed.
        let config = Config {
            candidates: candidates.clone(),
            edges: EdgeListing::All,
            ..self.config.clone()
        };
        let sets = pipeline::fingerprint(&config, self.documents, self.progress);
        pipeline::run(
            &config,
            self.documents,
            sets,
            Options::default(),
            self.progress,
        )
    }

    fn times(&self, setting: &str) -> SettingTimes {
        SettingTimes {
            setting: setting.into(),
            stage_times: self.progress.finish(),
        }
    }

    fn entry(&self, name: &str, truth: &Outcome, outcome: &Outcome) -> SettingEntry {
        let mut measured: Measured =
            measure(truth, outcome).expect("both runs listed every edge of the same documents");
        if let Some(seed) = self.seed {
            measured.resample(seed);
        }
        SettingEntry {
            setting: name.into(),
            generator: Some(outcome.generator().name()),
            guarantee: Some(outcome.guarantee()),
            pair_slots: outcome.counts().pair_slots,
            over_budget: false,
            candidate_pairs: Some(outcome.counts().candidate_pairs),
            measured: Some(measured),
            curve: curve(outcome, self.config.threshold),
        }
    }

    /// Slots are pairs, so they thin out with the square of the sample's share.
    fn truth_fault(&self, error: Error) -> Fault {
        let Error::PairBudget { budget, needed, .. } = &error else {
            return error.into();
        };
        let documents = self.documents.len();
        let share = (*budget as f64 / *needed as f64).sqrt();
        // A little below what would just fit, in two digits.
        let fitting = documents as f64 * share * 0.9;
        let unit = 10f64.powf((fitting.max(10.0).log10() - 1.0).floor());
        let fitting = ((fitting / unit).floor() * unit).max(2.0);
        Fault::new(format!(
            "no truth to measure against: its join would look at {needed} pair slots, over the \
             budget of {budget}"
        ))
        .hint(format!(
            "every pair is needed: raise --max-pairs to {needed}, or measure on a sample of these \
             {documents} documents, such as --sample {fitting}"
        ))
    }
}

/// The curve of a generator, for the plot.
fn curve(outcome: &Outcome, threshold: Threshold) -> Vec<CurvePoint> {
    const STEPS: u32 = 100;
    let least = threshold.as_f64();
    (0..=STEPS)
        .map_while(|step| {
            let similarity = least + (1.0 - least) * f64::from(step) / f64::from(STEPS);
            let probability = outcome.generator().probability(similarity)?;
            Some(CurvePoint {
                similarity,
                probability,
            })
        })
        .collect()
}

/// The share of all pairs from which a family decides an interval by itself.
const MUCH: f64 = 0.25;

/// The share of the true pairs that the largest family has.
fn largest_family(measured: &Measured) -> Option<f64> {
    let families = &measured.families;
    let pairs = |family| -> u64 { families.counts(family).iter().map(|count| count[0]).sum() };
    let largest = (0..families.len()).map(pairs).max()?;
    Some(largest as f64 / measured.overall.pairs as f64)
}

/// What the user should know of how it was measured: the same for the same documents and settings.
fn notes(
    measurement: &Measurement,
    table: &Table,
    truth: &SettingEntry,
    entries: &[SettingEntry],
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(sample) = measurement.sample
        && sample.size >= table.len() as u64
    {
        notes.push(format!(
            "a sample of {} is all of the {} documents: nothing was drawn, and there are no intervals",
            sample.size,
            table.len()
        ));
    }
    let config = &measurement.resolved.config;
    if let Some(share) = truth.measured.as_ref().and_then(largest_family)
        && (measurement.sample).is_some_and(|sample| sample.size < table.len() as u64)
        && share > MUCH
    {
        notes.push(format!(
            "one family has {} of the true pairs in the sample: the overall recall and its interval \
             lean on it; a larger --sample has more families",
            percent(share, 2)
        ));
    }
    for (setting, entry) in measurement.settings.iter().zip(entries) {
        if let (Some(recall), Candidates::Lsh(lsh)) = (setting.target_recall, &setting.candidates) {
            notes.push(format!(
                "{} is {} bands of {} rows: the steepest curve that reaches a recall of {recall} at \
                 {} (it gives {})",
                setting.name,
                lsh.banding.bands(),
                lsh.banding.rows(),
                config.threshold,
                percent(lsh.banding.probability(config.threshold.as_f64()), 2),
            ));
        }
        if entry.over_budget {
            notes.push(format!(
                "{} has {} pair slots, over the budget of {}, and was not measured: --max-pairs \
                 raises the budget",
                setting.name, entry.pair_slots, config.max_pairs
            ));
        }
    }
    notes
}
