//! A file open for appending. Its old pages are only read; nothing of the new counts before [`Appender::commit`].

use crate::bucket::{BUCKET_HEADER_BYTES, BucketHeader};
use crate::db::MAX_BUCKETS;
use crate::file::PageFile;
use crate::source::Source;
use crate::write::lock::Lock;
use crate::write::resume::{resume_inline, resume_tree};
use crate::write::sink::PageSink;
use crate::write::tree::{Root, TreeWriter};
use crate::write::{Records, commit, lock};
use crate::{Db, Error, MAX_KEY_BYTES, Meta, Result};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::Path;

/// A file open for appending, locked against every other writer until it is dropped or committed.
///
/// Dropping it without a commit leaves the old content valid; what lay behind the high-water mark may be overwritten.
pub struct Appender {
    db: Db,
    sink: PageSink,
    /// Values of the top-level buckets, as the next commit will write them.
    buckets: BTreeMap<Vec<u8>, Vec<u8>>,
    _lock: Lock,
}

impl Appender {
    /// Opens and locks the file. `LOCKED` names the holder when the system tells.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = opened.map_err(|error| Error::io("open", path, error))?;
        let lock = lock::exclusive(&file, path)?;
        let db = Db {
            pages: PageFile::new(Source::Plain(file), path)?,
        };
        db.refuse_cut_file()?;
        let buckets = db.bucket_values()?.into_iter().collect();
        Self::new(db, buckets, lock)
    }

    pub(crate) fn new(db: Db, buckets: BTreeMap<Vec<u8>, Vec<u8>>, lock: Lock) -> Result<Self> {
        let PageFile {
            source, path, meta, ..
        } = &db.pages;
        let file = source
            .plain()
            .and_then(File::try_clone)
            .map_err(|error| Error::io("open", path, error))?;
        let sink = PageSink::new(file, path, meta.page_size as usize, meta.high_water)?;
        Ok(Self {
            db,
            sink,
            buckets,
            _lock: lock,
        })
    }

    /// Gives the bucket new content, and creates it if it is not there. Memory does not grow with the content.
    ///
    /// When `fill` fails, its error is returned and the bucket stays as it was.
    pub fn replace_bucket<E: From<Error>>(
        &mut self,
        name: &[u8],
        fill: impl FnOnce(&mut Records<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_name(name)?;
        let sequence = self.header_of(name)?.map_or(0, |header| header.sequence);
        self.write_bucket(name, sequence, TreeWriter::default(), fill)
    }

    /// Adds records behind the bucket's last key (a lower key is `NOT_SORTED`), and creates the bucket if it is not
    /// there. Its leaves keep their pages, except that the last one and the branches above it are written anew.
    pub fn extend_bucket<E: From<Error>>(
        &mut self,
        name: &[u8],
        fill: impl FnOnce(&mut Records<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_name(name)?;
        let header = self.header_of(name)?.unwrap_or(BucketHeader {
            root: 0,
            sequence: 0,
        });
        self.sink.flush()?;
        let tree = match self.buckets.get(name) {
            None => TreeWriter::default(),
            Some(value) if header.root == 0 => resume_inline(
                &self.db.pages,
                value.get(BUCKET_HEADER_BYTES..).unwrap_or_default(),
            )?,
            Some(_) => self.resume(header.root)?,
        };
        self.write_bucket(name, header.sequence, tree, fill)
    }

    /// Removes the bucket; false when there was none.
    pub fn remove_bucket(&mut self, name: &[u8]) -> Result<bool> {
        Ok(self.buckets.remove(name).is_some())
    }

    /// The file as it was when it was opened.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Makes all of it the file's content: pages synced first, then each meta. The file ends at its high-water mark
    /// afterwards. A crash at any point leaves the old content or the new. The directory is not synced.
    pub fn commit(self) -> Result<Meta> {
        commit::commit(&self.db.pages, self.sink, &self.buckets)
    }

    fn write_bucket<E: From<Error>>(
        &mut self,
        name: &[u8],
        sequence: u64,
        mut tree: TreeWriter,
        fill: impl FnOnce(&mut Records<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.sink.next();
        let filled = fill(&mut Records {
            tree: &mut tree,
            sink: &mut self.sink,
        });
        let root = match filled {
            Ok(())
                if tree.count == 0
                    && self.buckets.contains_key(name)
                    && tree.last_key.is_some() =>
            {
                return Ok(());
            }
            Ok(()) => tree.finish(&mut self.sink, true).map_err(E::from),
            Err(error) => Err(error),
        };
        let root = root.inspect_err(|_| self.sink.rewind(start))?;
        let (root, inline) = match root {
            Root::Page(id) => (id, Vec::new()),
            Root::Inline(page) => (0, page),
        };
        let mut value = BucketHeader { root, sequence }.encode().to_vec();
        value.extend_from_slice(&inline);
        self.buckets.insert(name.to_vec(), value);
        Ok(())
    }

    /// Pages written since the file was opened may be part of the tree, so the bound moves with the sink.
    fn resume(&mut self, root: u64) -> Result<TreeWriter> {
        let pages = self.db.pages.pages;
        self.db.pages.pages = self.sink.next();
        let tree = resume_tree(&self.db.pages, root);
        self.db.pages.pages = pages;
        tree
    }

    fn header_of(&self, name: &[u8]) -> Result<Option<BucketHeader>> {
        let Some(value) = self.buckets.get(name) else {
            return Ok(None);
        };
        let header = BucketHeader::decode(value);
        header.map(Some).ok_or_else(|| {
            self.db.pages.corrupt(
                self.db.pages.meta.root,
                "a bucket value of less than 16 bytes",
            )
        })
    }

    fn check_name(&self, name: &[u8]) -> Result<()> {
        if name.is_empty() || name.len() > MAX_KEY_BYTES {
            let what = format!(
                "a bucket name of {} bytes, the format takes 1 to {MAX_KEY_BYTES}",
                name.len()
            );
            return Err(Error::usage(&self.db.pages.path, what));
        }
        if self.buckets.len() >= MAX_BUCKETS && !self.buckets.contains_key(name) {
            return Err(Error::usage(
                &self.db.pages.path,
                format!("more than {MAX_BUCKETS} buckets"),
            ));
        }
        Ok(())
    }
}
