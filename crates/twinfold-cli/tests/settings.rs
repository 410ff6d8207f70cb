//! Settings from the command line, a file and a preset: what is written takes effect or is refused.
//!
//! The command line goes over the file, and the file over the preset; a name that does not exist, a
//! number out of range and a setting without a meaning beside the others are refused, with the remedy.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use common::{Bench, document, relations, twinfold};

fn config(arguments: &[&str]) -> toml::Table {
    toml::from_str(&twinfold(&[&["config"], arguments].concat()).success()).unwrap()
}

#[test]
fn a_setting_without_a_meaning_is_refused() {
    let bench = Bench::new();
    let documents = document(&bench);
    let file = bench.write("x.toml", "candidates = \"blocking\"\n");
    for (arguments, said) in [
        (
            &["--block-by", "length", "--candidates", "lsh"][..],
            "block-by has no meaning with candidates lsh",
        ),
        (
            &["--block-by", "length", "--bands", "9"],
            "block-by has no meaning with candidates lsh",
        ),
        (
            &["--bands", "9", "--candidates", "lossless"],
            "bands has no meaning with candidates lossless",
        ),
        (
            &["--candidates", "blocking", "--seed", "1"],
            "seed has no meaning with candidates blocking",
        ),
        (
            &[
                "--config",
                &file,
                "--candidates",
                "lossless",
                "--bands",
                "8",
            ],
            "bands has no meaning",
        ),
        (
            &["--target-recall", "0.9", "--bands", "8"],
            "target-recall chooses bands itself",
        ),
        (&["--threads", "0"], "threads must be 1 to 4096"),
        (
            &["--threads", "9223372036854775807"],
            "threads must be 1 to 4096",
        ),
        (&["--hashes", "63"], "hash values"),
        (&["--seed", "18446744073709551615"], "9223372036854775807"),
        (
            &["--max-pairs", "9223372036854775808"],
            "9223372036854775807",
        ),
        (&["--target-recall", "1"], "above 0 and below 1"),
        (&["--target-recall", "nan"], "above 0 and below 1"),
    ] {
        bench
            .run(&[&documents], "never", arguments)
            .fault_with(&[said]);
        twinfold(&[&["config"], arguments].concat()).fault_with(&[said]);
    }
}

/// The command line goes over the file, and over all of its generator where it chooses another.
#[test]
fn another_generator_on_the_command_line_takes_the_place_of_the_file_s() {
    let bench = Bench::new();
    for first in ["lossless", "lsh", "blocking"] {
        let written = twinfold(&["config", "--candidates", first]).success();
        let file = bench.write("full.toml", &written);
        for (arguments, chosen) in [
            (vec!["--candidates", "lossless"], "lossless"),
            (vec!["--candidates", "lsh"], "lsh"),
            (vec!["--candidates", "blocking"], "blocking"),
            (vec!["--bands", "4"], "lsh"),
            (vec!["--block-by", "length"], "blocking"),
            (vec!["--threshold", "0.8"], first),
        ] {
            let settings = config(&[&["--config", &file], &arguments[..]].concat());
            assert_eq!(
                settings["candidates"].as_str(),
                Some(chosen),
                "{arguments:?}"
            );
        }
    }
}

#[test]
fn unknown_names_are_answered_with_the_names_there_are() {
    for (option, name, known) in [
        ("tokenizer", "word", "words"),
        ("candidates", "minhash", "lsh, blocking"),
        ("hash-family", "sha256", "blake2b"),
        ("linkage", "single", "components"),
        ("edges", "none", "spanning"),
        ("publish", "clutsers", "clusters, duplicate_pairs"),
        ("publish", "clusters,", "duplicate_pairs"),
        ("progress", "sometimes", "auto, always, never"),
        ("format", "json", "csv, parquet and jsonl"),
        ("preset", "default", "tutorial"),
        ("keep", "source=curated", "source=[curated,web]"),
    ] {
        let said = twinfold(&["config", &format!("--{option}={name}")]).fault_with(&[known]);
        assert!(
            said.contains(name.trim_end_matches(',')) || option == "keep",
            "{said}"
        );
    }
    for text in [
        "0", "-0.1", "1.01", "2/1", "0/5", "nan", "inf", "", "70%", "0,7", "0.7f", "1e999",
    ] {
        twinfold(&["config", "--threshold", text]).fault_with(&["threshold", "above 0"]);
    }
    assert_eq!(
        config(&["--threshold", "1"])["threshold"].as_str(),
        Some("1.0")
    );
    assert_eq!(
        config(&["--threshold", "2/3"])["threshold"].as_str(),
        Some("2/3")
    );
    // Options that do not exist at all are the parser's to refuse.
    let said = twinfold(&["run", "--treshold", "0.8", "--progress", "never"]);
    assert_eq!(said.code(), Some(2));
    assert!(said.stderr().contains("--threshold"), "{}", said.stderr());
}

#[test]
fn command_line_over_file_over_preset() {
    let bench = Bench::new();
    let file = bench.write(
        "x.toml",
        "preset = \"tutorial\"\nthreshold = 0.55\nbands = 16\nrows = 4\nkeep-numbers = true\n",
    );
    let settings = config(&[
        "--config",
        &file,
        "--bands",
        "4",
        "--rows",
        "16",
        "--keep-numbers=false",
    ]);
    let text = |key: &str| settings[key].as_str().unwrap().to_owned();
    assert_eq!(settings["bands"].as_integer(), Some(4), "the command line");
    assert_eq!(
        settings["keep-numbers"].as_bool(),
        Some(false),
        "the command line"
    );
    assert_eq!(text("threshold"), "0.55", "the file");
    assert_eq!(text("hash-family"), "blake2b", "the preset");
    assert_eq!(text("publish"), "all", "the preset");
    assert_eq!(
        settings["shingle-size"].as_integer(),
        Some(5),
        "the default"
    );
    assert!(!settings.contains_key("preset"), "it is written out");
    let settings = config(&["--config", &file, "--publish", "release"]);
    assert_eq!(settings["publish"].as_str(), Some("release"));
}

#[test]
fn what_config_prints_gives_the_same_run() {
    let bench = Bench::new();
    let documents = document(&bench);
    for (number, extra) in [
        &[][..],
        &["--preset", "tutorial"],
        &["--target-recall", "0.99", "--threshold", "2/3"],
        &[
            "--candidates",
            "blocking",
            "--block-by",
            "note",
            "--keep",
            "note=[\"a, b\",\"\"], source desc",
        ],
        &[
            "--linkage",
            "star",
            "--publish",
            "clusters,scored_pairs",
            "--tokenizer",
            "code",
        ],
    ]
    .iter()
    .enumerate()
    {
        let printed = twinfold(&[&["config", &documents, "--quiet"], *extra].concat()).success();
        let file = bench.write(&format!("{number}.toml"), &printed);
        let again = twinfold(&["config", "--config", &file]).success();
        assert_eq!(printed, again);
        let (first, second) = (format!("{number}-first"), format!("{number}-second"));
        bench
            .run(&[&documents], &first, &[&["--quiet"], *extra].concat())
            .success();
        bench.run(&[], &second, &["--config", &file]).success();
        common::assert_same(
            &relations(&bench.path(&second)),
            &relations(&bench.path(&first)),
            "the same run",
        );
    }
}

#[test]
fn faults_of_a_file_name_it_and_the_line() {
    let bench = Bench::new();
    for (text, said) in [
        (
            "treshold = 0.8\n",
            &["\"treshold\"", "did you mean \"threshold\"?"][..],
        ),
        ("threshold = 0.7\n\nbands = \"x\"\n", &["line 3"]),
        (
            "seed = 99_999_999_999_999_999_999\n",
            &["line 1", "9223372036854775807"],
        ),
        ("inputs = [\n\"a\",\n1]\n", &["line 1", "a list with 1"]),
        ("threshold = \n", &["line 1"]),
        (
            "threshold = 0.7\nthreshold = 0.8\n",
            &["line 2", "duplicate"],
        ),
        ("threshold = 1.5\n", &["1.5", "out of range"]),
        ("threshold = true\n", &["line 1"]),
        ("[run]\nthreshold = 0.7\n", &["\"run\""]),
        ("keep_numbers = true\n", &["did you mean \"keep-numbers\"?"]),
        ("seed = -1\n", &["line 1"]),
        ("inputs = \"one\"\n", &["line 1"]),
        ("publish = \"help\"\n", &["help", "clusters"]),
        ("\u{0}", &["line 1"]),
    ] {
        let file = bench.write("x.toml", text);
        let fault = twinfold(&["config", "--config", &file]).fault_with(said);
        assert!(
            fault.contains("x.toml") || text.contains("1.5") || text.contains("help"),
            "{fault}"
        );
    }
    bench.write("x.toml", [0xff, 0xfe]);
    twinfold(&["config", "--config", &bench.name("x.toml")]).fault_with(&["x.toml"]);
    twinfold(&["config", "--config", &bench.name("absent.toml")]).fault_with(&["absent.toml"]);
    // A file may say everything, the inputs and the output too.
    let documents = document(&bench);
    let out = bench.name("by-file");
    let file = bench.write(
        "x.toml",
        format!("inputs = [{documents:?}]\nout = {out:?}\nquiet = true\nthreshold = 1\nseed = 7\n"),
    );
    assert_eq!(twinfold(&["run", "--config", &file]).success(), "");
    twinfold(&["verify", &out]).success();
}

/// Every setting, given a value of every kind that TOML has: what it cannot be is refused in words,
/// with file, line and key, and never in those of the program's own types.
#[test]
fn a_value_of_another_kind_is_refused_in_words() {
    let bench = Bench::new();
    let values = [
        ("\"x\"", "text"),
        ("-1", "negative"),
        ("3", "whole"),
        ("0.5", "number"),
        ("true", "switch"),
        ("[\"x\"]", "texts"),
        ("[1]", "list"),
        ("1979-05-27", "date"),
        ("{ a = 1 }", "table"),
    ];
    let help = twinfold(&["run", "--help"]).success();
    let mut keys: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().split_once("--"))
        .filter(|(before, _)| before.is_empty() || *before == "-q, ")
        .map(|(_, option)| option.split([' ', '[', '=']).next().unwrap())
        .filter(|key| !["help", "config", "version"].contains(key))
        .collect();
    keys.push("inputs");
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys {
        let (fits, expected): (&[&str], &str) = match key {
            "shingle-size" | "hashes" | "bands" | "rows" | "seed" | "max-pairs" | "threads" => {
                (&["whole"], "a whole number, 0 or more")
            }
            "target-recall" => (&["negative", "whole", "number"], "a number, such as 0.99"),
            "make-ids" | "strict" | "keep-numbers" | "overwrite" | "quiet" | "json" | "resume" => {
                (&["switch"], "true or false")
            }
            "threshold" => (
                &["text", "negative", "whole", "number"],
                "a decimal such as 0.7, or a text",
            ),
            "inputs" => (&["texts"], "a list of texts"),
            _ => (&["text"], "a text in quotes"),
        };
        for (value, kind) in values {
            let file = bench.write("x.toml", format!("# settings\n{key} = {value}\n"));
            let run = twinfold(&["config", "--config", &file]);
            if fits.contains(&kind) {
                // It may still be out of range, or without a meaning beside the others.
                let refused = format!("{key} must be {expected}");
                assert!(!run.stderr().contains(&refused), "{}", run.stderr());
                continue;
            }
            let said = run.fault_with(&["x.toml, line 2: ", &format!("{key} must be {expected}")]);
            for word in [
                "usize",
                "u64",
                "f64",
                "i64",
                "boolean",
                "invalid type",
                "sequence",
            ] {
                assert!(!said.contains(word), "{said}");
            }
        }
    }
}

#[test]
fn a_number_on_the_command_line_says_what_is_allowed() {
    for option in [
        "shingle-size",
        "hashes",
        "bands",
        "rows",
        "seed",
        "max-pairs",
        "threads",
    ] {
        for number in ["-1", "1.5", "x", "", "1e3", "99999999999999999999"] {
            for arguments in [
                vec![format!("--{option}={number}")],
                vec![format!("--{option}"), number.to_owned()],
            ] {
                let mut command = vec!["config"];
                command.extend(arguments.iter().map(String::as_str));
                let run = twinfold(&command);
                let said = run.stderr();
                assert_eq!(run.code(), Some(2), "{said}");
                assert!(
                    said.contains(&format!("--{option}"))
                        && said.contains("a whole number, 0 or more")
                        && !said.contains("-- -1"),
                    "{said}"
                );
            }
        }
    }
}
