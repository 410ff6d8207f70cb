//! Clusters and representatives: each cluster keeps exactly one of its own members, the best by
//! the keep rule, and every other member says the truth about how it compares to that one.

use std::cmp::Reverse;

use twinfold::Error;
use twinfold::config::{EdgeListing, Linkage};
use twinfold::document::DocId;
use twinfold::edges::Instrument;
use twinfold::outcome::Outcome;
use twinfold::represent::KeepRule;

use super::{Case, pairs_of};
use crate::oracle::{components, stars};

/// Clusters are the components of the listed edges, under either listing.
pub fn are_components(case: &Case) {
    let spanning = case.with(|config| config.edges = EdgeListing::Spanning);
    for case in [case.listing_all(), spanning] {
        let outcome = case.run();
        assert_eq!(
            clusters_of(&outcome),
            components(case.oracle.documents(), &pairs_of(&outcome)),
            "{}",
            case.name
        );
        representatives_are_right(&case, &outcome);
    }
}

/// Under star linkage every removed document matches its representative directly, stars lie
/// within components, and the centres are chosen best first.
pub fn stars_match_directly(case: &Case) {
    let loose = case.listing_all().run();
    let case = case
        .listing_all()
        .with(|config| config.linkage = Linkage::Star);
    let outcome = case.run();
    representatives_are_right(&case, &outcome);
    for removed in outcome.removed() {
        assert!(removed.direct, "{}: {removed:?} is indirect", case.name);
    }
    for star in outcome.clusters().iter() {
        let component = loose.clusters().of(star[0]);
        assert!(
            star.iter().all(|&m| loose.clusters().of(m) == component),
            "{}: the star {star:?} is in several components",
            case.name
        );
    }
    let oracle = &case.oracle;
    let mut best_first: Vec<u32> = (0..oracle.documents()).collect();
    best_first.sort_by_key(|&d| (Reverse(oracle.tokens(d).len()), d));
    assert_eq!(
        clusters_of(&outcome),
        stars(&pairs_of(&outcome), &best_first),
        "{}",
        case.name
    );
    refuses_to_go_without_edges(&case, outcome.slots().slots);
}

/// Stars need every edge, so spanning edges are refused, and so is a corpus over the budget.
fn refuses_to_go_without_edges(case: &Case, slots: u64) {
    let spanning = case.with(|config| config.edges = EdgeListing::Spanning);
    assert!(
        matches!(spanning.try_run(), Err(Error::Config(_))),
        "{}: star linkage with spanning edges was not refused",
        case.name
    );
    if let Some(below) = slots.checked_sub(1) {
        let poor = case.with(|config| {
            config.edges = EdgeListing::Auto;
            config.max_pairs = below;
        });
        assert!(
            matches!(poor.try_run(), Err(Error::PairBudget { .. })),
            "{}: star linkage over the budget was not refused",
            case.name
        );
    }
}

/// What holds of the kept and the removed under every linkage and listing.
pub(super) fn representatives_are_right(case: &Case, outcome: &Outcome) {
    let (name, oracle) = (&case.name, &case.oracle);
    assert_eq!(
        case.config.keep,
        KeepRule::default(),
        "{name}: the oracle knows the default rule only"
    );
    let clusters = outcome.clusters();
    let mut left_over: Vec<u32> = Vec::new();
    for cluster in 0..clusters.len() as u32 {
        let members = clusters.elements(cluster);
        let kept = outcome.kept(cluster).0;
        assert_eq!(kept, oracle.longest(members), "{name}: kept of {members:?}");
        left_over.extend(members.iter().filter(|&&member| member != kept));
        if members.iter().any(|&member| oracle.is_empty(member)) {
            assert_eq!(members.len(), 1, "{name}: an empty document has company");
        }
    }
    left_over.sort_unstable();
    let removed: Vec<u32> = outcome.removed().iter().map(|r| r.document.0).collect();
    assert_eq!(removed, left_over, "{name}: removed are all but the kept");
    for removed in outcome.removed() {
        let cluster = clusters.of(removed.document.0);
        assert_eq!(removed.cluster, cluster, "{name}: {removed:?}");
        assert_eq!(removed.kept, outcome.kept(cluster), "{name}: {removed:?}");
        assert_eq!(
            (removed.instrument, removed.score),
            comparison(case, removed.document, removed.kept),
            "{name}: {removed:?}"
        );
        let edge = oracle.edge(removed.document.0, removed.kept.0, &case.config);
        assert_eq!(removed.direct, edge.is_some(), "{name}: {removed:?}");
    }
}

/// What compares two documents, and their score.
fn comparison(case: &Case, a: DocId, b: DocId) -> (Instrument, f64) {
    if case.oracle.same_text(a.0, b.0) {
        return (Instrument::Exact, 1.0);
    }
    let (intersection, union) = case.oracle.sizes(a.0, b.0);
    let score = f64::from(intersection) / f64::from(union);
    (Instrument::Shingles, score)
}

fn clusters_of(outcome: &Outcome) -> Vec<Vec<u32>> {
    outcome.clusters().iter().map(<[u32]>::to_vec).collect()
}
