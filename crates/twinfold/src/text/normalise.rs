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
//! Cost: one pass. Runs of ASCII take a kernel of [`twinfold_kernels`];
//! other characters take a decomposition and a look into the table of classes.

use std::fmt;
use std::str::FromStr;

use icu_normalizer::properties::{
    CanonicalDecomposition, CanonicalDecompositionBorrowed, Decomposed,
};
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use serde::{Deserialize, Serialize};
use twinfold_kernels::{append_words, ascii_prefix};

use super::classes::{Class, class, is_white_space};

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
}

impl NormalisedText {
    /// Normalises `text`, in place of what was here.
    pub fn set(&mut self, text: &str, tokenizer: Tokenizer) {
        self.text.clear();
        self.starts.clear();
        match tokenizer {
            Tokenizer::Unicode => self.set_words(text, true),
            Tokenizer::Words => self.set_words(text, false),
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

    fn set_words(&mut self, text: &str, unicode: bool) {
        // A capital sigma is lower-cased by its neighbours: only the standard library's function
        // for whole texts knows how, and it wants the accents gone first.
        let without_accents: String;
        let mut text = text;
        if text.contains('Σ') {
            without_accents = DecomposingNormalizer::new_nfd()
                .normalize(text)
                .chars()
                .filter(|&c| class(c) != Class::Accent)
                .collect::<String>()
                .to_lowercase();
            text = &without_accents;
        }
        let mut state = Words {
            out: self,
            unicode,
            previous: Previous::Separator,
            decomposition: CanonicalDecomposition::new(),
        };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let ascii = ascii_prefix(&bytes[at..]);
            if ascii > 0 {
                state.ascii(&bytes[at..at + ascii]);
                at += ascii;
            }
            let rest = &text[at..];
            let other = rest
                .bytes()
                .position(|b| b.is_ascii())
                .unwrap_or(rest.len());
            for character in rest[..other].chars() {
                state.character(character);
            }
            at += other;
        }
    }

    fn set_chars(&mut self, text: &str) {
        let text = ComposingNormalizer::new_nfc().normalize(text);
        for character in text.to_lowercase().chars() {
            match class(character) {
                Class::Space | Class::Ignorable => {}
                _ => self.push_token(character),
            }
        }
    }

    fn set_code(&mut self, text: &str) {
        let text = ComposingNormalizer::new_nfc().normalize(text);
        let mut inside = false;
        for character in text.chars() {
            let identifier = match class(character) {
                Class::Space => {
                    inside = false;
                    continue;
                }
                Class::Word | Class::Alone => true,
                Class::Vowel | Class::Accent | Class::Ignorable => inside,
                Class::Other => character == '_',
            };
            if identifier && inside {
                self.push(character);
            } else {
                self.push_token(character);
            }
            inside = identifier;
        }
    }

    fn push(&mut self, character: char) {
        if character.is_ascii() {
            self.text.push(character as u8);
        } else {
            self.text
                .extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    fn push_token(&mut self, character: char) {
        self.start_token();
        self.push(character);
    }

    fn start_token(&mut self) {
        if !self.text.is_empty() {
            self.text.push(b' ');
        }
        self.starts.push(self.text.len());
    }
}

/// What the character before was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Previous {
    Separator,
    Word,
    Alone,
}

/// The tokenisers `words` and `unicode`, character by character.
struct Words<'a> {
    out: &'a mut NormalisedText,
    unicode: bool,
    previous: Previous,
    decomposition: CanonicalDecompositionBorrowed<'static>,
}

impl Words<'_> {
    fn ascii(&mut self, bytes: &[u8]) {
        let NormalisedText { text, starts } = &mut *self.out;
        let in_word = self.previous == Previous::Word;
        if !in_word && !text.is_empty() {
            text.push(b' ');
        }
        self.previous = if append_words(bytes, in_word, text, starts) {
            Previous::Word
        } else {
            Previous::Separator
        };
        self.trim_separator();
    }

    /// Between calls the text never ends in a space: a later token writes its own.
    fn trim_separator(&mut self) {
        if self.out.text.last() == Some(&b' ') {
            self.out.text.pop();
        }
    }

    fn character(&mut self, character: char) {
        match self.decomposition.decompose(character) {
            Decomposed::Default => self.decomposed(character),
            Decomposed::Singleton(single) => self.character(single),
            Decomposed::Expansion(first, second) => {
                self.character(first);
                self.character(second);
            }
        }
    }

    fn decomposed(&mut self, character: char) {
        if self.unicode && ('\u{ff00}'..='\u{ffef}').contains(&character) {
            return self.width_form(character);
        }
        match class(character) {
            Class::Accent => {}
            Class::Ignorable if self.unicode => {}
            Class::Vowel if self.unicode && self.previous != Previous::Separator => {
                self.out.push(character);
            }
            Class::Word => self.word(character),
            Class::Alone if self.unicode => {
                self.out.push_token(character);
                self.previous = Previous::Alone;
            }
            Class::Alone => self.word(character),
            Class::Other | Class::Space | Class::Vowel | Class::Ignorable => {
                self.previous = Previous::Separator;
            }
        }
    }

    fn word(&mut self, character: char) {
        if self.previous != Previous::Word {
            self.out.start_token();
        }
        self.previous = Previous::Word;
        for lower in character.to_lowercase() {
            self.out.push(lower);
        }
    }

    /// Full-width and half-width forms are the same characters to a reader.
    fn width_form(&mut self, character: char) {
        let mut buffer = [0; 4];
        let folded = DecomposingNormalizer::new_nfkd()
            .normalize(character.encode_utf8(&mut buffer))
            .chars()
            .collect::<Vec<char>>();
        for character in folded {
            if is_white_space(character) {
                self.previous = Previous::Separator;
            } else if ('\u{ff00}'..='\u{ffef}').contains(&character) {
                // Half-width symbols without an equivalent.
                if class(character) != Class::Ignorable {
                    self.previous = Previous::Separator;
                }
            } else {
                self.decomposed(character);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
