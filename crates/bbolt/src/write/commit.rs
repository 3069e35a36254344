//! The root of all buckets, then the metas, each step synced before the next one counts.

use crate::file::PageFile;
use crate::meta::NO_FREELIST;
use crate::page::IS_BUCKET;
use crate::write::sink::PageSink;
use crate::write::tree::{Root, TreeWriter};
use crate::{Error, Meta, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

pub(crate) fn commit(
    pages: &PageFile,
    mut sink: PageSink,
    buckets: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> Result<Meta> {
    let mut tree = TreeWriter::default();
    for (name, value) in buckets {
        tree.put(&mut sink, IS_BUCKET, name, value)?;
    }
    let Root::Page(root) = tree.finish(&mut sink, false)? else {
        return Err(pages.corrupt(0, "the root of all buckets cannot lie inline"));
    };
    sink.flush()?;
    let old = &pages.meta;
    let txid = old
        .txid
        .checked_add(1)
        .ok_or_else(|| pages.corrupt(0, "the transaction number is at its end"))?;
    let meta = Meta {
        root,
        freelist: NO_FREELIST,
        high_water: sink.next(),
        txid,
        ..*old
    };
    let bytes = meta.high_water.saturating_mul(u64::from(meta.page_size));
    pages
        .source
        .plain()
        .and_then(|file| file.set_len(bytes))
        .map_err(|error| Error::io("truncate", &pages.path, error))?;
    sync(pages)?;
    for page in meta_order(pages) {
        write_meta(pages, page, &meta)?;
        sync(pages)?;
    }
    Ok(meta)
}

/// The meta that counts now is overwritten last, when the other one is already valid: a torn write of either leaves one.
fn meta_order(pages: &PageFile) -> [u64; 2] {
    let first_counts = pages
        .metas
        .first()
        .is_some_and(|meta| meta.as_ref() == Ok(&pages.meta));
    if first_counts { [1, 0] } else { [0, 1] }
}

/// Like a snapshot stream: page 0 has txid T, page 1 the same content with T-1.
fn write_meta(pages: &PageFile, page: u64, meta: &Meta) -> Result<()> {
    let txid = meta.txid.saturating_sub(page);
    let offset = page.saturating_mul(u64::from(meta.page_size));
    let bytes = Meta { txid, ..*meta }.encode(page);
    pages
        .source
        .plain()
        .and_then(|file| file.write_all_at(&bytes, offset))
        .map_err(|error| Error::io("write", &pages.path, error))
}

fn sync(pages: &PageFile) -> Result<()> {
    pages
        .source
        .plain()
        .and_then(File::sync_all)
        .map_err(|error| Error::io("sync", &pages.path, error))
}
