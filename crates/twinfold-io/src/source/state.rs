//! A table whose documents are in a store, as bytes that a later process makes it of again.
//!
//! Guarantee: the table is the same, or there is none; bytes that are not of such make no table, and
//! nothing panics over them. Cost: about what the table takes in memory; the documents are not read.

use arrow_array::{Array as _, StringViewArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Schema, SchemaRef};

use super::batch::Numbers;
use super::footer::guard;
use super::texts::{Packed, Texts};

/// What the bytes begin with; another form needs another number.
const FORM: u64 = u64::from_le_bytes(*b"tw-docs1");

/// Puts values one after another.
pub(super) struct Writer(Vec<u8>);

/// Takes values in the order in which they were put; `None` where they can't be such.
pub(super) struct Reader<'a>(&'a [u8]);

impl Writer {
    pub(super) fn new() -> Self {
        let mut writer = Self(Vec::new());
        writer.number(FORM);
        writer
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    /// A number that may not be there, and is less than the largest.
    pub(super) fn place(&mut self, place: Option<usize>) {
        self.number(place.map_or(u64::MAX, |place| place as u64));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub(super) fn numbers<const N: usize>(
        &mut self,
        numbers: impl ExactSizeIterator<Item = [u8; N]>,
    ) {
        self.number(numbers.len() as u64);
        self.0.extend(numbers.flatten());
    }

    pub(super) fn schema(&mut self, schema: &Schema) {
        let stream = StreamWriter::try_new(Vec::new(), schema);
        let stream = stream.and_then(StreamWriter::into_inner);
        // Without a schema nothing is read back.
        self.bytes(&stream.unwrap_or_default());
    }

    pub(super) fn places(&mut self, numbers: &Numbers) {
        match numbers {
            Numbers::From(first) => {
                self.number(0);
                self.number(*first);
            }
            Numbers::Near(first, offsets) => {
                self.number(1);
                self.number(*first);
                self.numbers(offsets.iter().map(|offset| offset.to_le_bytes()));
            }
            Numbers::List(list) => {
                self.number(2);
                self.numbers(list.iter().map(|number| number.to_le_bytes()));
            }
        }
    }

    pub(super) fn texts(&mut self, texts: Option<&Texts>) {
        match texts {
            None => self.number(0),
            Some(Texts::Packed(packed)) => {
                let (text, ends, codes, rows) = packed.parts();
                self.number(if codes.is_some() { 2 } else { 1 });
                self.number(rows as u64);
                self.bytes(text.as_bytes());
                self.numbers(ends.iter().map(|end| end.to_le_bytes()));
                if let Some(codes) = codes {
                    self.numbers(codes.iter().map(|code| code.to_le_bytes()));
                }
            }
            Some(Texts::Views(array)) => {
                self.number(3);
                self.number(array.len() as u64);
                for value in array {
                    self.place(value.map(str::len));
                    self.0.extend(value.unwrap_or_default().as_bytes());
                }
            }
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Self(bytes);
        (reader.number()? == FORM).then_some(reader)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    /// How many things follow, each of which takes a byte or more.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    pub(super) fn place(&mut self) -> Option<Option<usize>> {
        match self.number()? {
            u64::MAX => Some(None),
            place => Some(Some(usize::try_from(place).ok()?)),
        }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    pub(super) fn numbers<const N: usize, T, C: FromIterator<T>>(
        &mut self,
        from: impl Fn([u8; N]) -> T,
    ) -> Option<C> {
        let length = usize::try_from(self.number()?).ok()?.checked_mul(N)?;
        let (chunks, _) = self.take(length)?.as_chunks::<N>();
        Some(chunks.iter().map(|chunk| from(*chunk)).collect())
    }

    pub(super) fn schema(&mut self) -> Option<SchemaRef> {
        let bytes = self.bytes()?;
        let reader = guard(|| StreamReader::try_new(bytes, None)).ok()?;
        Some(reader.ok()?.schema())
    }

    pub(super) fn places(&mut self, rows: usize) -> Option<Numbers> {
        // No place is so far that those after it can't be counted.
        let first = |number: u64| (number < 1 << 62).then_some(number);
        Some(match self.number()? {
            0 => Numbers::From(first(self.number()?)?),
            1 => {
                let first = first(self.number()?)?;
                let offsets: Box<[u32]> = self.numbers(u32::from_le_bytes)?;
                if offsets.len() != rows {
                    return None;
                }
                Numbers::Near(first, offsets)
            }
            2 => {
                let list: Vec<u64> = self.numbers(u64::from_le_bytes)?;
                if list.len() != rows {
                    return None;
                }
                Numbers::List(list)
            }
            _ => return None,
        })
    }

    pub(super) fn texts(&mut self) -> Option<Option<Texts>> {
        let form = self.number()?;
        if form == 0 {
            return Some(None);
        }
        let rows = usize::try_from(self.number()?).ok()?;
        if form == 3 {
            let mut values = Vec::new();
            for _ in 0..rows {
                let length = self.place()?;
                let bytes = self.take(length.unwrap_or(0))?;
                values.push(length.and(Some(std::str::from_utf8(bytes).ok()?)));
            }
            return Some(Some(Texts::Views(StringViewArray::from_iter(values))));
        }
        let text = std::str::from_utf8(self.bytes()?).ok()?;
        let ends = self.numbers(u32::from_le_bytes)?;
        let codes = match form {
            1 => None,
            2 => Some(self.numbers(u16::from_le_bytes)?),
            _ => return None,
        };
        Packed::from_parts(text, ends, codes, rows).map(|packed| Some(Texts::Packed(packed)))
    }
}
