//! Locality-sensitive hashing: classes that agree in a band of min-hash values are candidates.
//!
//! Guarantee: probabilistic. With independent permutations a pair at similarity `s` is proposed
//! with probability `1 - (1 - s^rows)^bands`, whatever the rest of the corpus is; pairs of equal
//! sets always are. Time grows with the slots, which a family of pages of one template can make
//! quadratic however few of its pairs pass: no setting of bands and rows is both safe from that
//! and free of misses.

use super::buckets::{Buckets, EqualSets};
use super::{CandidateGenerator, Guarantee, JoinRequest, Joined, Memberships, Slots};
use crate::config::Lsh;
use crate::sets::ShingleSets;
use crate::sketch::band_label;
use crate::threshold::Threshold;

/// The LSH generator over the band keys of a corpus.
#[derive(Debug)]
pub struct LshGenerator {
    settings: Lsh,
    threshold: Threshold,
    memberships: Memberships,
    buckets: Buckets,
    slots: Slots,
    slots_of_equal_numbers: Slots,
}

impl LshGenerator {
    /// Sorts the band keys of `sets` into buckets and counts them.
    pub fn new(settings: &Lsh, threshold: Threshold, sets: &ShingleSets) -> Self {
        let mut keys = Vec::with_capacity(sets.classes() * settings.banding.bands());
        for class in 0..sets.classes() as u32 {
            keys.extend_from_slice(sets.band_keys(class));
        }
        let memberships = Memberships::aligned(sets.classes(), keys);
        let buckets = Buckets::new(&memberships, sets);
        let label = |key| {
            let class = buckets
                .iter()
                .find(|b| b.key == key)
                .and_then(|b| b.classes().next());
            let band = class.and_then(|class| {
                memberships
                    .keys(class)
                    .iter()
                    .position(|&band_key| band_key == key)
            });
            band_label(band.unwrap_or(0), key)
        };
        let slots = buckets.slots(sets, EqualSets::UnderEachKey, &label);
        let slots_of_equal_numbers =
            buckets.slots_of_equal_numbers(sets, EqualSets::UnderEachKey, &label);
        Self {
            settings: settings.clone(),
            threshold,
            memberships,
            buckets,
            slots,
            slots_of_equal_numbers,
        }
    }
}

impl CandidateGenerator for LshGenerator {
    fn name(&self) -> String {
        let banding = self.settings.banding;
        format!(
            "lsh {}x{} {}",
            banding.bands(),
            banding.rows(),
            self.settings.family
        )
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Probabilistic {
            curve: self.settings.banding.points(),
            recall_at_threshold: self.settings.banding.probability(self.threshold.as_f64()),
        }
    }

    fn probability(&self, similarity: f64) -> Option<f64> {
        Some(self.settings.banding.probability(similarity))
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

    fn key_label(&self, position: usize, key: u64) -> String {
        band_label(position, key)
    }

    fn join(&self, request: &JoinRequest<'_>) -> Joined {
        self.buckets.join(&self.memberships, request)
    }
}
