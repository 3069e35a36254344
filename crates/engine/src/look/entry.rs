//! One change of one key on its way to the answer.
//!
//! ```text
//! main i64 | sub i64 | create i64 | version i64 | lease i64 | arrived i64 | page u64 | source u32
//! | key length u32 | value length u32 | sides u8 | tombstone u8 | zero u16          72 bytes, little-endian; then key, value
//! ```

use crate::{Error, Result};

pub(crate) const HEAD_BYTES: usize = 72;

/// Everything but key and value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub main: i64,
    pub sub: i64,
    pub create: i64,
    pub version: i64,
    pub lease: i64,
    /// Unix milliseconds; [`super::NO_TIME`] where nobody knows.
    pub arrived_ms: i64,
    /// The entry counts if this page of its source is live; 0: it counts.
    pub page: u64,
    /// Number that the caller gave the object.
    pub source: u32,
    pub key_bytes: u32,
    pub value_bytes: u32,
    /// States that the change may belong to: `query::FROM`, `query::TO`.
    pub sides: u8,
    pub tombstone: bool,
}

/// An entry with key and value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub head: Head,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

impl Entry<'_> {
    /// Lengths are taken from key and value.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        let head = Head {
            key_bytes: length(self.key)?,
            value_bytes: length(self.value)?,
            ..self.head
        };
        out.extend_from_slice(&head.encode());
        out.extend_from_slice(self.key);
        out.extend_from_slice(self.value);
        Ok(())
    }
}

fn length(bytes: &[u8]) -> Result<u32> {
    u32::try_from(bytes.len())
        .map_err(|_| Error::Unsupported(format!("a key or value of {} bytes", bytes.len())))
}

impl Head {
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        let longs = [
            self.main,
            self.sub,
            self.create,
            self.version,
            self.lease,
            self.arrived_ms,
            self.page.cast_signed(),
        ];
        let words = [self.source, self.key_bytes, self.value_bytes];
        let marks = [self.sides, u8::from(self.tombstone)];
        let fields = longs
            .iter()
            .flat_map(|long| long.to_le_bytes())
            .chain(words.iter().flat_map(|word| word.to_le_bytes()))
            .chain(marks);
        out.iter_mut().zip(fields).for_each(|(to, from)| *to = from);
        out
    }

    /// What `encode` wrote; `None` when there are too few bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEAD_BYTES] = bytes.first_chunk()?;
        let long = |at: usize| Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let [.., sides, tombstone, _, _] = *bytes;
        Some(Self {
            main: long(0)?,
            sub: long(8)?,
            create: long(16)?,
            version: long(24)?,
            lease: long(32)?,
            arrived_ms: long(40)?,
            page: long(48)?.cast_unsigned(),
            source: word(56)?,
            key_bytes: word(60)?,
            value_bytes: word(64)?,
            sides,
            tombstone: tombstone != 0,
        })
    }

    pub fn revision(&self) -> (i64, i64) {
        (self.main, self.sub)
    }

    /// Bytes of key and value, which follow the head.
    pub fn body_bytes(&self) -> u64 {
        u64::from(self.key_bytes) + u64::from(self.value_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_as_it_went() {
        let head = Head {
            main: 7,
            sub: 1,
            create: 2,
            version: 3,
            lease: -4,
            arrived_ms: i64::MIN,
            page: u64::MAX,
            source: 9,
            key_bytes: 10,
            value_bytes: u32::MAX,
            sides: 3,
            tombstone: true,
        };
        assert_eq!(Head::decode(&head.encode()), Some(head));
        assert_eq!(Head::decode(&[0; 71]), None);
    }
}
