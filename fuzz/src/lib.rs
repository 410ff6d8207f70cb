//! What has to hold for any input, one function for each kind of input.
//!
//! The fuzz targets call these with bytes that a fuzzer finds; `tests/any_input.rs` of `twinfold-cli`
//! includes the same file, and calls them with random ones in every test run.

use std::sync::LazyLock;

use twinfold::Threshold;
use twinfold::represent::KeepRule;
use twinfold::text::{NormalisedText, Tokenizer};
use twinfold_io::source::{ColumnNames, Input, Quotes, SourceOptions, Table};

static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .expect("two threads can be started")
});

/// A file called `name` with any bytes in it: read, or refused in one line. Every record is a
/// document or is rejected, and every document can be had with all of its columns.
pub fn any_file(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a small file can be written");
    let read = |make_ids, quotes| {
        let input = Input::open(SourceOptions {
            inputs: vec![path.to_string_lossy().into_owned()],
            columns: ColumnNames::default(),
            make_ids,
            quotes,
            ..SourceOptions::default()
        })?;
        input.read(&POOL, &|_| {}, &|batch| batch.len(), None)
    };
    let csv = name.contains(".csv") || name.contains(".tsv");
    let quotes = [Quotes::Auto, Quotes::Always, Quotes::Never];
    let quotes = &quotes[..if csv { 3 } else { 1 }];
    for (make_ids, quotes) in [true, false]
        .into_iter()
        .flat_map(|make_ids| quotes.iter().map(move |quotes| (make_ids, *quotes)))
    {
        match read(make_ids, quotes) {
            Ok((table, batches)) => {
                assert_eq!(batches.iter().sum::<usize>(), table.len());
                whole(&table);
            }
            Err(error) => {
                let said = error.to_string();
                assert!(!said.contains(['\n', '\r']), "{said}");
                assert!(said.contains(name) || said.starts_with("the id"), "{said}");
                assert!(error.hint().is_none_or(|hint| !hint.contains('\n')));
            }
        }
    }
}

fn whole(table: &Table) {
    assert_eq!(table.read(), (table.len() + table.rejected().len()) as u64);
    assert!(
        table
            .rejected()
            .iter()
            .all(|record| !record.reason.contains(['\n', '\r']))
    );
    assert!((1..table.len()).all(|rank| table.id(rank - 1) < table.id(rank)));
    let all: Vec<u32> = (0..table.len() as u32).collect();
    let rows = table.gather(&all).expect("every document can be had again");
    assert_eq!(rows.num_rows(), table.len());
    for name in table.column_names() {
        let values = table.column_values(&name).expect("a column has values");
        assert_eq!(values.len(), table.len());
    }
}

/// A CSV file: any bytes as they are, and as the rows after a usable header.
pub fn csv(bytes: &[u8]) {
    any_file("x.csv", bytes);
    any_file("x.csv", &[b"id,text,x\n", bytes].concat());
    any_file("x.tsv", &[b"text\tid\n", bytes].concat());
}

/// A JSON Lines file: any bytes as they are, and after a usable line.
pub fn json_lines(bytes: &[u8]) {
    any_file("x.jsonl", bytes);
    any_file(
        "x.jsonl",
        &[b"{\"id\":1,\"text\":\"x\",\"x\":[1]}\n", bytes].concat(),
    );
    any_file("x.jsonl.gz", bytes);
    any_file("x.jsonl.zst", bytes);
}

/// A Parquet file. Its decoder may panic where the file is damaged, and that is caught.
pub fn parquet(bytes: &[u8]) {
    any_file("x.parquet", bytes);
}

/// A text: tokens without white space, one space between each two, the same for composed and
/// decomposed spellings, and the same when it is normalised again.
pub fn text(text: &str) {
    for tokenizer in [
        Tokenizer::Unicode,
        Tokenizer::Words,
        Tokenizer::Chars,
        Tokenizer::Code,
    ] {
        let normalise = |text: &str| {
            let mut normalised = NormalisedText::default();
            normalised.set(text, tokenizer);
            normalised
        };
        let once = normalise(text);
        let tokens: Vec<&str> = once.tokens().collect();
        assert_eq!(tokens.len(), once.token_count());
        assert_eq!(tokens.join(" "), once.as_str());
        for token in &tokens {
            assert!(
                !token.is_empty() && !token.contains(char::is_whitespace),
                "{tokenizer}: {token:?}"
            );
        }
        let again = normalise(once.as_str());
        assert_eq!(
            again.as_str(),
            once.as_str(),
            "{tokenizer}: normalised again"
        );
        let padded = normalise(&format!(" \t\n{text}\u{3000} "));
        assert_eq!(
            padded.as_str(),
            once.as_str(),
            "{tokenizer}: with white space around it"
        );
    }
}

/// A composed and a decomposed spelling of one text.
pub fn spellings(composed: &str, decomposed: &str) {
    for tokenizer in [
        Tokenizer::Unicode,
        Tokenizer::Words,
        Tokenizer::Chars,
        Tokenizer::Code,
    ] {
        let normalise = |text: &str| {
            let mut normalised = NormalisedText::default();
            normalised.set(text, tokenizer);
            normalised.as_str().to_owned()
        };
        assert_eq!(normalise(composed), normalise(decomposed), "{tokenizer}");
    }
}

/// A keep rule: what is read prints as something that reads back as the same.
pub fn keep_rule(text: &str) {
    match text.parse::<KeepRule>() {
        Ok(rule) => {
            let printed = rule.to_string();
            assert_eq!(printed.parse::<KeepRule>().as_ref(), Ok(&rule), "{printed}");
        }
        Err(error) => drop((error.to_string(), error.hint())),
    }
}

/// A threshold: in (0, 1], and what it prints is the same ratio.
pub fn threshold(text: &str) {
    if let Ok(threshold) = text.parse::<Threshold>() {
        let (part, whole) = (threshold.numerator(), threshold.denominator());
        assert!(0 < part && part <= whole);
        assert_eq!(threshold.to_string().parse(), Ok(threshold), "{threshold}");
        assert!(
            threshold.accepts(part, whole) && threshold.accepts(1, 1) && !threshold.accepts(0, 1)
        );
        assert!(!threshold.accepts(part - 1, whole));
        let near = text.trim().parse::<f64>().unwrap_or(threshold.as_f64());
        assert!(
            (threshold.as_f64() - near).abs() <= 1e-15,
            "{text}: {threshold}"
        );
    }
}

/// A `twinfold.toml`: refused in one line, or completed to one that completes to itself.
pub fn settings(text: &str) {
    match twinfold_cli::complete_settings(text) {
        Ok(once) => assert_eq!(
            twinfold_cli::complete_settings(&once),
            Ok(once.clone()),
            "{once}"
        ),
        Err(said) => assert!(!said.contains(['\n', '\r']), "{said}"),
    }
}
