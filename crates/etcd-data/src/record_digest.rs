//! One digest over a run of `key` bucket records, taken alike from deltas while they are replayed and from the
//! database that the replay made.
//!
//! SHA-256 over, per record in bucket order: `record key (17 or 18 bytes) | value length u32 LE | value`.

use sha2::{Digest, Sha256};

/// State of a record after any number of records; cheap to copy for a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct RecordDigest {
    sha: Sha256,
    records: u64,
}

impl RecordDigest {
    /// Nothing fed yet.
    #[must_use]
    pub fn new() -> Self {
        RecordDigest::default()
    }

    /// Feeds one record. etcd values are below 2^31 bytes, so the length always fits.
    pub fn update(&mut self, key: &[u8], value: &[u8]) {
        self.sha.update(key);
        self.sha.update((value.len() as u32).to_le_bytes());
        self.sha.update(value);
        self.records = self.records.saturating_add(1);
    }

    /// The digest of everything fed so far; feeding may go on.
    #[must_use]
    pub fn checkpoint(&self) -> [u8; 32] {
        self.sha.clone().finalize().into()
    }

    /// Records fed so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_does_not_end_the_digest() {
        let mut halves = RecordDigest::new();
        halves.update(b"k1", b"v1");
        let first = halves.checkpoint();
        halves.update(b"k2", b"");
        let mut whole = Sha256::new();
        whole.update(b"k1\x02\0\0\0v1");
        let expected_first: [u8; 32] = whole.clone().finalize().into();
        whole.update(b"k2\0\0\0\0");
        let expected: [u8; 32] = whole.finalize().into();
        assert_eq!(
            (first, halves.checkpoint(), halves.records()),
            (expected_first, expected, 2)
        );
    }

    #[test]
    fn the_length_separates_key_from_value() {
        let (mut a, mut b) = (RecordDigest::new(), RecordDigest::new());
        a.update(b"ab", b"c");
        b.update(b"a", b"bc");
        assert_ne!(a.checkpoint(), b.checkpoint());
    }
}
