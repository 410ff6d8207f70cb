//! The command `twinfold`.
//!
//! One match over the sub-commands; each is a module. Exit codes: 0 done, 2 the user can mend it,
//! 101 a bug, 130 and 143 interrupted. It is a library only so that other programs, such as the fuzz targets, can reach what
//! a user writes.

mod compare;
mod expect;
mod fault;
mod interrupt;
mod memory;
mod options;
mod progress;
mod recall;
mod report;
mod resolve;
mod run;
mod stages;
mod summary;
mod text_table;
mod words;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use fault::Fault;
use interrupt::Interrupts;
use options::{RecallArguments, Settings};

/// Finds the near-duplicates of a text corpus, says how sure it is that it found them all, groups
/// them, and keeps one of each.
#[derive(Parser, Debug)]
#[command(name = "twinfold", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Deduplicate files, and write the kept documents with the evidence for every removal
    ///
    /// Example: twinfold run pages.parquet more/*.jsonl.gz --out deduped
    Run(RunArguments),
    /// Print the settings that `run` would run with, complete, as a twinfold.toml
    Config(RunArguments),
    /// Measure what candidate generators would miss on these files, by similarity and in clusters
    ///
    /// The truth is the lossless generator: every pair of documents at or above the threshold by
    /// their shingle sets. Each setting runs on the same documents, and the report says which of the
    /// pairs it found, what its curve promises, which documents it would keep wrongly, and what both
    /// cost. Pairs of documents with equal sets are found by every generator; pairs that only the
    /// exact instrument sees are in the clusters, not in the recall.
    ///
    /// Writes recall.json, recall.csv, recall.svg and manifest.json.
    ///
    /// Example: twinfold recall pages.parquet --compare lsh:8x8,lsh:0.99,blocking:length --out measured
    Recall(Box<RecallArguments>),
    /// Check every file of an output folder against its manifest
    Verify {
        /// The folder that `run` or `recall` wrote.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[derive(Args, Debug)]
struct RunArguments {
    /// File with settings, in TOML, by the names of these options; the command line overrides it
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    config: Option<PathBuf>,

    #[command(flatten)]
    settings: Settings,
}

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        // What a damaged file does to its decoder is told as an error of that file.
        if twinfold_io::source::is_decoding() {
            return;
        }
        // Panicking here would abort, so that a closed standard error is let be.
        let mut stderr = std::io::stderr();
        let _ = writeln!(stderr, "{panic}");
        let _ = writeln!(
            stderr,
            "error: this is a bug in twinfold {}; please report it with the two lines above and \
             your command at {}/issues",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_REPOSITORY"),
        );
    }));
    let command = Cli::command().mut_subcommand("recall", RecallArguments::adapt);
    let cli = Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    let result = match cli.command {
        Command::Run(arguments) if arguments.settings.publish.as_deref() == Some("help") => {
            print(&resolve::relations_help())
        }
        Command::Run(arguments) => {
            resolve::resolve(arguments.settings, arguments.config.as_deref()).and_then(|resolved| {
                let interrupts = Interrupts::install()?;
                let result = run::run(&resolved, &interrupts);
                interrupts.wait_if_begun();
                result
            })
        }
        Command::Config(arguments) => {
            resolve::resolve(arguments.settings, arguments.config.as_deref())
                .and_then(|resolved| resolved.to_toml())
                .and_then(|text| print(&text))
        }
        Command::Recall(arguments) => compare::resolve(*arguments).and_then(|measurement| {
            let interrupts = Interrupts::install()?;
            let result = recall::run(&measurement, &interrupts);
            interrupts.wait_if_begun();
            result
        }),
        Command::Verify { folder } => verify(&folder),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => fault.report(),
    }
}

/// What `twinfold config` prints for a `twinfold.toml` with this text: every setting that it stands
/// for.
///
/// # Errors
/// What is wrong with it, in one line.
pub fn complete_settings(text: &str) -> Result<String, String> {
    resolve::parse_file(text, "twinfold.toml")
        .and_then(|file| resolve::layered(file, Settings::default()))
        .and_then(|resolved| resolved.to_toml())
        .map_err(|fault| fault.to_string())
}

fn verify(folder: &std::path::Path) -> Result<(), Fault> {
    let files = twinfold_io::publish::verify(folder).map_err(Fault::new)?;
    print(&format!(
        "{}: {} as the manifest says\n",
        folder.display(),
        match files {
            1 => "1 file is".to_owned(),
            _ => format!("{files} files are"),
        }
    ))
}

/// Prints to standard output; a reader that has gone away is no fault.
fn print(text: &str) -> Result<(), Fault> {
    let mut stdout = std::io::stdout();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Fault::new(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}
