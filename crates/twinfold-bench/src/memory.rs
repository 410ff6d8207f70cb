//! A corpus much larger than the memory that a run may take.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::compare::Settings;
use crate::corpus::{Kind, write_edited, write_parquet};

/// What is asked of the corpus and the bounds.
pub(crate) struct Bounds {
    /// Gigabytes of text.
    pub(crate) gigabytes: f64,
    /// The bounds, as `--memory` takes them.
    pub(crate) memory: Vec<String>,
}

/// Runs the command with each bound, and holds its peak and its files against the first run's.
pub(crate) fn run(settings: &Settings, bounds: &Bounds) -> Result<(), Box<dyn Error>> {
    let command = command()?;
    let input = corpus(settings, bounds.gigabytes)?;
    println!(
        "{} threads, {} GB of text; MB are of 2^20 bytes\n\n\
         | --memory | seconds | peak MB | / bound | in files | same bytes as the first |\n\
         |---|---|---|---|---|---|",
        settings.threads, bounds.gigabytes
    );
    let mut first: Option<Vec<Value>> = None;
    for bound in &bounds.memory {
        let out = settings.folder.join("out");
        let output = Command::new(&command)
            .arg("run")
            .arg(&input)
            .arg("--out")
            .arg(&out)
            .args(["--memory", bound, "--progress", "always", "--json"])
            .args(["--threads", &settings.threads.to_string()])
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("--memory {bound}: {said}").into());
        }
        let summary: Value = serde_json::from_slice(&output.stdout)?;
        let seconds: f64 = summary["stage_times"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|stage| stage["seconds"].as_f64())
            .sum();
        let megabytes = |name: &str| summary[name].as_f64().map(|bytes| bytes / (1 << 20) as f64);
        let (peak, allowed) = (megabytes("peak_memory"), megabytes("memory"));
        // The manifest holds the times of the run.
        let mut files = summary["files"].as_array().cloned().unwrap_or_default();
        files.retain(|file| file["name"] != "manifest.json");
        let same = first.get_or_insert_with(|| files.clone()) == &files;
        println!(
            "| {bound} | {seconds:.1} | {} | {} | {} | {} |",
            peak.map_or("?".into(), |peak| format!("{peak:.0}")),
            peak.zip(allowed)
                .map_or("?".into(), |(peak, allowed)| format!(
                    "{:.2}",
                    peak / allowed
                )),
            if said.contains("are in files") {
                "yes"
            } else {
                "no"
            },
            if same { "yes" } else { "NO" },
        );
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::remove_file(input)?;
    Ok(())
}

/// Documentation pages over and over, each time edited, where they are there; else a generated corpus.
fn corpus(settings: &Settings, gigabytes: f64) -> Result<PathBuf, Box<dyn Error>> {
    /// Bytes of a generated text, about.
    const TEXT: f64 = 2500.0;
    let path = settings.folder.join("memory.parquet");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/debian_pages/documents.parquet");
    let bytes = gigabytes * 1e9;
    if pages.exists() {
        write_edited(&pages, bytes as u64, &path)?;
    } else {
        write_parquet(Kind::Mixed, (bytes / TEXT) as usize, &path)?;
    }
    Ok(path)
}

/// The command beside this program.
fn command() -> Result<PathBuf, Box<dyn Error>> {
    let path = std::env::current_exe()?.with_file_name("twinfold");
    match path.exists() {
        true => Ok(path),
        false => Err("build the command first: cargo build --release -p twinfold-cli".into()),
    }
}
