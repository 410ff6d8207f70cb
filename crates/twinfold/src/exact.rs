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
use twinfold_kernels::{append_collapsed, ascii_prefix};

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
    // ASCII is in every normalisation form.
    let composed = if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        ComposingNormalizer::new_nfkc().normalize(text)
    };
    let stable = match &composed {
        Cow::Borrowed(_) => true,
        Cow::Owned(composed) => same_but_for_white_space(text, composed),
    };
    collapse(&composed, buffer);
    ExactText {
        key: Sha256::digest(&*buffer).into(),
        stable,
    }
}

/// Whether two texts have the same characters, any white space being as good as any other: NFKC
/// turns some spaces into others, which no tokeniser minds.
fn same_but_for_white_space(left: &str, right: &str) -> bool {
    let plain = |character| {
        if is_white_space(character) {
            ' '
        } else {
            character
        }
    };
    left.chars().map(plain).eq(right.chars().map(plain))
}

/// Appends `text` to `out` with every run of white space as one space, and none at the ends. `out`
/// must be empty.
fn collapse(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let ascii = ascii_prefix(&bytes[at..]);
        append_collapsed(&bytes[at..at + ascii], out);
        at += ascii;
        let rest = &text[at..];
        let other = rest.bytes().position(|b| b.is_ascii());
        let other = &rest[..other.unwrap_or(rest.len())];
        for character in other.chars() {
            if !is_white_space(character) {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            } else if out.last().is_some_and(|&last| last != b' ') {
                out.push(b' ');
            }
        }
        at += other.len();
    }
    if out.last() == Some(&b' ') {
        out.pop();
    }
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
