//! The numbers of a text: what must not be lost when pages of one template differ in nothing else.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::NormalisedText;

/// What tells whether two texts differ in numbers, and whether in nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberKeys {
    /// Equal if the texts have the same set of tokens with a digit in them.
    pub numbers: u64,
    /// Equal if the texts are the same but for such tokens.
    pub rest: u64,
}

/// The keys of a normalised text. A token counts as a number if any of its characters is numeric.
pub fn number_keys(text: &NormalisedText) -> NumberKeys {
    let mut rest = Xxh3Default::new();
    let mut numbers: Vec<&str> = Vec::new();
    for token in text.tokens() {
        if token.chars().any(char::is_numeric) {
            numbers.push(token);
            // No token holds a space.
            rest.update(b" #");
        } else {
            rest.update(b" ");
            rest.update(token.as_bytes());
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    NumberKeys {
        numbers: xxh3_64(numbers.join(" ").as_bytes()),
        rest: rest.digest(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Tokenizer;

    fn keys(text: &str) -> NumberKeys {
        let mut normalised = NormalisedText::default();
        normalised.set(text, Tokenizer::Unicode);
        number_keys(&normalised)
    }

    #[test]
    fn numbers_and_the_rest() {
        let road = keys("Farm to Market Road 12 is a road in county C.");
        let other = keys("Farm to Market Road 345 is a road in county C.");
        let named = keys("Farm to Market Road 12 is a road in county D.");
        assert_eq!(road.rest, other.rest);
        assert_ne!(road.numbers, other.numbers);
        assert_eq!(road.numbers, named.numbers);
        assert_ne!(road.rest, named.rest);
        assert_ne!(keys("version v2").numbers, keys("version v3").numbers);
        assert_eq!(keys("٣ b").rest, keys("４ b").rest);
    }
}
