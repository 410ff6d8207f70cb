//! Candidate generators: what proposes the pairs that are scored.
//!
//! The set of pairs that a pipeline looks at decides what it can find, so each generator states
//! its [`Guarantee`]. A generator joins classes of equal shingle sets (see [`ShingleSets`]); the
//! pairs inside a class need no generator.
//!
//! | generator | guarantee |
//! |---|---|
//! | [`lossless`] | every pair at or above the threshold |
//! | [`lsh`] | probabilistic: `1 - (1 - s^rows)^bands` |
//! | [`blocking`] | heuristic: pairs that share a cheap key |

pub mod blocking;
mod buckets;
pub mod lossless;
pub mod lsh;
mod memberships;

pub(crate) use buckets::pairs_of;

use serde::Serialize;

use crate::config::{Candidates, Config};
use crate::document::Documents;
use crate::error::Error;
use crate::graph::UnionFind;
use crate::pairs::Found;
use crate::score::{ScoredPair, Verifier};
use crate::sets::ShingleSets;
use crate::sketch::CurvePoint;
use crate::state::{Reader, Writer};
use crate::store::Room;

pub use buckets::Bucket;
pub use memberships::Memberships;

/// What a generator promises of the pairs at or above the threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Guarantee {
    /// Every one of them is proposed, proved.
    Lossless,
    /// Each is proposed with a known probability.
    Probabilistic {
        /// The probability at some similarities.
        curve: Vec<CurvePoint>,
        /// The probability at the threshold, the least that any of them has.
        recall_at_threshold: f64,
    },
    /// Nothing is promised.
    Heuristic {
        /// What pairs must share to be proposed.
        rule: String,
    },
}

/// What a generator will look at, counted before it does. All counts are in documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Slots {
    /// (key, pair of documents) combinations; saturating. A class counts as if all its members had
    /// each of its keys, since that is what a join of classes proposes. Pairs of equal sets count
    /// under each key where keys follow from the set, else once.
    pub slots: u64,
    /// The slots in pairs of classes of equal sets: the work of a join.
    #[serde(skip)]
    pub work: u64,
    /// The keys that two or more documents share.
    pub shared_keys: u64,
    /// The key that most documents share, and how many do.
    pub largest: Option<(String, u64)>,
}

/// Which edges a join has to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinEdges {
    /// Every pair that is accepted.
    All,
    /// Enough of them to connect what all of them connect; pairs that are connected already are
    /// not scored.
    Spanning,
}

/// A request to join.
pub struct JoinRequest<'a> {
    /// What scores the pairs.
    pub verifier: Verifier<'a>,
    /// The classes.
    pub sets: &'a ShingleSets,
    /// Which edges to list.
    pub edges: JoinEdges,
    /// Whether pairs below the threshold are listed with their scores, too.
    pub list_rejected: bool,
    /// Whether pairs that differ in a number are scored where numbers are to be kept, only to count
    /// how many are refused. Without it they are passed over, unseen.
    pub count_refused: bool,
    /// The classes that are connected before any pair is looked at.
    pub connected: &'a UnionFind,
    /// A number for each document's domain, where there are domains: to count the proposed pairs
    /// within one domain.
    pub domains: Option<&'a [u32]>,
    /// Takes what is found while the join goes on; without it, [`Joined`] holds all of it.
    pub(crate) found: Option<&'a Found>,
    /// Told how many slots have been dealt with, in increments.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// What a join found. Pairs are of classes, unique, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// The accepted pairs, all of them or a spanning choice, that were not handed over.
    pub(crate) accepted: Vec<ScoredPair>,
    /// The other scored pairs, where they were asked for, that were not handed over.
    pub(crate) rejected: Vec<ScoredPair>,
    /// The pairs of documents that the scored pairs of classes stand for.
    pub proposed_documents: u64,
    /// How many of those are within one domain.
    pub proposed_same_domain: u64,
    /// Pairs of documents at or above the threshold that were refused because they differ in a
    /// number; complete where refusals were to be counted and every edge was asked for.
    pub refused_for_numbers: u64,
    /// The pairs of classes that were scored.
    pub scored: u64,
    /// Slots that were skipped because their pair was connected already.
    pub skipped: u64,
}

impl Slots {
    pub(crate) fn save(&self, writer: &mut Writer) {
        let (key, documents) = self.largest.clone().unwrap_or_default();
        for number in [self.slots, self.work, self.shared_keys, documents] {
            writer.number(number);
        }
        writer.column(key.as_bytes());
    }

    pub(crate) fn load(reader: &mut Reader<'_>) -> Option<Self> {
        let [slots, work, shared_keys, documents] = [(); 4].map(|()| reader.number());
        let key = String::from_utf8(reader.column()?).ok()?;
        let documents = documents?;
        Some(Self {
            slots: slots?,
            work: work?,
            shared_keys: shared_keys?,
            largest: (documents > 0).then_some((key, documents)),
        })
    }
}

impl Joined {
    /// Writes the counts.
    pub(crate) fn save(&self, writer: &mut Writer) {
        writer.column(&[
            self.proposed_documents,
            self.proposed_same_domain,
            self.refused_for_numbers,
            self.scored,
            self.skipped,
        ]);
    }

    /// The counts of [`Self::save`].
    pub(crate) fn load(reader: &mut Reader<'_>) -> Option<Self> {
        let counts: [u64; 5] = reader.column()?.try_into().ok()?;
        let [
            proposed_documents,
            proposed_same_domain,
            refused_for_numbers,
            scored,
            skipped,
        ] = counts;
        Some(Self {
            proposed_documents,
            proposed_same_domain,
            refused_for_numbers,
            scored,
            skipped,
            ..Self::default()
        })
    }
}

/// Proposes and scores pairs of classes.
pub trait CandidateGenerator: Send + Sync {
    /// A short name with the settings that matter, such as `lsh 8x8 fast`.
    fn name(&self) -> String;

    /// What it promises.
    fn guarantee(&self) -> Guarantee;

    /// The probability that a pair at a similarity is proposed, where it is known.
    fn probability(&self, similarity: f64) -> Option<f64>;

    /// What it will look at.
    fn slots(&self) -> Slots;

    /// What it will look at where numbers are to be kept and refusals are not to be counted: less,
    /// if it tells apart what differs in a number before it makes pairs.
    fn slots_of_equal_numbers(&self) -> Slots {
        self.slots()
    }

    /// The (class, key) rows that it pairs, for those who want to see them.
    fn memberships(&self) -> Option<&Memberships>;

    /// How a key is written where it is published.
    fn key_label(&self, position: usize, key: u64) -> String;

    /// Looks at every slot and scores each pair once.
    fn join(&self, request: &JoinRequest<'_>) -> Joined;
}

/// The generator that `config` asks for, over the classes of `sets`. What grows faster than the
/// documents takes no more than the `room` that there is.
pub fn generator(
    config: &Config,
    sets: &ShingleSets,
    documents: &dyn Documents,
    room: &Room,
) -> Result<Box<dyn CandidateGenerator>, Error> {
    Ok(match &config.candidates {
        Candidates::Lossless => Box::new(lossless::LosslessGenerator::new(
            config.threshold,
            sets,
            room,
        )),
        Candidates::Lsh(settings) => {
            Box::new(lsh::LshGenerator::new(settings, config.threshold, sets))
        }
        Candidates::Blocking(key) => {
            Box::new(blocking::BlockingGenerator::new(key, sets, documents)?)
        }
    })
}
