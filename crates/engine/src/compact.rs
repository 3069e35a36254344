//! Compaction of base and deltas, without an etcd, in two passes: what survives is known only after what follows.
//!
//! A compaction at revision C keeps, of the records at or below C, each key's newest one unless it is a tombstone, and
//! everything above C. etcd since 3.4.34, 3.5.16 and 3.6 also keeps a tombstone whose main revision is C itself, so that a
//! watch that starts at C still sees the deletion; older ones remove it (`keyIndex.compact`; HashKV leaves it out either
//! way). A compaction that the base has been through before makes no difference: it removed nothing that this one keeps.
//!
//! # Memory
//! First pass: a table of 24 bytes per slot and a fixed bound ([`TABLE_BYTES`]); keys beyond it are the next scan's. What
//! comes out of it: 4 bytes per survivor at or below C. Second pass: that list, and the writer's constant. So memory is
//! a constant and at most 12 bytes per live key (the list is copied as it grows), whatever base and deltas hold.
//!
//! # Keys are told apart by fingerprints
//! A survivor lost to a collision would be lost silently. So the table's own fingerprint of 95 bits is accompanied by
//! 63 bits of a hash under other seeds, and two keys that agree in the first and differ in the second end the compaction
//! with an error: the next try has new seeds.

mod newest;
mod survivors;

use crate::Result;
use crate::pack::{Packed, write_packed};
use crate::source::Source;
use bbolt::Cancel;
use etcd_data::Meta;
use std::path::Path;
pub(crate) use survivors::{Survivors, find as find_survivors};

/// Bound of the first pass's table: 1.4 million keys per scan.
pub const TABLE_BYTES: usize = 48 << 20;

/// How to compact.
#[derive(Debug, Clone, Copy)]
pub struct Compaction {
    /// C.
    pub at: i64,
    /// Whether a tombstone at C itself stays, as etcd has it since 3.4.34, 3.5.16 and 3.6.
    pub keeps_tombstones_at: bool,
    /// Bound of the first pass's table.
    pub table_bytes: usize,
}

impl Compaction {
    /// As a current etcd would compact.
    #[must_use]
    pub fn at(at: i64) -> Self {
        Self {
            at,
            keeps_tombstones_at: true,
            table_bytes: TABLE_BYTES,
        }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Keys that are alive at C.
    pub live_keys: u64,
    /// Reads of the whole source that the first pass took.
    pub scans: u32,
    /// The new file.
    pub packed: Packed,
}

/// Writes what survives, and every other bucket of the base with the marks of a finished compaction, to the new file
/// `target`, synced; removes it on failure. COMPACTED when the base has been compacted there or beyond.
///
/// `progress` is told how many records have been read, over all passes. Own thread.
pub fn compact<P: AsRef<Path>>(
    source: &Source<'_, P>,
    compaction: &Compaction,
    target: &Path,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Compacted> {
    let source = source.open()?;
    check_revision(&source.meta, compaction.at)?;
    let found = find_survivors(&source, compaction, cancel, progress)?;
    let mut places = found.places.iter().peekable();
    let survives = |place: u64| {
        place >= found.above || places.next_if(|kept| u64::from(**kept) == place).is_some()
    };
    let before = found.records_read;
    let told = |records| progress(before.saturating_add(records));
    let at = Some(compaction.at);
    let packed = write_packed(&source, at, target, survives, cancel, &told)?;
    Ok(Compacted {
        live_keys: found.live_keys,
        scans: found.scans,
        packed,
    })
}

/// As etcd answers: what is compacted stays so, and twice at one revision is refused. A compaction that was begun and not
/// finished may be done again.
fn check_revision(base: &Meta, at: i64) -> Result<()> {
    if at >= base.removed_up_to() && at > base.compact_revision() {
        return Ok(());
    }
    Err(etcd_data::Error::Compacted {
        what: format!(
            "compaction at revision {at}: the base is compacted at {}",
            base.removed_up_to()
        ),
    }
    .into())
}
