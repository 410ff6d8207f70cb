//! The recall that a generator's settings give, and an estimate of what a run has.

use serde::Serialize;

use crate::candidates::{CandidateGenerator, Guarantee};
use crate::pairs::AcceptedPairs;
use crate::score::ScoredPair;
use crate::threshold::Threshold;

/// The recall of a run's generator, expected before and estimated after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectedRecall {
    /// The probability that a pair at the threshold is proposed, where it is known.
    pub at_threshold: Option<f64>,
    /// The share of all pairs at or above the threshold that this run accepted, estimated from
    /// the accepted ones; none where edges were left out or the probability is not known.
    pub estimated: Option<f64>,
    /// Where the two figures come from, for people.
    pub origin: &'static str,
}

/// The expected and the estimated recall. `certain` counts the pairs of documents with equal sets,
/// `weight` gives the pairs of documents that a pair of classes stands for.
pub fn expected(
    generator: &dyn CandidateGenerator,
    threshold: Threshold,
    accepted: Option<&AcceptedPairs>,
    certain: f64,
    weight: impl Fn(&ScoredPair) -> f64,
) -> ExpectedRecall {
    let at_threshold = generator.probability(threshold.as_f64());
    let estimated = accepted.and_then(|accepted| {
        let (mut found, mut exist) = (certain, certain);
        for pair in accepted.iter() {
            found += weight(&pair);
            exist += weight(&pair) / generator.probability(pair.jaccard())?;
        }
        (found > 0.0 && at_threshold.is_some()).then(|| found / exist)
    });
    ExpectedRecall {
        at_threshold,
        estimated,
        origin: origin(&generator.guarantee(), estimated.is_some()),
    }
}

/// Where the figures of a generator with this guarantee come from.
fn origin(guarantee: &Guarantee, estimated: bool) -> &'static str {
    match (guarantee, estimated) {
        (Guarantee::Lossless, _) => {
            "the method: every pair at or above the threshold is looked at, proved"
        }
        (Guarantee::Probabilistic { .. }, true) => {
            "at_threshold: the curve of bands and rows; estimated: Horvitz-Thompson over the \
             accepted pairs"
        }
        (Guarantee::Probabilistic { .. }, false) => {
            "at_threshold: the curve of bands and rows; estimated: not, for want of accepted pairs \
             or of those that spanning edges leave out"
        }
        (Guarantee::Heuristic { .. }, _) => {
            "unknown: nothing is promised of pairs that share no key"
        }
    }
}
