//! Values of the `key` bucket: `mvccpb.KeyValue`.
//!
//! `1 key bytes | 2 create_revision | 3 mod_revision | 4 version (varints) | 5 value bytes | 6 lease varint`,
//! ascending, zero fields left out: gogo and google marshal agree on these bytes. A tombstone is `{1 key}`. A value of
//! no bytes at all is the placeholder of `restore --bump-revision`.

use crate::proto::{Fields, ProtoError, put_bytes_field, put_varint_field};

/// A key-value pair that borrows from the record it was read from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyValueRef<'a> {
    /// The user's key.
    pub key: &'a [u8],
    /// Main revision of the put that created the key; 0 in a tombstone.
    pub create_revision: i64,
    /// Main revision of this change; 0 in a tombstone as stored.
    pub mod_revision: i64,
    /// Puts since the creation, this one included; 0 in a tombstone.
    pub version: i64,
    /// The user's value.
    pub value: &'a [u8],
    /// Lease that the key hangs on; 0 for none.
    pub lease: i64,
}

impl<'a> KeyValueRef<'a> {
    /// Reads a stored value. Unknown fields are passed over, a repeated field's last value counts, as in protobuf.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ProtoError> {
        let mut kv = KeyValueRef::default();
        let mut fields = Fields::new(bytes);
        while let Some((field, value)) = fields.next_field()? {
            match field {
                1 => kv.key = value.bytes(field)?,
                2 => kv.create_revision = value.int64(field)?,
                3 => kv.mod_revision = value.int64(field)?,
                4 => kv.version = value.int64(field)?,
                5 => kv.value = value.bytes(field)?,
                6 => kv.lease = value.int64(field)?,
                _ => {}
            }
        }
        Ok(kv)
    }

    /// Appends the bytes that etcd would store.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if !self.key.is_empty() {
            put_bytes_field(out, 1, self.key);
        }
        for (field, number) in [
            (2, self.create_revision),
            (3, self.mod_revision),
            (4, self.version),
        ] {
            put_int64(out, field, number);
        }
        if !self.value.is_empty() {
            put_bytes_field(out, 5, self.value);
        }
        put_int64(out, 6, self.lease);
    }

    /// The tombstone that a deletion of `key` stores.
    #[must_use]
    pub fn tombstone(key: &'a [u8]) -> Self {
        KeyValueRef {
            key,
            ..KeyValueRef::default()
        }
    }
}

fn put_int64(out: &mut Vec<u8>, field: u32, number: i64) {
    if number != 0 {
        put_varint_field(out, field, number.cast_unsigned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 0..200)
    }

    proptest! {
        #[test]
        fn a_key_value_survives_the_round_trip(
            key in any_bytes(), value in any_bytes(),
            create_revision: i64, mod_revision: i64, version: i64, lease: i64,
        ) {
            let kv = KeyValueRef { key: &key, create_revision, mod_revision, version, value: &value, lease };
            let mut bytes = Vec::new();
            kv.encode(&mut bytes);
            prop_assert_eq!(KeyValueRef::decode(&bytes), Ok(kv));
        }

        #[test]
        fn decoding_arbitrary_bytes_never_panics(bytes in any_bytes()) {
            let _ = KeyValueRef::decode(&bytes);
        }
    }

    #[test]
    fn bytes_as_etcd_writes_them() {
        let kv = KeyValueRef {
            key: b"a",
            create_revision: 2,
            mod_revision: 300,
            version: 1,
            value: b"",
            lease: -1,
        };
        let mut bytes = Vec::new();
        kv.encode(&mut bytes);
        assert_eq!(
            bytes,
            b"\x0A\x01a\x10\x02\x18\xAC\x02\x20\x01\x30\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
        );
        assert_eq!(KeyValueRef::decode(b""), Ok(KeyValueRef::default()));
        assert_eq!(
            KeyValueRef::decode(b"\x0A\x05a"),
            Err(ProtoError::Truncated)
        );
        assert_eq!(
            KeyValueRef::decode(b"\x08\x05"),
            Err(ProtoError::Mismatch(1))
        );
    }
}
