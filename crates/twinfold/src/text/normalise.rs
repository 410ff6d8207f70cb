//! Normalised text and its tokens.
//!
//! The normalised text is the tokens, one space between each two. How a text becomes tokens is the
//! tokeniser's business:
//!
//! | tokeniser | tokens |
//! |---|---|
//! | `words` | NFD; accents (combining class not 0) dropped; lower case; runs of letters and numbers. A mark that is not an accent separates, which takes Indic words apart |
//! | `unicode` | as `words`, but the vowel signs of a script stay in their words, each character of a script without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar) is a token, characters that nobody sees (zero-width, soft hyphen, byte order mark) are dropped, and full-width and half-width forms become the usual ones |
//! | `chars` | NFC, lower case; every character that is neither white space nor invisible |
//! | `code` | NFC; identifiers and numbers (letters, numbers, marks, `_`), and every other character that isn't white space, alone |
//!
//! Canonical decomposition is taken one character at a time. That equals NFD here, because the
//! only thing that NFD adds is the order of accents, and all accents are dropped.
//!
//! Cost: one pass. `words` and `unicode` first fold what is not ASCII, one look into a table for each
//! character, and then cut the whole with a kernel of [`twinfold_kernels`].

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use icu_normalizer::ComposingNormalizer;
use serde::{Deserialize, Serialize};
use twinfold_kernels::append_words;

use super::classes::{Class, character_at, class, is_quickly_nfc, properties};
use super::fold::{Words, fold};

/// How a text is cut into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// Words of every script; characters where a script writes no spaces. The default.
    #[default]
    Unicode,
    /// The original tutorial's words: runs of letters and numbers.
    Words,
    /// Single characters, for very short or noisy text.
    Chars,
    /// Identifiers, numbers and punctuation, in their case.
    Code,
}

/// The name of a tokeniser that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a tokenizer: there are unicode, words, chars and code")]
pub struct UnknownTokenizer {
    /// What was written.
    pub name: String,
}

impl FromStr for Tokenizer {
    type Err = UnknownTokenizer;

    fn from_str(name: &str) -> Result<Self, UnknownTokenizer> {
        Ok(match name {
            "unicode" => Self::Unicode,
            "words" => Self::Words,
            "chars" => Self::Chars,
            "code" => Self::Code,
            _ => return Err(UnknownTokenizer { name: name.into() }),
        })
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unicode => "unicode",
            Self::Words => "words",
            Self::Chars => "chars",
            Self::Code => "code",
        })
    }
}

/// A normalised text with the place of each token. Reused from text to text, so that a run does
/// not allocate for each document.
#[derive(Clone, Debug, Default)]
pub struct NormalisedText {
    /// Valid UTF-8: ASCII bytes and whole characters are all that is ever pushed.
    text: Vec<u8>,
    starts: Vec<usize>,
    /// Scratch space for text that is not ASCII.
    folded: Vec<u8>,
}

impl NormalisedText {
    /// Normalises `text`, in place of what was here.
    pub fn set(&mut self, text: &str, tokenizer: Tokenizer) {
        self.text.clear();
        self.starts.clear();
        match tokenizer {
            Tokenizer::Unicode => self.set_words(text, Words::Unicode),
            Tokenizer::Words => self.set_words(text, Words::Plain),
            Tokenizer::Chars => self.set_chars(text),
            Tokenizer::Code => self.set_code(text),
        }
    }

    /// The normalised text: the tokens, one space between each two.
    pub fn as_str(&self) -> &str {
        // Checked once for each use of the whole text, which only publishing makes.
        std::str::from_utf8(&self.text).expect("only whole characters are pushed")
    }

    /// The bytes of the normalised text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The number of tokens.
    pub fn token_count(&self) -> usize {
        self.starts.len()
    }

    /// The byte at which token `index` begins.
    pub fn token_start(&self, index: usize) -> usize {
        self.starts[index]
    }

    /// The byte at which each token begins.
    pub(super) fn token_starts(&self) -> &[usize] {
        &self.starts
    }

    /// The bytes of the tokens `first..first + count`, with the spaces between them.
    pub fn window(&self, first: usize, count: usize) -> &[u8] {
        let end = match self.starts.get(first + count) {
            Some(next) => next - 1,
            None => self.text.len(),
        };
        &self.text[self.starts[first]..end]
    }

    /// The tokens in order.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        (0..self.token_count()).map(|index| {
            std::str::from_utf8(self.window(index, 1)).expect("tokens hold whole characters")
        })
    }

    fn set_words(&mut self, text: &str, words: Words) {
        let bytes = if text.is_ascii() {
            text.as_bytes()
        } else {
            fold(text, words, &mut self.folded)
        };
        append_words(bytes, false, &mut self.text, &mut self.starts);
        if self.text.last() == Some(&b' ') {
            self.text.pop();
        }
    }

    fn set_chars(&mut self, text: &str) {
        let text = in_nfc(text);
        // The standard library knows how a capital sigma is lower-cased by its neighbours.
        let text = if text.contains('Σ') {
            Cow::Owned(text.to_lowercase())
        } else {
            text
        };
        let mut tokens = Tokens::new(self, text.len());
        let mut at = 0;
        while let Some(&byte) = text.as_bytes().get(at) {
            if byte.is_ascii() {
                let visible = ASCII[usize::from(byte)] & VISIBLE;
                tokens.put([byte.to_ascii_lowercase(), 0, 0, 0], visible, visible);
                at += 1;
                continue;
            }
            let character = character_at(text.as_bytes(), at);
            at += character.len_utf8();
            let known = properties(character);
            if known.is_lower() {
                if !matches!(known.class(), Class::Space | Class::Ignorable) {
                    tokens.put_character(character, 1);
                }
                continue;
            }
            for lower in character.to_lowercase() {
                if !matches!(class(lower), Class::Space | Class::Ignorable) {
                    tokens.make_room();
                    tokens.put_character(lower, 1);
                }
            }
        }
        tokens.finish();
    }

    fn set_code(&mut self, text: &str) {
        let text = in_nfc(text);
        let mut tokens = Tokens::new(self, text.len());
        let mut inside = 0;
        let mut at = 0;
        while let Some(&byte) = text.as_bytes().get(at) {
            if byte.is_ascii() {
                let known = ASCII[usize::from(byte)];
                let identifier = known >> 1;
                tokens.put(
                    [byte, 0, 0, 0],
                    known & VISIBLE,
                    known & !(identifier & inside) & 1,
                );
                inside = identifier;
                at += 1;
                continue;
            }
            let character = character_at(text.as_bytes(), at);
            at += character.len_utf8();
            let identifier = match class(character) {
                Class::Space => {
                    inside = 0;
                    continue;
                }
                Class::Word | Class::Alone => 1,
                Class::Vowel | Class::Accent | Class::Ignorable => inside,
                Class::Other => 0,
            };
            tokens.put_character(character, 1 - (identifier & inside));
            inside = identifier;
        }
        tokens.finish();
    }
}

/// The bits of an ASCII character: it is not white space; it may stand in an identifier, too.
const VISIBLE: u8 = 1;
const IDENTIFIER: u8 = 2;

static ASCII: [u8; 128] = {
    let mut table = [VISIBLE; 128];
    let mut byte = 0;
    while byte < 128 {
        if matches!(byte as u8, 9..=13 | 28..=32) {
            table[byte] = 0;
        } else if (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' {
            table[byte] = VISIBLE | IDENTIFIER;
        }
        byte += 1;
    }
    table
};

/// Writes the tokens of a text whose length is known, without a branch that depends on them: what
/// is written counts only once the end moves past it.
struct Tokens<'a> {
    text: &'a mut Vec<u8>,
    starts: &'a mut Vec<usize>,
    end: usize,
    count: usize,
}

impl<'a> Tokens<'a> {
    /// A writer for a text of so many bytes, which replaces what is in `normalised`.
    fn new(normalised: &'a mut NormalisedText, bytes: usize) -> Self {
        let NormalisedText { text, starts, .. } = normalised;
        // Each character and a space, at most.
        text.resize(2 * bytes + 8, 0);
        starts.resize(bytes + 1, 0);
        Self {
            text,
            starts,
            end: 0,
            count: 0,
        }
    }

    /// Writes the first `length` of the bytes, after a space if they are the `first` (0 or 1) of a
    /// token.
    #[inline]
    fn put(&mut self, bytes: [u8; 4], length: u8, first: u8) {
        self.text[self.end] = b' ';
        self.end += usize::from(first & u8::from(self.end > 0));
        self.text[self.end..self.end + 4].copy_from_slice(&bytes);
        self.starts[self.count] = self.end;
        self.count += usize::from(first);
        self.end += usize::from(length);
    }

    /// Makes room for a character that the text's length does not account for.
    fn make_room(&mut self) {
        self.text.resize(self.text.len() + 8, 0);
        self.starts.resize(self.starts.len() + 1, 0);
    }

    fn put_character(&mut self, character: char, first: u8) {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        self.put(bytes, length as u8, first);
    }

    fn finish(self) {
        self.text.truncate(self.end);
        self.starts.truncate(self.count);
    }
}

fn in_nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_quickly_nfc(text) {
        Cow::Borrowed(text)
    } else {
        ComposingNormalizer::new_nfc().normalize(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icu_normalizer::DecomposingNormalizer;
    use proptest::prelude::*;

    fn normalise(text: &str, tokenizer: Tokenizer) -> String {
        let mut normalised = NormalisedText::default();
        normalised.set(text, tokenizer);
        let from_tokens: Vec<&str> = normalised.tokens().collect();
        assert_eq!(normalised.as_str(), from_tokens.join(" "));
        assert!(
            from_tokens
                .iter()
                .all(|token| !token.is_empty() && !token.contains(' '))
        );
        normalised.as_str().to_owned()
    }

    /// The definition of `words`, step by step on the whole text.
    fn words_by_the_book(text: &str) -> String {
        let lower = DecomposingNormalizer::new_nfd()
            .normalize(text)
            .chars()
            .filter(|&c| class(c) != Class::Accent)
            .collect::<String>()
            .to_lowercase();
        lower
            .split(|c: char| !matches!(class(c), Class::Word | Class::Alone))
            .filter(|token| !token.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn words_take_apart_what_unicode_keeps() {
        let hindi = "हिन्दी भाषा";
        assert_eq!(normalise(hindi, Tokenizer::Words), "ह नद भ ष");
        assert_eq!(normalise(hindi, Tokenizer::Unicode), "हिनदी भाषा");
    }

    #[test]
    fn unicode_makes_characters_of_scripts_without_spaces_tokens() {
        assert_eq!(
            normalise("中文abc 12字", Tokenizer::Unicode),
            "中 文 abc 12 字"
        );
        assert_eq!(normalise("ราคา ดี", Tokenizer::Unicode), "ร า ค า ดี");
    }

    #[test]
    fn unicode_drops_what_nobody_sees() {
        let plain = normalise("zero width mark cafe Full 12", Tokenizer::Unicode);
        for text in [
            "\u{feff}zero width mark cafe Full 12",
            "ze\u{ad}ro wi\u{200b}dth ma\u{feff}rk cafe\u{301} Full 12",
            "zero width mark caf\u{e9} Ｆｕｌｌ　１２",
        ] {
            assert_eq!(normalise(text, Tokenizer::Unicode), plain, "{text:?}");
        }
    }

    #[test]
    fn what_has_no_letters_is_empty() {
        for text in [
            "",
            " \t\n",
            "!!! --- ...",
            "👍🏽 🎉 ❤️",
            "\u{200b}\u{feff}",
            "©®™",
            "\u{301}\u{301}",
            "＊！",
        ] {
            assert_eq!(normalise(text, Tokenizer::Unicode), "", "{text:?}");
            assert_eq!(normalise(text, Tokenizer::Words), "", "{text:?}");
        }
    }

    #[test]
    fn code_keeps_case_and_punctuation() {
        assert_eq!(
            normalise("let snake_case = Foo(12) + x2;", Tokenizer::Code),
            "let snake_case = Foo ( 12 ) + x2 ;"
        );
    }

    #[test]
    fn chars_are_single() {
        assert_eq!(normalise("Ab c!", Tokenizer::Chars), "a b c !");
    }

    #[test]
    fn names_read_back() {
        for tokenizer in [
            Tokenizer::Unicode,
            Tokenizer::Words,
            Tokenizer::Chars,
            Tokenizer::Code,
        ] {
            assert_eq!(tokenizer.to_string().parse(), Ok(tokenizer));
        }
        assert!("Words".parse::<Tokenizer>().is_err());
    }

    proptest! {
        #[test]
        fn words_equal_the_definition(text in "[a-zA-Z0-9 .,_\\-éÉüßΣσİıﬁ½中文かがคำดีहिन्दी한국\u{301}\u{200b}\u{85}\u{1c}👍①Å]{0,60}") {
            prop_assert_eq!(normalise(&text, Tokenizer::Words), words_by_the_book(&text));
        }

        #[test]
        fn chars_and_code_equal_the_definition(
            text in "[a-zA-Z0-9 .,_\n-]{0,30}[Ⱥİ]{0,20}[éΣςİȺﬁ½中が\u{3099}ｶดำ한\u{1100}\u{1161}हि\u{94d}\u{93c}\u{301}\u{323}\u{200b}\u{85}\u{1c}👍 a_.]{0,30}"
        ) {
            let nfc = ComposingNormalizer::new_nfc().normalize(&text).into_owned();
            let visible = |c: &char| !matches!(class(*c), Class::Space | Class::Ignorable);
            let chars: Vec<String> =
                nfc.to_lowercase().chars().filter(visible).map(String::from).collect();
            prop_assert_eq!(normalise(&text, Tokenizer::Chars), chars.join(" "));
            let mut code: Vec<String> = Vec::new();
            let mut inside = false;
            for character in nfc.chars() {
                let identifier = match class(character) {
                    Class::Space => {
                        inside = false;
                        continue;
                    }
                    Class::Word | Class::Alone => true,
                    Class::Vowel | Class::Accent | Class::Ignorable => inside,
                    Class::Other => character == '_',
                };
                if !(identifier && inside) {
                    code.push(String::new());
                }
                code.last_mut().unwrap().push(character);
                inside = identifier;
            }
            prop_assert_eq!(normalise(&text, Tokenizer::Code), code.join(" "));
        }

        #[test]
        fn words_equal_the_definition_on_anything(text in any::<String>()) {
            prop_assert_eq!(normalise(&text, Tokenizer::Words), words_by_the_book(&text));
        }

        #[test]
        fn unicode_equals_words_where_scripts_write_spaces(text in "[a-zA-Z0-9 .,_\\-éÉüßΣσıπжЖЁعربحבּ한국Ωñ]{0,60}") {
            prop_assert_eq!(normalise(&text, Tokenizer::Unicode), normalise(&text, Tokenizer::Words));
        }

        #[test]
        fn spelling_in_nfc_or_nfd_does_not_matter(text in any::<String>()) {
            let nfc = ComposingNormalizer::new_nfc().normalize(&text).into_owned();
            let nfd = DecomposingNormalizer::new_nfd().normalize(&text).into_owned();
            for tokenizer in [Tokenizer::Unicode, Tokenizer::Words, Tokenizer::Chars, Tokenizer::Code] {
                prop_assert_eq!(normalise(&nfc, tokenizer), normalise(&nfd, tokenizer));
            }
        }

        #[test]
        fn a_long_run_equals_its_parts(parts in prop::collection::vec("[a-c é中.]{0,9}", 0..9)) {
            let whole = parts.join(" ");
            let joined = parts.iter().map(|part| normalise(part, Tokenizer::Unicode)).filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(normalise(&whole, Tokenizer::Unicode), joined);
        }
    }
}
