//! Benchmarks. One command each; ratios within one run are what counts, since machines are noisy.
//!
//! ```text
//! cargo run --release -p twinfold-bench -- stages [INPUT]
//! ```

mod corpus;
mod stages;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

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
    /// Write the generated corpus as JSON Lines to standard output
    Generate {
        /// The number of documents.
        #[arg(default_value_t = 100_000)]
        documents: usize,
        /// The share of near-duplicates.
        #[arg(long, default_value_t = 0.1)]
        duplicates: f64,
    },
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Cli::parse().command {
        Command::Stages {
            input,
            threads,
            repeat,
        } => {
            let threads = threads
                .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
            stages::run(input, threads, repeat)
        }
        Command::Generate {
            documents,
            duplicates,
        } => {
            corpus::write(&mut std::io::stdout().lock(), documents, duplicates)?;
            Ok(())
        }
    }
}
