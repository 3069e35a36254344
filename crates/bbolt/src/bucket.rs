//! One top-level bucket: point reads, and where scans begin.

use crate::file::PageFile;
use crate::le::u64_at;
use crate::page::{BRANCH, Branch, IS_BUCKET, Leaf, PAGE_HEADER_BYTES, PageHeader};
use crate::scan::{Order, Scan};
use crate::sweep::{Chunks, Live, Swept, sweep};
use crate::{Cancel, Error, Result};

/// Bytes before the inline page in a bucket's value.
pub(crate) const BUCKET_HEADER_BYTES: usize = 16;

/// Stands for the page of a record that lies inline: no tree has page 0.
const INLINE: u64 = 0;

/// The fixed part of a bucket's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketHeader {
    /// Root page; 0 for a bucket that lies inline in its parent's leaf.
    pub root: u64,
    /// The bucket's own counter.
    pub sequence: u64,
}

impl BucketHeader {
    pub(crate) fn decode(value: &[u8]) -> Option<Self> {
        Some(Self {
            root: u64_at(value, 0)?,
            sequence: u64_at(value, 8)?,
        })
    }

    pub(crate) fn encode(self) -> [u8; BUCKET_HEADER_BYTES] {
        let mut bytes = [0; BUCKET_HEADER_BYTES];
        let fields = self
            .root
            .to_le_bytes()
            .into_iter()
            .chain(self.sequence.to_le_bytes());
        bytes
            .iter_mut()
            .zip(fields)
            .for_each(|(to, from)| *to = from);
        bytes
    }
}

/// A top-level bucket of an open file.
#[derive(Debug)]
pub struct Bucket<'db> {
    pages: &'db PageFile,
    header: BucketHeader,
    /// The inline page, header included; empty for a bucket with its own tree.
    inline: Vec<u8>,
}

impl<'db> Bucket<'db> {
    pub(crate) fn new(pages: &'db PageFile, value: &[u8]) -> Option<Self> {
        let header = BucketHeader::decode(value)?;
        let inline = if header.root == 0 {
            value.get(BUCKET_HEADER_BYTES..)?.to_vec()
        } else {
            Vec::new()
        };
        Some(Self {
            pages,
            header,
            inline,
        })
    }

    /// Root page and sequence.
    #[must_use]
    pub fn header(&self) -> BucketHeader {
        self.header
    }

    /// The value of `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.header.root == 0 {
            let mut scan = self.scan_from(key)?;
            let found = scan.next()?.filter(|(found, _)| *found == key);
            return Ok(found.map(|(_, value)| value.to_vec()));
        }
        let (mut id, mut bytes) = (self.header.root, Vec::new());
        for _ in 0..crate::MAX_DEPTH {
            let header = self.pages.read_page(id, &mut bytes)?;
            let count = usize::from(header.count);
            if header.flags != BRANCH {
                return self.get_in_leaf(id, Leaf(&bytes), count, key);
            }
            let branch = Branch(&bytes);
            let child = branch
                .child_for(count, key)
                .and_then(|index| branch.child(index));
            id = child
                .filter(|_| count > 0)
                .ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
        }
        Err(self.pages.corrupt(id, "the tree is too deep"))
    }

    /// The record with the lowest key.
    pub fn first(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut scan = self.scan()?;
        Ok(scan
            .next()?
            .map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    /// The record with the highest key.
    pub fn last(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        if self.header.root == 0 {
            let count = self.inline_count()?;
            return self.last_in_leaf(0, Leaf(&self.inline), count);
        }
        // An empty leaf is legal, if unusual: step back to the one before it.
        let mut ids = vec![(self.header.root, 0_usize)];
        let (mut bytes, mut budget) = (Vec::new(), self.pages.pages);
        while let Some((id, depth)) = ids.pop() {
            let header = self.pages.read_page(id, &mut bytes)?;
            let left = budget.checked_sub(u64::from(header.overflow).saturating_add(1));
            budget = left
                .filter(|_| depth < crate::MAX_DEPTH)
                .ok_or_else(|| self.pages.corrupt(id, CYCLE))?;
            let count = usize::from(header.count);
            if header.flags == BRANCH {
                for index in 0..count {
                    let child = Branch(&bytes)
                        .child(index)
                        .ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
                    ids.push((child, depth.saturating_add(1)));
                }
            } else if count > 0 {
                return self.last_in_leaf(id, Leaf(&bytes), count);
            }
        }
        Ok(None)
    }

    /// All records in ascending order of keys.
    pub fn scan(&self) -> Result<Scan<'db>> {
        self.start(Order::Ascending, None)
    }

    /// The records with keys at or above `key`.
    pub fn scan_from(&self, key: &[u8]) -> Result<Scan<'db>> {
        self.start(Order::Ascending, Some(key))
    }

    /// The records with keys at or below `key`, the highest first. The first reads are small.
    pub fn scan_back_from(&self, key: &[u8]) -> Result<Scan<'db>> {
        self.start(Order::Descending, Some(key))
    }

    /// All records in the order of the file, which `chunks` give out from its first byte on. Records of pages that are
    /// not [`Live`] come too, and some of those may come damaged: the caller drops them once the sweep has said which
    /// are live. Memory: two chunks, and less than five bytes per page of the file.
    pub fn sweep<E: From<Error>>(
        &self,
        chunks: &mut dyn Chunks,
        cancel: &Cancel,
        mut each: impl FnMut(Swept<'_>) -> Result<(), E>,
    ) -> Result<Live, E> {
        if self.header.root != 0 {
            return sweep(self.pages, self.header.root, chunks, cancel, each);
        }
        let mut scan = self.scan()?;
        while let Some((key, value)) = scan.next()? {
            each(Swept {
                page: INLINE,
                key,
                value,
            })?;
        }
        Ok(Live::of([INLINE]))
    }

    fn start(&self, order: Order, from: Option<&[u8]>) -> Result<Scan<'db>> {
        if self.header.root == 0 {
            let count = self.inline_count()?;
            Scan::of_inline(self.pages, self.inline.clone(), count, order, from)
        } else {
            Scan::of_tree(self.pages, self.header.root, order, from)
        }
    }

    fn inline_count(&self) -> Result<usize> {
        let header = self
            .inline
            .get(..PAGE_HEADER_BYTES)
            .and_then(PageHeader::decode);
        let header = header.ok_or_else(|| {
            self.pages
                .corrupt(0, "an inline bucket without a page header")
        })?;
        Ok(usize::from(header.count))
    }

    fn get_in_leaf(
        &self,
        id: u64,
        leaf: Leaf<'_>,
        count: usize,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let index = leaf
            .lower_bound(count, key)
            .ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
        if index >= count {
            return Ok(None);
        }
        let entry = leaf
            .entry(index)
            .ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
        Ok((entry.key == key && entry.flags & IS_BUCKET == 0).then(|| entry.value.to_vec()))
    }

    fn last_in_leaf(
        &self,
        id: u64,
        leaf: Leaf<'_>,
        count: usize,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some(index) = count.checked_sub(1) else {
            return Ok(None);
        };
        let entry = leaf
            .entry(index)
            .ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
        if entry.flags & IS_BUCKET != 0 {
            return Err(nested(self.pages, entry.key));
        }
        Ok(Some((entry.key.to_vec(), entry.value.to_vec())))
    }
}

pub(crate) const OUTSIDE: &str = "an element lies outside the page";
pub(crate) const CYCLE: &str = "it is referred to more than once";

pub(crate) fn nested(pages: &PageFile, key: &[u8]) -> Error {
    let key = crate::error::key_text(key);
    Error::Unsupported {
        path: pages.path.clone(),
        what: format!("key {key} is a bucket inside a bucket"),
    }
}
