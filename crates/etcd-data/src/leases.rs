//! The `lease` bucket: `lease id u64 BE` -> `leasepb.Lease{1 ID, 2 TTL, 3 RemainingTTL}` (int64 varints, zeros left out).

use bbolt::Db;

use crate::error::{Error, Result};
use crate::proto::{Fields, ProtoError, put_varint_field};

/// The bucket's name.
pub const LEASE_BUCKET: &[u8] = b"lease";
/// Most leases that are held in memory at once: 8 bytes each.
pub const MAX_LEASES: usize = 4_000_000;

/// One granted lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Never 0.
    pub id: i64,
    /// Granted time to live, seconds.
    pub ttl_seconds: i64,
    /// Left at the last checkpoint, seconds; 0 when there was none.
    pub remaining_ttl_seconds: i64,
}

impl Lease {
    /// A lease as the server stores it after a grant.
    #[must_use]
    pub fn granted(id: i64, ttl_seconds: i64) -> Self {
        Lease {
            id,
            ttl_seconds,
            remaining_ttl_seconds: 0,
        }
    }

    /// The record's key.
    #[must_use]
    pub fn key(&self) -> [u8; 8] {
        self.id.to_be_bytes()
    }

    /// The record's value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (field, number) in [
            (1, self.id),
            (2, self.ttl_seconds),
            (3, self.remaining_ttl_seconds),
        ] {
            if number != 0 {
                put_varint_field(&mut out, field, number.cast_unsigned());
            }
        }
        out
    }

    /// Reads a record's value.
    pub fn decode(value: &[u8]) -> Result<Self, ProtoError> {
        let mut lease = Lease::granted(0, 0);
        let mut fields = Fields::new(value);
        while let Some((field, value)) = fields.next_field()? {
            match field {
                1 => lease.id = value.int64(field)?,
                2 => lease.ttl_seconds = value.int64(field)?,
                3 => lease.remaining_ttl_seconds = value.int64(field)?,
                _ => {}
            }
        }
        Ok(lease)
    }
}

/// Calls `each` for every lease, ascending by the bytes of its id.
pub fn for_each_lease(db: &Db, each: &mut dyn FnMut(Lease) -> Result<()>) -> Result<()> {
    let Some(bucket) = db.bucket(LEASE_BUCKET)? else {
        return Ok(());
    };
    let mut scan = bucket.scan()?;
    while let Some((key, value)) = scan.next()? {
        let lease =
            Lease::decode(value).map_err(|e| Error::corrupt(format!("lease {}: {e}", hex(key))))?;
        if lease.key() != key {
            return Err(Error::corrupt(format!(
                "lease {}: its record is about lease {:016x}",
                hex(key),
                lease.id
            )));
        }
        each(lease)?;
    }
    Ok(())
}

/// All lease ids, sorted as numbers.
pub fn lease_ids(db: &Db) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    for_each_lease(db, &mut |lease| {
        if ids.len() >= MAX_LEASES {
            return Err(Error::Unsupported {
                what: format!("lease bucket: more than {MAX_LEASES} leases"),
            });
        }
        ids.push(lease.id);
        Ok(())
    })?;
    ids.sort_unstable();
    Ok(ids)
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_as_the_server_writes_it() {
        let lease = Lease::granted(0x7fff_ffff_ffff_fff0, 600);
        assert_eq!(
            lease.encode(),
            b"\x08\xF0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\x10\xD8\x04"
        );
        assert_eq!(Lease::decode(&lease.encode()), Ok(lease));
        assert_eq!(Lease::decode(b"\x08"), Err(ProtoError::Truncated));
    }
}
