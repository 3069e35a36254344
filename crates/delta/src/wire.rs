//! The pieces of the protobuf wire format that this crate uses, with its errors.

pub(crate) use etcd_data::proto::{
    Fields, put_bytes_field, put_varint, put_varint_field, take_varint, varint_len,
};

use crate::error::{Error, Result};
use etcd_data::proto::ProtoError;

/// Names the message in a wire error.
pub(crate) fn in_message(message: &'static str) -> impl Fn(ProtoError) -> Error {
    move |error| match error {
        ProtoError::Truncated => Error::truncated(format!("{message}: {error}")),
        _ => Error::corrupt(format!("{message}: {error}")),
    }
}

/// Takes a length varint and that many bytes off the front of `bytes`.
#[inline]
pub(crate) fn take_delimited<'a>(bytes: &mut &'a [u8], message: &'static str) -> Result<&'a [u8]> {
    let mut rest = *bytes;
    let length = take_varint(&mut rest).map_err(in_message(message))?;
    let taken = usize::try_from(length)
        .ok()
        .and_then(|length| rest.split_at_checked(length));
    let (head, tail) = taken.ok_or_else(|| {
        Error::truncated(format!(
            "{message}: {length} bytes announced, {} left",
            rest.len()
        ))
    })?;
    *bytes = tail;
    Ok(head)
}

/// Maps a signed difference to a small unsigned number: 0, -1, 1, -2 become 0, 1, 2, 3.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The inverse of [`zigzag`].
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Reads fixed-width little-endian numbers off the front of a slice.
pub(crate) struct LittleEndian<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> LittleEndian<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or_else(|| {
            Error::truncated(format!(
                "{}: {N} bytes expected, {} left",
                self.what,
                self.rest.len()
            ))
        })?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn zigzag_survives_the_round_trip(value: i64) {
            prop_assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    #[test]
    fn a_length_beyond_the_end_is_refused_before_use() {
        let mut bytes: &[u8] = b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01ab";
        assert_eq!(
            take_delimited(&mut bytes, "event").unwrap_err().code(),
            "TRUNCATED"
        );
        let mut bytes: &[u8] = b"\x02abc";
        assert_eq!(take_delimited(&mut bytes, "event").unwrap(), b"ab");
        assert_eq!(bytes, b"c");
    }
}
