//! Deduplicates documents in memory, without the command: what a program that has its own source
//! of texts does.
//!
//! ```text
//! cargo run --example deduplicate
//! ```

use twinfold::candidates::Guarantee;
use twinfold::config::{Candidates, Lsh};
use twinfold::sketch::Banding;
use twinfold::{Config, Corpus, DocId, Document, Documents, deduplicate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Anything that yields texts will do. Columns other than the text are for the keep rule.
    let notice = "The reading room closes at six on Fridays, and books that were ordered before noon \
                  can be fetched until a quarter to. On other days it stays open until nine, except \
                  in August, when the staff take stock and nobody is let in at all.";
    let corpus = Corpus::new(vec![
        Document::new("notice-2024", notice).with("crawled_at", "2024-05-01"),
        Document::new("notice-2025", notice.replace("August", "July"))
            .with("crawled_at", "2025-05-01"),
        Document::new(
            "menu",
            "Soup of the day, bread from the village oven, and plums.",
        ),
    ])?;

    // Bands and rows that find 99 of 100 pairs at the threshold. The threshold stays the default.
    let banding = Banding::for_recall(0.99, 0.7, Banding::DEFAULT_RECALL_HASHES)?;
    let config = Config {
        candidates: Candidates::Lsh(Lsh {
            banding,
            ..Lsh::default()
        }),
        keep: "crawled_at desc, doc_id".parse()?,
        ..Config::default()
    };
    let outcome = deduplicate(&config, &corpus)?;

    // What was found, and how sure that is.
    if let Guarantee::Probabilistic {
        recall_at_threshold,
        ..
    } = outcome.guarantee()
    {
        println!(
            "{}: recall {recall_at_threshold:.3} at 0.7",
            outcome.generator().name()
        );
    }
    for removed in outcome.removed() {
        println!(
            "{} is removed for {}, which it equals to {:.3}",
            corpus.id(removed.document),
            corpus.id(removed.kept),
            removed.score
        );
    }
    let kept: Vec<&str> = (0..outcome.clusters().len() as u32)
        .map(|cluster| outcome.kept(cluster))
        .map(|document: DocId| corpus.id(document))
        .collect();
    println!("kept: {}", kept.join(", "));
    assert_eq!(kept, ["menu", "notice-2025"]);
    Ok(())
}
