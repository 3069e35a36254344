//! A file read front to back by position, with a digest over what was read and a limit for every length.

use crate::ebd::SectionHead;
use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Reads a file front to back by position, digesting what it reads.
pub(crate) struct Input {
    file: File,
    offset: u64,
    /// Where sections must end.
    limit: u64,
    digest: Sha256,
}

/// Piece in which a body is read that nobody needs as a whole.
const PIECE_BYTES: usize = 64 << 10;

impl Input {
    pub(crate) fn new(file: File, limit: u64) -> Self {
        Self {
            file,
            offset: 0,
            limit,
            digest: Sha256::new(),
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.offset)
    }

    /// Moves the end, and thereby what may be read.
    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Continues reading elsewhere; the digest is then meaningless.
    pub(crate) fn seek(&mut self, offset: u64) {
        self.offset = offset;
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The digest of everything read so far; reading may go on.
    pub(crate) fn digest(&self) -> Sha256 {
        self.digest.clone()
    }

    /// Fills `out`; the bytes must lie before the limit.
    pub(crate) fn read(&mut self, out: &mut [u8], what: &str) -> Result<()> {
        self.must_hold(out.len(), what)?;
        self.file
            .read_exact_at(out, self.offset)
            .map_err(Error::io("read"))?;
        self.digest.update(&*out);
        self.offset += out.len() as u64;
        Ok(())
    }

    pub(crate) fn read_array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut out = [0; N];
        self.read(&mut out, what)?;
        Ok(out)
    }

    /// Reads `length` bytes into `out`, after comparing the length with what is left.
    pub(crate) fn read_vec(&mut self, length: usize, out: &mut Vec<u8>, what: &str) -> Result<()> {
        self.must_hold(length, what)?;
        // Cleared first: `resize` must not copy what is about to be overwritten.
        out.clear();
        out.resize(length, 0);
        self.read(out, what)
    }

    fn must_hold(&self, length: usize, what: &str) -> Result<()> {
        if length as u64 <= self.remaining() {
            return Ok(());
        }
        let (offset, left) = (self.offset, self.remaining());
        Err(Error::truncated(format!(
            "{what} at byte {offset}: {length} bytes announced, {left} left"
        )))
    }

    /// The next section's head, or `None` at the limit.
    pub(crate) fn next_head(&mut self) -> Result<Option<SectionHead>> {
        if self.remaining() == 0 {
            return Ok(None);
        }
        let head = SectionHead::decode(&self.read_array("section head")?)?;
        self.must_hold(head.body_bytes, "section body")?;
        Ok(Some(head))
    }

    /// Hands the body of a section to `each` in pieces and compares its checksum: for bodies of any size, and for
    /// sections of unknown kind.
    pub(crate) fn stream(&mut self, head: &SectionHead, mut each: impl FnMut(&[u8])) -> Result<()> {
        let offset = self.offset;
        let mut crc = head.crc_of_head;
        let mut left = head.body_bytes;
        let mut piece = Vec::new();
        while left > 0 {
            let taken = left.min(PIECE_BYTES);
            self.read_vec(taken, &mut piece, "section body")?;
            crc = crc32c::crc32c_append(crc, &piece);
            each(&piece);
            left -= taken;
        }
        head.check_crc(crc, offset)
    }
}
