//! Counts: every figure of the summary, counted again from the oracle, the edges and the clusters.

use std::collections::{HashMap, HashSet};

use twinfold::candidates::JoinEdges;
use twinfold::config::{Candidates, EdgeListing};
use twinfold::document::DocId;
use twinfold::edges::{Edge, Instrument};
use twinfold::outcome::{Counts, Outcome};
use twinfold::tally::{ClusterEdges, Tally};

use super::{Case, Looked, edges_of, looked_at, possible_pairs};

/// The counts are right under either listing, with and without kept numbers.
pub fn add_up(case: &Case) {
    let spanning = case.with(|config| config.edges = EdgeListing::Spanning);
    for case in [case.listing_all(), spanning] {
        let strict = case.with(|config| config.keep_numbers = true);
        for case in [case, strict] {
            let outcome = case.run();
            let edges = edges_of(&outcome);
            documents(&case, &outcome);
            duplicates(&case, &outcome, &edges);
            slots(&case, &outcome);
            if outcome.listing() == JoinEdges::All {
                candidates(&case, &outcome, &edges);
            }
        }
    }
}

/// Documents, clusters, kept and removed.
fn documents(case: &Case, outcome: &Outcome) {
    let (name, oracle, counts) = (&case.name, &case.oracle, outcome.counts());
    let empty = oracle.empty().len() as u64;
    let documents = u64::from(oracle.documents()) - empty;
    assert_eq!(counts.documents, documents, "{name}");
    assert_eq!(counts.empty_documents, empty, "{name}");
    assert_eq!(
        counts.possible_pairs,
        documents * documents.saturating_sub(1) / 2,
        "{name}"
    );
    // Of the clusters, those with a document that is not empty.
    let sizes: Vec<usize> = outcome
        .clusters()
        .iter()
        .filter(|members| !oracle.is_empty(members[0]))
        .map(<[u32]>::len)
        .collect();
    let alone = sizes.iter().filter(|&&size| size == 1).count() as u64;
    let expected = Counts {
        clusters: sizes.len() as u64 - alone,
        singletons: alone,
        largest_cluster: sizes.iter().copied().max().unwrap_or(0) as u64,
        kept: sizes.len() as u64,
        removed: documents - sizes.len() as u64,
        removed_indirectly: outcome.removed().iter().filter(|r| !r.direct).count() as u64,
        ..counts.clone()
    };
    assert_eq!(*counts, expected, "{name}");
    assert_eq!(counts.removed, outcome.removed().len() as u64, "{name}");
}

/// The listed edges.
pub(super) fn duplicates(case: &Case, outcome: &Outcome, edges: &[Edge]) {
    let (name, oracle, counts) = (&case.name, &case.oracle, outcome.counts());
    let exact = edges.iter().filter(|e| e.instrument == Instrument::Exact);
    let exact = exact.count() as u64;
    assert_eq!(counts.duplicate_pairs, edges.len() as u64, "{name}: edges");
    assert_eq!(counts.exact_pairs, exact, "{name}: exact edges");
    assert_eq!(counts.near_pairs, edges.len() as u64 - exact, "{name}");
    let domain = domains(case);
    let same = |edge: &&Edge| domain(edge.left.0) == domain(edge.right.0);
    assert_eq!(
        counts.same_domain_duplicates,
        has_domains(case).then(|| edges.iter().filter(same).count() as u64),
        "{name}: edges within a domain"
    );
    let numeric = edges
        .iter()
        .filter(|e| e.instrument == Instrument::Shingles)
        .filter(|e| oracle.differ_in_numbers_only(e.left.0, e.right.0))
        .count() as u64;
    assert_eq!(counts.numeric_pairs, numeric, "{name}: numeric edges");
    if let Some(recall) = outcome.recall().estimated {
        assert!(recall > 0.0 && recall <= 1.0, "{name}: recall of {recall}");
    }
    assert_eq!(
        *outcome.tally(),
        tally(case, outcome, edges),
        "{name}: tally"
    );
    if !case.config.keep_numbers {
        assert_eq!(counts.refused_for_numbers, Some(0), "{name}");
    } else if outcome.listing() == JoinEdges::Spanning {
        assert_eq!(counts.refused_for_numbers, None, "{name}: not every pair");
    }
}

/// The edges counted one by one.
fn tally(case: &Case, outcome: &Outcome, edges: &[Edge]) -> Tally {
    let clusters = outcome.clusters();
    let mut tally = Tally {
        clusters: vec![ClusterEdges::default(); clusters.len()],
        ..Tally::default()
    };
    let domain = domains(case);
    let least = |a: Option<f64>, b: f64| Some(a.map_or(b, |a: f64| a.min(b)));
    for edge in edges {
        let kind = match edge.instrument {
            Instrument::Exact => &mut tally.exact,
            Instrument::Shingles => &mut tally.near,
        };
        kind.pairs += 1;
        let same = has_domains(case) && domain(edge.left.0) == domain(edge.right.0);
        kind.same_domain += u64::from(same);
        if clusters.of(edge.left.0) != clusters.of(edge.right.0) {
            continue;
        }
        let cluster = &mut tally.clusters[clusters.of(edge.left.0) as usize];
        let (intersection, union) = case.oracle.sizes(edge.left.0, edge.right.0);
        cluster.edges += 1;
        cluster.weakest_jaccard = least(
            cluster.weakest_jaccard,
            f64::from(intersection) / f64::from(union),
        );
        let signature = |document: DocId| {
            let class = outcome.sets().class_of(document).expect("it has an edge");
            outcome.sets().signature(class)
        };
        let (left, right) = (signature(edge.left), signature(edge.right));
        if !left.is_empty() {
            let equal = left.iter().zip(&*right).filter(|(a, b)| a == b).count();
            let overlap = equal as f64 / left.len() as f64;
            cluster.weakest_overlap = least(cluster.weakest_overlap, overlap);
        }
    }
    tally
}

/// What was looked at, where every edge is listed.
fn candidates(case: &Case, outcome: &Outcome, edges: &[Edge]) {
    let (name, oracle, counts) = (&case.name, &case.oracle, outcome.counts());
    if outcome.generator().memberships().is_none() {
        return;
    }
    let domain = domains(case);
    let (mut proposed, mut same_domain, mut refused) = (0u64, 0u64, 0u64);
    let mut scored = HashSet::new();
    let mut unseen_texts = 0u64;
    for (left, right) in possible_pairs(oracle) {
        let looked = looked_at(outcome, left, right);
        if looked == Some(Looked::No) {
            unseen_texts += u64::from(oracle.same_text(left, right));
            continue;
        }
        proposed += 1;
        same_domain += u64::from(domain(left) == domain(right));
        if looked != Some(Looked::SameSet) {
            let class = |document| outcome.sets().class_of(DocId(document));
            let (a, b) = (class(left), class(right));
            scored.insert((a.min(b), a.max(b)));
        }
        refused += u64::from(
            case.config.keep_numbers
                && oracle.reaches(left, right, case.config.threshold)
                && oracle.edge(left, right, &case.config).is_none(),
        );
    }
    assert_eq!(counts.candidate_pairs, proposed, "{name}: candidates");
    assert_eq!(
        counts.same_domain_candidates,
        has_domains(case).then_some(same_domain),
        "{name}: candidates within a domain"
    );
    assert_eq!(counts.scored_class_pairs, scored.len() as u64, "{name}");
    assert_eq!(counts.skipped_slots, 0, "{name}: nothing is skipped");
    assert_eq!(counts.refused_for_numbers, Some(refused), "{name}: refused");
    // The exact instrument finds pairs that no generator proposes.
    assert!(
        edges.len() as u64 <= counts.candidate_pairs + unseen_texts,
        "{name}: more edges than candidates"
    );
    if let Some(ratio) = counts.reduction_ratio() {
        assert!((0.0..=1.0).contains(&ratio), "{name}: {ratio}");
    }
}

/// The slots that were announced, by the keys that the generator shows. A run that passes over pairs
/// that differ in a number counts each key once for each set of numbers.
fn slots(case: &Case, outcome: &Outcome) {
    let (name, oracle, slots) = (&case.name, &case.oracle, outcome.slots());
    assert_eq!(outcome.counts().pair_slots, slots.slots, "{name}");
    let Some(memberships) = outcome.generator().memberships() else {
        return;
    };
    let mut holders: HashMap<(u64, u32), u64> = HashMap::new();
    let mut rows: HashMap<(u64, u32), u64> = HashMap::new();
    let apart = counts_nothing_refused(outcome);
    let first = |class: u32| outcome.sets().members(class)[0].0;
    // The first class with the same numbers.
    let numbers = |class: u32| {
        let same = |&other: &u32| oracle.same_numbers(first(other), first(class));
        (0..class).find(same).unwrap_or(class)
    };
    for class in 0..memberships.classes() as u32 {
        let numbers = if apart { numbers(class) } else { 0 };
        for &key in memberships.keys(class) {
            let key = (key, numbers);
            *holders.entry(key).or_default() += outcome.sets().members(class).len() as u64;
            *rows.entry(key).or_default() += 1;
        }
    }
    holders.retain(|_, &mut documents| documents > 1);
    let pairs = |n: u64| n * n.saturating_sub(1) / 2;
    assert_eq!(slots.shared_keys, holders.len() as u64, "{name}: keys");
    let sets = outcome.sets();
    let size = |class: u32| sets.members(class).len() as u64;
    let mut expected: u64 = holders.values().copied().map(pairs).sum();
    if !matches!(case.config.candidates, Candidates::Lsh(_)) {
        // Keys that do not follow from the set: pairs of equal sets count once.
        for class in 0..memberships.classes() as u32 {
            expected += pairs(size(class));
            expected -= memberships.keys(class).len() as u64 * pairs(size(class));
        }
    }
    assert_eq!(slots.slots, expected, "{name}: slots");
    assert_eq!(
        slots.largest.as_ref().map(|(_, documents)| *documents),
        holders.values().copied().max(),
        "{name}: the largest bucket"
    );
    let class_slots: u64 = rows.values().copied().map(pairs).sum();
    assert_eq!(slots.work, class_slots, "{name}: the announced work");
    let counts = outcome.counts();
    assert!(
        counts.scored_class_pairs + counts.skipped_slots <= class_slots,
        "{name}: more scored and skipped than there are slots"
    );
}

/// Whether numbers are kept and refusals were not to be counted.
fn counts_nothing_refused(outcome: &Outcome) -> bool {
    outcome.counts().refused_for_numbers.is_none()
}

fn domains<'a>(case: &'a Case) -> impl Fn(u32) -> Option<&'a str> {
    let column = |document: u32| {
        case.corpus.documents()[document as usize]
            .columns
            .get("domain")
    };
    move |document| column(document).map(String::as_str)
}

fn has_domains(case: &Case) -> bool {
    (0..case.oracle.documents()).any(|document| domains(case)(document).is_some())
}
