//! Tokens and shingles once more, in the plainest way.
//!
//! ASCII text is tokenised here; for other text the tokens are those of [`NormalisedText`], whose
//! own tests compare them with their definition.

use std::collections::BTreeSet;

use twinfold::text::{NormalisedText, Tokenizer};

/// Whether a token counts as a number.
pub fn is_number(token: &str) -> bool {
    token.chars().any(char::is_numeric)
}

/// The tokens of a text.
pub fn tokens(text: &str, tokenizer: Tokenizer) -> Vec<String> {
    if !text.is_ascii() {
        let mut normalised = NormalisedText::default();
        normalised.set(text, tokenizer);
        return normalised.tokens().map(str::to_owned).collect();
    }
    let space = |c: char| c.is_ascii_whitespace() || matches!(c, '\u{b}' | '\u{1c}'..='\u{1f}');
    match tokenizer {
        Tokenizer::Words | Tokenizer::Unicode => text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect(),
        Tokenizer::Chars => text
            .chars()
            .filter(|&c| !space(c))
            .map(|c| c.to_ascii_lowercase().to_string())
            .collect(),
        Tokenizer::Code => {
            let mut tokens: Vec<String> = Vec::new();
            let mut inside = false;
            for character in text.chars() {
                let identifier = character.is_ascii_alphanumeric() || character == '_';
                match tokens.last_mut().filter(|_| inside && identifier) {
                    Some(token) => token.push(character),
                    None if space(character) => {}
                    None => tokens.push(character.into()),
                }
                inside = identifier;
            }
            tokens
        }
    }
}

/// The shingles of a text's tokens.
pub fn shingles(tokens: &[String], size: usize) -> BTreeSet<String> {
    match tokens.len() {
        0 => BTreeSet::new(),
        short if short < size => [tokens.join(" ")].into(),
        _ => tokens
            .windows(size)
            .map(|window| window.join(" "))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_of_ascii_are_the_library_s() {
        let text = "Let snake_case = Foo(12)\x0b+ x2;\x1cEnd\x00. A";
        for tokenizer in [
            Tokenizer::Unicode,
            Tokenizer::Words,
            Tokenizer::Chars,
            Tokenizer::Code,
        ] {
            let mut normalised = NormalisedText::default();
            normalised.set(text, tokenizer);
            let library: Vec<&str> = normalised.tokens().collect();
            assert_eq!(tokens(text, tokenizer), library, "{tokenizer}");
        }
    }
}
