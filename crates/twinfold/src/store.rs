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

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bytemuck::{AnyBitPattern, NoUninit};
use rayon::prelude::*;

use crate::pipeline::Stage;

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
    /// Whom to hand what a later process can go on from; what it is made of goes to the storage then,
    /// whatever room there is.
    pub checkpoint: Option<Arc<dyn Checkpoint>>,
}

/// Keeps what the last whole stage knows, so that a later process can go on from there.
pub trait Checkpoint: Send + Sync + fmt::Debug {
    /// A stage is whole: `state` and the stores that are in use are all that a later process needs.
    /// `state` is asked for if it is kept.
    fn keep(&self, stage: Stage, state: &dyn Fn() -> Vec<u8>);

    /// What an earlier process handed over after this stage, if that was its last whole one.
    fn kept(&self, stage: Stage) -> Option<Vec<u8>>;

    /// A store of the earlier process.
    fn open(&self, name: &str) -> Arc<dyn Store>;
}

impl Default for Room {
    /// All that there is.
    fn default() -> Self {
        Self {
            bytes: u64::MAX,
            storage: None,
            checkpoint: None,
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

    /// What sorts values in `store`, if there is one, and holds a share of the room of them.
    pub(crate) fn sorter<T: Plain + Ord>(&self, store: Option<Arc<dyn Store>>) -> Sorter<T> {
        Sorter::new(store, self.bytes / 8)
    }

    /// A store for `name`, where `bytes` are more than a `share` of the room.
    pub(crate) fn store_if(&self, bytes: u64, share: f64, name: &str) -> Option<Arc<dyn Store>> {
        let storage = self.storage.as_ref()?;
        (bytes as f64 > self.bytes as f64 * share).then(|| storage.create(name))
    }

    /// As [`Room::store_if`], and always where stages are kept.
    pub(crate) fn stage_store_if(
        &self,
        bytes: u64,
        share: f64,
        name: &str,
    ) -> Option<Arc<dyn Store>> {
        match (&self.checkpoint, &self.storage) {
            (Some(_), Some(storage)) => Some(storage.create(name)),
            _ => self.store_if(bytes, share, name),
        }
    }
}

/// Values without padding that a store can hold.
pub(crate) trait Plain: NoUninit + AnyBitPattern + Send + Sync + fmt::Debug {}

impl<T: NoUninit + AnyBitPattern + Send + Sync + fmt::Debug> Plain for T {}

/// Appends values; returns where their bytes begin.
pub(crate) fn append<T: Plain>(store: &dyn Store, values: &[T]) -> u64 {
    store.append(bytemuck::cast_slice(values))
}

/// Reads `count` values.
pub(crate) fn read<T: Plain>(store: &dyn Store, start: u64, count: usize) -> Vec<T> {
    let mut values = vec![T::zeroed(); count];
    store.read(start, bytemuck::cast_slice_mut(&mut values));
    values
}

/// Values one after another, in memory or in a store.
#[derive(Clone, Debug)]
pub(crate) enum Values<T> {
    Held(Vec<T>),
    Stored {
        store: Arc<dyn Store>,
        start: u64,
        len: usize,
    },
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self::Held(Vec::new())
    }
}

impl<T: Plain> Values<T> {
    /// Values of a window, where all of them are walked.
    const WINDOW: usize = 1 << 16;

    /// Moves `values` to a store.
    pub(crate) fn stored(store: &Arc<dyn Store>, values: &[T]) -> Self {
        Self::Stored {
            store: Arc::clone(store),
            start: append(&**store, values),
            len: values.len(),
        }
    }

    /// Moves them to `store`, unless they are in one.
    pub(crate) fn spill(&mut self, store: &Arc<dyn Store>) {
        if let Self::Held(held) = self {
            *self = Self::stored(store, &std::mem::take(held));
        }
    }

    /// The vector that holds them, to be added to.
    ///
    /// # Panics
    /// If they are in a store.
    pub(crate) fn held(&mut self) -> &mut Vec<T> {
        match self {
            Self::Held(held) => held,
            Self::Stored { .. } => panic!("values in a store cannot be added to"),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Held(values) => values.len(),
            Self::Stored { len, .. } => *len,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of the values, read if need be.
    pub(crate) fn get(&self, range: Range<usize>) -> Cow<'_, [T]> {
        match self {
            Self::Held(values) => Cow::Borrowed(&values[range]),
            Self::Stored { store, start, .. } => {
                let start = start + (range.start * size_of::<T>()) as u64;
                Cow::Owned(read(&**store, start, range.len()))
            }
        }
    }

    /// All values, a window at a time.
    pub(crate) fn windows(&self) -> impl Iterator<Item = Cow<'_, [T]>> {
        let len = self.len();
        (0..len)
            .step_by(Self::WINDOW)
            .map(move |start| self.get(start..len.min(start + Self::WINDOW)))
    }

    /// All values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.windows()
            .flat_map(|window| (0..window.len()).map(move |at| window[at]))
    }

    /// All values, in memory.
    pub(crate) fn into_vec(self) -> Vec<T> {
        match self {
            Self::Held(values) => values,
            Self::Stored { store, start, len } => read(&*store, start, len),
        }
    }
}

/// Takes values in any order from many threads, and gives them back sorted: in memory, or in sorted
/// runs that are merged. Equal values may come in any order.
#[derive(Debug)]
pub(crate) struct Sorter<T> {
    /// Where runs go, and the values of a run.
    store: Option<(Arc<dyn Store>, usize)>,
    taken: Mutex<Taken<T>>,
}

#[derive(Debug)]
struct Taken<T> {
    values: Vec<T>,
    runs: Vec<Values<T>>,
}

impl<T: Plain + Ord> Sorter<T> {
    /// One that holds everything; or with a store, of which nobody else makes use, about `bytes`.
    pub(crate) fn new(store: Option<Arc<dyn Store>>, bytes: u64) -> Self {
        /// Runs that are too short make the merge slow.
        const LEAST: usize = 1 << 14;
        let run = usize::try_from(bytes / size_of::<T>() as u64).unwrap_or(usize::MAX);
        let (values, runs) = (Vec::new(), Vec::new());
        Self {
            store: store.map(|store| (store, run.max(LEAST))),
            taken: Mutex::new(Taken { values, runs }),
        }
    }

    /// Takes all of `values`.
    pub(crate) fn take(&self, values: &mut Vec<T>) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.values.is_empty() {
            std::mem::swap(&mut taken.values, values);
        } else {
            taken.values.append(values);
        }
        values.clear();
        if let Some((store, run)) = &self.store
            && taken.values.len() >= *run
        {
            taken.end_run(store);
        }
    }

    /// All values, ascending.
    pub(crate) fn finish(self) -> Values<T> {
        /// Values of a run that are read at a time.
        const WINDOW: usize = 1 << 13;
        let mut taken = self
            .taken
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let Some((store, _)) = self.store else {
            taken.values.par_sort_unstable();
            return Values::Held(taken.values);
        };
        taken.end_run(&store);
        if taken.runs.len() == 1 {
            return taken.runs.remove(0);
        }
        let total: usize = taken.runs.iter().map(Values::len).sum();
        let window =
            |run: &Values<T>, at: usize| run.get(at..run.len().min(at + WINDOW)).into_owned();
        // For each run the window that is being read, the place in it, and what was read before it.
        let mut heads: Vec<(Vec<T>, usize, usize)> = taken
            .runs
            .iter()
            .map(|run| (window(run, 0), 0, 0))
            .collect();
        let mut next: BinaryHeap<Reverse<(T, usize)>> = heads
            .iter()
            .enumerate()
            .filter_map(|(run, head)| Some(Reverse((*head.0.first()?, run))))
            .collect();
        let mut merged = Vec::with_capacity(Values::<T>::WINDOW);
        let mut start = None;
        let mut put = |merged: &mut Vec<T>| {
            let at = append(&*store, merged);
            start.get_or_insert(at);
            merged.clear();
        };
        while let Some(Reverse((value, run))) = next.pop() {
            merged.push(value);
            if merged.len() == Values::<T>::WINDOW {
                put(&mut merged);
            }
            let (values, at, before) = &mut heads[run];
            *at += 1;
            if *at == values.len() {
                *before += values.len();
                *at = 0;
                *values = window(&taken.runs[run], *before);
            }
            if let Some(&value) = values.get(*at) {
                next.push(Reverse((value, run)));
            }
        }
        put(&mut merged);
        let start = start.unwrap_or(0);
        Values::Stored {
            store,
            start,
            len: total,
        }
    }
}

impl<T: Plain + Ord> Taken<T> {
    fn end_run(&mut self, store: &Arc<dyn Store>) {
        self.values.par_sort_unstable();
        self.runs.push(Values::stored(store, &self.values));
        self.values.clear();
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn store() -> Arc<dyn Store> {
        MemoryStorage.create("test")
    }

    #[test]
    fn values_are_the_same_wherever_they_are() {
        let all: Vec<u32> = (0..200_000)
            .map(|n: u32| n.wrapping_mul(2_654_435_761))
            .collect();
        let store = store();
        store.append(b"odd");
        for values in [Values::Held(all.clone()), Values::stored(&store, &all)] {
            assert_eq!(values.len(), all.len());
            assert_eq!(&*values.get(70_000..70_003), &all[70_000..70_003]);
            assert!(values.get(5..5).is_empty());
            assert!(values.iter().eq(all.iter().copied()));
        }
        assert!(Values::<u64>::default().is_empty());
    }

    proptest! {
        #[test]
        fn sorted_in_runs_as_in_memory(
            parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..30_000), 0..8),
        ) {
            let (held, bounded) = (Sorter::new(None, 1), Sorter::new(Some(store()), 1));
            for part in &parts {
                held.take(&mut part.clone());
                bounded.take(&mut part.clone());
            }
            let mut all = parts.concat();
            all.sort_unstable();
            prop_assert!(held.finish().iter().eq(all.iter().copied()));
            prop_assert!(bounded.finish().iter().eq(all.iter().copied()));
        }
    }
}
