//! One type and one order for the columns of all files.
//!
//! Guarantee: both depend on the set of files only, not on their order. Files that agree keep their
//! types and their order; numbers widen, kinds of strings become one, and what has nothing in common
//! becomes text (JSON text for nested values). Integers that meet floats become floats. Each column
//! that changes its type in some file is told as a note.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray, new_null_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::InputFile;
use super::batch::{Batch, ColumnInfo, Kind};
use super::columns::ROLES;
use super::footer::Columns;
use super::notes::{About, Notes};
use super::shape::{self, Shape};
use super::summary::Summary;

/// What the files say of one column.
#[derive(Default)]
struct Column {
    /// The types that files state, each with the first file that does.
    types: BTreeMap<DataType, usize>,
    /// What the values of a JSON key have in common, in each file.
    shapes: BTreeMap<usize, Shape>,
}

impl Column {
    fn add(&mut self, file: usize, kind: &Kind) {
        match kind {
            Kind::Arrow(kind) => {
                if !self.types.contains_key(kind) {
                    self.types.insert(kind.clone(), file);
                }
            }
            Kind::Json { shape, .. } => {
                let all = self.shapes.entry(file).or_insert(Shape::Null);
                if all != shape {
                    *all = std::mem::replace(all, Shape::Null).join(shape.clone());
                }
            }
        }
    }

    /// The shape of all JSON values.
    fn shape(&self) -> Option<Shape> {
        self.shapes.values().cloned().reduce(Shape::join)
    }

    /// The final type.
    fn data_type(&self) -> DataType {
        let mut types: BTreeSet<DataType> = self.types.keys().cloned().collect();
        match self.shape() {
            // Keys that are always null say nothing, unless nobody says more; nor do those that are
            // `NaN`, where others are no floats.
            Some(Shape::Null) if !types.is_empty() => {}
            Some(Shape::Nan)
                if types.iter().any(|kind| *kind != DataType::Null)
                    && !types.iter().any(DataType::is_floating) => {}
            Some(shape) => {
                types.insert(shape.data_type());
            }
            None => {}
        }
        common(&types)
    }

    /// The note for a column whose values change their type in some file.
    fn note(&self, name: &str, to: &DataType, files: &[InputFile]) -> Option<String> {
        let nested = |shape| matches!(shape, Shape::List(_) | Shape::Object(_));
        // Objects that lack some fields are the rule in JSON.
        if self.types.is_empty() && !to.is_string() && self.shape().is_some_and(nested) {
            return None;
        }
        let mut kinds: Vec<(String, usize)> = Vec::new();
        let stated = self
            .types
            .iter()
            .filter(|(kind, _)| **kind != DataType::Null)
            .map(|(kind, file)| (said(kind), *file));
        let shapes = self.shapes.iter().filter_map(|(file, shape)| match shape {
            Shape::Null | Shape::Nan => None,
            Shape::Mixed => Some(("of no one type".into(), *file)),
            shape if shape.data_type() == DataType::Utf8 && *shape != Shape::Text => {
                Some(("of values that no type holds".into(), *file))
            }
            shape => Some((said(&shape.data_type()), *file)),
        });
        for (kind, file) in stated.chain(shapes) {
            if !kinds.iter().any(|(known, _)| *known == kind) {
                kinds.push((kind, file));
            }
        }
        if kinds.iter().all(|(kind, _)| *kind == said(to)) {
            return None;
        }
        const SHOWN: usize = 4;
        let mut text = format!("column `{name}` is ");
        for (at, (kind, file)) in kinds.iter().take(SHOWN).enumerate() {
            let file = &files[*file].name;
            text.push_str(&format!(
                "{}{kind} in {file}",
                if at > 0 { ", " } else { "" }
            ));
        }
        if kinds.len() > SHOWN {
            text.push_str(&format!(", and of {} more types", kinds.len() - SHOWN));
        }
        text.push_str(&format!(": it is read as {}", said(to)));
        Some(text)
    }
}

/// A type in words that fit in a line. All strings are text, and all bytes binary.
fn said(kind: &DataType) -> String {
    const LONGEST: usize = 80;
    match kind {
        kind if kind.is_string() => "text".into(),
        DataType::Dictionary(_, value) => said(value),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "binary".into(),
        kind => {
            let text = kind.to_string();
            match text.char_indices().nth(LONGEST) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text,
            }
        }
    }
}

/// The columns of all files together, with their final types, and the notes on those that differ.
pub(super) fn unify(
    input: &[InputFile],
    files: &[Summary],
    batches: &[Batch],
) -> (SchemaRef, Notes) {
    let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
    let infos = (0..)
        .zip(files)
        .filter_map(|(file, summary)| Some((file, summary.info.as_deref()?)))
        .chain(
            batches
                .iter()
                .map(|batch| (batch.file as usize, &*batch.info)),
        );
    for (file, info) in infos {
        for ColumnInfo { name, kind } in info {
            columns.entry(name).or_default().add(file, kind);
        }
    }
    let kinds: HashMap<&str, DataType> = columns
        .iter()
        .map(|(name, column)| (*name, column.data_type()))
        .collect();
    let names = order(files, kinds.keys().copied().collect());
    let mut notes = Notes::default();
    for name in &names {
        if let Some(note) = columns[name].note(name, &kinds[name], input) {
            notes.push(About::Widened, &note);
        }
    }
    let metadata = Agreed::new(files, batches);
    let fields: Vec<Field> = names
        .into_iter()
        .map(|name| {
            let kind = &kinds[name];
            Field::new(name, kind.clone(), true).with_metadata(metadata.of_column(name, kind))
        })
        .collect();
    let schema = Schema::new_with_metadata(fields, metadata.of_schema());
    (Arc::new(schema), notes)
}

/// The metadata on which all files agree. A CSV file or JSON Lines say nothing, which is to disagree:
/// what was said of some rows need not hold of the others.
struct Agreed<'a> {
    /// What Parquet files say, each version once.
    parquet: Vec<&'a Columns>,
    /// The columns of other files; `None` when there is no other file.
    others: Option<BTreeSet<&'a str>>,
}

impl<'a> Agreed<'a> {
    fn new(files: &'a [Summary], batches: &'a [Batch]) -> Self {
        let (mut parquet, mut others) = (Vec::<&Columns>::new(), None);
        let mut other = |info: &'a [ColumnInfo]| {
            let names = info.iter().map(|column| column.name.as_str());
            others.get_or_insert_with(BTreeSet::new).extend(names);
        };
        for file in files {
            match (&file.columns, &file.info) {
                (Some(columns), _) => {
                    if !parquet
                        .last()
                        .is_some_and(|last| std::ptr::eq(*last, &**columns))
                    {
                        parquet.push(columns);
                    }
                }
                (None, Some(info)) => other(info),
                (None, None) => {}
            }
        }
        for batch in batches {
            if files[batch.file as usize].json {
                other(&batch.info);
            }
        }
        Self { parquet, others }
    }

    fn of_schema(&self) -> HashMap<String, String> {
        if self.others.is_some() {
            return HashMap::new();
        }
        agreed(self.parquet.iter().map(|columns| &columns.metadata))
    }

    /// Of a column whose type is that of every file: what is said of one type need not hold of another.
    fn of_column(&self, name: &str, kind: &DataType) -> HashMap<String, String> {
        if self
            .others
            .as_ref()
            .is_some_and(|others| others.contains(name))
        {
            return HashMap::new();
        }
        let said = self.parquet.iter().filter_map(|columns| {
            let at = columns.info.iter().position(|column| column.name == name)?;
            Some((&columns.info[at].kind, &columns.fields[at]))
        });
        let same = |found: &Kind| matches!(found, Kind::Arrow(found) if found == kind);
        if !said.clone().all(|(kind, _)| same(kind)) {
            return HashMap::new();
        }
        agreed(said.map(|(_, metadata)| metadata))
    }
}

/// The pairs that are in all.
fn agreed<'a>(
    mut all: impl Iterator<Item = &'a HashMap<String, String>>,
) -> HashMap<String, String> {
    let mut same = all.next().cloned().unwrap_or_default();
    for other in all {
        same.retain(|key, value| other.get(key) == Some(value));
    }
    same
}

fn order<'a>(files: &'a [Summary], all: BTreeSet<&'a str>) -> Vec<&'a str> {
    let mut lists = files.iter().filter_map(|file| file.info.as_deref());
    let json = files.iter().any(|file| file.json);
    if !json && let Some(first) = lists.next() {
        let names = |info: &'a [ColumnInfo]| {
            info.iter()
                .map(|column| column.name.as_str())
                .collect::<Vec<_>>()
        };
        let first = names(first);
        if lists.all(|info| names(info) == first) {
            return first;
        }
    }
    let mut ordered: Vec<&str> = Vec::new();
    if json {
        for role in ROLES {
            let chosen: BTreeSet<&str> = files
                .iter()
                .filter_map(|file| file.chosen[role as usize].as_deref())
                .collect();
            for name in chosen {
                if all.contains(name) && !ordered.contains(&name) {
                    ordered.push(name);
                }
            }
        }
    }
    let mapped: BTreeSet<&str> = ordered.iter().copied().collect();
    ordered.extend(all.difference(&mapped));
    ordered
}

/// The least type for values of all these types. Taken over the set at once, since pair by pair the
/// result would depend on the order.
fn common(types: &BTreeSet<DataType>) -> DataType {
    use DataType::*;
    let types: Vec<&DataType> = types
        .iter()
        .filter(|kind| types.len() == 1 || **kind != Null)
        .collect();
    let all = |test: &dyn Fn(&DataType) -> bool| types.iter().all(|kind| test(kind));
    let text = |kind: &DataType| match kind {
        Dictionary(_, value) => value.is_string(),
        kind => kind.is_string(),
    };
    match types.as_slice() {
        [] => Utf8,
        [one] => (*one).clone(),
        _ if all(&text) => Utf8,
        _ if all(&|kind| matches!(kind, Binary | LargeBinary | BinaryView)) => Binary,
        _ if all(&|kind| kind.is_integer()) => integer(&types),
        _ if all(&|kind| matches!(kind, Float16 | Float32)) => Float32,
        _ if all(&|kind| kind.is_integer() || kind.is_floating()) => Float64,
        _ if all(&|kind| matches!(kind, Date32 | Date64)) => Date64,
        [Timestamp(_, zone), rest @ ..]
            if rest
                .iter()
                .all(|kind| matches!(kind, Timestamp(_, z) if z == zone)) =>
        {
            let finest = types
                .iter()
                .filter_map(|kind| {
                    if let Timestamp(unit, _) = kind {
                        Some(*unit)
                    } else {
                        None
                    }
                })
                .max();
            finest.map_or(Utf8, |unit| Timestamp(unit, zone.clone()))
        }
        _ => Utf8,
    }
}

fn integer(types: &[&DataType]) -> DataType {
    use DataType::*;
    let bits = |unsigned: bool| {
        types
            .iter()
            .filter(|kind| kind.is_unsigned_integer() == unsigned)
            .filter_map(|kind| kind.primitive_width())
            .max()
            .unwrap_or(0)
    };
    match (bits(false), bits(true)) {
        (0, 1..=2) => UInt16,
        (0, 3..=4) => UInt32,
        (0, _) => UInt64,
        // Nothing holds both a negative number and the largest of 64 bits.
        (_, 8) => Utf8,
        (signed, unsigned) => match signed.max(unsigned * 2) {
            ..=2 => Int16,
            3..=4 => Int32,
            _ => Int64,
        },
    }
}

/// The type in which a column of this final type is held: strings and binary values as views.
pub(super) fn held(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        other => other.clone(),
    }
}

/// Brings a column of a batch, which is JSON text if it is `raw`, to the held form of its final type.
pub(super) fn convert(array: &ArrayRef, raw: bool, to: &DataType) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        _ if raw => shape::convert(array.as_string_view(), to),
        _ if array.data_type() == to => Ok(array.clone()),
        _ if array.null_count() == array.len() => Ok(new_null_array(to, array.len())),
        _ if *to == DataType::Utf8View => Ok(Arc::new(texts(array)?)),
        _ => strict(array, to),
    }
}

/// Whether [`convert`] may fail for a column whose values are of the type `found`. What the shapes of
/// JSON or the types promise for any value is not checked.
pub(super) fn may_not_fit(found: &DataType, raw: bool, to: &DataType) -> bool {
    use DataType::*;
    match (found, to) {
        _ if raw => *to != Float64,
        _ if found == to || *found == Null => false,
        (Boolean, Utf8View) => false,
        (from, Utf8View) if from.is_integer() => false,
        (from, to) if from.is_integer() && to.is_floating() => false,
        (Float16 | Float32, Float32 | Float64) => false,
        _ => true,
    }
}

/// A cast in which what doesn't fit is an error, not a null.
fn strict(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(
        array,
        to,
        &CastOptions {
            safe: false,
            ..Default::default()
        },
    )
}

/// Any column as text: strings as they are, times in ISO 8601 (UTC where they have a zone), nested
/// values as JSON.
pub(super) fn texts(array: &ArrayRef) -> Result<StringViewArray, ArrowError> {
    use DataType::*;
    let views = |array: &ArrayRef| Ok(cast(array, &Utf8View)?.as_string_view().clone());
    match array.data_type() {
        kind if kind.is_string() || kind.is_null() => views(array),
        Dictionary(_, value) if value.is_string() => views(array),
        Dictionary(_, value) => texts(&strict(array, value)?),
        Timestamp(unit, Some(_)) => {
            let utc = strict(array, &Timestamp(*unit, Some("+00:00".into())))?;
            views(&strict(&utc, &LargeUtf8)?)
        }
        kind if kind.is_primitive() || *kind == Boolean => match strict(array, &LargeUtf8) {
            Ok(array) => views(&array),
            Err(_) => formatted(array),
        },
        kind if kind.is_nested() => {
            let utc = in_utc(kind);
            let array = if utc == *kind {
                array
            } else {
                &strict(array, &utc)?
            };
            json(array).or_else(|_| formatted(array))
        }
        _ => formatted(array),
    }
}

/// A nested type with every time in UTC: names of zones are not known to what makes text of them.
fn in_utc(kind: &DataType) -> DataType {
    use DataType::*;
    let field = |field: &Arc<Field>| {
        let kind = in_utc(field.data_type());
        Arc::new(field.as_ref().clone().with_data_type(kind))
    };
    match kind {
        Timestamp(unit, Some(_)) => Timestamp(*unit, Some("+00:00".into())),
        List(item) => List(field(item)),
        LargeList(item) => LargeList(field(item)),
        FixedSizeList(item, size) => FixedSizeList(field(item), *size),
        Struct(fields) => Struct(fields.iter().map(field).collect()),
        Map(entries, sorted) => Map(field(entries), *sorted),
        other => other.clone(),
    }
}

fn json(array: &ArrayRef) -> Result<StringViewArray, ArrowError> {
    const BEFORE: &[u8] = br#"{"v":"#;
    let batch = RecordBatch::try_from_iter_with_nullable([("v", array.clone(), true)])?;
    let mut writer = WriterBuilder::new()
        .with_explicit_nulls(true)
        .build::<_, LineDelimited>(Vec::new());
    writer.write(&batch)?;
    writer.finish()?;
    let lines = writer.into_inner();
    let mut builder = StringViewBuilder::with_capacity(array.len());
    // JSON text has no bare line feed, so each line is a row.
    for (row, line) in lines
        .split(|&byte| byte == b'\n')
        .take(array.len())
        .enumerate()
    {
        let value = line
            .strip_prefix(BEFORE)
            .and_then(|line| line.strip_suffix(b"}"))
            .map(std::str::from_utf8);
        match value {
            _ if array.is_null(row) => builder.append_null(),
            Some(Ok(value)) => builder.try_append_value(value)?,
            _ => return Err(ArrowError::JsonError("not a line of one value".into())),
        }
    }
    Ok(builder.finish())
}

fn formatted(array: &ArrayRef) -> Result<StringViewArray, ArrowError> {
    let options = FormatOptions::new();
    let formatter = ArrayFormatter::try_new(array, &options)?;
    let mut builder = StringViewBuilder::with_capacity(array.len());
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
        } else {
            builder.try_append_value(formatter.value(row).try_to_string()?)?;
        }
    }
    Ok(builder.finish())
}
