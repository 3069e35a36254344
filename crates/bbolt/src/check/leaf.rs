//! One leaf: elements inside the page, keys ascending and within the parents' bounds, buckets sound.
//!
//! A leaf with overflow pages is not read as a whole: only its element table, its keys and its bucket values are.

use crate::MAX_KEY_BYTES;
use crate::Result;
use crate::check::bucket_value;
use crate::check::finding::FindingKind as Kind;
use crate::check::walk::Walk;
use crate::error::key_text;
use crate::le::u32_at;
use crate::page::{ELEMENT_BYTES, IS_BUCKET, PAGE_HEADER_BYTES, PageHeader};

/// Keys at or above `min` and below `max`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bounds<'a> {
    pub min: Option<&'a [u8]>,
    pub max: Option<&'a [u8]>,
}

/// What a thread keeps between leaves.
#[derive(Default)]
pub(crate) struct LeafScratch {
    /// The tree is that of all buckets.
    pub top_level: bool,
    table: Vec<u8>,
    key: Vec<u8>,
    last_key: Vec<u8>,
    value: Vec<u8>,
}

impl LeafScratch {
    pub fn new(top_level: bool) -> Self {
        Self {
            top_level,
            ..Self::default()
        }
    }
}

/// `slot` is the leaf's first page; its header names it a leaf, and the page is marked.
pub(crate) fn check(
    walk: &Walk<'_>,
    id: u64,
    header: &PageHeader,
    slot: &[u8],
    bounds: Bounds<'_>,
    scratch: &mut LeafScratch,
) -> Result<()> {
    if header.overflow == 0 {
        check_in_memory(
            walk,
            id,
            usize::from(header.count),
            slot,
            bounds,
            scratch.top_level,
        );
        return Ok(());
    }
    if walk.claim_overflow(id, header) {
        return check_overflowing(walk, id, header, slot, bounds, scratch);
    }
    Ok(())
}

fn check_in_memory(
    walk: &Walk<'_>,
    id: u64,
    count: usize,
    page: &[u8],
    bounds: Bounds<'_>,
    top_level: bool,
) {
    let mut last: Option<&[u8]> = None;
    for index in 0..count {
        let found = element(page, page.len() as u64, count, index).and_then(|element| {
            let (key, rest) = page
                .get(element.key_at as usize..)?
                .split_at_checked(element.key_bytes)?;
            Some((element, key, rest.get(..element.value_bytes)?))
        });
        let Some((element, key, value)) = found else {
            return outside(walk, id, index);
        };
        check_key(walk, id, index, key, last, bounds);
        check_flags(walk, id, index, element.flags, top_level);
        if element.flags == IS_BUCKET {
            bucket_value::check(walk, id, key, value);
        }
        last = Some(key);
    }
    check_last(walk, id, last, bounds);
}

fn check_overflowing(
    walk: &Walk<'_>,
    id: u64,
    header: &PageHeader,
    slot: &[u8],
    bounds: Bounds<'_>,
    scratch: &mut LeafScratch,
) -> Result<()> {
    let LeafScratch {
        table,
        key,
        last_key,
        value,
        top_level,
    } = scratch;
    let top_level = *top_level;
    let pages = walk.pages;
    let count = usize::from(header.count);
    let total = u64::from(header.overflow)
        .saturating_add(1)
        .saturating_mul(slot.len() as u64);
    let table_bytes = count
        .saturating_mul(ELEMENT_BYTES)
        .saturating_add(PAGE_HEADER_BYTES);
    if table_bytes as u64 > total {
        outside(walk, id, 0);
        return Ok(());
    }
    let head: &[u8] = if table_bytes <= slot.len() {
        slot
    } else {
        table.resize(table_bytes, 0);
        pages.read_slots(id, table)?;
        table
    };
    for index in 0..count {
        let Some(element) = element(head, total, count, index) else {
            outside(walk, id, index);
            return Ok(());
        };
        if element.key_bytes > MAX_KEY_BYTES {
            key_size(walk, id, index, element.key_bytes);
            return Ok(());
        }
        let last = (index > 0).then_some(last_key.as_slice());
        key.resize(element.key_bytes, 0);
        match slot
            .get(element.key_at as usize..)
            .and_then(|rest| rest.get(..element.key_bytes))
        {
            Some(bytes) => key.copy_from_slice(bytes),
            None => pages.read_within(id, element.key_at, key)?,
        }
        check_key(walk, id, index, key, last, bounds);
        check_flags(walk, id, index, element.flags, top_level);
        if element.flags == IS_BUCKET {
            // An inline bucket takes at most a quarter of a page: of a longer value the head is enough to see it fail.
            value.resize(element.value_bytes.min(slot.len()), 0);
            pages.read_within(
                id,
                element.key_at.saturating_add(element.key_bytes as u64),
                value,
            )?;
            bucket_value::check(walk, id, key, value);
        }
        std::mem::swap(key, last_key);
    }
    check_last(walk, id, (count > 0).then_some(last_key.as_slice()), bounds);
    Ok(())
}

#[derive(Clone, Copy)]
struct Element {
    flags: u32,
    /// From the page's first byte.
    key_at: u64,
    key_bytes: usize,
    value_bytes: usize,
}

/// `None`: it lies outside a page of `total` bytes, or its key inside the element table, or its key has an odd size.
#[inline]
fn element(head: &[u8], total: u64, count: usize, index: usize) -> Option<Element> {
    let at = index
        .checked_mul(ELEMENT_BYTES)?
        .checked_add(PAGE_HEADER_BYTES)?;
    let bytes: &[u8; ELEMENT_BYTES] = head.get(at..)?.first_chunk()?;
    let [flags, pos, key_bytes, value_bytes] =
        [0, 4, 8, 12].map(|at| u32_at(bytes, at).unwrap_or(0));
    let key_at = (at as u64).saturating_add(u64::from(pos));
    let table_end = count
        .saturating_mul(ELEMENT_BYTES)
        .saturating_add(PAGE_HEADER_BYTES) as u64;
    let end = key_at
        .saturating_add(u64::from(key_bytes))
        .saturating_add(u64::from(value_bytes));
    let (key_bytes, value_bytes) = (key_bytes as usize, value_bytes as usize);
    let sound = key_at >= table_end && end <= total;
    sound.then_some(Element {
        flags,
        key_at,
        key_bytes,
        value_bytes,
    })
}

#[inline]
fn check_key(
    walk: &Walk<'_>,
    id: u64,
    index: usize,
    key: &[u8],
    last: Option<&[u8]>,
    bounds: Bounds<'_>,
) {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        key_size(walk, id, index, key.len());
    }
    match last {
        Some(last) if last >= key => key_order(walk, id, index, key, last),
        None if bounds.min.is_some_and(|min| key < min) => {
            below_parent(walk, id, key, bounds.min.unwrap_or_default());
        }
        _ => {}
    }
}

fn check_flags(walk: &Walk<'_>, id: u64, index: usize, flags: u32, top_level: bool) {
    if flags > IS_BUCKET {
        walk.findings.add(id, Kind::ElementFlags, || {
            format!("element {index} has flags {flags:#x}")
        });
    } else if top_level && flags != IS_BUCKET {
        walk.findings.add(id, Kind::NotABucket, || {
            format!("element {index} is a record at the top level")
        });
    }
}

pub(crate) fn check_last(walk: &Walk<'_>, id: u64, last: Option<&[u8]>, bounds: Bounds<'_>) {
    if let (Some(last), Some(max)) = (last, bounds.max)
        && last >= max
    {
        let what = || {
            format!(
                "last key {} is not below the ancestor's next key {}",
                key_text(last),
                key_text(max)
            )
        };
        walk.findings.add(id, Kind::KeyAboveParent, what);
    }
}

#[cold]
pub(crate) fn outside(walk: &Walk<'_>, id: u64, index: usize) {
    walk.findings.add(id, Kind::ElementOutOfBounds, || {
        format!("element {index} does not lie inside the page")
    });
}

#[cold]
pub(crate) fn key_size(walk: &Walk<'_>, id: u64, index: usize, bytes: usize) {
    walk.findings.add(id, Kind::KeySize, || {
        format!("element {index} has a key of {bytes} bytes")
    });
}

#[cold]
pub(crate) fn key_order(walk: &Walk<'_>, id: u64, index: usize, key: &[u8], last: &[u8]) {
    let what = || {
        format!(
            "key {index}, {}, is not above {} before it",
            key_text(key),
            key_text(last)
        )
    };
    walk.findings.add(id, Kind::KeyOrder, what);
}

#[cold]
pub(crate) fn below_parent(walk: &Walk<'_>, id: u64, key: &[u8], min: &[u8]) {
    let what = || {
        format!(
            "first key {} is below the parent's key {}",
            key_text(key),
            key_text(min)
        )
    };
    walk.findings.add(id, Kind::KeyBelowParent, what);
}
