//! Revisions and the keys of the `key` bucket.
//!
//! Record key: `main u64 BE | 0x5F '_' | sub u64 BE` (17 bytes), and one more byte `0x74 't'` for a tombstone.
//! Bytewise order is (main, sub). One transaction is one main; sub counts its changes from 0.

use std::fmt;

/// Bytes of a plain revision key, and of `scheduledCompactRev` and `finishedCompactRev` in `meta`.
pub const REVISION_BYTES: usize = 17;
/// Bytes of a tombstone's key.
pub const TOMBSTONE_BYTES: usize = 18;

const SEPARATOR: u8 = b'_';
const TOMBSTONE_MARK: u8 = b't';

/// One change: the transaction's number and the change's place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision {
    /// The store's revision after the transaction.
    pub main: i64,
    /// 0-based place of the change within the transaction.
    pub sub: i64,
}

/// A record key's bytes, without an allocation: 17, or 18 of a tombstone.
#[derive(Debug, Clone, Copy)]
pub struct KeyBytes {
    bytes: [u8; TOMBSTONE_BYTES],
    tombstone: bool,
}

impl std::ops::Deref for KeyBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self.bytes.split_last() {
            Some((_, plain)) if !self.tombstone => plain,
            _ => &self.bytes,
        }
    }
}

/// A parsed key of the `key` bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordKey {
    /// The revision that the record belongs to.
    pub revision: Revision,
    /// Whether the record marks a deletion.
    pub tombstone: bool,
}

impl Revision {
    /// Builds a revision; nothing is checked.
    #[must_use]
    pub const fn new(main: i64, sub: i64) -> Self {
        Revision { main, sub }
    }

    /// The 17-byte key.
    #[must_use]
    pub fn to_key(self) -> [u8; REVISION_BYTES] {
        let mut key = [0; REVISION_BYTES];
        let (main, rest) = key.split_at_mut(8);
        main.copy_from_slice(&self.main.to_be_bytes());
        if let Some((separator, sub)) = rest.split_first_mut() {
            *separator = SEPARATOR;
            sub.copy_from_slice(&self.sub.to_be_bytes());
        }
        key
    }

    /// The 18-byte key of a tombstone.
    #[must_use]
    pub fn to_tombstone_key(self) -> [u8; TOMBSTONE_BYTES] {
        let mut key = [TOMBSTONE_MARK; TOMBSTONE_BYTES];
        if let Some(head) = key.get_mut(..REVISION_BYTES) {
            head.copy_from_slice(&self.to_key());
        }
        key
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.main, self.sub)
    }
}

impl RecordKey {
    /// Reads a record key. `None` when the bytes are not one: wrong length, separator, mark, or a negative number.
    #[must_use]
    pub fn parse(key: &[u8]) -> Option<Self> {
        let (main, rest) = key.split_first_chunk::<8>()?;
        let (&separator, rest) = rest.split_first()?;
        let (sub, tail) = rest.split_first_chunk::<8>()?;
        let revision = Revision {
            main: i64::from_be_bytes(*main),
            sub: i64::from_be_bytes(*sub),
        };
        let tombstone = match tail {
            [] => false,
            [TOMBSTONE_MARK] => true,
            _ => return None,
        };
        let sound = separator == SEPARATOR && revision.main >= 0 && revision.sub >= 0;
        sound.then_some(RecordKey {
            revision,
            tombstone,
        })
    }

    /// The key's bytes again, on the stack.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> KeyBytes {
        KeyBytes {
            bytes: self.revision.to_tombstone_key(),
            tombstone: self.tombstone,
        }
    }

    /// The key's bytes again.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        self.bytes().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_key_survives_the_round_trip(main in 0..=i64::MAX, sub in 0..=i64::MAX, tombstone: bool) {
            let key = RecordKey { revision: Revision::new(main, sub), tombstone };
            prop_assert_eq!(RecordKey::parse(&key.to_bytes()), Some(key));
        }

        #[test]
        fn bytes_that_parse_are_reproduced(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            if let Some(key) = RecordKey::parse(&bytes) {
                prop_assert_eq!(key.to_bytes(), bytes);
            }
        }

        #[test]
        fn order_of_bytes_is_order_of_revisions(a in (0..=i64::MAX, 0..=i64::MAX), b in (0..=i64::MAX, 0..=i64::MAX)) {
            let (a, b) = (Revision::new(a.0, a.1), Revision::new(b.0, b.1));
            prop_assert_eq!(a.to_key().cmp(&b.to_key()), a.cmp(&b));
        }
    }

    #[test]
    fn keys_as_etcd_writes_them() {
        assert_eq!(
            Revision::new(2, 1).to_key(),
            *b"\0\0\0\0\0\0\0\x02_\0\0\0\0\0\0\0\x01"
        );
        assert_eq!(
            Revision::new(258, 0).to_tombstone_key(),
            *b"\0\0\0\0\0\0\x01\x02_\0\0\0\0\0\0\0\0t"
        );
        assert_eq!(
            RecordKey::parse(b"\0\0\0\0\0\0\0\x02-\0\0\0\0\0\0\0\x01"),
            None
        );
        assert_eq!(
            RecordKey::parse(b"\xFF\0\0\0\0\0\0\x02_\0\0\0\0\0\0\0\x01"),
            None
        );
        assert_eq!(
            RecordKey::parse(b"\0\0\0\0\0\0\0\x02_\0\0\0\0\0\0\0\x01u"),
            None
        );
    }
}
