//! Uses the stages one by one: fingerprints made by hand, as a program that streams texts would
//! make them, and the candidate generator asked for its slots before anything is paired.
//!
//! ```text
//! cargo run --example generator
//! ```

use twinfold::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
use twinfold::pipeline::{self, Options, Unobserved};
use twinfold::sets::ShingleSets;
use twinfold::{Config, Corpus, DocId, Document, Room, candidates};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = |number: u32| {
        format!(
            "Bus line {number} runs every quarter of an hour from the station to the lake and back, \
             on Sundays every half hour, and not at all on the first of May, when the drivers march"
        )
    };
    let corpus = Corpus::new(
        (1..=20)
            .map(|n| Document::new(format!("line-{n:02}"), line(n)))
            .collect(),
    )?;
    let config = Config::default();

    // One fingerprinter for each thread; here there is one. The texts can be let go afterwards.
    let mut fingerprinter = Fingerprinter::new(&config);
    let (seen, mut batch) = (SeenTexts::new(), FingerprintBatch::default());
    for document in corpus.documents() {
        fingerprinter.push(&document.text, &seen, &mut batch);
    }
    let sets = ShingleSets::new(
        &config,
        vec![batch],
        corpus.documents().len(),
        |d: DocId| (0, d.index()),
    );

    // What a join would cost is known before it runs.
    let generator = candidates::generator(&config, &sets, &corpus, &Room::default())?;
    println!(
        "{} would look at {} slots",
        generator.name(),
        generator.slots().slots
    );

    let outcome = pipeline::run(&config, &corpus, sets, Options::default(), &Unobserved)?;
    let counts = outcome.counts();
    println!(
        "{} edges, {} of them between texts that differ in numbers only",
        counts.duplicate_pairs, counts.numeric_pairs
    );
    assert_eq!(counts.duplicate_pairs, counts.numeric_pairs);
    Ok(())
}
