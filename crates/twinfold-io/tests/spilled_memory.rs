//! What a table in a storage costs in memory, and publishing from it. A test of its own, since it asks
//! for the peak of the process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::fmt::Write as _;
use std::sync::Arc;

use source_helpers::{options, pool, status, write};
use twinfold::config::Config;
use twinfold::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
use twinfold::pipeline::{self, Options, Unobserved};
use twinfold::sets::ShingleSets;
use twinfold::{DocId, Storage};
use twinfold_io::publish::{OutputFolder, Publication, publish};
use twinfold_io::source::{Batch, Input, Spill, Table};
use twinfold_io::work::WorkFolder;

/// Texts of one long word each, so that fingerprints are small, with ids in no order.
fn json_lines(documents: std::ops::Range<u64>, bytes: usize) -> String {
    let mut lines = String::new();
    let mut random = documents.start + 1;
    for n in documents {
        let id = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        write!(
            lines,
            "{{\"id\":\"{id:016x}\",\"source\":\"{}\",\"body\":\"",
            n % 9
        )
        .unwrap();
        for _ in 0..bytes / 16 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            write!(lines, "{random:016x}").unwrap();
        }
        lines.push_str("\"}\n");
    }
    lines
}

#[test]
fn reading_and_publishing_keep_to_their_bounds() {
    const FILES: u64 = 8;
    const DOCUMENTS: u64 = 8_000;
    const BYTES: usize = 4_000;
    const LIMIT: u64 = 16 << 20;
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("in");
    std::fs::create_dir(&folder).unwrap();
    for file in 0..FILES {
        let lines = json_lines(file * DOCUMENTS..(file + 1) * DOCUMENTS, BYTES);
        write(&folder, &format!("{file}.jsonl"), lines);
    }
    let (before, pool) = (status("VmRSS"), pool(2));
    let storage: Arc<dyn Storage> = Arc::new(WorkFolder::temporary(root.path().join("work")));
    let config = Config::default();
    let (seen, fingerprinter) = (SeenTexts::new(), Fingerprinter::new(&config));
    let work = |batch: &Batch| {
        let (mut fingerprinter, mut found) = (fingerprinter.clone(), FingerprintBatch::default());
        for row in 0..batch.len() {
            fingerprinter.push(batch.text(row), &seen, &mut found);
        }
        found
    };
    let spill = Spill {
        most_in_flight: 2,
        ..Spill::new(storage, LIMIT, &|_: &FingerprintBatch| 0, &|_| {})
    };
    let input = Input::open(options(&[&folder])).unwrap();
    let (table, batches) = input.read(&pool, &|_| (), &work, Some(&spill)).unwrap();
    let read = status("VmHWM") - before;
    assert!(table.is_spilled());
    let place = |document: DocId| Table::origin(&table, document.index());
    let outcome = pool.install(|| {
        let sets = ShingleSets::new(&config, batches, table.len(), place);
        pipeline::run(&config, &table, sets, Options::default(), &Unobserved).unwrap()
    });
    let folder = OutputFolder::claim(&root.path().join("out"), false).unwrap();
    let publication = Publication {
        documents: &table,
        outcome: &outcome,
        memory: 4 * LIMIT,
    };
    let set = "deduped_documents,source_documents".parse().unwrap();
    pool.install(|| publish(publication, &set, &folder, &|_| ()).unwrap());
    let published = status("VmHWM") - before;
    println!("{read} MiB read, {published} MiB published");
    assert!(read < 80 && published < 160, "{read} MiB, {published} MiB");
}
