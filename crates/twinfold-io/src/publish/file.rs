//! A file that counts and hashes what is written to it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{FileEntry, PublishError};

/// A file that has been written whole and synced.
pub type OutputFile = FileEntry;

/// Buffers, hashes and counts.
pub(super) struct HashedFile {
    path: PathBuf,
    file: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl HashedFile {
    pub(super) fn create(path: &Path) -> Result<Self, PublishError> {
        let file = File::create(path).map_err(|source| PublishError::Write {
            path: path.into(),
            source,
        })?;
        Ok(Self {
            path: path.into(),
            file: BufWriter::with_capacity(1 << 18, file),
            hash: Sha256::new(),
            bytes: 0,
        })
    }

    /// Flushes and syncs, so that what is moved into place later is on the disk.
    pub(super) fn finish(mut self, rows: u64) -> Result<OutputFile, PublishError> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .map_err(|source| PublishError::Write {
                path: self.path.clone(),
                source,
            })?;
        let name = self
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(FileEntry {
            name,
            bytes: self.bytes,
            sha256: hex(&self.hash.finalize()),
            rows,
        })
    }
}

impl Write for HashedFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.file.write_all(buffer)?;
        self.hash.update(buffer);
        self.bytes += buffer.len() as u64;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
