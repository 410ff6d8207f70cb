//! The work folder: files for what memory has no room for, and the stages of a run that are whole.
//!
//! ```text
//! WORK/
//!   work.json       the run that it belongs to, its last whole stage, and the files of that stage,
//!                   each with its size and XXH3-64; written beside and renamed, after the files
//!   <stage>.state   what the stage was kept with: of `join` the counts and the places of its pairs
//!   table.bin       what is known of the documents beside their columns; after its length, as are
//!   fingerprints.bin, grouped.bin
//!                   the fingerprints after `read` and after `group`, and their places in what follows
//!   documents.bin   the columns of the documents, as Arrow IPC streams
//!   shingles.bin, shingle_counts.bin, sets.bin, set_counts.bin, signatures.bin, prefixes.bin,
//!   pairs.bin, rejected_pairs.bin, scored_pairs.bin
//!                   numbers, in the byte order of the machine
//!   <relation> in order.bin
//!                   documents in the order of their ids, as Arrow IPC streams, while they are published
//! ```
//!
//! A run that was given no work folder makes files without a name in its output folder where the
//! system can, so that nothing is left of them whatever becomes of the run.
//!
//! Files are only appended to, so that one that has grown since its stage was whole is cut back to what
//! it was. Guarantee: `work.json` names a stage only when all its files are on the disk, whole; until then it
//! names the stage before, whose files are still there.

mod store;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use serde::{Deserialize, Serialize};
use twinfold::{Storage, Store};
use xxhash_rust::xxh3::Xxh3Default;

use crate::folders::{self, LOCK, missing_folders, remove_empty, sync_folder};
use crate::marks::PROGRAM;
use store::{Failure, FileStore, file_name};

/// Why a work folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// It cannot be made, read or written to.
    #[error("cannot use the work folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// One of its files cannot be made, written or read.
    #[error("cannot {what} {} in the work folder: {source}", path.display())]
    Store {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another run works in it.
    #[error("another run is working in the work folder {}", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// It holds what is not ours.
    #[error("the work folder {} is not empty: it holds {found}", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The first thing in it.
        found: String,
    },
    /// It holds the stages of an earlier run, and nobody asked to go on from them.
    #[error("the work folder {} holds an earlier run up to its stage {stage:?}", path.display())]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// The last whole stage.
        stage: String,
    },
    /// It holds the stages of another run than the one that is to go on.
    #[error("the work folder {} is of another run: {difference}", path.display())]
    OtherRun {
        /// The folder.
        path: PathBuf,
        /// What is not the same.
        difference: String,
    },
    /// One of the files is not what was written.
    #[error("{} in the work folder is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How that is seen.
        what: String,
    },
}

impl WorkError {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Folder { .. } => "choose a folder that you may write to with --work-dir".into(),
            Self::Store { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "make room, or name a folder on a larger disk with --work-dir".into()
            }
            Self::Store { .. } => {
                "look at the free space and the permissions of the work folder".into()
            }
            Self::Locked { .. } => "wait for it, or choose another --work-dir".into(),
            Self::Foreign { .. } => "name a folder of its own, such as one more level below".into(),
            Self::Unfinished { path, .. } => format!(
                "go on from there with --resume, or remove {}",
                path.display()
            ),
            Self::OtherRun { path, .. } => format!(
                "repeat the same command, or remove {} to begin anew",
                path.display()
            ),
            Self::Damaged { .. } => "remove the work folder and run anew".into(),
        })
    }
}

/// Says what differs between what an earlier run is known by and this run, if anything does.
pub type Difference<'a> = &'a dyn Fn(&serde_json::Value) -> Option<String>;

/// The last whole stage of an earlier run.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its name.
    pub stage: String,
    /// What it wrote with [`WorkFolder::keep`].
    pub state: Vec<u8>,
}

/// A folder for what memory has no room for.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    failure: Failure,
    /// Whether files have no name.
    unnamed: bool,
    /// Whether stages are kept, and what the run is known by.
    run: Option<Mutex<serde_json::Value>>,
    results: Mutex<Option<String>>,
    stores: Mutex<Vec<Named>>,
    cleanup: WorkCleanup,
    _lock: Option<File>,
}

#[derive(Debug)]
struct Named {
    file: String,
    store: Weak<FileStore>,
    kept: Arc<AtomicBool>,
}

/// What can end a run's work folder from another thread, such as one that waits for signals.
#[derive(Clone, Debug)]
pub struct WorkCleanup(Arc<Mutex<Ending>>);

#[derive(Debug)]
struct Ending {
    path: PathBuf,
    /// Folders that were made for the run.
    created: Vec<PathBuf>,
    /// The last whole stage that is kept.
    stage: Option<String>,
    ended: bool,
}

/// `work.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    program: String,
    run: serde_json::Value,
    stage: Option<String>,
    /// What the results are known by, once they are about to be put in place.
    #[serde(default)]
    results: Option<String>,
    files: Vec<FileRecord>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct FileRecord {
    name: String,
    bytes: u64,
    xxh3_64: String,
}

const RECORD: &str = "work.json";

impl WorkFolder {
    /// A folder that is made when the first file is, and keeps nothing.
    pub fn temporary(path: PathBuf) -> Self {
        Self {
            failure: Arc::new(OnceLock::new()),
            unnamed: true,
            run: None,
            results: Mutex::default(),
            stores: Mutex::default(),
            cleanup: WorkCleanup::new(&path, Vec::new()),
            path,
            _lock: None,
        }
    }

    /// Makes the folder if need be, and claims it for a run that is known by `run`: any JSON that is
    /// the same for the same input and configuration. With `resume` the last whole stage of an earlier
    /// run comes back, if there is one and `resume` sees no difference. `claimed` is told as soon as the folder is this run's.
    ///
    /// # Errors
    /// If it cannot be used, another run has claimed it, it holds anything that is not ours, or it
    /// holds stages and they are not wanted, of another run, or damaged.
    pub fn claim(
        path: &Path,
        run: serde_json::Value,
        resume: Option<Difference<'_>>,
        claimed: &dyn Fn(WorkCleanup),
    ) -> Result<(Self, Option<Kept>), WorkError> {
        let fault = |source| WorkError::Folder {
            path: path.into(),
            source,
        };
        let created = missing_folders(path);
        let locked = fs::create_dir_all(path).and_then(|()| folders::lock(path));
        let lock = locked
            .inspect_err(|_| remove_empty(&created))
            .map_err(fault)?;
        let Some(lock) = lock else {
            return Err(WorkError::Locked { path: path.into() });
        };
        let cleanup = WorkCleanup::new(path, created);
        let record = read_record(path).map_err(fault)?;
        if record.is_none() && lost_record(path).map_err(fault)? {
            cleanup.release();
            return Err(WorkError::Damaged {
                path: path.join(RECORD),
                what: "it is missing, or cannot be read".into(),
            });
        }
        if let Some(found) = foreign_entry(path, record.is_some()).map_err(fault)? {
            cleanup.release();
            return Err(WorkError::Foreign {
                path: path.into(),
                found,
            });
        }
        cleanup.lock().stage = record.as_ref().and_then(|record| record.stage.clone());
        claimed(cleanup.clone());
        let mut kept = None;
        let mut files = Vec::new();
        if let Some(record) = record
            && let Some(stage) = record.stage
        {
            let Some(difference) = resume else {
                cleanup.release();
                return Err(WorkError::Unfinished {
                    path: path.into(),
                    stage,
                });
            };
            let other = match record.program == PROGRAM {
                true => difference(&record.run),
                false => Some(format!(
                    "{} wrote it, and this is {PROGRAM}",
                    record.program
                )),
            };
            if let Some(difference) = other {
                cleanup.release();
                return Err(WorkError::OtherRun {
                    path: path.into(),
                    difference,
                });
            }
            for file in &record.files {
                if let Err(error) = check(&path.join(&file.name), file) {
                    cleanup.release();
                    return Err(error);
                }
            }
            let state = fs::read(path.join(state_name(&stage))).map_err(fault)?;
            kept = Some(Kept { stage, state });
            files = record.files;
        }
        let folder = Self {
            path: path.into(),
            failure: Arc::new(OnceLock::new()),
            unnamed: false,
            run: Some(Mutex::new(run)),
            results: Mutex::default(),
            stores: Mutex::default(),
            cleanup,
            _lock: Some(lock),
        };
        folder
            .remove_all_but(files.iter().map(|file| file.name.as_str()).collect())
            .map_err(fault)?;
        if kept.is_none() {
            folder.write_record(None, Vec::new())?;
        }
        Ok((folder, kept))
    }

    /// As [`WorkFolder::claim`], for a run of which no stage is kept.
    ///
    /// # Errors
    /// As there.
    pub fn claim_for_once(path: &Path, claimed: &dyn Fn(WorkCleanup)) -> Result<Self, WorkError> {
        let (mut folder, _) = Self::claim(path, serde_json::Value::Null, None, claimed)?;
        folder.run = None;
        Ok(folder)
    }

    /// Removes what a run left in a folder of ours, whose results are in place.
    pub fn discard(path: &Path) {
        if let Ok(Some(_lock)) = folders::lock(path) {
            WorkCleanup::new(path, Vec::new()).finish();
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether whole stages are kept.
    pub fn keeps_stages(&self) -> bool {
        self.run.is_some()
    }

    /// What can end it from another thread.
    pub fn cleanup(&self) -> WorkCleanup {
        self.cleanup.clone()
    }

    /// What went wrong, if anything did.
    pub fn failure(&self) -> Option<&WorkError> {
        self.failure.get()
    }

    /// A store of an earlier run's last whole stage; an empty one, if there was no need for it.
    pub fn open(&self, name: &str) -> Arc<dyn Store> {
        let path = file_name(&self.path, name);
        if !path.exists() {
            return self.create(name);
        }
        self.add(name, FileStore::open(path, Arc::clone(&self.failure)))
    }

    /// Keeps a stage: all stores that are still in use, but for those named in `without`, and `state`.
    /// Does nothing where stages are not kept.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn keep(&self, stage: &str, state: &[u8], without: &[&str]) -> Result<(), WorkError> {
        if !self.keeps_stages() {
            return Ok(());
        }
        let fault = |source| WorkError::Folder {
            path: self.path.clone(),
            source,
        };
        let state_path = self.path.join(state_name(stage));
        fs::write(&state_path, state).map_err(fault)?;
        let wanted = |named: &&Named| {
            let name = named.file.trim_end_matches(".bin");
            !without.contains(&name)
        };
        let live: Vec<(String, Arc<FileStore>)> = self
            .stores()
            .iter()
            .filter(wanted)
            .filter_map(|named| Some((named.file.clone(), named.store.upgrade()?)))
            .collect();
        let names = live.iter().map(|(name, _)| name.clone());
        let mut files = Vec::new();
        for name in names.chain([state_name(stage)]) {
            let path = self.path.join(&name);
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(fault)?;
            let (bytes, xxh3_64) = digest(&path, u64::MAX).map_err(fault)?;
            files.push(FileRecord {
                name,
                bytes,
                xxh3_64,
            });
        }
        let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
        // Until the record names this stage, what the one before needs has to stay.
        let mark = |keep: bool| {
            for named in &*self.stores() {
                if names.contains(&named.file) == keep {
                    named.kept.store(keep, Ordering::Release);
                }
            }
        };
        mark(true);
        self.write_record(Some(stage), files)?;
        mark(false);
        self.cleanup.lock().stage = Some(stage.into());
        self.remove_all_but(names.iter().map(String::as_str).collect())
            .map_err(fault)
    }

    /// The results are about to be put in place: whoever finds them there, known by `results`, needs no
    /// stage any more.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn announce(&self, results: &str) -> Result<(), WorkError> {
        if !self.keeps_stages() {
            return Ok(());
        }
        let fault = |source| WorkError::Folder {
            path: self.path.clone(),
            source,
        };
        let record = read_record(&self.path).map_err(fault)?;
        *self.results.lock().unwrap_or_else(PoisonError::into_inner) = Some(results.into());
        match record {
            Some(Record {
                stage: Some(stage),
                files,
                ..
            }) => self.write_record(Some(&stage), files),
            _ => Ok(()),
        }
    }

    /// What the results of the run that worked in a folder are known by, if it came so far.
    pub fn announced(path: &Path) -> Option<String> {
        read_record(path).ok()??.results
    }

    /// From now on the run is known by this.
    pub fn describe(&self, run: serde_json::Value) {
        if let Some(known) = &self.run {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = run;
        }
    }

    /// Lets the work fail, as if a store had.
    pub fn fail(&self, error: WorkError) {
        let _ = self.failure.set(error);
    }

    /// The run is over, and has no use for its stages any more.
    pub fn finish(&self) {
        self.cleanup.lock().stage = None;
    }

    fn stores(&self) -> MutexGuard<'_, Vec<Named>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, name: &str, store: FileStore) -> Arc<dyn Store> {
        let store = Arc::new(store);
        self.stores().push(Named {
            file: format!("{name}.bin"),
            kept: Arc::clone(&store.kept),
            store: Arc::downgrade(&store),
        });
        store
    }

    fn write_record(&self, stage: Option<&str>, files: Vec<FileRecord>) -> Result<(), WorkError> {
        let record = Record {
            program: PROGRAM.into(),
            run: self.run.as_ref().map_or(serde_json::Value::Null, |run| {
                run.lock().unwrap_or_else(PoisonError::into_inner).clone()
            }),
            stage: stage.map(str::to_owned),
            results: self
                .results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            files,
        };
        let beside = self.path.join(".work.json");
        let write = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            serde_json::to_writer_pretty(&mut file, &record)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&beside, self.path.join(RECORD))?;
            sync_folder(&self.path)
        };
        write().map_err(|source| WorkError::Folder {
            path: self.path.clone(),
            source,
        })
    }

    /// Removes files of ours that are not among `names`.
    fn remove_all_but(&self, names: Vec<&str>) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if is_ours(name) && name != RECORD && name != LOCK && !names.contains(&name) {
                // One that is still open may have to stay for a while, and does no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

impl Storage for WorkFolder {
    fn create(&self, name: &str) -> Arc<dyn Store> {
        if self.unnamed {
            // If it cannot be made, neither can the file, which says so.
            let _ = fs::create_dir_all(&self.path);
        }
        let path = file_name(&self.path, name);
        // Whoever ends the work waits until the file is there, and after that there are no more.
        let ending = self.cleanup.lock();
        if ending.ended {
            self.fail(WorkError::Folder {
                path: self.path.clone(),
                source: io::ErrorKind::Interrupted.into(),
            });
        }
        let _ = fs::remove_file(&path);
        let store = FileStore::create(path, self.unnamed, Arc::clone(&self.failure));
        self.add(name, store)
    }

    fn failed(&self) -> bool {
        self.failure.get().is_some()
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        self.cleanup.abandon();
    }
}

impl WorkCleanup {
    fn new(path: &Path, created: Vec<PathBuf>) -> Self {
        Self(Arc::new(Mutex::new(Ending {
            path: path.into(),
            created,
            stage: None,
            ended: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Ending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder is not to be used: it is left as it was.
    fn release(&self) {
        let mut ending = self.lock();
        if !std::mem::replace(&mut ending.ended, true) {
            let _ = fs::remove_file(ending.path.join(LOCK));
        }
    }

    /// Ends the work of a run whose results are in place: nothing is kept.
    pub fn finish(&self) {
        self.lock().stage = None;
        self.abandon();
    }

    /// Ends the work: removes what there is, unless there is a whole stage, whose name comes back with
    /// the folder.
    pub fn abandon(&self) -> Option<(PathBuf, String)> {
        let mut ending = self.lock();
        if let Some(stage) = &ending.stage {
            let found = (ending.path.clone(), stage.clone());
            if !ending.ended {
                ending.ended = true;
                let _ = fs::remove_file(ending.path.join(LOCK));
            }
            return Some(found);
        }
        if !std::mem::replace(&mut ending.ended, true) {
            if let Ok(entries) = fs::read_dir(&ending.path) {
                let goes_first = |name: &str| is_ours(name) && name != RECORD && name != LOCK;
                for entry in entries.flatten() {
                    if entry.file_name().to_str().is_some_and(goes_first) {
                        let _ = fs::remove_file(entry.path());
                    }
                }
            }
            // As long as there is anything of ours, it is seen to be.
            for name in [RECORD, LOCK] {
                let _ = fs::remove_file(ending.path.join(name));
            }
            let _ = fs::remove_dir(&ending.path);
            remove_empty(&ending.created);
        }
        None
    }
}

fn state_name(stage: &str) -> String {
    format!("{stage}.state")
}

fn is_ours(name: &str) -> bool {
    [RECORD, ".work.json", LOCK].contains(&name)
        || name.ends_with(".bin")
        || name.ends_with(".state")
}

/// `work.json`, if it is there and ours.
fn read_record(path: &Path) -> io::Result<Option<Record>> {
    match fs::read(path.join(RECORD)) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)
            .ok()
            .filter(|record: &Record| record.program.starts_with("twinfold "))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Something in the folder that no run of ours put there.
fn foreign_entry(path: &Path, is_work_folder: bool) -> io::Result<Option<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    let foreign = |name: &String| name != LOCK && !(is_work_folder && is_ours(name));
    Ok(names.into_iter().find(foreign))
}

/// Whether a folder holds files of ours, and nothing else, without the record that would say of what.
fn lost_record(path: &Path) -> io::Result<bool> {
    let mut found = false;
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str().filter(|name| is_ours(name)) else {
            return Ok(false);
        };
        found |= name != LOCK && name != ".work.json";
    }
    Ok(found)
}

/// The size of a file, or of the beginning of it, and its XXH3-64.
fn digest(path: &Path, most: u64) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?.take(most);
    let (mut hash, mut bytes) = (Xxh3Default::new(), 0);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, format!("{:016x}", hash.digest())));
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
}

/// Checks a file of a whole stage, and cuts off what was appended to it since.
fn check(path: &Path, file: &FileRecord) -> Result<(), WorkError> {
    let damaged = |what: String| WorkError::Damaged {
        path: path.into(),
        what,
    };
    let (bytes, xxh3_64) = digest(path, file.bytes).map_err(|error| damaged(error.to_string()))?;
    if bytes != file.bytes {
        return Err(damaged(format!(
            "{bytes} bytes, where {} were written",
            file.bytes
        )));
    }
    if xxh3_64 != file.xxh3_64 {
        return Err(damaged("its checksum is another".into()));
    }
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|open| open.set_len(file.bytes))
        .map_err(|error| damaged(error.to_string()))
}
