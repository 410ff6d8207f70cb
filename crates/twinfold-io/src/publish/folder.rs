//! The output folder: claimed before the work, filled all at once at its end.
//!
//! What can happen, and what a reader sees:
//!
//! - The run fails, or is interrupted and cleans up by [`FolderCleanup`], before it commits: the
//!   folder is as it was.
//! - It is killed before it commits: the same, but for the hidden staging folder, which the next run
//!   removes.
//! - It is killed while it commits: there is no manifest. The staging folder's list of files tells
//!   the next run which files are leftovers, and it removes them.
//! - It commits: every file is in place and synced, and then the manifest.
//!
//! `--overwrite` removes only what an earlier run wrote: labels and notes that a person keeps beside
//! it stay, and a folder in which other programs' files have our names is refused.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::manifest::{MANIFEST, listed_files};
use super::{PublishError, known_files};
use crate::folders::{self, LOCK, missing_folders, remove_empty, sync_folder};
use crate::marks::{STAGING, is_manifest};

/// A claimed output folder. Dropped without [`OutputFolder::commit`], it is left as it was.
#[derive(Debug)]
pub struct OutputFolder {
    claim: Arc<Claim>,
    /// Held as long as the folder is claimed; the system lets go of it if the process dies.
    _lock: File,
}

#[derive(Debug)]
struct Claim {
    path: PathBuf,
    staging: PathBuf,
    lock_path: PathBuf,
    /// The folders that were made for it, the innermost first.
    created: Vec<PathBuf>,
    state: Mutex<State>,
}

/// How far a claim has come. Whoever changes the folder holds the state meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but the staging folder and the lock file is ours.
    Claimed,
    /// A commit was cut short. Its list stays, by which the next run knows the leftovers.
    CutShort,
    /// The results are in place.
    Committed,
    /// Nothing of it is left to be done: it may be another run's by now.
    Ended {
        /// Whether the results are in place.
        committed: bool,
    },
}

/// Cleans a claimed folder up from another thread, such as one that waits for signals.
#[derive(Clone, Debug)]
pub struct FolderCleanup(Arc<Claim>);

impl FolderCleanup {
    /// Leaves the folder as it was, unless its results are in place: a commit that is going on is
    /// waited for. Returns whether they are. From now on whatever the run still writes fails.
    pub fn abandon(&self) -> bool {
        self.0.end()
    }
}

/// In the staging folder: the files that a commit is about to move.
const COMMITTING: &str = "committing.json";

impl OutputFolder {
    /// Makes the folder if need be, and claims it.
    ///
    /// # Errors
    /// If it cannot be written to, another run has claimed it, or it is not empty and `overwrite`
    /// is off.
    pub fn claim(path: &Path, overwrite: bool) -> Result<Self, PublishError> {
        let fault = |source| PublishError::Folder {
            path: path.into(),
            source,
        };
        let created = match fs::metadata(path) {
            Ok(found) if found.is_dir() => Vec::new(),
            Ok(_) => return Err(PublishError::NotAFolder { path: path.into() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let missing = missing_folders(path);
                if let Err(error) = fs::create_dir_all(path) {
                    remove_empty(&missing);
                    return Err(fault(error));
                }
                missing
            }
            Err(error) => return Err(fault(error)),
        };
        let lock_path = path.join(LOCK);
        let Some(lock) = folders::lock(path).map_err(fault)? else {
            return Err(PublishError::Locked { path: path.into() });
        };
        let folder = Self {
            claim: Arc::new(Claim {
                path: path.into(),
                staging: path.join(STAGING),
                lock_path,
                created,
                state: Mutex::new(State::Claimed),
            }),
            _lock: lock,
        };
        folder.claim.remove_leftovers().map_err(fault)?;
        if !overwrite && let Some(found) = folder.claim.first_entry().map_err(fault)? {
            return Err(PublishError::NotEmpty {
                path: path.into(),
                found,
            });
        }
        if let Some(found) = folder.claim.foreign_file() {
            return Err(PublishError::NotOurs {
                path: path.into(),
                found,
            });
        }
        fs::create_dir(&folder.claim.staging).map_err(fault)?;
        Ok(folder)
    }

    /// Where to write a file before it is committed.
    pub fn staged(&self, name: &str) -> PathBuf {
        self.claim.staging.join(name)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.claim.path
    }

    /// What can clean it up from another thread.
    pub fn cleanup(&self) -> FolderCleanup {
        FolderCleanup(Arc::clone(&self.claim))
    }

    /// Whether a commit would remove this file, as one of an earlier run.
    pub fn replaces(&self, file: &Path) -> bool {
        let (Ok(file), Ok(folder)) = (fs::canonicalize(file), fs::canonicalize(self.path())) else {
            return false;
        };
        file.parent() == Some(&folder)
            && file.file_name().is_some_and(|name| {
                name == MANIFEST
                    || self
                        .claim
                        .earlier_files()
                        .iter()
                        .any(|earlier| name == earlier.as_str())
            })
    }

    /// Removes an earlier run's files and moves the staged ones into place, the manifest last.
    pub fn commit(self, names: &[String]) -> Result<(), PublishError> {
        self.claim
            .commit(names)
            .map_err(|source| PublishError::Folder {
                path: self.claim.path.clone(),
                source,
            })
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        self.claim.end();
    }
}

impl Claim {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn commit(&self, names: &[String]) -> io::Result<()> {
        let mut state = self.state();
        if *state != State::Claimed {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.commit_files(names, &mut state)
    }

    fn commit_files(&self, names: &[String], state: &mut State) -> io::Result<()> {
        let earlier = self.earlier_files();
        // If this is cut short, whatever is left of either run has to go.
        let leftovers: Vec<&String> = names.iter().chain(&earlier).collect();
        let list = serde_json::to_vec(&leftovers)?;
        let list_path = self.staging.join(COMMITTING);
        fs::write(&list_path, list)?;
        File::open(&list_path)?.sync_all()?;
        sync_folder(&self.staging)?;
        *state = State::CutShort;
        self.remove_earlier_run(&earlier)?;
        for name in names.iter().filter(|name| *name != MANIFEST) {
            fs::rename(self.staging.join(name), self.path.join(name))?;
        }
        sync_folder(&self.path)?;
        fs::rename(self.staging.join(MANIFEST), self.path.join(MANIFEST))?;
        sync_folder(&self.path)?;
        *state = State::Committed;
        Ok(())
    }

    /// The manifest goes first: from then on the folder does not look whole.
    fn remove_earlier_run(&self, names: &[String]) -> io::Result<()> {
        remove_file(&self.path.join(MANIFEST))?;
        sync_folder(&self.path)?;
        names
            .iter()
            .try_for_each(|name| remove_file(&self.path.join(name)))
    }

    /// The names that an earlier run may have left, but for the manifest.
    fn earlier_files(&self) -> Vec<String> {
        let listed = listed_files(&self.path.join(MANIFEST));
        let names = listed.into_iter().chain(known_files().map(str::to_owned));
        // A manifest is a file that anyone may have edited: it names no other folder's files.
        names
            .filter(|name| {
                Path::new(name)
                    .file_name()
                    .is_some_and(|file| file == name.as_str())
            })
            .collect()
    }

    fn remove_leftovers(&self) -> io::Result<()> {
        if let Ok(list) = fs::read(self.staging.join(COMMITTING))
            && let Ok(names) = serde_json::from_slice::<Vec<String>>(&list)
            && !self.path.join(MANIFEST).exists()
        {
            let known = |name: &str| known_files().any(|known| known == name);
            for name in names.iter().filter(|name| known(name)) {
                remove_file(&self.path.join(name))?;
            }
        }
        match fs::remove_dir_all(&self.staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// A file that a commit would replace, though no manifest of ours claims it.
    fn foreign_file(&self) -> Option<String> {
        if is_manifest(&self.path.join(MANIFEST)) {
            return None;
        }
        known_files()
            .chain([MANIFEST])
            .find(|name| self.path.join(name).exists())
            .map(str::to_owned)
    }

    fn first_entry(&self) -> io::Result<Option<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names.into_iter().find(|name| name != LOCK))
    }

    /// Removes what is hidden, and the folder if it was made for a run that did not commit. What
    /// cannot be removed now, the next run removes. Returns whether it did commit.
    fn end(&self) -> bool {
        let mut state = self.state();
        if let State::Ended { committed } = *state {
            return committed;
        }
        if *state != State::CutShort {
            remove_busy_folder(&self.staging);
        }
        let _ = fs::remove_file(&self.lock_path);
        let committed = *state == State::Committed;
        if !committed {
            remove_empty(&self.created);
        }
        *state = State::Ended { committed };
        committed
    }
}

/// Removes a folder that other threads may still be making files in.
fn remove_busy_folder(path: &Path) {
    const ATTEMPTS: usize = 200;
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => return,
        }
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
