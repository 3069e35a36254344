//! The few pieces of the protobuf wire format that etcd's records need, over slices, without panics.
//!
//! A message is a run of `tag varint | payload`; tag = field << 3 | wire type. Wire types: 0 varint,
//! 1 eight bytes, 2 length varint + bytes, 5 four bytes. Groups (3, 4) are not used by etcd and are refused.

/// Longest varint of a 64-bit number.
const MAX_VARINT_BYTES: usize = 10;

/// What is wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtoError {
    /// The bytes end inside a field.
    #[error("message ends inside a field")]
    Truncated,
    /// More than ten bytes, or more than 64 bits.
    #[error("varint is longer than 64 bits")]
    Varint,
    /// Field number 0, or beyond 2^29.
    #[error("field number {0} is not allowed")]
    FieldNumber(u64),
    /// Wire types 3, 4, 6, 7.
    #[error("wire type {0} is not used by etcd")]
    WireType(u8),
    /// The field is known, but carried by another wire type.
    #[error("field {0} has the wrong wire type")]
    Mismatch(u32),
}

/// One field's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2.
    Bytes(&'a [u8]),
    /// Wire type 5.
    Fixed32(u32),
}

impl<'a> Value<'a> {
    /// The payload of a varint field; `field` only names it in the error.
    pub fn varint(self, field: u32) -> Result<u64, ProtoError> {
        match self {
            Value::Varint(v) => Ok(v),
            _ => Err(ProtoError::Mismatch(field)),
        }
    }

    /// The payload of an int64 field: two's complement of the varint.
    pub fn int64(self, field: u32) -> Result<i64, ProtoError> {
        self.varint(field).map(u64::cast_signed)
    }

    /// The payload of a bytes, string or message field.
    pub fn bytes(self, field: u32) -> Result<&'a [u8], ProtoError> {
        match self {
            Value::Bytes(b) => Ok(b),
            _ => Err(ProtoError::Mismatch(field)),
        }
    }
}

/// Walks the fields of one message in the order of their bytes.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Starts at the first byte of a message.
    #[must_use]
    pub fn new(message: &'a [u8]) -> Self {
        Fields { rest: message }
    }

    /// The next field, or `None` at the end of the message.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<(u32, Value<'a>)>, ProtoError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = take_varint(&mut self.rest)?;
        let field = match u32::try_from(tag >> 3) {
            Ok(n) if n > 0 && n < 1 << 29 => n,
            _ => return Err(ProtoError::FieldNumber(tag >> 3)),
        };
        let value = match tag & 7 {
            0 => Value::Varint(take_varint(&mut self.rest)?),
            1 => Value::Fixed64(u64::from_le_bytes(take_array(&mut self.rest)?)),
            2 => {
                let len = take_varint(&mut self.rest)?;
                let len = usize::try_from(len).map_err(|_| ProtoError::Truncated)?;
                Value::Bytes(take(&mut self.rest, len)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(take_array(&mut self.rest)?)),
            other => return Err(ProtoError::WireType(other as u8)),
        };
        Ok(Some((field, value)))
    }
}

/// Takes one varint off the front of `bytes`.
#[inline]
pub fn take_varint(bytes: &mut &[u8]) -> Result<u64, ProtoError> {
    if let Some((&first, rest)) = bytes.split_first()
        && first < 0x80
    {
        *bytes = rest;
        return Ok(u64::from(first));
    }
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(MAX_VARINT_BYTES).enumerate() {
        let bits = u64::from(byte & 0x7F);
        if i == MAX_VARINT_BYTES - 1 && bits > 1 {
            return Err(ProtoError::Varint);
        }
        value |= bits << (7 * i);
        if byte < 0x80 {
            *bytes = bytes.get(i + 1..).unwrap_or_default();
            return Ok(value);
        }
    }
    Err(if bytes.len() < MAX_VARINT_BYTES {
        ProtoError::Truncated
    } else {
        ProtoError::Varint
    })
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8], ProtoError> {
    let (head, tail) = bytes.split_at_checked(len).ok_or(ProtoError::Truncated)?;
    *bytes = tail;
    Ok(head)
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], ProtoError> {
    take(bytes, N)?
        .try_into()
        .map_err(|_| ProtoError::Truncated)
}

/// Appends a bare varint.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a varint field, also when its value is zero.
pub fn put_varint_field(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Appends a bytes, string or message field, also when it is empty.
pub fn put_bytes_field(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes that a varint takes.
#[must_use]
pub fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_varint_survives_the_round_trip(value: u64, tail: Vec<u8>) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            prop_assert_eq!(bytes.len(), varint_len(value));
            bytes.extend_from_slice(&tail);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(take_varint(&mut rest), Ok(value));
            prop_assert_eq!(rest, tail.as_slice());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let mut fields = Fields::new(&bytes);
            for _ in 0..=bytes.len() {
                if !matches!(fields.next_field(), Ok(Some(_))) {
                    break;
                }
            }
        }
    }

    #[test]
    fn overlong_and_cut_varints_are_told_apart() {
        assert_eq!(
            take_varint(&mut [0xFF; 10].as_slice()),
            Err(ProtoError::Varint)
        );
        assert_eq!(
            take_varint(&mut [0xFF; 11].as_slice()),
            Err(ProtoError::Varint)
        );
        assert_eq!(
            take_varint(&mut [0xFF; 9].as_slice()),
            Err(ProtoError::Truncated)
        );
        assert_eq!(take_varint(&mut [].as_slice()), Err(ProtoError::Truncated));
        let max = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01];
        assert_eq!(take_varint(&mut max.as_slice()), Ok(u64::MAX));
    }
}
