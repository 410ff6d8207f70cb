//! Inputs that users of other tools reported as faults: texts, thresholds and scores.
#![expect(clippy::unwrap_used, reason = "tests")]

use twinfold::config::{Candidates, ConfigError, EdgeListing, Lsh};
use twinfold::edges::Instrument;
use twinfold::sketch::{Banding, BandingError, HashFamily};
use twinfold::text::Tokenizer;
use twinfold::{Config, Corpus, Document, Outcome, Threshold, deduplicate};
use twinfold_testkit::contract::recall::recall_by_similarity;
use twinfold_testkit::contract::{Case, all_generators, check, edges_of, pairs_of};
use twinfold_testkit::planted::{Script, page, pair_at, scripts, sentences};
use twinfold_testkit::random::{FreshWords, Random};

fn corpus(texts: &[impl AsRef<str>]) -> Corpus {
    let document = |(number, text): (usize, &_)| {
        Document::new(format!("{number:06}"), AsRef::<str>::as_ref(text))
    };
    Corpus::new(texts.iter().enumerate().map(document).collect()).unwrap()
}

fn lsh(bands: usize, rows: usize) -> Candidates {
    Candidates::Lsh(Lsh {
        banding: Banding::new(bands, rows, bands * rows).unwrap(),
        ..Lsh::default()
    })
}

fn run(config: &Config, texts: &[impl AsRef<str>]) -> Outcome {
    deduplicate(config, &corpus(texts)).unwrap()
}

fn kept(outcome: &Outcome) -> Vec<u32> {
    (0..outcome.clusters().len() as u32)
        .map(|cluster| outcome.kept(cluster).0)
        .collect()
}

#[test]
fn texts_shorter_than_a_shingle_are_compared_whole() {
    for tokenizer in [Tokenizer::Unicode, Tokenizer::Words, Tokenizer::Code] {
        let config = Config {
            tokenizer,
            ..Config::default()
        };
        let three = run(&config, &["one red cat", "one red dog", "two red cats"]);
        assert_eq!(kept(&three), [0, 1, 2]);
        let animals = run(&config, &["cat", "dog", "cat"]);
        assert_eq!(kept(&animals), [0, 1]);
        assert_eq!(animals.removed()[0].kept.0, 0);
        let long = "a row of an ordinary length among others of its kind";
        let one = run(&config, &["x", long, long, "y"]);
        assert_eq!(kept(&one), [0, 1, 3]);
    }
}

#[test]
fn documents_without_tokens_are_listed_and_match_nothing() {
    let texts = [
        "",
        "",
        " ",
        "\t\r\n",
        "\u{a0}\u{3000}",
        "...",
        "...",
        "!?",
        "—",
        "。、",
        "👍",
        "👍",
        "👩‍👩‍👧🏽",
        "❤️",
        "\u{200b}",
        "\u{feff}",
        "\u{ad}",
        "\u{301}",
        "\0",
    ];
    for tokenizer in [Tokenizer::Unicode, Tokenizer::Words] {
        for shingle_size in [1, 5] {
            let config = Config {
                tokenizer,
                shingle_size,
                ..Config::default()
            };
            let case = Case::new(format!("empties by {tokenizer}"), config, corpus(&texts));
            let outcome = case.run();
            assert_eq!(outcome.sets().empty().len(), texts.len());
            assert_eq!(outcome.clusters().len(), texts.len());
            let counts = outcome.counts();
            assert_eq!(counts.empty_documents, texts.len() as u64);
            let zeros = [
                counts.documents,
                counts.kept,
                counts.removed,
                counts.clusters,
                counts.singletons,
                counts.largest_cluster,
                counts.possible_pairs,
                counts.duplicate_pairs,
            ];
            assert_eq!(zeros, [0; 8]);
            check(&case);
        }
    }
}

#[test]
fn unrelated_sentences_do_not_match_in_any_script() {
    let mut texts: Vec<String> = Vec::new();
    for script in Script::ALL {
        texts.extend(sentences(script).map(String::from));
        let mut random = Random::new(41);
        for phrases in [2, 3, 12, 60] {
            for _ in 0..2 {
                texts.push(page(
                    script,
                    &scripts::phrases(script, &mut random, phrases),
                ));
            }
        }
    }
    for candidates in [Candidates::default(), lsh(60, 1)] {
        let config = Config {
            candidates,
            ..Config::default()
        };
        let outcome = run(&config, &texts);
        assert_eq!(outcome.counts().empty_documents, 0);
        assert_eq!(pairs_of(&outcome), []);
    }
}

#[test]
fn a_long_page_with_one_word_changed_matches_in_every_script() {
    let mut random = Random::new(43);
    for script in Script::ALL {
        let phrases = scripts::phrases(script, &mut random, 160);
        let mut changed = phrases.clone();
        changed[80] = script.stranger();
        let texts = [page(script, &phrases), page(script, &changed)];
        let outcome = run(&Config::default(), &texts);
        let edges = edges_of(&outcome);
        assert_eq!(edges.len(), 1, "{script:?}");
        assert_eq!(edges[0].instrument, Instrument::Shingles, "{script:?}");
        assert!(edges[0].pair.jaccard() < 1.0, "{script:?}");
    }
}

#[test]
fn rows_that_differ_in_a_number_are_counted_and_can_be_kept_apart() {
    let road = |number: usize| {
        format!(
            "Farm to Market Road {number} is a road in county C. It was designated in the fifties and is maintained by the state"
        )
    };
    let rows: Vec<String> = (0..50).map(|n| road(100 + n)).collect();
    for (shingle_size, candidates) in [(1, Candidates::default()), (2, lsh(40, 2))] {
        let config = Config {
            shingle_size,
            candidates,
            ..Config::default()
        };
        let merged = run(&config, &rows);
        assert!(merged.counts().numeric_pairs > 0);
        assert_eq!(merged.counts().numeric_pairs, merged.counts().near_pairs);
        let apart = run(
            &Config {
                keep_numbers: true,
                ..config
            },
            &rows,
        );
        assert_eq!(apart.counts().kept, 50);
        assert_eq!(apart.counts().duplicate_pairs, 0);
        assert_eq!(
            apart.counts().refused_for_numbers,
            Some(merged.counts().near_pairs)
        );
    }
}

/// `cargo test planted_pairs -- --nocapture` prints the tables.
#[test]
fn planted_pairs_are_found_along_the_curve() {
    let mut generators = all_generators();
    generators.retain(|generator| match &generator.candidates {
        Candidates::Lsh(lsh) => lsh.family == HashFamily::Fast,
        Candidates::Lossless => true,
        Candidates::Blocking(_) => false,
    });
    for generator in generators {
        let table = recall_by_similarity(&generator, &[70, 75, 80, 85, 90, 95, 99], 1000, 47);
        println!("{table}");
        table.check();
    }
}

#[test]
fn pairs_below_the_threshold_are_looked_at_and_refused() {
    let mut words = FreshWords::new(53);
    let texts: Vec<String> = (0..1000)
        .map(|_| pair_at(&mut words, 40, 100, 60))
        .flat_map(|pair| [pair.left, pair.right])
        .collect();
    let config = Config {
        candidates: lsh(20, 3),
        ..Config::default()
    };
    let outcome = run(&config, &texts);
    assert!(outcome.counts().scored_class_pairs > 500);
    assert_eq!(outcome.counts().duplicate_pairs, 0);
    assert_eq!(outcome.counts().kept, 2000);
}

#[test]
fn a_threshold_of_one_means_equal_sets() {
    let mut words = FreshWords::new(59);
    let near = pair_at(&mut words, 99, 100, 100);
    let text = words.words(30).join(" ");
    let texts = [near.left, near.right, text.clone(), text.to_uppercase()];
    let config = Config {
        threshold: "1.0".parse().unwrap(),
        candidates: lsh(20, 3),
        ..Config::default()
    };
    assert_eq!(pairs_of(&run(&config, &texts)), [(2, 3)]);
    for text in ["0", "-0.1", "1.01", "70", "NaN", "0.7x", ""] {
        let error = ConfigError::from(text.parse::<Threshold>().unwrap_err());
        let message = error.to_string();
        assert!(
            message.contains("above 0") && message.contains("1"),
            "{text:?}: {message}"
        );
    }
}

#[test]
fn an_edge_carries_the_exact_score_however_rough_the_sketch() {
    let mut words = FreshWords::new(61);
    let percents = [70, 71, 77, 83, 90, 99];
    let pairs: Vec<_> = percents
        .map(|percent| pair_at(&mut words, percent, 100, 60))
        .to_vec();
    let texts: Vec<&str> = pairs
        .iter()
        .flat_map(|pair| [pair.left.as_str(), pair.right.as_str()])
        .collect();
    let config = Config {
        candidates: lsh(12, 1),
        ..Config::default()
    };
    let edges = edges_of(&run(&config, &texts));
    assert_eq!(edges.len(), percents.len());
    for (edge, planted) in edges.iter().zip(&pairs) {
        assert_eq!(edge.pair.intersection as usize, planted.intersection);
        assert_eq!(edge.pair.union as usize, planted.union);
        assert_eq!(edge.pair.jaccard(), planted.jaccard());
    }
}

#[test]
fn a_pair_exactly_at_the_threshold_is_an_edge_and_one_just_below_is_not() {
    for (numerator, denominator) in [(55, 100), (7, 100), (1, 3), (29, 100), (999, 1000)] {
        let mut words = FreshWords::new(67);
        let at = pair_at(&mut words, numerator, denominator, 60);
        // One shingle more on one side: the same intersection over a greater union.
        let below = format!("{} {}", at.right, words.word());
        let config = Config {
            threshold: Threshold::from_ratio(numerator as u64, denominator as u64).unwrap(),
            candidates: lsh(64, 1),
            ..Config::default()
        };
        let outcome = run(&config, &[&at.left, &at.right]);
        assert_eq!(pairs_of(&outcome), [(0, 1)], "{numerator}/{denominator}");
        let outcome = run(&config, &[&at.left, &below]);
        assert_eq!(pairs_of(&outcome), [], "{numerator}/{denominator}");
    }
}

#[test]
fn bands_and_rows_that_do_not_fit_are_refused_and_a_swap_shows() {
    let error = ConfigError::from(Banding::new(10, 7, 64).unwrap_err());
    assert!(matches!(
        error,
        ConfigError::Banding(BandingError::TooFewHashes { .. })
    ));
    assert!(error.to_string().contains("70") && error.hint().unwrap().contains("70"));
    let some = Banding::new(9, 7, 64).unwrap();
    assert_eq!((some.used(), some.hashes()), (63, 64));
    let (wide, swapped) = (
        Banding::new(16, 4, 64).unwrap(),
        Banding::new(4, 16, 64).unwrap(),
    );
    for (wide, swapped) in wide.points().iter().zip(swapped.points()) {
        assert_eq!(wide.similarity, swapped.similarity);
        assert!(wide.similarity == 1.0 || wide.probability > swapped.probability + 0.1);
    }
}

#[test]
fn a_group_of_candidates_is_not_a_cluster() {
    let mut words = FreshWords::new(71);
    let (a, b) = (
        pair_at(&mut words, 80, 100, 60),
        pair_at(&mut words, 80, 100, 60),
    );
    let texts = [a.left, b.left, a.right, b.right];
    let documents = (0..4).map(|n| Document::new(n.to_string(), &texts[n]).with("group", "one"));
    let corpus = Corpus::new(documents.collect()).unwrap();
    for edges in [EdgeListing::All, EdgeListing::Spanning] {
        let config = Config {
            candidates: Candidates::Blocking("group".to_owned().into()),
            edges,
            ..Config::default()
        };
        let outcome = deduplicate(&config, &corpus).unwrap();
        assert_eq!(pairs_of(&outcome), [(0, 2), (1, 3)]);
        assert_eq!(outcome.counts().clusters, 2);
        assert_eq!(outcome.counts().candidate_pairs, 6);
    }
}
