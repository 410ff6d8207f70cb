//! How the folder of a run is recognised: by its manifest, and by what stands in it while a run is at
//! work. `publish` makes these, and `source` must not take them for input.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

/// The name and version that files carry.
pub(crate) const PROGRAM: &str = concat!("twinfold ", env!("CARGO_PKG_VERSION"));
/// The file name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// The file of the kept documents.
pub(crate) const DEDUPED_DOCUMENTS: &str = "deduped_documents.parquet";
/// The folder in the output folder that a run writes to until it commits.
pub(crate) const STAGING: &str = ".twinfold-staging";

/// Whether a file is a manifest that this program wrote.
pub(crate) fn is_manifest(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Manifest {
        program: String,
    }
    // Asking a pipe would wait for ever.
    if !path.is_file() {
        return false;
    }
    // Parsed as it is read: a file of this name may be anybody's, and of any size.
    File::open(path)
        .ok()
        .and_then(|file| serde_json::from_reader::<_, Manifest>(BufReader::new(file)).ok())
        .is_some_and(|manifest| manifest.program.starts_with("twinfold "))
}
