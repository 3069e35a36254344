use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

/// A SHA-256.
pub type Sha256Digest = [u8; 32];

/// Length of the digest that `etcdctl snapshot save` appends.
pub const TRAILER_BYTES: usize = 32;

/// The snapshot's file length modulo this is [`TRAILER_BYTES`] when a trailer is there (page sizes are multiples).
const SECTOR_BYTES: u64 = 512;

/// What stands at the end of a plain snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trailer {
    /// The last 32 bytes are the SHA-256 of all before them.
    Good,
    /// The length has no room for one: a database copied from a data directory.
    Missing,
    /// 32 bytes are there, and they are not the digest.
    Wrong,
}

/// SHA-256 over all but the last 32 bytes written so far, whatever the sizes of the writes.
pub struct TailDigest {
    hasher: Sha256,
    tail: Vec<u8>,
    bytes: u64,
}

impl Default for TailDigest {
    fn default() -> Self {
        Self {
            hasher: Sha256::new(),
            tail: Vec::with_capacity(2 * TRAILER_BYTES),
            bytes: 0,
        }
    }
}

impl TailDigest {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        let keep_from = bytes.len().saturating_sub(TRAILER_BYTES);
        let (body, end) = bytes.split_at(keep_from);
        if !body.is_empty() {
            self.hasher.update(&self.tail);
            self.tail.clear();
            self.hasher.update(body);
        }
        self.tail.extend_from_slice(end);
        let ready = self.tail.len().saturating_sub(TRAILER_BYTES);
        if ready > 0 {
            self.hasher.update(self.tail.drain(..ready).as_slice());
        }
    }

    /// Bytes taken, the tail included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The last bytes taken, at most 32.
    #[must_use]
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// Digest of the database (all bytes but a good or wrong trailer) and what the trailer is.
    #[must_use]
    pub fn finish(self) -> (Sha256Digest, Trailer) {
        let mut hasher = self.hasher;
        if self.bytes % SECTOR_BYTES != TRAILER_BYTES as u64 {
            hasher.update(&self.tail);
            return (hasher.finalize().into(), Trailer::Missing);
        }
        let digest: Sha256Digest = hasher.finalize().into();
        let trailer = if digest.as_slice() == self.tail {
            Trailer::Good
        } else {
            Trailer::Wrong
        };
        (digest, trailer)
    }
}

/// A writer that counts and digests what passes.
pub struct HashingWriter<W> {
    inner: W,
    hasher: Sha256,
    bytes: u64,
}

impl<W: Write> HashingWriter<W> {
    /// Wraps `inner`.
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            hasher: Sha256::new(),
            bytes: 0,
        }
    }

    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The inner writer, the count and the digest.
    pub fn into_parts(self) -> (W, u64, Sha256Digest) {
        (self.inner, self.bytes, self.hasher.finalize().into())
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buf)?;
        if let Some(done) = buf.get(..written) {
            self.hasher.update(done);
        }
        self.bytes = self.bytes.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A reader that counts and digests what passes.
pub struct HashingReader<R> {
    inner: R,
    hasher: Sha256,
    bytes: u64,
}

impl<R: Read> HashingReader<R> {
    /// Wraps `inner`.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            hasher: Sha256::new(),
            bytes: 0,
        }
    }

    /// Count and digest of what was read.
    pub fn finish(self) -> (u64, Sha256Digest) {
        (self.bytes, self.hasher.finalize().into())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        if let Some(done) = buf.get(..count) {
            self.hasher.update(done);
        }
        self.bytes = self.bytes.saturating_add(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn snapshot(body: &[u8]) -> Vec<u8> {
        let mut all = body.to_vec();
        all.extend_from_slice(&Sha256::digest(body));
        all
    }

    proptest! {
        #[test]
        fn trailer_is_found_whatever_the_cuts(cuts in prop::collection::vec(0usize..1056, 0..40)) {
            let all = snapshot(&[7u8; 1024]);
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut digest = TailDigest::default();
            let mut from = 0;
            for cut in cuts.into_iter().chain([all.len()]) {
                digest.update(&all[from..cut]);
                from = cut;
            }
            prop_assert_eq!(digest.bytes(), 1056);
            let (sha, trailer) = digest.finish();
            prop_assert_eq!(trailer, Trailer::Good);
            prop_assert_eq!(&sha[..], &all[1024..]);
        }
    }

    #[test]
    fn wrong_and_missing_trailers_are_told_apart() {
        let mut wrong = snapshot(&[1u8; 512]);
        wrong[3] ^= 1;
        let mut digest = TailDigest::default();
        digest.update(&wrong);
        assert_eq!(digest.finish().1, Trailer::Wrong);

        let mut digest = TailDigest::default();
        digest.update(&[1u8; 512]);
        let (sha, trailer) = digest.finish();
        assert_eq!(trailer, Trailer::Missing);
        assert_eq!(sha.as_slice(), Sha256::digest([1u8; 512]).as_slice());
    }
}
