//! A new file that knows the digest of what was written to it.

use crate::error::{Error, Result};
use crate::write::sync_parent;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) struct HashingFile {
    file: File,
    path: PathBuf,
    digest: Sha256,
    bytes: u64,
}

impl HashingFile {
    /// Creates a file that must not exist yet.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(Error::io("create"))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            digest: Sha256::new(),
            bytes: 0,
        })
    }

    /// Syncs file and directory; SHA-256 and length of the file.
    pub(crate) fn finish(self) -> Result<([u8; 32], u64)> {
        self.file.sync_all().map_err(Error::io("sync"))?;
        sync_parent(&self.path)?;
        Ok((self.digest.finalize().into(), self.bytes))
    }
}

impl Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.digest.update(bytes.get(..count).unwrap_or(bytes));
        self.bytes = self.bytes.saturating_add(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
