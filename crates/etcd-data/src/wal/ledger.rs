//! The entries that the database has not applied yet, one byte each: what they ask for, and whether they make a
//! revision. An index that comes again takes back everything from there on.

use crate::error::{Error, Result};
use crate::wal::entry_kind::EntryKind;
use crate::wal::request::Effect;

/// Most entries behind the database that are counted; 64 MiB of memory, and at least 2 GB of WAL.
pub const MAX_ENTRIES_BEYOND: usize = 64 << 20;
const CERTAIN: u8 = 0x80;
const POSSIBLE: u8 = 0x40;
const KIND_MASK: u8 = 0x3F;

/// Entries behind the database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beyond {
    /// How many.
    pub entries: u64,
    /// By kind, in the order of [`EntryKind::ALL`].
    pub by_kind: [u64; EntryKind::ALL.len()],
    /// Revisions that they make at least, all of them applied.
    pub least: u64,
    /// The same of those that are known to be committed.
    pub least_committed: u64,
    /// Revisions that they can make at most.
    pub most: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<u8>,
    guarded: bool,
}

impl Ledger {
    /// `guarded`: writes may be refused from the beginning.
    pub(crate) fn new(guarded: bool) -> Self {
        Ledger {
            entries: Vec::new(),
            guarded,
        }
    }

    /// Puts an entry `offset` places behind the database's; what stood there and behind is gone.
    pub(crate) fn put(&mut self, offset: u64, effect: Effect) -> Result<()> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if offset >= MAX_ENTRIES_BEYOND {
            return Err(Error::Unsupported {
                what: format!("more than {MAX_ENTRIES_BEYOND} entries behind the database"),
            });
        }
        self.entries.truncate(offset);
        let certain = effect.certain && !self.guarded;
        let flags = u8::from(certain) * CERTAIN + u8::from(effect.possible) * POSSIBLE;
        self.entries.push(effect.kind as u8 | flags);
        self.guarded |= effect.guards;
        Ok(())
    }

    /// `committed`: how many of them are known to be.
    pub(crate) fn sum(&self, committed: u64) -> Beyond {
        let mut sum = Beyond::default();
        for (at, &entry) in (0u64..).zip(&self.entries) {
            sum.entries += 1;
            if let Some(count) = sum.by_kind.get_mut(usize::from(entry & KIND_MASK)) {
                *count += 1;
            }
            let certain = u64::from(entry & CERTAIN != 0);
            sum.least += certain;
            sum.least_committed += if at < committed { certain } else { 0 };
            sum.most += u64::from(entry & POSSIBLE != 0);
        }
        sum
    }
}
