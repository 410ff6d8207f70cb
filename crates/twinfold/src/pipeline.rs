//! The run, stage by stage, from fingerprints to representatives. Read this first.
//!
//! ```text
//! fingerprinted -> memberships -> candidate_pairs -> scored_pairs -> duplicate_pairs
//!               -> clusters -> representatives
//! ```
//!
//! [`deduplicate`] does all of it on documents in memory. Callers that read from elsewhere make
//! the fingerprints as they read, with [`Fingerprinter`], and hand them to [`run`].
//!
//! All work is done on the current rayon pool; results do not depend on its size.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::candidates::lossless::LosslessGenerator;
use crate::candidates::{self, CandidateGenerator, JoinEdges, JoinRequest, Joined, Slots};
use crate::config::{Candidates, Config, EdgeListing, Linkage};
use crate::document::{Corpus, DocId, Documents};
use crate::edges::{self, ExactPairs};
use crate::error::Error;
use crate::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
use crate::graph::{self, Groups, UnionFind};
use crate::labels::Labels;
use crate::numeric;
use crate::outcome::{Found, Kept, Outcome};
use crate::pairs::{self, AcceptedPairs, RejectedPairs};
use crate::recall;
use crate::represent::KeepOrder;
use crate::score::{ScoredPair, Verifier};
use crate::sets::ShingleSets;
use crate::state::{Reader, Writer};
use crate::store::{Checkpoint, Room};
use crate::threshold::Threshold;

/// A stage of the run, for progress displays and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Turning texts into fingerprints, where that is not done while they are read.
    Fingerprint,
    /// Putting fingerprints in order and grouping equal ones.
    Group,
    /// Sorting keys into buckets and counting their slots.
    Memberships,
    /// Looking at candidate pairs and scoring them.
    Join,
    /// Connecting edges and choosing whom to keep.
    Cluster,
}

impl Stage {
    /// The name that people see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fingerprint => "fingerprint",
            Self::Group => "group",
            Self::Memberships => "memberships",
            Self::Join => "join",
            Self::Cluster => "cluster",
        }
    }
}

/// Is told how a run is getting on.
pub trait Observer: Sync {
    /// A stage begins. `total` is the work it will do, where that is known.
    fn begin(&self, stage: Stage, total: Option<u64>);
    /// So much more of the work is done. Called from many threads.
    fn advance(&self, work: u64);
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn begin(&self, _stage: Stage, _total: Option<u64>) {}
    fn advance(&self, _work: u64) {}
}

/// Fingerprints the documents of a corpus and runs the pipeline on them.
///
/// # Errors
/// If the configuration is refused, or every pair was asked for and there are too many.
pub fn deduplicate(config: &Config, corpus: &Corpus) -> Result<Outcome, Error> {
    config.validate()?;
    let sets = fingerprint(config, corpus, &Unobserved);
    run(config, corpus, sets, Options::default(), &Unobserved)
}

/// The fingerprints of documents that can be had at any time, grouped. `config` must be valid.
pub fn fingerprint(
    config: &Config,
    documents: &dyn Documents,
    observer: &dyn Observer,
) -> ShingleSets {
    /// Documents of a batch, the unit of work of a thread.
    const BATCH: usize = 256;
    let count = documents.len();
    observer.begin(Stage::Fingerprint, Some(count as u64));
    let seen = SeenTexts::new();
    // Which documents come together, and which first, is the source's affair, so they are put in order.
    let groups: Mutex<Vec<(Vec<DocId>, FingerprintBatch)>> = Mutex::default();
    documents.for_each_text(&|_| true, &|texts| {
        let mut fingerprinter = Fingerprinter::new(config);
        let mut found = Vec::new();
        loop {
            let mut batch = FingerprintBatch::default();
            let mut names = Vec::with_capacity(BATCH);
            for (document, text) in (&mut *texts).take(BATCH) {
                fingerprinter.push(text, &seen, &mut batch);
                names.push(document);
            }
            if names.is_empty() {
                break;
            }
            observer.advance(names.len() as u64);
            found.push((names, batch));
        }
        groups
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut found);
    });
    let mut groups = groups.into_inner().unwrap_or_else(PoisonError::into_inner);
    groups.sort_unstable_by_key(|(names, _)| names.first().copied());
    let mut places = vec![(0u32, 0u32); count];
    let mut batches = Vec::with_capacity(groups.len());
    for (number, (names, batch)) in (0u32..).zip(groups) {
        for (row, document) in (0u32..).zip(names) {
            places[document.index()] = (number, row);
        }
        batches.push(batch);
    }
    observer.begin(Stage::Group, None);
    ShingleSets::new(config, batches, count, |document| {
        let (batch, row) = places[document.index()];
        (batch as usize, row as usize)
    })
}

/// What a caller wants to hold, afterwards and on the way.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep the scored pairs below the threshold, too.
    pub list_rejected: bool,
    /// What memory there is, and where the rest goes.
    pub room: Room,
}

/// Runs the pipeline on the fingerprints of `documents`.
///
/// # Errors
/// If the configuration is refused, or every pair was asked for, or is needed for stars, and there
/// are too many; or if what memory had no room for could not be kept or read back.
pub fn run(
    config: &Config,
    documents: &dyn Documents,
    sets: ShingleSets,
    options: Options,
    observer: &dyn Observer,
) -> Result<Outcome, Error> {
    config.validate()?;
    let room = options.room;
    let check = || match room.failed() {
        true => Err(Error::Storage),
        false => Ok(()),
    };
    check()?;
    // The keep rule is checked before the dear part, since it may name a column that isn't there.
    let keep_order = config.keep.order(documents, &sets)?;

    observer.begin(Stage::Memberships, None);
    let earlier = match &room.checkpoint {
        Some(checkpoint) => checkpoint
            .kept(Stage::Join)
            .map(|state| Earlier::load(&state, &**checkpoint).ok_or(Error::Storage))
            .transpose()?,
        None => None,
    };
    let generator = match &earlier {
        Some(earlier) if config.candidates == Candidates::Lossless => {
            Box::new(earlier.lossless(config.threshold))
        }
        _ => candidates::generator(config, &sets, documents, &room)?,
    };
    check()?;
    let plan = Plan::new(config, &sets, &*generator)?;

    observer.begin(Stage::Join, Some(plan.slots.work));
    let domains = Labels::new(documents, "domain");
    let exact = ExactPairs::across_classes(&sets, plan.listing);
    let verifier = Verifier::new(&sets, config.threshold);
    let (joined, accepted, rejected) = match earlier {
        Some(earlier) => (earlier.joined, earlier.accepted, earlier.rejected),
        None => {
            let mut connected = UnionFind::new(sets.classes());
            for &(a, b) in exact.class_pairs() {
                connected.union(a, b);
            }
            let found = pairs::Found::new(plan.slots.work, &room);
            let mut joined = generator.join(&JoinRequest {
                verifier,
                sets: &sets,
                edges: plan.join,
                list_rejected: options.list_rejected,
                count_refused: plan.count_refused,
                connected: &connected,
                domains: domains.as_ref().map(Labels::numbers),
                found: Some(&found),
                progress: &|slots| observer.advance(slots),
            });
            found.take(&mut joined.accepted, &mut joined.rejected);
            let (accepted, rejected) = found.finish(sets.classes());
            check()?;
            if let Some(checkpoint) = &room.checkpoint {
                checkpoint.keep(Stage::Join, &|| {
                    save_join(&*generator, &joined, &accepted, &rejected)
                });
            }
            (joined, accepted, rejected)
        }
    };
    let exact = exact.without(&accepted, &sets);

    observer.begin(Stage::Cluster, None);
    let clusters = cluster(config, &sets, &accepted, &exact, &keep_order);
    let kept = represent(&clusters, &keep_order, &sets, &verifier);

    let weight = |pair: &ScoredPair| {
        sets.members(pair.left).len() as f64 * sets.members(pair.right).len() as f64
    };
    let listed = |visit: &mut dyn FnMut(&[numeric::Pairs<'_>])| {
        for_each_listed_near(config, &plan, &sets, &accepted, &kept, visit);
    };
    let numeric_pairs = numeric::count(config, documents, &sets, &listed);
    let recall = recall::expected(
        &*generator,
        config.threshold,
        (plan.join == JoinEdges::All).then_some(&accepted),
        edges::pairs_within_classes(&sets) as f64,
        weight,
    );
    check()?;
    let outcome = Outcome::new(Found {
        config: config.clone(),
        sets,
        generator,
        plan,
        domains,
        joined,
        accepted,
        rejected,
        exact,
        clusters,
        kept,
        keep_order,
        recall,
        numeric_pairs,
        room: room.clone(),
    });
    check()?;
    Ok(outcome)
}

/// What a join of an earlier process found.
struct Earlier {
    slots: Slots,
    of_equal_numbers: Slots,
    joined: Joined,
    accepted: AcceptedPairs,
    rejected: RejectedPairs,
}

fn save_join(
    generator: &dyn CandidateGenerator,
    joined: &Joined,
    accepted: &AcceptedPairs,
    rejected: &RejectedPairs,
) -> Vec<u8> {
    let mut writer = Writer::default();
    generator.slots().save(&mut writer);
    generator.slots_of_equal_numbers().save(&mut writer);
    joined.save(&mut writer);
    pairs::save(accepted, rejected, &mut writer);
    writer.bytes()
}

impl Earlier {
    fn load(state: &[u8], checkpoint: &dyn Checkpoint) -> Option<Self> {
        let mut reader = Reader(state);
        let slots = Slots::load(&mut reader)?;
        let of_equal_numbers = Slots::load(&mut reader)?;
        let joined = Joined::load(&mut reader)?;
        let (accepted, rejected) = pairs::load(&mut reader, &|name| checkpoint.open(name))?;
        Some(Self {
            slots,
            of_equal_numbers,
            joined,
            accepted,
            rejected,
        })
    }

    /// The generator as it was: its counts are all that is asked of it any more.
    fn lossless(&self, threshold: Threshold) -> LosslessGenerator {
        let (slots, of_equal) = (self.slots.clone(), self.of_equal_numbers.clone());
        LosslessGenerator::of_slots(threshold, slots, of_equal)
    }
}

/// What will be looked at and listed, by the slots that were counted.
pub(crate) struct Plan {
    /// What the join will look at.
    pub(crate) slots: Slots,
    /// Which pairs of classes the join has to find.
    pub(crate) join: JoinEdges,
    /// Which edges of documents are listed.
    pub(crate) listing: JoinEdges,
    /// Whether pairs are scored only to count how many are refused for their numbers.
    pub(crate) count_refused: bool,
}

impl Plan {
    /// Every edge is listed if the slots fit the budget, and refusals are counted if theirs fit, too.
    /// Stars are made of direct matches, so they need every pair of classes, but of copies only one
    /// edge each: listing less than all, they hold the pairs of classes against the budget.
    fn new(
        config: &Config,
        sets: &ShingleSets,
        generator: &dyn CandidateGenerator,
    ) -> Result<Self, Error> {
        let exact = edges::exact_pairs_needed(sets);
        let fits = |slots: &Slots| slots.slots.saturating_add(exact) <= config.max_pairs;
        let all = |slots, count_refused| Self {
            slots,
            join: JoinEdges::All,
            listing: JoinEdges::All,
            count_refused,
        };
        let slots = generator.slots();
        if config.edges != EdgeListing::Spanning && fits(&slots) {
            return Ok(all(slots, config.keep_numbers));
        }
        let slots = match config.keep_numbers {
            true => generator.slots_of_equal_numbers(),
            false => slots,
        };
        if config.edges != EdgeListing::Spanning && fits(&slots) {
            return Ok(all(slots, false));
        }
        let (join, needed) = match (config.edges, config.linkage) {
            (EdgeListing::All, _) => (JoinEdges::All, slots.slots.saturating_add(exact)),
            (_, Linkage::Star) => (JoinEdges::All, slots.work),
            (_, Linkage::Components) => (JoinEdges::Spanning, 0),
        };
        if needed > config.max_pairs {
            let (largest_key, largest_documents) = slots
                .largest
                .unwrap_or_else(|| ("identical texts".into(), 0));
            return Err(Error::PairBudget {
                budget: config.max_pairs,
                needed,
                largest_key,
                largest_documents,
                edges: config.edges,
            });
        }
        Ok(Self {
            slots,
            join,
            listing: JoinEdges::Spanning,
            count_refused: false,
        })
    }
}

/// Calls `visit` with the listed pairs of documents with unlike sets, some at a time; with spanning
/// edges, those of the classes' first members.
fn for_each_listed_near(
    config: &Config,
    plan: &Plan,
    sets: &ShingleSets,
    accepted: &AcceptedPairs,
    kept: &Kept,
    visit: &mut dyn FnMut(&[numeric::Pairs<'_>]),
) {
    /// Pairs at a time.
    const PAIRS: usize = 1 << 16;
    let mut waiting = Vec::new();
    let mut push = |pair| {
        waiting.push(pair);
        if waiting.len() == PAIRS {
            visit(&waiting);
            waiting.clear();
        }
    };
    if plan.listing == JoinEdges::Spanning && config.linkage == Linkage::Star {
        for removed in kept.removed() {
            if sets.class_of(removed.document) != sets.class_of(removed.kept) {
                let one = std::slice::from_ref;
                push((one(&removed.document), one(&removed.kept)));
            }
        }
    } else {
        let members = |class: u32| match plan.listing {
            JoinEdges::All => sets.members(class),
            JoinEdges::Spanning => &sets.members(class)[..1],
        };
        for pair in accepted.iter() {
            push((members(pair.left), members(pair.right)));
        }
    }
    visit(&waiting);
}

/// Edges to clusters of documents.
fn cluster(
    config: &Config,
    sets: &ShingleSets,
    accepted: &AcceptedPairs,
    exact: &ExactPairs,
    keep_order: &KeepOrder,
) -> Groups {
    let mut connected = UnionFind::new(sets.documents());
    for class in 0..sets.classes() as u32 {
        let members = sets.members(class);
        for member in &members[1..] {
            connected.union(members[0].0, member.0);
        }
    }
    for &(a, b) in exact.documents() {
        connected.union(a.0, b.0);
    }
    for pair in accepted.iter() {
        connected.union(sets.members(pair.left)[0].0, sets.members(pair.right)[0].0);
    }
    let components = connected.into_groups();
    match config.linkage {
        Linkage::Components => components,
        Linkage::Star => {
            let mut texts = edges::exact_groups_across_classes(sets);
            // Once a centre has taken what was left of a class, nothing is left of it.
            let mut taken = vec![false; sets.classes()];
            graph::stars(&components, &keep_order.places, |centre, visit| {
                let Some(class) = sets.class_of(DocId(centre)) else {
                    return;
                };
                let near = accepted.of(class);
                for near in std::iter::once(class).chain(near.iter().map(|pair| pair.right)) {
                    if !std::mem::replace(&mut taken[near as usize], true) {
                        for member in sets.members(near) {
                            visit(member.0);
                        }
                    }
                }
                let copies = texts.remove(&sets.exact_first(DocId(centre)));
                for copy in copies.into_iter().flatten() {
                    visit(copy.0);
                }
            })
        }
    }
}

/// The kept document of each cluster, and how each other member compares to it.
fn represent(
    clusters: &Groups,
    keep_order: &KeepOrder,
    sets: &ShingleSets,
    verifier: &Verifier<'_>,
) -> Kept {
    let parts: Vec<_> = (0..clusters.len() as u32)
        .into_par_iter()
        .map(|cluster| {
            let members = clusters.elements(cluster);
            let kept = keep_order.best(members);
            let removed = members
                .iter()
                .map(|&member| DocId(member))
                .filter(|&member| member != kept)
                .map(|member| crate::outcome::Removed::new(member, kept, cluster, sets, verifier))
                .collect::<Vec<_>>();
            (kept, removed)
        })
        .collect();
    Kept::new(parts)
}
