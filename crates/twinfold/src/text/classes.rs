//! What a character is to a tokeniser, as one byte for each code point.
//!
//! The Unicode properties come from ICU's data; they are folded into one table of 1.1 MB the first
//! time that a character outside ASCII is met, so that the inner loop pays a single load.

use std::sync::LazyLock;

use icu_normalizer::properties::CanonicalCombiningClassMap;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, Script};
use icu_properties::{CodePointMapData, CodePointSetData};

/// What a tokeniser does with a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    /// Punctuation, symbols, controls: a separator for the tokenisers of words.
    Other = 0,
    /// White space.
    Space = 1,
    /// A letter or a number.
    Word = 2,
    /// A letter or a number of a script that writes no spaces between words.
    Alone = 3,
    /// A mark that belongs to a script of its own and does not reorder: vowel signs of Indic
    /// scripts, for example.
    Vowel = 4,
    /// A mark that combines (its canonical combining class is not 0): an accent.
    Accent = 5,
    /// A character that is not meant to be seen: zero-width spaces and joiners, soft hyphens,
    /// byte order marks, variation selectors.
    Ignorable = 6,
}

const CODE_POINTS: usize = 0x11_0000;

static CLASSES: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut table = vec![Class::Other as u8; CODE_POINTS].into_boxed_slice();
    let script = CodePointMapData::<Script>::new();
    for range in CodePointMapData::<GeneralCategory>::new().iter_ranges() {
        use GeneralCategory as G;
        for code_point in range.range {
            table[code_point as usize] = match range.value {
                G::UppercaseLetter
                | G::LowercaseLetter
                | G::TitlecaseLetter
                | G::ModifierLetter
                | G::OtherLetter
                | G::DecimalNumber
                | G::LetterNumber
                | G::OtherNumber => match script.get32(code_point) {
                    Script::Han
                    | Script::Hiragana
                    | Script::Katakana
                    | Script::Thai
                    | Script::Lao
                    | Script::Khmer
                    | Script::Myanmar => Class::Alone,
                    _ => Class::Word,
                },
                G::NonspacingMark | G::SpacingMark | G::EnclosingMark => {
                    match script.get32(code_point) {
                        Script::Common | Script::Inherited => Class::Other,
                        _ => Class::Vowel,
                    }
                }
                _ => Class::Other,
            } as u8;
        }
    }
    for range in CodePointSetData::new::<DefaultIgnorableCodePoint>().iter_ranges() {
        for code_point in range {
            // The Hangul fillers are ignorable letters: real text uses them as letters.
            if table[code_point as usize] != Class::Word as u8 {
                table[code_point as usize] = Class::Ignorable as u8;
            }
        }
    }
    let combining = CanonicalCombiningClassMap::new();
    for code_point in 0..CODE_POINTS as u32 {
        if combining.get32_u8(code_point) != 0 {
            table[code_point as usize] = Class::Accent as u8;
        }
        if char::from_u32(code_point).is_some_and(is_white_space) {
            table[code_point as usize] = Class::Space as u8;
        }
    }
    table
});

/// The class of a character.
pub(crate) fn class(character: char) -> Class {
    match CLASSES[character as usize] {
        1 => Class::Space,
        2 => Class::Word,
        3 => Class::Alone,
        4 => Class::Vowel,
        5 => Class::Accent,
        6 => Class::Ignorable,
        _ => Class::Other,
    }
}

/// White space: Unicode's White_Space and the four separators U+001C to U+001F.
pub(crate) fn is_white_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_each_class() {
        for (character, expected) in [
            ('a', Class::Word),
            ('7', Class::Word),
            ('½', Class::Word),
            ('한', Class::Word),
            ('_', Class::Other),
            ('👍', Class::Other),
            ('\u{20e3}', Class::Other),
            ('\u{1c}', Class::Space),
            ('\u{85}', Class::Space),
            ('\u{3000}', Class::Space),
            ('中', Class::Alone),
            ('ก', Class::Alone),
            ('ी', Class::Vowel),
            ('\u{301}', Class::Accent),
            ('\u{94d}', Class::Accent),
            ('\u{200b}', Class::Ignorable),
            ('\u{ad}', Class::Ignorable),
            ('\u{feff}', Class::Ignorable),
            ('\u{fe0f}', Class::Ignorable),
        ] {
            assert_eq!(class(character), expected, "{character:?}");
        }
    }
}
