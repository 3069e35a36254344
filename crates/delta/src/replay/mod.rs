//! Deltas as ready `etcdserverpb.TxnRequest`s, one per main revision, for an etcd that replays them in order.
//!
//! What etcd makes of such a request is the same record, byte for byte: the revision follows from the order, the
//! sub-revision from the place in the request, creation and version from the state before, value and lease are given.
//! So the digest over the records can be taken here, from the deltas alone, and compared with the database afterwards.
//!
//! `guard` says how many requests may be in flight at once without losing the order; `txn` has the bytes.

mod batch;
mod guard;
mod revision;
mod txn;

pub use batch::Batch;

use crate::ebd::EbdReader;
use crate::error::{Error, InFile, Result};
use crate::event::Change;
use bbolt::Cancel;
use etcd_data::{Checkpoint, RecordDigest, Revision};
use guard::Guard;
use revision::RevisionOps;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A batch is handed over when it is this large; a single larger revision makes a larger batch.
pub const BATCH_BYTES: usize = 1 << 20;
/// Largest revision that can be replayed: gRPC messages are below 2 GiB.
pub const REVISION_BYTES_MAX: usize = 1 << 30;
/// Lease ids remembered. At the bound the memory starts anew: an id may then be named as new once more.
const LEASES_MAX: usize = 1 << 20;

/// Replays any number of `.ebd` files, one after the other. Memory is one block, one batch, and the largest revision.
pub struct Replay {
    position: i64,
    current: Option<Current>,
    digest: RecordDigest,
    guard: Guard,
    leases: HashSet<i64>,
    batch: Batch,
    record: Vec<u8>,
}

/// The file that is being read.
struct Current {
    path: PathBuf,
    reader: EbdReader,
    /// Main of the events that are being collected, or of those passed over.
    main: i64,
    sub: u64,
    /// Whether `main` is above the position and collected in `ops`.
    collecting: bool,
    ops: RevisionOps,
}

impl Replay {
    /// Starts above `after_revision`: everything up to it is in the base.
    #[must_use]
    pub fn new(after_revision: i64) -> Self {
        Self {
            position: after_revision,
            current: None,
            digest: RecordDigest::new(),
            guard: Guard::default(),
            leases: HashSet::new(),
            batch: Batch::default(),
            record: Vec::new(),
        }
    }

    /// The last main revision that was handed over, or that the base has.
    #[must_use]
    pub fn position(&self) -> i64 {
        self.position
    }

    /// The digest up to [`Replay::position`]; taken at the end of a file it is one checkpoint of the proof.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            revision: self.position,
            sha256: self.digest.checkpoint(),
        }
    }

    /// Begins the next file. Revisions up to the position are passed over; a hole is `REVISION_GAP`, at once.
    pub fn open(&mut self, path: &Path) -> Result<()> {
        if let Some(current) = &self.current {
            return Err(Error::Usage(format!(
                "replay: {} has not been read to its end",
                current.path.display()
            )));
        }
        let reader = EbdReader::open(path)?;
        let first = reader.tail().trailer.first_revision;
        let next = self.position.saturating_add(1);
        if first > next {
            let what = format!("the delta starts at {first}, expected {next} or less");
            let gap = Error::RevisionGap {
                first_missing: next,
                last_missing: first.saturating_sub(1),
                what,
            };
            return Err(gap).in_file("replay", path);
        }
        self.current = Some(Current {
            path: path.to_owned(),
            reader,
            main: first.saturating_sub(1),
            sub: 0,
            collecting: false,
            ops: RevisionOps::default(),
        });
        Ok(())
    }

    /// The next requests, or `None` at the end of the file, when its digest has been compared.
    pub fn next_batch(&mut self, cancel: &Cancel) -> Result<Option<Batch>> {
        let Some(mut current) = self.current.take() else {
            return Ok(None);
        };
        match self
            .fill(&mut current, cancel)
            .in_file("replay", &current.path)
        {
            Ok(true) => {
                self.current = Some(current);
                Ok(Some(std::mem::take(&mut self.batch)))
            }
            Ok(false) => Ok(self.batch.take_unless_empty()),
            Err(error) => Err(error),
        }
    }

    /// Fills the batch; `false` when the file has ended. A block is always used up, so a batch may exceed its bound
    /// by the requests of one block.
    fn fill(&mut self, current: &mut Current, cancel: &Cancel) -> Result<bool> {
        let Current {
            reader,
            main,
            sub,
            collecting,
            ops,
            ..
        } = current;
        while !self.batch.is_full() {
            cancel.check()?;
            let Some(block) = reader.next_block()? else {
                if *collecting {
                    self.close_revision(*main, ops)?;
                    *collecting = false;
                }
                return Ok(false);
            };
            let mut events = block.events();
            while let Some(stored) = events.next_event()? {
                let change = Change::parse(stored.bytes)?;
                if change.kv.mod_revision == *main {
                    *sub += 1;
                } else {
                    if *collecting {
                        self.close_revision(*main, ops)?;
                    }
                    (*main, *sub) = (next_main(*main, change.kv.mod_revision)?, 0);
                    *collecting = *main > self.position;
                }
                if *collecting {
                    self.take(&change, *sub, ops)?;
                }
            }
        }
        Ok(true)
    }

    fn take(&mut self, change: &Change<'_>, sub: u64, ops: &mut RevisionOps) -> Result<()> {
        let kv = &change.kv;
        let revision = Revision::new(kv.mod_revision, sub.cast_signed());
        self.record.clear();
        change.record(&mut self.record);
        match change.kind {
            crate::Kind::Put => self.digest.update(&revision.to_key(), &self.record),
            crate::Kind::Delete => self
                .digest
                .update(&revision.to_tombstone_key(), &self.record),
        }
        let lease = change.head().lease;
        if lease != 0 {
            self.note_lease(lease);
        }
        ops.push(change)?;
        self.batch.events += 1;
        Ok(())
    }

    fn close_revision(&mut self, main: i64, ops: &mut RevisionOps) -> Result<()> {
        ops.find_pairs(main)?;
        self.batch.push(main, &self.guard, ops)?;
        self.guard.advance(main, ops);
        ops.clear();
        self.position = main;
        Ok(())
    }

    fn note_lease(&mut self, lease: i64) {
        if self.leases.len() >= LEASES_MAX {
            self.leases.clear();
        }
        if self.leases.insert(lease) {
            self.batch.leases.push(lease);
        }
    }
}

/// Revisions of a file are consecutive.
fn next_main(before: i64, main: i64) -> Result<i64> {
    if main == before.saturating_add(1) {
        return Ok(main);
    }
    if main < before {
        return Err(Error::NotSorted(format!(
            "an event of revision {main} follows one of revision {before}"
        )));
    }
    Err(Error::RevisionGap {
        first_missing: before.saturating_add(1),
        last_missing: main.saturating_sub(1),
        what: format!("an event of revision {main} follows one of revision {before}"),
    })
}
