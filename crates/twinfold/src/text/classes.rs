//! What a character is to a tokeniser and to the normalisation forms, as one byte for each code
//! point.
//!
//! The Unicode properties come from ICU's data; they are folded into one table of 1.1 MB the first
//! time that a character outside ASCII is met, so that the inner loops pay a single load. Building
//! it takes a few milliseconds.

use std::sync::LazyLock;

use icu_normalizer::properties::{
    CanonicalCombiningClassMap, CanonicalDecomposition, CanonicalDecompositionBorrowed, Decomposed,
};
use icu_normalizer::{ComposingNormalizer, ComposingNormalizerBorrowed};
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, Script};
use icu_properties::{CodePointMapData, CodePointSetData};
use twinfold_kernels::lead_bytes;

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

/// A character's class and its part in the normalisation forms.
#[derive(Clone, Copy)]
pub(crate) struct Properties(u8);

/// A composing normalisation form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Nfc,
    Nfkc,
}

impl Form {
    /// The bit of the characters that start a segment of this form.
    const fn starts(self) -> u8 {
        match self {
            Self::Nfc => 0x08,
            Self::Nfkc => 0x10,
        }
    }

    /// The bit of the accents that are settled in this form.
    const fn settled(self) -> u8 {
        self.starts() << SETTLED_SHIFT
    }
}

const CLASS: u8 = 0x07;
/// The character starts a segment of both forms.
const STARTS: u8 = Form::Nfc.starts() | Form::Nfkc.starts();
/// How far the bits of settled accents are from those.
const SETTLED_SHIFT: u32 = 3;
/// Lower-casing changes the character.
const CAPITAL: u8 = 0x20;

impl Properties {
    #[inline]
    pub(crate) fn class(self) -> Class {
        match self.0 & CLASS {
            1 => Class::Space,
            2 => Class::Word,
            3 => Class::Alone,
            4 => Class::Vowel,
            5 => Class::Accent,
            6 => Class::Ignorable,
            _ => Class::Other,
        }
    }

    /// Whether the character is its own lower case.
    #[inline]
    pub(crate) fn is_lower(self) -> bool {
        self.0 & CAPITAL == 0
    }

    /// Whether `form` leaves the character as it is whatever stands before it, and its combining
    /// class is 0. (In Unicode's words: `ccc=0` and a quick check of Yes.)
    ///
    /// A text may be normalised in parts that each begin with such a character. Characters that
    /// this version of Unicode does not assign are never among them.
    #[inline]
    pub(crate) fn starts_segment(self, form: Form) -> bool {
        self.0 & form.starts() != 0
    }

    /// Whether the character is an accent that `form` leaves as it is after a character that
    /// starts a segment.
    #[inline]
    pub(crate) fn is_settled_accent(self, form: Form) -> bool {
        self.0 & form.settled() != 0
    }
}

const CODE_POINTS: usize = 0x11_0000;

/// No character from here on has case.
const CAPITALS_END: u32 = 0x2_0000;

static PROPERTIES: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut table = vec![Class::Other as u8; CODE_POINTS].into_boxed_slice();
    let script = CodePointMapData::<Script>::new();
    let combining = CanonicalCombiningClassMap::new();
    let quick_check = QuickCheck::new();
    for range in CodePointMapData::<GeneralCategory>::new().iter_ranges() {
        use GeneralCategory as G;
        for code_point in range.range {
            let class = match range.value {
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
                // Only marks combine.
                G::NonspacingMark | G::SpacingMark | G::EnclosingMark => {
                    if combining.get32_u8(code_point) != 0 {
                        Class::Accent
                    } else {
                        match script.get32(code_point) {
                            Script::Common | Script::Inherited => Class::Other,
                            _ => Class::Vowel,
                        }
                    }
                }
                _ => Class::Other,
            };
            let mut properties = class as u8;
            if let Some(character) = char::from_u32(code_point) {
                properties |= match range.value {
                    // What it will be nobody knows.
                    G::Unassigned => 0,
                    G::PrivateUse => STARTS,
                    _ if is_plain_ideograph_or_syllable(code_point) => STARTS,
                    _ => quick_check.bits(character, class == Class::Accent),
                };
                if code_point < CAPITALS_END
                    && !is_plain_ideograph_or_syllable(code_point)
                    && !character.to_lowercase().eq([character])
                {
                    properties |= CAPITAL;
                }
            }
            table[code_point as usize] = properties;
        }
    }
    let mut reclass = |code_point: u32, class: Class, keep: &[Class]| {
        let properties = &mut table[code_point as usize];
        if !keep.contains(&Properties(*properties).class()) {
            *properties = *properties & !CLASS | class as u8;
        }
    };
    for range in CodePointSetData::new::<DefaultIgnorableCodePoint>().iter_ranges() {
        for code_point in range {
            // The Hangul fillers are ignorable letters: real text uses them as letters.
            reclass(code_point, Class::Ignorable, &[Class::Word, Class::Accent]);
        }
    }
    for code_point in 0..=0x3000 {
        if char::from_u32(code_point).is_some_and(is_white_space) {
            reclass(code_point, Class::Space, &[]);
        }
    }
    table
});

/// Ranges of unified ideographs and Hangul syllables, which no normalisation form changes.
fn is_plain_ideograph_or_syllable(code_point: u32) -> bool {
    matches!(
        code_point,
        0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7a3 | 0x2_0000..=0x2_f7ff | 0x3_0000..=0x3_ffff
    )
}

/// Which characters the composing forms leave as they are.
struct QuickCheck {
    nfc: ComposingNormalizerBorrowed<'static>,
    nfkc: ComposingNormalizerBorrowed<'static>,
    decomposition: CanonicalDecompositionBorrowed<'static>,
    /// Whether a character combines with one before it.
    second: Vec<bool>,
}

impl QuickCheck {
    fn new() -> Self {
        let decomposition = CanonicalDecomposition::new();
        // No character from here on combines with one before it, nor has a decomposition in which
        // one does.
        let mut second = vec![false; 0x2_0000];
        // The vowels and the final consonants of Hangul compose by arithmetic.
        second[0x1161..=0x1175].fill(true);
        second[0x11a8..=0x11c2].fill(true);
        for character in '\u{a0}'..='\u{1_ffff}' {
            if !is_plain_ideograph_or_syllable(character as u32)
                && let Decomposed::Expansion(_, other) = decomposition.decompose(character)
                && let Some(place) = second.get_mut(other as usize)
            {
                *place = true;
            }
        }
        Self {
            nfc: ComposingNormalizer::new_nfc(),
            nfkc: ComposingNormalizer::new_nfkc(),
            decomposition,
            second,
        }
    }

    /// The bits of the forms for which the quick check of `character` is Yes.
    fn bits(&self, character: char, accent: bool) -> u8 {
        let mut first = character;
        loop {
            if self.second.get(first as usize) == Some(&true) {
                return 0;
            }
            match self.decomposition.decompose(first) {
                Decomposed::Default => break,
                Decomposed::Singleton(next) | Decomposed::Expansion(next, _) => first = next,
            }
        }
        let mut buffer = [0; 4];
        let text = character.encode_utf8(&mut buffer);
        let bits = if self.nfkc.is_normalized(text) {
            STARTS
        } else if first == character || self.nfc.is_normalized(text) {
            // Without a canonical decomposition NFC changes nothing.
            Form::Nfc.starts()
        } else {
            0
        };
        if accent { bits << SETTLED_SHIFT } else { bits }
    }
}

/// The properties of a character. The first call builds the table.
#[inline]
pub(crate) fn properties(character: char) -> Properties {
    Properties(PROPERTIES[character as usize])
}

/// The class of a character.
pub(crate) fn class(character: char) -> Class {
    properties(character).class()
}

/// White space: Unicode's White_Space and the four separators U+001C to U+001F.
pub(crate) fn is_white_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// The character whose first byte, which is not ASCII, stands at `at`.
#[inline]
pub(crate) fn character_at(bytes: &[u8], at: usize) -> char {
    let trail = |index: usize| u32::from(bytes[at + index] & 0x3f);
    let lead = u32::from(bytes[at]);
    let code_point = if lead < 0xe0 {
        (lead & 0x1f) << 6 | trail(1)
    } else if lead < 0xf0 {
        (lead & 0x0f) << 12 | trail(1) << 6 | trail(2)
    } else {
        (lead & 0x07) << 18 | trail(1) << 12 | trail(2) << 6 | trail(3)
    };
    char::from_u32(code_point).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Calls `visit` with the place of each character of `text` outside ASCII, until it says no.
#[inline]
pub(crate) fn visit_beyond_ascii(text: &str, mut visit: impl FnMut(usize, char) -> bool) {
    let bytes = text.as_bytes();
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut base = 0;
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    for block in blocks.iter().chain([&last]) {
        let mut leads = lead_bytes(block);
        while leads != 0 {
            let at = base + leads.trailing_zeros() as usize;
            if !visit(at, character_at(bytes, at)) {
                return;
            }
            leads &= leads - 1;
        }
        base += BLOCK;
    }
}

/// Bytes that are looked at together.
const BLOCK: usize = 32;

/// Whether `text` certainly is in NFC. Some texts that are in it are said not to be.
pub(crate) fn is_quickly_nfc(text: &str) -> bool {
    let mut normal = true;
    let mut end_of_plain = 0;
    visit_beyond_ascii(text, |at, character| {
        let properties = properties(character);
        if properties.starts_segment(Form::Nfc) {
            end_of_plain = at + character.len_utf8();
        } else {
            let after_plain = at > 0 && (at == end_of_plain || text.as_bytes()[at - 1].is_ascii());
            normal = after_plain && properties.is_settled_accent(Form::Nfc);
        }
        normal
    });
    normal
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

    /// What the shortcuts of the table's building leave out is checked here, for every character.
    #[test]
    fn properties_agree_with_icu_on_every_character() {
        let combining = CanonicalCombiningClassMap::new();
        let quick_check = QuickCheck::new();
        let category = CodePointMapData::<GeneralCategory>::new();
        for character in '\0'..=char::MAX {
            let properties = properties(character);
            let accent = combining.get_u8(character) != 0;
            assert_eq!(properties.class() == Class::Accent, accent, "{character:?}");
            let space = is_white_space(character);
            assert_eq!(properties.class() == Class::Space, space, "{character:?}");
            let lower = character.to_lowercase().eq([character]);
            assert_eq!(properties.is_lower(), lower, "{character:?}");
            let assigned = category.get(character) != GeneralCategory::Unassigned;
            let expected = match assigned {
                true => quick_check.bits(character, accent),
                false => 0,
            };
            let bits = STARTS | STARTS << SETTLED_SHIFT;
            assert_eq!(properties.0 & bits, expected, "{character:?}");
        }
    }

    #[test]
    fn characters_are_decoded_and_visited_at_every_place() {
        let characters = [
            'é',
            'Ω',
            '中',
            '\u{ffff}',
            '👍',
            '\u{10ffff}',
            '\u{80}',
            '\u{800}',
        ];
        for before in 0..70 {
            for character in characters {
                let text = format!("{}{character}a中", "b".repeat(before));
                let mut visited = Vec::new();
                visit_beyond_ascii(&text, |at, character| {
                    visited.push((at, character));
                    true
                });
                let expected: Vec<_> = text.char_indices().filter(|c| !c.1.is_ascii()).collect();
                assert_eq!(visited, expected);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn quick_means_in_nfc(text in "[a é\u{301}\u{323}\u{e31}\u{e48}가각\u{1161}\u{11a8}\u{94d}क़\u{93c}ΩÅ]{0,12}") {
            if is_quickly_nfc(&text) {
                proptest::prop_assert!(ComposingNormalizer::new_nfc().is_normalized(&text));
            }
        }
    }
}
