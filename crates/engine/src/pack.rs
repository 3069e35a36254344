//! The packed writer: base and deltas become a new file whose pages lie in key order, without free ones.
//!
//! One pass, sequential, with constant memory. Nothing of the base's structure is taken over but its page size, so a base
//! whose freelist is wrong and whose records can be read gives a sound file.

use crate::Result;
use crate::source::{OpenSource, Source};
use bbolt::{Builder, Cancel};
use etcd_data::RecordDigest;
use etcd_data::carry::carry_buckets;
use etcd_data::leases::Lease;
use etcd_data::records::KEY_BUCKET;
use std::path::Path;

/// Records between two reports of progress.
const PROGRESS_RECORDS: u64 = 4096;

/// What the written file must be found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// Last revision of base and deltas.
    pub revision: i64,
    /// Records that were read.
    pub records_read: u64,
    /// Records of the new `key` bucket.
    pub records: u64,
    /// [`RecordDigest`] over these.
    pub sha256: [u8; 32],
    /// Length of the new file.
    pub bytes: u64,
}

/// What goes beside the records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Leases that the deltas granted.
    pub granted: &'a [Lease],
    /// Of a compaction that these records have been through.
    pub compacted_at: Option<i64>,
}

/// Writes all records and every other bucket of the base to the new file `target`, synced; removes it on failure.
/// `progress` is told how many records have been read. Own thread.
pub fn pack<P: AsRef<Path>>(
    source: &Source<'_, P>,
    granted: &[Lease],
    target: &Path,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Packed> {
    let beside = Beside {
        granted,
        compacted_at: None,
    };
    write_packed(
        &source.open(cancel)?,
        beside,
        target,
        |_| true,
        cancel,
        progress,
    )
}

/// Writes those records whose place among all is `kept`.
pub(crate) fn write_packed<P: AsRef<Path>>(
    source: &OpenSource<'_, P>,
    beside: Beside<'_>,
    target: &Path,
    kept: impl FnMut(u64) -> bool,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Packed> {
    let appender = Builder::create(target, source.base.page_size())?;
    let written = fill(appender, source, beside, kept, cancel, progress);
    if written.is_err() {
        // Best effort: the reason matters more, and what is left is no valid database.
        let _ = std::fs::remove_file(target);
    }
    written
}

fn fill<P: AsRef<Path>>(
    mut appender: bbolt::Appender,
    source: &OpenSource<'_, P>,
    beside: Beside<'_>,
    mut kept: impl FnMut(u64) -> bool,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Packed> {
    let (mut digest, mut place, mut revision) = (RecordDigest::new(), 0u64, 0);
    appender.replace_bucket(KEY_BUCKET, |out| -> Result<()> {
        revision = source.for_each(cancel, |_, record| {
            if kept(place) {
                out.put(record.key, record.value)?;
                digest.update(record.key, record.value);
            }
            place = place.saturating_add(1);
            if place.is_multiple_of(PROGRESS_RECORDS) {
                progress(place);
            }
            Ok(())
        })?;
        Ok(())
    })?;
    let Beside {
        granted,
        compacted_at,
    } = beside;
    carry_buckets(&mut appender, &source.base, granted, compacted_at, cancel)?;
    let meta = appender.commit()?;
    Ok(Packed {
        revision,
        records_read: place,
        records: digest.records(),
        sha256: digest.checkpoint(),
        bytes: meta.high_water.saturating_mul(u64::from(meta.page_size)),
    })
}
