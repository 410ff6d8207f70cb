//! Folding: the characters outside ASCII of a text as the tokenisers `words` and `unicode` want them.
//!
//! In the folded text each separator is a space, accents and what else does not count are gone,
//! the other letters and numbers outside ASCII are in lower case, and a character that is a token by
//! itself stands between spaces. What remains is to cut the text at the separators of ASCII, which
//! a kernel does. Bytes of ASCII are copied as they are.
//!
//! Cost: one pass. A character takes one look into a table of 1 MB for each of the two tokenisers,
//! built when it is first needed.

use std::sync::LazyLock;

use icu_normalizer::DecomposingNormalizer;
use icu_normalizer::properties::{
    CanonicalDecomposition, CanonicalDecompositionBorrowed, Decomposed,
};
use twinfold_kernels::lead_bytes;

use super::classes::{Class, character_at, class, is_white_space, properties};

/// A tokeniser of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// The tokeniser `words`.
    Plain,
    /// The tokeniser `unicode`.
    Unicode,
}

/// What one part of a character's decomposition does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Separator,
    /// A part of a word, not in lower case yet.
    Word(char),
    /// A token by itself.
    Alone(char),
    /// It belongs to the token before, if one stands directly before.
    Vowel(char),
}

impl Words {
    /// Calls `act` with the parts of a character, those that count.
    fn parts(
        self,
        character: char,
        decomposition: &CanonicalDecompositionBorrowed<'static>,
        act: &mut impl FnMut(Part),
    ) {
        match decomposition.decompose(character) {
            Decomposed::Default => self.part(character, act),
            Decomposed::Singleton(single) => self.parts(single, decomposition, act),
            Decomposed::Expansion(first, second) => {
                self.parts(first, decomposition, act);
                self.parts(second, decomposition, act);
            }
        }
    }

    fn part(self, character: char, act: &mut impl FnMut(Part)) {
        let unicode = self == Self::Unicode;
        if unicode && is_width_form(character) {
            return self.width_form(character, act);
        }
        match class(character) {
            Class::Accent => {}
            Class::Ignorable if unicode => {}
            Class::Vowel if unicode => act(Part::Vowel(character)),
            Class::Alone if unicode => act(Part::Alone(character)),
            Class::Word | Class::Alone => act(Part::Word(character)),
            Class::Other | Class::Space | Class::Vowel | Class::Ignorable => act(Part::Separator),
        }
    }

    /// Full-width and half-width forms are the same characters to a reader.
    fn width_form(self, character: char, act: &mut impl FnMut(Part)) {
        let mut buffer = [0; 4];
        let usual = DecomposingNormalizer::new_nfkd()
            .normalize(character.encode_utf8(&mut buffer))
            .into_owned();
        for character in usual.chars() {
            if is_white_space(character) {
                act(Part::Separator);
            } else if is_width_form(character) {
                // Half-width symbols without an equivalent.
                if class(character) != Class::Ignorable {
                    act(Part::Separator);
                }
            } else {
                self.part(character, act);
            }
        }
    }

    fn table(self) -> &'static [u64] {
        match self {
            Self::Plain => &PLAIN,
            Self::Unicode => &UNICODE,
        }
    }
}

fn is_width_form(character: char) -> bool {
    ('\u{ff00}'..='\u{ffef}').contains(&character)
}

/// Code points that the tables hold.
const TABLE: usize = 0x2_0000;

// An entry of a table: up to seven bytes of folded text, the first in the lowest bits; in the
// highest byte how many there are, and these marks:
const LENGTH: u64 = 0x07 << 56;
/// The character is a token by itself.
const ALONE: u64 = 0x10 << 56;
/// The bytes count only after a token.
const VOWEL: u64 = 0x20 << 56;
/// The entry does not tell: neighbours do, or the folded text is too long.
const ELSEWHERE: u64 = 0x40 << 56;

static PLAIN: LazyLock<Box<[u64]>> = LazyLock::new(|| build(Words::Plain));
static UNICODE: LazyLock<Box<[u64]>> = LazyLock::new(|| build(Words::Unicode));

fn entry(bytes: &[u8], mark: u64) -> u64 {
    let mut entry = [0; 8];
    match entry.get_mut(..bytes.len()) {
        Some(place) if bytes.len() < 8 => place.copy_from_slice(bytes),
        _ => return ELSEWHERE,
    }
    u64::from_le_bytes(entry) | (bytes.len() as u64) << 56 | mark
}

fn build(words: Words) -> Box<[u64]> {
    let separator = entry(b" ", 0);
    let mut table = vec![ELSEWHERE; TABLE].into_boxed_slice();
    let decomposition = CanonicalDecomposition::new();
    let mut parts = Vec::new();
    let mut bytes = Vec::new();
    for (code_point, place) in (0..).zip(&mut table) {
        let Some(character) = char::from_u32(code_point) else {
            continue;
        };
        // Decomposed by arithmetic.
        if is_hangul(character) || character == 'Σ' {
            continue;
        }
        parts.clear();
        words.parts(character, &decomposition, &mut |part| parts.push(part));
        bytes.clear();
        *place = match parts[..] {
            [Part::Separator] => separator,
            [Part::Alone(part)] => {
                push_alone(part, &mut bytes);
                entry(&bytes, ALONE)
            }
            [Part::Vowel(part)] => {
                push(part, &mut bytes);
                entry(&bytes, VOWEL)
            }
            _ if parts.iter().all(|part| matches!(part, Part::Word(_))) => {
                for part in &parts {
                    if let Part::Word(part) = part {
                        push_lower(*part, &mut bytes);
                    }
                }
                entry(&bytes, 0)
            }
            _ => ELSEWHERE,
        };
    }
    table
}

fn push(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn push_lower(character: char, out: &mut Vec<u8>) {
    if properties(character).is_lower() {
        push(character, out);
    } else {
        character.to_lowercase().for_each(|lower| push(lower, out));
    }
}

fn push_alone(character: char, out: &mut Vec<u8>) {
    out.push(b' ');
    push_lower(character, out);
    out.push(b' ');
}

const HANGUL: u32 = 0xac00;
const HANGUL_END: u32 = 0xd7a3;

fn is_hangul(character: char) -> bool {
    (HANGUL..=HANGUL_END).contains(&u32::from(character))
}

/// The jamo of a Hangul syllable, three bytes each, and how many bytes they have. Unicode, section
/// 3.12; jamo are letters of scripts with spaces and have no case.
fn jamo(syllable: u32) -> ([u8; 16], usize) {
    let index = syllable - HANGUL;
    let (lead, vowel, tail) = (index / 588, index / 28 % 21, index % 28);
    let mut bytes = [0; 16];
    let all = [0x1100 + lead, 0x1161 + vowel, 0x11a7 + tail];
    for (place, code_point) in bytes.chunks_exact_mut(3).zip(all) {
        place[0] = 0xe0 | (code_point >> 12) as u8;
        place[1] = 0x80 | (code_point >> 6 & 0x3f) as u8;
        place[2] = 0x80 | (code_point & 0x3f) as u8;
    }
    (bytes, if tail == 0 { 6 } else { 9 })
}

/// Bytes that are copied together.
const BLOCK: usize = 32;

/// A text that is written a block at a time: `bytes` is longer than what counts of it.
struct Folded<'a> {
    bytes: &'a mut Vec<u8>,
    /// Up to here the bytes count.
    end: usize,
    /// Where the folded text ended after the last token of one character, which a space follows.
    after_alone: Option<usize>,
}

impl Folded<'_> {
    /// Makes room for two blocks.
    #[inline]
    fn reserve(&mut self) {
        if self.bytes.len() < self.end + 2 * BLOCK {
            let length = self.bytes.len();
            self.bytes.resize(length + length / 2 + 2 * BLOCK, 0);
        }
    }

    /// Writes a chunk no longer than a block, of which the first `count` bytes count.
    #[inline]
    fn write<const N: usize>(&mut self, chunk: &[u8; N], count: usize) {
        self.bytes[self.end..self.end + N].copy_from_slice(chunk);
        self.end += count;
    }

    #[inline]
    fn write_entry(&mut self, entry: u64) {
        self.write(&entry.to_le_bytes(), ((entry & LENGTH) >> 56) as usize);
    }

    fn write_character(&mut self, character: char) {
        let mut buffer = [0; 4];
        let length = character.encode_utf8(&mut buffer).len();
        self.write(&buffer, length);
    }

    /// Writes a vowel sign to the token that stands directly before, if one does.
    fn write_vowel(&mut self, vowel: u64) {
        if self.after_alone == Some(self.end) {
            self.end -= 1;
            self.write_entry(vowel);
            self.write(b" ", 1);
            self.after_alone = Some(self.end);
        } else if self.bytes[..self.end]
            .last()
            .is_some_and(|last| last.is_ascii_alphanumeric() || !last.is_ascii())
        {
            self.write_entry(vowel);
        }
    }

    fn write_part(&mut self, part: Part, scratch: &mut Vec<u8>) {
        scratch.clear();
        match part {
            Part::Separator => self.write(b" ", 1),
            Part::Word(part) => part.to_lowercase().for_each(|c| self.write_character(c)),
            Part::Alone(part) => {
                push_alone(part, scratch);
                self.write_entry(entry(scratch, ALONE));
                self.after_alone = Some(self.end);
            }
            Part::Vowel(part) => {
                push(part, scratch);
                self.write_vowel(entry(scratch, VOWEL));
            }
        }
        self.reserve();
    }
}

/// The folded form of `text`. It is written into `out`, which is reused from text to text and keeps
/// its length.
pub(super) fn fold<'a>(text: &str, words: Words, out: &'a mut Vec<u8>) -> &'a [u8] {
    let table = words.table();
    let bytes = text.as_bytes();
    let mut folded = Folded {
        bytes: out,
        end: 0,
        after_alone: None,
    };
    let mut scratch = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        folded.reserve();
        if bytes[at].is_ascii() {
            let (block, there): ([u8; BLOCK], _) = match bytes[at..].first_chunk() {
                Some(block) => (*block, BLOCK),
                None => {
                    let rest = &bytes[at..];
                    let mut block = [0; BLOCK];
                    block[..rest.len()].copy_from_slice(rest);
                    (block, rest.len())
                }
            };
            let ascii = (lead_bytes(&block).trailing_zeros() as usize).min(there);
            folded.write(&block, ascii);
            at += ascii;
            continue;
        }
        let character = character_at(bytes, at);
        let entry = table.get(character as usize).copied().unwrap_or(ELSEWHERE);
        if entry & (VOWEL | ELSEWHERE) == 0 {
            folded.write_entry(entry);
            if entry & ALONE != 0 {
                folded.after_alone = Some(folded.end);
            }
        } else if entry & VOWEL != 0 {
            folded.write_vowel(entry);
        } else if is_hangul(character) {
            let (jamo, length) = jamo(character as u32);
            folded.write(&jamo, length);
        } else if character == 'Σ' {
            let last = sigma::ends_word(&text[..at], &text[at + character.len_utf8()..]);
            folded.write_character(if last { 'ς' } else { 'σ' });
        } else {
            words.parts(character, &CanonicalDecomposition::new(), &mut |part| {
                folded.write_part(part, &mut scratch);
            });
        }
        at += character.len_utf8();
    }
    let end = folded.end;
    &out[..end]
}

/// The capital sigma, whose lower case depends on where it stands.
mod sigma {
    use super::*;

    /// What a character is to the rule, which skips those that case ignores.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Case {
        Cased,
        Ignored,
        Uncased,
    }

    /// Whether a capital sigma between `before` and `after` ends a word, once the accents are gone:
    /// a cased character stands before and none after.
    pub(super) fn ends_word(before: &str, after: &str) -> bool {
        // The last and the first character that case does not ignore.
        let before = before.chars().rev().find_map(|character| {
            letters(character)
                .rev()
                .map(case)
                .find(|&case| case != Case::Ignored)
        });
        let after = after.chars().find_map(|character| {
            letters(character)
                .map(case)
                .find(|&case| case != Case::Ignored)
        });
        before == Some(Case::Cased) && after != Some(Case::Cased)
    }

    /// The canonical decomposition of a character without accents.
    fn letters(character: char) -> impl DoubleEndedIterator<Item = char> {
        let mut letters = [None; 4];
        if character.is_ascii() {
            letters[0] = Some(character);
        } else {
            let mut buffer = [0; 4];
            let decomposed = DecomposingNormalizer::new_nfd()
                .normalize(character.encode_utf8(&mut buffer))
                .into_owned();
            let counting = decomposed.chars().filter(|&c| class(c) != Class::Accent);
            for (place, letter) in letters.iter_mut().zip(counting) {
                *place = Some(letter);
            }
        }
        letters.into_iter().flatten()
    }

    /// The standard library keeps these properties to itself, so its own handling of sigma is asked.
    fn case(character: char) -> Case {
        match character {
            'a'..='z' | 'A'..='Z' | 'α'..='ω' | 'Α'..='Ρ' | 'Σ'..='Ω' => Case::Cased,
            ' ' | '\n' | '0'..='9' => Case::Uncased,
            _ => {
                let is_final = |text: String| text.to_lowercase().ends_with('ς');
                if is_final(format!("{character}Σ")) {
                    Case::Cased
                } else if is_final(format!("a{character}Σ")) {
                    Case::Ignored
                } else {
                    Case::Uncased
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: the parts of each character, one after the other.
    fn by_the_book(text: &str, words: Words) -> String {
        let decomposition = CanonicalDecomposition::new();
        let mut tokens: Vec<String> = Vec::new();
        // Whether the last token stands directly before, and whether it may grow.
        let (mut near, mut open) = (false, false);
        for (at, character) in text.char_indices() {
            let after = at + character.len_utf8();
            words.parts(character, &decomposition, &mut |part| match part {
                Part::Separator => (near, open) = (false, false),
                Part::Word(part) => {
                    if !open {
                        tokens.push(String::new());
                    }
                    let token = tokens.last_mut().unwrap();
                    if character == 'Σ' && sigma::ends_word(&text[..at], &text[after..]) {
                        token.push('ς');
                    } else {
                        token.extend(part.to_lowercase());
                    }
                    (near, open) = (true, true);
                }
                Part::Alone(part) => {
                    tokens.push(part.to_lowercase().collect());
                    (near, open) = (true, false);
                }
                Part::Vowel(part) if near => tokens.last_mut().unwrap().push(part),
                Part::Vowel(_) => {}
            });
        }
        tokens.join(" ")
    }

    fn folded_and_cut(text: &str, words: Words) -> String {
        let (mut out, mut starts) = (Vec::new(), Vec::new());
        let mut scratch = vec![b'x'; 7];
        twinfold_kernels::append_words(
            fold(text, words, &mut scratch),
            false,
            &mut out,
            &mut starts,
        );
        String::from_utf8(out).unwrap().trim_end().to_owned()
    }

    #[test]
    fn every_character_equals_the_definition() {
        for words in [Words::Plain, Words::Unicode] {
            for character in '\0'..=char::MAX {
                for text in [
                    format!("a{character}b\u{93f}"),
                    format!("字{character}\u{93f}c{character}Σ"),
                ] {
                    // Of the planes of private use a part will do.
                    if character < '\u{e_0000}' || u32::from(character) % 31 == 0 {
                        assert_eq!(
                            folded_and_cut(&text, words),
                            by_the_book(&text, words),
                            "{text:?}"
                        );
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn equals_the_definition(
            text in prop::collection::vec(
                prop_oneof![
                    "[a-zA-Z0-9 .,_\n-]{0,70}",
                    "[éÉüßΣσςΆάİıﬁ½ǅÅ\u{2126}\u{1f88}ΑΣ .'·:]{0,9}",
                    "[中文かが\u{3099}ｶﾞＡ１ย คำดีสະບາယောက်្ខ\u{20000}\u{2f800}]{0,9}",
                    "[हिन्दीक्षಕನ್ನಡ한국각\u{1100}\u{1161}\u{11a8}\u{f73}\u{16121}]{0,9}",
                    "[\u{301}\u{345}\u{200b}\u{ad}\u{feff}\u{85}\u{1c}\u{a0}👍①שׁעَي\u{fe0f}\u{10400}\u{1d165}]{0,9}",
                    any::<String>(),
                ],
                0..9,
            ).prop_map(|pieces| pieces.concat())
        ) {
            for words in [Words::Plain, Words::Unicode] {
                prop_assert_eq!(folded_and_cut(&text, words), by_the_book(&text, words));
            }
        }

        #[test]
        fn sigma_is_lowered_as_in_the_standard_library(text in "[ΣαaZ .'·\u{2019}:1ʰǅ中\u{ad}\u{200b}]{0,12}") {
            let lower = text.to_lowercase();
            for ((at, character), expected) in text.char_indices().zip(lower.chars()) {
                if character == 'Σ' {
                    let last = sigma::ends_word(&text[..at], &text[at + 2..]);
                    prop_assert_eq!(last, expected == 'ς');
                }
            }
        }
    }
}
