//! The value of a bucket: its root, or the page that lies inline.

use crate::MAX_KEY_BYTES;
use crate::bucket::{BUCKET_HEADER_BYTES, BucketHeader};
use crate::check::finding::FindingKind as Kind;
use crate::check::walk::Walk;
use crate::error::key_text;
use crate::page::{LEAF, Leaf, PageHeader};

/// `page` holds the bucket called `name`.
pub(crate) fn check(walk: &Walk<'_>, page: u64, name: &[u8], value: &[u8]) {
    let Some(header) = BucketHeader::decode(value) else {
        let what = || {
            format!(
                "bucket {}: its value has {} bytes, at least 16 are needed",
                key_text(name),
                value.len()
            )
        };
        walk.findings.add(page, Kind::BucketValue, what);
        return;
    };
    if header.root != 0 {
        if walk.claim(page, header.root) {
            walk.found_bucket(header.root);
        }
        return;
    }
    if let Err(what) = check_inline(value.get(BUCKET_HEADER_BYTES..).unwrap_or_default()) {
        walk.findings.add(page, Kind::InlineBucket, || {
            format!("inline bucket {}: {what}", key_text(name))
        });
    }
}

fn check_inline(page: &[u8]) -> Result<(), String> {
    let header =
        PageHeader::decode(page).ok_or_else(|| format!("a page of {} bytes", page.len()))?;
    if header.id != 0 || header.flags != LEAF || header.overflow != 0 {
        return Err(format!(
            "the header says page {}, flags {:#06x}, overflow {}",
            header.id, header.flags, header.overflow
        ));
    }
    let mut last: Option<&[u8]> = None;
    for index in 0..usize::from(header.count) {
        let entry = Leaf(page)
            .entry(index)
            .ok_or_else(|| format!("element {index} lies outside"))?;
        if entry.flags != 0 {
            return Err(format!(
                "element {index} has flags {:#x}; nothing nests inside",
                entry.flags
            ));
        }
        if entry.key.is_empty() || entry.key.len() > MAX_KEY_BYTES {
            return Err(format!(
                "element {index} has a key of {} bytes",
                entry.key.len()
            ));
        }
        if let Some(last) = last.filter(|last| *last >= entry.key) {
            return Err(format!(
                "key {} follows {}",
                key_text(entry.key),
                key_text(last)
            ));
        }
        last = Some(entry.key);
    }
    Ok(())
}
