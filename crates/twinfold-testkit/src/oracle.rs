//! The brute-force oracle: sets of strings, every pair, and a search for the components.
//!
//! It is written to be obviously right, not fast: quadratic time and memory in documents, so for
//! some thousand of them. Tokens and shingles are those of [`crate::tokens`]; exact keys are
//! `twinfold::exact`'s.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use twinfold::config::Config;
use twinfold::document::{Corpus, DocId};
use twinfold::edges::Instrument;
use twinfold::exact::{ExactKey, exact_text};
use twinfold::threshold::Threshold;

use crate::tokens::{is_number, shingles, tokens};

/// A pair that is a duplicate, and the sizes that its score is the ratio of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OracleEdge {
    /// The smaller document.
    pub left: u32,
    /// The greater document.
    pub right: u32,
    /// What witnesses it.
    pub instrument: Instrument,
    /// The shingles that both have.
    pub intersection: u32,
    /// The shingles that either has.
    pub union: u32,
}

/// What is to be known of a corpus under one tokeniser and shingle size.
#[derive(Clone, Debug)]
pub struct Oracle {
    tokens: Vec<Vec<String>>,
    shingles: Vec<BTreeSet<String>>,
    exact: Vec<ExactKey>,
    numbers: Vec<BTreeSet<String>>,
    /// Intersection sizes of all pairs, row by row.
    shared: Vec<Vec<u32>>,
}

impl Oracle {
    /// Looks at every pair of `corpus`. Of `config` only the tokeniser and the shingle size count.
    pub fn new(config: &Config, corpus: &Corpus) -> Self {
        let texts = || corpus.documents().iter().map(|d| d.text.as_str());
        let tokens: Vec<Vec<String>> = texts().map(|t| tokens(t, config.tokenizer)).collect();
        let shingles: Vec<BTreeSet<String>> = tokens
            .iter()
            .map(|t| shingles(t, config.shingle_size))
            .collect();
        // Numbers for the shingles, so that comparing them is cheap.
        let all: Vec<&String> = shingles
            .iter()
            .flatten()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let sets: Vec<Vec<usize>> = shingles
            .iter()
            .map(|set| {
                set.iter()
                    .map(|s| all.binary_search(&s).expect("every shingle is listed"))
                    .collect()
            })
            .collect();
        let mut holders: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
        for (document, set) in sets.iter().enumerate() {
            for &shingle in set {
                holders[shingle].push(document);
            }
        }
        let shared = sets
            .iter()
            .map(|set| {
                let mut row = vec![0; sets.len()];
                for &shingle in set {
                    for &other in &holders[shingle] {
                        row[other] += 1;
                    }
                }
                row
            })
            .collect();
        let numbers = tokens
            .iter()
            .map(|tokens| {
                let mut numbers = tokens.clone();
                numbers.retain(|t| is_number(t));
                numbers.into_iter().collect()
            })
            .collect();
        let exact = texts()
            .map(|t| exact_text(t, &mut Vec::new()).key)
            .collect();
        Self {
            tokens,
            shingles,
            exact,
            numbers,
            shared,
        }
    }

    /// The number of documents.
    pub fn documents(&self) -> u32 {
        self.tokens.len() as u32
    }

    /// The tokens of a document.
    pub fn tokens(&self, document: u32) -> &[String] {
        &self.tokens[document as usize]
    }

    /// The shingles of a document.
    pub fn shingles(&self, document: u32) -> &BTreeSet<String> {
        &self.shingles[document as usize]
    }

    /// Whether a document has no shingle.
    pub fn is_empty(&self, document: u32) -> bool {
        self.shingles(document).is_empty()
    }

    /// Whether two documents have the same text to the exact instrument.
    pub fn same_text(&self, left: u32, right: u32) -> bool {
        self.exact[left as usize] == self.exact[right as usize]
    }

    /// Whether two documents have the same set of number tokens.
    pub fn same_numbers(&self, left: u32, right: u32) -> bool {
        self.numbers[left as usize] == self.numbers[right as usize]
    }

    /// Whether two documents differ in numbers and in nothing else.
    pub fn differ_in_numbers_only(&self, left: u32, right: u32) -> bool {
        let (a, b) = (self.tokens(left), self.tokens(right));
        !self.same_numbers(left, right)
            && a.len() == b.len()
            && (a.iter().zip(b)).all(|(a, b)| a == b || (is_number(a) && is_number(b)))
    }

    /// The sizes of the intersection and the union of two documents' shingle sets.
    pub fn sizes(&self, left: u32, right: u32) -> (u32, u32) {
        let shared = self.shared[left as usize][right as usize];
        let both = self.shingles(left).len() + self.shingles(right).len();
        (shared, both as u32 - shared)
    }

    /// Whether two documents' similarity is at or above a threshold.
    pub fn reaches(&self, left: u32, right: u32, threshold: Threshold) -> bool {
        let (intersection, union) = self.sizes(left, right);
        u128::from(intersection) * u128::from(threshold.denominator())
            >= u128::from(union) * u128::from(threshold.numerator())
    }

    /// The edge between two documents, if they are duplicates.
    pub fn edge(&self, left: u32, right: u32, config: &Config) -> Option<OracleEdge> {
        let (left, right) = (left.min(right), left.max(right));
        if left == right || self.is_empty(left) || self.is_empty(right) {
            return None;
        }
        let instrument = if self.same_text(left, right) {
            Instrument::Exact
        } else if self.reaches(left, right, config.threshold)
            && (!config.keep_numbers || self.same_numbers(left, right))
        {
            Instrument::Shingles
        } else {
            return None;
        };
        let (intersection, union) = self.sizes(left, right);
        Some(OracleEdge {
            left,
            right,
            instrument,
            intersection,
            union,
        })
    }

    /// All duplicate pairs, ascending.
    pub fn edges(&self, config: &Config) -> Vec<OracleEdge> {
        (0..self.documents())
            .flat_map(|left| (left + 1..self.documents()).map(move |right| (left, right)))
            .filter_map(|(left, right)| self.edge(left, right, config))
            .collect()
    }

    /// The documents without shingles.
    pub fn empty(&self) -> Vec<DocId> {
        (0..self.documents())
            .filter(|&d| self.is_empty(d))
            .map(DocId)
            .collect()
    }

    /// The one that the default keep rule keeps of documents without dates: the most tokens, then
    /// the smallest id.
    pub fn longest(&self, members: &[u32]) -> u32 {
        *members
            .iter()
            .min_by_key(|&&member| (Reverse(self.tokens(member).len()), member))
            .expect("a cluster has a member")
    }
}

/// The connected components of `edges` among `documents`: by smallest member, members ascending.
pub fn components(documents: u32, edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let neighbours = neighbours(documents, edges);
    let mut seen = vec![false; documents as usize];
    let mut components = Vec::new();
    for first in 0..documents {
        if seen[first as usize] {
            continue;
        }
        seen[first as usize] = true;
        let mut component = vec![first];
        let mut next = 0;
        while let Some(&member) = component.get(next) {
            for &neighbour in &neighbours[member as usize] {
                if !std::mem::replace(&mut seen[neighbour as usize], true) {
                    component.push(neighbour);
                }
            }
            next += 1;
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}

/// The stars of `edges`: the best document left takes all of its neighbours that are left.
pub fn stars(edges: &[(u32, u32)], best_first: &[u32]) -> Vec<Vec<u32>> {
    let neighbours = neighbours(best_first.len() as u32, edges);
    let mut left: BTreeSet<u32> = best_first.iter().copied().collect();
    let mut stars = Vec::new();
    for &centre in best_first {
        if left.remove(&centre) {
            let mut star = vec![centre];
            star.extend(
                neighbours[centre as usize]
                    .iter()
                    .filter(|&n| left.remove(n)),
            );
            star.sort_unstable();
            stars.push(star);
        }
    }
    stars.sort_unstable();
    stars
}

fn neighbours(documents: u32, edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); documents as usize];
    for &(a, b) in edges {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    neighbours
}

#[cfg(test)]
mod tests {
    use super::*;
    use twinfold::document::Document;

    #[test]
    fn a_pair_by_hand() {
        let corpus = Corpus::new(vec![
            Document::new("a", "A b, c d"),
            Document::new("b", "b c d 1"),
            Document::new("c", "..."),
        ])
        .expect("the ids differ");
        let config = Config {
            shingle_size: 2,
            threshold: Threshold::from_ratio(1, 2).expect("in range"),
            ..Config::default()
        };
        let oracle = Oracle::new(&config, &corpus);
        assert_eq!(oracle.sizes(0, 1), (2, 4));
        assert_eq!(oracle.edges(&config).len(), 1);
        assert_eq!(oracle.empty(), [DocId(2)]);
        let strict = Config {
            keep_numbers: true,
            ..config
        };
        assert!(oracle.edges(&strict).is_empty());
    }

    #[test]
    fn components_and_stars_of_a_chain() {
        let chain = [(0, 2), (2, 1), (1, 3)];
        assert_eq!(components(5, &chain), [vec![0, 1, 2, 3], vec![4]]);
        assert_eq!(
            stars(&chain, &[0, 1, 2, 3, 4]),
            [vec![0, 2], vec![1, 3], vec![4]]
        );
    }
}
