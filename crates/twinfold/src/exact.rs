//! The exact instrument: documents whose text is the same after NFKC and white-space collapse.
//!
//! Guarantee: certain, in both directions, as far as SHA-256 has no collisions. It does nothing
//! else: no lower-casing and no punctuation stripping, both of which are wrong for code and
//! identifiers, so its groups need no review.
//!
//! Cost: one pass over the text and one hash table over the documents.

use icu_normalizer::ComposingNormalizer;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

use crate::text::is_white_space;

/// SHA-256 of a text after NFKC and white-space collapse.
pub type ExactKey = [u8; 32];

/// An exact key, and whether the text already was in NFKC but for its white space.
///
/// Two stable texts with the same key differ in white space only, so they have the same tokens
/// under every tokeniser. An unstable one may not: `ﬁ` and `fi` are one text to NFKC and two to a
/// tokeniser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactText {
    /// The key.
    pub key: ExactKey,
    /// Whether NFKC left the text as it was.
    pub stable: bool,
}

/// The exact key of `text`. `buffer` is scratch space, reused from text to text.
pub fn exact_text(text: &str, buffer: &mut Vec<u8>) -> ExactText {
    buffer.clear();
    let stable;
    if text.is_ascii() {
        collapse_ascii(text.as_bytes(), buffer);
        stable = true;
    } else {
        let composed = ComposingNormalizer::new_nfkc().normalize(text);
        // NFKC turns some spaces into others: only what is no white space on both sides counts.
        stable = match &composed {
            Cow::Borrowed(_) => true,
            Cow::Owned(composed) => {
                let visible = |text: &'_ str| -> Vec<char> {
                    text.chars()
                        .map(|c| if is_white_space(c) { ' ' } else { c })
                        .collect()
                };
                visible(composed) == visible(text)
            }
        };
        let mut pending = false;
        for character in composed.chars() {
            if is_white_space(character) {
                pending = true;
                continue;
            }
            if pending && !buffer.is_empty() {
                buffer.push(b' ');
            }
            pending = false;
            buffer.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    ExactText {
        key: Sha256::digest(&*buffer).into(),
        stable,
    }
}

fn collapse_ascii(bytes: &[u8], out: &mut Vec<u8>) {
    out.resize(bytes.len() + 1, 0);
    let (mut length, mut visible_before) = (0, 0usize);
    for &byte in bytes {
        let visible = usize::from(!(matches!(byte, 9..=13 | 28..=32)));
        out[length] = if visible == 1 { byte } else { b' ' };
        // A space is written once, after something visible.
        length += visible | visible_before;
        visible_before = visible;
    }
    if visible_before == 0 && length > 0 {
        length -= 1;
    }
    out.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> ExactKey {
        exact_text(text, &mut Vec::new()).key
    }

    fn by_the_book(text: &str) -> ExactKey {
        let composed = ComposingNormalizer::new_nfkc().normalize(text).into_owned();
        let words: Vec<&str> = composed
            .split(is_white_space)
            .filter(|w| !w.is_empty())
            .collect();
        Sha256::digest(words.join(" ")).into()
    }

    #[test]
    fn white_space_and_compatibility_forms_do_not_count_but_case_does() {
        assert_eq!(key("a  b\n"), key("\u{1c}a\tb"));
        assert_eq!(key("ﬁne １２"), key("fine 12"));
        assert_eq!(key("e\u{301}"), key("é"));
        assert_ne!(key("Fine"), key("fine"));
        assert_ne!(key("a.b"), key("ab"));
    }

    #[test]
    fn stability() {
        let stable = |text: &str| exact_text(text, &mut Vec::new()).stable;
        assert!(stable("plain \t text") && stable("naïve é") && stable("a\u{a0}b"));
        assert!(!stable("ﬁne") && !stable("e\u{301}") && !stable("１２"));
    }

    proptest! {
        #[test]
        fn equals_the_definition(text in any::<String>()) {
            prop_assert_eq!(key(&text), by_the_book(&text));
        }

        #[test]
        fn equals_the_definition_on_ascii(text in "[a-c \\t\\n\u{1c}\u{0}]{0,40}") {
            prop_assert_eq!(key(&text), by_the_book(&text));
        }
    }
}
