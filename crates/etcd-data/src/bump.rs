//! `--bump-revision N --mark-compacted`: revisions go on above what clients of the lost etcd have seen, and what they
//! hold below is answered with "compacted", so that they read anew instead of trusting their caches (hazard 38).
//!
//! As etcdutl does it: an empty record at the raised revision, and `meta.scheduledCompactRev` on it. The etcd that
//! starts finishes that compaction; the empty record stays. Unlike etcdutl, which counts from the last record, this counts
//! from the store's revision: a compacted deletion leaves no record, and the result could lie below what was seen.

use std::path::Path;

use bbolt::Appender;

use crate::error::{Error, Result};
use crate::meta::{META_BUCKET, Meta, SCHEDULED_COMPACT};
use crate::records::{KEY_BUCKET, record_range};
use crate::revision::Revision;
use crate::small_bucket::{read_small, write_small};

/// Raises the revision of the database at `path` in place, in one transaction, synced. Returns the raised one.
pub fn bump_revision(path: &Path, by: u64) -> Result<i64> {
    let mut appender = Appender::open(path)?;
    let last = record_range(appender.db())?.map(|(_, last)| last);
    let revision = Meta::read(appender.db())?.store_revision(last);
    let raised = i64::try_from(by)
        .ok()
        .filter(|by| *by > 0)
        .and_then(|by| revision.checked_add(by))
        .filter(|raised| *raised < i64::MAX)
        .ok_or_else(|| Error::Usage {
            what: format!(
                "bump-revision {by} on revision {revision}: give at least 1, and stay below 2^63"
            ),
        })?;
    let key = Revision::new(raised, 0).to_key();
    let mut meta = read_small(appender.db(), META_BUCKET)?;
    meta.insert(SCHEDULED_COMPACT.to_vec(), key.to_vec());
    write_small(&mut appender, META_BUCKET, &meta)?;
    appender.extend_bucket(KEY_BUCKET, |out| out.put(&key, &[]))?;
    appender.commit()?;
    Ok(raised)
}
