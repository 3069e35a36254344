//! Index: one entry per block, so that a reader of the end alone knows which block holds which revisions.

use crate::ebd::BlockHead;
use crate::error::{Error, Result};
use crate::wire::LittleEndian;

pub(crate) const INDEX_ENTRY_BYTES: usize = 40;

/// Where a block is and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry {
    /// Byte of the file at which the block's section begins.
    pub offset: u64,
    /// Main revision of the first event.
    pub first_revision: i64,
    /// Main revision of the last event.
    pub last_revision: i64,
    /// Sub-revision of the first event.
    pub first_sub: u64,
    /// Events in the block.
    pub events: u32,
}

impl IndexEntry {
    pub(crate) fn of(offset: u64, head: &BlockHead) -> Self {
        Self {
            offset,
            first_revision: head.first_revision,
            last_revision: head.last_revision,
            first_sub: head.first_sub,
            events: head.events,
        }
    }

    pub(crate) fn encode(&self) -> [u8; INDEX_ENTRY_BYTES] {
        let mut out = [0; INDEX_ENTRY_BYTES];
        let fields = [
            self.offset,
            self.first_revision.cast_unsigned(),
            self.last_revision.cast_unsigned(),
            self.first_sub,
            u64::from(self.events),
        ];
        for (place, field) in out.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        out
    }

    /// Reads the body of an index section, as a ranged GET would return it.
    pub fn decode_all(body: &[u8]) -> Result<Vec<Self>> {
        if !body.len().is_multiple_of(INDEX_ENTRY_BYTES) {
            return Err(Error::corrupt(format!(
                ".ebd index of {} bytes is not a whole number of entries",
                body.len()
            )));
        }
        body.chunks_exact(INDEX_ENTRY_BYTES)
            .map(Self::decode)
            .collect()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut fields = LittleEndian::new(bytes, ".ebd index");
        Ok(Self {
            offset: fields.u64()?,
            first_revision: fields.i64()?,
            last_revision: fields.i64()?,
            first_sub: fields.u64()?,
            events: fields.u32()?,
        })
    }
}
