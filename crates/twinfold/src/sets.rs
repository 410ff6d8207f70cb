//! The fingerprints of a whole corpus in rank order, grouped into classes of equal shingle sets.
//!
//! A class is the unit of comparison: documents with equal sets are one class, so their pairs are
//! known without being looked at, and a class meets another class once, however many members both
//! have. Counts are still given in documents, since that is what a user has.

use std::collections::HashMap;

use crate::document::DocId;
use crate::exact::ExactKey;
use crate::fingerprint::{FingerprintBatch, Origin};

/// A class of documents with equal shingle sets, in the order of the classes' smallest members.
pub(crate) type Class = u32;

/// Marks a document without shingles in the dense arrays; [`ShingleSets::class_of`] hides it.
const NO_CLASS: Class = Class::MAX;

/// Every document's fingerprint and class.
#[derive(Debug)]
pub struct ShingleSets {
    batches: Vec<FingerprintBatch>,
    lanes: usize,
    bands: usize,
    /// Where each document's fingerprint is: a copy's is that of the text it is a copy of.
    rows: Vec<Row>,
    class_of: Vec<Class>,
    /// Where the set of each class is.
    class_rows: Vec<Row>,
    member_starts: Vec<u32>,
    members: Vec<DocId>,
    /// The smallest document with the same exact key; a document without shingles is alone.
    exact_first: Vec<DocId>,
    token_counts: Vec<u64>,
    empty: Vec<DocId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    batch: u32,
    row: u32,
}

impl ShingleSets {
    /// Puts the batches' fingerprints in rank order. `origin` tells the batch and the row in it of
    /// each of the `documents`, by rank.
    pub fn new(
        batches: Vec<FingerprintBatch>,
        documents: usize,
        origin: impl Fn(DocId) -> (usize, usize),
    ) -> Self {
        let mut rows: Vec<Row> = (0..documents as u32)
            .map(|rank| {
                let (batch, row) = origin(DocId(rank));
                Row {
                    batch: batch as u32,
                    row: row as u32,
                }
            })
            .collect();
        let batch = |row: Row| &batches[row.batch as usize];
        // Copies take the fingerprint of the text that they are a copy of.
        let mut owners: HashMap<ExactKey, Row> = HashMap::new();
        for &row in &rows {
            let (batch, at) = (batch(row), row.row as usize);
            if batch.stable[at] && batch.origins[at] != Origin::Copy {
                owners.insert(batch.exact[at], row);
            }
        }
        for row in &mut rows {
            let (batch, at) = (batch(*row), row.row as usize);
            if batch.origins[at] == Origin::Copy {
                *row = owners[&batch.exact[at]];
            }
        }

        let mut class_of = vec![NO_CLASS; documents];
        let mut class_rows: Vec<Row> = Vec::new();
        let mut exact_first = Vec::with_capacity(documents);
        let mut token_counts = Vec::with_capacity(documents);
        let mut empty = Vec::new();
        let mut by_digest: HashMap<[u64; 2], Class> = HashMap::new();
        let mut by_exact: HashMap<ExactKey, DocId> = HashMap::new();
        for (rank, &owner) in (0u32..).zip(&rows) {
            let document = DocId(rank);
            let (source, at) = (batch(owner), owner.row as usize);
            token_counts.push(source.token_counts[at]);
            if source.origins[at] == Origin::Empty {
                empty.push(document);
                exact_first.push(document);
                continue;
            }
            exact_first.push(*by_exact.entry(source.exact[at]).or_insert(document));
            let mut digest = source.digests[at];
            // A digest that two different sets share moves the later one on to the next free one.
            let class = loop {
                match by_digest.get(&digest) {
                    Some(&class) => {
                        let row = class_rows[class as usize];
                        if row == owner || batch(row).set(row.row as usize) == source.set(at) {
                            break class;
                        }
                        digest[1] = digest[1].wrapping_add(1);
                    }
                    None => {
                        let class = class_rows.len() as Class;
                        class_rows.push(owner);
                        by_digest.insert(digest, class);
                        break class;
                    }
                }
            };
            class_of[rank as usize] = class;
        }

        let mut member_starts = vec![0u32; class_rows.len() + 1];
        for &class in class_of.iter().filter(|&&class| class != NO_CLASS) {
            member_starts[class as usize + 1] += 1;
        }
        for class in 0..class_rows.len() {
            member_starts[class + 1] += member_starts[class];
        }
        let mut next = member_starts.clone();
        let mut members = vec![DocId(0); documents - empty.len()];
        for (rank, &class) in (0u32..).zip(&class_of) {
            if class != NO_CLASS {
                members[next[class as usize] as usize] = DocId(rank);
                next[class as usize] += 1;
            }
        }
        let per_row = |values: fn(&FingerprintBatch) -> usize| {
            batches
                .iter()
                .find(|b| !b.is_empty())
                .map_or(0, |b| values(b) / b.len())
        };
        Self {
            lanes: per_row(|b| b.signatures.len()),
            bands: per_row(|b| b.bands.len()),
            batches,
            rows,
            class_of,
            class_rows,
            member_starts,
            members,
            exact_first,
            token_counts,
            empty,
        }
    }

    /// The number of documents.
    pub fn documents(&self) -> usize {
        self.rows.len()
    }

    /// The documents without a shingle, which are never candidates.
    pub fn empty(&self) -> &[DocId] {
        &self.empty
    }

    /// The number of tokens of a document.
    pub fn token_count(&self, document: DocId) -> u64 {
        self.token_counts[document.index()]
    }

    /// The smallest document whose exact text is that of `document`.
    pub fn exact_first(&self, document: DocId) -> DocId {
        self.exact_first[document.index()]
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.class_rows.len()
    }

    /// The class of a document, unless it has no shingle.
    pub fn class_of(&self, document: DocId) -> Option<u32> {
        Some(self.class_of[document.index()]).filter(|&class| class != NO_CLASS)
    }

    /// The documents of a class, ascending.
    pub fn members(&self, class: u32) -> &[DocId] {
        let class = class as usize;
        &self.members[self.member_starts[class] as usize..self.member_starts[class + 1] as usize]
    }

    /// The shingle hashes of a class, ascending.
    pub fn set(&self, class: u32) -> &[u64] {
        let row = self.class_rows[class as usize];
        self.batches[row.batch as usize].set(row.row as usize)
    }

    /// The signature of a class; empty where none was asked for.
    pub fn signature(&self, class: u32) -> &[u64] {
        let row = self.class_rows[class as usize];
        let start = row.row as usize * self.lanes;
        &self.batches[row.batch as usize].signatures[start..start + self.lanes]
    }

    /// The band keys of a class; empty where none were asked for.
    pub fn band_keys(&self, class: u32) -> &[u64] {
        let row = self.class_rows[class as usize];
        let start = row.row as usize * self.bands;
        &self.batches[row.batch as usize].bands[start..start + self.bands]
    }

    /// The length of a document's normalised text in bytes.
    pub(crate) fn normalised_bytes(&self, document: DocId) -> u64 {
        let row = self.rows[document.index()];
        self.batches[row.batch as usize].normalised_bytes[row.row as usize]
    }

    /// What tells whether two classes have the same numbers, where numbers are to be kept. Equal
    /// sets of shingles have equal sets of tokens, so the members of a class share it.
    pub(crate) fn number_key(&self, class: u32) -> Option<u64> {
        let row = self.class_rows[class as usize];
        self.batches[row.batch as usize]
            .number_keys
            .get(row.row as usize)
            .copied()
    }

    /// The hash of a document's first tokens, where it was asked for.
    pub(crate) fn prefix_key(&self, document: DocId) -> Option<u64> {
        let row = self.rows[document.index()];
        self.batches[row.batch as usize]
            .prefix_keys
            .get(row.row as usize)
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::fingerprint::{Fingerprinter, SeenTexts};

    fn sets(texts: &[&str]) -> ShingleSets {
        let mut fingerprinter = Fingerprinter::new(&Config::default());
        let (seen, mut batch) = (SeenTexts::new(), FingerprintBatch::default());
        for text in texts {
            fingerprinter.push(text, &seen, &mut batch);
        }
        // The batch holds the documents in reverse, as an unordered file might.
        ShingleSets::new(vec![batch], texts.len(), |rank| {
            (0, texts.len() - 1 - rank.index())
        })
    }

    #[test]
    fn classes_by_set_and_groups_by_text() {
        let sets = sets(&["!!!", "!!!", "A b", "a b", "a b", "ﬁ", "fi"]);
        assert_eq!(sets.empty(), [DocId(5), DocId(6)]);
        // Ranks: 0 fi, 1 ﬁ, 2 "a b", 3 "a b", 4 "A b".
        assert_eq!(sets.classes(), 3);
        assert_eq!(sets.members(2), [DocId(2), DocId(3), DocId(4)]);
        assert_eq!(sets.class_of(DocId(0)), Some(0));
        assert_eq!(sets.class_of(DocId(1)), Some(1));
        assert_eq!(sets.class_of(DocId(5)), None);
        assert_eq!(sets.exact_first(DocId(1)), DocId(0));
        assert_eq!(sets.exact_first(DocId(3)), DocId(2));
        assert_eq!(sets.exact_first(DocId(4)), DocId(4));
        assert_eq!(sets.exact_first(DocId(6)), DocId(6));
        assert_eq!(sets.token_count(DocId(3)), 2);
    }
}
