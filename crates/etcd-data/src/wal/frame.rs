//! Frames and their types, for reader and writer.
//!
//! The length's low 56 bits are the record's bytes; its top byte is `0x80 | pad` when a pad of 1 to 7 zeros follows.

use crate::proto::{Fields, ProtoError, put_bytes_field, put_varint_field};

/// Member and cluster id.
pub const METADATA: u64 = 1;
/// One entry of the raft log.
pub const ENTRY: u64 = 2;
/// Raft's term, vote and commit index.
pub const STATE: u64 = 3;
/// The crc so far; begins each file.
pub const CRC: u64 = 4;
/// A raft snapshot was saved.
pub const SNAPSHOT: u64 = 5;

/// Bytes of the length before each record.
pub const LENGTH_BYTES: u64 = 8;
const RECORD_MASK: u64 = (1 << 56) - 1;
const PADDED: u64 = 1 << 63;

/// What the length field says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLength {
    /// Bytes of the record.
    pub record: u64,
    /// Zeros behind it.
    pub pad: u64,
}

impl FrameLength {
    /// Reads the field as etcd does: any length can be padded, and no pad is asked to be the right one.
    #[must_use]
    pub fn decode(field: u64) -> Self {
        FrameLength {
            record: field & RECORD_MASK,
            pad: if field & PADDED == 0 {
                0
            } else {
                (field >> 56) & 7
            },
        }
    }

    /// The field for a record of that many bytes.
    #[must_use]
    pub fn encode(record_bytes: u64) -> (u64, u64) {
        let pad = record_bytes.wrapping_neg() % 8;
        let flag = if pad == 0 { 0 } else { (0x80 | pad) << 56 };
        (record_bytes | flag, pad)
    }
}

/// One record; absent fields are zero, as etcd reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record<'a> {
    /// See the constants above.
    pub kind: u64,
    /// CRC32C over the data of all records up to this one.
    pub crc: u32,
    /// A message by kind.
    pub data: &'a [u8],
}

impl<'a> Record<'a> {
    /// Decodes a `walpb.Record`.
    pub fn decode(message: &'a [u8]) -> Result<Self, ProtoError> {
        let mut record = Record::default();
        let mut fields = Fields::new(message);
        while let Some((field, value)) = fields.next_field()? {
            match field {
                1 => record.kind = value.varint(1)?,
                2 => record.crc = (value.varint(2)? & u64::from(u32::MAX)) as u32,
                3 => record.data = value.bytes(3)?,
                _ => {}
            }
        }
        Ok(record)
    }
}

/// Appends a frame; a crc record has no data field at all.
pub fn put_frame(out: &mut Vec<u8>, kind: u64, crc: u32, data: Option<&[u8]>) {
    let mut record = Vec::new();
    put_varint_field(&mut record, 1, kind);
    put_varint_field(&mut record, 2, u64::from(crc));
    if let Some(data) = data {
        put_bytes_field(&mut record, 3, data);
    }
    let (length, pad) = FrameLength::encode(record.len() as u64);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&record);
    out.extend((0..pad).map(|_| 0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_frame_survives_the_round_trip(kind in 0..6u64, crc: u32, data: Option<Vec<u8>>) {
            let mut bytes = Vec::new();
            put_frame(&mut bytes, kind, crc, data.as_deref());
            prop_assert_eq!(bytes.len() % 8, 0);
            let (field, rest) = bytes.split_first_chunk::<8>().unwrap();
            let length = FrameLength::decode(u64::from_le_bytes(*field));
            prop_assert_eq!(length.record + length.pad, rest.len() as u64);
            let record = Record::decode(&rest[..length.record as usize]).unwrap();
            prop_assert_eq!(record, Record { kind, crc, data: data.as_deref().unwrap_or_default() });
        }
    }
}
