//! `etcdserverpb.SnapshotResponse`: 1 header, 2 remaining_bytes (varint), 3 blob (bytes), 4 version (string).

use crate::{Error, Result};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct SnapshotResponse<'a> {
    pub remaining_bytes: u64,
    pub blob: &'a [u8],
}

/// Parses one message; unknown fields are skipped.
pub fn parse(message: &[u8]) -> Result<SnapshotResponse<'_>> {
    let mut rest = message;
    let mut response = SnapshotResponse::default();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        match tag {
            0x10 => response.remaining_bytes = varint(&mut rest)?,
            0x1a => response.blob = bytes(&mut rest)?,
            _ => skip(tag & 7, &mut rest)?,
        }
    }
    Ok(response)
}

fn malformed() -> Error {
    Error::Corrupt("a message of the snapshot stream is not a SnapshotResponse".to_owned())
}

fn varint(rest: &mut &[u8]) -> Result<u64> {
    let mut value: u64 = 0;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first().ok_or_else(malformed)?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(malformed())
}

fn bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::try_from(varint(rest)?).map_err(|_| malformed())?;
    let (value, tail) = rest.split_at_checked(length).ok_or_else(malformed)?;
    *rest = tail;
    Ok(value)
}

fn skip(wire_type: u64, rest: &mut &[u8]) -> Result<()> {
    let fixed = match wire_type {
        0 => return varint(rest).map(|_| ()),
        2 => return bytes(rest).map(|_| ()),
        1 => 8,
        5 => 4,
        _ => return Err(malformed()),
    };
    *rest = rest.split_at_checked(fixed).ok_or_else(malformed)?.1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_read_and_unknown_ones_skipped() {
        let message = [
            0x0a, 2, 8, 1, 0x10, 0xac, 0x02, 0x1a, 3, b'a', b'b', b'c', 0x22, 1, b'3', 0x2d, 1, 2,
            3, 4,
        ];
        let parsed = parse(&message).unwrap();
        assert_eq!(
            parsed,
            SnapshotResponse {
                remaining_bytes: 300,
                blob: b"abc"
            }
        );
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_verdict(message in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&message);
        }
    }
}
