//! The ids: checked or made, and the order of the documents by them.
//!
//! An id is a string or an integer. Floats that are integers count as such, since many writers make
//! floats of integers as soon as one is missing; so `1.0` and `1` are the same id. In CSV, and in
//! strings, everything is text, and they are two.
//!
//! Guarantee: every document has an id that no other has, or the error names both places. Made ids
//! depend only on the file and the number of the record in it. Order: the bytes of the id.
//! Cost: 16 bytes for each document while sorting, n log n comparisons on all threads.

use std::collections::HashSet;
use std::path::Path;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StringViewArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use rayon::prelude::*;

use super::batch::Batch;
use super::columns::Role;
use super::texts::Texts;
use super::{Format, Input, Place, SourceError};

/// From here on not every integer has a float of its own: 2^53.
const INTEGERS: u64 = 1 << 53;

/// The integer that a JSON number with a point or an exponent is exactly, if it is below 2^53.
pub(super) fn integral(number: &str) -> Option<i64> {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, number),
    };
    let (digits, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let digits: String = [whole, part].concat();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return (!digits.is_empty()).then_some(0);
    }
    // How many of the significant digits stand before the point.
    let point = exponent.parse::<i64>().ok()?;
    let point =
        point.checked_add(whole.len() as i64 - (digits.len() - significant.len()) as i64)?;
    // 2^53 has sixteen.
    let point = usize::try_from(point).ok().filter(|point| *point <= 16)?;
    let (before, after) = significant.split_at(point.min(significant.len()));
    if after.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let value: u64 = format!("{before:0<point$}").parse().ok()?;
    (value < INTEGERS).then_some(value as i64 * sign)
}

/// A column of floats as integers: `NaN` is no id, and what is no integer a float holds exactly is one
/// that can't be used, for which `unusable` is called with the row and the value.
pub(super) fn integers(
    array: &ArrayRef,
    mut unusable: impl FnMut(usize, f64),
) -> Result<Int64Array, ArrowError> {
    let limit = match array.data_type() {
        DataType::Float16 => f64::from(1 << 11),
        DataType::Float32 => f64::from(1 << 24),
        _ => INTEGERS as f64,
    };
    let floats = cast(array, &DataType::Float64)?;
    let floats = floats.as_primitive::<Float64Type>();
    let integer = |(row, value): (usize, Option<f64>)| {
        let value = value.filter(|value| !value.is_nan())?;
        if value.fract() == 0.0 && value.abs() < limit {
            return Some(value as i64);
        }
        unusable(row, value);
        None
    };
    Ok(floats.iter().enumerate().map(integer).collect())
}

/// Why a record is rejected whose id is `found`.
pub(super) fn unusable(name: &str, found: &str) -> String {
    format!(
        "the id `{}` is {found}, not a string or an integer; name another column with --id-column, or \
         let ids be made with --make-ids",
        name.escape_debug()
    )
}

/// A document as (batch, row).
pub(super) type Document = (u32, u32);

/// The ids of each batch, and the documents in their order.
pub(super) struct Ids {
    pub(super) ids: Vec<Texts>,
    pub(super) order: Vec<Document>,
    /// Whether an id was made or changed.
    pub(super) made: bool,
}

/// Checks the ids, or makes those that are missing or repeated. Must run in the pool.
pub(super) fn assign(input: &Input, batches: &[Batch]) -> Result<Ids, SourceError> {
    const LIMIT: u64 = u32::MAX as u64;
    if batches.len() as u64 >= LIMIT {
        return Err(SourceError::TooMany { limit: LIMIT });
    }
    let names = short_names(input);
    let name = |batch: &Batch| names[batch.file as usize].as_str();
    let mut made = false;
    let mut ids = Vec::with_capacity(batches.len());
    for batch in batches {
        let own = batch.roles[Role::Id as usize].as_ref();
        ids.push(match own {
            Some(own) if batch.missing_id().is_none() => own.clone(),
            _ => {
                made = true;
                let own = |row| {
                    own.and_then(|own| own.value(row))
                        .filter(|id| !id.is_empty())
                };
                let make = |row| format!("{}:{}", name(batch), batch.records.get(row));
                (0..batch.len())
                    .map(|row| Some(own(row).map_or_else(|| make(row), String::from)))
                    .collect::<StringViewArray>()
                    .into()
            }
        });
    }
    let mut order = sorted(&ids);
    let Some(first) = first_repeated(&ids, &order) else {
        return Ok(Ids { ids, order, made });
    };
    if !input.make_ids {
        return Err(duplicate(input, batches, &ids, first, false));
    }
    // Every document of a repeated id is renamed, so that none of them depends on the order of files.
    let mut repeated: HashSet<Document> = HashSet::new();
    for pair in order
        .windows(2)
        .filter(|pair| id(&ids, pair[0]) == id(&ids, pair[1]))
    {
        repeated.extend(pair);
    }
    let renamed: HashSet<u32> = repeated.iter().map(|&(batch, _)| batch).collect();
    for b in renamed {
        let (batch, old) = (&batches[b as usize], &ids[b as usize]);
        let mut builder = StringViewBuilder::with_capacity(batch.len());
        for row in 0..batch.len() {
            let own = old.value(row).unwrap_or_default();
            if repeated.contains(&(b, row as u32)) {
                builder.append_value(format!("{own}@{}:{}", name(batch), batch.records.get(row)));
            } else {
                builder.append_value(own);
            }
        }
        ids[b as usize] = builder.finish().into();
    }
    order = sorted(&ids);
    match first_repeated(&ids, &order) {
        Some(first) => Err(duplicate(input, batches, &ids, first, true)),
        None => Ok(Ids {
            ids,
            order,
            made: true,
        }),
    }
}

fn id(ids: &[Texts], (batch, row): Document) -> &str {
    ids[batch as usize].value(row as usize).unwrap_or_default()
}

fn sorted(ids: &[Texts]) -> Vec<Document> {
    // Most comparisons end in the first eight bytes, which stand beside the document.
    let prefix = |id: &str| {
        let mut bytes = [0; 8];
        let n = id.len().min(8);
        bytes[..n].copy_from_slice(&id.as_bytes()[..n]);
        u64::from_be_bytes(bytes)
    };
    let mut keyed: Vec<(u64, Document)> = (0..)
        .zip(ids)
        .flat_map(|(batch, ids)| {
            (0u32..)
                .zip(ids.iter())
                .map(move |(row, id)| (prefix(id.unwrap_or_default()), (batch, row)))
        })
        .collect();
    keyed.par_sort_unstable_by(|a, b| {
        a.0.cmp(&b.0)
            .then_with(|| id(ids, a.1).cmp(id(ids, b.1)))
            .then_with(|| a.1.cmp(&b.1))
    });
    keyed.into_iter().map(|(_, document)| document).collect()
}

/// Of all records that repeat an id, the one that was read first, with the one that it repeats, and
/// how many there are.
fn first_repeated(ids: &[Texts], order: &[Document]) -> Option<(Document, Document, u64)> {
    let mut best: Option<(Document, Document)> = None;
    let mut count = 0;
    for pair in order
        .windows(2)
        .filter(|pair| id(ids, pair[0]) == id(ids, pair[1]))
    {
        count += 1;
        if best.is_none_or(|(_, second)| pair[1] < second) {
            best = Some((pair[0], pair[1]));
        }
    }
    best.map(|(first, second)| (first, second, count))
}

fn duplicate(
    input: &Input,
    batches: &[Batch],
    ids: &[Texts],
    (first, second, repeated): (Document, Document, u64),
    made: bool,
) -> SourceError {
    let file = |(batch, _): Document| {
        input.files[batches[batch as usize].file as usize]
            .name
            .clone()
    };
    SourceError::DuplicateId {
        id: id(ids, first).into(),
        first: file(first),
        first_place: place(input, &batches[first.0 as usize], first.1 as usize),
        second: file(second),
        second_place: place(input, &batches[second.0 as usize], second.1 as usize),
        repeated,
        made,
    }
}

/// Where a document stands in its file.
pub(super) fn place(input: &Input, batch: &Batch, row: usize) -> Place {
    let number = batch.places.get(row);
    match input.files[batch.file as usize].format {
        Format::Parquet => Place::Row(number),
        _ => Place::Line(number),
    }
}

/// How files are called in made ids: by their last part, unless two share it.
fn short_names(input: &Input) -> Vec<String> {
    let base = |name: &str| {
        Path::new(name)
            .file_name()
            .map_or_else(|| name.into(), |base| base.to_string_lossy().into_owned())
    };
    let short: Vec<String> = input.files.iter().map(|file| base(&file.name)).collect();
    if short.iter().collect::<HashSet<_>>().len() == short.len() {
        short
    } else {
        input.files.iter().map(|file| file.name.clone()).collect()
    }
}
