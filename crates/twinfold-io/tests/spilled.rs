//! What is published from a table in a storage is, byte for byte, what is published from memory.

#![allow(clippy::unwrap_used, reason = "tests")]

mod source_helpers;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, types::Int8Type,
};
use proptest::prelude::*;
use source_helpers::{options, parquet, pool, write};
use twinfold::config::{Candidates, Config, Lsh};
use twinfold::fingerprint::{FingerprintBatch, Fingerprinter, SeenTexts};
use twinfold::pipeline::{self, Options, Unobserved};
use twinfold::sets::ShingleSets;
use twinfold::{DocId, MemoryStorage, Storage, Store};
use twinfold_io::publish::{OutputFile, OutputFolder, Publication, PublishSet, publish};
use twinfold_io::source::{Input, SourceError, SourceOptions, Spill, Table};

/// Where the documents are, and what publishing may take.
#[derive(Clone, Copy, Debug)]
struct Room {
    threads: usize,
    limit: Option<u64>,
    memory: u64,
}

const HELD: Room = Room {
    threads: 2,
    limit: None,
    memory: u64::MAX,
};

fn published(source: &SourceOptions, config: &Config, room: Room) -> (Vec<OutputFile>, bool) {
    let pool = pool(room.threads);
    let (seen, fingerprinter) = (SeenTexts::new(), Fingerprinter::new(config));
    let work = |batch: &twinfold_io::source::Batch| {
        let mut fingerprinter = fingerprinter.clone();
        let mut found = FingerprintBatch::default();
        for row in 0..batch.len() {
            fingerprinter.push(batch.text(row), &seen, &mut found);
        }
        found
    };
    let spill = room.limit.map(|limit| Spill {
        most_in_flight: 3,
        ..Spill::new(
            Arc::new(MemoryStorage),
            limit,
            &|_: &FingerprintBatch| 100,
            &|_| {},
        )
    });
    let input = Input::open(source.clone()).unwrap();
    let (table, batches) = input.read(&pool, &|_| (), &work, spill.as_ref()).unwrap();
    let place = |document: DocId| Table::origin(&table, document.index());
    let outcome = pool.install(|| {
        let sets = ShingleSets::new(config, batches, table.len(), place);
        let options = Options {
            list_rejected: true,
            ..Options::default()
        };
        pipeline::run(config, &table, sets, options, &Unobserved).unwrap()
    });
    let folder = tempfile::tempdir().unwrap();
    let folder = OutputFolder::claim(&folder.path().join("out"), false).unwrap();
    let publication = Publication {
        documents: &table,
        outcome: &outcome,
        memory: room.memory,
    };
    let all: PublishSet = "all".parse().unwrap();
    let files = pool.install(|| publish(publication, &all, &folder, &|_| ()).unwrap());
    (files, table.is_spilled())
}

fn lsh() -> Config {
    Config {
        candidates: Candidates::Lsh(Lsh::default()),
        ..Config::default()
    }
}

/// A text of one of so many families, each of which has near-duplicates and copies.
fn text(n: usize, families: usize) -> String {
    let family = n % families;
    let words = (0..12).map(|word| format!("w{} ", (family * 31 + word * 7) % 997));
    let more = match n % 5 {
        0 => String::new(),
        1 => "one more\n\"quoted\", word".into(),
        k => format!("ending {}", family + k),
    };
    words.collect::<String>() + &more
}

/// Rows as a file of a format; what has no place in CSV is left out of it.
fn file(
    folder: &Path,
    name: &str,
    rows: &[(Option<String>, usize)],
    families: usize,
    group: usize,
) {
    let nullable = |n: usize| (!n.is_multiple_of(4)).then_some(n);
    let source = |n: usize| format!("source {}", n % 3);
    if name.ends_with("csv") {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer
            .write_record(["id", "title", "body", "source", "label"])
            .unwrap();
        for (id, n) in rows {
            let title = nullable(*n).map_or_else(String::new, |n| format!("title {n}"));
            let row = [
                id.as_deref().unwrap_or(""),
                &title,
                &text(*n, families),
                &source(*n),
                "x",
            ];
            writer.write_record(row).unwrap();
        }
        write(folder, name, writer.into_inner().unwrap());
    } else if name.ends_with("jsonl") {
        let mut lines = String::new();
        for (id, n) in rows {
            let mut row = serde_json::json!({
                "body": text(*n, families), "domain": format!("d{}.org", n % 7), "number": n,
            });
            match n % 4 {
                0 => row["nested"] = serde_json::json!({"list": [n, 1.5], "word": "ä"}),
                1 => row["mixed"] = serde_json::json!(n),
                2 => row["mixed"] = serde_json::json!(["a", null]),
                _ => row["number"] = serde_json::json!(*n as f64 / 3.0),
            }
            if let Some(id) = id {
                row["id"] = serde_json::json!(id);
            }
            lines.push_str(&format!("{row}\n"));
        }
        write(folder, name, lines);
    } else if !rows.is_empty() {
        let column = |of: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
            Arc::new(rows.iter().map(|row| of(row.1)).collect::<StringArray>())
        };
        let ids: StringArray = rows.iter().map(|row| row.0.clone()).collect();
        let label: DictionaryArray<Int8Type> = rows
            .iter()
            .map(|row| ["red", "green", "blue"].get(row.1 % 4).copied())
            .collect();
        let binary: BinaryArray = rows
            .iter()
            .map(|row| nullable(row.1).map(|n| vec![255 - n as u8; n % 9]))
            .collect();
        let number: Int64Array = rows
            .iter()
            .map(|row| nullable(row.1).map(|n| n as i64))
            .collect();
        let time: TimestampMillisecondArray = rows
            .iter()
            .map(|row| nullable(row.1).map(|n| n as i64 * 1000))
            .collect();
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("id", Arc::new(ids) as ArrayRef, true),
            ("body", column(&|n| Some(text(n, families))), true),
            (
                "title",
                column(&|n| nullable(n).map(|n| format!("title {n}"))),
                true,
            ),
            ("source", column(&|n| Some(source(n))), true),
            ("label", Arc::new(label), true),
            ("blob", Arc::new(binary), true),
            ("number", Arc::new(number), true),
            ("crawled_at", Arc::new(time), true),
        ]);
        write(folder, name, parquet(&[batch.unwrap()], group));
    }
}

/// An id for a row: in the order of the files, against it, or in none.
fn id(order: u8, n: usize) -> String {
    match order {
        0 => format!("{n:08}"),
        1 => format!("{:08}", 90_000_000 - n),
        _ => format!(
            "{:016x}",
            (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]
    #[test]
    fn bytes_do_not_depend_on_where_documents_are(
        sizes in prop::collection::vec(0usize..40, 1..5),
        formats in prop::collection::vec(0usize..3, 5),
        order in 0u8..3,
        make_ids in any::<bool>(),
        families in 1usize..30,
        group in 1usize..20,
        limit in 0u64..30_000,
        memory in prop::sample::select(vec![0, 1_000, 30_000, u64::MAX - 1, u64::MAX]),
        sketched in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut n = 0;
        for (number, (size, format)) in sizes.iter().zip(formats).enumerate() {
            let rows: Vec<(Option<String>, usize)> = (n..n + size)
                .map(|n| match make_ids {
                    // Missing and repeated ids.
                    true => ((n % 3 > 0).then(|| id(order, n / 2)), n),
                    false => (Some(id(order, n)), n),
                })
                .collect();
            n += size;
            let name = format!("{number}.{}", ["csv", "jsonl", "parquet"][format]);
            file(folder.path(), &name, &rows, families, group);
        }
        // There is always one file.
        file(folder.path(), "last.csv", &[(Some("last".into()), n)], families, 1);
        let source = SourceOptions { make_ids, ..options(&[folder.path()]) };
        let config = if sketched { lsh() } else { Config::default() };
        let (expected, _) = published(&source, &config, HELD);
        for (threads, limit) in [(1, 0), (4, 0), (2, limit), (4, u64::MAX)] {
            let room = Room { threads, limit: Some(limit), memory };
            let (found, spilled) = published(&source, &config, room);
            prop_assert_eq!(&found, &expected);
            prop_assert!(limit > 0 || spilled);
            prop_assert!(limit < u64::MAX || !spilled);
        }
    }
}

/// Enough documents for many runs and row groups.
#[test]
fn many_runs_and_row_groups() {
    const EACH: usize = 12_000;
    for order in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        for (at, name) in ["a.csv", "b.jsonl", "c.parquet"].iter().enumerate() {
            let rows: Vec<(Option<String>, usize)> = (at * EACH..(at + 1) * EACH)
                .map(|n| (Some(id(order, n)), n))
                .collect();
            file(folder.path(), name, &rows, EACH * 2, 900);
        }
        let source = options(&[folder.path()]);
        let config = Config::default();
        let (expected, _) = published(&source, &config, HELD);
        for (threads, limit, memory) in [
            (4, 0, 1 << 20),
            (1, 5_000_000, 12 << 20),
            (4, 0, 100 << 20),
            (2, 0, 0),
        ] {
            let room = Room {
                threads,
                limit: Some(limit),
                memory,
            };
            let (found, spilled) = published(&source, &config, room);
            assert!(found == expected && spilled, "{order} {room:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]
    #[test]
    fn a_damaged_state_is_no_table_or_another(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let state = &*STATE;
        let mut damaged = state.clone();
        for (at, byte) in damage {
            damaged[at.index(state.len())] = byte;
        }
        if cut {
            damaged.truncate(end.index(state.len()));
        }
        let storage = Arc::new(MemoryStorage);
        let store = storage.create("documents");
        let restored = Table::restore(&damaged, storage, store);
        prop_assert!(restored.is_none() || !cut);
        prop_assert!(restored.is_some() || damaged != *state);
        if let Some(table) = restored {
            // What it says of its documents is there, whatever it is.
            for rank in 0..table.len() {
                let _ = (table.id(rank), table.title(rank), table.place(rank), table.text_bytes(rank));
            }
        }
    }
}

/// A saved table.
static STATE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    for (number, name) in ["a.csv", "b.jsonl", "c.parquet"].iter().enumerate() {
        let rows: Vec<(Option<String>, usize)> = (number * 20..number * 20 + 20)
            .map(|n| (Some(id(2, n)), n))
            .collect();
        file(folder.path(), name, &rows, 9, 7);
    }
    let spill = Spill {
        most_in_flight: 1,
        ..Spill::new(Arc::new(MemoryStorage), 0, &|_: &()| 0, &|_| {})
    };
    let input = Input::open(options(&[folder.path()])).unwrap();
    let read = input.read(&pool(1), &|_| (), &|_| (), Some(&spill));
    read.unwrap().0.save().unwrap()
});

/// A storage that fails after so many calls.
#[derive(Debug)]
struct Failing(Arc<AtomicUsize>);

#[derive(Debug)]
struct FailingStore(Arc<AtomicUsize>, Arc<dyn Store>);

impl Failing {
    fn works(left: &AtomicUsize) -> bool {
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        })
        .is_ok()
    }
}

impl Storage for Failing {
    fn create(&self, name: &str) -> Arc<dyn Store> {
        Arc::new(FailingStore(self.0.clone(), MemoryStorage.create(name)))
    }

    fn failed(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

impl Store for FailingStore {
    fn append(&self, bytes: &[u8]) -> u64 {
        match Failing::works(&self.0) {
            true => self.1.append(bytes),
            false => 0,
        }
    }

    fn read(&self, start: u64, into: &mut [u8]) {
        match Failing::works(&self.0) {
            true => self.1.read(start, into),
            false => into.fill(0),
        }
    }
}

#[test]
fn a_storage_that_fails_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<(Option<String>, usize)> = (0..50).map(|n| (Some(id(2, n)), n)).collect();
    file(folder.path(), "a.parquet", &rows, 30, 5);
    let source = options(&[folder.path()]);
    let pool = pool(2);
    let (mut in_reading, mut in_publishing) = (0, 0);
    for calls in 1..200 {
        let spill = Spill {
            most_in_flight: 2,
            ..Spill::new(
                Arc::new(Failing(Arc::new(AtomicUsize::new(calls)))),
                0,
                &|_: &FingerprintBatch| 0,
                &|_| {},
            )
        };
        let config = Config::default();
        let fingerprinter = Fingerprinter::new(&config);
        let seen = SeenTexts::new();
        let read = Input::open(source.clone()).unwrap().read(
            &pool,
            &|_| (),
            &|batch| {
                let mut found = FingerprintBatch::default();
                for row in 0..batch.len() {
                    fingerprinter
                        .clone()
                        .push(batch.text(row), &seen, &mut found);
                }
                found
            },
            Some(&spill),
        );
        let (table, batches) = match read {
            Ok(read) => read,
            Err(error) => {
                assert!(matches!(error, SourceError::Storage), "{error}");
                assert!(error.hint().is_some());
                in_reading += 1;
                continue;
            }
        };
        let result = pool.install(|| {
            let place = |document: DocId| Table::origin(&table, document.index());
            let sets = ShingleSets::new(&config, batches, table.len(), place);
            let outcome = pipeline::run(&config, &table, sets, Options::default(), &Unobserved);
            let folder = tempfile::tempdir().unwrap();
            let folder = OutputFolder::claim(&folder.path().join("out"), false).unwrap();
            let publication = Publication {
                documents: &table,
                outcome: &outcome.unwrap(),
                memory: 3000,
            };
            publish(publication, &"all".parse().unwrap(), &folder, &|_| ()).map(|_| ())
        });
        assert_eq!(
            result.is_err(),
            table.check_storage().is_err(),
            "{result:?}"
        );
        in_publishing += usize::from(result.is_err());
    }
    assert!(in_reading > 5 && in_publishing > 20);
}
