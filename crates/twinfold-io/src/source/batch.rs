//! Some documents of one file, decoded: what a reader hands to the workers and the table keeps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_schema::DataType;

use super::columns::{ROLES, Role};
use super::shape::Shape;

/// At most 8,192 documents of one file, in their order, with about 16 MiB of text (a single document
/// may have more).
#[derive(Debug)]
pub struct Batch {
    /// The index of the file.
    pub(super) file: u32,
    /// The columns as the file has them.
    pub(super) info: Arc<[ColumnInfo]>,
    pub(super) columns: Vec<ArrayRef>,
    /// For each role, its values as text; the text is always there.
    pub(super) roles: [Option<StringViewArray>; ROLES.len()],
    pub(super) rows: usize,
    /// The line or row of each document in its file.
    pub(super) places: Numbers,
    /// The number of each document among the records of its file; for text files counted from the
    /// first record of the batch until the table is made.
    pub(super) records: Numbers,
}

/// A column as a file has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ColumnInfo {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// The type of a column before all files are known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// What the file says. Strings and binary values are held as views, whatever their type.
    Arrow(DataType),
    /// What the values of a JSON key have in common; `raw` when they are held as JSON text.
    Json {
        /// Their least common shape.
        shape: Shape,
        /// Held as JSON text.
        raw: bool,
    },
}

impl Batch {
    /// How many documents.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The text of a document; empty where it is null.
    pub fn text(&self, row: usize) -> &str {
        self.role(Role::Text, row).unwrap_or("")
    }

    /// The title of a document, if it has one.
    pub fn title(&self, row: usize) -> Option<&str> {
        self.role(Role::Title, row)
    }

    /// The id of a document as the file has it; ids are made only after all is read.
    pub fn id(&self, row: usize) -> Option<&str> {
        self.role(Role::Id, row)
    }

    fn role(&self, role: Role, row: usize) -> Option<&str> {
        value(self.roles[role as usize].as_ref()?, row)
    }

    /// The first document without an id.
    pub(super) fn missing_id(&self) -> Option<usize> {
        let Some(ids) = &self.roles[Role::Id as usize] else {
            return (self.rows > 0).then_some(0);
        };
        (0..self.rows).find(|&row| ids.is_null(row) || ids.value(row).is_empty())
    }
}

/// A value of a string column, `None` when null.
pub(super) fn value(array: &StringViewArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

/// A column without the slack that its builder left.
pub(super) fn shrunk(mut column: impl Array + 'static) -> ArrayRef {
    // Shrinking small blocks where they lie leaves holes that fit no next block; a copy does not.
    const SMALL: usize = 64 << 10;
    if let Some(strings) = column.as_any().downcast_ref::<StringViewArray>()
        && strings.get_buffer_memory_size() < SMALL
    {
        return Arc::new(strings.gc());
    }
    column.shrink_to_fit();
    Arc::new(column)
}

/// A string array as views.
pub(super) fn as_views(array: &ArrayRef) -> StringViewArray {
    array.as_string_view().clone()
}

/// Ascending numbers, most often without a gap.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    From(u64),
    List(Vec<u64>),
}

impl Numbers {
    pub(super) fn new(list: Vec<u64>) -> Self {
        match list.first() {
            Some(&first) if list.iter().zip(first..).all(|(&a, b)| a == b) => Self::From(first),
            _ => Self::List(list),
        }
    }

    pub(super) fn get(&self, row: usize) -> u64 {
        match self {
            Self::From(first) => first + row as u64,
            Self::List(list) => list[row],
        }
    }

    /// The same numbers, each greater by `base`.
    pub(super) fn shift(&mut self, base: u64) {
        match self {
            Self::From(first) => *first += base,
            Self::List(list) => list.iter_mut().for_each(|n| *n += base),
        }
    }
}
