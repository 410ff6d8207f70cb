//! The contract on random corpora and random configurations: every tokeniser, every generator,
//! shingles of one to six tokens, thresholds that have no exact binary form.
//!
//! Texts are short and made of few tokens, so that equal sets, repeats, near misses and texts that
//! only NFKC makes equal are common. The oracle and the checks are those of the contract.
#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use twinfold::text::Tokenizer;
use twinfold::{Config, Corpus, Document, Threshold};
use twinfold_testkit::contract::{
    Case, all_generators, clusters, counts, edges, listings, recall, stability,
};

/// Cases for each property, unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 1_500;

fn settings() -> ProptestConfig {
    let standard = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => standard,
        None => ProptestConfig {
            cases: CASES,
            ..standard
        },
    }
}

/// Tokens of several kinds; some are the same to one tokeniser and not to another.
const PIECES: &[&str] = &[
    "a",
    "a",
    "b",
    "b",
    "c",
    "d",
    "A",
    "a.",
    "1",
    "2",
    "10",
    "x_1",
    "fi",
    "ﬁ",
    "①",
    "é",
    "e\u{301}",
    "１",
    "中文",
    "ไทย",
    "हिन्दी",
    "!",
    "?",
    " ",
    "\u{200b}",
    "㎏",
    "kg",
];

/// Texts over a few pieces, so that they have much in common.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let few = prop::sample::subsequence(PIECES, 2..7);
    let choices = (any::<prop::sample::Index>(), 0usize..8);
    let texts = prop::collection::vec(prop::collection::vec(choices, 0..14), 1..10);
    (few, texts).prop_map(|(pieces, texts)| {
        let text = |choices: Vec<(prop::sample::Index, usize)>| {
            let parts = choices.iter().map(|(piece, gap)| {
                let gap = [" ", " ", " ", " ", " ", "  ", "\n", ""][*gap];
                format!("{}{gap}", piece.get(&pieces))
            });
            parts.collect()
        };
        texts.into_iter().map(text).collect()
    })
}

/// Some texts, some of them several times, with columns of few values.
fn corpus() -> impl Strategy<Value = Corpus> {
    let columns = (0usize..3, 0usize..3, 0usize..2);
    let row = (any::<prop::sample::Index>(), columns);
    let rows = (texts(), prop::collection::vec(row, 1..14));
    rows.prop_map(|(texts, rows)| {
        let documents = rows.iter().enumerate();
        let documents = documents.map(|(number, (which, (title, topic, domain)))| {
            Document::new(format!("{number:02}"), which.get(&texts))
                .with("title", ["", "a title", "another one"][*title])
                .with("topic", ["", "rivers", "trains"][*topic])
                .with("domain", ["a.example", "b.example"][*domain])
        });
        Corpus::new(documents.collect()).unwrap()
    })
}

fn config() -> impl Strategy<Value = Config> {
    use Tokenizer::{Chars, Code, Unicode, Words};
    let thresholds = ["0.55", "0.07", "1/3", "0.999", "1.0", "0.7", "2/3", "0.29"];
    (
        prop::sample::select(vec![Unicode, Words, Chars, Code]),
        1usize..=6,
        prop::sample::select(thresholds.to_vec()),
        prop::sample::select(all_generators()),
        any::<bool>(),
    )
        .prop_map(
            |(tokenizer, shingle_size, threshold, generator, keep_numbers)| Config {
                tokenizer,
                shingle_size,
                threshold: threshold.parse::<Threshold>().unwrap(),
                candidates: generator.candidates,
                keep_numbers,
                ..Config::default()
            },
        )
}

/// The check's panic, with the whole of the input, as a failure that can be made smaller.
fn holds(check: fn(&Case), config: Config, corpus: Corpus) -> TestCaseResult {
    let texts: Vec<&str> = corpus.documents().iter().map(|d| d.text.as_str()).collect();
    let name = format!(
        "{:?}, {} by {}, from {}{}, on {texts:?}",
        config.candidates,
        config.tokenizer,
        config.shingle_size,
        config.threshold,
        if config.keep_numbers {
            ", numbers kept"
        } else {
            ""
        },
    );
    check(&Case::new(name, config, corpus));
    Ok(())
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn edges_are_exact(config in config(), corpus in corpus()) {
        holds(edges::are_exact, config, corpus)?;
    }

    #[test]
    fn kept_numbers_forbid_edges(config in config(), corpus in corpus()) {
        holds(edges::keep_numbers, config, corpus)?;
    }

    #[test]
    fn pairs_that_meet_the_rule_are_found(config in config(), corpus in corpus()) {
        holds(edges::meet_the_rule, config, corpus)?;
    }

    #[test]
    fn equal_sets_are_always_found(config in config(), corpus in corpus()) {
        holds(recall::equal_sets_are_always_found, config, corpus)?;
    }

    #[test]
    fn clusters_are_components(config in config(), corpus in corpus()) {
        holds(clusters::are_components, config, corpus)?;
    }

    #[test]
    fn stars_match_directly(config in config(), corpus in corpus()) {
        holds(clusters::stars_match_directly, config, corpus)?;
    }

    #[test]
    fn counts_add_up(config in config(), corpus in corpus()) {
        holds(counts::add_up, config, corpus)?;
    }

    #[test]
    fn spanning_edges_connect_the_same(config in config(), corpus in corpus()) {
        holds(listings::spanning_connects_the_same, config, corpus)?;
    }

    #[test]
    fn budgets_are_kept(config in config(), corpus in corpus()) {
        holds(listings::budget_is_kept, config, corpus)?;
    }

    #[test]
    fn any_order_of_documents_finds_the_same(config in config(), corpus in corpus()) {
        holds(stability::any_order, config, corpus)?;
    }
}
