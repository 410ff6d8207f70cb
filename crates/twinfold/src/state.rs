//! What a stage knows, as bytes, so that a later process can go on from there.
//!
//! The form is for this version of the program on this machine alone: columns one after another, each
//! with its length before it. Whoever keeps the bytes sees to it that they are whole.

use std::sync::Arc;

use crate::store::{Plain, Store, Values};

/// Writes a state.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn column<T: Plain>(&mut self, values: &[T]) {
        self.number(values.len() as u64);
        self.0.extend_from_slice(bytemuck::cast_slice(values));
    }

    /// Where values are, and not what they are: they stay in their store.
    ///
    /// # Panics
    /// If they are in memory: only what was spilled can be kept.
    pub(crate) fn stored<T: Plain>(&mut self, values: &Values<T>) {
        match values {
            Values::Held(held) => {
                assert!(held.is_empty(), "values in memory cannot be kept");
                self.number(u64::MAX);
            }
            Values::Stored { start, len, .. } => {
                self.number(*start);
                self.number(*len as u64);
            }
        }
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a state; none where the bytes are not one.
#[derive(Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    pub(crate) fn column<T: Plain>(&mut self) -> Option<Vec<T>> {
        let len = usize::try_from(self.number()?).ok()?;
        let bytes = self.0.get(..len.checked_mul(size_of::<T>())?)?;
        self.0 = &self.0[bytes.len()..];
        let mut values = vec![T::zeroed(); len];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
        Some(values)
    }

    pub(crate) fn stored<T: Plain>(&mut self, store: &Arc<dyn Store>) -> Option<Values<T>> {
        let start = self.number()?;
        if start == u64::MAX {
            return Some(Values::default());
        }
        Some(Values::Stored {
            store: Arc::clone(store),
            start,
            len: usize::try_from(self.number()?).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStorage, Storage as _};

    #[test]
    fn what_was_written_is_read() {
        let store = MemoryStorage.create("test");
        let mut writer = Writer::default();
        writer.number(7);
        writer.column::<u16>(&[1, 2, 3]);
        writer.column::<[u8; 32]>(&[]);
        writer.stored(&Values::stored(&store, &[5u64, 6]));
        writer.stored(&Values::<u64>::default());
        let bytes = writer.bytes();
        let mut reader = Reader(&bytes);
        assert_eq!(reader.number(), Some(7));
        assert_eq!(reader.column::<u16>(), Some(vec![1, 2, 3]));
        assert_eq!(reader.column::<[u8; 32]>(), Some(vec![]));
        let stored: Values<u64> = reader.stored(&store).unwrap();
        assert_eq!(stored.iter().collect::<Vec<_>>(), [5, 6]);
        assert!(reader.stored::<u64>(&store).unwrap().is_empty());
        assert_eq!(reader.number(), None);
        assert_eq!(Reader(&bytes[..12]).column::<u64>(), None);
    }
}
