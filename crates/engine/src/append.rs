//! Deltas appended to a base in place: their records behind the base's in the `key` bucket, the leases that they grant,
//! and the seat in the new cluster, all in one transaction.
//!
//! Keys of the `key` bucket are revisions, so every record of a delta sorts behind the base; leaves are packed, and the
//! base's pages stay where they are. Until the commit only pages behind the base's high-water mark are written, and
//! nothing points at them; the metas come last. Whoever stops before that leaves the base as it was.
//!
//! # Memory
//! It grows with none of base, deltas and events: one block of a delta ([`delta`]: 1 MiB, or one larger event), one leaf,
//! two branches per level of the tree, a write buffer of 1 MiB, and 16 bytes per lease that the deltas grant.
//!
//! # Proof
//! While it writes, a digest over the records is taken from the deltas; a checkpoint at the end of each file lets
//! [`etcd_data::prove_records`] find a wrong record once the file is read again.

use crate::error::{Error, Result};
use bbolt::{Appender, Cancel, Db};
use delta::Records;
use etcd_data::lease_merge::add_leases;
use etcd_data::records::{KEY_BUCKET, store_revision};
use etcd_data::{Checkpoint, RecordDigest, Seat, seat_within};
use std::path::{Path, PathBuf};

/// What was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Last main revision of the result.
    pub revision: i64,
    /// Records written.
    pub events: u64,
    /// One per file that had records to give.
    pub checkpoints: Vec<Checkpoint>,
    /// Arrival of the last event, Unix milliseconds; `None` without one.
    pub last_event_ms: Option<i64>,
    /// Leases that the deltas granted and that the base lacked or had.
    pub leases: u64,
}

/// Deltas as they arrive. A file may go once the next is asked for.
pub trait DeltaFiles {
    /// The next `.ebd`, in order, and the last of its revisions that counts; `None` behind the last one. May wait.
    fn next_file(&mut self) -> Result<Option<(PathBuf, i64)>>;

    /// Called after each block with the main revision that is reached.
    fn reached(&mut self, revision: i64);
}

/// Appends to the database at `base`, in place, seats the result, and syncs it. On an error the base's content stands as it was, though
/// the file may be longer.
pub fn append(
    base: &Path,
    deltas: &mut dyn DeltaFiles,
    seat: &Seat<'_>,
    cancel: &Cancel,
) -> Result<Appended> {
    let before = Db::open(base)?;
    let mut run = Run {
        records: Records::new(store_revision(&before)?, None),
        digest: RecordDigest::new(),
        checkpoints: Vec::new(),
    };
    let mut appender = Appender::open(base)?;
    appender.extend_bucket(KEY_BUCKET, |out| run.write(out, deltas, cancel))?;
    let grants = run.records.grants();
    add_leases(&mut appender, &before, &grants)?;
    seat_within(&mut appender, seat)?;
    cancel.check()?;
    appender.commit()?;
    Ok(Appended {
        revision: run.records.position(),
        events: run.records.count(),
        checkpoints: run.checkpoints,
        last_event_ms: run.records.last_arrived_ms(),
        leases: grants.len() as u64,
    })
}

struct Run {
    records: Records,
    digest: RecordDigest,
    checkpoints: Vec<Checkpoint>,
}

impl Run {
    fn write(
        &mut self,
        out: &mut bbolt::Records<'_>,
        deltas: &mut dyn DeltaFiles,
        cancel: &Cancel,
    ) -> Result<()> {
        while let Some((path, through)) = deltas.next_file()? {
            let before = self.records.position();
            self.records.open_through(&path, through)?;
            while self.write_block(out, cancel)? {
                deltas.reached(self.records.position());
            }
            if self.records.position() > before {
                self.checkpoints.push(Checkpoint {
                    revision: self.records.position(),
                    sha256: self.digest.checkpoint(),
                });
            }
        }
        Ok(())
    }

    fn write_block(&mut self, out: &mut bbolt::Records<'_>, cancel: &Cancel) -> Result<bool> {
        let Self {
            records, digest, ..
        } = self;
        records.next_block(cancel, |record| {
            let key = record.key.bytes();
            digest.update(&key, record.value);
            Ok::<(), Error>(out.put(&key, record.value)?)
        })
    }
}
