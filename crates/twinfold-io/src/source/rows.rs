//! Where the documents of a table are kept: in memory, or their columns in a store. Only this module
//! and [`super::gather`] know which.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::interleave::interleave;
use rayon::prelude::*;
use twinfold::DocId;
use twinfold::document::{VisitTexts, Wanted};

use super::batch::{Batch, ColumnInfo, Kind, Numbers};
use super::columns::{ROLES, Role};
use super::gather::What;
use super::ids::{Document, Ids};
use super::notes::Notes;
use super::spill::{Shelf, Spilled};
use super::state::{Reader, Writer};
use super::summary::Summary;
use super::table::ColumnValue;
use super::texts::Texts;
use super::{InputFile, SourceError, schema};

/// The documents of a table.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) batches: Vec<Kept>,
    order: Vec<Document>,
    schema: SchemaRef,
    /// The id column, if ids were made.
    made: Option<usize>,
    /// Where columns are that are not held.
    pub(super) shelf: Option<Shelf>,
}

/// A batch as the table keeps it.
#[derive(Debug)]
pub(super) struct Kept {
    file: u32,
    slots: Slots,
    ids: Texts,
    /// The values of each role, but for ids; of what is spilled, but for texts.
    roles: [Option<Texts>; ROLES.len()],
    places: Numbers,
    pub(super) body: Body,
}

/// For each column of the schema, its place among those of a batch, and whether it is JSON text there.
type Slots = Arc<[Option<(usize, bool)>]>;

#[derive(Debug)]
pub(super) enum Body {
    Held(Columns),
    Spilled(Spilled),
}

/// For each column of the schema, the values in its held form; `None` where the file lacks it.
pub(super) type Columns = Vec<Option<ArrayRef>>;

impl Rows {
    /// Brings all batches to one schema, and notes which columns became another type. `made` is the name
    /// of the id column when ids were made.
    pub(super) fn new(
        input: &[InputFile],
        files: &[Summary],
        batches: Vec<Batch>,
        ids: Ids,
        made: Option<String>,
        shelf: Option<Shelf>,
    ) -> Result<(Self, Notes), SourceError> {
        let (mut schema, notes) = schema::unify(input, files, &batches);
        let made = made.map(|name| {
            let mut fields: Vec<Field> = schema
                .fields()
                .iter()
                .map(|field| field.as_ref().clone())
                .collect();
            let field = Field::new(&name, DataType::Utf8, true);
            let at = fields.iter().position(|field| *field.name() == name);
            match at {
                Some(at) => fields[at] = field,
                None => fields.insert(0, field),
            }
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
            at.unwrap_or(0)
        });
        let mut rows = Self {
            batches: Vec::new(),
            order: ids.order,
            schema,
            made,
            shelf,
        };
        // Most batches have the same columns.
        let mut last = Slots::default();
        let batches = batches
            .into_iter()
            .zip(ids.ids)
            .map(|(batch, ids)| {
                let slots = rows.slots(&batch.info);
                if *slots != *last {
                    last = slots.into();
                }
                (batch, ids, last.clone())
            })
            .collect::<Vec<_>>();
        let kept = |(batch, ids, slots): (Batch, Texts, Slots)| {
            let Batch {
                file,
                columns,
                mut roles,
                places,
                spilled,
                ..
            } = batch;
            roles[Role::Id as usize] = None;
            let mut kept = Kept {
                file,
                slots,
                ids,
                roles,
                places,
                body: Body::Held(Vec::new()),
            };
            match spilled {
                None => {
                    let columns = rows.convert(&kept, &|slot| Ok(columns[slot].clone()))?;
                    kept.body = Body::Held(columns);
                }
                Some(mut spilled) => {
                    rows.check(&kept, &spilled)?;
                    spilled.types = Box::default();
                    kept.ids = kept.ids.packed();
                    kept.body = Body::Spilled(spilled);
                }
            }
            Ok(kept)
        };
        // Collected in order, so that the first error is the one reported.
        let kept: Vec<Result<Kept, SourceError>> = batches.into_par_iter().map(kept).collect();
        rows.batches = kept.into_iter().collect::<Result<_, _>>()?;
        Ok((rows, notes))
    }

    fn slots(&self, info: &[ColumnInfo]) -> Vec<Option<(usize, bool)>> {
        let names: HashMap<&str, usize> = info
            .iter()
            .map(|info| info.name.as_str())
            .zip(0..)
            .collect();
        let fields = self.schema.fields().iter();
        fields
            .map(|field| {
                let slot = *names.get(field.name().as_str())?;
                let raw = matches!(info[slot].kind, Kind::Json { raw: true, .. });
                Some((slot, raw))
            })
            .collect()
    }

    /// All columns of a batch in the held forms of their final types.
    fn convert(
        &self,
        batch: &Kept,
        column: &dyn Fn(usize) -> Result<ArrayRef, SourceError>,
    ) -> Result<Columns, SourceError> {
        let columns = 0..self.schema.fields().len();
        columns
            .map(|index| self.converted(batch, index, column))
            .collect()
    }

    /// The `index`th column of the schema.
    fn converted(
        &self,
        batch: &Kept,
        index: usize,
        column: &dyn Fn(usize) -> Result<ArrayRef, SourceError>,
    ) -> Result<Option<ArrayRef>, SourceError> {
        if self.made == Some(index) {
            return Ok(Some(Arc::new(batch.ids.array())));
        }
        let Some((slot, raw)) = batch.slots[index] else {
            return Ok(None);
        };
        let field = self.schema.field(index);
        let held = schema::held(field.data_type());
        let converted = schema::convert(&column(slot)?, raw, &held);
        Ok(Some(
            converted.map_err(|error| convert_error(field, error))?,
        ))
    }

    /// Converts those columns of a spilled batch that may not fit their final types, to see whether they
    /// do: that has to be known before anything is published.
    fn check(&self, batch: &Kept, spilled: &Spilled) -> Result<(), SourceError> {
        let Some(shelf) = &self.shelf else {
            return Ok(());
        };
        for (index, field) in self.schema.fields().iter().enumerate() {
            let Some((slot, raw)) = batch.slots[index] else {
                continue;
            };
            let held = schema::held(field.data_type());
            let may_not_fit = schema::may_not_fit(&spilled.types[slot], raw, &held);
            if self.made != Some(index) && may_not_fit {
                self.converted(batch, index, &|slot| shelf.column(spilled, slot))?;
            }
        }
        Ok(())
    }

    /// Puts down all but the documents, which are in a store; false where they are not.
    pub(super) fn save(&self, to: &mut Writer) -> bool {
        to.schema(&self.schema);
        to.place(self.made);
        to.number(self.batches.len() as u64);
        let mut last: Option<&Slots> = None;
        for batch in &self.batches {
            let Body::Spilled(spilled) = &batch.body else {
                return false;
            };
            to.number(batch.file.into());
            // Slots that are those of the batch before are left out.
            let same = last.is_some_and(|last| Arc::ptr_eq(last, &batch.slots));
            to.number(same.into());
            if !same {
                for slot in &*batch.slots {
                    to.place(slot.map(|(slot, _)| slot));
                    to.number(slot.is_some_and(|(_, raw)| raw).into());
                }
                last = Some(&batch.slots);
            }
            to.texts(Some(&batch.ids));
            for role in &batch.roles {
                to.texts(role.as_ref());
            }
            to.places(&batch.places);
            spilled.save(to);
        }
        to.numbers(self.order.iter().map(|(batch, _)| batch.to_le_bytes()));
        to.numbers(self.order.iter().map(|(_, row)| row.to_le_bytes()));
        self.shelf.is_some()
    }

    /// What was put down, of `files` files.
    pub(super) fn restore(from: &mut Reader<'_>, files: usize, shelf: Shelf) -> Option<Self> {
        let schema = from.schema()?;
        let fields = schema.fields().len();
        let made = from.place()?;
        if made.is_some_and(|made| made >= fields) {
            return None;
        }
        let count = from.count()?;
        let mut batches = Vec::new();
        let mut slots = Slots::default();
        let mut rows = 0;
        for _ in 0..count {
            let file = u32::try_from(from.number()?).ok()?;
            if from.number()? == 0 {
                slots = (0..fields)
                    .map(|_| {
                        let slot = from.place()?;
                        let raw = from.number()? == 1;
                        Some(slot.map(|slot| (slot, raw)))
                    })
                    .collect::<Option<_>>()?;
            }
            let ids = from.texts()??;
            let mut roles: [Option<Texts>; ROLES.len()] = Default::default();
            for role in &mut roles {
                *role = from.texts()?;
            }
            let places = from.places(ids.len())?;
            let spilled = Spilled::load(from, ids.len())?;
            let whole = slots.len() == fields
                && slots
                    .iter()
                    .flatten()
                    .all(|(slot, _)| *slot < spilled.streams())
                && roles.iter().flatten().all(|role| role.len() == ids.len())
                && (file as usize) < files;
            if !whole {
                return None;
            }
            rows += ids.len();
            batches.push(Kept {
                file,
                slots: slots.clone(),
                ids,
                roles,
                places,
                body: Body::Spilled(spilled),
            });
        }
        let of: Vec<u32> = from.numbers(u32::from_le_bytes)?;
        let row: Vec<u32> = from.numbers(u32::from_le_bytes)?;
        let order: Vec<Document> = of.into_iter().zip(row).collect();
        let known = |&(batch, row): &Document| {
            let batch = batches.get(batch as usize);
            batch.is_some_and(|batch| (row as usize) < batch.len())
        };
        (order.len() == rows && order.iter().all(known)).then_some(Self {
            batches,
            order,
            schema,
            made,
            shelf: Some(shelf),
        })
    }

    /// What a batch holds of `what`.
    pub(super) fn load(&self, number: usize, what: What) -> Result<Cow<'_, Columns>, SourceError> {
        let batch = &self.batches[number];
        let (spilled, shelf) = match (&batch.body, &self.shelf) {
            (Body::Held(columns), _) => {
                return Ok(match what {
                    What::All => Cow::Borrowed(columns),
                    What::Column(index) => Cow::Owned(vec![columns[index].clone()]),
                    What::Texts => {
                        let texts = batch.roles[Role::Text as usize].as_ref();
                        Cow::Owned(vec![texts.map(|texts| Arc::new(texts.array()) as ArrayRef)])
                    }
                });
            }
            (Body::Spilled(spilled), Some(shelf)) => (spilled, shelf),
            (Body::Spilled(_), None) => return Err(SourceError::Storage),
        };
        let column = |slot| shelf.column(spilled, slot);
        Ok(Cow::Owned(match what {
            What::All => self.convert(batch, &column)?,
            What::Column(index) => vec![self.converted(batch, index, &column)?],
            What::Texts => vec![shelf.texts(spilled)?],
        }))
    }

    /// The columns of `what`.
    pub(super) fn schema_of(&self, what: What) -> SchemaRef {
        match what {
            What::All => self.schema(),
            What::Column(index) => Arc::new(Schema::new(vec![self.schema.field(index).clone()])),
            What::Texts => Arc::new(Schema::new(vec![Field::new(
                "text",
                DataType::Utf8View,
                true,
            )])),
        }
    }

    /// Whether documents are in a store.
    pub(super) fn spilled(&self) -> bool {
        self.shelf.is_some()
    }

    /// An error if the store has failed.
    pub(super) fn check_storage(&self) -> Result<(), SourceError> {
        self.shelf.as_ref().map_or(Ok(()), Shelf::check)
    }

    /// The bytes of a document's text.
    pub(super) fn text_bytes(&self, rank: usize) -> usize {
        let (batch, row) = self.document(rank);
        match &self.batches[batch].body {
            Body::Held(_) => self.role(Role::Text, rank).map_or(0, str::len),
            Body::Spilled(spilled) => spilled.text_bytes(row),
        }
    }

    /// The text of a document that is held.
    pub(super) fn held_text(&self, rank: usize) -> Option<&str> {
        let (batch, row) = self.document(rank);
        let batch = &self.batches[batch];
        matches!(batch.body, Body::Held(_)).then(|| {
            let texts = batch.roles[Role::Text as usize].as_ref();
            texts.and_then(|texts| texts.value(row)).unwrap_or("")
        })
    }

    /// The rank of each document, batch by batch, and where each batch begins in that.
    pub(super) fn ranks(&self) -> (Vec<u32>, Vec<usize>) {
        let mut starts = Vec::with_capacity(self.batches.len() + 1);
        let mut sum = 0;
        for batch in &self.batches {
            starts.push(sum);
            sum += batch.ids.len();
        }
        starts.push(sum);
        let mut ranks = vec![0; sum];
        for (rank, &(batch, row)) in (0u32..).zip(&self.order) {
            ranks[starts[batch as usize] + row as usize] = rank;
        }
        (ranks, starts)
    }

    /// Visits the texts of a table whose documents are in a store, batch by batch.
    pub(super) fn for_each_spilled_text(&self, wanted: &Wanted<'_>, visit: &VisitTexts<'_>) {
        let (ranks, starts) = self.ranks();
        let batch = |number: usize| {
            let ranks = &ranks[starts[number]..starts[number + 1]];
            let wanted: Vec<(usize, DocId)> = ranks
                .iter()
                .map(|&rank| DocId(rank))
                .enumerate()
                .filter(|&(_, document)| wanted(document))
                .collect();
            if wanted.is_empty() {
                return;
            }
            // What can't be read has been noted, and ends the run at the end of the stage.
            let columns = self.load(number, What::Texts);
            let texts = columns
                .as_ref()
                .ok()
                .and_then(|columns| columns[0].as_ref());
            let texts = texts.map(|texts| texts.as_string_view());
            visit(&mut wanted.into_iter().map(|(row, document)| {
                let text = texts.filter(|texts| texts.is_valid(row));
                (document, text.map_or("", |texts| texts.value(row)))
            }));
        };
        (0..self.batches.len())
            .into_par_iter()
            .with_max_len(1)
            .for_each(batch);
    }

    /// The bytes of ids and of what stays of spilled documents.
    pub(super) fn kept_bytes(&self) -> u64 {
        let roles = |kept: &Kept| kept.roles.iter().flatten().map(Texts::kept).sum::<u64>();
        self.batches
            .iter()
            .map(|kept| kept.ids.kept() + roles(kept))
            .sum()
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(super) fn document(&self, rank: usize) -> (usize, usize) {
        let (batch, row) = self.order[rank];
        (batch as usize, row as usize)
    }

    pub(super) fn id(&self, rank: usize) -> &str {
        let (batch, row) = self.document(rank);
        self.batches[batch].ids.value(row).unwrap_or_default()
    }

    pub(super) fn role(&self, role: Role, rank: usize) -> Option<&str> {
        let (batch, row) = self.document(rank);
        self.batches[batch].roles[role as usize]
            .as_ref()?
            .value(row)
    }

    /// The index of the file, and the line or row.
    pub(super) fn place(&self, rank: usize) -> (usize, u64) {
        let (batch, row) = self.document(rank);
        let batch = &self.batches[batch];
        (batch.file as usize, batch.places.get(row))
    }

    /// Some documents; of a store, batch after batch is read.
    pub(super) fn gather(&self, ranks: &[u32]) -> Result<RecordBatch, SourceError> {
        // Only the batches that are touched take part, numbered as they come.
        let mut numbers = HashMap::new();
        let mut touched: Vec<usize> = Vec::new();
        let mut picks: Vec<(usize, usize)> = ranks
            .iter()
            .map(|&rank| {
                let (batch, row) = self.document(rank as usize);
                let number = *numbers.entry(batch).or_insert_with(|| {
                    touched.push(batch);
                    touched.len() - 1
                });
                (number, row)
            })
            .collect();
        if !self.spilled() {
            let touched: Vec<Cow<'_, Columns>> = touched
                .into_iter()
                .map(|batch| self.load(batch, What::All))
                .collect::<Result<_, _>>()?;
            return assemble(&self.schema, &touched, &picks);
        }
        // Of each batch only what is asked for stays.
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); touched.len()];
        for (batch, row) in &mut picks {
            let rows = &mut rows[*batch];
            rows.push(*row);
            *row = rows.len() - 1;
        }
        let mut taken = Vec::with_capacity(touched.len());
        for (batch, rows) in touched.into_iter().zip(rows) {
            let batch = [self.load(batch, What::All)?];
            let picks: Vec<(usize, usize)> = rows.into_iter().map(|row| (0, row)).collect();
            let fields = self.schema.fields().iter().enumerate();
            let columns: Columns = fields
                .map(|(i, field)| {
                    let present = batch[0][i].is_some();
                    present.then(|| pick(&batch, &picks, i, field)).transpose()
                })
                .collect::<Result<_, _>>()?;
            taken.push(Cow::Owned(columns));
        }
        assemble(&self.schema, &taken, &picks)
    }

    pub(super) fn values(&self, name: &str) -> Option<Vec<ColumnValue>> {
        let column = self.schema.index_of(name).ok()?;
        let found: Result<Vec<Option<Vec<ColumnValue>>>, SourceError> = (0..self.batches.len())
            .into_par_iter()
            .with_max_len(1)
            .map(|batch| {
                let columns = self.load(batch, What::Column(column))?;
                let values = columns[0].as_ref().map(values).transpose();
                values.map_err(|source| convert_error(self.schema.field(column), source))
            })
            .collect();
        let mut values = match found {
            Ok(values) => values,
            // It was noted, and ends the run; that there is no such column would be wrong.
            Err(SourceError::Storage | SourceError::Unspill { .. }) => {
                return Some(vec![ColumnValue::Null; self.len()]);
            }
            Err(_) => return None,
        };
        let value = |&(batch, row): &Document| {
            let values = values[batch as usize].as_mut();
            values.map_or(ColumnValue::Null, |values| {
                std::mem::replace(&mut values[row as usize], ColumnValue::Null)
            })
        };
        Some(self.order.iter().map(value).collect())
    }
}

impl Kept {
    /// About the bytes that `what` takes in memory.
    pub(super) fn bytes(&self, what: What) -> u64 {
        match (&self.body, what) {
            (Body::Held(_), _) => 0,
            (Body::Spilled(spilled), What::All) => spilled.bytes,
            (Body::Spilled(spilled), _) => spilled.all_text_bytes(),
        }
    }

    /// How many documents.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Documents as (portion, row), all columns in their final types.
pub(super) fn assemble<C: Deref<Target = Columns>>(
    schema: &SchemaRef,
    touched: &[C],
    picks: &[(usize, usize)],
) -> Result<RecordBatch, SourceError> {
    let fields = schema.fields().iter().enumerate();
    let columns = fields
        .map(|(i, field)| column(touched, picks, i, field))
        .collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(picks.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(|source| {
        SourceError::Convert {
            column: String::new(),
            kind: "the schema of the table".into(),
            source,
        }
    })
}

fn convert_error(field: &Field, source: ArrowError) -> SourceError {
    SourceError::Convert {
        column: field.name().clone(),
        kind: field.data_type().to_string(),
        source,
    }
}

/// One column of some documents, in its final type.
fn column<C: Deref<Target = Columns>>(
    touched: &[C],
    picks: &[(usize, usize)],
    index: usize,
    field: &Field,
) -> Result<ArrayRef, SourceError> {
    let (kind, error) = (field.data_type(), |source| convert_error(field, source));
    if picks.is_empty() {
        return Ok(new_null_array(kind, 0));
    }
    let picked = pick(touched, picks, index, field)?;
    let bytes: u64 = match picked.data_type() {
        DataType::Utf8View => picked.as_string_view().lengths().map(u64::from).sum(),
        DataType::BinaryView => picked.as_binary_view().lengths().map(u64::from).sum(),
        found if found == kind => return Ok(picked),
        _ => return cast(&picked, kind).map_err(error),
    };
    match kind {
        DataType::Utf8 | DataType::Binary if bytes > i32::MAX as u64 => {
            Err(SourceError::TooLarge {
                column: field.name().clone(),
                bytes,
                kind: kind.to_string(),
            })
        }
        // Views would keep all the text of the batches alive; a copy holds what was asked for.
        DataType::Utf8View => Ok(Arc::new(picked.as_string_view().gc())),
        DataType::BinaryView => Ok(Arc::new(picked.as_binary_view().gc())),
        _ => cast(&picked, kind).map_err(error),
    }
}

/// One column of some documents, in its held form or as it is in all portions that have it.
pub(super) fn pick<C: Deref<Target = Columns>>(
    touched: &[C],
    picks: &[(usize, usize)],
    index: usize,
    field: &Field,
) -> Result<ArrayRef, SourceError> {
    let error = |source| convert_error(field, source);
    let present = touched.iter().find_map(|batch| batch[index].as_ref());
    let held = match present {
        Some(array) => array.data_type().clone(),
        None => schema::held(field.data_type()),
    };
    let lacking = new_null_array(&held, 1);
    let arrays: Vec<&dyn Array> = touched
        .iter()
        .map(|batch| batch[index].as_ref().unwrap_or(&lacking).as_ref())
        .collect();
    let row = |&(batch, row): &(usize, usize)| {
        let present = touched[batch][index].is_some();
        (batch, if present { row } else { 0 })
    };
    let rows: Vec<(usize, usize)> = picks.iter().map(row).collect();
    match (interleave(&arrays, &rows), &held) {
        (Err(_), DataType::Dictionary(_, values)) => {
            // Dictionaries that are too large together may still fit once unused values are gone.
            let flat: Vec<ArrayRef> = arrays
                .iter()
                .map(|array| cast(*array, values))
                .collect::<Result<_, _>>()
                .map_err(error)?;
            let flat: Vec<&dyn Array> = flat.iter().map(AsRef::as_ref).collect();
            cast(&interleave(&flat, &rows).map_err(error)?, &held).map_err(error)
        }
        (picked, _) => picked.map_err(error),
    }
}

fn values(array: &ArrayRef) -> Result<Vec<ColumnValue>, ArrowError> {
    use DataType::*;
    let or_null = |value: Option<ColumnValue>| value.unwrap_or(ColumnValue::Null);
    let floats = |array: &ArrayRef| -> Result<Vec<ColumnValue>, ArrowError> {
        let array = cast(array, &Float64)?;
        Ok(array
            .as_primitive::<Float64Type>()
            .iter()
            .map(|v| or_null(v.map(ColumnValue::Float)))
            .collect())
    };
    match array.data_type() {
        Dictionary(_, kind) if !kind.is_string() => values(&cast(array, kind)?),
        UInt64 => {
            let ints = cast(array, &Int64)?;
            let ints = ints.as_primitive::<Int64Type>();
            let floats = floats(array)?;
            Ok(floats
                .into_iter()
                .zip(ints)
                .map(|(float, int)| int.map_or(float, ColumnValue::Integer))
                .collect())
        }
        kind if kind.is_integer() => {
            let array = cast(array, &Int64)?;
            Ok(array
                .as_primitive::<Int64Type>()
                .iter()
                .map(|v| or_null(v.map(ColumnValue::Integer)))
                .collect())
        }
        kind if kind.is_floating() || kind.is_decimal() => floats(array),
        Timestamp(..) | Date32 | Date64 => {
            let zone = if let Timestamp(_, zone) = array.data_type() {
                zone.clone()
            } else {
                None
            };
            let array = cast(array, &Timestamp(TimeUnit::Microsecond, zone))?;
            let times = array.as_primitive::<TimestampMicrosecondType>();
            Ok(times
                .iter()
                .map(|v| or_null(v.map(ColumnValue::Time)))
                .collect())
        }
        _ => Ok(schema::texts(array)?
            .iter()
            .map(|v| or_null(v.map(|v| ColumnValue::Text(v.into()))))
            .collect()),
    }
}
