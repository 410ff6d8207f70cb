//! What the values of one JSON key have in common, and the Arrow type that follows from it.
//!
//! Shapes form a lattice: [`Shape::join`] is commutative, associative and idempotent, so the type of a
//! column can't depend on the order of the rows or on how they are cut into batches and files.
//! Guarantee: a column gets a narrower type than text only where every value fits it without loss,
//! but for integers among floats, which become floats. Integers are 64 bits with a sign or, where one
//! needs it and none is negative, without; longer ones are text, which keeps their digits. `NaN` is a
//! value among floats and anywhere else what it stands for in Python: a missing value.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringViewArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::literals;

/// The most fields, at all levels, before an object counts as a map with free keys and stays text.
const MOST_FIELDS: usize = 1000;
/// The deepest nesting before a value stays text.
const DEEPEST: usize = 16;

/// The least type that a set of JSON values fits.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Null,
    /// Nothing but `NaN` and nulls.
    Nan,
    Bool,
    Int(Integers),
    Float,
    Text,
    List(Box<Shape>),
    Object(BTreeMap<String, Shape>),
    /// No common type but text.
    Mixed,
}

/// What has been seen of integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Integers {
    pub(super) negative: bool,
    pub(super) longest: Length,
}

/// The bits that integers need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Length {
    /// 64 with a sign.
    Signed,
    /// 64 without one.
    Unsigned,
    /// More.
    Longer,
}

impl Integers {
    fn of(raw: &str) -> Self {
        let longest = if raw.parse::<i64>().is_ok() {
            Length::Signed
        } else if raw.parse::<u64>().is_ok() {
            Length::Unsigned
        } else {
            Length::Longer
        };
        Self {
            negative: raw.starts_with('-'),
            longest,
        }
    }

    fn join(self, other: Self) -> Self {
        Self {
            negative: self.negative || other.negative,
            longest: self.longest.max(other.longest),
        }
    }

    fn data_type(self) -> Option<DataType> {
        match (self.longest, self.negative) {
            (Length::Signed, _) => Some(DataType::Int64),
            (Length::Unsigned, false) => Some(DataType::UInt64),
            // Nothing holds both a negative number and the largest of 64 bits.
            _ => None,
        }
    }
}

impl Shape {
    /// The shape of a JSON value given as text, which is known to be well-formed.
    pub(super) fn of(raw: &str) -> Self {
        match raw.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Bool,
            Some(b'"') => Self::Text,
            Some(b'N') => Self::Nan,
            Some(b'I') => Self::Float,
            // What can't be parsed as a shape (nested too deep, half a surrogate pair) stays text.
            Some(b'[' | b'{') => serde_json::from_slice::<Self>(&literals::masked(raw.as_bytes()))
                .map_or(Self::Mixed, Self::bounded),
            _ => Self::of_number(raw),
        }
    }

    fn of_number(raw: &str) -> Self {
        if !raw.parse::<f64>().is_ok_and(f64::is_finite) && raw != "-Infinity" {
            Self::Mixed
        } else if raw != "-0" && !raw.contains(['.', 'e', 'E', 'I']) {
            Self::Int(Integers::of(raw))
        } else {
            Self::Float
        }
    }

    /// The least shape that both fit.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Null, x) | (x, Self::Null) => x,
            (Self::Nan, x) | (x, Self::Nan) => x,
            (Self::Int(_), Self::Float) | (Self::Float, Self::Int(_)) => Self::Float,
            (Self::Int(a), Self::Int(b)) => Self::Int(a.join(b)),
            (Self::List(a), Self::List(b)) => Self::list(a.join(*b)),
            (Self::Object(mut a), Self::Object(b)) => {
                for (key, shape) in b {
                    let old = a.remove(&key).unwrap_or(Self::Null);
                    a.insert(key, old.join(shape));
                }
                Self::Object(a).bounded()
            }
            (a, b) if a == b => a,
            _ => Self::Mixed,
        }
    }

    fn list(item: Self) -> Self {
        if item == Self::Mixed {
            Self::Mixed
        } else {
            Self::List(Box::new(item))
        }
    }

    fn bounded(self) -> Self {
        match self.size() {
            Some(size) if size <= MOST_FIELDS && self.depth() <= DEEPEST => self,
            _ => Self::Mixed,
        }
    }

    /// The number of fields at all levels; `None` when something in it is mixed.
    fn size(&self) -> Option<usize> {
        match self {
            Self::Mixed => None,
            Self::List(item) => item.size(),
            Self::Object(fields) => fields
                .values()
                .try_fold(0, |sum, shape| Some(sum + 1 + shape.size()?)),
            _ => Some(0),
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::List(item) => 1 + item.depth(),
            Self::Object(fields) => 1 + fields.values().map(Self::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// The Arrow type of a column of this shape. Objects without a field have none but text.
    pub(super) fn data_type(&self) -> DataType {
        self.nested_type().unwrap_or(DataType::Utf8)
    }

    fn nested_type(&self) -> Option<DataType> {
        Some(match self {
            Self::Null | Self::Text => DataType::Utf8,
            Self::Bool => DataType::Boolean,
            Self::Int(integers) => integers.data_type()?,
            Self::Nan | Self::Float => DataType::Float64,
            Self::List(item) => DataType::new_list(item.nested_type()?, true),
            Self::Object(fields) if fields.is_empty() => return None,
            Self::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, shape)| Some(Field::new(name, shape.nested_type()?, true)));
                DataType::Struct(fields.collect::<Option<Fields>>()?)
            }
            Self::Mixed => return None,
        })
    }
}

/// The integer that a JSON number is, if its decimal text can be had back from it.
pub(super) fn integer(raw: &str) -> Option<i64> {
    if raw == "-0" { None } else { raw.parse().ok() }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Bool)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Shape, E> {
        Ok(Shape::Int(Integers {
            negative: value < 0,
            longest: Length::Signed,
        }))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(Shape::Int(Integers {
            negative: false,
            longest: if i64::try_from(value).is_ok() {
                Length::Signed
            } else {
                Length::Unsigned
            },
        }))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Shape, E> {
        // Beyond this it may have been an integer whose digits are gone already.
        Ok(if value.abs() < 9.2e18 {
            Shape::Float
        } else {
            Shape::Mixed
        })
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut all = Shape::Null;
        while let Some(item) = items.next_element::<Shape>()? {
            all = all.join(item);
        }
        Ok(Shape::list(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shape, A::Error> {
        let (mut fields, mut lossy) = (BTreeMap::new(), false);
        while let Some((key, shape)) = entries.next_entry::<String, Shape>()? {
            lossy |= shape == Shape::Mixed;
            // A struct would keep only one of two equal keys.
            lossy |= fields.insert(key, shape).is_some();
        }
        Ok(if lossy {
            Shape::Mixed
        } else {
            Shape::Object(fields)
        })
    }
}

/// Brings a column held as JSON text to its final type; strings as views.
pub(super) fn convert(raw: &StringViewArray, to: &DataType) -> Result<ArrayRef, ArrowError> {
    match to {
        DataType::Utf8View => {
            let mut builder = StringViewBuilder::with_capacity(raw.len());
            for value in raw {
                match value {
                    None | Some("NaN") => builder.append_null(),
                    Some(text) if text.starts_with('"') => {
                        builder.try_append_value(unescape(text)?)?
                    }
                    Some(text) => builder.try_append_value(text)?,
                }
            }
            Ok(Arc::new(builder.finish()))
        }
        DataType::Float64 => {
            let mut builder = Float64Builder::with_capacity(raw.len());
            for value in raw {
                let value = value.map(|text| text.parse::<f64>()).transpose();
                builder.append_option(
                    value.map_err(|error| ArrowError::from_external_error(Box::new(error)))?,
                );
            }
            Ok(Arc::new(builder.finish()))
        }
        _ if raw.null_count() == raw.len() => Ok(new_null_array(to, raw.len())),
        _ => {
            let field = Arc::new(Field::new("value", to.clone(), true));
            let mut decoder = arrow_json::ReaderBuilder::new_with_field(field)
                .with_batch_size(raw.len())
                .build_decoder()?;
            for value in raw {
                let text = literals::quoted(value.filter(|&text| text != "NaN").unwrap_or("null"));
                for part in [text.as_bytes(), b"\n"] {
                    let mut taken = 0;
                    while taken < part.len() {
                        match decoder.decode(&part[taken..])? {
                            // A full batch takes nothing more, and only a line feed can be left.
                            0 => break,
                            n => taken += n,
                        }
                    }
                }
            }
            let batch = decoder
                .flush()?
                .filter(|batch| batch.num_rows() == raw.len());
            let batch = batch.ok_or_else(|| ArrowError::JsonError("values are missing".into()))?;
            Ok(batch.column(0).clone())
        }
    }
}

fn unescape(text: &str) -> Result<String, ArrowError> {
    serde_json::from_str(text).map_err(|error| ArrowError::from_external_error(Box::new(error)))
}

/// Renders a column of scalars as JSON text, for the values before the first that didn't fit.
pub(super) fn to_raw(array: &ArrayRef) -> StringViewBuilder {
    let mut builder = StringViewBuilder::with_capacity(array.len());
    let mut push = |text: Option<String>| builder.append_option(text);
    match array.data_type() {
        DataType::Boolean => array
            .as_boolean()
            .iter()
            .for_each(|v| push(v.map(|v| v.to_string()))),
        DataType::Int64 => {
            let ints = array.as_primitive::<arrow_array::types::Int64Type>();
            ints.iter().for_each(|v| push(v.map(|v| v.to_string())));
        }
        _ => array
            .as_string_view()
            .iter()
            .for_each(|v| push(v.map(|v| serde_json::Value::from(v).to_string()))),
    }
    builder
}
