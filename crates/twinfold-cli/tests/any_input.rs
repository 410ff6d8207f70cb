//! Whatever the input, what has to hold holds: random bytes and texts for the checks that the fuzz
//! targets run with inputs of their own finding.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

#[path = "../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a library where the fuzz targets use it")]
mod checks;
mod common;

use common::corpus::{Numbers, corpus, encode};
use proptest::prelude::*;

/// Bytes of which most matter to a reader of CSV or JSON.
fn bytes(special: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => prop::sample::select(special), 1 => any::<u8>()];
    prop::collection::vec(byte, 0..200)
}

/// Texts of letters, marks, and what nobody sees, of several scripts.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<char>().prop_map(String::from),
        "[ -~]{1,3}",
        prop::sample::select(vec![
            "\u{e9}",
            "e\u{301}",
            "\u{3a3}",
            "\u{c3}\u{a3}",
            "\u{130}",
            "\u{df}",
            "\u{200b}",
            "\u{feff}",
            "\u{ad}",
            "\u{ac00}",
            "\u{1100}\u{1161}",
            "\u{915}\u{94d}\u{937}",
            "\u{e33}",
            "\u{4f60}",
            "\u{ff21}",
            "\u{ff76}\u{ff9e}",
            "\u{1f468}\u{200d}\u{1f469}",
            "\u{fb01}",
            "\u{2126}",
            "\u{345}",
            "\u{1d15e}",
            "\u{a0}",
            "\u{2028}",
            "\u{85}",
            "\u{1c5}",
            "\u{149}",
        ])
        .prop_map(String::from),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn csv_files(bytes in bytes(b"ab,\"\n\r\t \0")) {
        checks::csv(&bytes);
    }

    #[test]
    fn json_files(bytes in bytes(b"{}[]\":,\n\\u0d8 1e-.tnrf")) {
        checks::json_lines(&bytes);
    }

    #[test]
    fn json_values(value in "(null|true|-?[0-9]{1,22}|[0-9]\\.[0-9]e?[0-9]?|\"[a\\\\nu0-9]{0,5}\"|\\[[0-9,]{0,4}\\]|\\{(\"a\":[0-9])?\\})") {
        checks::json_lines(format!("{{\"id\":2,\"text\":\"x\",\"x\":{value}}}\n{{\"id\":{value},\"text\":{value}}}").as_bytes());
    }

    #[test]
    fn parquet_files(bytes in bytes(b"PAR1\0\x15\x19")) {
        checks::parquet(&[b"PAR1", &bytes[..], b"PAR1"].concat());
    }

    #[test]
    fn damaged_files(seed in any::<u64>()) {
        let mut numbers = Numbers(seed);
        for ending in ["parquet", "jsonl.gz", "csv.zst", "jsonl"] {
            let mut bytes = encode(ending, &corpus(8));
            for _ in 0..1 + numbers.below(3) {
                let at = numbers.below(bytes.len());
                bytes[at] = numbers.next() as u8;
            }
            if numbers.below(3) == 0 {
                bytes.truncate(numbers.below(bytes.len()));
            }
            checks::any_file(&format!("x.{ending}"), &bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn texts_of_any_script(text in texts()) {
        checks::text(&text);
    }

    #[test]
    fn keep_rules(text in "([a-z_\"]{1,4}(=\\[[a-z\", \\]]{0,6}\\]?)?( desc| asc)?[, ]{0,2}){0,4}(doc_id)?") {
        checks::keep_rule(&text);
    }

    #[test]
    fn thresholds(text in prop_oneof!["[ +-]?[0-9.]{0,22}([eE][+-]?[0-9]{1,3})?", "[0-9 ]{0,4}/[0-9 ]{0,20}", "0\\.[0-9]{1,18}"]) {
        checks::threshold(&text);
    }

    #[test]
    fn settings_files(lines in prop::collection::vec(setting(), 0..5), noise in "[a-z=\"\\[\\]# ]{0,6}") {
        checks::settings(&lines.join("\n"));
        checks::settings(&(lines.join("\n") + &noise));
    }

    #[test]
    fn any_text_as_anything(text in any::<String>()) {
        checks::text(&text);
        checks::keep_rule(&text);
        checks::threshold(&text);
        checks::settings(&text);
    }
}

/// A line of a `twinfold.toml`, most often a good one.
fn setting() -> impl Strategy<Value = String> {
    let keys = [
        "inputs",
        "out",
        "preset",
        "format",
        "id-column",
        "make-ids",
        "strict",
        "tokenizer",
        "shingle-size",
        "threshold",
        "keep-numbers",
        "candidates",
        "hash-family",
        "hashes",
        "bands",
        "rows",
        "seed",
        "target-recall",
        "block-by",
        "linkage",
        "edges",
        "max-pairs",
        "keep",
        "publish",
        "threads",
        "json",
    ];
    let values = [
        "1",
        "8",
        "64",
        "0.7",
        "\"0.7\"",
        "2.5e-1",
        "true",
        "\"words\"",
        "\"blocking\"",
        "\"lsh\"",
        "\"star\"",
        "\"all\"",
        "\"spanning\"",
        "\"tutorial\"",
        "\"length\"",
        "\"clusters,all\"",
        "[\"a\"]",
        "\"csv\"",
        "\"source=[a,b] desc\"",
        "-1",
        "nan",
        "9223372036854775807",
        "\"2/3\"",
        "\"blake2b\"",
        "\"\"",
    ];
    (
        prop::sample::select(keys.to_vec()),
        prop::sample::select(values.to_vec()),
    )
        .prop_map(|(key, value)| format!("{key} = {value}"))
}

#[test]
fn composed_and_decomposed_spellings() {
    for (composed, decomposed) in [
        ("Caf\u{e9}", "Cafe\u{301}"),
        ("\u{1ed9}", "o\u{323}\u{302}"),
        ("\u{1ed9}", "o\u{302}\u{323}"),
        (
            "\u{ac01} \u{d55c}\u{ae00}",
            "\u{1100}\u{1161}\u{11a8} \u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}",
        ),
        ("\u{212b}\u{2126}", "A\u{30a}\u{3a9}"),
        (
            "\u{39f}\u{394}\u{38c}\u{3a3}",
            "\u{39f}\u{394}\u{39f}\u{301}\u{3a3}",
        ),
        ("\u{929}\u{95c}", "\u{928}\u{93c}\u{921}\u{93c}"),
        ("\u{304c}\u{30d1}", "\u{304b}\u{3099}\u{30cf}\u{309a}"),
        ("\u{0e33}", "\u{0e33}"),
        ("\u{1e9b}\u{323}", "\u{17f}\u{323}\u{307}"),
    ] {
        checks::spellings(composed, decomposed);
    }
}
