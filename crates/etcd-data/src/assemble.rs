//! From the replay's database to the user's: the replayed `key` bucket beside the base's other buckets.
//!
//! The compaction marks belong to the `key` bucket: they come with it, from the replay. Everything else that the replaying
//! etcd wrote (its raft position, members, versions, leases, alarms) is replaced by what the base had; the leases that
//! the deltas granted are added; then the database is seated in its cluster. One transaction, in place.

use std::path::Path;

use bbolt::{Appender, Cancel, Db};

use crate::carry::pipe_bucket;
use crate::error::Result;
use crate::lease_merge::write_leases;
use crate::leases::{LEASE_BUCKET, Lease};
use crate::meta::{FINISHED_COMPACT, META_BUCKET, SCHEDULED_COMPACT};
use crate::records::KEY_BUCKET;
use crate::seat::{Schema, Seat};
use crate::small_bucket::read_small;

/// Changes the file at `replayed`; `base` is only read. `extra_leases` are those that the deltas granted.
pub fn assemble(
    replayed: &Path,
    base: &Path,
    extra_leases: &[Lease],
    seat: &Seat<'_>,
    cancel: &Cancel,
) -> Result<()> {
    let base = Db::open(base)?;
    let mut appender = Appender::open(replayed)?;
    let mut schema = Schema::read(&base)?;
    let marks = read_small(appender.db(), META_BUCKET)?;
    for mark in [SCHEDULED_COMPACT, FINISHED_COMPACT] {
        schema.meta.remove(mark);
        if let Some(revision) = marks.get(mark) {
            schema.meta.insert(mark.to_vec(), revision.clone());
        }
    }
    schema.seat(seat);
    drop_other_buckets(&mut appender, &base)?;
    for (name, _) in base.buckets()? {
        let written_below = Schema::BUCKETS.contains(&name.as_slice())
            || [KEY_BUCKET, LEASE_BUCKET].contains(&name.as_slice());
        if !written_below {
            pipe_bucket(&mut appender, &base, &name, cancel)?;
        }
    }
    write_leases(&mut appender, &base, extra_leases, |lease| lease)?;
    schema.write(&mut appender)?;
    appender.commit()?;
    Ok(())
}

/// What the replaying etcd has and the base lacks.
fn drop_other_buckets(appender: &mut Appender, base: &Db) -> Result<()> {
    for (name, _) in appender.db().buckets()? {
        if name != KEY_BUCKET && base.bucket(&name)?.is_none() {
            appender.remove_bucket(&name)?;
        }
    }
    Ok(())
}
