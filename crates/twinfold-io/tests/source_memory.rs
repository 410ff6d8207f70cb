//! What reading costs in memory: thousands of small files or row groups must not cost much more than
//! what is in them. A test of its own, since it asks for the peak of the process.
//!
//! To measure a file: `TWINFOLD_INPUT=path cargo test -p twinfold-io --test source_memory -- --nocapture`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::path::Path;

use source_helpers::*;
use twinfold_io::source::{Input, Table};

fn measure(path: &Path) -> Table {
    let input = Input::open(options(&[path])).unwrap();
    let (table, _) = input.read(&pool(2), &|_| (), &|_| (), None).unwrap();
    let text: usize = (0..table.len()).map(|rank| table.text(rank).len()).sum();
    println!(
        "{}: {} files, {} MiB, {} documents, {} MiB of text: at most {} MiB, then {} MiB",
        path.display(),
        input.files().len(),
        input.bytes() >> 20,
        table.len(),
        text >> 20,
        status("VmHWM"),
        status("VmRSS"),
    );
    table
}

#[test]
fn small_files_and_row_groups_cost_little() {
    if let Some(path) = std::env::var_os("TWINFOLD_INPUT") {
        measure(path.as_ref());
        return;
    }
    const FILES: usize = 1500;
    let before = status("VmRSS");
    let root = tempfile::tempdir().unwrap();
    for ending in ["csv", "tsv.gz", "jsonl", "jsonl.zst", "parquet"] {
        let folder = root.path().join(ending);
        std::fs::create_dir(&folder).unwrap();
        for i in 0..FILES {
            let docs = [0, 1].map(|n| doc(&format!("{i}-{n}"), Some("title"), &"word ".repeat(99)));
            write(&folder, &format!("{i}.{ending}"), bytes(ending, &docs));
        }
        assert_eq!(measure(&folder).len(), 2 * FILES);
    }
    let docs: Vec<Doc> = (0..7 * FILES)
        .map(|i| doc(&i.to_string(), Some("title"), &"word ".repeat(9)))
        .collect();
    let groups = write(root.path(), "groups.parquet", bytes("parquet", &docs));
    assert_eq!(measure(&groups).len(), docs.len());
    // One buffer of 256 KiB or one set of statistics for each file or row group is several times this.
    let cost = status("VmHWM").saturating_sub(before);
    assert!(cost < 100, "{cost} MiB");
}
