//! The fingerprints of a whole corpus in rank order, grouped into classes of equal shingle sets.
//!
//! A class is the unit of comparison: documents with equal sets are one class, so their pairs are
//! known without being looked at, and a class meets another class once, however many members both
//! have. Counts are still given in documents, since that is what a user has.

use std::borrow::Cow;

use rayon::prelude::*;
use twinfold_kernels::{Parity, parity, parity_distance};

use crate::config::Config;
use crate::document::DocId;
use crate::exact::ExactKey;
use crate::fingerprint::{FingerprintBatch, FingerprintStores, Origin};
use crate::pipeline::Stage;
use crate::raw;
use crate::state::{Reader, Writer};
use crate::store::Room;
use crate::threshold::Threshold;

/// A class of documents with equal shingle sets, in the order of the classes' smallest members.
pub(crate) type Class = u32;

/// Marks a document without a class in the dense arrays; [`ShingleSets::class_of`] hides it.
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
    parities: Vec<Parity>,
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
    /// Puts the batches' fingerprints, made for `config`, in rank order. `origin` tells the batch and
    /// the row in it of each of the `documents`, by rank.
    pub fn new(
        config: &Config,
        batches: Vec<FingerprintBatch>,
        documents: usize,
        origin: impl Fn(DocId) -> (usize, usize) + Sync,
    ) -> Self {
        Self::bounded(config, batches, None, documents, origin, &Room::default())
    }

    /// As [`ShingleSets::new`], with what memory has no room for in `stores`, if it was put there
    /// before. Batches whose shingles have been made sets are handed to the checkpoint of the room, if
    /// it has one, and may be put in the place of those that they were made of.
    pub fn bounded(
        config: &Config,
        mut batches: Vec<FingerprintBatch>,
        stores: Option<&FingerprintStores>,
        documents: usize,
        origin: impl Fn(DocId) -> (usize, usize) + Sync,
        room: &Room,
    ) -> Self {
        let mut rows: Vec<Row> = (0..documents as u32)
            .into_par_iter()
            .map(|rank| {
                let (batch, row) = origin(DocId(rank));
                Row {
                    batch: batch as u32,
                    row: row as u32,
                }
            })
            .collect();
        let exact_first = group_texts(&batches, &mut rows);
        let spilled = batches
            .iter()
            .any(|batch| !batch.is_empty() && batch.is_spilled());
        let stores = stores.filter(|_| spilled);
        // What one of them holds, all do.
        if let Some(stores) = stores {
            batches.iter_mut().for_each(|batch| batch.spill(stores));
        }
        if batches.iter().any(|batch| batch.raw.is_some()) {
            let threshold = config.threshold;
            settle(threshold, &mut batches, stores, &rows, &exact_first, room);
        }
        if let Some(checkpoint) = &room.checkpoint
            && stores.is_some()
            && !room.failed()
        {
            checkpoint.keep(Stage::Group, &|| save_batches(&batches));
        }
        let mut empty = Vec::new();
        let mut token_counts = Vec::with_capacity(documents);
        for (rank, row) in (0u32..).zip(&rows) {
            let batch = &batches[row.batch as usize];
            token_counts.push(batch.token_counts[row.row as usize]);
            if batch.origins[row.row as usize] == Origin::Empty {
                empty.push(DocId(rank));
            }
        }
        let (class_of, class_rows) = group_sets(&batches, &rows);
        let mut member_starts = vec![0u32; class_rows.len() + 1];
        for &class in class_of.iter().filter(|&&class| class != NO_CLASS) {
            member_starts[class as usize + 1] += 1;
        }
        for class in 0..class_rows.len() {
            member_starts[class + 1] += member_starts[class];
        }
        let mut next = member_starts.clone();
        let mut members = vec![DocId(0); member_starts[class_rows.len()] as usize];
        for (rank, &class) in (0u32..).zip(&class_of) {
            if class != NO_CLASS {
                members[next[class as usize] as usize] = DocId(rank);
                next[class as usize] += 1;
            }
        }
        let parities = class_rows
            .par_iter()
            .map(|row| {
                let batch = &batches[row.batch as usize];
                let known = batch.parities.get(row.row as usize);
                known
                    .copied()
                    .unwrap_or_else(|| parity(&batch.set(row.row as usize)))
            })
            .collect();
        for batch in &mut batches {
            batch.exact = Vec::new();
            batch.stable = Vec::new();
            batch.digests = Vec::new();
            batch.parities = Vec::new();
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
            parities,
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

    /// The number of classes, each of one document or more.
    pub fn classes(&self) -> usize {
        self.class_rows.len()
    }

    /// The class of a document; none if it has no shingle, or if it was seen from the counts of its
    /// shingles alone that no other document can reach the threshold, which only the lossless
    /// generator looks for.
    pub fn class_of(&self, document: DocId) -> Option<u32> {
        Some(self.class_of[document.index()]).filter(|&class| class != NO_CLASS)
    }

    /// The documents of a class, ascending.
    pub fn members(&self, class: u32) -> &[DocId] {
        let class = class as usize;
        &self.members[self.member_starts[class] as usize..self.member_starts[class + 1] as usize]
    }

    /// The shingle hashes of a class, ascending.
    pub fn set(&self, class: u32) -> Cow<'_, [u64]> {
        let row = self.class_rows[class as usize];
        self.batches[row.batch as usize].set(row.row as usize)
    }

    /// The number of shingles of a class.
    pub fn set_len(&self, class: u32) -> usize {
        let row = self.class_rows[class as usize];
        self.batches[row.batch as usize].set_len(row.row as usize)
    }

    /// At least so many shingles are in only one of two classes. Cheap, and close to the truth where
    /// that is a few hundred at most.
    pub(crate) fn least_difference(&self, a: u32, b: u32) -> usize {
        parity_distance(&self.parities[a as usize], &self.parities[b as usize]) as usize
    }

    /// How often each shingle of a class was met among the texts: about, at most 255, and never less
    /// than the number of classes that have it. None where that was not counted, which it is for
    /// the lossless generator.
    pub(crate) fn counts(&self, class: u32) -> Option<Cow<'_, [u8]>> {
        let row = self.class_rows[class as usize];
        self.batches[row.batch as usize].counts(row.row as usize)
    }

    /// The signature of a class; empty where none was asked for.
    pub fn signature(&self, class: u32) -> Cow<'_, [u64]> {
        let row = self.class_rows[class as usize];
        let start = row.row as usize * self.lanes;
        let signatures = &self.batches[row.batch as usize].signatures;
        signatures.get(start..start + self.lanes)
    }

    /// The values of a signature; none where none was asked for.
    pub fn lanes(&self) -> usize {
        self.lanes
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

/// What [`load_batches`] makes spilled batches of again, beside what is in their stores.
pub fn save_batches(batches: &[FingerprintBatch]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.number(batches.len() as u64);
    for batch in batches {
        writer.column(&batch.save());
    }
    writer.bytes()
}

/// The batches of [`save_batches`], which is also what a checkpoint is handed after the stage
/// [`Stage::Group`]; none if the bytes are not of such.
pub fn load_batches(state: &[u8], stores: &FingerprintStores) -> Option<Vec<FingerprintBatch>> {
    let mut reader = Reader(state);
    (0..reader.number()?)
        .map(|_| FingerprintBatch::load(&reader.column::<u8>()?, stores))
        .collect()
}

/// Groups documents with the same exact key: gives copies the fingerprint of the text that they are
/// copies of, and returns the smallest document of each one's group. A document without shingles is
/// alone.
fn group_texts(batches: &[FingerprintBatch], rows: &mut [Row]) -> Vec<DocId> {
    let key = |row: Row| &batches[row.batch as usize].exact[row.row as usize];
    let origin = |row: Row| batches[row.batch as usize].origins[row.row as usize];
    // The leading bytes of a hash are as good an order as all of them, and much less to move.
    let mut order: Vec<(u64, u32)> = rows
        .par_iter()
        .enumerate()
        .map(|(rank, &row)| (leading(key(row)), rank as u32))
        .collect();
    order.par_sort_unstable();
    let mut first: Vec<DocId> = (0..rows.len() as u32).map(DocId).collect();
    for run in order
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|run| run.len() > 1)
    {
        let mut keyed: Vec<(&ExactKey, u32)> = run
            .iter()
            .map(|&(_, rank)| (key(rows[rank as usize]), rank))
            .collect();
        keyed.sort_unstable();
        for group in keyed.chunk_by(|a, b| a.0 == b.0) {
            let owner = group
                .iter()
                .map(|&(_, rank)| rows[rank as usize])
                .find(|&row| {
                    batches[row.batch as usize].stable[row.row as usize]
                        && origin(row) != Origin::Copy
                });
            let mut smallest = None;
            for &(_, rank) in group {
                let row = &mut rows[rank as usize];
                if origin(*row) == Origin::Copy {
                    *row = owner.expect("the text that a copy was recognised by is its owner");
                }
                if origin(*row) != Origin::Empty {
                    first[rank as usize] = *smallest.get_or_insert(DocId(rank));
                }
            }
        }
    }
    first
}

fn leading(key: &ExactKey) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key[..8]);
    u64::from_be_bytes(bytes)
}

/// Makes sets of raw shingles, but for those of documents that can have no partner.
///
/// A set of `l` elements shares at least `ceil(t l)` of them with any partner at a threshold `t`, so
/// at most `l - ceil(t l)` are its own. Shingles that were met once are its own, and distinct, and
/// `l` is at most the number of raw shingles, in which the bound grows. So a document with more
/// such shingles than that bound of all its shingles has no partner, and is not looked at again,
/// unless its text has an exact copy.
fn settle(
    threshold: Threshold,
    batches: &mut [FingerprintBatch],
    stores: Option<&FingerprintStores>,
    rows: &[Row],
    exact_first: &[DocId],
    room: &Room,
) {
    batches.par_iter_mut().for_each(FingerprintBatch::finish);
    let mut first_blocks = Vec::with_capacity(batches.len());
    let mut blocks = Vec::new();
    for batch in &mut *batches {
        first_blocks.push(blocks.len());
        blocks.extend(batch.raw.iter_mut().flat_map(|raw| &mut raw.blocks));
    }
    let counts = raw::count(
        &mut blocks,
        room.bytes,
        stores.map(|stores| &stores.raw_counts),
    );
    let mut has_copy: Vec<Vec<bool>> = batches
        .iter()
        .map(|batch| vec![false; batch.len()])
        .collect();
    for (rank, first) in exact_first.iter().enumerate() {
        if first.index() != rank {
            for row in [rows[rank], rows[first.index()]] {
                has_copy[row.batch as usize][row.row as usize] = true;
            }
        }
    }
    let mut waiting = batches
        .iter_mut()
        .zip(has_copy)
        .zip(first_blocks)
        .peekable();
    while waiting.peek().is_some() {
        // As many at a time as there is room for.
        let (mut wave, mut bytes) = (Vec::new(), 0);
        while let Some(next) = waiting.next_if(|((batch, _), _)| {
            bytes += batch.settling_bytes();
            wave.is_empty() || bytes <= room.bytes
        }) {
            wave.push(next);
        }
        wave.into_par_iter()
            .with_max_len(1)
            .for_each(|((batch, has_copy), first_block)| {
                batch.settle(&counts, first_block, stores, |row, shingles, own| {
                    !has_copy[row] && own > shingles - threshold.least_overlap(shingles)
                });
            });
    }
}

/// Groups equal sets into classes, numbered by their smallest members. Returns the class of each
/// document and where the set of each class is.
fn group_sets(batches: &[FingerprintBatch], rows: &[Row]) -> (Vec<Class>, Vec<Row>) {
    let batch = |row: Row| &batches[row.batch as usize];
    let digest = |row: Row| batch(row).digests[row.row as usize];
    let mut order: Vec<(u64, u32)> = rows
        .par_iter()
        .enumerate()
        .filter(|(_, row)| {
            !matches!(
                batch(**row).origins[row.row as usize],
                Origin::Empty | Origin::Alone
            )
        })
        .map(|(rank, &row)| (digest(row)[0], rank as u32))
        .collect();
    order.par_sort_unstable();
    // The smallest member of each one's class.
    let mut leader: Vec<u32> = vec![NO_CLASS; rows.len()];
    let mut leaders: Vec<u32> = Vec::new();
    for run in order.chunk_by(|a, b| a.0 == b.0) {
        leaders.clear();
        for &(_, rank) in run {
            let row = rows[rank as usize];
            let same = leaders.iter().copied().find(|&other| {
                let other = rows[other as usize];
                other == row
                    || digest(other) == digest(row)
                        && batch(other).set(other.row as usize) == batch(row).set(row.row as usize)
            });
            leader[rank as usize] = same.unwrap_or_else(|| {
                leaders.push(rank);
                rank
            });
        }
    }
    let mut class_of = vec![NO_CLASS; rows.len()];
    let mut class_rows: Vec<Row> = Vec::new();
    for (rank, &leader) in leader.iter().enumerate() {
        if leader as usize == rank {
            class_of[rank] = class_rows.len() as Class;
            class_rows.push(rows[rank]);
        } else if leader != NO_CLASS {
            // A leader is smaller than its followers.
            class_of[rank] = class_of[leader as usize];
        }
    }
    (class_of, class_rows)
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
        ShingleSets::new(&Config::default(), vec![batch], texts.len(), |rank| {
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
