//! Trailer: the last 144 bytes, fixed, so that one ranged GET of the end tells what the file holds.

use crate::ebd::VERSION;
use crate::ebd::header::refuse_other_version;
use crate::error::{Error, Result};
use crate::wire::LittleEndian;

/// Bytes of the trailer, digest included.
pub const TRAILER_BYTES: usize = 144;
/// Bytes of the SHA-256 at the very end.
pub(crate) const DIGEST_BYTES: usize = 32;

const MAGIC: [u8; 8] = *b"EBDTRAIL";
/// Bytes that the trailer's own checksum covers.
const CHECKED_BYTES: usize = 100;

/// What a finished file says of itself at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Byte at which the index section begins.
    pub index_offset: u64,
    /// Byte at which the lease section begins; 0 when there is none.
    pub leases_offset: u64,
    /// Byte at which the last block's section begins.
    pub last_block_offset: u64,
    /// Blocks in the file.
    pub blocks: u64,
    /// Events in the file.
    pub events: u64,
    /// Bytes of all events, uncompressed, with their lengths.
    pub event_bytes: u64,
    /// First main revision.
    pub first_revision: i64,
    /// Last main revision; complete.
    pub last_revision: i64,
    /// Arrival of the first event, Unix milliseconds.
    pub first_time_ms: i64,
    /// Arrival of the last event, Unix milliseconds.
    pub last_time_ms: i64,
    /// Most events that one main revision has: what `--max-txn-ops` of a replaying etcd must allow.
    pub revision_events_max: u64,
    /// Most event bytes that one main revision has: what `--max-request-bytes` must allow.
    pub revision_bytes_max: u64,
}

/// The end of a file: trailer and digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// The trailer.
    pub trailer: Trailer,
    /// SHA-256 of every byte before it.
    pub digest: [u8; 32],
}

impl Trailer {
    /// The trailer without its digest.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(TRAILER_BYTES);
        let numbers = [
            self.index_offset,
            self.leases_offset,
            self.last_block_offset,
            self.blocks,
            self.events,
            self.event_bytes,
            self.first_revision.cast_unsigned(),
            self.last_revision.cast_unsigned(),
            self.first_time_ms.cast_unsigned(),
            self.last_time_ms.cast_unsigned(),
            self.revision_events_max,
            self.revision_bytes_max,
        ];
        for number in numbers {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out.extend_from_slice(&MAGIC);
        out
    }
}

impl Tail {
    /// Reads the last [`TRAILER_BYTES`] bytes of a file of `file_bytes` bytes.
    pub fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self> {
        let mut fields = LittleEndian::new(bytes, ".ebd trailer");
        if bytes.len() != TRAILER_BYTES {
            return Err(Error::truncated(format!(
                ".ebd trailer: {} bytes, expected {TRAILER_BYTES}",
                bytes.len()
            )));
        }
        let trailer = Trailer {
            index_offset: fields.u64()?,
            leases_offset: fields.u64()?,
            last_block_offset: fields.u64()?,
            blocks: fields.u64()?,
            events: fields.u64()?,
            event_bytes: fields.u64()?,
            first_revision: fields.i64()?,
            last_revision: fields.i64()?,
            first_time_ms: fields.i64()?,
            last_time_ms: fields.i64()?,
            revision_events_max: fields.u64()?,
            revision_bytes_max: fields.u64()?,
        };
        let version = fields.u16()?;
        let zero = fields.u16()?;
        let stored = fields.u32()?;
        if fields.array::<8>()? != MAGIC {
            return Err(Error::truncated(
                "the .ebd trailer is not there: the file was cut off, or its writer was killed before it finished",
            ));
        }
        let crc = crc32c::crc32c(bytes.get(..CHECKED_BYTES).unwrap_or_default());
        if crc != stored {
            return Err(Error::Checksum(format!(
                ".ebd trailer: CRC32C is {crc:08x}, stored is {stored:08x}"
            )));
        }
        refuse_other_version(version)?;
        let digest = fields.array()?;
        if zero != 0 {
            return Err(Error::corrupt(".ebd trailer: a reserved field is set"));
        }
        trailer.check(file_bytes)?;
        Ok(Self { trailer, digest })
    }
}

impl Trailer {
    /// Compares the trailer's numbers with the file's length and with each other.
    fn check(&self, file_bytes: u64) -> Result<()> {
        let body = file_bytes.saturating_sub(TRAILER_BYTES as u64);
        let ordered = self.last_block_offset < self.index_offset
            && self.index_offset < body
            && (self.leases_offset == 0 || self.last_block_offset < self.leases_offset)
            && self.leases_offset < self.index_offset;
        let counted =
            0 < self.blocks && self.blocks <= self.events && self.events <= self.event_bytes;
        let revisions = 0 < self.first_revision && self.first_revision <= self.last_revision;
        if ordered && counted && revisions {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            ".ebd trailer: its numbers contradict each other or the file's {file_bytes} bytes"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_survives_the_round_trip_and_every_flip_is_seen() {
        let trailer = Trailer {
            index_offset: 900,
            leases_offset: 800,
            last_block_offset: 20,
            blocks: 1,
            events: 3,
            event_bytes: 99,
            first_revision: 5,
            last_revision: 6,
            first_time_ms: -1,
            last_time_ms: 7,
            revision_events_max: 2,
            revision_bytes_max: 60,
        };
        let mut bytes = trailer.encode();
        bytes.extend_from_slice(&[3; 32]);
        assert_eq!(bytes.len(), TRAILER_BYTES);
        assert_eq!(
            Tail::decode(&bytes, 2000).unwrap(),
            Tail {
                trailer,
                digest: [3; 32]
            }
        );
        for byte in 0..TRAILER_BYTES - DIGEST_BYTES {
            let mut flipped = bytes.clone();
            flipped[byte] ^= 0x10;
            assert!(Tail::decode(&flipped, 2000).is_err(), "byte {byte}");
        }
    }
}
