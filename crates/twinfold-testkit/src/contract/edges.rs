//! Edges: exact scores, nothing below the threshold, and as much found as the guarantee says.

use twinfold::candidates::Guarantee;
use twinfold::config::{BlockKey, Candidates};
use twinfold::document::DocId;
use twinfold::edges::{Edge, Instrument};
use twinfold::outcome::Outcome;

use super::{Case, Looked, edges_of, looked_at, possible_pairs};
use crate::oracle::OracleEdge;

/// Listing every edge gives the oracle's pairs with the oracle's scores: all of them if the
/// generator is lossless, else those that share a key, a set or a text.
pub fn are_exact(case: &Case) {
    let case = case.listing_all();
    let outcome = case.run();
    classes_are_equal_sets(&case, &outcome);
    let edges = edges_of(&outcome);
    each_is_true(&case, &outcome, &edges);
    assert!(
        edges
            .windows(2)
            .all(|pair| (pair[0].left, pair[0].right) < (pair[1].left, pair[1].right)),
        "{}: the edges are not unique and ascending",
        case.name
    );
    let found: Vec<OracleEdge> = edges.iter().map(as_oracle).collect();
    let expected: Vec<OracleEdge> = case
        .oracle
        .edges(&case.config)
        .into_iter()
        .filter(|edge| must_be_found(&outcome, edge))
        .collect();
    assert_same(&case.name, &found, &expected);
}

/// As [`are_exact`] where a difference in a number forbids an edge.
pub fn keep_numbers(case: &Case) {
    let strict = case.with(|config| config.keep_numbers = true);
    are_exact(&strict);
    let outcome = strict.listing_all().run();
    for edge in edges_of(&outcome) {
        assert!(
            edge.instrument == Instrument::Exact
                || case.oracle.same_numbers(edge.left.0, edge.right.0),
            "{}: {edge:?} differs in a number",
            case.name
        );
    }
}

/// A blocking generator finds every duplicate pair whose documents meet its rule, as this function
/// understands the rule.
pub fn meet_the_rule(case: &Case) {
    let Candidates::Blocking(key) = &case.config.candidates else {
        return;
    };
    let case = case.listing_all();
    let outcome = case.run();
    let oracle = &case.oracle;
    let found: Vec<OracleEdge> = edges_of(&outcome).iter().map(as_oracle).collect();
    let documents = case.corpus.documents();
    let column = |document: u32, name: &str| {
        documents[document as usize]
            .columns
            .get(name)
            .map_or("", String::as_str)
    };
    for edge in oracle.edges(&case.config) {
        let (left, right) = (edge.left, edge.right);
        let meets = match key {
            BlockKey::PrefixTokens => {
                let prefix = |document| oracle.tokens(document).iter().take(64);
                prefix(left).eq(prefix(right))
            }
            BlockKey::Length => {
                let length = |document| oracle.tokens(document).join(" ").len();
                let (short, long) = (
                    length(left).min(length(right)),
                    length(left).max(length(right)),
                );
                long * 100 <= short * 105
            }
            BlockKey::TitleTrigrams => {
                let title = column(left, "title");
                !title.is_empty() && title == column(right, "title")
            }
            BlockKey::Column(name) => {
                let value = column(left, name);
                !value.is_empty() && value == column(right, name)
            }
        };
        assert!(
            !meets || found.binary_search(&edge).is_ok(),
            "{}: {left} and {right} ({:?} and {:?}) meet the rule, and {edge:?} was not found",
            case.name,
            case.corpus.text(DocId(left)),
            case.corpus.text(DocId(right)),
        );
    }
}

/// Each edge is the oracle's, and of the classes of its documents.
pub(super) fn each_is_true(case: &Case, outcome: &Outcome, edges: &[Edge]) {
    for edge in edges {
        let (left, right) = (edge.left.0, edge.right.0);
        assert!(
            left < right,
            "{}: {edge:?} is the wrong way round",
            case.name
        );
        let expected = case.oracle.edge(left, right, &case.config);
        assert_eq!(Some(as_oracle(edge)), expected, "{}", case.name);
        let class = |document| outcome.sets().class_of(document);
        let (a, b) = (class(edge.left), class(edge.right));
        assert_eq!(
            (Some(edge.pair.left), Some(edge.pair.right)),
            (a.min(b), a.max(b)),
            "{}: the classes of {edge:?}",
            case.name
        );
    }
}

fn must_be_found(outcome: &Outcome, edge: &OracleEdge) -> bool {
    outcome.guarantee() == Guarantee::Lossless
        || edge.instrument == Instrument::Exact
        || edge.intersection == edge.union
        || looked_at(outcome, edge.left, edge.right).is_some_and(|looked| looked != Looked::No)
}

fn classes_are_equal_sets(case: &Case, outcome: &Outcome) {
    let (oracle, sets) = (&case.oracle, outcome.sets());
    assert_eq!(sets.empty(), oracle.empty(), "{}: the empties", case.name);
    for document in sets.empty() {
        assert_eq!(sets.class_of(*document), None, "{}", case.name);
    }
    for (left, right) in possible_pairs(oracle) {
        let class = sets.class_of(DocId(left));
        assert_eq!(
            class.is_some() && class == sets.class_of(DocId(right)),
            oracle.shingles(left) == oracle.shingles(right),
            "{}: the classes of {left} and {right}",
            case.name
        );
    }
    // Only a lossless generator may say from counts alone that a document has no partner; that none
    // of its edges are lost is checked with all others.
    let lossless = outcome.guarantee() == Guarantee::Lossless;
    for document in (0..oracle.documents()).filter(|&document| !oracle.is_empty(document)) {
        let has_class = sets.class_of(DocId(document)).is_some();
        assert!(lossless || has_class, "{}: {document}", case.name);
    }
    for document in 0..oracle.documents() {
        assert_eq!(
            sets.token_count(DocId(document)),
            oracle.tokens(document).len() as u64,
            "{}: the tokens of {document}",
            case.name
        );
    }
}

fn as_oracle(edge: &Edge) -> OracleEdge {
    OracleEdge {
        left: edge.left.0,
        right: edge.right.0,
        instrument: edge.instrument,
        intersection: edge.pair.intersection,
        union: edge.pair.union,
    }
}

fn assert_same(name: &str, found: &[OracleEdge], expected: &[OracleEdge]) {
    let missed = expected.iter().find(|edge| !found.contains(edge));
    let extra = found.iter().find(|edge| !expected.contains(edge));
    assert!(
        found == expected,
        "{name}: {} edges instead of {}; missed {missed:?}, extra {extra:?}",
        found.len(),
        expected.len()
    );
}
