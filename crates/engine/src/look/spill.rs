//! A temporary file without a name: whatever ends the process, nothing is left.

use crate::{Error, Result};
use std::fs::{File, OpenOptions, remove_file};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Written at its end, read anywhere.
#[derive(Debug)]
pub(crate) struct Spill {
    file: File,
    dir: PathBuf,
    end: u64,
    /// Small appends wait here.
    waiting: Vec<u8>,
}

const WAITING_BYTES: usize = 256 << 10;

impl Spill {
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(Self {
            file: nameless(dir).map_err(|source| io_error("create", dir, source))?,
            dir: dir.to_owned(),
            end: 0,
            waiting: Vec::new(),
        })
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all_at(bytes, self.end)
            .map_err(|source| io_error("write", &self.dir, source))?;
        self.end = self.end.saturating_add(bytes.len() as u64);
        Ok(())
    }

    /// Like `append`, for small pieces: they are there after `flush`.
    pub fn append_buffered(&mut self, bytes: &[u8]) -> Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() < WAITING_BYTES {
            return Ok(());
        }
        self.flush()
    }

    pub fn flush(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.append(&waiting)?;
        self.waiting = waiting;
        self.waiting.clear();
        Ok(())
    }

    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        self.file
            .read_exact_at(bytes, offset)
            .map_err(|source| io_error("read", &self.dir, source))
    }
}

fn io_error(op: &'static str, dir: &Path, source: io::Error) -> Error {
    Error::Data(etcd_data::Error::io(
        op,
        &dir.join("(temporary file)"),
        source,
    ))
}

/// A new file that has lost its name already.
pub(crate) fn nameless(dir: &Path) -> io::Result<File> {
    let path = fresh_name(dir);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    remove_file(&path)?;
    Ok(file)
}

/// A name that no other look of any process uses at this time.
pub(crate) fn fresh_name(dir: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    dir.join(format!(".etcdbr-look-{}-{number}", std::process::id()))
}
