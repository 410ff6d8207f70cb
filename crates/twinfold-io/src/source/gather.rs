//! Documents in the order of their ids, out of a store that has them in the order of the files.
//!
//! What is wanted is cut into loads, each of which fits a share of a budget. Where a load lies in few
//! batches, since ids nearly follow the files, those are read for it. Else the batches are read once,
//! in waves, and the rows of each load go to a store of their own (an external partition), from which
//! the loads are read one by one.
//!
//! Guarantee: what comes out depends on the documents alone. Cost: at most about the budget, but no less
//! than a run of documents and a batch; on disk every wanted document is read once or twice directly, or
//! read, written and read again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_cast::{can_cast_types, cast};
use arrow_schema::{DataType, Field, SchemaRef};
use rayon::prelude::*;
use twinfold::Store;

use super::SourceError;
use super::rows::{Columns, Rows, assemble, pick};
use super::spill::{Shelf, encode, unspill};

/// What of the documents is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Every column of the table.
    All,
    /// One of them.
    Column(usize),
    /// The texts, as the one column `text`.
    Texts,
}

/// The documents that are in memory together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// The groups of runs.
    pub(crate) groups: Range<usize>,
    /// The only run of the one group, where a whole group does not fit.
    pub(crate) run: Option<usize>,
    /// About the bytes of its largest group, or of its run.
    pub(crate) largest: u64,
    /// Its runs among all.
    runs: Range<usize>,
    bytes: u64,
}

/// Hands out documents load by load.
pub(crate) struct Gatherer<'a> {
    rows: &'a Rows,
    what: What,
    schema: SchemaRef,
    loads: Vec<Load>,
    wanted: Vec<&'a [u32]>,
    way: Way,
}

enum Way {
    /// From memory, or from the batches as they lie in the store.
    Direct,
    /// From a store that has the documents of each load together, in these pieces.
    Partitioned(Arc<dyn Store>, Vec<Vec<Piece>>),
}

/// Some documents of a load in a store.
struct Piece {
    start: u64,
    length: u64,
    /// The columns that are there.
    present: BooleanArray,
}

/// The documents of a load.
pub(crate) struct Loaded<'g> {
    schema: &'g SchemaRef,
    portions: Vec<Cow<'g, Columns>>,
    places: Places<'g>,
}

enum Places<'g> {
    /// By batch and row; the number of each batch among the portions.
    Batches(&'g Rows, HashMap<usize, usize>),
    /// Each rank with its portion and row, ascending.
    Ranks(Vec<(u32, usize, usize)>),
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(
        rows: &'a Rows,
        what: What,
        groups: &[&[&'a [u32]]],
        budget: u64,
        name: &str,
    ) -> Result<Self, SourceError> {
        // The rest is for what is made of a load, and for what is read to make a partition.
        let share = budget / 4;
        let mut gatherer = Self {
            rows,
            what,
            schema: rows.schema_of(what),
            loads: cut(rows, what, groups, share),
            wanted: groups
                .iter()
                .flat_map(|runs| runs.iter().copied())
                .collect(),
            way: Way::Direct,
        };
        if let Some(shelf) = &rows.shelf
            && gatherer.needs_partition(share)
        {
            let store = shelf.storage.create(name);
            let pieces = gatherer.partition(shelf, &*store, share)?;
            gatherer.way = Way::Partitioned(store, pieces);
        }
        Ok(gatherer)
    }

    pub(crate) fn loads(&self) -> &[Load] {
        &self.loads
    }

    fn documents(&self, load: &Load) -> impl Iterator<Item = u32> {
        self.wanted[load.runs.clone()]
            .iter()
            .flat_map(|run| run.iter().copied())
    }

    /// Whether reading the batches of each load would be dearer than a partition, or would not fit.
    fn needs_partition(&self, share: u64) -> bool {
        let mut last = vec![0usize; self.rows.batches.len()];
        let (mut all, mut once, mut most, mut largest) = (0u64, 0u64, share, 0);
        for (number, load) in (1..).zip(&self.loads) {
            let mut touched = 0;
            for document in self.documents(load) {
                let (batch, _) = self.rows.document(document as usize);
                let before = std::mem::replace(&mut last[batch], number);
                if before != number {
                    let bytes = self.rows.batches[batch].bytes(self.what);
                    touched += bytes;
                    once += if before == 0 { bytes } else { 0 };
                    most = most.max(bytes);
                }
            }
            all += touched;
            most = most.max(load.bytes);
            largest = largest.max(touched);
        }
        all > once.saturating_mul(2) || largest > most.saturating_mul(2)
    }

    /// Brings the documents of each load together.
    fn partition(
        &self,
        shelf: &Shelf,
        store: &dyn Store,
        share: u64,
    ) -> Result<Vec<Vec<Piece>>, SourceError> {
        // For each document in the order of the files, its load; what is not wanted has none.
        const NONE: u32 = u32::MAX;
        let (mut ranks, starts) = self.rows.ranks();
        let mut load_of = vec![NONE; ranks.len()];
        for (number, load) in (0u32..).zip(&self.loads) {
            for document in self.documents(load) {
                load_of[document as usize] = number;
            }
        }
        for rank in &mut ranks {
            if load_of[*rank as usize] == NONE {
                *rank = NONE;
            }
        }
        let wanted = |batch: usize| {
            let ranks = &ranks[starts[batch]..starts[batch + 1]];
            ranks.iter().any(|&rank| rank != NONE)
        };
        let mut pieces: Vec<Vec<Piece>> = self.loads.iter().map(|_| Vec::new()).collect();
        let mut batches = (0..self.rows.batches.len())
            .filter(|&batch| wanted(batch))
            .peekable();
        while batches.peek().is_some() {
            let (mut wave, mut bytes) = (Vec::new(), 0);
            while let Some(batch) = batches.next_if(|&batch| {
                bytes += self.rows.batches[batch].bytes(self.what);
                wave.is_empty() || bytes <= share
            }) {
                wave.push(batch);
            }
            let columns: Vec<Cow<'_, Columns>> = wave
                .par_iter()
                .with_max_len(1)
                .map(|&batch| self.flat(batch).map(Cow::Owned))
                .collect::<Result<_, _>>()?;
            let mut rows: Vec<(u32, usize, usize)> = Vec::new();
            for (at, &batch) in wave.iter().enumerate() {
                let ranks = ranks[starts[batch]..starts[batch + 1]].iter().enumerate();
                rows.extend(
                    ranks
                        .filter(|(_, rank)| **rank != NONE)
                        .map(|(row, &rank)| (rank, at, row)),
                );
            }
            rows.par_sort_unstable();
            let of = |row: &(u32, usize, usize)| load_of[row.0 as usize];
            let parts: Vec<&[(u32, usize, usize)]> = rows.chunk_by(|a, b| of(a) == of(b)).collect();
            let written: Vec<(u32, Piece)> = parts
                .into_par_iter()
                .with_max_len(1)
                .map(|part| Ok((of(&part[0]), self.write(store, &columns, part)?)))
                .collect::<Result<_, SourceError>>()?;
            shelf.check()?;
            for (load, piece) in written {
                pieces[load as usize].push(piece);
            }
        }
        Ok(pieces)
    }

    /// The columns of a batch, values in the place of dictionaries: those of many batches may not fit one.
    fn flat(&self, batch: usize) -> Result<Columns, SourceError> {
        let flatten = |column: ArrayRef| {
            let kind = column.data_type();
            let flat = flat(kind);
            if flat == *kind || !can_cast_types(kind, &flat) || !can_cast_types(&flat, kind) {
                return Ok(column);
            }
            cast(&column, &flat).map_err(unspill)
        };
        let columns = self.rows.load(batch, self.what)?.into_owned();
        columns
            .into_iter()
            .map(|column| column.map(flatten).transpose())
            .collect()
    }

    /// Writes some rows of a wave: their ranks, and the columns that one of the batches has.
    fn write(
        &self,
        store: &dyn Store,
        wave: &[Cow<'_, Columns>],
        rows: &[(u32, usize, usize)],
    ) -> Result<Piece, SourceError> {
        let picks: Vec<(usize, usize)> = rows.iter().map(|&(_, batch, row)| (batch, row)).collect();
        let ranks: UInt32Array = rows.iter().map(|row| row.0).collect::<Vec<_>>().into();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(ranks)];
        let mut present = Vec::with_capacity(self.schema.fields().len());
        for (i, field) in self.schema.fields().iter().enumerate() {
            let has = wave.iter().any(|batch| batch[i].is_some());
            present.push(has);
            if has {
                let picked = pick(wave, &picks, i, field)?;
                columns.push(match picked.data_type() {
                    DataType::Utf8View => Arc::new(picked.as_string_view().gc()),
                    DataType::BinaryView => Arc::new(picked.as_binary_view().gc()),
                    _ => picked,
                });
            }
        }
        let bytes = encode(&columns, Vec::new()).map_err(unspill)?;
        Ok(Piece {
            start: store.append(&bytes),
            length: bytes.len() as u64,
            present: present.into(),
        })
    }

    /// The documents of the `number`th load.
    pub(crate) fn load(&self, number: usize) -> Result<Loaded<'_>, SourceError> {
        let (store, pieces) = match (&self.way, &self.rows.shelf) {
            (Way::Partitioned(store, pieces), Some(_)) => (store, &pieces[number]),
            _ => return self.load_batches(number),
        };
        let read: Vec<(Vec<u32>, Columns)> = pieces
            .par_iter()
            .with_max_len(1)
            .map(|piece| self.read(&**store, piece))
            .collect::<Result<_, _>>()?;
        let (mut ranks, mut portions) = (Vec::new(), Vec::with_capacity(read.len()));
        for (portion, (of, columns)) in read.into_iter().enumerate() {
            ranks.extend((0..).zip(of).map(|(row, rank)| (rank, portion, row)));
            portions.push(Cow::Owned(columns));
        }
        ranks.par_sort_unstable();
        Ok(Loaded {
            schema: &self.schema,
            portions,
            places: Places::Ranks(ranks),
        })
    }

    fn read(&self, store: &dyn Store, piece: &Piece) -> Result<(Vec<u32>, Columns), SourceError> {
        let shelf = self.rows.shelf.as_ref().ok_or(SourceError::Storage)?;
        let bytes = shelf.read(store, piece.start, piece.length)?;
        let mut columns = shelf.decoded(&bytes)?.into_iter();
        let ranks = columns.next();
        let ranks = ranks
            .as_ref()
            .and_then(|ranks| ranks.as_primitive_opt::<UInt32Type>());
        let ranks = ranks.ok_or(SourceError::Storage)?.values().to_vec();
        let column = |present: Option<bool>| match present {
            Some(true) => columns.next(),
            _ => None,
        };
        let columns = piece.present.iter().map(column).collect();
        Ok((ranks, columns))
    }

    fn load_batches(&self, number: usize) -> Result<Loaded<'_>, SourceError> {
        let (mut numbers, mut touched) = (HashMap::new(), Vec::new());
        for document in self.documents(&self.loads[number]) {
            let (batch, _) = self.rows.document(document as usize);
            numbers.entry(batch).or_insert_with(|| {
                touched.push(batch);
                touched.len() - 1
            });
        }
        let portions = touched
            .into_par_iter()
            .with_max_len(1)
            .map(|batch| self.rows.load(batch, self.what))
            .collect::<Result<_, _>>()?;
        Ok(Loaded {
            schema: &self.schema,
            portions,
            places: Places::Batches(self.rows, numbers),
        })
    }
}

impl Loaded<'_> {
    /// A run of the load.
    pub(crate) fn gather(&self, run: &[u32]) -> Result<RecordBatch, SourceError> {
        // Only the portions that are touched take part, numbered as they come.
        let mut numbers = HashMap::new();
        let mut touched: Vec<&Columns> = Vec::new();
        let mut picks = Vec::with_capacity(run.len());
        for &rank in run {
            let (portion, row) = match &self.places {
                Places::Batches(rows, numbers) => {
                    let (batch, row) = rows.document(rank as usize);
                    (numbers.get(&batch).copied(), row)
                }
                Places::Ranks(ranks) => {
                    let at = ranks.binary_search_by_key(&rank, |place| place.0).ok();
                    at.map_or((None, 0), |at| (Some(ranks[at].1), ranks[at].2))
                }
            };
            // A rank that was written and is not there was damaged on its way.
            let portion = portion.ok_or(SourceError::Storage)?;
            let number = *numbers.entry(portion).or_insert_with(|| {
                touched.push(&*self.portions[portion]);
                touched.len() - 1
            });
            picks.push((number, row));
        }
        assemble(self.schema, &touched, &picks)
    }
}

/// Cuts groups of runs into loads of at most `share` bytes: whole groups or, where one does not fit,
/// single runs.
fn cut(rows: &Rows, what: What, groups: &[&[&[u32]]], share: u64) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    let mut first = 0;
    for (number, runs) in groups.iter().enumerate() {
        let bytes: Vec<u64> = runs.iter().map(|run| bytes_of(rows, what, run)).collect();
        let whole: u64 = bytes.iter().sum();
        let load = |run: Option<usize>, runs, bytes| Load {
            groups: number..number + 1,
            run,
            largest: bytes,
            runs,
            bytes,
        };
        let end = first + runs.len();
        match loads.last_mut() {
            _ if whole > share && runs.len() > 1 => {
                let each = (first..).zip(bytes).enumerate();
                loads.extend(each.map(|(run, (at, bytes))| load(Some(run), at..at + 1, bytes)));
            }
            Some(last) if last.run.is_none() && last.bytes.saturating_add(whole) <= share => {
                last.groups.end = number + 1;
                last.runs.end = end;
                last.bytes += whole;
                last.largest = last.largest.max(whole);
            }
            _ => loads.push(load(None, first..end, whole)),
        }
        first = end;
    }
    loads
}

/// About the bytes of some documents: their texts, and their parts of the rest of their batches.
fn bytes_of(rows: &Rows, what: What, run: &[u32]) -> u64 {
    let bytes = |&document: &u32| {
        let (batch, _) = rows.document(document as usize);
        let batch = &rows.batches[batch];
        let rest = batch.bytes(what).saturating_sub(batch.bytes(What::Texts));
        rows.text_bytes(document as usize) as u64 + rest / batch.len().max(1) as u64
    };
    run.iter().map(bytes).sum()
}

/// The type of the same values without a dictionary.
fn flat(kind: &DataType) -> DataType {
    use DataType::*;
    let field = |field: &Arc<Field>| {
        let kind = flat(field.data_type());
        Arc::new(field.as_ref().clone().with_data_type(kind))
    };
    match kind {
        Dictionary(_, values) => flat(values),
        List(item) => List(field(item)),
        LargeList(item) => LargeList(field(item)),
        FixedSizeList(item, size) => FixedSizeList(field(item), *size),
        Struct(fields) => Struct(fields.iter().map(field).collect()),
        Map(entries, sorted) => Map(field(entries), *sorted),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use arrow_array::builder::{ListBuilder, StringDictionaryBuilder};
    use arrow_array::types::Int8Type;
    use arrow_array::{
        BinaryArray, Decimal128Array, StringArray, StructArray, TimestampSecondArray,
    };
    use proptest::prelude::*;
    use twinfold::MemoryStorage;

    use super::*;
    use crate::source::{Input, SourceOptions, Spill, Table};

    /// A Parquet file of rows numbered from `first`, with columns of many types.
    fn parquet(path: &Path, first: usize, ids: &[String], group: usize) {
        let numbers = || first..first + ids.len();
        let nullable = |n: usize| (!n.is_multiple_of(5)).then_some(n);
        let mut dictionary = StringDictionaryBuilder::<Int8Type>::new();
        let mut nested = ListBuilder::new(StringDictionaryBuilder::<Int8Type>::new());
        for n in numbers() {
            dictionary.append_option(nullable(n).map(|n| format!("label {}", n % 90)));
            for item in 0..n % 3 {
                nested
                    .values()
                    .append_value(format!("item {}", (n + item) % 40));
            }
            nested.append(!n.is_multiple_of(7));
        }
        let strings = |of: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
            Arc::new(numbers().map(of).collect::<StringArray>())
        };
        let text =
            strings(&|n| nullable(n).map(|n| format!("the text {n} {}", "x".repeat(n % 50))));
        let binary: BinaryArray = numbers()
            .map(|n| nullable(n).map(|n| vec![n as u8; n % 20]))
            .collect();
        let decimals: Decimal128Array = numbers().map(|n| nullable(n).map(|n| n as i128)).collect();
        let times: TimestampSecondArray = numbers()
            .map(|n| nullable(n).map(|n| n as i64))
            .collect::<TimestampSecondArray>()
            .with_timezone("Europe/Berlin");
        let inner = strings(&|n| nullable(n + 1).map(|n| n.to_string()));
        let field = Arc::new(Field::new("inner", DataType::Utf8, true));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("id", Arc::new(StringArray::from(ids.to_vec()))),
            ("text", text),
            ("label", Arc::new(dictionary.finish())),
            ("items", Arc::new(nested.finish())),
            ("raw", Arc::new(binary)),
            ("price", Arc::new(decimals)),
            ("at", Arc::new(times)),
            ("pair", Arc::new(StructArray::from(vec![(field, inner)]))),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns
                .into_iter()
                .map(|(name, column)| (name, column, true)),
        );
        let batch = batch.unwrap();
        let properties = parquet::file::properties::WriterProperties::builder()
            .set_max_row_group_row_count(Some(group))
            .build();
        let file = std::fs::File::create(path).unwrap();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    fn json_lines(path: &Path, first: usize, ids: &[String]) {
        let mut lines = String::new();
        for (n, id) in (first..).zip(ids) {
            let line = match n % 4 {
                0 => {
                    serde_json::json!({"id": id, "text": format!("text {n}"), "pair": {"inner": n}})
                }
                1 => {
                    serde_json::json!({"id": id, "text": "n", "raw": n, "list": [n, null, 1], "label": "x"})
                }
                2 => serde_json::json!({"id": id, "text": null, "float": n as f64 / 3.0}),
                _ => serde_json::json!({"id": id, "text": "\u{e4}\n", "list": [], "float": n}),
            };
            lines.push_str(&format!("{line}\n"));
        }
        std::fs::write(path, lines).unwrap();
    }

    fn read(folder: &Path, threads: usize, limit: Option<u64>) -> (rayon::ThreadPool, Table) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.unwrap();
        let input = Input::open(SourceOptions {
            inputs: vec![folder.to_str().unwrap().into()],
            ..Default::default()
        });
        let spill = limit.map(|limit| Spill {
            most_in_flight: 2,
            ..Spill::new(Arc::new(MemoryStorage), limit, &|_: &()| 1, &|_| {})
        });
        let (table, _) = input
            .unwrap()
            .read(&pool, &|_| (), &|_| (), spill.as_ref())
            .unwrap();
        (pool, table)
    }

    /// Every run of a table, by its gatherer.
    fn gathered(
        rows: &Rows,
        what: What,
        groups: &[&[&[u32]]],
        budget: u64,
        partitioned: &mut bool,
    ) -> Vec<RecordBatch> {
        let gatherer = Gatherer::new(rows, what, groups, budget, "test").unwrap();
        *partitioned |= matches!(gatherer.way, Way::Partitioned(..));
        let (mut found, mut next) = (Vec::new(), 0);
        for (number, load) in gatherer.loads().iter().enumerate() {
            assert_eq!(load.runs.start, next);
            next = load.runs.end;
            let loaded = gatherer.load(number).unwrap();
            let runs: Vec<&[u32]> = match load.run {
                Some(run) => vec![groups[load.groups.start][run]],
                None => groups[load.groups.clone()].concat(),
            };
            assert_eq!(runs, gatherer.wanted[load.runs.clone()]);
            found.extend(runs.iter().map(|run| loaded.gather(run).unwrap()));
        }
        assert_eq!(next, gatherer.wanted.len());
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]
        #[test]
        fn runs_out_of_a_store_are_as_from_memory(
            count in 1usize..160,
            order in any::<u64>(),
            group in 1usize..40,
            run in 1usize..12,
            kept in 1u32..4,
            limit in prop::sample::select(vec![0, 5_000, u64::MAX]),
            threads in prop::sample::select(vec![1usize, 4]),
            json in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let id = |n: usize| match order % 3 {
                0 => format!("{n:05}"),
                1 => format!("{:05}", 10_000 - n),
                _ => format!("{:016x}", (n as u64 + 1).wrapping_mul(order | 1)),
            };
            let ids: Vec<String> = (0..count).map(id).collect();
            for (file, ids) in ids.chunks(60).enumerate() {
                let first = file * 60;
                if json && file == 1 {
                    json_lines(&folder.path().join("b.jsonl"), first, ids);
                } else {
                    let path = folder.path().join(format!("{file}.parquet"));
                    parquet(&path, first, ids, group);
                }
            }
            let (_, held) = read(folder.path(), threads, None);
            let (pool, spilled) = read(folder.path(), threads, Some(limit));
            match limit {
                0 => prop_assert!(spilled.is_spilled()),
                u64::MAX => prop_assert!(!spilled.is_spilled()),
                _ => {}
            }
            prop_assert_eq!(held.rejected(), []);
            let wanted: Vec<u32> = (0..count as u32).filter(|rank| rank % kept == 0).collect();
            let runs: Vec<&[u32]> = wanted.chunks(run).collect();
            let groups: Vec<&[&[u32]]> = runs.chunks(3).collect();
            for what in [What::All, What::Texts] {
                let mut partitioned = false;
                let expected = gathered(held.rows(), what, &groups, u64::MAX, &mut partitioned);
                prop_assert!(!partitioned);
                for budget in [0, 2_000, 20_000, 200_000, u64::MAX] {
                    let found = pool.install(|| {
                        gathered(spilled.rows(), what, &groups, budget, &mut partitioned)
                    });
                    prop_assert!(found == expected);
                }
                // Runs of documents from everywhere.
                let scattered = order % 3 == 2 && count > 80 && kept == 1 && group < 10;
                if scattered && limit == 0 && !json && what == What::All {
                    prop_assert!(partitioned);
                }
            }
        }
    }
}
