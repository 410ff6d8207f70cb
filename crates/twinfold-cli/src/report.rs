//! What `twinfold recall` prints: tables for people, and the same as JSON.

use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use twinfold::recall::{Measured, Share};
use twinfold_io::publish::FileEntry;
use twinfold_io::publish::recall::{RecallEnvironment, RecallReport, SettingEntry};

use crate::text_table::{TextTable, labelled};
use crate::words::percent;

/// The report and what belongs to this run of it only.
#[derive(Debug, Serialize)]
pub(crate) struct Printed<'a> {
    #[serde(flatten)]
    pub(crate) report: &'a RecallReport,
    pub(crate) input_notes: &'a [String],
    pub(crate) environment: &'a RecallEnvironment,
    pub(crate) out: String,
    pub(crate) files: &'a [FileEntry],
}

const NOTHING: &str = "-";

impl Printed<'_> {
    /// The text for people, in lines of about `width` characters.
    pub(crate) fn text(&self, width: usize) -> String {
        let mut blocks = vec![self.head(width)];
        blocks.push(self.effect().render(width));
        blocks.push(
            labelled(
                "by bin",
                "recall / theory, of the true pairs by their similarity",
                width,
            ) + &self.by_similarity().render(width),
        );
        blocks.push(labelled("cost", "pairs and seconds", width) + &self.cost().render(width));
        blocks.push(self.tail(width));
        blocks.join("\n")
    }

    fn measured(entry: &SettingEntry) -> Option<&Measured> {
        entry.measured.as_ref()
    }

    fn head(&self, width: usize) -> String {
        let report = self.report;
        let documents = report.documents;
        let mut text = labelled(
            "documents",
            &format!(
                "{} read: {} measured on, {} of them empty; {} rejected",
                HumanCount(documents.read),
                HumanCount(documents.measured),
                HumanCount(documents.empty),
                HumanCount(documents.rejected),
            ),
            width,
        );
        if let Some(sample) = report.sample {
            text += &labelled(
                "sample",
                &format!(
                    "{} of {} documents, seed {}: {} in it, by the square of a document's chance, so \
                     small families of duplicates thin out; intervals are of 95%, from {} resamples \
                     of whole families",
                    HumanCount(sample.documents),
                    HumanCount(sample.of),
                    sample.seed,
                    pairs_in(sample.pair_probability),
                    HumanCount(sample.resamples),
                ),
                width,
            );
        }
        if let Some(truth) = Self::measured(&report.truth) {
            text += &labelled(
                "truth",
                &format!(
                    "{} pairs at or above {}, in {} clusters; {} documents kept (lossless)",
                    HumanCount(truth.overall.pairs),
                    report.threshold,
                    HumanCount(truth.effect.clusters),
                    HumanCount(truth.effect.kept),
                ),
                width,
            );
        }
        text
    }

    /// What each setting finds, and what that comes to.
    fn effect(&self) -> TextTable {
        let sampled = self.report.sample.is_some();
        let entries = || self.report.settings.iter();
        // Only stars remove what the truth keeps.
        let removed = entries()
            .filter_map(Self::measured)
            .any(|measured| measured.effect.removed_wrongly > 0);
        let mut header = vec!["setting", "recall"];
        header.extend(sampled.then_some("95% interval"));
        header.extend(["theory", "missed pairs", "clusters", "kept", "kept wrongly"]);
        header.extend(removed.then_some("removed wrongly"));
        let mut table = TextTable::new(header);
        for entry in entries() {
            let Some(measured) = Self::measured(entry) else {
                table.row([entry.setting.clone(), "over budget".into()]);
                continue;
            };
            let (share, effect) = (measured.overall, measured.effect);
            let count = |count| HumanCount(count).to_string();
            let mut row = vec![entry.setting.clone(), share_of(share.recall)];
            row.extend(sampled.then(|| interval(&share)));
            row.extend([
                share_of(share.expected),
                count(share.pairs - share.found),
                count(effect.clusters),
                count(effect.kept),
                count(effect.kept_wrongly),
            ]);
            row.extend(removed.then(|| count(effect.removed_wrongly)));
            table.row(row);
        }
        table
    }

    /// A row for each bin, a column for each setting.
    fn by_similarity(&self) -> TextTable {
        let settings: Vec<(&SettingEntry, &Measured)> = self
            .report
            .settings
            .iter()
            .filter_map(|entry| Some((entry, Self::measured(entry)?)))
            .collect();
        let mut header = vec!["similarity", "pairs"];
        header.extend(settings.iter().map(|(entry, _)| entry.setting.as_str()));
        let mut table = TextTable::new(header);
        for (number, bin) in Self::measured(&self.report.truth)
            .iter()
            .flat_map(|truth| &truth.bins)
            .enumerate()
        {
            let range = if bin.from < bin.to {
                format!("{} to {}", short(bin.from), short(bin.to))
            } else {
                "1".to_owned()
            };
            let mut row = vec![range, HumanCount(bin.share.pairs).to_string()];
            for (_, measured) in &settings {
                let share = &measured.bins[number].share;
                let mut cell = share_of(share.recall);
                if let Some(expected) = share.expected {
                    cell += &format!(" / {}", percent(expected, 2));
                }
                if share.interval.is_some() {
                    cell += &format!(" ({})", interval(share));
                }
                row.push(cell);
            }
            table.row(row);
        }
        table
    }

    fn cost(&self) -> TextTable {
        const STAGES: [&str; 5] = ["fingerprint", "group", "memberships", "join", "cluster"];
        let header = ["setting", "candidate pairs", "slots"]
            .into_iter()
            .chain(STAGES);
        let mut table = TextTable::new(header.chain(["all"]));
        let truth = SettingEntry {
            setting: "truth".into(),
            ..self.report.truth.clone()
        };
        let entries = std::iter::once(&truth).chain(&self.report.settings);
        for (entry, times) in entries.zip(&self.environment.settings) {
            let mut row = vec![
                entry.setting.clone(),
                entry
                    .candidate_pairs
                    .map_or_else(|| NOTHING.into(), |pairs| HumanCount(pairs).to_string()),
                HumanCount(entry.pair_slots).to_string(),
            ];
            for stage in STAGES {
                let time = times.stage_times.iter().find(|time| time.stage == stage);
                row.push(
                    time.map_or_else(|| NOTHING.into(), |time| format!("{:.2}", time.seconds)),
                );
            }
            let all: f64 = times.stage_times.iter().map(|time| time.seconds).sum();
            row.push(format!("{all:.2}"));
            table.row(row);
        }
        table
    }

    fn tail(&self, width: usize) -> String {
        let mut text = String::new();
        if self.report.documents.rejected > 0 {
            let text_of = format!(
                "{} records could not be used; rejected.jsonl says where and why",
                HumanCount(self.report.documents.rejected)
            );
            text += &labelled("warning", &text_of, width);
        }
        for note in self.input_notes.iter().chain(&self.report.notes) {
            text += &labelled("note", note, width);
        }
        let bytes = self.files.iter().map(|file| file.bytes).sum();
        text + &labelled(
            "files",
            &format!(
                "{} in {}, {}",
                self.files.len(),
                self.out,
                HumanBytes(bytes)
            ),
            width,
        )
    }
}

fn share_of(share: Option<f64>) -> String {
    share.map_or_else(|| NOTHING.into(), |share| percent(share, 2))
}

fn interval(share: &Share) -> String {
    share.interval.map_or_else(
        || NOTHING.into(),
        |interval| {
            format!(
                "{} to {}",
                percent(interval.low, 2),
                percent(interval.high, 2)
            )
        },
    )
}

/// How many of all pairs are in a sample, by the probability of each.
fn pairs_in(probability: f64) -> String {
    if probability >= 0.001 {
        format!("{} of all pairs are", percent(probability, 2))
    } else {
        let one_in = (1.0 / probability).round() as u64;
        format!("one pair in {} is", HumanCount(one_in))
    }
}

/// A similarity in two decimals, or three where it has them.
fn short(similarity: f64) -> String {
    let text = format!("{similarity:.3}");
    text.strip_suffix('0').unwrap_or(&text).to_owned()
}
