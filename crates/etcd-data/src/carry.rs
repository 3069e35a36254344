//! The way of everything but keys into a new file: a database that is written anew holds the base's other buckets.

use bbolt::{Appender, Cancel, Db};

use crate::error::Result;
use crate::lease_merge::write_leases;
use crate::leases::{LEASE_BUCKET, Lease};
use crate::meta::{FINISHED_COMPACT, META_BUCKET, SCHEDULED_COMPACT};
use crate::records::KEY_BUCKET;
use crate::revision::Revision;
use crate::small_bucket::{read_small, write_small};

/// Records piped between two looks at the cancel flag.
const CANCEL_POLL_RECORDS: u32 = 4096;

/// Writes every bucket of `base` but `key`: `lease` with those that deltas granted among the base's own, `meta` with the
/// marks of a finished compaction if there was one.
pub fn carry_buckets(
    appender: &mut Appender,
    base: &Db,
    granted: &[Lease],
    compacted_at: Option<i64>,
    cancel: &Cancel,
) -> Result<()> {
    for (name, _) in base.buckets()? {
        if ![KEY_BUCKET, LEASE_BUCKET, META_BUCKET].contains(&name.as_slice()) {
            pipe_bucket(appender, base, &name, cancel)?;
        }
    }
    write_leases(appender, base, granted, |lease| lease)?;
    let mut meta = read_small(base, META_BUCKET)?;
    if let Some(revision) = compacted_at {
        let mark = Revision::new(revision, 0).to_key();
        for name in [SCHEDULED_COMPACT, FINISHED_COMPACT] {
            meta.insert(name.to_vec(), mark.to_vec());
        }
    }
    write_small(appender, META_BUCKET, &meta)
}

/// The bucket as it is in `base`.
pub(crate) fn pipe_bucket(
    appender: &mut Appender,
    base: &Db,
    name: &[u8],
    cancel: &Cancel,
) -> Result<()> {
    let Some(bucket) = base.bucket(name)? else {
        return Ok(());
    };
    let mut scan = bucket.scan()?;
    appender.replace_bucket(name, |out| {
        let mut unpolled = 0u32;
        while let Some((key, value)) = scan.next()? {
            unpolled = unpolled.saturating_add(1);
            if unpolled >= CANCEL_POLL_RECORDS {
                cancel.check()?;
                unpolled = 0;
            }
            out.put(key, value)?;
        }
        Ok(())
    })
}
