//! What a fill closure writes into.

use crate::Result;
use crate::write::sink::PageSink;
use crate::write::tree::TreeWriter;

/// Takes the records of one bucket in ascending order of keys.
pub struct Records<'a> {
    pub(crate) tree: &'a mut TreeWriter,
    pub(crate) sink: &'a mut PageSink,
}

impl Records<'_> {
    /// Adds a record. Keys must ascend strictly (`NOT_SORTED`); a key has 1 to 32,768 bytes, a value at most 2^31-2.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.tree.put(self.sink, 0, key, value)
    }

    /// Records taken so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.tree.count
    }
}
