//! Each stage by itself on one thread, and the whole run on all of them.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use twinfold::exact::exact_text;
use twinfold::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
use twinfold::pipeline::{self, Options, Unobserved};
use twinfold::sets::ShingleSets;
use twinfold::sketch::Sketcher;
use twinfold::text::{NormalisedText, Tokenizer, append_shingle_hashes, shingle_hash, shingles};
use twinfold::{Config, DocId};
use twinfold_io::publish::{OutputFolder, Publication, PublishSet, publish};
use twinfold_io::source::{Input, SourceOptions, Table};

use crate::corpus;
use crate::once::peak_memory_kilobytes;

type Outcome = Result<(), Box<dyn Error>>;

/// The text of a corpus in documents and megabytes, which rates are given in.
struct Scale {
    documents: f64,
    megabytes: f64,
}

impl Scale {
    fn print(&self, stage: &str, seconds: f64) {
        println!(
            "{stage:<34} {seconds:>9.3} s {:>12.0} documents/s {:>9.1} MB/s",
            self.documents / seconds,
            self.megabytes / seconds
        );
    }
}

pub(crate) fn run(input: Option<PathBuf>, threads: usize, repeat: usize) -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = match input {
        Some(path) => path,
        None => default_corpus(folder.path())?,
    };
    println!(
        "input {}, {threads} threads, medians of {repeat} runs",
        path.display()
    );
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let open = || {
        Input::open(SourceOptions {
            inputs: vec![path.to_string_lossy().into_owned()],
            ..SourceOptions::default()
        })
    };
    let input = open()?;
    let (table, _) = input.read(&pool, &|_| {}, &|_| (), None)?;
    let texts: Vec<_> = (0..table.len()).map(|rank| table.text(rank)).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let scale = Scale {
        documents: texts.len() as f64,
        megabytes: texts.iter().map(|text| text.len()).sum::<usize>() as f64 / 1e6,
    };
    println!(
        "{} documents, {:.1} MB of text\n\none thread:",
        texts.len(),
        scale.megabytes
    );
    single_stages(&texts, &scale, repeat);
    scale.print(
        "read",
        median(repeat, || {
            let read = input.read(&one, &|_| {}, &|_| (), None);
            black_box(read.map(|(table, _)| table.len()).unwrap_or(0));
        }),
    );
    println!("\n{threads} threads, after one another:");
    whole_run(&input, &pool, &scale, folder.path())?;
    if let Some(kilobytes) = peak_memory_kilobytes() {
        println!(
            "\npeak memory of this program {:.0} MB",
            kilobytes as f64 / 1e3
        );
    }
    Ok(())
}

fn default_corpus(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/debian_pages/documents.parquet");
    if shared.exists() {
        return Ok(shared);
    }
    let path = folder.join("generated.jsonl");
    corpus::write_jsonl(corpus::Kind::Mixed, 50_000, &mut File::create(&path)?)?;
    Ok(path)
}

fn median(repeat: usize, mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..repeat.max(1))
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn single_stages(texts: &[&str], scale: &Scale, repeat: usize) {
    let mut buffer = Vec::new();
    scale.print(
        "exact key",
        median(repeat, || {
            for text in texts {
                black_box(exact_text(text, &mut buffer));
            }
        }),
    );
    let mut normalised = NormalisedText::default();
    for tokenizer in [
        Tokenizer::Words,
        Tokenizer::Unicode,
        Tokenizer::Code,
        Tokenizer::Chars,
    ] {
        scale.print(
            &format!("tokens, {tokenizer}"),
            median(repeat, || {
                for text in texts {
                    normalised.set(text, tokenizer);
                    black_box(normalised.token_count());
                }
            }),
        );
    }
    let mut hashes: Vec<u64> = Vec::new();
    scale.print(
        "tokens, unicode, and shingle hashes",
        median(repeat, || {
            for text in texts {
                normalised.set(text, Tokenizer::Unicode);
                hashes.clear();
                append_shingle_hashes(&normalised, 5, &mut hashes);
                black_box(&hashes);
            }
        }),
    );
    let config = Config::default();
    scale.print(
        "fingerprints, all of it",
        median(repeat, || {
            let (seen, mut batch) = (SeenTexts::new(), FingerprintBatch::default());
            let mut fingerprinter = Fingerprinter::new(&config);
            for text in texts {
                fingerprinter.push(text, &seen, &mut batch);
            }
            black_box(batch.len());
        }),
    );
    signatures(texts, scale, repeat);
}

/// Both families on the same documents: a part of them, since BLAKE2b is slow.
fn signatures(texts: &[&str], scale: &Scale, repeat: usize) {
    let step = (scale.megabytes / 4.0).ceil().max(1.0) as usize;
    let part: Vec<NormalisedText> = texts
        .iter()
        .step_by(step)
        .map(|text| {
            let mut normalised = NormalisedText::default();
            normalised.set(text, Tokenizer::Unicode);
            normalised
        })
        .collect();
    let sets: Vec<Vec<u64>> = part
        .iter()
        .map(|text| shingles(text, 5).map(shingle_hash).collect())
        .collect();
    let sketcher = Sketcher::new(64, 42);
    let (mut mixed, mut signature) = (Vec::new(), Vec::new());
    let fast = median(repeat, || {
        for set in &sets {
            signature.clear();
            sketcher.fast(set, &mut mixed, &mut signature);
            black_box(&signature);
        }
    });
    let blake2b = median(1, || {
        for text in &part {
            signature.clear();
            sketcher.blake2b(shingles(text, 5), &mut signature);
            black_box(&signature);
        }
    });
    let values = sets.iter().map(Vec::len).sum::<usize>() as f64 * 64.0;
    println!(
        "signatures of 64 values              fast {:.0} M hashes/s, blake2b {:.1} M/s: {:.0} times as fast",
        values / fast / 1e6,
        values / blake2b / 1e6,
        blake2b / fast
    );
}

fn whole_run(input: &Input, pool: &rayon::ThreadPool, scale: &Scale, folder: &Path) -> Outcome {
    let config = Config::default();
    let fingerprinter = Fingerprinter::new(&config);
    let seen = SeenTexts::new();
    let start = Instant::now();
    let (table, batches) = input.read(
        pool,
        &|_| {},
        &|batch| fingerprinter.batch(batch.texts(), &seen),
        None,
    )?;
    let read = start.elapsed().as_secs_f64();
    scale.print("read and fingerprint", read);

    let start = Instant::now();
    let outcome = pool.install(|| {
        let sets = ShingleSets::new(&config, batches, table.len(), |document: DocId| {
            Table::origin(&table, document.index())
        });
        pipeline::run(&config, &table, sets, Options::default(), &Unobserved)
    })?;
    let find = start.elapsed().as_secs_f64();
    scale.print("group, join, cluster", find);

    let output = OutputFolder::claim(&folder.join("out"), false)?;
    let start = Instant::now();
    let publication = Publication {
        documents: &table,
        outcome: &outcome,
        memory: u64::MAX,
    };
    pool.install(|| publish(publication, &PublishSet::default(), &output, &|_| {}))?;
    let published = start.elapsed().as_secs_f64();
    scale.print("publish", published);
    scale.print("in all", read + find + published);
    let recall = outcome.recall();
    println!(
        "{} duplicate pairs by {}; recall {:.3} expected at {}, {:.2} estimated for these documents",
        outcome.counts().duplicate_pairs,
        outcome.generator().name(),
        recall.at_threshold.unwrap_or(f64::NAN),
        config.threshold,
        recall.estimated.unwrap_or(f64::NAN),
    );
    Ok(())
}
