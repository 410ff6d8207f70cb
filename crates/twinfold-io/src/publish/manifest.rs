//! The manifest: what was run on what, with what guarantee, and what came of it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use twinfold::candidates::{Guarantee, Slots};
use twinfold::outcome::Counts;
use twinfold::recall::ExpectedRecall;
use twinfold::represent::DateCounts;

use super::file::{HashedFile, hex};
use super::{FileEntry, OutputFile, OutputFolder, PublishError};
use crate::source::FileHash;

pub use crate::marks::MANIFEST;

/// How long a stage took.
#[derive(Clone, Debug, Serialize)]
pub struct StageTime {
    /// The stage.
    pub stage: String,
    /// Wall-clock time in seconds.
    pub seconds: f64,
}

/// What the manifest says. Everything but `environment` is the same for the same
/// input and configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    /// `twinfold` and its version.
    pub program: String,
    /// The whole configuration, as `twinfold config` prints it.
    pub configuration: Value,
    /// The input files.
    pub inputs: Vec<InputEntry>,
    /// What the documents are, as far as their columns tell: `corpus` for any files, with the
    /// values of the source column.
    pub source_classification: Value,
    /// The candidate generator.
    pub generator: String,
    /// What it promises.
    pub guarantee: Guarantee,
    /// The recall that this gives, and where the figures come from.
    pub recall: ExpectedRecall,
    /// What was counted before the join.
    pub slots: Slots,
    /// Which edges are listed: `all` or `spanning`.
    pub edges_listed: String,
    /// Records read, and what became of them: read = used + empty + rejected.
    pub records: Records,
    /// The counts of the run.
    pub counts: Counts,
    /// Documents without a usable date, where the keep rule goes by dates.
    pub dates: Option<DateCounts>,
    /// What the user should know of the inputs: what was skipped, and what was read as something
    /// else.
    pub notes: Vec<String>,
    /// The input columns that had to be renamed, since the output has columns of their names.
    pub renamed_columns: Vec<(String, String)>,
    /// What ran it: all that may differ between two runs with the same results.
    pub environment: Environment,
    /// The files beside the manifest.
    pub outputs: Vec<FileEntry>,
}

/// What ran a run.
#[derive(Clone, Debug, Serialize)]
pub struct Environment {
    /// The engine.
    pub engine: &'static str,
    /// The instruction set of each kernel.
    pub kernels: Value,
    /// Threads that were used.
    pub threads: usize,
    /// The bytes of memory that the run was allowed.
    pub memory: u64,
    /// The most that it held, where the system tells.
    pub peak_memory: Option<u64>,
    /// How long each stage took.
    pub stage_times: Vec<StageTime>,
    /// SHA-256 of the manifest's text with this value left empty; [`Manifest::write`] sets it. Beside
    /// the times, since it follows from them. It shows what was edited or damaged; whoever means to
    /// forge a manifest can compute it again.
    pub manifest_sha256: String,
}

/// An input file of a run.
#[derive(Clone, Debug, Serialize)]
pub struct InputEntry {
    /// The name as given.
    pub name: String,
    /// The size.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
    /// The documents in it.
    pub documents: u64,
    /// The records in it that could not be used.
    pub rejected: u64,
}

impl From<&FileHash> for InputEntry {
    fn from(file: &FileHash) -> Self {
        Self {
            name: file.name.clone(),
            bytes: file.bytes,
            sha256: file.sha256.clone(),
            documents: file.documents,
            rejected: file.rejected,
        }
    }
}

/// Records read, and what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Records {
    /// Records in the input.
    pub read: u64,
    /// Documents with shingles.
    pub used: u64,
    /// Documents without.
    pub empty: u64,
    /// Records that could not be used.
    pub rejected: u64,
}

impl Manifest {
    /// Writes the manifest to the staging folder, with its hash.
    pub fn write(&self, folder: &OutputFolder) -> Result<OutputFile, PublishError> {
        write_sealed(self, folder)
    }
}

/// Writes a manifest, whose `manifest_sha256` is empty, to the staging folder, with its hash there.
pub(super) fn write_sealed(
    manifest: &impl Serialize,
    folder: &OutputFolder,
) -> Result<OutputFile, PublishError> {
    let path = folder.staged(MANIFEST);
    let mut file = HashedFile::create(&path)?;
    serde_json::to_string_pretty(manifest)
        .map_err(io::Error::from)
        .map(|open| open + "\n")
        .and_then(|open| {
            let hash = hex(&Sha256::digest(open.as_bytes()));
            // A value of that form elsewhere would have its quotes escaped.
            let sealed = open.replacen(&field(""), &field(&hash), 1);
            io::Write::write_all(&mut file, sealed.as_bytes())
        })
        .map_err(|source| PublishError::Write { path, source })?;
    file.finish(0)
}

/// The hash of a manifest as its text has it.
fn field(hash: &str) -> String {
    format!("\"manifest_sha256\": \"{hash}\"")
}

/// Whether the text of a manifest is what was written, by the hash that it holds.
fn is_sealed(text: &str, hash: &str) -> bool {
    let written = field(hash);
    // A copy of the field in some other value would leave open which of the two is meant.
    text.matches(&written).count() == 1
        && hex(&Sha256::digest(
            text.replace(&written, &field("")).as_bytes(),
        )) == hash
}

/// Writes a value as a JSON file, which has so many rows.
pub(super) fn write_json(
    value: &impl Serialize,
    path: &Path,
    rows: u64,
) -> Result<OutputFile, PublishError> {
    let mut file = HashedFile::create(path)?;
    serde_json::to_writer_pretty(&mut file, value)
        .map_err(io::Error::from)
        .and_then(|()| io::Write::write_all(&mut file, b"\n"))
        .map_err(|source| PublishError::Write {
            path: path.into(),
            source,
        })?;
    file.finish(rows)
}

/// The files that a manifest lists, as far as it can be read.
pub(super) fn listed_files(path: &Path) -> Vec<String> {
    let Ok(text) = std::fs::read(path) else {
        return Vec::new();
    };
    let Ok(manifest) = serde_json::from_slice::<Value>(&text) else {
        return Vec::new();
    };
    manifest["outputs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["name"].as_str().map(str::to_owned))
        .collect()
}

/// Why an output folder is not what its manifest says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is no manifest, so no run has finished here.
    #[error("{} has no {MANIFEST}: no run has finished there", path.display())]
    NoManifest {
        /// The folder.
        path: PathBuf,
    },
    /// The manifest cannot be read.
    #[error("{} cannot be read as a manifest: {problem}", path.display())]
    BadManifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The manifest has been changed.
    #[error("{} is not what was written: its text differs from the SHA-256 that it holds", path.display())]
    Edited {
        /// The manifest.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file has another size.
    #[error("{} has {found} bytes, and the manifest says {expected}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size.
        found: u64,
        /// The size that it should have.
        expected: u64,
    },
    /// A file has other content.
    #[error("{} is not what was written: its SHA-256 differs from the manifest's", path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
}

/// Checks the manifest of an output folder against its own hash, and every file against the manifest;
/// returns the number of files, the manifest not counted.
pub fn verify(folder: &Path) -> Result<usize, VerifyError> {
    let path = folder.join(MANIFEST);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(VerifyError::NoManifest {
                path: folder.into(),
            });
        }
        Err(source) => return Err(VerifyError::Unreadable { path, source }),
    };
    #[derive(serde::Deserialize)]
    struct Written {
        environment: Seal,
        outputs: Vec<FileEntry>,
    }
    #[derive(serde::Deserialize)]
    struct Seal {
        manifest_sha256: String,
    }
    let bad = |problem: String| VerifyError::BadManifest {
        path: path.clone(),
        problem,
    };
    let text = String::from_utf8(text).map_err(|error| bad(error.to_string()))?;
    let manifest: Written = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    if !is_sealed(&text, &manifest.environment.manifest_sha256) {
        return Err(VerifyError::Edited { path });
    }
    for entry in &manifest.outputs {
        let path = folder.join(&entry.name);
        let unreadable = |source| VerifyError::Unreadable {
            path: path.clone(),
            source,
        };
        let mut file = File::open(&path).map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?.len();
        if found != entry.bytes {
            return Err(VerifyError::Size {
                path,
                found,
                expected: entry.bytes,
            });
        }
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 18];
        loop {
            match io::Read::read(&mut file, &mut buffer).map_err(unreadable)? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
        if hex(&hash.finalize()) != entry.sha256 {
            return Err(VerifyError::Content { path });
        }
    }
    Ok(manifest.outputs.len())
}
