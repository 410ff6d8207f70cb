//! Random numbers and words from a seed, the same on every machine and in every version: the
//! corpora are part of the tests, so no library may change them.

/// SplitMix64 (G. Steele, D. Lea, C. Flood, 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.state)
    }

    /// A number below `bound`, which is not 0. The bias is below `bound / 2^64`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// One of `choices`.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Puts `values` in a random order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

/// A permutation of the 64-bit integers: distinct counters become distinct, scattered numbers.
pub fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvz";
const VOWELS: &[u8] = b"aeiou";
const SYLLABLES: u64 = (CONSONANTS.len() * VOWELS.len()) as u64;
/// Words of four syllables: some 52 million.
const WORDS: u64 = SYLLABLES.pow(4);

/// A made-up word without digits; different for different indices below 52 million.
pub fn word(index: u64) -> String {
    assert!(index < WORDS, "there are {WORDS} words");
    let mut rest = index;
    (0..4)
        .flat_map(|_| {
            let syllable = (rest % SYLLABLES) as usize;
            rest /= SYLLABLES;
            let consonant = CONSONANTS[syllable / VOWELS.len()];
            let vowel = VOWELS[syllable % VOWELS.len()];
            [char::from(consonant), char::from(vowel)]
        })
        .collect()
}

/// Words that never repeat.
#[derive(Clone, Debug)]
pub struct FreshWords {
    next: u64,
}

impl FreshWords {
    /// Fresh words; the seed says with which to begin.
    pub fn new(seed: u64) -> Self {
        Self {
            next: scramble(seed) % WORDS,
        }
    }

    /// The next word.
    pub fn word(&mut self) -> String {
        // A prime step goes round all words before it meets the first again.
        self.next = (self.next + 15_485_863) % WORDS;
        word(self.next)
    }

    /// The next `count` words.
    pub fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_numbers_are_the_published_ones() {
        // The first values of the reference implementation for the seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn fresh_words_do_not_repeat() {
        let words = FreshWords::new(5).words(50_000);
        assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len());
        assert!(words.iter().all(|word| word.len() == 8));
    }
}
