//! New files.

use crate::file::PageFile;
use crate::meta::{MAX_PAGE_BYTES, MIN_PAGE_BYTES, NO_FREELIST};
use crate::source::Source;
use crate::write::{Appender, lock};
use crate::{Db, Error, FIRST_PAGE, Meta, Result};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::Path;

/// Makes new files.
pub struct Builder;

impl Builder {
    /// Creates a file without buckets (`EXISTS` when the path is taken). Until the commit it is no valid bbolt file.
    /// `page_size` is in bytes: a power of two from 1 KiB to 16 MiB.
    pub fn create(path: impl AsRef<Path>, page_size: u32) -> Result<Appender> {
        let path = path.as_ref();
        if !page_size.is_power_of_two() || !(MIN_PAGE_BYTES..=MAX_PAGE_BYTES).contains(&page_size) {
            let what = format!(
                "page size {page_size}, expected a power of two from {MIN_PAGE_BYTES} to {MAX_PAGE_BYTES}"
            );
            return Err(Error::usage(path, what));
        }
        let created = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path);
        let file = created.map_err(|error| Error::io("create", path, error))?;
        let lock = lock::exclusive(&file, path)?;
        let meta = Meta {
            page_size,
            root: 0,
            sequence: 0,
            freelist: NO_FREELIST,
            high_water: FIRST_PAGE,
            txid: 0,
        };
        let metas = [
            Err("not written yet".to_owned()),
            Err("not written yet".to_owned()),
        ];
        let pages = PageFile {
            source: Source::Plain(file),
            path: path.to_owned(),
            meta,
            metas,
            file_bytes: 0,
            pages: FIRST_PAGE,
        };
        Appender::new(Db { pages }, BTreeMap::new(), lock)
    }
}
