//! Pages in sequence behind the high-water mark, written in large pieces.

use crate::page::{PAGE_HEADER_BYTES, PageHeader};
use crate::{Error, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;

pub(crate) struct PageSink {
    file: File,
    path: PathBuf,
    page_bytes: u64,
    /// Bytes from the start of the file that are written; the buffer follows.
    written: u64,
    buffer: Vec<u8>,
}

impl PageSink {
    /// Begins at page `next`.
    pub fn new(file: File, path: &Path, page_bytes: usize, next: u64) -> Result<Self> {
        let page_bytes = page_bytes as u64;
        let written = next.checked_mul(page_bytes);
        let written = written.ok_or_else(|| {
            Error::corrupt(path, next, "the high-water mark is beyond 2^64 bytes")
        })?;
        Ok(Self {
            file,
            path: path.to_owned(),
            page_bytes,
            written,
            buffer: Vec::new(),
        })
    }

    pub fn page_bytes(&self) -> usize {
        usize::try_from(self.page_bytes).unwrap_or(usize::MAX)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The page that comes next.
    pub fn next(&self) -> u64 {
        self.end().checked_div(self.page_bytes).unwrap_or(0)
    }

    /// Writes one page, `parts` behind its header, and returns its id.
    pub fn page(&mut self, flags: u16, count: usize, parts: &[&[u8]]) -> Result<u64> {
        let body = parts.iter().fold(PAGE_HEADER_BYTES as u64, |sum, part| {
            sum.saturating_add(part.len() as u64)
        });
        let slots = body.div_ceil(self.page_bytes);
        let too_large = || {
            Error::usage(
                &self.path,
                format!("a page of {body} bytes and {count} elements"),
            )
        };
        let overflow = u32::try_from(slots.saturating_sub(1)).map_err(|_| too_large())?;
        let count = u16::try_from(count).map_err(|_| too_large())?;
        let id = self.next();
        self.put(
            &PageHeader {
                id,
                flags,
                count,
                overflow,
            }
            .encode(),
        )?;
        for part in parts {
            self.put(part)?;
        }
        let padding = slots.saturating_mul(self.page_bytes).saturating_sub(body);
        let length = self
            .buffer
            .len()
            .saturating_add(usize::try_from(padding).unwrap_or(usize::MAX));
        self.buffer.resize(length, 0);
        Ok(id)
    }

    /// Forgets all pages from `next` on.
    pub fn rewind(&mut self, next: u64) {
        let end = next.saturating_mul(self.page_bytes);
        let kept = end
            .checked_sub(self.written)
            .and_then(|kept| usize::try_from(kept).ok());
        self.buffer.truncate(kept.unwrap_or(0));
        self.written = self.written.min(end);
    }

    /// Hands the buffer to the system; syncs nothing.
    pub fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.write(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn end(&self) -> u64 {
        self.written.saturating_add(self.buffer.len() as u64)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len().saturating_add(bytes.len()) > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() > BUFFER_BYTES {
            return self.write(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all_at(bytes, self.written)
            .map_err(|error| Error::io("write", &self.path, error))?;
        self.written = self.written.saturating_add(bytes.len() as u64);
        Ok(())
    }
}
