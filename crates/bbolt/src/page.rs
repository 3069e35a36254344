//! Page header and the two kinds of tree pages, as views over bytes that may lie about every length.

use crate::le::{u16_at, u32_at, u64_at};
use std::cmp::Ordering;

pub(crate) const PAGE_HEADER_BYTES: usize = 16;
pub(crate) const ELEMENT_BYTES: usize = 16;
pub(crate) const BRANCH: u16 = 0x01;
pub(crate) const LEAF: u16 = 0x02;
pub(crate) const META: u16 = 0x04;
pub(crate) const FREELIST: u16 = 0x10;
/// Leaf element flag: the value is a bucket.
pub(crate) const IS_BUCKET: u32 = 0x01;
/// bbolt refuses to write a node with 0xFFFF elements.
pub(crate) const MAX_ELEMENTS: usize = 0xFFFE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub id: u64,
    pub flags: u16,
    pub count: u16,
    pub overflow: u32,
}

impl PageHeader {
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; PAGE_HEADER_BYTES] = bytes.first_chunk()?;
        Some(Self {
            id: u64_at(bytes, 0)?,
            flags: u16_at(bytes, 8)?,
            count: u16_at(bytes, 10)?,
            overflow: u32_at(bytes, 12)?,
        })
    }

    pub fn encode(&self) -> [u8; PAGE_HEADER_BYTES] {
        let mut bytes = [0; PAGE_HEADER_BYTES];
        let fields = self
            .id
            .to_le_bytes()
            .into_iter()
            .chain(self.flags.to_le_bytes());
        let fields = fields
            .chain(self.count.to_le_bytes())
            .chain(self.overflow.to_le_bytes());
        bytes
            .iter_mut()
            .zip(fields)
            .for_each(|(to, from)| *to = from);
        bytes
    }
}

/// One record of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafEntry<'a> {
    pub flags: u32,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

/// A whole leaf page: header, elements, keys and values.
#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a>(pub &'a [u8]);

impl<'a> Leaf<'a> {
    /// `None`: element, key or value lies outside the page.
    #[inline]
    pub fn entry(&self, index: usize) -> Option<LeafEntry<'a>> {
        let at = element_at(index)?;
        let element: &[u8; ELEMENT_BYTES] = self.0.get(at..)?.first_chunk()?;
        let (pos, ksize) = (u32_at(element, 4)? as usize, u32_at(element, 8)? as usize);
        let rest = self.0.get(at.checked_add(pos)?..)?;
        let (key, rest) = rest.split_at_checked(ksize)?;
        let value = rest.get(..u32_at(element, 12)? as usize)?;
        Some(LeafEntry {
            flags: u32_at(element, 0)?,
            key,
            value,
        })
    }

    /// Index of the first key that is not below `key`.
    pub fn lower_bound(&self, count: usize, key: &[u8]) -> Option<usize> {
        partition(count, |index| Some(self.entry(index)?.key < key))
    }

    /// Index of the first key above `key`.
    pub fn upper_bound(&self, count: usize, key: &[u8]) -> Option<usize> {
        partition(count, |index| Some(self.entry(index)?.key <= key))
    }
}

/// One child of a branch: keys at or above `key` are in `child`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BranchEntry<'a> {
    pub key: &'a [u8],
    pub child: u64,
}

/// A whole branch page.
#[derive(Clone, Copy)]
pub(crate) struct Branch<'a>(pub &'a [u8]);

impl<'a> Branch<'a> {
    /// `None`: element or key lies outside the page.
    #[inline]
    pub fn entry(&self, index: usize) -> Option<BranchEntry<'a>> {
        let at = element_at(index)?;
        let element: &[u8; ELEMENT_BYTES] = self.0.get(at..)?.first_chunk()?;
        let (pos, ksize) = (u32_at(element, 0)? as usize, u32_at(element, 4)? as usize);
        let key = self.0.get(at.checked_add(pos)?..)?.get(..ksize)?;
        Some(BranchEntry {
            key,
            child: u64_at(element, 8)?,
        })
    }

    /// The child id alone: needs only the element table.
    #[inline]
    pub fn child(&self, index: usize) -> Option<u64> {
        u64_at(self.0, element_at(index)?.checked_add(8)?)
    }

    /// Index of the child that covers `key`: the last one whose key is not above it, else the first.
    pub fn child_for(&self, count: usize, key: &[u8]) -> Option<usize> {
        let above = partition(count, |index| {
            Some(self.entry(index)?.key.cmp(key) != Ordering::Greater)
        })?;
        Some(above.saturating_sub(1))
    }
}

/// Byte where element `index` begins.
#[inline]
fn element_at(index: usize) -> Option<usize> {
    index
        .checked_mul(ELEMENT_BYTES)?
        .checked_add(PAGE_HEADER_BYTES)
}

/// First index for which `below` is false; `None` as soon as `below` cannot be told.
fn partition(count: usize, below: impl Fn(usize) -> Option<bool>) -> Option<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if below(middle)? {
            low = middle.checked_add(1)?;
        } else {
            high = middle;
        }
    }
    Some(low)
}
