//! Shingles: windows of consecutive tokens, as a set of hashes.
//!
//! Source: A. Broder, "On the resemblance and containment of documents", 1997.

use twinfold_kernels::{append_window_hashes, xxh3_64};

use super::NormalisedText;

/// The hash of a shingle: XXH3-64 with seed 0 of its bytes.
#[inline]
pub fn shingle_hash(shingle: &[u8]) -> u64 {
    xxh3_64(shingle)
}

/// The shingles of a text in order, repeats included.
///
/// A text of at least `size` tokens has one for each window of `size` tokens; a shorter one that is
/// not empty has one shingle, the whole of it; an empty one has none.
pub fn shingles(text: &NormalisedText, size: usize) -> impl Iterator<Item = &[u8]> {
    let tokens = text.token_count();
    let (windows, width) = match tokens {
        0 => (0, 0),
        _ if tokens < size => (1, tokens),
        _ => (tokens - size + 1, size),
    };
    (0..windows).map(move |first| text.window(first, width))
}

/// Appends the hash of each shingle of a text to `hashes`, in order, repeats included.
///
/// Cost: some five nanoseconds for each shingle of 17 to 64 bytes.
pub fn append_shingle_hashes(text: &NormalisedText, size: usize, hashes: &mut Vec<u64>) {
    append_window_hashes(text.as_bytes(), text.token_starts(), size, hashes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Tokenizer;
    use proptest::prelude::*;

    fn of(text: &str, size: usize) -> Vec<String> {
        let mut normalised = NormalisedText::default();
        normalised.set(text, Tokenizer::Words);
        shingles(&normalised, size)
            .map(|s| String::from_utf8(s.to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn windows_short_texts_and_none() {
        assert_eq!(of("A b, c d.", 3), ["a b c", "b c d"]);
        assert_eq!(of("A b, c", 3), ["a b c"]);
        assert_eq!(of("A b", 3), ["a b"]);
        assert_eq!(of("a", 1), ["a"]);
        assert!(of("...", 3).is_empty());
    }

    proptest! {
        #[test]
        fn hashes_of_a_text_are_those_of_its_shingles(text in "[a-cé中 ]{0,200}|([a-z]{1,30} ){0,30}", size in 1usize..12) {
            let mut normalised = NormalisedText::default();
            normalised.set(&text, Tokenizer::Unicode);
            let mut hashes = vec![7];
            append_shingle_hashes(&normalised, size, &mut hashes);
            let expected: Vec<u64> = shingles(&normalised, size).map(xxhash_rust::xxh3::xxh3_64).collect();
            prop_assert_eq!(&hashes[1..], expected);
        }
    }
}
