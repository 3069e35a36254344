//! The packed writer: base and deltas become a new file whose pages lie in key order, without free ones.
//!
//! One pass, sequential, with constant memory (and 16 bytes per lease that the deltas grant). Nothing of the base's
//! structure is taken over but its page size, so a base whose freelist is wrong and whose records can be read gives a
//! sound file.

use crate::Result;
use crate::source::{OpenSource, Source};
use bbolt::{Appender, Builder, Cancel};
use etcd_data::carry::carry_buckets;
use etcd_data::records::KEY_BUCKET;
use etcd_data::{Checkpoint, RecordDigest};
use std::path::Path;

/// Records between two reports of progress.
const PROGRESS_RECORDS: u64 = 4096;

/// What was read, and what the written file must be found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// Last revision of base and deltas.
    pub revision: i64,
    /// Records that were read.
    pub records_read: u64,
    /// Of these, records of the deltas.
    pub events: u64,
    /// Arrival of the last of them, Unix milliseconds.
    pub last_event_ms: Option<i64>,
    /// Records of the new `key` bucket.
    pub records: u64,
    /// [`RecordDigest`] over these.
    pub sha256: [u8; 32],
    /// The same over those above the base alone; `None` when there are none.
    pub above_base: Option<Checkpoint>,
    /// Length of the new file.
    pub bytes: u64,
}

/// Writes all records, the leases that the deltas grant, and every other bucket of the base to the new file `target`,
/// synced; removes it on failure. `progress` is told how many records have been read. Own thread.
pub fn pack<P: AsRef<Path>>(
    source: &Source<'_, P>,
    target: &Path,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Packed> {
    write_packed(&source.open()?, None, target, |_| true, cancel, progress)
}

/// Writes those records whose place among all is `kept`; `compacted_at`: they have been through a compaction.
pub(crate) fn write_packed<P: AsRef<Path>>(
    source: &OpenSource<'_, P>,
    compacted_at: Option<i64>,
    target: &Path,
    kept: impl FnMut(u64) -> bool,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Packed> {
    let appender = Builder::create(target, source.base.page_size())?;
    let written = fill(appender, source, compacted_at, kept, cancel, progress);
    if written.is_err() {
        // Best effort: the reason matters more, and what is left is no valid database.
        let _ = std::fs::remove_file(target);
    }
    written
}

fn fill<P: AsRef<Path>>(
    mut appender: Appender,
    source: &OpenSource<'_, P>,
    compacted_at: Option<i64>,
    mut kept: impl FnMut(u64) -> bool,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Packed> {
    let (mut digest, mut above_base) = (RecordDigest::new(), RecordDigest::new());
    let (mut place, mut end) = (0u64, None);
    appender.replace_bucket(KEY_BUCKET, |out| -> Result<()> {
        let read = source.for_each(cancel, |key, record| {
            if kept(place) {
                out.put(record.key, record.value)?;
                digest.update(record.key, record.value);
                if key.revision.main > source.base_revision() {
                    above_base.update(record.key, record.value);
                }
            }
            place = place.saturating_add(1);
            if place.is_multiple_of(PROGRESS_RECORDS) {
                progress(place);
            }
            Ok(())
        })?;
        end = Some(read);
        Ok(())
    })?;
    let Some(end) = end else {
        return Err(crate::Error::Usage("nothing was read".to_owned()));
    };
    carry_buckets(
        &mut appender,
        &source.base,
        &end.granted,
        compacted_at,
        cancel,
    )?;
    let meta = appender.commit()?;
    Ok(Packed {
        revision: end.revision,
        records_read: place,
        events: end.events,
        last_event_ms: end.last_event_ms,
        records: digest.records(),
        sha256: digest.checkpoint(),
        above_base: (above_base.records() > 0).then(|| Checkpoint {
            revision: end.revision,
            sha256: above_base.checkpoint(),
        }),
        bytes: meta.high_water.saturating_mul(u64::from(meta.page_size)),
    })
}
