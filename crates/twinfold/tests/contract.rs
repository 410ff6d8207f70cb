//! The contract of candidate generators, on every generator and every planted corpus.

use std::sync::LazyLock;

use twinfold_testkit::contract::{
    Case, all_cases, all_generators, clusters, counts, edges, listings, recall, stability,
};

static CASES: LazyLock<Vec<Case>> = LazyLock::new(all_cases);

/// Runs a check on all cases, and names every one that fails.
fn on_all(check: fn(&Case)) {
    let failed: Vec<&str> = CASES
        .iter()
        .filter(|case| std::panic::catch_unwind(|| check(case)).is_err())
        .map(|case| case.name.as_str())
        .collect();
    assert!(failed.is_empty(), "failed: {failed:#?}");
}

#[test]
fn edges_are_exact() {
    on_all(edges::are_exact);
}

#[test]
fn kept_numbers_forbid_edges() {
    on_all(edges::keep_numbers);
}

#[test]
fn pairs_that_meet_the_rule_are_found() {
    on_all(edges::meet_the_rule);
}

#[test]
fn equal_sets_are_always_found() {
    on_all(recall::equal_sets_are_always_found);
}

#[test]
fn clusters_are_components() {
    on_all(clusters::are_components);
}

#[test]
fn stars_match_directly() {
    on_all(clusters::stars_match_directly);
}

#[test]
fn counts_add_up() {
    on_all(counts::add_up);
}

#[test]
fn spanning_edges_connect_the_same() {
    on_all(listings::spanning_connects_the_same);
}

#[test]
fn budgets_are_kept() {
    on_all(listings::budget_is_kept);
}

#[test]
fn any_number_of_threads_finds_the_same() {
    on_all(stability::any_threads);
}

#[test]
fn any_order_of_documents_finds_the_same() {
    on_all(stability::any_order);
}

#[test]
fn planted_pairs_are_found_as_promised() {
    for generator in all_generators() {
        recall::recall_by_similarity(&generator, &[70, 75, 80, 85, 90, 95, 99, 100], 60, 31)
            .check();
    }
}

#[test]
fn near_copies_cost_near_linear_work() {
    for generator in all_generators() {
        // BLAKE2b is slow where it isn't optimised, and the join is the same for both families.
        let slow = generator.name.contains("blake2b");
        recall::near_copies_cost_near_linear_work(&generator, if slow { 600 } else { 3_000 });
    }
}
