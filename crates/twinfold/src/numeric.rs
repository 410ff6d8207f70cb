//! Near pairs whose documents are the same but for numbers, which a person may well not want
//! merged: records of one template, such as roads or invoices.
//!
//! Only documents with equal numbers of tokens can be such a pair, so few texts are read again.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::config::Config;
use crate::document::{DocId, Documents};
use crate::sets::ShingleSets;
use crate::text::{NormalisedText, NumberKeys, number_keys};

/// The listed pairs of a left and a right document.
pub(crate) type Pairs<'a> = (&'a [DocId], &'a [DocId]);

/// Visits the listed pairs, some at a time: as often as it is called, the same ones.
pub(crate) type Listed<'a> = &'a dyn Fn(&mut dyn FnMut(&[Pairs<'_>]));

/// Counts the near pairs among those that are `listed` that differ in numbers only. The documents of
/// one side have one shingle set, and those of the other another.
pub(crate) fn count(
    config: &Config,
    documents: &dyn Documents,
    sets: &ShingleSets,
    listed: Listed<'_>,
) -> u64 {
    // A pair that differs in numbers only is not listed where numbers are to be kept.
    if config.keep_numbers {
        return 0;
    }
    let possible = |pair: &&Pairs<'_>| share_a_token_count(pair.0, pair.1, sets);
    // Copies have the keys of the text that they are copies of.
    let mut texts: HashSet<DocId> = HashSet::new();
    listed(&mut |pairs| {
        let found: Vec<DocId> = pairs
            .par_iter()
            .filter(possible)
            .flat_map_iter(|(left, right)| left.iter().chain(*right))
            .map(|&member| sets.exact_first(member))
            .collect();
        texts.extend(found);
    });
    let keys: Mutex<HashMap<DocId, NumberKeys>> = Mutex::default();
    documents.for_each_text(&|document| texts.contains(&document), &|group| {
        let mut normalised = NormalisedText::default();
        let found: Vec<(DocId, NumberKeys)> = group
            .map(|(document, text)| {
                normalised.set(text, config.tokenizer);
                (document, number_keys(&normalised))
            })
            .collect();
        keys.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(found);
    });
    let keys = keys.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut total: u64 = 0;
    listed(&mut |pairs| {
        total += pairs
            .par_iter()
            .filter(possible)
            .map(|(left, right)| {
                let left = by_text(left, sets);
                let right = by_text(right, sets);
                let mut count = 0;
                for (a, copies) in &left {
                    for (b, others) in &right {
                        let (x, y) = (keys[a], keys[b]);
                        if a != b && x.rest == y.rest && x.numbers != y.numbers {
                            count += copies * others;
                        }
                    }
                }
                count
            })
            .sum::<u64>();
    });
    total
}

fn share_a_token_count(left: &[DocId], right: &[DocId], sets: &ShingleSets) -> bool {
    if let ([a], [b]) = (left, right) {
        return sets.token_count(*a) == sets.token_count(*b);
    }
    let counts: HashSet<u64> = left
        .iter()
        .map(|&document| sets.token_count(document))
        .collect();
    right
        .iter()
        .any(|&document| counts.contains(&sets.token_count(document)))
}

/// The distinct exact texts among documents of a class, which are few, with their copies.
fn by_text(members: &[DocId], sets: &ShingleSets) -> Vec<(DocId, u64)> {
    let mut texts: Vec<DocId> = members
        .iter()
        .map(|&member| sets.exact_first(member))
        .collect();
    texts.sort_unstable();
    texts
        .chunk_by(|a, b| a == b)
        .map(|run| (run[0], run.len() as u64))
        .collect()
}
