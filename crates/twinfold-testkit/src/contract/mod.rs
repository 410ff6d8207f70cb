//! The contract of candidate generators: what holds for every one of them, on every corpus.
//!
//! A [`Case`] is a configuration and a corpus with its oracle. Each check takes a case, runs the
//! pipeline in some way and compares; it panics with the name of the generator and of the corpus.
//! [`check`] does all of it. Checks are functions and no macros, so that a property test can hand
//! them random cases, too.
//!
//! - [`edges`]: scores, instruments, guarantees.
//! - [`clusters`]: clusters, representatives, stars.
//! - [`counts`]: every figure of the summary.
//! - [`listings`]: spanning edges and the budget of pairs.
//! - [`stability`]: threads, the order of documents, batches.
//! - [`recall`]: planted pairs against the generator's curve, and work on near-copies.

use std::sync::Arc;

use twinfold::candidates::Memberships;
use twinfold::config::{BlockKey, Candidates, Config, EdgeListing, Lsh};
use twinfold::document::{Corpus, DocId};
use twinfold::edges::Edge;
use twinfold::outcome::Outcome;
use twinfold::sketch::{Banding, HashFamily};
use twinfold::{Error, deduplicate};

use crate::oracle::Oracle;
use crate::planted::all_corpora;

pub mod clusters;
pub mod counts;
pub mod edges;
pub mod listings;
pub mod recall;
pub mod stability;

/// A generator's name and settings.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The name that failures tell.
    pub name: String,
    /// The settings.
    pub candidates: Candidates,
}

/// Every candidate generator there is, with the settings that matter.
pub fn all_generators() -> Vec<Generator> {
    let lsh = |family, bands, rows, hashes| {
        let banding = Banding::new(bands, rows, hashes).expect("the bands fit the hash values");
        Generator {
            name: format!("lsh {family} {bands}x{rows} of {hashes}"),
            candidates: Candidates::Lsh(Lsh {
                family,
                banding,
                seed: 42,
            }),
        }
    };
    let blocking = |key: BlockKey| Generator {
        name: format!("blocking by {key}"),
        candidates: Candidates::Blocking(key),
    };
    vec![
        Generator {
            name: "lossless".into(),
            candidates: Candidates::Lossless,
        },
        lsh(HashFamily::Fast, 8, 8, 64),
        lsh(HashFamily::Fast, 20, 3, 64),
        lsh(HashFamily::Fast, 1, 1, 1),
        lsh(HashFamily::Fast, 4, 16, 64),
        lsh(HashFamily::Blake2b, 8, 8, 64),
        lsh(HashFamily::Blake2b, 16, 2, 40),
        blocking(BlockKey::PrefixTokens),
        blocking(BlockKey::TitleTrigrams),
        blocking(BlockKey::Length),
        blocking(BlockKey::Column("topic".into())),
    ]
}

/// A configuration, a corpus, and what is true of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The generator and the corpus.
    pub name: String,
    /// The configuration; checks change the parts that they are about.
    pub config: Config,
    /// The corpus.
    pub corpus: Corpus,
    /// The truth.
    pub oracle: Arc<Oracle>,
}

impl Case {
    /// A case whose oracle is made for it.
    pub fn new(name: impl Into<String>, config: Config, corpus: Corpus) -> Self {
        let oracle = Arc::new(Oracle::new(&config, &corpus));
        Self {
            name: name.into(),
            config,
            corpus,
            oracle,
        }
    }

    /// The same case with another configuration, which may not differ in tokeniser and shingles.
    pub fn with(&self, change: impl FnOnce(&mut Config)) -> Self {
        let mut case = self.clone();
        change(&mut case.config);
        assert_eq!(
            (case.config.tokenizer, case.config.shingle_size),
            (self.config.tokenizer, self.config.shingle_size),
            "the oracle is of one tokeniser and shingle size"
        );
        case
    }

    /// The same case with every edge listed, however many there are.
    pub fn listing_all(&self) -> Self {
        self.with(|config| {
            config.edges = EdgeListing::All;
            config.max_pairs = u64::MAX;
        })
    }

    /// Runs it; it must succeed.
    pub fn run(&self) -> Outcome {
        self.try_run()
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`deduplicate`].
    pub fn try_run(&self) -> Result<Outcome, Error> {
        deduplicate(&self.config, &self.corpus)
    }
}

/// Every generator on every planted corpus, with the default settings otherwise.
pub fn all_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for planted in all_corpora() {
        let corpus = planted.corpus();
        let oracle = Arc::new(Oracle::new(&Config::default(), &corpus));
        for generator in all_generators() {
            let by_column = matches!(
                generator.candidates,
                Candidates::Blocking(BlockKey::Column(_))
            );
            // A corpus in memory has the columns that its documents have: without any there is
            // nothing to block by, which is an error.
            if by_column && planted.documents.is_empty() {
                continue;
            }
            cases.push(Case {
                name: format!("{} on {}", generator.name, planted.name),
                config: Config {
                    candidates: generator.candidates,
                    ..Config::default()
                },
                corpus: corpus.clone(),
                oracle: Arc::clone(&oracle),
            });
        }
    }
    cases
}

/// Every check that can be made of any case.
pub fn check(case: &Case) {
    edges::are_exact(case);
    edges::keep_numbers(case);
    edges::meet_the_rule(case);
    clusters::are_components(case);
    clusters::stars_match_directly(case);
    counts::add_up(case);
    listings::spanning_connects_the_same(case);
    listings::budget_is_kept(case);
    stability::any_threads(case);
    stability::any_order(case);
}

/// The listed edges.
pub fn edges_of(outcome: &Outcome) -> Vec<Edge> {
    let mut edges = Vec::new();
    outcome.for_each_edge(|edge| edges.push(edge));
    edges
}

/// The pairs of the listed edges.
pub fn pairs_of(outcome: &Outcome) -> Vec<(u32, u32)> {
    edges_of(outcome)
        .iter()
        .map(|edge| (edge.left.0, edge.right.0))
        .collect()
}

/// How a run came to look at a pair of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// They have the same set, which needs no look.
    SameSet,
    /// They share so many keys.
    Keys(usize),
    /// Not at all.
    No,
}

/// How a run that lists every edge came to look at a pair; none if the generator has no keys.
pub fn looked_at(outcome: &Outcome, left: u32, right: u32) -> Option<Looked> {
    let memberships: &Memberships = outcome.generator().memberships()?;
    let class = |document| outcome.sets().class_of(DocId(document));
    Some(match (class(left), class(right)) {
        (Some(a), Some(b)) if a == b => Looked::SameSet,
        (Some(a), Some(b)) => match memberships.shared(a, b) {
            0 => Looked::No,
            keys => Looked::Keys(keys),
        },
        _ => Looked::No,
    })
}

/// The pairs of documents that are not empty.
pub fn possible_pairs(oracle: &Oracle) -> impl Iterator<Item = (u32, u32)> {
    let documents: Vec<u32> = (0..oracle.documents())
        .filter(|&document| !oracle.is_empty(document))
        .collect();
    (0..documents.len()).flat_map(move |at| {
        let left = documents[at];
        let later = documents[at + 1..].to_vec();
        later.into_iter().map(move |right| (left, right))
    })
}
