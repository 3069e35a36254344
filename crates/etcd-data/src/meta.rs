//! The `meta` bucket: raft position, compaction marks, version mark.
//!
//! | key | value |
//! |---|---|
//! | `consistent_index`, `term` | u64 BE |
//! | `scheduledCompactRev`, `finishedCompactRev` | 17-byte revision key with sub 0 |
//! | `confState` | JSON of the old cluster; nobody reads it at boot |
//! | `storageVersion` | text `3.6.0`; only 3.6 and later |

use bbolt::Db;

use crate::error::{Error, Result};
use crate::revision::{RecordKey, Revision};

/// The bucket's name.
pub const META_BUCKET: &[u8] = b"meta";
/// Raft index of the last applied entry.
pub const CONSISTENT_INDEX: &[u8] = b"consistent_index";
/// Raft term of that entry.
pub const TERM: &[u8] = b"term";
/// Compaction that was asked for.
pub const SCHEDULED_COMPACT: &[u8] = b"scheduledCompactRev";
/// Compaction whose removals are done.
pub const FINISHED_COMPACT: &[u8] = b"finishedCompactRev";
/// Schema version of 3.6 and later.
pub const STORAGE_VERSION: &[u8] = b"storageVersion";

/// What `compact_revision` is when there was no compaction; etcd reports the same number.
pub const NEVER_COMPACTED: i64 = -1;

/// The bucket's content; absent records are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Raft index of the last applied entry.
    pub consistent_index: Option<u64>,
    /// Raft term of that entry; since 3.5.
    pub term: Option<u64>,
    /// Revision of the last finished compaction.
    pub finished_compact: Option<i64>,
    /// Revision of the last compaction that was begun.
    pub scheduled_compact: Option<i64>,
    /// `3.6.0`, `3.7.0`; absent before 3.6.
    pub storage_version: Option<String>,
}

impl Meta {
    /// Reads the bucket. A database without one was never an etcd's.
    pub fn read(db: &Db) -> Result<Self> {
        let bucket = db
            .bucket(META_BUCKET)?
            .ok_or_else(|| Error::corrupt("no bucket \"meta\": not an etcd database"))?;
        Ok(Meta {
            consistent_index: number(bucket.get(CONSISTENT_INDEX)?, "consistent_index")?,
            term: number(bucket.get(TERM)?, "term")?,
            finished_compact: revision(bucket.get(FINISHED_COMPACT)?, "finishedCompactRev")?,
            scheduled_compact: revision(bucket.get(SCHEDULED_COMPACT)?, "scheduledCompactRev")?,
            storage_version: bucket
                .get(STORAGE_VERSION)?
                .map(|text| String::from_utf8_lossy(&text).into_owned()),
        })
    }

    /// As etcd reports it: -1 when nothing was ever compacted.
    #[must_use]
    pub fn compact_revision(&self) -> i64 {
        self.finished_compact.unwrap_or(NEVER_COMPACTED)
    }

    /// Records up to here may be gone: the removals of a begun compaction may have been done in part.
    #[must_use]
    pub fn removed_up_to(&self) -> i64 {
        self.finished_compact
            .max(self.scheduled_compact)
            .unwrap_or(NEVER_COMPACTED)
    }

    /// The store's revision at boot: the last record's, or a compaction's beyond it (a deletion that was compacted away
    /// leaves no record), at least 1.
    #[must_use]
    pub fn store_revision(&self, last: Option<Revision>) -> i64 {
        last.map_or(1, |last| last.main)
            .max(self.removed_up_to())
            .max(1)
    }
}

fn number(value: Option<Vec<u8>>, name: &str) -> Result<Option<u64>> {
    let Some(bytes) = value else { return Ok(None) };
    match <[u8; 8]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ok(Some(u64::from_be_bytes(bytes))),
        Err(_) => Err(Error::corrupt(format!(
            "meta: {name} has {} bytes, expected 8",
            bytes.len()
        ))),
    }
}

fn revision(value: Option<Vec<u8>>, name: &str) -> Result<Option<i64>> {
    let Some(bytes) = value else { return Ok(None) };
    match RecordKey::parse(&bytes) {
        Some(key) if !key.tombstone => Ok(Some(key.revision.main)),
        _ => Err(Error::corrupt(format!("meta: {name} is not a revision"))),
    }
}
