//! A store that is a file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use twinfold::Store;

use super::WorkError;

/// What went wrong first, in any store of a folder.
pub(super) type Failure = Arc<OnceLock<WorkError>>;

/// An append-only file. Dropped, it is removed, unless it was kept.
#[derive(Debug)]
pub(super) struct FileStore {
    path: PathBuf,
    file: Option<File>,
    len: AtomicU64,
    failure: Failure,
    /// Set once the file is to outlive the store.
    pub(super) kept: Arc<std::sync::atomic::AtomicBool>,
}

impl FileStore {
    /// A new file. On Unix an `unnamed` one has no name from the beginning: whatever becomes of the
    /// run, the system takes it away.
    pub(super) fn create(path: PathBuf, unnamed: bool, failure: Failure) -> Self {
        let open = || match failure.get() {
            Some(_) => Err(io::ErrorKind::Interrupted.into()),
            None => OpenOptions::new()
                .create_new(true)
                .read(true)
                .write(true)
                .open(&path),
        };
        let file = open().and_then(|file| {
            if unnamed && cfg!(unix) {
                fs::remove_file(&path)?;
            }
            Ok(file)
        });
        Self::new(path, file, 0, failure)
    }

    /// A file that an earlier run kept, to be read.
    pub(super) fn open(path: PathBuf, failure: Failure) -> Self {
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let len = file
            .as_ref()
            .ok()
            .and_then(|file| Some(file.metadata().ok()?.len()))
            .unwrap_or(0);
        let store = Self::new(path, file, len, failure);
        store.kept.store(true, Ordering::Release);
        store
    }

    fn new(path: PathBuf, file: io::Result<File>, len: u64, failure: Failure) -> Self {
        let mut store = Self {
            path,
            file: None,
            len: AtomicU64::new(len),
            failure,
            kept: Arc::default(),
        };
        match file {
            Ok(file) => store.file = Some(file),
            Err(error) => store.fail("make", error),
        }
        store
    }

    fn fail(&self, what: &'static str, source: io::Error) {
        let path = self.path.clone();
        let _ = self.failure.set(WorkError::Store { what, path, source });
    }
}

impl Store for FileStore {
    fn append(&self, bytes: &[u8]) -> u64 {
        let start = self.len.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some(file) = &self.file
            && self.failure.get().is_none()
            && let Err(error) = write_all_at(file, bytes, start)
        {
            self.fail("write", error);
        }
        start
    }

    fn read(&self, start: u64, into: &mut [u8]) {
        if let Some(file) = &self.file
            && self.failure.get().is_none()
        {
            match read_exact_at(file, into, start) {
                Ok(()) => return,
                Err(error) => self.fail("read", error),
            }
        }
        into.fill(0);
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        if !self.kept.load(Ordering::Acquire) {
            self.file = None;
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, start)
}

#[cfg(unix)]
fn read_exact_at(file: &File, into: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, start)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, start)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => {
                bytes = &bytes[written..];
                start += written as u64;
            }
        }
    }
    Ok(())
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut into: &mut [u8], mut start: u64) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, start)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                into = &mut into[read..];
                start += read as u64;
            }
        }
    }
    Ok(())
}

/// The name of a store's file.
pub(super) fn file_name(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.bin"))
}
