//! The tables of `BENCHMARKS.md`: ratios within one run, with recall beside time.

use std::error::Error;
use std::path::{Path, PathBuf};

use twinfold::config::EdgeListing::{All, Auto, Spanning};

use crate::corpus::{Kind, write_parquet};
use crate::once::Generator::{Lossless, Lsh};
use crate::once::{Generator, Measured, Pass, spawn};

type Outcome = Result<(), Box<dyn Error>>;

const WIDE: Generator = Lsh { bands: 20, rows: 5 };
const NARROW: Generator = Lsh { bands: 8, rows: 8 };

/// What the tables are made with.
pub(crate) struct Settings {
    pub(crate) threads: usize,
    pub(crate) repeat: usize,
    pub(crate) documents: usize,
    pub(crate) folder: PathBuf,
}

/// Medians of passes that take turns.
struct Turns<'a> {
    passes: &'a [Pass],
    medians: Vec<Measured>,
}

impl<'a> Turns<'a> {
    fn run(
        passes: &'a [Pass],
        input: &Path,
        threads: usize,
        repeat: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); passes.len()];
        for _ in 0..repeat.max(1) {
            for (pass, runs) in passes.iter().zip(&mut runs) {
                runs.push(spawn(*pass, input, threads)?);
            }
        }
        let medians = runs
            .into_iter()
            .map(|mut runs| {
                runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
                runs[runs.len() / 2]
            })
            .collect();
        Ok(Self { passes, medians })
    }

    fn of(&self, pass: Pass) -> Measured {
        let at = self.passes.iter().position(|&other| other == pass);
        at.map_or(Measured::default(), |at| self.medians[at])
    }
}

/// Lossless against LSH, and the whole run against its floor, on each corpus.
pub(crate) fn ratios(settings: &Settings) -> Outcome {
    let mut corpora: Vec<(String, PathBuf)> = Vec::new();
    for name in ["debian_pages", "debian_blocks", "licences"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/data")
            .join(name)
            .join("documents.parquet");
        if path.exists() {
            corpora.push((name.into(), path));
        } else {
            println!("skipped: {} is not there", path.display());
        }
    }
    let path = generated(settings, Kind::Mixed, settings.documents)?;
    corpora.push((format!("{} generated", settings.documents), path));
    println!(
        "{} threads, medians of {} runs in turn; seconds\n\n\
         After shingling:\n\n\
         | corpus | lossless | lsh 20x5 | lsh 8x8 | lossless / 20x5 | lossless / 8x8 | \
         spanning: lossless / 20x5 | recall of 20x5 | of 8x8 |\n\
         |---|---|---|---|---|---|---|---|---|",
        settings.threads, settings.repeat
    );
    for (name, path) in &corpora {
        let passes = [
            Pass::Find(Lossless, All),
            Pass::Find(WIDE, All),
            Pass::Find(NARROW, All),
            Pass::Find(Lossless, Spanning),
            Pass::Find(WIDE, Spanning),
        ];
        let turns = Turns::run(&passes, path, settings.threads, settings.repeat)?;
        let [all, wide, narrow, spanning, wide_spanning] = passes.map(|pass| turns.of(pass));
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2}% | {:.2}% |",
            all.seconds,
            wide.seconds,
            narrow.seconds,
            all.seconds / wide.seconds,
            all.seconds / narrow.seconds,
            spanning.seconds / wide_spanning.seconds,
            100.0 * wide.pairs as f64 / all.pairs as f64,
            100.0 * narrow.pairs as f64 / all.pairs as f64,
        );
    }
    println!(
        "\nThe whole run, from Parquet to the published release:\n\n\
         | corpus | text MB | floor | MB/s | lossless | / floor | lsh 20x5 | / floor | peak MB, lossless |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    for (name, path) in &corpora {
        let passes = [
            Pass::Floor,
            Pass::Whole(Lossless, Auto),
            Pass::Whole(WIDE, Auto),
        ];
        let turns = Turns::run(&passes, path, settings.threads, settings.repeat)?;
        let [floor, lossless, wide] = passes.map(|pass| turns.of(pass));
        println!(
            "| {name} | {:.0} | {:.2} | {:.0} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} |",
            floor.text_megabytes,
            floor.seconds,
            floor.text_megabytes / floor.seconds,
            lossless.seconds,
            lossless.seconds / floor.seconds,
            wide.seconds,
            wide.seconds / floor.seconds,
            lossless.peak_megabytes,
        );
    }
    growth_of_threads(settings, &corpora)
}

/// One thread against two, and half the documents against all.
fn growth_of_threads(settings: &Settings, corpora: &[(String, PathBuf)]) -> Outcome {
    println!(
        "\nTwo threads against one, the whole run:\n\n| corpus | one | two | two / one |\n|---|---|---|---|"
    );
    let pass = Pass::Whole(Lossless, Auto);
    for (name, path) in corpora {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..settings.repeat.max(1) {
            for (threads, times) in (1..).zip(&mut times) {
                times.push(spawn(pass, path, threads)?.seconds);
            }
        }
        let [one, two] = times.map(median);
        println!("| {name} | {one:.2} | {two:.2} | {:.2} |", two / one);
    }
    println!(
        "\nTwice the documents, the whole run:\n\n| corpus | half | all | all / half |\n|---|---|---|---|"
    );
    growth(settings, Kind::Mixed, settings.documents, Auto)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The hard cases: how time and memory grow from half of the documents to all.
pub(crate) fn hard(settings: &Settings, scale: f64) -> Outcome {
    let documents = |full: f64| ((full * scale) as usize).max(2);
    println!(
        "{} threads, medians of {} runs in turn; the whole run, seconds and peak MB\n\n\
         | corpus | half | all | all / half | MB, half | MB, all | pairs scored | kept |\n\
         |---|---|---|---|---|---|---|---|",
        settings.threads, settings.repeat
    );
    for (kind, full, edges) in [
        (Kind::Copies, 200_000.0, Auto),
        (Kind::NearCopies, 200_000.0, Spanning),
        (Kind::Template, 100_000.0, Auto),
        (Kind::CommonShingle, 200_000.0, Auto),
        (Kind::Giant, 10_000.0, Auto),
        (Kind::SixWords, 5_000_000.0, Auto),
    ] {
        growth_with_memory(settings, kind, documents(full), edges)?;
    }
    Ok(())
}

fn growth(
    settings: &Settings,
    kind: Kind,
    documents: usize,
    edges: twinfold::config::EdgeListing,
) -> Outcome {
    let [half, all] = halves(settings, kind, documents, edges)?;
    println!(
        "| {documents} generated | {:.2} | {:.2} | {:.2} |",
        half.seconds,
        all.seconds,
        all.seconds / half.seconds
    );
    Ok(())
}

fn growth_with_memory(
    settings: &Settings,
    kind: Kind,
    documents: usize,
    edges: twinfold::config::EdgeListing,
) -> Outcome {
    let [half, all] = halves(settings, kind, documents, edges)?;
    println!(
        "| {documents} {kind:?} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {} | {} |",
        half.seconds,
        all.seconds,
        all.seconds / half.seconds,
        half.peak_megabytes,
        all.peak_megabytes,
        all.scored,
        all.kept,
    );
    Ok(())
}

/// The medians on half of the documents and on all, which take turns.
fn halves(
    settings: &Settings,
    kind: Kind,
    documents: usize,
    edges: twinfold::config::EdgeListing,
) -> Result<[Measured; 2], Box<dyn Error>> {
    let pass = Pass::Whole(Lossless, edges);
    let inputs = [
        generated(settings, kind, documents / 2)?,
        generated(settings, kind, documents)?,
    ];
    let mut runs = [Vec::new(), Vec::new()];
    for _ in 0..settings.repeat.max(1) {
        for (input, runs) in inputs.iter().zip(&mut runs) {
            runs.push(spawn(pass, input, settings.threads)?);
        }
    }
    for input in inputs {
        std::fs::remove_file(input)?;
    }
    Ok(runs.map(|mut runs| {
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        runs[runs.len() / 2]
    }))
}

fn generated(settings: &Settings, kind: Kind, documents: usize) -> Result<PathBuf, Box<dyn Error>> {
    let path = settings
        .folder
        .join(format!("{kind:?}-{documents}.parquet"));
    if !path.exists() {
        write_parquet(kind, documents, &path)?;
    }
    Ok(path)
}
