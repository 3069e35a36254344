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

use crate::error::{InFile, Result};
use crate::records::{Record, Records};
use bbolt::Cancel;
use etcd_data::leases::Lease;
use etcd_data::{Checkpoint, RecordDigest};
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

/// Replays any number of `.ebd` files, one after the other. Memory is one block, one batch, the largest revision, and
/// the leases that the records name.
pub struct Replay {
    records: Records,
    digest: RecordDigest,
    requests: Requests,
    /// The file that is being read; errors name it.
    path: Option<PathBuf>,
}

/// Requests in the making.
struct Requests {
    /// The last main revision that was handed over, or that the base has.
    position: i64,
    /// Main of the changes that are being collected in `ops`.
    main: Option<i64>,
    ops: RevisionOps,
    guard: Guard,
    leases: HashSet<i64>,
    batch: Batch,
}

impl Replay {
    /// Starts above `after`: everything up to it is in the base.
    #[must_use]
    pub fn new(after: i64) -> Self {
        Self {
            records: Records::new(after, None),
            digest: RecordDigest::new(),
            requests: Requests {
                position: after,
                main: None,
                ops: RevisionOps::default(),
                guard: Guard::default(),
                leases: HashSet::new(),
                batch: Batch::default(),
            },
            path: None,
        }
    }

    /// The last main revision that was handed over, or that the base has.
    #[must_use]
    pub fn position(&self) -> i64 {
        self.requests.position
    }

    /// The digest up to [`Replay::position`]; taken at the end of a file it is one checkpoint of the proof.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            revision: self.requests.position,
            sha256: self.digest.checkpoint(),
        }
    }

    /// When the last record arrived, Unix milliseconds; `None` before the first.
    #[must_use]
    pub fn last_arrived_ms(&self) -> Option<i64> {
        self.records.last_arrived_ms()
    }

    /// The leases that records so far name and that their files grant.
    #[must_use]
    pub fn grants(&self) -> Vec<Lease> {
        self.records.grants()
    }

    /// Begins the next file. Revisions up to the position are passed over; a hole is `REVISION_GAP`, at once.
    pub fn open(&mut self, path: &Path) -> Result<()> {
        self.open_through(path, i64::MAX)
    }

    /// The same of a file of which only revisions up to `through` count.
    pub fn open_through(&mut self, path: &Path, through: i64) -> Result<()> {
        self.records.open_through(path, through)?;
        self.path = Some(path.to_owned());
        Ok(())
    }

    /// The next requests, or `None` at the end of the file, when its digest has been compared.
    pub fn next_batch(&mut self, cancel: &Cancel) -> Result<Option<Batch>> {
        let Some(path) = self.path.take() else {
            return Ok(None);
        };
        if self.fill(cancel).in_file("replay", &path)? {
            self.path = Some(path);
            return Ok(Some(std::mem::take(&mut self.requests.batch)));
        }
        Ok(self.requests.batch.take_unless_empty())
    }

    /// Fills the batch; `false` when the file has ended. A block is always used up, so a batch may exceed its bound
    /// by the requests of one block.
    fn fill(&mut self, cancel: &Cancel) -> Result<bool> {
        let Self {
            records,
            digest,
            requests,
            ..
        } = self;
        while !requests.batch.is_full() {
            let more = records.next_block(cancel, |record| {
                digest.update(&record.key.bytes(), record.value);
                requests.take(record)
            })?;
            if !more {
                requests.close_revision()?;
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Requests {
    fn take(&mut self, record: &Record<'_>) -> Result<()> {
        let main = record.key.revision.main;
        if self.main != Some(main) {
            self.close_revision()?;
            self.main = Some(main);
        }
        let lease = record.change.head().lease;
        if lease != 0 {
            self.note_lease(lease);
        }
        self.ops.push(&record.change)?;
        self.batch.events += 1;
        Ok(())
    }

    /// Makes a request of what was collected, if anything was.
    fn close_revision(&mut self) -> Result<()> {
        let Some(main) = self.main.take() else {
            return Ok(());
        };
        self.ops.find_pairs(main)?;
        self.batch.push(main, &self.guard, &self.ops)?;
        self.guard.advance(main, &self.ops);
        self.ops.clear();
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
