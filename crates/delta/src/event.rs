//! `mvccpb.Event`: `1 type (0 PUT, 1 DELETE) | 2 kv KeyValue | 3 prev_kv (never asked for)`.
//!
//! A DELETE carries `kv {1 key, 3 mod_revision}`. Two depths: [`EventHead`] is what ordering needs, [`Change`] is what
//! replay and export need.

use crate::error::{Error, Result};
use crate::wire::{Fields, in_message, put_varint, put_varint_field, varint_len};
use etcd_data::kv::KeyValueRef;

/// Largest single event, bytes. etcd's own requests are limited to 1.5 MiB unless configured; gRPC to 2 GiB.
pub const EVENT_BYTES_MAX: usize = 512 << 20;

const MESSAGE: &str = "mvccpb.Event";

/// What an event does to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The key was written.
    Put,
    /// The key was deleted.
    Delete,
}

/// What ordering needs to know of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventHead {
    /// PUT or DELETE.
    pub kind: Kind,
    /// Main revision of the transaction; above 0.
    pub mod_revision: i64,
    /// Lease of a PUT; 0 for none.
    pub lease: i64,
}

/// A whole event that borrows from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// PUT or DELETE.
    pub kind: Kind,
    /// The pair as sent; of a DELETE only key and `mod_revision` count.
    pub kv: KeyValueRef<'a>,
}

impl EventHead {
    /// Reads the head of an event and checks what every event must have.
    #[inline]
    pub fn parse(event: &[u8]) -> Result<Self> {
        Change::parse(event).map(|change| change.head())
    }
}

impl<'a> Change<'a> {
    /// Reads an event and checks what every event must have: a known type, a key, a revision, and, in a PUT,
    /// a creation no later than the change and a version.
    #[inline]
    pub fn parse(event: &'a [u8]) -> Result<Self> {
        let mut kind = 0;
        let mut kv = None;
        let mut fields = Fields::new(event);
        while let Some((field, value)) = fields.next_field().map_err(in_message(MESSAGE))? {
            match field {
                1 => kind = value.varint(field).map_err(in_message(MESSAGE))?,
                2 => kv = Some(value.bytes(field).map_err(in_message(MESSAGE))?),
                _ => {}
            }
        }
        let kind = match kind {
            0 => Kind::Put,
            1 => Kind::Delete,
            other => {
                return Err(Error::Unsupported(format!(
                    "{MESSAGE}: event type {other} is neither PUT nor DELETE"
                )));
            }
        };
        let kv =
            kv.ok_or_else(|| Error::corrupt(format!("{MESSAGE}: it has no key-value pair")))?;
        let kv = KeyValueRef::decode(kv).map_err(in_message("mvccpb.KeyValue"))?;
        let change = Change { kind, kv };
        change.check()?;
        Ok(change)
    }

    /// The part that ordering needs.
    #[must_use]
    pub fn head(&self) -> EventHead {
        let lease = if self.kind == Kind::Put {
            self.kv.lease
        } else {
            0
        };
        EventHead {
            kind: self.kind,
            mod_revision: self.kv.mod_revision,
            lease,
        }
    }

    /// Checks what holds for every event that etcd sends.
    pub(crate) fn check(&self) -> Result<()> {
        let kv = &self.kv;
        if kv.key.is_empty() {
            return Err(Error::corrupt(format!(
                "{MESSAGE}: the event at revision {} has no key",
                kv.mod_revision
            )));
        }
        if kv.mod_revision <= 0 {
            return Err(Error::corrupt(format!(
                "{MESSAGE}: revision {} is not above 0",
                kv.mod_revision
            )));
        }
        let created = 0 < kv.create_revision && kv.create_revision <= kv.mod_revision;
        if self.kind == Kind::Put && !(created && kv.version > 0) {
            return Err(Error::corrupt(format!(
                "{MESSAGE}: PUT at revision {} says version {}, created at {}",
                kv.mod_revision, kv.version, kv.create_revision
            )));
        }
        Ok(())
    }

    /// The value that etcd stores for this change: the pair in canonical form, or a tombstone.
    pub fn record(&self, out: &mut Vec<u8>) {
        match self.kind {
            Kind::Put => self.kv.encode(out),
            Kind::Delete => KeyValueRef::tombstone(self.kv.key).encode(out),
        }
    }

    /// Appends the event as etcd would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if self.kind == Kind::Delete {
            put_varint_field(out, 1, 1);
        }
        put_varint(out, 2 << 3 | 2);
        put_varint(out, pair_len(&self.kv) as u64);
        self.kv.encode(out);
    }

    /// Bytes that [`Change::encode`] appends.
    pub(crate) fn encoded_len(&self) -> usize {
        let pair = pair_len(&self.kv);
        let kind = if self.kind == Kind::Delete { 2 } else { 0 };
        kind + 1 + varint_len(pair as u64) + pair
    }
}

/// Bytes that the canonical pair takes.
fn pair_len(kv: &KeyValueRef<'_>) -> usize {
    let bytes = |slice: &[u8]| {
        if slice.is_empty() {
            0
        } else {
            1 + varint_len(slice.len() as u64) + slice.len()
        }
    };
    let number = |number: i64| {
        if number == 0 {
            0
        } else {
            1 + varint_len(number.cast_unsigned())
        }
    };
    bytes(kv.key)
        + bytes(kv.value)
        + number(kv.create_revision)
        + number(kv.mod_revision)
        + number(kv.version)
        + number(kv.lease)
}

/// Appends an event behind its length, as blocks hold it.
pub(crate) fn put_delimited(out: &mut Vec<u8>, event: &[u8]) {
    put_varint(out, event.len() as u64);
    out.extend_from_slice(event);
}

/// Bytes of an event of `event_bytes` bytes together with its length.
pub(crate) fn delimited_len(event_bytes: usize) -> usize {
    varint_len(event_bytes as u64) + event_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_event_survives_the_round_trip(
            delete: bool, key in proptest::collection::vec(any::<u8>(), 1..60),
            value in proptest::collection::vec(any::<u8>(), 0..200),
            create in 1..i64::MAX, later in 0..1000i64, version in 1..i64::MAX, lease: i64,
        ) {
            let kind = if delete { Kind::Delete } else { Kind::Put };
            let mod_revision = create.saturating_add(later);
            let kv = KeyValueRef { key: &key, create_revision: create, mod_revision, version, value: &value, lease };
            let change = Change { kind, kv };
            let mut bytes = Vec::new();
            change.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), change.encoded_len());
            prop_assert_eq!(Change::parse(&bytes).unwrap(), change);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Change::parse(&bytes);
        }
    }

    #[test]
    fn a_deletion_stores_its_key_only() {
        let kv = KeyValueRef {
            key: b"k",
            mod_revision: 9,
            ..KeyValueRef::default()
        };
        let mut record = Vec::new();
        Change {
            kind: Kind::Delete,
            kv,
        }
        .record(&mut record);
        assert_eq!(record, b"\x0A\x01k");
    }

    #[test]
    fn what_no_etcd_sends_is_refused() {
        for bytes in [
            b"".as_slice(),
            b"\x12\x00",
            b"\x08\x02\x12\x03\x0A\x01k",
            b"\x12\x03\x0A\x01k",
            b"\x12\x05\x0A\x01k\x18\x05",
        ] {
            assert!(Change::parse(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(
            Change::parse(b"\x08\x02\x12\x05\x0A\x01k\x18\x05")
                .unwrap_err()
                .code(),
            "UNSUPPORTED"
        );
    }
}
