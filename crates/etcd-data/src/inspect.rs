//! What a database says about itself, for people and for decisions.

use bbolt::{Cancel, Db};
use sha2::{Digest, Sha256};

use crate::alarms::{Alarm, alarms};
use crate::auth::auth_enabled;
use crate::error::Result;
use crate::leases::for_each_lease;
use crate::members::{StoredMember, cluster_version, stored_members};
use crate::meta::Meta;
use crate::records::{KEY_BUCKET, RawRecord, record_range};
use crate::revision::Revision;

const LEASES_BETWEEN_POLLS: u64 = 10_000;

/// Everything that can be had without reading the `key` bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct DbInfo {
    /// Bytes per page.
    pub page_size: u32,
    /// High-water mark times page size: the database's own length.
    pub data_bytes: u64,
    /// The store's revision at boot: last record, or a compaction beyond it, at least 1.
    pub revision: i64,
    /// -1 when never compacted.
    pub compact_revision: i64,
    /// Higher than `compact_revision` while removals are under way, and after `--mark-compacted`.
    pub scheduled_compact_revision: i64,
    /// Raft index of the last applied entry.
    pub consistent_index: Option<u64>,
    /// Raft term of that entry; since 3.5.
    pub term: Option<u64>,
    /// `3.6.0`, `3.7.0`; absent before 3.6.
    pub storage_version: Option<String>,
    /// Version that the members agreed on.
    pub cluster_version: Option<String>,
    /// Whether clients must log in.
    pub auth_enabled: bool,
    /// Members of the source.
    pub members: Vec<StoredMember>,
    /// Granted leases.
    pub leases: u64,
    /// Raised alarms.
    pub alarms: Vec<Alarm>,
    /// First record's revision; `None` for an empty store.
    pub first_record: Option<Revision>,
    /// Last record; `None` for an empty store.
    pub last_record: Option<LastRecord>,
    /// Bucket names.
    pub buckets: Vec<String>,
}

/// The newest change: with its digest it tells one history from another that has the same numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRecord {
    /// The user's key.
    pub key: Vec<u8>,
    /// Main and sub.
    pub revision: Revision,
    /// Whether it is a deletion.
    pub tombstone: bool,
    /// SHA-256 of the stored value, a `mvccpb.KeyValue`.
    pub sha256: [u8; 32],
}

/// Reads the small buckets and both ends of the `key` bucket.
pub fn inspect(db: &Db, cancel: &Cancel) -> Result<DbInfo> {
    let meta = Meta::read(db)?;
    let range = record_range(db)?;
    let mut leases = 0u64;
    for_each_lease(db, &mut |_| {
        leases = leases.saturating_add(1);
        if leases.is_multiple_of(LEASES_BETWEEN_POLLS) {
            Ok(cancel.check()?)
        } else {
            Ok(())
        }
    })?;
    let names = db.buckets()?;
    Ok(DbInfo {
        page_size: db.page_size(),
        data_bytes: db.high_water().saturating_mul(u64::from(db.page_size())),
        revision: meta.store_revision(range.map(|(_, last)| last)),
        compact_revision: meta.compact_revision(),
        scheduled_compact_revision: meta.removed_up_to(),
        consistent_index: meta.consistent_index,
        term: meta.term,
        storage_version: meta.storage_version,
        cluster_version: cluster_version(db)?,
        auth_enabled: auth_enabled(db)?,
        members: stored_members(db)?,
        leases,
        alarms: alarms(db)?,
        first_record: range.map(|(first, _)| first),
        last_record: last_record(db)?,
        buckets: names
            .iter()
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
            .collect(),
    })
}

/// The newest record, or `None` for an empty store.
pub fn last_record(db: &Db) -> Result<Option<LastRecord>> {
    let Some(bucket) = db.bucket(KEY_BUCKET)? else {
        return Ok(None);
    };
    let Some((key, value)) = bucket.last()? else {
        return Ok(None);
    };
    identity_of(RawRecord {
        key: &key,
        value: &value,
    })
    .map(Some)
}

/// The last record of one main revision; `None` when it has none here. A longer history that is the same one holds
/// the shorter one's last record with an equal key and digest.
pub fn last_record_at(db: &Db, main: i64) -> Result<Option<LastRecord>> {
    let Some(bucket) = db.bucket(KEY_BUCKET)? else {
        return Ok(None);
    };
    let mut scan = bucket.scan_from(&Revision::new(main, 0).to_key())?;
    let mut found = None;
    while let Some((key, value)) = scan.next()? {
        let record = RawRecord { key, value };
        if record.record_key()?.revision.main != main {
            break;
        }
        found = Some(identity_of(record)?);
    }
    Ok(found)
}

fn identity_of(record: RawRecord<'_>) -> Result<LastRecord> {
    let key = record.record_key()?;
    Ok(LastRecord {
        key: record.key_value(key.revision)?.key.to_vec(),
        revision: key.revision,
        tombstone: key.tombstone,
        sha256: Sha256::digest(record.value).into(),
    })
}
