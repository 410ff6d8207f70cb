//! The block that a person reads at the end, and the same as JSON.

use std::fmt::Write as _;
use std::path::Path;

use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use twinfold::Outcome;
use twinfold::candidates::{Guarantee, JoinEdges};
use twinfold::config::{Candidates, Config};
use twinfold::labels::LabelCounts;
use twinfold::outcome::Counts;
use twinfold::recall::ExpectedRecall;
use twinfold::represent::DateCounts;
use twinfold_io::publish::{FileEntry, Records, StageTime};

use crate::words::{counted, percent, similarity};

/// What a run says of itself.
#[derive(Debug, Serialize)]
pub(crate) struct Summary<'a> {
    pub(crate) program: String,
    pub(crate) records: Records,
    pub(crate) counts: &'a Counts,
    pub(crate) reduction_ratio: Option<f64>,
    pub(crate) edges_listed: &'static str,
    pub(crate) generator: String,
    pub(crate) guarantee: Guarantee,
    pub(crate) recall: &'a ExpectedRecall,
    pub(crate) threshold: String,
    pub(crate) dates: Option<DateCounts>,
    pub(crate) sources_losing_most: Vec<LostMost>,
    pub(crate) renamed_columns: &'a [(String, String)],
    pub(crate) stage_times: &'a [StageTime],
    /// The most memory that was held, where the system tells, and what was allowed.
    pub(crate) peak_memory: Option<u64>,
    pub(crate) memory: u64,
    /// The least score of a removed document against the kept one; 1 where none was removed.
    pub(crate) least_direct_score: f64,
    pub(crate) out: String,
    pub(crate) files: &'a [FileEntry],
    pub(crate) notes: Vec<String>,
}

/// A source that lost more than half of its documents.
#[derive(Debug, Serialize)]
pub(crate) struct LostMost {
    source: String,
    documents: u64,
    removed: u64,
}

impl LostMost {
    pub(crate) fn of(sources: &[LabelCounts]) -> Vec<Self> {
        sources
            .iter()
            .filter(|source| source.lost_most())
            .map(|source| Self {
                source: source.name.clone(),
                documents: source.documents,
                removed: source.removed,
            })
            .collect()
    }
}

/// How edges were listed, in a word.
pub(crate) fn listing_name(listing: JoinEdges) -> &'static str {
    match listing {
        JoinEdges::All => "all",
        JoinEdges::Spanning => "spanning",
    }
}

/// Remarks on how the run was configured: choices that were made for the user.
pub(crate) fn notes(config: &Config, target_recall: Option<f64>, outcome: &Outcome) -> Vec<String> {
    let mut notes = Vec::new();
    if let Candidates::Lsh(lsh) = &config.candidates {
        let banding = lsh.banding;
        if let Some(recall) = target_recall {
            notes.push(format!(
                "{} bands of {} rows: the steepest curve that reaches a recall of {recall} at {} \
                 (it gives {})",
                banding.bands(),
                banding.rows(),
                config.threshold,
                percent(banding.probability(config.threshold.as_f64()), 2),
            ));
        } else if banding.used() < banding.hashes() {
            notes.push(format!(
                "{} bands of {} rows use {} of the {} hash values",
                banding.bands(),
                banding.rows(),
                banding.used(),
                banding.hashes()
            ));
        }
    }
    if outcome
        .recall()
        .at_threshold
        .is_some_and(|recall| recall < 0.9)
    {
        notes.push(
            "pairs near the threshold are easily missed: --candidates lossless, the default, finds \
             all, --target-recall 0.99 most"
                .into(),
        );
    }
    if outcome.listing() == JoinEdges::Spanning
        && config.edges == twinfold::config::EdgeListing::Auto
    {
        notes.push(format!(
            "{} pair slots are over the budget of {}: only spanning edges are listed, the \
             clusters are the same; --max-pairs raises the budget",
            HumanCount(outcome.slots().slots),
            HumanCount(config.max_pairs),
        ));
    }
    notes
}

impl Summary<'_> {
    /// The block for people.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text)
            .expect("writing to a string does not fail");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let count = HumanCount;
        let (records, counts) = (self.records, self.counts);
        writeln!(
            text,
            "documents    {} read: {} used, {} empty, {} rejected",
            count(records.read),
            count(records.used),
            count(records.empty),
            count(records.rejected),
        )?;
        write!(
            text,
            "candidates   {} of {}",
            count(counts.candidate_pairs),
            counted(counts.possible_pairs, "possible pair", "possible pairs")
        )?;
        if let Some(reduction) = self.reduction_ratio {
            write!(text, " ({} fewer)", percent(reduction, 2))?;
        }
        let slots = counted(counts.pair_slots, "pair slot", "pair slots");
        writeln!(text, ", in {slots}")?;
        if counts.skipped_slots > 0 {
            writeln!(
                text,
                "             {} skipped, being connected already",
                counted(counts.skipped_slots, "slot", "slots")
            )?;
        }
        write!(
            text,
            "edges        {} at or above {}: {} exact, {} near",
            count(counts.duplicate_pairs),
            self.threshold,
            count(counts.exact_pairs),
            count(counts.near_pairs)
        )?;
        if let Some(same) = counts.same_domain_duplicates {
            write!(
                text,
                "; {} across domains",
                count(counts.duplicate_pairs - same)
            )?;
        }
        if self.edges_listed == "spanning" {
            write!(text, " (spanning: just enough to connect the clusters)")?;
        }
        writeln!(text)?;
        if counts.numeric_pairs > 0 {
            writeln!(
                text,
                "             {} in numbers only (--keep-numbers refuses them)",
                counted(
                    counts.numeric_pairs,
                    "near pair differs",
                    "near pairs differ"
                )
            )?;
        }
        match counts.refused_for_numbers {
            Some(0) => {}
            Some(refused) => writeln!(
                text,
                "             {} in a number and refused for it",
                counted(refused, "pair differing", "pairs differing")
            )?,
            None => writeln!(
                text,
                "             pairs that differ in a number were refused, and not counted"
            )?,
        }
        writeln!(
            text,
            "clusters     {} of two or more (the largest of {}), {}",
            count(counts.clusters),
            count(counts.largest_cluster),
            counted(counts.singletons, "singleton", "singletons")
        )?;
        // What is kept are the rows of deduped_documents: kept + removed = used + empty.
        write!(
            text,
            "kept         {}",
            counted(counts.kept + records.empty, "document", "documents")
        )?;
        if records.empty > 0 {
            write!(
                text,
                ": {} of those used, and the {} empty that empty_documents.csv lists",
                count(counts.kept),
                count(records.empty)
            )?;
        }
        writeln!(text, "; removed {}", count(counts.removed))?;
        if counts.removed_indirectly > 0 {
            writeln!(
                text,
                "warning      {} the kept one only by way of others, the least at {}; --linkage star keeps those",
                counted(
                    counts.removed_indirectly,
                    "of the removed matches",
                    "of the removed match"
                ),
                similarity(self.least_direct_score)
            )?;
        }
        for lost in &self.sources_losing_most {
            writeln!(
                text,
                "warning      source {:?} lost {} of its {}",
                lost.source,
                count(lost.removed),
                counted(lost.documents, "document", "documents")
            )?;
        }
        if let Some(DateCounts {
            missing,
            unreadable,
        }) = self.dates
            && missing + unreadable > 0
        {
            writeln!(
                text,
                "dates        {} none, {} something that is no date: they sort last in the keep rule",
                counted(missing, "document has", "documents have"),
                counted(unreadable, "has", "have")
            )?;
        }
        if records.rejected > 0 {
            writeln!(
                text,
                "warning      {} could not be used; rejected.jsonl says where and why",
                counted(records.rejected, "record", "records")
            )?;
        }
        for (from, to) in self.renamed_columns {
            writeln!(
                text,
                "warning      the input column {from} is called {to} in the output"
            )?;
        }
        self.write_recall(text)?;
        for note in &self.notes {
            writeln!(text, "note         {note}")?;
        }
        let times: Vec<String> = self
            .stage_times
            .iter()
            .map(|time| format!("{} {:.2} s", time.stage, time.seconds))
            .collect();
        let total: f64 = self.stage_times.iter().map(|time| time.seconds).sum();
        writeln!(text, "time         {total:.2} s: {}", times.join(", "))?;
        if let Some(peak) = self.peak_memory {
            writeln!(
                text,
                "memory       {} at most, of {}",
                HumanBytes(peak),
                HumanBytes(self.memory)
            )?;
        }
        let bytes = self.files.iter().map(|file| file.bytes).sum();
        writeln!(
            text,
            "files        {} in {}, {}",
            self.files.len(),
            Path::new(&self.out).display(),
            HumanBytes(bytes)
        )
    }

    fn write_recall(&self, text: &mut String) -> std::fmt::Result {
        match &self.guarantee {
            Guarantee::Lossless => {
                let all = match self.edges_listed {
                    "spanning" => "is looked at, unless it is connected already",
                    _ => "is looked at",
                };
                writeln!(
                    text,
                    "recall       100%: every pair at or above {} {all} ({})",
                    self.threshold, self.generator
                )
            }
            Guarantee::Probabilistic {
                curve,
                recall_at_threshold,
            } => {
                write!(
                    text,
                    "recall       {} expected for pairs at {} ({})",
                    percent(*recall_at_threshold, 2),
                    self.threshold,
                    self.generator
                )?;
                if let Some(estimated) = self.recall.estimated {
                    write!(
                        text,
                        "; about {} of all pairs above it were found",
                        percent(estimated, 0)
                    )?;
                }
                writeln!(text)?;
                let points: Vec<String> = curve
                    .iter()
                    .map(|point| {
                        format!("{:.1} {}", point.similarity, percent(point.probability, 2))
                    })
                    .collect();
                writeln!(text, "proposed     at similarity {}", points.join(", "))
            }
            Guarantee::Heuristic { rule } => writeln!(
                text,
                "recall       unknown: {} only looks at pairs with {rule}",
                self.generator
            ),
        }
    }
}
