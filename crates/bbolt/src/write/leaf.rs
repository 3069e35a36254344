//! The leaf that is being filled.

use crate::Result;
use crate::page::{ELEMENT_BYTES, IS_BUCKET, LEAF, MAX_ELEMENTS, PAGE_HEADER_BYTES, PageHeader};
use crate::write::sink::PageSink;

/// Records of one leaf, keys and values already as they will lie in the page.
#[derive(Default)]
pub(crate) struct OpenLeaf {
    sizes: Vec<RecordSizes>,
    data: Vec<u8>,
}

#[derive(Clone, Copy)]
struct RecordSizes {
    flags: u32,
    key: u32,
    value: u32,
}

impl OpenLeaf {
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Bytes of the page so far, header included.
    pub fn size(&self) -> usize {
        size_with(self.sizes.len(), self.data.len())
    }

    pub fn fits(&self, key: &[u8], value: &[u8], page_bytes: usize) -> bool {
        let count = self.sizes.len().saturating_add(1);
        let data = self
            .data
            .len()
            .saturating_add(key.len())
            .saturating_add(value.len());
        count <= MAX_ELEMENTS && size_with(count, data) <= page_bytes
    }

    pub fn push(&mut self, flags: u32, key: &[u8], value: &[u8]) {
        self.sizes.push(RecordSizes::of(flags, key, value));
        self.data.extend_from_slice(key);
        self.data.extend_from_slice(value);
    }

    pub fn first_key(&self) -> &[u8] {
        let length = self.sizes.first().map_or(0, |sizes| sizes.key as usize);
        self.data.get(..length).unwrap_or_default()
    }

    pub fn holds_bucket(&self) -> bool {
        self.sizes.iter().any(|sizes| sizes.flags & IS_BUCKET != 0)
    }

    /// Writes the page, empties the leaf, and returns the page's id.
    pub fn emit(&mut self, sink: &mut PageSink) -> Result<u64> {
        let id = sink.page(LEAF, self.sizes.len(), &[&self.elements(), &self.data])?;
        self.sizes.clear();
        self.data.clear();
        Ok(id)
    }

    /// The page as it lies inside a bucket's value.
    pub fn inline_page(&self) -> Vec<u8> {
        let count = u16::try_from(self.sizes.len()).unwrap_or(u16::MAX);
        let mut bytes = PageHeader {
            id: 0,
            flags: LEAF,
            count,
            overflow: 0,
        }
        .encode()
        .to_vec();
        bytes.extend_from_slice(&self.elements());
        bytes.extend_from_slice(&self.data);
        bytes
    }

    fn elements(&self) -> Vec<u8> {
        elements(&self.sizes)
    }
}

/// Bytes of a page that holds this record alone.
pub(crate) fn lone_size(key: &[u8], value: &[u8]) -> usize {
    size_with(1, key.len().saturating_add(value.len()))
}

/// A record of more than a page has a page of its own, written without a copy of its value.
pub(crate) fn emit_lone(sink: &mut PageSink, flags: u32, key: &[u8], value: &[u8]) -> Result<u64> {
    sink.page(
        LEAF,
        1,
        &[&elements(&[RecordSizes::of(flags, key, value)]), key, value],
    )
}

impl RecordSizes {
    /// The caller has compared both with the limits of the format, which fit.
    fn of(flags: u32, key: &[u8], value: &[u8]) -> Self {
        let size = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Self {
            flags,
            key: size(key),
            value: size(value),
        }
    }
}

/// `pos` counts from the element, not from the page.
fn elements(sizes: &[RecordSizes]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sizes.len().saturating_mul(ELEMENT_BYTES));
    let mut data_at = sizes.len().saturating_mul(ELEMENT_BYTES) as u32;
    for record in sizes {
        let pos = data_at.saturating_sub(bytes.len() as u32);
        for word in [record.flags, pos, record.key, record.value] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        data_at = data_at
            .saturating_add(record.key)
            .saturating_add(record.value);
    }
    bytes
}

fn size_with(count: usize, data: usize) -> usize {
    count
        .saturating_mul(ELEMENT_BYTES)
        .saturating_add(PAGE_HEADER_BYTES)
        .saturating_add(data)
}
