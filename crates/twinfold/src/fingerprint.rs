//! Fingerprints: everything that later stages need to know of a text, so that the text itself can
//! be let go.
//!
//! Threads fingerprint batches of documents independently, with one [`Fingerprinter`] each. They
//! share only the exact keys that have been seen: a text whose copy was fingerprinted already
//! costs no more than its exact key.
//!
//! Cost: one pass over the text for the exact key, one for the tokens, one hash for each shingle,
//! and a sort of the shingle hashes, which the lossless generator puts off until it is known who can
//! have a partner at all. Memory: 8 bytes for each shingle, and 8 for each value of a signature where
//! one is asked for; a batch that was [spilled](FingerprintBatch::spill) holds some dozens of bytes for
//! each document instead, whatever its length, and 64 more for the digest of its set.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use twinfold_kernels::{Parity, parity};

use crate::config::{BlockKey, Candidates, Config};
use crate::exact::{ExactKey, exact_text};
use crate::raw::{self, Block, Counts, Sets};
use crate::sketch::{BandKeys, HashFamily, Sketcher, mix};
use crate::sort::sort_distinct;
use crate::state::{Reader, Writer};
use crate::store::{Storage, Store, Values};
use crate::text::{
    NormalisedText, Tokenizer, append_shingle_hashes, number_keys, shingle_hash, shingles,
};

/// How a document came by its shingle set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It has no shingle.
    Empty,
    /// Its own fingerprint holds the set.
    Own,
    /// Another document with the same exact key and the same tokens holds it.
    Copy,
    /// It had a set, which can have no partner, and was let go.
    Alone,
}

impl Origin {
    fn from_byte(byte: u8) -> Option<Self> {
        let all = [Self::Empty, Self::Own, Self::Copy, Self::Alone];
        all.into_iter().find(|&origin| origin as u8 == byte)
    }
}

/// The exact keys that any thread has seen, in shards so that threads seldom wait.
#[derive(Debug)]
pub struct SeenTexts {
    shards: Vec<Mutex<HashSet<ExactKey>>>,
}

impl SeenTexts {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self {
            shards: (0..256).map(|_| Mutex::default()).collect(),
        }
    }

    /// Whether the key is new.
    fn insert(&self, key: ExactKey) -> bool {
        self.shards[usize::from(key[0])]
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .insert(key)
    }
}

impl Default for SeenTexts {
    fn default() -> Self {
        Self::new()
    }
}

/// The fingerprints of a batch of documents, column by column.
#[derive(Clone, Debug, Default)]
pub struct FingerprintBatch {
    pub(crate) exact: Vec<ExactKey>,
    pub(crate) origins: Vec<Origin>,
    /// Whether NFKC left the text as it was: only such a text can lend its set to a copy.
    pub(crate) stable: Vec<bool>,
    pub(crate) token_counts: Vec<u64>,
    pub(crate) normalised_bytes: Vec<u64>,
    /// Where the set of document `i` ends in `hashes`; it begins where the one before ends.
    pub(crate) set_ends: Vec<usize>,
    pub(crate) hashes: Values<u64>,
    /// How often each shingle of `hashes` was met, where that was counted.
    pub(crate) counts: Values<u8>,
    /// The shingles as the texts have them, where [`Self::settle`] has still to make sets of them:
    /// until then there are no `set_ends`, `hashes` and `digests`.
    pub(crate) raw: Option<Raw>,
    /// An order-free digest of each set, to group equal ones by.
    pub(crate) digests: Vec<[u64; 2]>,
    /// The parity digest of each set, where the sets were spilled: made while they were at hand.
    pub(crate) parities: Vec<Parity>,
    pub(crate) signatures: Values<u64>,
    pub(crate) bands: Vec<u64>,
    pub(crate) prefix_keys: Vec<u64>,
    /// One for each document where numbers are to be kept, else none.
    pub(crate) number_keys: Vec<u64>,
}

impl FingerprintBatch {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// The shingle hashes of a document, ascending; empty where a copy holds them.
    pub(crate) fn set(&self, row: usize) -> Cow<'_, [u64]> {
        self.hashes.get(self.range(row))
    }

    /// The number of shingle hashes of a document.
    pub(crate) fn set_len(&self, row: usize) -> usize {
        self.range(row).len()
    }

    /// How often each shingle of a document was met, where that was counted.
    pub(crate) fn counts(&self, row: usize) -> Option<Cow<'_, [u8]>> {
        (self.counts.len() == self.hashes.len()).then(|| self.counts.get(self.range(row)))
    }

    /// The bytes of memory that its shingles and signatures take, which [`Self::spill`] moves away.
    pub fn held_bytes(&self) -> u64 {
        let blocks = self.raw.iter().flat_map(|raw| &raw.blocks);
        let raw = self
            .raw
            .as_ref()
            .map_or(0, |raw| raw.waiting.len() as u64 * 8);
        let values = |values: &Values<u64>| match values {
            Values::Held(held) => held.len() as u64 * 8,
            Values::Stored { .. } => 0,
        };
        raw + blocks.map(Block::held_bytes).sum::<u64>()
            + values(&self.hashes)
            + values(&self.signatures)
    }

    /// Lets go of the room that was for more documents.
    pub fn finish(&mut self) {
        if let Some(raw) = &mut self.raw {
            raw.seal();
            raw.waiting = Vec::new();
            raw.blocks.shrink_to_fit();
        }
        self.exact.shrink_to_fit();
        self.origins.shrink_to_fit();
        self.stable.shrink_to_fit();
        self.token_counts.shrink_to_fit();
        self.normalised_bytes.shrink_to_fit();
        self.set_ends.shrink_to_fit();
        self.digests.shrink_to_fit();
        self.bands.shrink_to_fit();
        self.prefix_keys.shrink_to_fit();
        self.number_keys.shrink_to_fit();
    }

    /// Moves what grows with the texts to stores. Nothing can be pushed to the batch from then on.
    pub fn spill(&mut self, stores: &FingerprintStores) {
        self.finish();
        if let Some(raw) = &mut self.raw {
            for block in &mut raw.blocks {
                block.spill(&stores.raw);
            }
        } else if matches!(self.hashes, Values::Held(_)) {
            self.parities = (0..self.len()).map(|row| parity(&self.set(row))).collect();
            self.hashes.spill(&stores.sets);
            self.counts.spill(&stores.counts);
        }
        self.signatures.spill(&stores.signatures);
    }

    /// What [`Self::load`] makes the batch of again, beside what is in the stores. The batch must have
    /// been spilled.
    pub fn save(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let flags = |values: &[bool]| values.iter().map(|&v| u8::from(v)).collect::<Vec<_>>();
        writer.column(&self.exact);
        writer.column(&self.origins.iter().map(|&o| o as u8).collect::<Vec<_>>());
        writer.column(&flags(&self.stable));
        writer.column(&self.token_counts);
        writer.column(&self.normalised_bytes);
        writer.column(
            &self
                .set_ends
                .iter()
                .map(|&end| end as u64)
                .collect::<Vec<_>>(),
        );
        writer.stored(&self.hashes);
        writer.stored(&self.counts);
        match &self.raw {
            None => writer.number(u64::MAX),
            Some(raw) => {
                writer.number(raw.blocks.len() as u64);
                raw.blocks.iter().for_each(|block| block.save(&mut writer));
            }
        }
        writer.column(&self.digests);
        writer.column(&self.parities);
        writer.stored(&self.signatures);
        writer.column(&self.bands);
        writer.column(&self.prefix_keys);
        writer.column(&self.number_keys);
        writer.bytes()
    }

    /// The batch that [`Self::save`] made these bytes of; none if it did not.
    pub fn load(bytes: &[u8], stores: &FingerprintStores) -> Option<Self> {
        let mut reader = Reader(bytes);
        Some(Self {
            exact: reader.column()?,
            origins: reader
                .column()?
                .into_iter()
                .map(Origin::from_byte)
                .collect::<Option<_>>()?,
            stable: reader.column::<u8>()?.into_iter().map(|v| v != 0).collect(),
            token_counts: reader.column()?,
            normalised_bytes: reader.column()?,
            set_ends: reader
                .column::<u64>()?
                .into_iter()
                .map(|end| usize::try_from(end).ok())
                .collect::<Option<_>>()?,
            hashes: reader.stored(&stores.sets)?,
            counts: reader.stored(&stores.counts)?,
            raw: match reader.number()? {
                u64::MAX => None,
                blocks => Some(Raw {
                    blocks: (0..blocks)
                        .map(|_| Block::load(&mut reader, &stores.raw))
                        .collect::<Option<_>>()?,
                    ..Raw::default()
                }),
            },
            digests: reader.column()?,
            parities: reader.column()?,
            signatures: reader.stored(&stores.signatures)?,
            bands: reader.column()?,
            prefix_keys: reader.column()?,
            number_keys: reader.column()?,
        })
    }

    /// Whether it was spilled.
    pub(crate) fn is_spilled(&self) -> bool {
        match &self.raw {
            Some(raw) => raw.is_spilled(),
            None => matches!(self.hashes, Values::Stored { .. }),
        }
    }

    fn range(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.set_ends[row - 1] };
        start..self.set_ends[row]
    }

    /// A document with a text of its own and these raw shingles.
    #[cfg(test)]
    pub(crate) fn push_raw(&mut self, number: u64, shingles: &[u64]) {
        let mut key = ExactKey::default();
        key[..8].copy_from_slice(&number.to_be_bytes());
        self.exact.push(key);
        self.origins.push(Origin::Own);
        self.stable.push(true);
        self.token_counts.push(shingles.len() as u64);
        self.normalised_bytes.push(0);
        let raw = self.raw.get_or_insert_default();
        raw.waiting.extend_from_slice(shingles);
        raw.end_row(shingles.len());
    }

    /// About the bytes that [`Self::settle`] needs: the sets with their counts, while there is room for
    /// twice as many.
    pub(crate) fn settling_bytes(&self) -> u64 {
        let blocks = self.raw.iter().flat_map(|raw| &raw.blocks);
        18 * blocks.map(Block::len).sum::<usize>() as u64
    }

    /// Makes sets of raw shingles that have been counted; `first_block` is the number of the batch's
    /// first block among those. Sets of rows that `is_alone` says so of, by their number, their
    /// shingles, and how many of those are their own, are let go. With `stores` the others go there.
    pub(crate) fn settle(
        &mut self,
        counts: &Counts,
        first_block: usize,
        stores: Option<&FingerprintStores>,
        is_alone: impl Fn(usize, usize, usize) -> bool,
    ) {
        let Some(raw) = self.raw.take() else { return };
        let mut sets = Sets::default();
        let mut first = 0;
        for (number, block) in (first_block..).zip(raw.blocks) {
            let block = counts.of(number, block);
            let own = block.own();
            let wanted: Vec<bool> = (0..block.rows())
                .map(|row| {
                    let origin = &mut self.origins[first + row];
                    let length = block.lengths()[row] as usize;
                    if *origin == Origin::Own && is_alone(first + row, length, own[row] as usize) {
                        *origin = Origin::Alone;
                    }
                    *origin == Origin::Own
                })
                .collect();
            block.append_sets(&wanted, &mut sets);
            first += block.rows();
        }
        sets.hashes.shrink_to_fit();
        sets.counts.shrink_to_fit();
        self.set_ends = sets.ends;
        self.hashes = Values::Held(sets.hashes);
        self.counts = Values::Held(sets.counts);
        self.digests = (0..self.len())
            .map(|row| match self.origins[row] {
                Origin::Own => set_digest(&self.set(row)),
                _ => [0; 2],
            })
            .collect();
        if let Some(stores) = stores {
            self.spill(stores);
        }
    }
}

/// Where batches of fingerprints put what memory has no room for.
#[derive(Clone, Debug)]
pub struct FingerprintStores {
    raw: Arc<dyn Store>,
    /// The counts of raw shingles.
    pub(crate) raw_counts: Arc<dyn Store>,
    sets: Arc<dyn Store>,
    counts: Arc<dyn Store>,
    signatures: Arc<dyn Store>,
}

impl FingerprintStores {
    /// The names of those that nothing is read from once documents are grouped.
    pub const BEFORE_GROUP: [&str; 2] = ["shingles", "shingle_counts"];

    /// Empty stores.
    pub fn new(storage: &dyn Storage) -> Self {
        Self::with(&|name| storage.create(name))
    }

    /// Stores that `store` finds by their names.
    pub fn with(store: &dyn Fn(&str) -> Arc<dyn Store>) -> Self {
        Self {
            raw: store("shingles"),
            raw_counts: store("shingle_counts"),
            sets: store("sets"),
            counts: store("set_counts"),
            signatures: store("signatures"),
        }
    }
}

/// Raw shingles of the documents of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raw {
    pub(crate) blocks: Vec<Block>,
    /// Those that are not in a block yet, and the rows that they belong to.
    waiting: Vec<u64>,
    lengths: Vec<u32>,
}

impl Raw {
    /// The shingles that were added are those of one more row.
    fn end_row(&mut self, shingles: usize) {
        self.lengths.push(shingles as u32);
        if self.waiting.len() >= raw::BLOCK || self.lengths.len() == raw::BLOCK_ROWS {
            self.seal();
        }
    }

    fn is_spilled(&self) -> bool {
        self.lengths.is_empty() && self.blocks.iter().all(|block| block.held_bytes() == 0)
    }

    /// Puts all that waits into a block.
    pub(crate) fn seal(&mut self) {
        if !self.lengths.is_empty() {
            let lengths = std::mem::take(&mut self.lengths);
            self.blocks.push(Block::new(&self.waiting, lengths));
            self.waiting.clear();
        }
    }
}

/// Makes fingerprints; one for each thread.
#[derive(Clone, Debug)]
pub struct Fingerprinter {
    tokenizer: Tokenizer,
    shingle_size: usize,
    sketch: Option<Sketch>,
    raw: bool,
    prefix_keys: bool,
    keep_numbers: bool,
    normalised: NormalisedText,
    scratch: Vec<u8>,
    spans: Vec<(u64, u32)>,
    mixed: Vec<u64>,
    counts: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Sketch {
    family: HashFamily,
    sketcher: Sketcher,
    bands: BandKeys,
}

/// The tokens whose hash is the key of blocking by prefix.
const PREFIX_TOKENS: usize = 64;

impl Fingerprinter {
    /// A fingerprinter for what `config` will need.
    pub fn new(config: &Config) -> Self {
        let sketch = match &config.candidates {
            Candidates::Lsh(lsh) => Some(Sketch {
                family: lsh.family,
                sketcher: Sketcher::new(lsh.banding.hashes(), lsh.seed),
                bands: BandKeys::new(lsh.banding, lsh.family),
            }),
            Candidates::Lossless | Candidates::Blocking(_) => None,
        };
        Self {
            tokenizer: config.tokenizer,
            shingle_size: config.shingle_size,
            sketch,
            raw: config.candidates == Candidates::Lossless,
            prefix_keys: config.candidates == Candidates::Blocking(BlockKey::PrefixTokens),
            keep_numbers: config.keep_numbers,
            normalised: NormalisedText::default(),
            scratch: Vec::new(),
            spans: Vec::new(),
            mixed: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// The fingerprints of some texts, by themselves.
    pub fn batch<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
        seen: &SeenTexts,
    ) -> FingerprintBatch {
        let mut fingerprinter = self.clone();
        let mut batch = FingerprintBatch::default();
        for text in texts {
            fingerprinter.push(text, seen, &mut batch);
        }
        batch.finish();
        batch
    }

    /// Fingerprints one text into `batch`.
    pub fn push(&mut self, text: &str, seen: &SeenTexts, batch: &mut FingerprintBatch) {
        let exact = exact_text(text, &mut self.scratch);
        batch.exact.push(exact.key);
        batch.stable.push(exact.stable);
        if exact.stable && !seen.insert(exact.key) {
            self.push_without_set(batch, Origin::Copy, 0, 0);
            return;
        }
        self.normalised.set(text, self.tokenizer);
        let tokens = self.normalised.token_count() as u64;
        let bytes = self.normalised.as_bytes().len() as u64;
        if tokens == 0 {
            self.push_without_set(batch, Origin::Empty, 0, bytes);
            return;
        }
        batch.origins.push(Origin::Own);
        batch.token_counts.push(tokens);
        batch.normalised_bytes.push(bytes);
        if self.raw {
            let raw = batch.raw.get_or_insert_default();
            let before = raw.waiting.len();
            append_shingle_hashes(&self.normalised, self.shingle_size, &mut raw.waiting);
            raw.end_row(raw.waiting.len() - before);
            self.push_keys(tokens, batch);
            return;
        }
        let hashes = batch.hashes.held();
        let start = hashes.len();
        let blake2b = self
            .sketch
            .as_ref()
            .is_some_and(|s| s.family == HashFamily::Blake2b);
        if blake2b {
            // BLAKE2b reads the shingle's text, so one window of each distinct hash is remembered.
            self.spans.clear();
            self.spans.extend(
                shingles(&self.normalised, self.shingle_size)
                    .zip(0..)
                    .map(|(shingle, window)| (shingle_hash(shingle), window)),
            );
            self.spans.sort_unstable();
            self.spans.dedup_by_key(|span| span.0);
            hashes.extend(self.spans.iter().map(|span| span.0));
        } else {
            append_shingle_hashes(&self.normalised, self.shingle_size, hashes);
            let distinct = sort_distinct(&mut hashes[start..], &mut self.mixed, &mut self.counts);
            hashes.truncate(start + distinct);
        }
        batch.set_ends.push(hashes.len());
        let set = &hashes[start..];
        batch.digests.push(set_digest(set));
        if let Some(sketch) = &mut self.sketch {
            let signatures = batch.signatures.held();
            let signature_start = signatures.len();
            match sketch.family {
                HashFamily::Fast => {
                    sketch.sketcher.fast(set, &mut self.mixed, signatures);
                }
                HashFamily::Blake2b => {
                    let width = (tokens as usize).min(self.shingle_size);
                    let windows = self
                        .spans
                        .iter()
                        .map(|span| self.normalised.window(span.1 as usize, width));
                    sketch.sketcher.blake2b(windows, signatures);
                }
            }
            sketch
                .bands
                .append(&signatures[signature_start..], &mut batch.bands);
        }
        self.push_keys(tokens, batch);
    }

    /// The keys that are made of the tokens and not of the shingles.
    fn push_keys(&self, tokens: u64, batch: &mut FingerprintBatch) {
        if self.prefix_keys {
            let prefix = self
                .normalised
                .window(0, PREFIX_TOKENS.min(tokens as usize));
            batch.prefix_keys.push(shingle_hash(prefix));
        }
        if self.keep_numbers {
            batch
                .number_keys
                .push(number_keys(&self.normalised).numbers);
        }
    }

    fn push_without_set(
        &self,
        batch: &mut FingerprintBatch,
        origin: Origin,
        tokens: u64,
        bytes: u64,
    ) {
        batch.origins.push(origin);
        batch.token_counts.push(tokens);
        batch.normalised_bytes.push(bytes);
        if self.raw {
            batch.raw.get_or_insert_default().end_row(0);
        } else {
            batch.set_ends.push(batch.hashes.len());
            batch.digests.push([0; 2]);
        }
        if let Some(sketch) = &self.sketch {
            // Rows stay aligned: a document without a set has a signature and bands of zeros,
            // which no join reads.
            let lanes = sketch.sketcher.lanes();
            let signatures = batch.signatures.held();
            signatures.resize(signatures.len() + lanes, 0);
            batch
                .bands
                .resize(batch.bands.len() + sketch.bands.len(), 0);
        }
        if self.prefix_keys {
            batch.prefix_keys.push(0);
        }
        if self.keep_numbers {
            batch.number_keys.push(0);
        }
    }
}

/// Two independent sums over the elements: equal sets have equal digests, and unequal ones differ
/// but for chance, which the caller rules out by comparing the sets.
fn set_digest(set: &[u64]) -> [u64; 2] {
    let mut digest = [set.len() as u64, 0];
    for &hash in set {
        digest[0] = digest[0].wrapping_add(mix(hash));
        digest[1] = digest[1].wrapping_add(hash.wrapping_mul(hash | 1));
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Lsh;

    fn with(family: HashFamily) -> Config {
        let lsh = Lsh {
            family,
            ..Lsh::default()
        };
        Config {
            candidates: Candidates::Lsh(lsh),
            ..Config::default()
        }
    }

    #[test]
    fn copies_cost_no_set_and_empties_have_none() {
        let mut fingerprinter = Fingerprinter::new(&with(HashFamily::Fast));
        let (seen, mut batch) = (SeenTexts::new(), FingerprintBatch::default());
        for text in [
            "a b c d e f",
            "a  b c d e f",
            "A b c d e f",
            "!!!",
            "ﬁ b c d e f",
            "ﬁ b c d e f",
        ] {
            fingerprinter.push(text, &seen, &mut batch);
        }
        use Origin::{Copy, Empty, Own};
        assert_eq!(batch.origins, [Own, Copy, Own, Empty, Own, Own]);
        assert_eq!(batch.set(0).len(), 2);
        assert_eq!(batch.set(0), batch.set(2));
        assert_eq!(batch.digests[0], batch.digests[2]);
        assert_ne!(batch.exact[0], batch.exact[2]);
        assert_eq!(batch.signatures.len(), 6 * 64);
        assert_eq!(batch.bands.len(), 6 * 8);
    }

    #[test]
    fn repeated_shingles_count_once() {
        for family in [HashFamily::Fast, HashFamily::Blake2b] {
            let config = Config {
                shingle_size: 1,
                ..with(family)
            };
            let mut batch = FingerprintBatch::default();
            Fingerprinter::new(&config).push("b a b a a", &SeenTexts::new(), &mut batch);
            assert_eq!(batch.set(0).len(), 2);
            assert!(batch.set(0).is_sorted());
        }
    }
}
