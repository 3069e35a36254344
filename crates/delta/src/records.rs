//! Deltas as the records that etcd stores for them, in bucket order: for an applier that writes the bucket itself.

use crate::ebd::EbdReader;
use crate::error::{Error, InFile, Result};
use crate::event::{Change, Kind};
use crate::order::MainOrder;
use bbolt::Cancel;
use etcd_data::{RecordKey, Revision};
use std::path::Path;

/// One change as it goes into the `key` bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Key in the bucket.
    pub key: RecordKey,
    /// Value in the bucket: the pair in canonical form, or a tombstone.
    pub value: &'a [u8],
    /// The event that it comes from.
    pub change: Change<'a>,
    /// When it arrived, Unix milliseconds.
    pub arrived_ms: i64,
}

/// Reads any number of `.ebd` files, one after the other, without a hole. Memory is one block.
#[derive(Debug)]
pub struct Records {
    position: i64,
    until: i64,
    value: Vec<u8>,
}

impl Records {
    /// Passes over revisions up to `after`, which the base has, and stops behind `until`.
    #[must_use]
    pub fn new(after: i64, until: Option<i64>) -> Self {
        Self {
            position: after,
            until: until.unwrap_or(i64::MAX),
            value: Vec::new(),
        }
    }

    /// Main revision of the last record, or the one that the base has.
    #[must_use]
    pub fn position(&self) -> i64 {
        self.position
    }

    /// Hands every record of the file to `take`. REVISION_GAP when it starts too late. A file that is read to its end
    /// has been compared with its digest; one that goes on behind `until` is left there.
    pub fn read_file<E: From<Error>>(
        &mut self,
        path: &Path,
        cancel: &Cancel,
        mut take: impl FnMut(&Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut reader = EbdReader::open(path)?;
        let first = reader.tail().trailer.first_revision;
        self.check_start(first).in_file("read", path)?;
        let mut order = MainOrder::starting_at(first);
        let after = self.position;
        // A revision may span blocks: only one behind `until` says that all of it has gone by.
        while order.main().is_none_or(|main| main <= self.until) {
            cancel.check().map_err(Error::from)?;
            let Some(block) = reader.next_block().in_file("read", path)? else {
                break;
            };
            let mut events = block.events();
            while let Some(stored) = events.next_event().in_file("read", path)? {
                let change = Change::parse(stored.bytes).in_file("read", path)?;
                let main = change.kv.mod_revision;
                let sub = order.step(main).in_file("read", path)?;
                if main <= after || main > self.until {
                    continue;
                }
                self.position = main;
                self.value.clear();
                change.record(&mut self.value);
                take(&Record {
                    key: RecordKey {
                        revision: Revision::new(main, sub.cast_signed()),
                        tombstone: change.kind == Kind::Delete,
                    },
                    value: &self.value,
                    change,
                    arrived_ms: stored.arrived_ms,
                })?;
            }
        }
        Ok(())
    }

    fn check_start(&self, first: i64) -> Result<()> {
        let next = self.position.saturating_add(1);
        if first <= next {
            return Ok(());
        }
        Err(Error::RevisionGap {
            first_missing: next,
            last_missing: first.saturating_sub(1),
            what: format!("the delta starts at {first}, expected {next} or less"),
        })
    }
}
