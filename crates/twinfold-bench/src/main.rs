//! Benchmarks. One command each; ratios within one run are what counts, since machines are noisy.
//!
//! ```text
//! cargo run --release -p twinfold-bench -- stages [INPUT]
//! cargo run --release -p twinfold-bench -- ratios
//! cargo run --release -p twinfold-bench -- hard
//! cargo run --release -p twinfold-bench -- memory
//! ```

mod compare;
mod corpus;
mod memory;
mod once;
mod stages;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Benchmarks of twinfold")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Documents and megabytes a second of each stage, with the recall and the peak memory
    ///
    /// Without INPUT: ../shared/data/debian_pages if it is there, else a generated corpus.
    Stages {
        /// A file or folder that `twinfold run` can read.
        input: Option<PathBuf>,
        /// Threads for the whole run; single stages are timed on one.
        #[arg(long)]
        threads: Option<usize>,
        /// Runs of each stage, of which the median counts.
        #[arg(long, default_value_t = 5)]
        repeat: usize,
    },
    /// Lossless against LSH, and the whole run against its floor
    ///
    /// The floor decodes the same file, normalises, tokenises and hashes every shingle, and throws
    /// the result away. On ../shared/data where it is there, and on a generated corpus.
    Ratios {
        #[command(flatten)]
        shared: Shared,
        /// Documents of the generated corpus.
        #[arg(long, default_value_t = 1_000_000)]
        documents: usize,
    },
    /// Corpora that bring other tools down, and how time and memory grow from half of one to all
    Hard {
        #[command(flatten)]
        shared: Shared,
        /// A share of the full sizes.
        #[arg(long, default_value_t = 1.0)]
        scale: f64,
    },
    /// A corpus larger than the memory that a run may take: peak, time and bytes with each bound
    ///
    /// Runs the command that is built beside this program.
    Memory {
        #[command(flatten)]
        shared: Shared,
        /// Gigabytes of text.
        #[arg(long, default_value_t = 4.0)]
        gigabytes: f64,
        /// The bounds, the one that the others are held against first.
        #[arg(
            long,
            value_delimiter = ',',
            default_values_t = ["100%", "4GB", "2GB", "1GB", "500MB"].map(String::from)
        )]
        memory: Vec<String>,
    },
    /// Write a generated corpus as JSON Lines to standard output
    Generate {
        /// The number of documents.
        #[arg(default_value_t = 100_000)]
        documents: usize,
        /// What they are like.
        #[arg(long, value_enum, default_value = "mixed")]
        kind: corpus::Kind,
    },
    /// Write the texts of a Parquet file over and over, each time edited, as another Parquet file
    Repeat {
        /// A Parquet file with a column `body`.
        from: PathBuf,
        /// The file to write.
        to: PathBuf,
        /// Gigabytes of text.
        #[arg(long, default_value_t = 4.0)]
        gigabytes: f64,
    },
    /// One pass over one input, for the other commands
    #[command(hide = true)]
    Once {
        pass: once::Pass,
        input: PathBuf,
        #[arg(long)]
        threads: usize,
    },
}

#[derive(Args)]
struct Shared {
    /// Threads [default: all]
    #[arg(long)]
    threads: Option<usize>,
    /// Runs of each pass, of which the median counts.
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// Where generated corpora are kept [default: a temporary folder]
    #[arg(long)]
    folder: Option<PathBuf>,
}

impl Shared {
    /// The settings, with a folder that goes away with the second value.
    fn settings(
        self,
        documents: usize,
    ) -> std::io::Result<(compare::Settings, Option<tempfile::TempDir>)> {
        let (folder, guard) = match self.folder {
            Some(folder) => {
                std::fs::create_dir_all(&folder)?;
                (folder, None)
            }
            None => {
                let guard = tempfile::tempdir()?;
                (guard.path().to_owned(), Some(guard))
            }
        };
        let settings = compare::Settings {
            threads: self.threads.unwrap_or_else(all_threads),
            repeat: self.repeat,
            documents,
            folder,
        };
        Ok((settings, guard))
    }
}

fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Cli::parse().command {
        Command::Stages {
            input,
            threads,
            repeat,
        } => stages::run(input, threads.unwrap_or_else(all_threads), repeat),
        Command::Ratios { shared, documents } => {
            let (settings, _guard) = shared.settings(documents)?;
            compare::ratios(&settings)
        }
        Command::Hard { shared, scale } => {
            let (settings, _guard) = shared.settings(0)?;
            compare::hard(&settings, scale)
        }
        Command::Memory {
            shared,
            gigabytes,
            memory,
        } => {
            let (settings, _guard) = shared.settings(0)?;
            memory::run(&settings, &memory::Bounds { gigabytes, memory })
        }
        Command::Generate { documents, kind } => {
            corpus::write_jsonl(kind, documents, &mut std::io::stdout().lock())?;
            Ok(())
        }
        Command::Repeat {
            from,
            to,
            gigabytes,
        } => corpus::write_edited(&from, (gigabytes * 1e9) as u64, &to),
        Command::Once {
            pass,
            input,
            threads,
        } => {
            once::run(pass, &input, threads)?.print();
            Ok(())
        }
    }
}
