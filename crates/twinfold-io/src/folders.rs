//! Folders that a run makes, claims, and leaves as they were.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The file by which a run claims a folder.
pub(crate) const LOCK: &str = ".twinfold-lock";

/// Claims a folder for as long as the file is open; none if another run has claimed it. The system lets
/// go of it if the process dies. On a file system without locks it is nobody's, and everybody's.
pub(crate) fn lock(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(LOCK);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)?;
    Ok(match file.try_lock() {
        // If not, the run that held it has just ended and taken its lock file away.
        Ok(()) => same_file(&file, &path).then_some(file),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(_)) => Some(file),
    })
}

/// The folders that have to be made for `path` to be one, the innermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    path.ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_owned)
        .collect()
}

/// Removes folders that are empty, up to the first that is not.
pub(crate) fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        let _ = fs::remove_dir(folder);
    }
}

/// Makes renames in a folder durable, where the system can.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()
    } else {
        Ok(())
    }
}

/// Whether `path` still is the open file.
#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(found)) => (open.dev(), open.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(_file: &File, _path: &Path) -> bool {
    true
}
