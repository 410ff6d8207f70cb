//! `NaN`, `Infinity` and `-Infinity` in JSON: no JSON, but what Python and pandas write for floats.
//!
//! They are let pass where a value may stand, never in strings or as keys. Before a line is parsed they
//! are masked by numbers of the same length, so that every place in the line keeps its number; what
//! was written is then taken from the line as it was. Cost: a search for the words at memory speed, and
//! a copy of those chunks that have one.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2, memchr3, memmem, memrchr};

const WORDS: [&[u8]; 2] = [b"NaN", b"Infinity"];

/// The text with each of the words masked by a number as long.
pub(super) fn masked(text: &[u8]) -> Cow<'_, [u8]> {
    let mut masked = Cow::Borrowed(text);
    let mut at = 0;
    // Each word is looked for from where it was found last, or a rare one would be looked for in all
    // of the text again and again.
    let mut next = WORDS.map(|word| memmem::find(text, word));
    loop {
        for (next, word) in next.iter_mut().zip(WORDS) {
            if next.is_some_and(|found| found < at) {
                *next = memmem::find(&text[at..], word).map(|step| at + step);
            }
        }
        let Some(found) = next.into_iter().flatten().min() else {
            return masked;
        };
        let start = memrchr(b'\n', &text[at..found]).map_or(at, |step| at + step + 1);
        let end = memchr(b'\n', &text[found..]).map_or(text.len(), |step| found + step);
        for word in words(&text[start..end]) {
            let word = start + word.start..start + word.end;
            // -0e000000 is a number like any other.
            let mask = &mut masked.to_mut()[word];
            let digits = usize::from(mask[0] == b'-');
            mask[digits..].fill(b'0');
            mask[digits + 1] = b'e';
        }
        at = end;
    }
}

/// A JSON value with each of the words in quotes, as the decoder of floats takes them.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    if !WORDS
        .iter()
        .any(|word| memmem::find(text.as_bytes(), word).is_some())
    {
        return Cow::Borrowed(text);
    }
    let (mut quoted, mut at) = (String::new(), 0);
    for word in words(text.as_bytes()) {
        quoted.push_str(&text[at..word.start]);
        quoted.push('"');
        quoted.push_str(&text[word.clone()]);
        quoted.push('"');
        at = word.end;
    }
    quoted.push_str(&text[at..]);
    Cow::Owned(quoted)
}

/// Where the words stand as values in a line.
fn words(line: &[u8]) -> Vec<Range<usize>> {
    let (mut words, mut at) = (Vec::new(), 0);
    while let Some(step) = memchr3(b'"', b'N', b'I', &line[at..]) {
        at += step;
        let rest = &line[at..];
        let length = match rest[0] {
            b'"' => {
                at = string_end(line, at);
                continue;
            }
            _ if rest.starts_with(b"NaN") => 3,
            _ if rest.starts_with(b"Infinity") => 8,
            _ => {
                at += 1;
                continue;
            }
        };
        let end = at + length;
        let signed = length == 8 && line[..at].ends_with(b"-");
        let start = at - usize::from(signed);
        let before = line[..start].trim_ascii_end().last();
        let after = line[end..].trim_ascii_start().first();
        if matches!(before, Some(b':' | b',' | b'[')) && matches!(after, Some(b',' | b'}' | b']')) {
            words.push(start..end);
        }
        at = end;
    }
    words
}

/// The end of the string whose quote stands at `at`.
fn string_end(line: &[u8], mut at: usize) -> usize {
    at += 1;
    loop {
        match memchr2(b'"', b'\\', &line[at.min(line.len())..]) {
            None => return line.len(),
            Some(step) if line[at + step] == b'"' => return at + step + 1,
            Some(step) => at += step + 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(text: &str) -> String {
        let masked = masked(text.as_bytes());
        assert_eq!(masked.len(), text.len());
        String::from_utf8_lossy(&masked).into_owned()
    }

    #[test]
    fn values_are_masked_and_nothing_else() {
        for (text, expected) in [
            (r#"{"a":NaN}"#, r#"{"a":0e0}"#),
            (
                r#"{"a": NaN , "b":Infinity}"#,
                r#"{"a": 0e0 , "b":0e000000}"#,
            ),
            (r#"{"a":[-Infinity, NaN]}"#, r#"{"a":[-0e000000, 0e0]}"#),
            (
                "{\"x\":1}\n{\"a\":NaN}\n\n{\"a\":NaN}",
                "{\"x\":1}\n{\"a\":0e0}\n\n{\"a\":0e0}",
            ),
        ] {
            assert_eq!(mask(text), expected);
            serde_json::Deserializer::from_str(expected)
                .into_iter::<serde_json::Value>()
                .for_each(|value| assert!(value.is_ok(), "{expected}"));
        }
        for text in [
            r#"{"a":"NaN"}"#,
            r#"{"a":"x\",NaN,"}"#,
            r#"{"a":"\\\" : NaN,"}"#,
            r#"{"NaN":1,"Infinity":2}"#,
            r#"{NaN:1}"#,
            r#"{"a":1,NaN:1}"#,
            r#"{"a":NaNs}"#,
            r#"{"a":-NaN}"#,
            r#"{"a":+Infinity}"#,
            r#"{"a":Infinity1}"#,
            r#"{"a":--Infinity}"#,
            "NaN",
            r#"{"a":"NaN"#,
            "{\"a\":\"\\",
            // A string ends with its line.
            "{\"a\":\":\n NaN\"}",
            "",
        ] {
            assert_eq!(mask(text), text);
        }
        // An open string hides what follows on its line, and nothing on the next.
        assert_eq!(
            mask("{\"a\":\",NaN,\n{\"a\":NaN}"),
            "{\"a\":\",NaN,\n{\"a\":0e0}"
        );
        assert_eq!(
            quoted(r#"[NaN,-Infinity,"NaN",{"a":Infinity}]"#),
            r#"["NaN","-Infinity","NaN",{"a":"Infinity"}]"#
        );
    }
}
