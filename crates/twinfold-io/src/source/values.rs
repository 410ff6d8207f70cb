//! The values of one JSON key in a batch, built up in the narrowest form that holds them.

use std::borrow::Cow;

use arrow_array::builder::{BooleanBuilder, Int64Builder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StringViewArray, new_null_array};
use arrow_schema::DataType;

use super::batch::{Kind, shrunk};
use super::shape::{self, Integers, Length, Shape};

/// One JSON value, as far as it is looked at.
pub(super) enum Value<'a> {
    Null,
    /// `NaN`, which is a value only among floats.
    Nan,
    Bool(bool),
    Int(i64),
    Text(Cow<'a, str>),
    /// A float, a very long integer, an array or an object, as it stands.
    Raw(&'a str),
}

impl<'a> Value<'a> {
    /// From the text of a value that is known to be well-formed, but for surrogates in strings.
    pub(super) fn parse(raw: &'a str) -> Result<Self, serde_json::Error> {
        Ok(match raw.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b'N') => Self::Nan,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => {
                let inner = &raw[1..raw.len() - 1];
                if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
                    Self::Text(Cow::Borrowed(inner))
                } else {
                    Self::Text(Cow::Owned(serde_json::from_str(raw)?))
                }
            }
            Some(b'[' | b'{') => Self::Raw(raw),
            _ => shape::integer(raw).map_or(Self::Raw(raw), Self::Int),
        })
    }
}

enum Form {
    /// Nothing but nulls so far.
    Null,
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Text(StringViewBuilder),
    Raw(StringViewBuilder, Shape),
}

/// A column under construction.
pub(super) struct Column {
    form: Form,
    len: usize,
    /// Whether a document has the key.
    pub(super) used: bool,
}

impl Default for Column {
    fn default() -> Self {
        Self {
            form: Form::Null,
            len: 0,
            used: false,
        }
    }
}

impl Column {
    /// Puts a value at `row`; the rows since the last one are null.
    pub(super) fn push(&mut self, row: usize, value: Value<'_>) {
        self.used = true;
        self.pad(row);
        match (&mut self.form, &value) {
            (_, Value::Null) => return self.pad(row + 1),
            (Form::Bool(builder), Value::Bool(v)) => builder.append_value(*v),
            (Form::Int(builder), Value::Int(v)) => builder.append_value(*v),
            (Form::Text(builder), Value::Text(v)) => builder.append_value(v),
            (Form::Raw(builder, shape), _) => {
                let text = match &value {
                    Value::Text(text) => {
                        Cow::Owned(serde_json::Value::from(text.as_ref()).to_string())
                    }
                    Value::Bool(v) => Cow::Owned(v.to_string()),
                    Value::Int(v) => Cow::Owned(v.to_string()),
                    Value::Raw(raw) => Cow::Borrowed(*raw),
                    Value::Nan => Cow::Borrowed("NaN"),
                    Value::Null => unreachable!("nulls are handled above"),
                };
                if *shape != Shape::Mixed {
                    *shape = std::mem::replace(shape, Shape::Null).join(Shape::of(&text));
                }
                builder.append_value(&text);
            }
            _ => {
                self.change(&value);
                return self.push(row, value);
            }
        }
        self.len = row + 1;
    }

    /// Takes the form in which `value` has a place beside what is there.
    fn change(&mut self, value: &Value<'_>) {
        let old = std::mem::replace(&mut self.form, Form::Null);
        self.form = match (old, value) {
            (Form::Null, Value::Bool(_)) => Form::Bool(BooleanBuilder::with_capacity(0)),
            (Form::Null, Value::Int(_)) => Form::Int(Int64Builder::with_capacity(0)),
            (Form::Null, Value::Text(_)) => Form::Text(StringViewBuilder::with_capacity(0)),
            (Form::Null, _) => Form::Raw(StringViewBuilder::with_capacity(0), Shape::Null),
            (old, _) => {
                let (kind, array) = Self {
                    form: old,
                    len: self.len,
                    used: true,
                }
                .finish(self.len);
                let shape = match kind {
                    Kind::Json { shape, .. } => shape,
                    Kind::Arrow(_) => Shape::Mixed,
                };
                self.form = Form::Raw(shape::to_raw(&array), shape);
                return;
            }
        };
        let len = std::mem::take(&mut self.len);
        self.pad(len);
    }

    fn pad(&mut self, len: usize) {
        let missing = len - self.len;
        match &mut self.form {
            Form::Null => {}
            Form::Bool(builder) => builder.append_nulls(missing),
            Form::Int(builder) => builder.append_nulls(missing),
            Form::Text(builder) | Form::Raw(builder, _) => {
                (0..missing).for_each(|_| builder.append_null())
            }
        }
        self.len = len;
    }

    /// The column of `rows` rows, and what its values have in common.
    pub(super) fn finish(mut self, rows: usize) -> (Kind, ArrayRef) {
        self.pad(rows);
        let (shape, raw, array): (Shape, bool, ArrayRef) = match self.form {
            Form::Null => (
                Shape::Null,
                false,
                new_null_array(&DataType::Utf8View, rows),
            ),
            Form::Bool(mut builder) => (Shape::Bool, false, shrunk(builder.finish())),
            Form::Int(mut builder) => {
                let array = builder.finish();
                let integers = Integers {
                    negative: array.iter().flatten().any(|value| value < 0),
                    longest: Length::Signed,
                };
                (Shape::Int(integers), false, shrunk(array))
            }
            Form::Text(mut builder) => (Shape::Text, false, shrunk(builder.finish())),
            Form::Raw(mut builder, shape) => (shape, true, shrunk(builder.finish())),
        };
        (Kind::Json { shape, raw }, array)
    }
}

/// A JSON column as text: strings themselves, everything else as its JSON text.
pub(super) fn texts(kind: &Kind, array: &ArrayRef) -> Option<StringViewArray> {
    let array = match kind {
        Kind::Json { raw: true, .. } => {
            shape::convert(array.as_string_view(), &DataType::Utf8View).ok()?
        }
        _ => arrow_cast::cast(array, &DataType::Utf8View).ok()?,
    };
    Some(array.as_string_view().clone())
}
