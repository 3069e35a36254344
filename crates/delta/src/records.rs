//! Deltas as the records that etcd stores for them, in bucket order: for whoever writes the bucket, or a digest of it.

use crate::ebd::EbdReader;
use crate::error::{Error, InFile, Result};
use crate::event::{Change, Kind};
use crate::file::read_leases;
use crate::grants::Grants;
use crate::order::MainOrder;
use bbolt::Cancel;
use etcd_data::leases::Lease;
use etcd_data::{RecordKey, Revision};
use std::path::{Path, PathBuf};

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

/// Reads any number of `.ebd` files, one after the other, without a hole. Memory is one block, and the leases that the
/// records name.
pub struct Records {
    position: i64,
    until: i64,
    file: Option<OpenFile>,
    grants: Grants,
    count: u64,
    last_arrived_ms: Option<i64>,
    value: Vec<u8>,
}

/// The file that is being read.
struct OpenFile {
    path: PathBuf,
    reader: EbdReader,
    order: MainOrder,
    /// Position when it was opened: what it holds up to there has been had.
    after: i64,
    /// Last revision of it that counts.
    through: i64,
}

impl Records {
    /// Passes over revisions up to `after`, which the base has, and stops behind `until`.
    #[must_use]
    pub fn new(after: i64, until: Option<i64>) -> Self {
        Self {
            position: after,
            until: until.unwrap_or(i64::MAX),
            file: None,
            grants: Grants::default(),
            count: 0,
            last_arrived_ms: None,
            value: Vec::new(),
        }
    }

    /// Main revision of the last record, or the one that the base has.
    #[must_use]
    pub fn position(&self) -> i64 {
        self.position
    }

    /// Records handed out so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// When the last record arrived, Unix milliseconds; `None` before the first.
    #[must_use]
    pub fn last_arrived_ms(&self) -> Option<i64> {
        self.last_arrived_ms
    }

    /// The leases that records handed out so far name and that their files grant, ascending by id.
    #[must_use]
    pub fn grants(&self) -> Vec<Lease> {
        self.grants.list()
    }

    /// Begins the next file. REVISION_GAP when it starts too late.
    pub fn open(&mut self, path: &Path) -> Result<()> {
        self.open_through(path, i64::MAX)
    }

    /// The same of a file of which only revisions up to `through` count: it may go on in a history that was left.
    /// Nothing is opened when all that counts has been had.
    pub fn open_through(&mut self, path: &Path, through: i64) -> Result<()> {
        if let Some(file) = &self.file {
            return Err(Error::Usage(format!(
                "{} has not been read to its end",
                file.path.display()
            )));
        }
        let through = through.min(self.until);
        if self.position >= through {
            return Ok(());
        }
        let reader = EbdReader::open(path)?;
        let first = reader.tail().trailer.first_revision;
        self.check_start(first).in_file("read", path)?;
        let granted = read_leases(path, reader.tail()).in_file("read leases of", path)?;
        self.grants.begin_file(granted);
        self.file = Some(OpenFile {
            path: path.to_owned(),
            reader,
            order: MainOrder::starting_at(first),
            after: self.position,
            through,
        });
        Ok(())
    }

    /// Hands the records of the open file's next block to `take`; false when there was none. A file that is read to its
    /// end has been compared with its digest; one that goes on behind what counts is left there.
    pub fn next_block<E: From<Error>>(
        &mut self,
        cancel: &Cancel,
        mut take: impl FnMut(&Record<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(mut file) = self.file.take() else {
            return Ok(false);
        };
        cancel.check().map_err(Error::from)?;
        let more = self.read_block(&mut file, &mut take)?;
        if more {
            self.file = Some(file);
        }
        Ok(more)
    }

    /// Opens a file and hands all its records to `take`.
    pub fn read_file<E: From<Error>>(
        &mut self,
        path: &Path,
        cancel: &Cancel,
        mut take: impl FnMut(&Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(path)?;
        while self.next_block(cancel, &mut take)? {}
        Ok(())
    }

    fn read_block<E: From<Error>>(
        &mut self,
        file: &mut OpenFile,
        take: &mut impl FnMut(&Record<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let path = &file.path;
        // A revision may span blocks: only a later one says that all of it has gone by.
        if file.order.main().is_some_and(|main| main > file.through) {
            return Ok(false);
        }
        let Some(block) = file.reader.next_block().in_file("read", path)? else {
            return Ok(false);
        };
        let mut events = block.events();
        while let Some(stored) = events.next_event().in_file("read", path)? {
            let change = Change::parse(stored.bytes).in_file("read", path)?;
            let main = change.kv.mod_revision;
            let sub = file.order.step(main).in_file("read", path)?;
            if main <= file.after || main > file.through {
                continue;
            }
            self.position = main;
            self.count = self.count.saturating_add(1);
            self.last_arrived_ms = Some(stored.arrived_ms);
            self.grants
                .name(change.head().lease)
                .in_file("read", path)?;
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
        Ok(true)
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
