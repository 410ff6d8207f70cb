//! Where the documents of a table are kept. Only this module knows that it is in memory.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray, new_null_array,
};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::interleave::interleave;
use rayon::prelude::*;

use super::batch::{Batch, Numbers, value};
use super::columns::{ROLES, Role};
use super::ids::{Document, Ids};
use super::notes::Notes;
use super::summary::Summary;
use super::table::ColumnValue;
use super::{InputFile, SourceError, schema};

/// The documents of a table.
#[derive(Debug)]
pub(super) struct Rows {
    batches: Vec<Held>,
    order: Vec<Document>,
    schema: SchemaRef,
    notes: Notes,
}

#[derive(Debug)]
struct Held {
    file: u32,
    ids: StringViewArray,
    roles: [Option<StringViewArray>; ROLES.len()],
    places: Numbers,
    /// For each column of the schema, the values in its held form; `None` where the file lacks it.
    columns: Vec<Option<ArrayRef>>,
}

impl Rows {
    /// Brings all batches to one schema. `made` is the name of the id column when ids were made.
    pub(super) fn new(
        input: &[InputFile],
        files: &[Summary],
        batches: Vec<Batch>,
        ids: Ids,
        made: Option<String>,
    ) -> Result<Self, SourceError> {
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
        let held = |(batch, ids): (Batch, StringViewArray)| {
            let slots: HashMap<&str, usize> = batch
                .info
                .iter()
                .enumerate()
                .map(|(i, info)| (info.name.as_str(), i))
                .collect();
            let mut columns = Vec::with_capacity(schema.fields().len());
            for (i, field) in schema.fields().iter().enumerate() {
                columns.push(match slots.get(field.name().as_str()) {
                    _ if made == Some(i) => Some(Arc::new(ids.clone()) as ArrayRef),
                    None => None,
                    Some(&slot) => {
                        let kind = schema::held(field.data_type());
                        let column =
                            schema::convert(&batch.columns[slot], &batch.info[slot].kind, &kind);
                        Some(column.map_err(|source| convert_error(field, source))?)
                    }
                });
            }
            Ok(Held {
                file: batch.file,
                ids,
                roles: batch.roles,
                places: batch.places,
                columns,
            })
        };
        let batches = batches.into_iter().zip(ids.ids).collect::<Vec<_>>();
        // Collected in order, so that the first error is the one reported.
        let held: Vec<Result<Held, SourceError>> = batches.into_par_iter().map(held).collect();
        Ok(Self {
            batches: held.into_iter().collect::<Result<_, _>>()?,
            order: ids.order,
            schema,
            notes,
        })
    }

    /// What became another type.
    pub(super) fn notes(&self) -> Notes {
        self.notes.clone()
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
        self.batches[batch].ids.value(row)
    }

    pub(super) fn role(&self, role: Role, rank: usize) -> Option<&str> {
        let (batch, row) = self.document(rank);
        value(self.batches[batch].roles[role as usize].as_ref()?, row)
    }

    /// The index of the file, and the line or row.
    pub(super) fn place(&self, rank: usize) -> (usize, u64) {
        let (batch, row) = self.document(rank);
        let batch = &self.batches[batch];
        (batch.file as usize, batch.places.get(row))
    }

    pub(super) fn gather(&self, ranks: &[u32]) -> Result<RecordBatch, SourceError> {
        // Only the batches that are touched take part, numbered as they come.
        let mut numbers = HashMap::new();
        let mut touched = Vec::new();
        let picks: Vec<(usize, usize)> = ranks
            .iter()
            .map(|&rank| {
                let (batch, row) = self.document(rank as usize);
                let number = *numbers.entry(batch).or_insert_with(|| {
                    touched.push(&self.batches[batch]);
                    touched.len() - 1
                });
                (number, row)
            })
            .collect();
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (i, field) in self.schema.fields().iter().enumerate() {
            columns.push(column(&touched, &picks, i, field)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(ranks.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(
            |source| SourceError::Convert {
                column: String::new(),
                kind: "the schema of the table".into(),
                source,
            },
        )
    }

    pub(super) fn values(&self, name: &str) -> Option<Vec<ColumnValue>> {
        let column = self.schema.index_of(name).ok()?;
        let values: Vec<Option<Vec<ColumnValue>>> = self
            .batches
            .iter()
            .map(|batch| batch.columns[column].as_ref().map(values).transpose())
            .collect::<Result<_, _>>()
            .ok()?;
        let value = |&(batch, row): &Document| {
            values[batch as usize]
                .as_ref()
                .map_or(ColumnValue::Null, |v| v[row as usize].clone())
        };
        Some(self.order.iter().map(value).collect())
    }
}

fn convert_error(field: &Field, source: ArrowError) -> SourceError {
    SourceError::Convert {
        column: field.name().clone(),
        kind: field.data_type().to_string(),
        source,
    }
}

/// One column of some documents, in its final type.
fn column(
    touched: &[&Held],
    picks: &[(usize, usize)],
    index: usize,
    field: &Field,
) -> Result<ArrayRef, SourceError> {
    let (kind, error) = (field.data_type(), |source| convert_error(field, source));
    let held = schema::held(kind);
    let lacking = new_null_array(&held, 1);
    let arrays: Vec<&dyn Array> = touched
        .iter()
        .map(|batch| batch.columns[index].as_ref().unwrap_or(&lacking).as_ref())
        .collect();
    let row = |&(batch, row): &(usize, usize)| {
        (
            batch,
            if touched[batch].columns[index].is_some() {
                row
            } else {
                0
            },
        )
    };
    let rows: Vec<(usize, usize)> = picks.iter().map(row).collect();
    if rows.is_empty() {
        return Ok(new_null_array(kind, 0));
    }
    let picked = match (interleave(&arrays, &rows), kind) {
        (Err(_), DataType::Dictionary(_, values)) => {
            // Dictionaries that are too large together may still fit once unused values are gone.
            let flat: Vec<ArrayRef> = arrays
                .iter()
                .map(|array| cast(*array, values))
                .collect::<Result<_, _>>()
                .map_err(error)?;
            let flat: Vec<&dyn Array> = flat.iter().map(AsRef::as_ref).collect();
            return cast(&interleave(&flat, &rows).map_err(error)?, kind).map_err(error);
        }
        (picked, _) => picked.map_err(error)?,
    };
    let bytes: u64 = match &held {
        DataType::Utf8View => picked.as_string_view().lengths().map(u64::from).sum(),
        DataType::BinaryView => picked.as_binary_view().lengths().map(u64::from).sum(),
        _ => return Ok(picked),
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
