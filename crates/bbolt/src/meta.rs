//! The meta page: 64 bytes behind a page header, two copies, the valid one with the higher txid counts.

use crate::le::{u32_at, u64_at};
use crate::page::{self, PAGE_HEADER_BYTES, PageHeader};

const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;
const CHECKED_BYTES: usize = 56;
/// Header and meta together.
pub(crate) const META_PAGE_BYTES: usize = PAGE_HEADER_BYTES + 64;
/// Freelist field of a file that does not store its freelist.
pub(crate) const NO_FREELIST: u64 = u64::MAX;
/// bbolt looks for a second meta at 1 KiB << 0..14; smaller pages cannot hold what the format needs.
pub(crate) const MIN_PAGE_BYTES: u32 = 1 << 10;
pub(crate) const MAX_PAGE_BYTES: u32 = 1 << 24;

/// What the valid meta page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Bytes per page.
    pub page_size: u32,
    /// Root page of the bucket of buckets.
    pub root: u64,
    /// Sequence of the bucket of buckets.
    pub sequence: u64,
    /// Page of the freelist; all ones when it is not stored.
    pub freelist: u64,
    /// First page that was never allocated.
    pub high_water: u64,
    /// Transaction number.
    pub txid: u64,
}

impl Meta {
    /// Whether the file stores its freelist.
    #[must_use]
    pub fn has_freelist(&self) -> bool {
        self.freelist != NO_FREELIST
    }

    /// Decodes a meta page (header included); `Err` says what is wrong in bbolt's order of tests.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some(body) = bytes.get(PAGE_HEADER_BYTES..META_PAGE_BYTES) else {
            return Err("the file is too small for a meta page".to_owned());
        };
        let word = |at| u32_at(body, at).unwrap_or(0);
        let long = |at| u64_at(body, at).unwrap_or(0);
        if word(0) != MAGIC {
            return Err(format!("magic is {:08x}, expected {MAGIC:08x}", word(0)));
        }
        if word(4) != VERSION {
            return Err(format!("version is {}, expected {VERSION}", word(4)));
        }
        let sum = fnv1a(body.get(..CHECKED_BYTES).unwrap_or_default());
        if long(CHECKED_BYTES) != sum {
            return Err(format!(
                "checksum is {:016x}, computed {sum:016x}",
                long(CHECKED_BYTES)
            ));
        }
        let page_size = word(8);
        if !page_size.is_power_of_two() || !(MIN_PAGE_BYTES..=MAX_PAGE_BYTES).contains(&page_size) {
            return Err(format!(
                "page size is {page_size}, expected a power of two from {MIN_PAGE_BYTES} to {MAX_PAGE_BYTES}"
            ));
        }
        Ok(Self {
            page_size,
            root: long(16),
            sequence: long(24),
            freelist: long(32),
            high_water: long(40),
            txid: long(48),
        })
    }

    /// Header and body for page `id` (0 or 1).
    pub(crate) fn encode(&self, id: u64) -> Vec<u8> {
        let header = PageHeader {
            id,
            flags: page::META,
            count: 0,
            overflow: 0,
        };
        let mut bytes = header.encode().to_vec();
        let mut body = Vec::with_capacity(CHECKED_BYTES);
        for word in [MAGIC, VERSION, self.page_size, 0] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        for long in [
            self.root,
            self.sequence,
            self.freelist,
            self.high_water,
            self.txid,
        ] {
            body.extend_from_slice(&long.to_le_bytes());
        }
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&fnv1a(&body).to_le_bytes());
        bytes
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: Meta = Meta {
        page_size: 4096,
        root: 3,
        sequence: 0,
        freelist: NO_FREELIST,
        high_water: 4,
        txid: 7,
    };

    #[test]
    fn encoded_meta_decodes_to_itself() {
        let bytes = META.encode(0);
        assert_eq!(bytes.len(), META_PAGE_BYTES);
        assert_eq!(Meta::decode(&bytes), Ok(META));
    }

    #[test]
    fn each_flipped_byte_is_noticed() {
        for at in PAGE_HEADER_BYTES..META_PAGE_BYTES {
            let mut bytes = META.encode(1);
            bytes[at] ^= 0x40;
            assert!(Meta::decode(&bytes).is_err(), "byte {at}");
        }
    }

    #[test]
    fn odd_page_sizes_are_refused() {
        for page_size in [0, 7, 512, 4097, 1 << 25, u32::MAX] {
            assert!(
                Meta::decode(&Meta { page_size, ..META }.encode(0)).is_err(),
                "{page_size}"
            );
        }
    }
}
