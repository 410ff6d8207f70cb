//! Texts that stand in a known relation to each other.
//!
//! A text of distinct words has one shingle for each window of [`SHINGLE`] words, all different.
//! Two texts that begin with the same `k + SHINGLE - 1` words and go on with words that neither
//! shares have exactly `k` shingles in common, so any ratio can be planted exactly.

use super::SHINGLE;
use crate::random::{FreshWords, Random};

/// Two texts and the exact sizes that their similarity is the ratio of.
#[derive(Clone, Debug)]
pub struct PlantedPair {
    /// One text.
    pub left: String,
    /// The other text.
    pub right: String,
    /// The shingles that both have.
    pub intersection: usize,
    /// The shingles that either has.
    pub union: usize,
}

impl PlantedPair {
    /// The similarity.
    pub fn jaccard(&self) -> f64 {
        self.intersection as f64 / self.union as f64
    }
}

/// A pair whose similarity is exactly `numerator / denominator`, with at least `shingles` shingles
/// in its union. What only one of them has is shared out as evenly as it can be.
pub fn pair_at(
    words: &mut FreshWords,
    numerator: usize,
    denominator: usize,
    shingles: usize,
) -> PlantedPair {
    assert!(
        (1..=denominator).contains(&numerator),
        "a similarity lies in (0, 1]"
    );
    let union = denominator * shingles.div_ceil(denominator).max(1);
    let intersection = union / denominator * numerator;
    let rest = union - intersection;
    let shared = words.words(intersection + SHINGLE - 1);
    let mut text = |extra: usize| {
        let mut text = shared.clone();
        text.extend(words.words(extra));
        text.join(" ")
    };
    PlantedPair {
        left: text(rest / 2),
        right: text(rest - rest / 2),
        intersection,
        union,
    }
}

/// Texts of one template of which each pair has `shared` shingles in common and `own` more on each
/// side: all at the similarity `shared / (shared + 2 * own)`.
pub fn template_family(
    words: &mut FreshWords,
    members: usize,
    shared: usize,
    own: usize,
) -> Vec<String> {
    let template = words.words(shared + SHINGLE - 1);
    (0..members)
        .map(|_| {
            let mut text = template.clone();
            text.extend(words.words(own));
            text.join(" ")
        })
        .collect()
}

/// Texts that are windows of one long text, each `step` words after the one before. Neighbours
/// share `shingles - step` shingles of `shingles + step`, the second next `2 * step` fewer, and so
/// on: ends that are far apart have nothing in common.
pub fn chain(words: &mut FreshWords, links: usize, shingles: usize, step: usize) -> Vec<String> {
    let width = shingles + SHINGLE - 1;
    let long = words.words(width + step * links.saturating_sub(1));
    (0..links)
        .map(|link| long[link * step..link * step + width].join(" "))
        .collect()
}

/// The text with one word, anywhere, replaced by a fresh one.
pub fn near_copy(text: &str, random: &mut Random, words: &mut FreshWords) -> String {
    let mut copy: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let place = random.below(copy.len());
    copy[place] = words.word();
    copy.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{shingles, tokens};
    use twinfold::text::Tokenizer;

    fn sizes(left: &str, right: &str) -> (usize, usize) {
        let set = |text: &str| shingles(&tokens(text, Tokenizer::Unicode), SHINGLE);
        let (left, right) = (set(left), set(right));
        (
            left.intersection(&right).count(),
            left.union(&right).count(),
        )
    }

    #[test]
    fn pairs_have_the_similarity_that_was_asked_for() {
        let mut words = FreshWords::new(1);
        for (numerator, denominator) in [(7, 10), (3, 4), (99, 100), (1, 3), (1, 1), (401, 1000)] {
            let pair = pair_at(&mut words, numerator, denominator, 60);
            assert_eq!(
                sizes(&pair.left, &pair.right),
                (pair.intersection, pair.union)
            );
            assert_eq!(pair.intersection * denominator, pair.union * numerator);
            assert!(pair.union >= 60);
        }
    }

    #[test]
    fn families_and_chains() {
        let mut words = FreshWords::new(2);
        let family = template_family(&mut words, 3, 40, 12);
        assert_eq!(sizes(&family[0], &family[2]), (40, 64));
        let links = chain(&mut words, 4, 60, 6);
        assert_eq!(sizes(&links[1], &links[2]), (54, 66));
        assert_eq!(sizes(&links[0], &links[3]), (42, 78));
    }
}
