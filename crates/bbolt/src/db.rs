//! An open file, read only. Nothing is locked, written or cached; its bytes must not change meanwhile.

use crate::bucket::{Bucket, BucketHeader};
use crate::error::key_text;
use crate::file::PageFile;
use crate::page::IS_BUCKET;
use crate::scan::{Order, Scan};
use crate::source::{ReadAt, Source};
use crate::{Error, Meta, Result};
use std::fs::File;
use std::path::Path;

/// Most top-level buckets that are listed or kept in memory.
pub const MAX_BUCKETS: usize = 65_536;
/// Most bytes of their names and values.
pub const MAX_BUCKETS_BYTES: usize = 64 << 20;

/// A bbolt file opened for reading.
#[derive(Debug)]
pub struct Db {
    pub(crate) pages: PageFile,
}

impl Db {
    /// Opens the file and validates its metas and its length. Does not walk the trees.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
        Self::of_source(Source::Plain(file), path)
    }

    /// A database that lies in a container, for example a compressed one. `path` is what errors name.
    pub fn open_in(container: Box<dyn ReadAt>, path: impl AsRef<Path>) -> Result<Self> {
        Self::of_source(Source::Container(container), path.as_ref())
    }

    fn of_source(source: Source, path: &Path) -> Result<Self> {
        let db = Self {
            pages: PageFile::new(source, path)?,
        };
        db.refuse_cut_file()?;
        Ok(db)
    }

    /// Bytes per page.
    #[must_use]
    pub fn page_size(&self) -> u32 {
        self.pages.meta.page_size
    }

    /// The meta that counts.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.pages.meta
    }

    /// Pages in use or free: the first page that was never allocated.
    #[must_use]
    pub fn high_water(&self) -> u64 {
        self.pages.meta.high_water
    }

    /// Bytes in the file, which may be more than the high-water mark asks for.
    #[must_use]
    pub fn file_len(&self) -> u64 {
        self.pages.file_bytes
    }

    /// The path that was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.pages.path
    }

    /// Names and headers of the top-level buckets, in order.
    pub fn buckets(&self) -> Result<Vec<(Vec<u8>, BucketHeader)>> {
        let mut found = Vec::new();
        for (name, value) in self.bucket_values()? {
            let header = BucketHeader::decode(&value).ok_or_else(|| self.bad_bucket(&name))?;
            found.push((name, header));
        }
        Ok(found)
    }

    /// The top-level bucket of that name; `None` when there is none.
    pub fn bucket(&self, name: &[u8]) -> Result<Option<Bucket<'_>>> {
        let mut scan = Scan::of_tree(
            &self.pages,
            self.pages.meta.root,
            Order::Ascending,
            Some(name),
        )?;
        match scan.next_entry()? {
            Some(entry) if entry.key == name => {
                if entry.flags & IS_BUCKET == 0 {
                    return Err(self.bad_bucket(name));
                }
                let bucket = Bucket::new(&self.pages, entry.value);
                bucket.map(Some).ok_or_else(|| self.bad_bucket(name))
            }
            _ => Ok(None),
        }
    }

    /// Names and raw values of the top-level buckets.
    pub(crate) fn bucket_values(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut scan = Scan::of_tree(&self.pages, self.pages.meta.root, Order::Ascending, None)?;
        let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut bytes = 0_usize;
        while let Some(entry) = scan.next_entry()? {
            if entry.flags & IS_BUCKET == 0 {
                return Err(self.bad_bucket(entry.key));
            }
            bytes = bytes
                .saturating_add(entry.key.len())
                .saturating_add(entry.value.len());
            if found.len() >= MAX_BUCKETS || bytes > MAX_BUCKETS_BYTES {
                let what = format!(
                    "more than {MAX_BUCKETS} buckets, or {MAX_BUCKETS_BYTES} bytes of them"
                );
                return Err(Error::Unsupported {
                    path: self.pages.path.clone(),
                    what,
                });
            }
            found.push((entry.key.to_vec(), entry.value.to_vec()));
        }
        Ok(found)
    }

    pub(crate) fn refuse_cut_file(&self) -> Result<()> {
        let (have, need) = (self.pages.file_bytes, self.pages.needed_bytes());
        if have < need {
            return Err(Error::Truncated {
                path: self.pages.path.clone(),
                have,
                need,
            });
        }
        Ok(())
    }

    fn bad_bucket(&self, name: &[u8]) -> Error {
        self.pages.corrupt(
            self.pages.meta.root,
            format!("top-level key {} is not a bucket", key_text(name)),
        )
    }
}
