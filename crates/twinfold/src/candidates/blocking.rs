//! Blocking: classes whose documents share a cheap key are candidates.
//!
//! Guarantee: heuristic. A pair that shares no key is never looked at, however similar it is.
//!
//! | key | documents meet if |
//! |---|---|
//! | `prefix-tokens` | their first 64 tokens are the same |
//! | `title-trigrams` | their titles agree in one of four bands of two min-hash values over the trigrams of the normalised title: certain for equal titles, 95% at a trigram similarity of 0.73 |
//! | `length` | the lengths of their normalised texts lie within about 5% (each length has two overlapping ranges, so that a border does not part neighbours) |
//! | a column | they have the same value in it; a null or empty value meets nothing |
//!
//! A class has the keys of all its members. Time grows with the slots; `length` has the most.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

use super::buckets::{Buckets, EqualSets};
use super::{CandidateGenerator, Guarantee, JoinRequest, Joined, Memberships, Slots};
use crate::config::BlockKey;
use crate::document::{DocId, Documents, Value};
use crate::error::Error;
use crate::sets::ShingleSets;
use crate::sketch::{BandKeys, Banding, HashFamily, Sketcher};
use crate::text::{NormalisedText, Tokenizer};

/// The blocking generator.
#[derive(Debug)]
pub struct BlockingGenerator {
    key: BlockKey,
    memberships: Memberships,
    buckets: Buckets,
    slots: Slots,
    slots_of_equal_numbers: Slots,
}

impl BlockingGenerator {
    /// Computes the keys of every class and counts their slots.
    ///
    /// # Errors
    /// If the documents have no such column.
    pub fn new(
        key: &BlockKey,
        sets: &ShingleSets,
        documents: &dyn Documents,
    ) -> Result<Self, Error> {
        let memberships = memberships(key, sets, documents)?;
        let buckets = Buckets::new(&memberships, sets);
        let label = |bucket| label(key, bucket);
        let slots = buckets.slots(sets, EqualSets::Once, &label);
        let slots_of_equal_numbers = buckets.slots_of_equal_numbers(sets, EqualSets::Once, &label);
        Ok(Self {
            key: key.clone(),
            memberships,
            buckets,
            slots,
            slots_of_equal_numbers,
        })
    }
}

fn label(key: &BlockKey, bucket: u64) -> String {
    match key {
        // The key of a length is the number of its range: say the lengths.
        BlockKey::Length => {
            let bound = |range: f64| LENGTH_STEP.powf(range).ceil();
            format!(
                "length:{}-{}",
                bound(bucket as f64 - 1.0),
                bound(bucket as f64 + 1.0)
            )
        }
        _ => format!("{key}:{bucket:016x}"),
    }
}

const LENGTH_STEP: f64 = 1.05;

fn memberships(
    key: &BlockKey,
    sets: &ShingleSets,
    documents: &dyn Documents,
) -> Result<Memberships, Error> {
    let classes = 0..sets.classes() as u32;
    Ok(match key {
        BlockKey::PrefixTokens => {
            let key = |&member: &DocId| sets.prefix_key(member);
            Memberships::sorted(
                classes.map(|class| sets.members(class).iter().filter_map(key).collect()),
            )
        }
        BlockKey::Length => {
            let ranges = |&member: &DocId| {
                let bytes = sets.normalised_bytes(member).max(1) as f64;
                let range = (bytes.ln() / LENGTH_STEP.ln()).floor() as u64;
                [range, range + 1]
            };
            Memberships::sorted(
                classes.map(|class| sets.members(class).iter().flat_map(ranges).collect()),
            )
        }
        BlockKey::TitleTrigrams => {
            let mut titles = TitleKeys::new();
            Memberships::sorted(classes.map(|class| {
                let mut keys = Vec::new();
                for &member in sets.members(class) {
                    if let Some(title) = documents.title(member) {
                        titles.append(&title, &mut keys);
                    }
                }
                keys
            }))
        }
        BlockKey::Column(name) => {
            // No documents, no columns: nothing to block, and nothing wrong.
            let values = documents
                .column(name)
                .or(documents.is_empty().then(Vec::new));
            let Some(values) = values else {
                return Err(Error::NoBlockColumn {
                    column: name.clone(),
                    present: documents.column_names().join(", "),
                });
            };
            Memberships::sorted(classes.map(|class| {
                sets.members(class)
                    .iter()
                    .filter_map(|&member| value_key(&values, member))
                    .collect()
            }))
        }
    })
}

fn value_key(values: &[Value], document: DocId) -> Option<u64> {
    let text = match &values[document.index()] {
        Value::Null => return None,
        Value::Text(text) if text.is_empty() => return None,
        Value::Text(text) => return Some(xxh3_64(text.as_bytes())),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Time(micros) => format!("time:{micros}"),
    };
    Some(xxh3_64(text.as_bytes()))
}

/// The keys of titles: bands of min-hash values over the trigrams of the normalised title.
struct TitleKeys {
    sketcher: Sketcher,
    bands: BandKeys,
    normalised: NormalisedText,
    mixed: Vec<u64>,
    signature: Vec<u64>,
}

impl TitleKeys {
    fn new() -> Self {
        let banding = Banding::new(4, 2, 8).expect("4 bands of 2 rows use 8 values");
        Self {
            sketcher: Sketcher::new(banding.hashes(), 42),
            bands: BandKeys::new(banding, HashFamily::Fast),
            normalised: NormalisedText::default(),
            mixed: Vec::new(),
            signature: Vec::new(),
        }
    }

    fn append(&mut self, title: &str, keys: &mut Vec<u64>) {
        self.normalised.set(title, Tokenizer::Unicode);
        let characters: Vec<char> = self.normalised.as_str().chars().collect();
        if characters.is_empty() {
            return;
        }
        let trigrams: HashSet<u64> = characters
            .windows(characters.len().min(3))
            .map(|trigram| xxh3_64(trigram.iter().collect::<String>().as_bytes()))
            .collect();
        let trigrams: Vec<u64> = trigrams.into_iter().collect();
        self.signature.clear();
        self.sketcher
            .fast(&trigrams, &mut self.mixed, &mut self.signature);
        self.bands.append(&self.signature, keys);
    }
}

impl CandidateGenerator for BlockingGenerator {
    fn name(&self) -> String {
        format!("blocking {}", self.key)
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic {
            rule: match &self.key {
                BlockKey::PrefixTokens => "the same first 64 tokens".into(),
                BlockKey::TitleTrigrams => "similar titles".into(),
                BlockKey::Length => "lengths within about 5%".into(),
                BlockKey::Column(name) => format!("the same value of column {name:?}"),
            },
        }
    }

    fn probability(&self, _similarity: f64) -> Option<f64> {
        None
    }

    fn slots(&self) -> Slots {
        self.slots.clone()
    }

    fn slots_of_equal_numbers(&self) -> Slots {
        self.slots_of_equal_numbers.clone()
    }

    fn memberships(&self) -> Option<&Memberships> {
        Some(&self.memberships)
    }

    fn key_label(&self, _position: usize, key: u64) -> String {
        label(&self.key, key)
    }

    fn join(&self, request: &JoinRequest<'_>) -> Joined {
        self.buckets.join(&self.memberships, request)
    }
}
