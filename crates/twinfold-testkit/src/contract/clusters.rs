//! Clusters and representatives: each cluster keeps exactly one of its own members, the best by
//! the keep rule, and every other member says the truth about how it compares to that one.

use std::cmp::Reverse;
use std::collections::HashSet;

use twinfold::Error;
use twinfold::candidates::JoinEdges;
use twinfold::config::{EdgeListing, Linkage};
use twinfold::document::DocId;
use twinfold::edges::Instrument;
use twinfold::outcome::Outcome;
use twinfold::represent::KeepRule;

use super::{Case, counts, edges, edges_of, pairs_of};
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
    needs_only_pairs_of_classes(&case, &outcome);
}

/// Stars that list one edge for each removed document are the stars of all edges, and need a budget
/// for the pairs of classes only, however many copies there are; below it they are refused.
fn needs_only_pairs_of_classes(case: &Case, all: &Outcome) {
    let name = &case.name;
    let every: HashSet<(u32, u32)> = pairs_of(all).into_iter().collect();
    let work = match case.config.keep_numbers {
        true => all.generator().slots_of_equal_numbers().work,
        false => all.generator().slots().work,
    };
    for edges in [EdgeListing::Spanning, EdgeListing::Auto] {
        let frugal = case.with(|config| {
            config.edges = edges;
            config.max_pairs = work;
        });
        let outcome = frugal.run();
        assert_eq!(outcome.clusters(), all.clusters(), "{name}: {edges}");
        assert_eq!(outcome.removed(), all.removed(), "{name}: {edges}");
        if outcome.listing() == JoinEdges::Spanning {
            let listed = edges_of(&outcome);
            edges::each_is_true(&frugal, &outcome, &listed);
            let mut expected: Vec<(u32, u32)> = all
                .removed()
                .iter()
                .map(|removed| (removed.document.0, removed.kept.0))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect();
            expected.sort_unstable();
            assert_eq!(pairs_of(&outcome), expected, "{name}: {edges}");
            assert!(expected.iter().all(|pair| every.contains(pair)), "{name}");
            counts::duplicates(&frugal, &outcome, &listed);
        } else {
            assert_eq!(edges, EdgeListing::Auto, "{name}");
        }
        let poor = frugal.with(|config| config.max_pairs = work.saturating_sub(1));
        if work > 0 {
            assert!(
                matches!(poor.try_run(), Err(Error::PairBudget { needed, .. }) if needed == work),
                "{name}: star linkage over the budget was not refused"
            );
        }
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
