//! The stages of a run in a work folder: what is kept of each, and whether a run may go on from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use twinfold::fingerprint::{FingerprintBatch, FingerprintStores};
use twinfold::pipeline::Stage;
use twinfold::sets::{load_batches, save_batches};
use twinfold::store::Checkpoint;
use twinfold::{Storage, Store};
use twinfold_io::publish::OutputFolder;
use twinfold_io::source::{FileHash, Input, Table, sha256};
use twinfold_io::work::{Kept, WorkError, WorkFolder};

use crate::fault::Fault;
use crate::interrupt::Interrupts;
use crate::resolve::Resolved;

/// The stage that a work folder holds first.
const READ: &str = "read";
const GROUP: &str = Stage::Group.name();
const JOIN: &str = Stage::Join.name();

/// What the stages know of the table, and of the fingerprints after reading and after grouping.
const TABLE: &str = "table";
const FINGERPRINTS: &str = "fingerprints";
const GROUPED: &str = "grouped";

/// What a run is known by: two runs of which it is the same give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Key {
    configuration: Value,
    inputs: Vec<InputKey>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct InputKey {
    name: String,
    bytes: u64,
    /// When it was last changed, in nanoseconds since 1970, as the system says.
    modified: Option<String>,
    /// Known once it has been read.
    sha256: Option<String>,
}

impl Key {
    fn new(resolved: &Resolved, input: &Input) -> Result<Self, Fault> {
        let inputs = input.files().iter().map(|file| InputKey {
            name: file.name.clone(),
            bytes: file.bytes,
            modified: file.path.as_deref().and_then(modified),
            sha256: None,
        });
        Ok(Self {
            configuration: serde_json::to_value(resolved.configuration()).map_err(Fault::new)?,
            inputs: inputs.collect(),
        })
    }

    /// What is not the same in an earlier run.
    fn difference(&self, earlier: &Value, input: &Input) -> Option<String> {
        let Ok(earlier) = serde_json::from_value::<Self>(earlier.clone()) else {
            return Some("it does not say of which".into());
        };
        let settings = |key: &Self| key.configuration.as_object().cloned().unwrap_or_default();
        let (now, before) = (settings(self), settings(&earlier));
        for name in now
            .keys()
            .chain(before.keys())
            .filter(|name| *name != "inputs")
        {
            let said = |settings: &serde_json::Map<String, Value>| {
                settings
                    .get(name)
                    .map_or_else(|| "not given".to_owned(), Value::to_string)
            };
            if now.get(name) != before.get(name) {
                return Some(format!(
                    "{name} was {}, and is {} now",
                    said(&before),
                    said(&now)
                ));
            }
        }
        if self.inputs.len() != earlier.inputs.len() {
            return Some(format!(
                "it had {} input files, and there are {} now",
                earlier.inputs.len(),
                self.inputs.len()
            ));
        }
        let files = self.inputs.iter().zip(&earlier.inputs).zip(input.files());
        for ((now, before), file) in files {
            if now.name != before.name {
                return Some(format!(
                    "it read {}, and this one would read {} in its place",
                    before.name, now.name
                ));
            }
            let Some(path) = &file.path else { continue };
            if now.bytes != before.bytes {
                return Some(format!(
                    "{} had {} bytes, and has {} now",
                    now.name, before.bytes, now.bytes
                ));
            }
            // A file that was touched, or copied back, may well be the same.
            let same = || {
                before.sha256.is_some()
                    && sha256(path).is_ok_and(|(_, hash)| Some(hash) == before.sha256)
            };
            if now.modified != before.modified && !same() {
                return Some(format!("{} has been changed since", now.name));
            }
        }
        None
    }
}

/// When a file was last written, and where the system knows, when anything of it was last changed: the
/// first can be set to anything.
fn modified(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let written = since.as_nanos();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (seconds, nanoseconds) = (metadata.ctime(), metadata.ctime_nsec());
        Some(format!("{written}, {seconds}.{nanoseconds:09}"))
    }
    #[cfg(not(unix))]
    Some(written.to_string())
}

/// The stages of a run that are kept.
#[derive(Debug)]
pub(crate) struct Stages {
    work: Arc<WorkFolder>,
    kept: Option<Kept>,
    /// What is written once for several stages, and has to stay while those do.
    held: Mutex<Vec<Arc<dyn Store>>>,
}

impl Stages {
    /// The work folder of a run: that which was named, or one that is gone with the run. With the first,
    /// the stages, and of an earlier run's those that are whole.
    pub(crate) fn open(
        resolved: &Resolved,
        input: &Input,
        temporary: PathBuf,
        interrupts: &Interrupts,
    ) -> Result<(Arc<WorkFolder>, Option<Arc<Self>>), Fault> {
        let Some(path) = &resolved.work_dir else {
            return Ok((Arc::new(WorkFolder::temporary(temporary)), None));
        };
        check_place(path, resolved)?;
        if input.files().iter().any(|file| file.path.is_none()) {
            if resolved.resume {
                return Err(Fault::new(
                    "standard input is gone once it was read: there is nothing to go on from",
                )
                .hint("leave out --resume, or read from files"));
            }
            let folder = WorkFolder::claim_for_once(path, &|cleanup| interrupts.works_in(cleanup))
                .map_err(|error| Fault::from(&error))?;
            return Ok((Arc::new(folder), None));
        }
        let key = Key::new(resolved, input)?;
        let run = serde_json::to_value(&key).map_err(Fault::new)?;
        let difference = |earlier: &Value| key.difference(earlier, input);
        let resume = resolved.resume.then_some(&difference as _);
        let (work, kept) =
            WorkFolder::claim(path, run, resume, &|cleanup| interrupts.works_in(cleanup))
                .map_err(|error| Fault::from(&error))?;
        let work = Arc::new(work);
        let stages = Arc::new(Self {
            work: Arc::clone(&work),
            kept,
            held: Mutex::default(),
        });
        Ok((work, Some(stages)))
    }

    /// The stage to go on from.
    pub(crate) fn last(&self) -> Option<&str> {
        self.kept.as_ref().map(|kept| kept.stage.as_str())
    }

    fn hold(&self, store: Arc<dyn Store>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.push(store);
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let store = self.work.create(name);
        store.append(&(bytes.len() as u64).to_le_bytes());
        store.append(bytes);
        self.hold(store);
    }

    fn read(&self, name: &str) -> Vec<u8> {
        let store = Checkpoint::open(self, name);
        let mut length = [0; 8];
        store.read(0, &mut length);
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        store.read(8, &mut bytes);
        self.hold(store);
        bytes
    }

    /// Everything has been read and fingerprinted.
    pub(crate) fn keep_read(
        &self,
        table: &Table,
        batches: &[FingerprintBatch],
        resolved: &Resolved,
        input: &Input,
    ) -> Result<(), Fault> {
        let mut key = Key::new(resolved, input)?;
        for (input, hash) in key.inputs.iter_mut().zip(table.file_hashes()) {
            let FileHash { sha256, .. } = hash;
            input.sha256 = Some(sha256.clone());
        }
        self.work
            .describe(serde_json::to_value(&key).map_err(Fault::new)?);
        // Where nothing was spilled there is nothing to go on from.
        let Some(state) = table.save() else {
            return Ok(());
        };
        self.write(TABLE, &state);
        drop(state);
        self.write(FINGERPRINTS, &save_batches(batches));
        self.work
            .keep(READ, &[], &[])
            .map_err(|error| Fault::from(&error))
    }

    /// The documents and fingerprints of the earlier run.
    pub(crate) fn restore(
        &self,
    ) -> Result<(Table, Vec<FingerprintBatch>, FingerprintStores), Fault> {
        let damaged = || {
            Fault::from(&WorkError::Damaged {
                path: self.work.path().to_owned(),
                what: "its stage cannot be read back".into(),
            })
        };
        let storage: Arc<dyn Storage> = Arc::clone(&self.work) as _;
        let documents = Checkpoint::open(self, Table::STORE);
        let table = Table::restore(&self.read(TABLE), storage, documents).ok_or_else(damaged)?;
        let grouped = self.last() != Some(READ);
        let stores = FingerprintStores::with(&|name| match grouped
            && FingerprintStores::BEFORE_GROUP.contains(&name)
        {
            true => self.work.create(name),
            false => Checkpoint::open(self, name),
        });
        let state = self.read(match grouped {
            true => GROUPED,
            false => FINGERPRINTS,
        });
        let batches = load_batches(&state, &stores).ok_or_else(damaged)?;
        match self.work.failure() {
            Some(error) => Err(Fault::from(error)),
            None => Ok((table, batches, stores)),
        }
    }
}

impl Checkpoint for Stages {
    fn keep(&self, stage: Stage, state: &dyn Fn() -> Vec<u8>) {
        let result = match stage {
            // What an earlier run kept is there.
            Stage::Group if self.last().is_some_and(|last| last != READ) => Ok(()),
            Stage::Group => {
                self.write(GROUPED, &state());
                let without = [&FingerprintStores::BEFORE_GROUP[..], &[FINGERPRINTS]].concat();
                self.work.keep(GROUP, &[], &without)
            }
            Stage::Join => {
                let before = [FINGERPRINTS, "prefixes"];
                let without = [&FingerprintStores::BEFORE_GROUP[..], &before].concat();
                self.work.keep(JOIN, &state(), &without)
            }
            Stage::Fingerprint | Stage::Memberships | Stage::Cluster => Ok(()),
        };
        if let Err(error) = result {
            self.work.fail(error);
        }
    }

    fn kept(&self, stage: Stage) -> Option<Vec<u8>> {
        let kept = self.kept.as_ref()?;
        (stage == Stage::Join && kept.stage == JOIN).then(|| kept.state.clone())
    }

    fn open(&self, name: &str) -> Arc<dyn Store> {
        self.work.open(name)
    }
}

/// The output folder, if the results of the run that is to go on are in place already; nothing is left
/// of its work folder then.
pub(crate) fn finished(resolved: &Resolved) -> Option<PathBuf> {
    let (work, out) = (resolved.work_dir.as_deref()?, resolved.out.as_deref()?);
    let announced = WorkFolder::announced(work).filter(|_| resolved.resume)?;
    let (_, manifest) = sha256(&out.join("manifest.json")).ok()?;
    (manifest == announced).then(|| {
        WorkFolder::discard(work);
        // Claimed and given back, a folder is rid of what the run did not come to remove.
        drop(OutputFolder::claim(out, true));
        out.to_owned()
    })
}

/// A run never works in the folder that it writes to, or the other way round.
fn check_place(path: &Path, resolved: &Resolved) -> Result<(), Fault> {
    let real = |path: &Path| fs::canonicalize(path).ok();
    match (real(path), resolved.out.as_deref().and_then(real)) {
        (Some(work), Some(out)) if work == out => {
            Err(Fault::new("the work folder is the output folder").hint("name another --work-dir"))
        }
        _ => Ok(()),
    }
}
