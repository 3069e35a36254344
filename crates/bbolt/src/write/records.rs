//! What a fill closure writes into.

use crate::Result;

/// Takes the records of one bucket in ascending order of keys.
pub struct Records<'a> {
    _file: &'a (),
}

impl Records<'_> {
    /// Adds a record. Keys must ascend strictly; a key has 1 to 32,768 bytes, a value at most 2^31-2.
    pub fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Records taken so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        0
    }
}
