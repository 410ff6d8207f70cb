//! Documents that memory has no room for: their columns go to a store, batch by batch.
//!
//! Guarantee: what is read back is what was decoded, or [`SourceError::Storage`] or
//! [`SourceError::Unspill`] is told before anything is published. Cost: each column is an Arrow IPC
//! stream, compressed with LZ4; of a document stay its id, its title, source, domain and date, the
//! length of its text and its place, packed.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_cast::cast;
use arrow_data::ArrayData;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use twinfold::{Storage, Store};

use super::SourceError;
use super::batch::{Batch, bytes};
use super::columns::{ROLES, Role};
use super::footer::guard;
use super::state::{Reader, Writer};
use super::texts::Texts;

/// The name of the store that documents are kept in.
pub(super) const DOCUMENTS: &str = "documents";

/// How [`Input::read`](super::Input::read) is kept from holding more than it may.
pub struct Spill<'a, T> {
    /// Where the documents go.
    pub storage: Arc<dyn Storage>,
    /// Bytes that documents and results may hold together before all of it is spilled, and from then on
    /// each batch as soon as it is done with; with 0, from the start.
    pub limit: u64,
    /// The most bytes that a text, or a record of a text file, may have: while it is read, normalised and
    /// shingled it takes about ten times as much.
    pub most_text: u64,
    /// The most bytes that may stay of spilled documents: ids, titles, sources, domains and dates, and
    /// for each what [`Spill::per_document`] says.
    pub most_kept: u64,
    /// The bytes that the caller keeps of each document.
    pub per_document: u64,
    /// The most threads that may read, decode and work at a time: each holds what it is at, beside the
    /// limit.
    pub most_in_flight: usize,
    /// The bytes that a result holds.
    pub held: &'a (dyn Fn(&T) -> u64 + Sync),
    /// Moves the heavy part of a result to the storage.
    pub spill: &'a (dyn Fn(&mut T) + Sync),
}

impl<'a, T> Spill<'a, T> {
    /// From `limit` bytes on to `storage`, and otherwise without bounds.
    pub fn new(
        storage: Arc<dyn Storage>,
        limit: u64,
        held: &'a (dyn Fn(&T) -> u64 + Sync),
        spill: &'a (dyn Fn(&mut T) + Sync),
    ) -> Self {
        Self {
            storage,
            limit,
            most_text: u64::MAX,
            most_kept: u64::MAX,
            per_document: 0,
            most_in_flight: usize::MAX,
            held,
            spill,
        }
    }
}

impl<T> fmt::Debug for Spill<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spill")
            .field("storage", &self.storage)
            .field("limit", &self.limit)
            .field("most_in_flight", &self.most_in_flight)
            .finish_non_exhaustive()
    }
}

/// Where the columns of a batch are.
#[derive(Clone, Debug)]
pub(super) struct Spilled {
    start: u64,
    /// Where each stream ends, counted from `start`: one for each column, and one for the texts where
    /// no column holds the same.
    ends: Box<[u64]>,
    /// The types of the columns, until they have been looked at.
    pub(super) types: Box<[DataType]>,
    /// The stream that holds the texts; `None` where all are null.
    text: Option<usize>,
    /// The bytes of each text, none where all are null.
    lengths: Box<[u32]>,
    /// About what the columns take in memory.
    pub(super) bytes: u64,
}

impl Spilled {
    /// The bytes of a text.
    pub(super) fn text_bytes(&self, row: usize) -> usize {
        self.lengths.get(row).map_or(0, |&length| length as usize)
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.number(self.start);
        to.numbers(self.ends.iter().map(|end| end.to_le_bytes()));
        to.place(self.text);
        to.numbers(self.lengths.iter().map(|length| length.to_le_bytes()));
        to.number(self.bytes);
    }

    pub(super) fn load(from: &mut Reader<'_>, rows: usize) -> Option<Self> {
        let spilled = Self {
            start: from.number()?,
            ends: from.numbers(u64::from_le_bytes)?,
            types: Box::default(),
            text: from.place()?,
            lengths: from.numbers(u32::from_le_bytes)?,
            bytes: from.number()?,
        };
        let whole = spilled.ends.is_sorted()
            && spilled.text.is_none_or(|text| text < spilled.ends.len())
            && (spilled.lengths.is_empty() || spilled.lengths.len() == rows);
        whole.then_some(spilled)
    }

    /// How many streams there are.
    pub(super) fn streams(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of all texts.
    pub(super) fn all_text_bytes(&self) -> u64 {
        self.lengths.iter().map(|&length| u64::from(length)).sum()
    }
}

/// The store of the documents, and what else of the storage is needed to read from it.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) storage: Arc<dyn Storage>,
    store: Arc<dyn Store>,
    /// Whether something came back that can't be what was kept.
    damaged: AtomicBool,
}

impl Shelf {
    pub(super) fn new(storage: Arc<dyn Storage>) -> Self {
        let store = storage.create(DOCUMENTS);
        Self::of(storage, store)
    }

    /// The store of an earlier process.
    pub(super) fn of(storage: Arc<dyn Storage>, store: Arc<dyn Store>) -> Self {
        Self {
            storage,
            store,
            damaged: AtomicBool::new(false),
        }
    }

    /// An error if anything could not be kept or read back.
    pub(super) fn check(&self) -> Result<(), SourceError> {
        if self.storage.failed() || self.damaged.load(Ordering::Relaxed) {
            return Err(SourceError::Storage);
        }
        Ok(())
    }

    /// Moves what is heavy in a batch to the store, and packs the rest.
    pub(super) fn spill(&self, batch: &mut Batch) -> Result<(), SourceError> {
        if batch.spilled.is_some() {
            return Ok(());
        }
        let text = batch.roles[Role::Text as usize].take();
        for role in ROLES {
            let texts = &mut batch.roles[role as usize];
            *texts = texts.as_ref().map(Texts::packed);
        }
        let columns = std::mem::take(&mut batch.columns);
        let mut place = None;
        let mut streams = Vec::with_capacity(columns.len() + 1);
        if let Some(Texts::Views(text)) = &text {
            let same = |column: &ArrayRef| match column.data_type() {
                DataType::Utf8View => {
                    let column = column.as_string_view();
                    column.views().ptr_eq(text.views()) || column == text
                }
                DataType::BinaryView => {
                    column.as_binary_view().views().ptr_eq(text.views())
                        && column.logical_null_count() == text.logical_null_count()
                }
                _ => false,
            };
            place = Some(columns.iter().position(same).unwrap_or(columns.len()));
        }
        let lengths = text.iter().flat_map(Texts::iter);
        // A view holds no more than 2 GiB.
        let lengths = lengths
            .map(|text| text.map_or(0, str::len) as u32)
            .collect();
        let types = columns.iter().map(|c| c.data_type().clone()).collect();
        streams.extend(columns);
        if place == Some(streams.len())
            && let Some(text) = text
        {
            streams.push(Arc::new(text.array()));
        }
        let mut seen = HashSet::new();
        let (mut body, mut ends, mut held) = (Vec::new(), Vec::new(), 0);
        for column in streams {
            // Of what the views of a batch refer to, other batches may use the most.
            let column = make_array(compact(column.to_data()).map_err(unspill)?);
            held += bytes(&column.to_data(), &mut seen);
            body = encode(&[column], body).map_err(unspill)?;
            ends.push(body.len() as u64);
        }
        batch.spilled = Some(Spilled {
            start: self.store.append(&body),
            ends: ends.into(),
            types,
            text: place,
            lengths,
            bytes: held,
        });
        Ok(())
    }

    /// One column, as it was decoded.
    pub(super) fn column(&self, spilled: &Spilled, index: usize) -> Result<ArrayRef, SourceError> {
        let start = if index == 0 {
            0
        } else {
            spilled.ends[index - 1]
        };
        let bytes = self.read(
            &*self.store,
            spilled.start + start,
            spilled.ends[index] - start,
        )?;
        let column = self.decoded(&bytes)?.swap_remove(0);
        Ok(column)
    }

    /// The texts as strings; `None` where all are null.
    pub(super) fn texts(&self, spilled: &Spilled) -> Result<Option<ArrayRef>, SourceError> {
        let Some(index) = spilled.text else {
            return Ok(None);
        };
        let column = self.column(spilled, index)?;
        match column.data_type() {
            DataType::Utf8View => Ok(Some(column)),
            _ => cast(&column, &DataType::Utf8View)
                .map(Some)
                .map_err(|source| self.damage(source)),
        }
    }

    /// Bytes of a store, if the storage hasn't failed.
    pub(super) fn read(
        &self,
        store: &dyn Store,
        start: u64,
        length: u64,
    ) -> Result<Vec<u8>, SourceError> {
        let mut bytes = vec![0; length as usize];
        store.read(start, &mut bytes);
        self.check()?;
        Ok(bytes)
    }

    /// The columns of a stream.
    pub(super) fn decoded(&self, bytes: &[u8]) -> Result<Vec<ArrayRef>, SourceError> {
        let decoded = guard(|| decode(bytes));
        decoded
            .unwrap_or_else(|panic| Err(ArrowError::IpcError(panic)))
            .map_err(|source| self.damage(source))
    }

    fn damage(&self, source: ArrowError) -> SourceError {
        self.damaged.store(true, Ordering::Relaxed);
        unspill(source)
    }
}

pub(super) fn unspill(source: ArrowError) -> SourceError {
    SourceError::Unspill { source }
}

/// The same values, without what views refer to but don't use.
fn compact(data: ArrayData) -> Result<ArrayData, ArrowError> {
    match data.data_type() {
        DataType::Utf8View => Ok(make_array(data).as_string_view().gc().into_data()),
        DataType::BinaryView => Ok(make_array(data).as_binary_view().gc().into_data()),
        kind if kind.is_nested() => {
            let children: Vec<ArrayData> = data
                .child_data()
                .iter()
                .map(|child| compact(child.clone()))
                .collect::<Result<_, _>>()?;
            data.into_builder().child_data(children).build()
        }
        _ => Ok(data),
    }
}

/// Appends a stream of some columns of one length.
pub(super) fn encode(columns: &[ArrayRef], to: Vec<u8>) -> Result<Vec<u8>, ArrowError> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|column| Field::new("", column.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let options =
        IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
    let rows = columns.first().map_or(0, |column| column.len());
    let batch = RecordBatch::try_new_with_options(
        schema.clone(),
        columns.to_vec(),
        &RecordBatchOptions::new().with_row_count(Some(rows)),
    )?;
    let mut writer = StreamWriter::try_new_with_options(to, &schema, options)?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// The columns of a stream of one batch.
fn decode(bytes: &[u8]) -> Result<Vec<ArrayRef>, ArrowError> {
    let batch = StreamReader::try_new(bytes, None)?.next();
    let batch = batch.ok_or_else(|| ArrowError::IpcError("an empty stream".into()))??;
    let (_, columns, _) = batch.into_parts();
    Ok(columns)
}
