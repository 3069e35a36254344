//! Small files in every shape, and hands to damage them with.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

pub mod verdict;

use bbolt::{Appender, Builder};
use std::path::{Path, PathBuf};

pub const NAME: &[u8] = b"key";

/// A 17-byte key as a store of revisions has them.
pub fn key(index: u64) -> Vec<u8> {
    let mut key = index.to_be_bytes().to_vec();
    key.push(b'_');
    key.extend_from_slice(&0_u64.to_be_bytes());
    key
}

pub fn put(to: &mut Appender, name: &[u8], indexes: std::ops::Range<u64>, value_bytes: usize) {
    to.replace_bucket(name, |records| {
        indexes
            .clone()
            .try_for_each(|index| records.put(&key(index), &vec![index as u8; value_bytes]))
    })
    .unwrap();
}

/// A tree of `records`, three inline buckets, one of them empty, and one bucket with overflow pages.
pub fn sample(dir: &Path, page_size: u32, records: u64) -> PathBuf {
    let path = dir.join(format!("sample-{page_size}-{records}"));
    let mut builder = Builder::create(&path, page_size).unwrap();
    put(&mut builder, b"alarm", 0..0, 0);
    put(&mut builder, b"cluster", 0..2, 5);
    put(&mut builder, NAME, 0..records, 60);
    put(&mut builder, b"large", 0..3, page_size as usize * 5 / 2);
    put(&mut builder, b"meta", 0..3, 9);
    builder.commit().unwrap();
    path
}

/// The bytes of a file, with the fields of the format by name.
pub struct Raw {
    pub bytes: Vec<u8>,
    pub page_bytes: usize,
}

impl Raw {
    pub fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let page_bytes = u32::from_le_bytes(bytes[24..28].try_into().unwrap()) as usize;
        Self { bytes, page_bytes }
    }

    /// A file of 4 KiB pages with a tree of three levels.
    pub fn sample(dir: &Path) -> Self {
        Self::read(&sample(dir, 1024, 900))
    }

    pub fn write(&self, dir: &Path) -> PathBuf {
        let path = dir.join("damaged");
        std::fs::write(&path, &self.bytes).unwrap();
        path
    }

    pub fn pages(&self) -> u64 {
        (self.bytes.len() / self.page_bytes) as u64
    }

    pub fn at(&self, page: u64, byte: usize) -> usize {
        page as usize * self.page_bytes + byte
    }

    pub fn u64(&self, page: u64, byte: usize) -> u64 {
        let at = self.at(page, byte);
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    pub fn u32(&self, page: u64, byte: usize) -> u32 {
        self.u64(page, byte) as u32
    }

    pub fn u16(&self, page: u64, byte: usize) -> u16 {
        self.u64(page, byte) as u16
    }

    pub fn set(&mut self, page: u64, byte: usize, bytes: &[u8]) {
        let at = self.at(page, byte);
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Sets a field of both metas and makes their checksums right again.
    pub fn set_metas(&mut self, byte: usize, value: u64) {
        for page in 0..2 {
            self.set(page, 16 + byte, &value.to_le_bytes());
            let sum = fnv1a(&self.bytes[self.at(page, 16)..self.at(page, 72)]);
            self.set(page, 72, &sum.to_le_bytes());
        }
    }

    /// Pages with these flags, overflow pages left out.
    pub fn with_flags(&self, flags: u16) -> Vec<u64> {
        let (mut found, mut page) = (Vec::new(), 2);
        while page < self.pages() {
            if self.u16(page, 8) == flags {
                found.push(page);
            }
            page += 1 + u64::from(self.u32(page, 12));
        }
        found
    }

    /// Leaves of the large tree, in key order.
    pub fn leaves(&self) -> Vec<u64> {
        let mut leaves = self.with_flags(2);
        leaves.retain(|leaf| {
            self.u16(*leaf, 10) > 3 && self.u32(*leaf, 16) == 0 && self.u32(*leaf, 12) == 0
        });
        leaves
    }

    /// Root of the large tree: its bucket is the third one.
    pub fn root(&self) -> u64 {
        let buckets = self.u64(0, 16 + 16);
        self.u64(buckets, self.leaf_key_at(buckets, 2) + NAME.len())
    }

    /// Lowest branches in key order, then the ones above.
    pub fn branches(&self) -> Vec<u64> {
        self.with_flags(1)
    }

    /// Where the key of a leaf's element begins in its page.
    pub fn leaf_key_at(&self, leaf: u64, element: usize) -> usize {
        16 + 16 * element + self.u32(leaf, 16 + 16 * element + 4) as usize
    }

    /// Appends a freelist page with these ids and names it in the metas.
    pub fn add_freelist(&mut self, ids: &[u64], escaped: bool) {
        let id = self.pages();
        let mut page = id.to_le_bytes().to_vec();
        page.extend_from_slice(&0x10_u16.to_le_bytes());
        page.extend_from_slice(&(if escaped { 0xFFFF } else { ids.len() as u16 }).to_le_bytes());
        let longs = ids.len() + usize::from(escaped);
        let slots = (16 + 8 * longs).div_ceil(self.page_bytes);
        page.extend_from_slice(&(slots as u32 - 1).to_le_bytes());
        if escaped {
            page.extend_from_slice(&(ids.len() as u64).to_le_bytes());
        }
        ids.iter()
            .for_each(|free| page.extend_from_slice(&free.to_le_bytes()));
        page.resize(slots * self.page_bytes, 0);
        self.bytes.extend_from_slice(&page);
        self.set_metas(32, id);
        self.set_metas(40, self.pages());
    }

    /// Appends zero pages and returns their ids.
    pub fn add_pages(&mut self, count: u64) -> Vec<u64> {
        let first = self.pages();
        self.bytes
            .resize(self.bytes.len() + count as usize * self.page_bytes, 0);
        self.set_metas(40, self.pages());
        (first..first + count).collect()
    }
}

pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// `xorshift64*`: the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}
