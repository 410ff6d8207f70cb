//! Some documents of one file, decoded: what a reader hands to the workers and the table keeps.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::columns::{ROLES, Role};
use super::shape::Shape;
use super::spill::Spilled;
use super::texts::Texts;

/// At most 8,192 documents of one file, in their order, with about 16 MiB of text (a single document
/// may have more).
#[derive(Debug)]
pub struct Batch {
    /// The index of the file.
    pub(super) file: u32,
    /// The columns as the file has them.
    pub(super) info: Arc<[ColumnInfo]>,
    pub(super) columns: Vec<ArrayRef>,
    /// For each role, its values as text.
    pub(super) roles: [Option<Texts>; ROLES.len()],
    /// Where the columns and the text are, once they are not held any more.
    pub(super) spilled: Option<Spilled>,
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

    /// The texts of all documents.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.text(row))
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
        self.roles[role as usize].as_ref()?.value(row)
    }

    /// The bytes that stay of a batch that was spilled.
    pub(super) fn kept(&self) -> u64 {
        self.roles.iter().flatten().map(Texts::kept).sum()
    }

    /// The first document without an id.
    pub(super) fn missing_id(&self) -> Option<usize> {
        let Some(ids) = &self.roles[Role::Id as usize] else {
            return (self.rows > 0).then_some(0);
        };
        (0..self.rows).find(|&row| ids.value(row).is_none_or(str::is_empty))
    }

    /// The bytes that it holds, but for buffers that are among those `seen`, to which its own are
    /// added.
    pub(super) fn held(&self, seen: &mut HashSet<usize>) -> u64 {
        let texts = self.roles.iter().flatten().map(|texts| match texts {
            Texts::Views(array) => bytes(&array.to_data(), seen),
            Texts::Packed(_) => 0,
        });
        let texts: u64 = texts.sum();
        let columns = self.columns.iter();
        texts
            + columns
                .map(|column| bytes(&column.to_data(), seen))
                .sum::<u64>()
    }
}

/// The bytes of the buffers that have not been seen.
pub(super) fn bytes(data: &ArrayData, seen: &mut HashSet<usize>) -> u64 {
    let nulls = data.nulls().map(NullBuffer::buffer);
    let mut sum = 0;
    for buffer in data.buffers().iter().chain(nulls) {
        if seen.insert(buffer.data_ptr().as_ptr() as usize) {
            sum += buffer.capacity() as u64;
        }
    }
    let children = data.child_data().iter();
    sum + children.map(|child| bytes(child, seen)).sum::<u64>()
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
    /// A number, and how much greater each is.
    Near(u64, Box<[u32]>),
    List(Vec<u64>),
}

impl Numbers {
    pub(super) fn new(list: Vec<u64>) -> Self {
        let Some(&first) = list.first() else {
            return Self::List(list);
        };
        if list.iter().zip(first..).all(|(&a, b)| a == b) {
            return Self::From(first);
        }
        let near = |&number: &u64| u32::try_from(number.checked_sub(first)?).ok();
        match list.iter().map(near).collect() {
            Some(offsets) => Self::Near(first, offsets),
            None => Self::List(list),
        }
    }

    pub(super) fn get(&self, row: usize) -> u64 {
        match self {
            Self::From(first) => first + row as u64,
            Self::Near(first, offsets) => first + u64::from(offsets[row]),
            Self::List(list) => list[row],
        }
    }

    /// The same numbers, each greater by `base`.
    pub(super) fn shift(&mut self, base: u64) {
        match self {
            Self::From(first) | Self::Near(first, _) => *first += base,
            Self::List(list) => list.iter_mut().for_each(|n| *n += base),
        }
    }
}
