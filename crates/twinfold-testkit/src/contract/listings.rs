//! Listings: spanning edges connect what all edges connect, and the budget of pairs is kept.

use std::collections::HashSet;

use twinfold::Error;
use twinfold::candidates::JoinEdges;
use twinfold::config::{EdgeListing, Linkage};

use super::{Case, edges, edges_of, possible_pairs};

/// Spanning edges give the clusters of all edges, each of them is one of all edges, and there are
/// just enough: one fewer than members in each cluster.
pub fn spanning_connects_the_same(case: &Case) {
    let all = case.listing_all().run();
    let case = case.with(|config| config.edges = EdgeListing::Spanning);
    let spanning = case.run();
    assert_eq!(spanning.listing(), JoinEdges::Spanning, "{}", case.name);
    assert_eq!(spanning.clusters(), all.clusters(), "{}", case.name);
    assert_eq!(spanning.removed(), all.removed(), "{}", case.name);
    let edges = edges_of(&spanning);
    edges::each_is_true(&case, &spanning, &edges);
    let every: HashSet<_> = edges_of(&all).iter().map(|e| (e.left, e.right)).collect();
    for edge in &edges {
        assert!(
            every.contains(&(edge.left, edge.right)),
            "{}: {edge:?} is not one of all edges",
            case.name
        );
    }
    assert_eq!(
        edges.len(),
        spanning.removed().len(),
        "{}: edges of a spanning listing",
        case.name
    );
    assert!(
        spanning.counts().scored_class_pairs <= all.counts().scored_class_pairs,
        "{}: spanning edges cost more",
        case.name
    );
    assert_eq!(spanning.recall().estimated, None, "{}", case.name);
}

/// Over the budget, listing all edges is an error that says what it would need, and `auto` lists
/// spanning edges; within it, both list all, and no more edges than the budget was meant to bound.
pub fn budget_is_kept(case: &Case) {
    let oracle = &case.oracle;
    let outcome = case.listing_all().run();
    // What differs in a number need not be looked at.
    let slots = match case.config.keep_numbers {
        true => outcome.generator().slots_of_equal_numbers(),
        false => outcome.generator().slots(),
    };
    let other_texts = possible_pairs(oracle)
        .filter(|&(left, right)| oracle.same_text(left, right))
        .filter(|&(left, right)| oracle.shingles(left) != oracle.shingles(right))
        .count() as u64;
    let needed = slots.slots + other_texts;
    let with = |edges, max_pairs| {
        case.with(|config| {
            config.edges = edges;
            config.max_pairs = max_pairs;
            config.linkage = Linkage::Components;
        })
    };
    for edges in [EdgeListing::All, EdgeListing::Auto] {
        let outcome = with(edges, needed).run();
        assert_eq!(outcome.listing(), JoinEdges::All, "{}", case.name);
        assert!(
            outcome.counts().duplicate_pairs <= needed,
            "{}: {} edges are listed, and the budget was held against {needed}",
            case.name,
            outcome.counts().duplicate_pairs
        );
    }
    let Some(below) = needed.checked_sub(1) else {
        return;
    };
    match with(EdgeListing::All, below).try_run() {
        Err(Error::PairBudget {
            budget,
            needed: told,
            largest_documents,
            ..
        }) => {
            assert_eq!((budget, told), (below, needed), "{}", case.name);
            if let Some((_, largest)) = slots.largest {
                assert_eq!(largest_documents, largest, "{}", case.name);
            }
        }
        other => panic!("{}: {other:?} over the budget", case.name),
    }
    let outcome = with(EdgeListing::Auto, below).run();
    assert_eq!(outcome.listing(), JoinEdges::Spanning, "{}", case.name);
}
