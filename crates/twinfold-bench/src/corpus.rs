//! A generated corpus: documents of random words, of which a share are near-duplicates.

use std::io::{self, BufWriter, Write};

/// SplitMix64: small, seeded and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A word by its rank: common words are short, as in real text.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu",
        "za",
    ];
    let mut text = String::new();
    let mut rest = rank + 1;
    while rest > 0 {
        text.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    text
}

fn sentence_words(random: &mut Random, count: u64, words: &mut Vec<String>) {
    for _ in 0..count {
        // Ranks fall off about as one over the rank.
        let rank = (50_000f64.powf(random.unit()) - 1.0) as u64;
        words.push(word(rank));
    }
}

/// Writes `documents` as JSON Lines. A near-duplicate copies one of the last thousand documents
/// and changes up to one word in twenty.
pub(crate) fn write(out: &mut impl Write, documents: usize, duplicates: f64) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut random = Random(42);
    let mut recent: Vec<Vec<String>> = Vec::new();
    for number in 0..documents {
        let mut words;
        if !recent.is_empty() && random.unit() < duplicates {
            let original = random.below(recent.len() as u64) as usize;
            words = recent[original].clone();
            let changes = random.below(words.len() as u64 / 20 + 1);
            for _ in 0..changes {
                let at = random.below(words.len() as u64) as usize;
                words[at] = word(random.below(50_000));
            }
        } else {
            words = Vec::new();
            // From a few dozen words to some thousand.
            let length = (30.0 * 60f64.powf(random.unit())) as u64;
            sentence_words(&mut random, length, &mut words);
            if recent.len() < 1000 {
                recent.push(words.clone());
            } else {
                let at = random.below(1000) as usize;
                recent[at] = words.clone();
            }
        }
        let source = random.below(8);
        writeln!(
            out,
            "{{\"doc_id\":\"doc-{number:09}\",\"source\":\"source-{source}\",\"body\":\"{}\"}}",
            words.join(" ")
        )?;
    }
    out.flush()
}
