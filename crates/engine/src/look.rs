//! Looking into a backup: the state of some keys at a revision, their history, or what differs between two revisions.
//!
//! A [`Look`] is asked one [`Query`], is handed fulls and deltas in any order, each with the revisions that it is to
//! answer for, and then gives the answer in order of keys, in batches. What may be of use is taken as an entry (key,
//! revision, numbers, value); entries beyond a bound go to a nameless temporary file in sorted runs, and the answer is a
//! merge of the runs ([`sorter`]). So memory does not grow with the database, the deltas, or the answer.
//!
//! | read | how |
//! |---|---|
//! | plain database | by tree, from the far end for the newest state of one key, which ends at the first hit |
//! | seekable `.zst` | from the far end while that is cheap, else once front to back (`bbolt`'s sweep), frames decompressed ahead |
//! | other packed fulls | unpacked into a nameless temporary file first |
//! | `.ebd` | only the blocks that can matter by the index; from the far end for the newest state of one key |
//! | the Go tool's JSON | front to back |
//!
//! What is read is checked as far as it is read: frames, blocks, pages; digests over whole objects are for `verify`.

mod answer;
mod delta_source;
mod entry;
mod full;
mod full_source;
mod identify;
mod query;
mod row;
mod runs;
mod sorter;
mod spill;
#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use delta_source::DeltaFacts;
pub use full::{Full, FullFacts};
pub use full_source::FullRead;
pub use identify::{BackupKind, identify};
pub use query::{Ask, Keys, Query, Side};
pub use row::{NO_TIME, ROW_HEAD_BYTES, RowKind};

use crate::{Error, Result};
use bbolt::Live;
use entry::Entry;
use sorter::Sorter;
use std::collections::HashMap;

/// One question, and what has been found for its answer so far.
pub struct Look {
    query: Query,
    sorter: Sorter,
    /// Pages whose records count, of fulls that were read in the order of the file.
    live: HashMap<u32, Live>,
}

impl Look {
    /// A question before anything was read.
    #[must_use]
    pub fn new(query: Query) -> Self {
        let sorter = Sorter::new(&query);
        Self {
            query,
            sorter,
            live: HashMap::new(),
        }
    }

    /// What is asked.
    #[must_use]
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Everything was handed over: the answer.
    pub fn answer(self) -> Result<Answer> {
        Ok(Answer::new(
            self.query.ask,
            self.sorter.finish()?,
            self.live,
        ))
    }

    /// Takes what matters to the question; `side` says for which revision the source was handed over.
    fn take(&mut self, side: Side, mut entry: Entry<'_>) -> Result<()> {
        entry.head.sides = self.query.sides_of(side, entry.head.main);
        if entry.head.sides == 0 {
            return Ok(());
        }
        if !self.query.with_values {
            entry.value = &[];
        }
        self.sorter.push(&entry)
    }

    /// History that is compacted away cannot answer for what was before.
    fn refuse_compacted(&self, side: Side, compacted: i64) -> Result<()> {
        let asked = self.query.lowest_asked(side);
        match asked {
            Some(asked) if asked < compacted => Err(Error::Data(etcd_data::Error::Compacted {
                what: format!(
                    "revision {asked} is compacted away here; the oldest that can be read is {compacted}"
                ),
            })),
            _ => Ok(()),
        }
    }
}
