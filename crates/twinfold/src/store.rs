//! Places for what memory has no room for.
//!
//! The library does no input and output: a caller that wants a run bounded lends it a [`Storage`],
//! which is files as a rule, and [`MemoryStorage`] in tests. Stores are append-only. What was
//! appended is read back from where it went, by any thread.
//!
//! Neither appending nor reading says that it failed, since that may happen deep inside a parallel
//! loop. A storage remembers that it did instead, gives zeros from then on, and
//! [`crate::pipeline::run`] asks it at the end of each stage: nothing that was read from a store that
//! failed leaves the library.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Bytes that only grow. Offsets are in bytes.
pub trait Store: Send + Sync + fmt::Debug {
    /// Appends some bytes, all in one place; returns where they begin.
    fn append(&self, bytes: &[u8]) -> u64;

    /// Fills `into` with the bytes that begin at `start`.
    fn read(&self, start: u64, into: &mut [u8]);
}

/// Makes stores.
pub trait Storage: Send + Sync + fmt::Debug {
    /// An empty store; `name` says what for, and is asked for once in a run.
    fn create(&self, name: &str) -> Arc<dyn Store>;

    /// Whether anything could not be kept or read back.
    fn failed(&self) -> bool;
}

/// What a run may hold in memory, and where the rest goes.
#[derive(Clone, Debug)]
pub struct Room {
    /// Bytes for what grows faster than the documents: postings, hits and pairs. What is kept for
    /// each document and each class comes on top.
    pub bytes: u64,
    /// Where the rest goes; without it nothing is bounded.
    pub storage: Option<Arc<dyn Storage>>,
}

impl Default for Room {
    /// All that there is.
    fn default() -> Self {
        Self {
            bytes: u64::MAX,
            storage: None,
        }
    }
}

impl Room {
    /// Whether the storage has failed.
    pub(crate) fn failed(&self) -> bool {
        self.storage
            .as_ref()
            .is_some_and(|storage| storage.failed())
    }

    /// A store for `name`, where `bytes` are more than a `share` of the room.
    pub(crate) fn store_if(&self, bytes: u64, share: f64, name: &str) -> Option<Arc<dyn Store>> {
        let storage = self.storage.as_ref()?;
        (bytes as f64 > self.bytes as f64 * share).then(|| storage.create(name))
    }
}

/// Appends values, whatever their type; returns where their bytes begin.
pub(crate) fn append<T: bytemuck::NoUninit>(store: &dyn Store, values: &[T]) -> u64 {
    store.append(bytemuck::cast_slice(values))
}

/// Reads as many values as `into` has room for.
pub(crate) fn read<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
    store: &dyn Store,
    start: u64,
    into: &mut [T],
) {
    store.read(start, bytemuck::cast_slice_mut(into));
}

/// Reads `count` values.
pub(crate) fn read_vec<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
    store: &dyn Store,
    start: u64,
    count: usize,
) -> Vec<T> {
    let mut values = vec![T::zeroed(); count];
    read(store, start, &mut values);
    values
}

/// Stores that lie in memory: no room is won, but everything else is as with files.
#[derive(Debug, Default)]
pub struct MemoryStorage;

#[derive(Debug, Default)]
struct MemoryStore(RwLock<Vec<u8>>);

impl Storage for MemoryStorage {
    fn create(&self, _name: &str) -> Arc<dyn Store> {
        Arc::new(MemoryStore::default())
    }

    fn failed(&self) -> bool {
        false
    }
}

impl Store for MemoryStore {
    fn append(&self, bytes: &[u8]) -> u64 {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let start = held.len() as u64;
        held.extend_from_slice(bytes);
        start
    }

    fn read(&self, start: u64, into: &mut [u8]) {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let start = start as usize;
        into.copy_from_slice(&held[start..start + into.len()]);
    }
}
