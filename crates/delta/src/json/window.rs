//! A window over the decompressed bytes that always keeps back the last 32: they are the digest, not JSON.

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read};

/// Bytes of the SHA-256 behind the JSON.
pub(crate) const DIGEST_BYTES: usize = 32;
/// Window to begin with; it doubles while one event does not fit.
const WINDOW_BYTES: usize = 256 << 10;
/// Largest window: one event of the largest size in base64, and its frame.
const WINDOW_BYTES_MAX: usize = (crate::event::EVENT_BYTES_MAX / 3) * 4 + (64 << 10);

pub(crate) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    source_ended: bool,
    digest: Sha256,
    /// Position in the stream of the buffer's first byte.
    base: u64,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(source: R) -> Self {
        let buffer = vec![0; WINDOW_BYTES];
        Self {
            source,
            buffer,
            start: 0,
            end: 0,
            source_ended: false,
            digest: Sha256::new(),
            base: 0,
        }
    }

    /// Bytes that are surely JSON.
    #[inline]
    pub(crate) fn json(&self) -> &[u8] {
        let end = self.end.saturating_sub(DIGEST_BYTES).max(self.start);
        self.buffer.get(self.start..end).unwrap_or_default()
    }

    /// Position of the first byte of [`Window::json`] in the decompressed stream.
    pub(crate) fn position(&self) -> u64 {
        self.base.saturating_add(self.start as u64)
    }

    /// The first `count` bytes of [`Window::json`] are done with.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.end);
    }

    /// Reads until the window is full; it grows when what is in it is already one event in part.
    /// `false` when the stream has ended and nothing was added.
    pub(crate) fn refill(&mut self) -> Result<bool> {
        if self.source_ended {
            return Ok(false);
        }
        self.drop_consumed();
        if self.end == self.buffer.len() {
            self.grow()?;
        }
        while self.end < self.buffer.len() && !self.source_ended {
            let space = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.source.read(space) {
                Ok(0) => self.source_ended = true,
                Ok(count) => self.end = self.end.saturating_add(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::Io { op: "read", source }),
            }
        }
        Ok(true)
    }

    /// Compares the digest; only whitespace may be left before it.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.consume_whitespace()?;
        while self.refill()? {
            self.consume_whitespace()?;
        }
        self.hash_consumed();
        let stored = self.buffer.get(self.start..self.end).unwrap_or_default();
        let digest: [u8; DIGEST_BYTES] = std::mem::take(&mut self.digest).finalize().into();
        match stored {
            stored if stored.len() != DIGEST_BYTES => Err(Error::truncated(
                "the 32 bytes of SHA-256 behind the JSON are not there: the file was cut off",
            )),
            stored if stored != digest => Err(Error::Checksum(
                "the SHA-256 behind the JSON is not that of its bytes".into(),
            )),
            _ => Ok(()),
        }
    }

    fn consume_whitespace(&mut self) -> Result<()> {
        let json = self.json();
        if let Some(byte) = json.iter().find(|byte| !byte.is_ascii_whitespace()) {
            return Err(Error::corrupt(format!(
                "JSON: byte {byte:#04x} behind the end of the array"
            )));
        }
        self.consume(json.len());
        Ok(())
    }

    fn hash_consumed(&mut self) {
        self.digest
            .update(self.buffer.get(..self.start).unwrap_or_default());
        self.base = self.base.saturating_add(self.start as u64);
    }

    fn drop_consumed(&mut self) {
        self.hash_consumed();
        self.buffer.copy_within(self.start..self.end, 0);
        self.end = self.end.saturating_sub(self.start);
        self.start = 0;
    }

    fn grow(&mut self) -> Result<()> {
        if self.buffer.len() >= WINDOW_BYTES_MAX {
            return Err(Error::Unsupported(format!(
                "an event takes more than {WINDOW_BYTES_MAX} bytes of JSON at byte {}",
                self.position()
            )));
        }
        let bytes = self.buffer.len().saturating_mul(2).min(WINDOW_BYTES_MAX);
        self.buffer.resize(bytes, 0);
        Ok(())
    }
}
