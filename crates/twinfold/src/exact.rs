//! The exact instrument: documents whose text is the same after NFKC and white-space collapse.
//!
//! Guarantee: certain, in both directions, as far as SHA-256 has no collisions. It does nothing
//! else: no lower-casing and no punctuation stripping, both of which are wrong for code and
//! identifiers, so its groups need no review.
//!
//! Cost: one pass over the text and one hash table over the documents. ICU sees only the segments of
//! a text that NFKC may change.

use icu_normalizer::ComposingNormalizer;
use sha2::{Digest, Sha256};
use twinfold_kernels::append_collapsed;

use crate::text::{Class, Form, is_white_space, properties, visit_beyond_ascii};

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
    let stable = if text.is_ascii() {
        // ASCII is in every normalisation form.
        append_collapsed(text.as_bytes(), buffer);
        true
    } else {
        append_normalised(text, buffer)
    };
    if buffer.last() == Some(&b' ') {
        buffer.pop();
    }
    ExactText {
        key: Sha256::digest(&*buffer).into(),
        stable,
    }
}

/// Appends the NFKC of `text` with white space collapsed to `out`, which must be empty, and returns
/// whether NFKC left the text as it was but for its white space.
///
/// Most characters start a segment that NFKC leaves alone, so that only the few segments that hold
/// anything else need ICU. White space always starts a segment: NFKC makes it a space or leaves
/// it, and a space combines with nothing.
///
/// A changed segment makes a changed text: what NFKC makes of a segment is neither a proper
/// beginning of the segment (characters do not vanish) nor the other way round (a beginning of a
/// normalised text is normalised), so that the two differ at a place that both have.
fn append_normalised(text: &str, out: &mut Vec<u8>) -> bool {
    let bytes = text.as_bytes();
    let nfkc = ComposingNormalizer::new_nfkc();
    let mut stable = true;
    // Up to here the text has been appended.
    let mut done = 0;
    // Where the last character outside ASCII that starts a segment ended.
    let mut end_of_plain = 0;
    visit_beyond_ascii(text, |at, character| {
        let properties = properties(character);
        let end = at + character.len_utf8();
        if properties.starts_segment(Form::Nfkc) && properties.class() != Class::Space {
            end_of_plain = end;
        } else if at < done {
            // Within a segment that has been appended.
        } else if properties.class() == Class::Space {
            append_collapsed(&bytes[done..at], out);
            append_character(' ', out);
            done = end;
        } else {
            let after_plain = at > done && (at == end_of_plain || bytes[at - 1].is_ascii());
            if after_plain && properties.is_settled_accent(Form::Nfkc) {
                return true;
            }
            let start = text[done..at]
                .char_indices()
                .rfind(|&(_, before)| starts_segment(before))
                .map_or(done, |(offset, _)| done + offset);
            let length = text[end..].find(starts_segment);
            let end = length.map_or(text.len(), |length| end + length);
            append_collapsed(&bytes[done..start], out);
            let segment = &text[start..end];
            let normalised = nfkc.normalize(segment);
            stable = stable && same_but_for_white_space(segment, &normalised);
            for character in normalised.chars() {
                append_character(character, out);
            }
            done = end;
        }
        true
    });
    append_collapsed(&bytes[done..], out);
    stable
}

fn starts_segment(character: char) -> bool {
    let properties = properties(character);
    properties.starts_segment(Form::Nfkc) || properties.class() == Class::Space
}

fn append_character(character: char, out: &mut Vec<u8>) {
    if !is_white_space(character) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else if out.last().is_some_and(|&last| last != b' ') {
        out.push(b' ');
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

    fn stable_by_the_book(text: &str) -> bool {
        let composed = ComposingNormalizer::new_nfkc().normalize(text);
        same_but_for_white_space(text, &composed)
    }

    #[test]
    fn every_character_equals_the_definition_after_each_kind() {
        for before in ["", "é", "\u{1100}", "\u{a0}\u{327}", "中\u{301}\u{316}"] {
            for character in '\0'..=char::MAX {
                // Planes of ideographs and private use are alike: one in 17 will do.
                if character > '\u{2_ffff}' && u32::from(character) % 17 > 0 {
                    continue;
                }
                let text = format!("{before}{character}\u{301}b");
                let exact = exact_text(&text, &mut Vec::new());
                assert_eq!(exact.key, by_the_book(&text), "{text:?}");
                assert_eq!(exact.stable, stable_by_the_book(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn long_runs_of_marks_are_one_segment() {
        for marks in [
            "\u{301}\u{316}",
            "\u{e48}",
            "\u{323}\u{307}",
            "\u{11a8}",
            "\u{a0}\u{301}",
        ] {
            let text = format!("s{}t", marks.repeat(5_000));
            assert_eq!(key(&text), by_the_book(&text));
        }
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

        #[test]
        fn equals_the_definition_where_normalisation_is_hard(
            text in prop::collection::vec(hard_piece(), 0..40).prop_map(|pieces| pieces.concat())
        ) {
            prop_assert_eq!(key(&text), by_the_book(&text));
            let stable = exact_text(&text, &mut Vec::new()).stable;
            prop_assert_eq!(stable, stable_by_the_book(&text));
        }
    }

    /// Marks of many combining classes, parts of Hangul syllables, compatibility forms, white space
    /// of all kinds, and characters that decompose but do not compose.
    fn hard_piece() -> impl Strategy<Value = String> {
        let sample =
            |text: &str| prop::sample::select(text.chars().map(String::from).collect::<Vec<_>>());
        prop_oneof![
            3 => sample("aeosSAﬁ…㎏①½Ａ１！ｶﾞﾊﾟ\u{fdfa}\u{3c2}Ω\u{2126}\u{212a}\u{212b}ſ\u{1e9b}"),
            3 => sample("\u{300}\u{301}\u{307}\u{308}\u{316}\u{323}\u{327}\u{328}\u{338}\u{345}\u{340}\u{343}\u{344}\u{34f}"),
            2 => sample("\u{1100}\u{1112}\u{1161}\u{1175}\u{11a7}\u{11a8}\u{11c2}가각힣\u{3131}\u{ffa1}"),
            2 => sample(" \t\n\u{1c}\u{85}\u{a0}\u{1680}\u{2003}\u{2028}\u{202f}\u{3000}\u{180e}\u{200b}\u{feff}"),
            2 => sample("\u{958}\u{915}\u{93c}\u{9c7}\u{9be}\u{9d7}\u{b47}\u{b3e}\u{f71}\u{f72}\u{f73}\u{f74}\u{f75}\u{f81}\u{fb1d}\u{5b4}\u{5d9}\u{2adc}\u{1025}\u{102e}"),
            2 => sample("\u{e01}\u{e31}\u{e33}\u{e48}\u{e38}\u{eb3}\u{651}\u{64b}\u{653}\u{627}\u{622}\u{3099}かがカ\u{309b}\u{30fb}"),
            2 => sample("\u{11099}\u{110ba}\u{1109a}\u{16121}\u{1611e}\u{16123}\u{113c2}\u{113c5}\u{1d15e}\u{1d157}\u{1d165}\u{1d400}\u{2f800}\u{fa0e}\u{f900}\u{e0100}\u{378}\u{10ffff}"),
            1 => "[a-z ]{0,70}",
            1 => any::<char>().prop_map(String::from),
            1 => ("[\u{301}\u{316}\u{327}\u{345}]", 0usize..40).prop_map(|(mark, count)| mark.repeat(count)),
        ]
    }
}
