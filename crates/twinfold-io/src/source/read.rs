//! The threads: who fetches, who decodes, and in which order the results stand.
//!
//! A unit is a text file or a row group. Each has a step that must be done in order (cutting off the
//! next chunk, decoding the next pages), under its lock, and one that need not be (parsing, building
//! columns, the caller's work), outside of it. A thread takes a unit that nobody has begun; when there
//! is none left it helps with one that isn't finished. So many files are read side by side, and one
//! big file by all threads.
//!
//! A unit opens its file at its first step and closes it after its last, so no more files are open at
//! a time than there are threads. What a footer says is looked at before, one file at a time for each
//! thread; of it only the columns and the sizes of the row groups stay, but for a few files.
//!
//! Where there is a limit to what may be held, all threads spill what is held once it is crossed, and
//! from then on each spills what it has made before it goes on.
//!
//! Guarantee: what comes back is ordered by (file, unit, step), whatever the timing. After an error the
//! units before it are still read to their end, so that it is always the first error that is reported.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::prelude::*;

use super::batch::Batch;
use super::columns::Role;
use super::footer::{self, Columns, Footer, Room};
use super::parquet::GroupReader;
use super::spill::{Shelf, Spill};
use super::summary::Whole;
use super::table::{FileHash, Table};
use super::unit::{FileContext, Next, Piece, Unit};
use super::{Format, Input, ReadProgress, SourceError};

struct Slot {
    file: usize,
    state: Mutex<(Unit, usize)>,
    done: AtomicBool,
}

/// (file, unit, step): the order of everything.
type Position = (usize, usize, usize);

struct Found<T> {
    position: Position,
    result: Result<Vec<(Piece, Option<T>)>, SourceError>,
}

/// All that has been found, and the bytes that it holds while nothing is spilled.
struct All<T> {
    found: Vec<Found<T>>,
    /// What was held when the limit was crossed, and has to be spilled.
    held: Vec<Found<T>>,
    bytes: u64,
    /// The buffers that have been counted.
    seen: HashSet<usize>,
}

/// What a limit needs.
struct Limit<'a, T> {
    spill: &'a Spill<'a, T>,
    /// Documents that were spilled, and the bytes that stay of them.
    kept: Mutex<(u64, u64)>,
    /// Made when it is crossed.
    shelf: OnceLock<Shelf>,
}

impl<T> Limit<'_, T> {
    fn shelf(&self) -> &Shelf {
        self.shelf
            .get_or_init(|| Shelf::new(self.spill.storage.clone()))
    }

    /// Counts what stays of a batch, which may come to be too much.
    fn count_kept(&self, batch: &Batch) -> Result<(), SourceError> {
        let mut kept = lock(&self.kept);
        kept.0 += batch.len() as u64;
        kept.1 += batch.kept() + batch.len() as u64 * self.spill.per_document;
        match kept.1 > self.spill.most_kept {
            true => Err(SourceError::NoRoomForDocuments {
                documents: kept.0,
                bytes: kept.1,
                most: self.spill.most_kept,
            }),
            false => Ok(()),
        }
    }

    /// Spills what was found in a step.
    fn spill(&self, found: &mut Found<T>) {
        let Ok(pieces) = &mut found.result else {
            return;
        };
        for (piece, result) in pieces {
            let spilled = self
                .shelf()
                .spill(&mut piece.batch)
                .and_then(|()| self.count_kept(&piece.batch));
            if let Err(error) = spilled {
                found.result = Err(error);
                return;
            }
            if let Some(result) = result {
                (self.spill.spill)(result);
            }
        }
    }
}

struct Run<'a, T> {
    input: &'a Input,
    files: Vec<FileContext<'a>>,
    slots: Vec<Slot>,
    /// Slots after this one need not be read: there is an error before them.
    last: AtomicUsize,
    found: Mutex<All<T>>,
    limit: Option<Limit<'a, T>>,
    hashes: Mutex<Vec<FileHash>>,
    progress: &'a (dyn Fn(ReadProgress) + Sync),
    work: &'a (dyn Fn(&Batch) -> T + Sync),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of the caller's work ends the run anyway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn run<T: Send>(
    input: &Input,
    pool: &rayon::ThreadPool,
    progress: &(dyn Fn(ReadProgress) + Sync),
    work: &(dyn Fn(&Batch) -> T + Sync),
    spill: Option<&Spill<'_, T>>,
) -> Result<(Table, Vec<T>), SourceError> {
    let files: Vec<FileContext<'_>> = (0..)
        .zip(&input.files)
        .map(|(index, file)| FileContext {
            index,
            name: &file.name,
            path: file.path.as_deref(),
            format: file.format,
            columns: &input.columns,
            make_ids: input.make_ids,
            most_text: spill.map_or(u64::MAX, |spill| spill.most_text),
        })
        .collect();
    let footers: Vec<Option<Result<Footer, SourceError>>> = pool.install(|| {
        let room = Room::default();
        let footer = |file: &FileContext<'_>| {
            (file.format == Format::Parquet).then(|| footer::read(file, &room))
        };
        files.par_iter().map(footer).collect()
    });
    let (mut slots, mut infos) = (Vec::new(), Vec::new());
    let mut before: Option<Arc<Columns>> = None;
    let slot = |file, unit| Slot {
        file,
        state: Mutex::new((unit, 0)),
        done: AtomicBool::new(false),
    };
    for (index, footer) in footers.into_iter().enumerate() {
        infos.push(None);
        match footer.transpose()? {
            None => slots.push(slot(index, Unit::text())),
            Some(mut footer) => {
                // Files of one kind share what is said of their columns.
                match &before {
                    Some(before) if *before == footer.columns => footer.columns = before.clone(),
                    _ => before = Some(footer.columns.clone()),
                }
                infos[index] = Some(footer.columns.clone());
                let footer = Arc::new(footer);
                let groups: u64 = footer.groups.iter().map(|group| group.bytes).sum();
                slots.extend(
                    (0..footer.groups.len())
                        .map(|g| slot(index, Unit::Group(GroupReader::new(footer.clone(), g)))),
                );
                slots.push(slot(index, Unit::Hash(groups)));
            }
        }
    }
    let hash = |file: &super::InputFile| FileHash {
        name: file.name.clone(),
        ..Default::default()
    };
    let run = Run {
        input,
        files,
        slots,
        last: AtomicUsize::new(usize::MAX),
        found: Mutex::new(All {
            found: Vec::new(),
            held: Vec::new(),
            bytes: 0,
            seen: HashSet::new(),
        }),
        limit: spill.map(|spill| Limit {
            spill,
            kept: Mutex::default(),
            shelf: OnceLock::new(),
        }),
        hashes: Mutex::new(input.files.iter().map(hash).collect()),
        progress,
        work,
    };
    let next = AtomicUsize::new(0);
    let most = spill.map_or(usize::MAX, |spill| spill.most_in_flight.max(1));
    if let Some(limit) = run.limit.as_ref().filter(|limit| limit.spill.limit == 0) {
        limit.shelf();
    }
    pool.broadcast(|thread| {
        if thread.index() < most {
            run.thread(&next);
        }
    });
    run.finish(pool, infos)
}

impl<T: Send> Run<'_, T> {
    fn thread(&self, next: &AtomicUsize) {
        loop {
            let own = next.fetch_add(1, Ordering::Relaxed);
            if own >= self.slots.len() {
                break;
            }
            while self.step(own, None) {}
        }
        // Help the first unfinished one whose lock is free; if none is, wait for the first.
        loop {
            let mut open = (0..self.slots.len()).filter(|&i| self.open(i)).peekable();
            let Some(&first) = open.peek() else { return };
            let free = open.find_map(|i| Some((i, self.slots[i].state.try_lock().ok()?)));
            match free {
                Some((index, guard)) => self.step(index, Some(guard)),
                None => self.step(first, None),
            };
        }
    }

    fn open(&self, index: usize) -> bool {
        index <= self.last.load(Ordering::Relaxed)
            && !self.slots[index].done.load(Ordering::Acquire)
    }

    /// Fetches and decodes the next piece of a unit; false when there is none.
    fn step<'s>(&'s self, index: usize, guard: Option<MutexGuard<'s, (Unit, usize)>>) -> bool {
        let slot = &self.slots[index];
        let file = &self.files[slot.file];
        let mut guard = guard.unwrap_or_else(|| lock(&slot.state));
        if !self.open(index) {
            return false;
        }
        let position = (slot.file, index, guard.1);
        guard.1 += 1;
        let described = &self.input.files[slot.file];
        let told = |bytes| {
            (self.progress)(ReadProgress {
                documents: 0,
                bytes,
            })
        };
        let fetched = guard
            .0
            .fetch(file, described, &told)
            .map(|next| match next {
                Next::Raw(raw) => Some(raw),
                Next::End(whole) => {
                    if let Some((bytes, sha256)) = whole {
                        let hash = &mut lock(&self.hashes)[slot.file];
                        (hash.bytes, hash.sha256) = (bytes, sha256);
                    }
                    None
                }
            });
        if !matches!(fetched, Ok(Some(_))) {
            guard.0 = Unit::Done;
            slot.done.store(true, Ordering::Release);
        }
        drop(guard);
        let result = match fetched {
            Ok(None) => return false,
            Ok(Some(raw)) => raw.decode(file),
            Err(error) => Err(error),
        };
        let result = result.and_then(|pieces| {
            pieces.iter().try_for_each(|piece| piece.check_room(file))?;
            Ok(pieces)
        });
        let result = result.map(|pieces| {
            let each = |piece: Piece| {
                (self.progress)(ReadProgress {
                    documents: piece.records,
                    bytes: 0,
                });
                let result = (!piece.batch.is_empty()).then(|| (self.work)(&piece.batch));
                (piece, result)
            };
            pieces.into_iter().map(each).collect::<Vec<_>>()
        });
        // A missing id in JSON may turn out to be a missing column, unless the key has been seen.
        let id = Role::Id as usize;
        let hopeless = |piece: &Piece| {
            let seen = piece
                .keys
                .as_ref()
                .is_none_or(|keys| keys.first[id] || keys.second[id]);
            seen && !self.input.make_ids && piece.batch.missing_id().is_some()
        };
        if result.as_ref().map_or(true, |pieces| {
            pieces.iter().any(|(piece, _)| hopeless(piece))
        }) {
            self.last.fetch_min(index, Ordering::Relaxed);
            slot.done.store(true, Ordering::Release);
        }
        self.keep(Found { position, result });
        // What can't be kept makes the rest useless.
        if let Some(limit) = &self.limit
            && limit.spill.storage.failed()
        {
            for slot in &self.slots {
                slot.done.store(true, Ordering::Release);
            }
        }
        true
    }

    /// Puts what was found in a step to the rest, within the limit.
    fn keep(&self, found: Found<T>) {
        let Some(limit) = &self.limit else {
            return lock(&self.found).found.push(found);
        };
        {
            let all = &mut *lock(&self.found);
            if limit.shelf.get().is_none() {
                for (piece, result) in found.result.iter().flatten() {
                    all.bytes += piece.batch.held(&mut all.seen);
                    all.bytes += result.as_ref().map_or(0, limit.spill.held);
                }
                if all.bytes <= limit.spill.limit {
                    all.found.push(found);
                    return;
                }
                limit.shelf();
                all.seen = HashSet::new();
                all.held = std::mem::take(&mut all.found);
            }
        }
        let mut next = Some(found);
        while let Some(mut found) = next {
            limit.spill(&mut found);
            if found.result.is_err() {
                self.last.fetch_min(found.position.1, Ordering::Relaxed);
            }
            let all = &mut *lock(&self.found);
            all.found.push(found);
            next = all.held.pop();
        }
    }

    /// Puts everything in order, and reports the first error.
    fn finish(
        self,
        pool: &rayon::ThreadPool,
        infos: Vec<Option<Arc<Columns>>>,
    ) -> Result<(Table, Vec<T>), SourceError> {
        let mut found = self
            .found
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .found;
        let shelf = self.limit.and_then(|limit| limit.shelf.into_inner());
        if let Some(shelf) = &shelf {
            shelf.check()?;
        }
        found.sort_unstable_by_key(|found| found.position);
        let mut hashes = self
            .hashes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let (mut batches, mut works, mut rejected) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = found.into_iter().peekable();
        let mut summaries = Vec::with_capacity(self.files.len());
        for (file, info) in self.files.iter().zip(infos) {
            let mut whole = Whole::new(file, info);
            let hash = &mut hashes[file.index as usize];
            while let Some(step) = found.next_if(|step| step.position.0 == file.index as usize) {
                for (mut piece, work) in step.result? {
                    whole.add(&mut piece)?;
                    hash.documents += piece.batch.len() as u64;
                    hash.rejected += piece.rejected.len() as u64;
                    rejected.append(&mut piece.rejected);
                    if let Some(work) = work {
                        batches.push(piece.batch);
                        works.push(work);
                    }
                }
            }
            summaries.push(whole.summary()?);
        }
        rejected.sort_unstable();
        let table = Table::new(
            pool, self.input, summaries, batches, rejected, hashes, shelf,
        )?;
        Ok((table, works))
    }
}
