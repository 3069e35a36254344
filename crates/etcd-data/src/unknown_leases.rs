//! Keys that hang on leases nobody knows: the Go tool's deltas carry lease ids but no grants. etcd starts, logs
//! "failed to attach a lease", and such keys never expire.

use std::collections::HashSet;
use std::path::Path;

use bbolt::{Appender, Cancel, Db};

use crate::error::Result;
use crate::lease_merge::add_leases;
use crate::leases::{Lease, lease_ids};
use crate::partition::{PartitionTable, TABLE_BUDGET_BYTES};
use crate::records::{Walk, for_each_record};
use crate::revision::{RecordKey, Revision};

/// Most different lease ids that are told apart: 8 bytes each.
const MAX_DISTINCT_LEASES: usize = 1_000_000;

/// How many keys would never expire, and how many leases they name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnknownLeases {
    /// Different unknown ids; a lower bound at [`MAX_DISTINCT_LEASES`].
    pub leases: u64,
    /// Live keys that name one.
    pub keys: u64,
}

/// Looks at the newest record of every key.
pub fn unknown_leases(db: &Db, cancel: &Cancel) -> Result<UnknownLeases> {
    Ok(find(db, cancel)?.0)
}

/// Grants every unknown lease `ttl_seconds` to live, in place, and says how many there were. Beyond
/// [`MAX_DISTINCT_LEASES`] it does so in several rounds.
pub fn grant_unknown_leases(
    path: &Path,
    ttl_seconds: i64,
    cancel: &Cancel,
) -> Result<UnknownLeases> {
    let mut all = UnknownLeases::default();
    loop {
        let db = Db::open(path)?;
        let (found, ids) = find(&db, cancel)?;
        if all.leases == 0 {
            all.keys = found.keys;
        }
        if ids.is_empty() {
            return Ok(all);
        }
        all.leases = all.leases.saturating_add(found.leases);
        let grants: Vec<Lease> = ids
            .into_iter()
            .map(|id| Lease::granted(id, ttl_seconds))
            .collect();
        let mut appender = Appender::open(path)?;
        add_leases(&mut appender, &db, &grants)?;
        cancel.check()?;
        appender.commit()?;
    }
}

fn find(db: &Db, cancel: &Cancel) -> Result<(UnknownLeases, HashSet<i64>)> {
    let known = lease_ids(db)?;
    let mut table = PartitionTable::<i64>::new(TABLE_BUDGET_BYTES);
    let (mut leases, mut keys) = (HashSet::new(), 0u64);
    loop {
        for_each_record(db, None, cancel, |record| {
            let RecordKey {
                revision,
                tombstone,
            } = record.record_key()?;
            let kv = record.key_value(revision)?;
            let unknown = !tombstone && kv.lease != 0 && known.binary_search(&kv.lease).is_err();
            let Some(print) = table.fingerprint(kv.key) else {
                return Ok(Walk::On);
            };
            if unknown {
                table.insert(print, kv.lease);
            } else {
                table.remove(print);
            }
            Ok(Walk::On)
        })?;
        for lease in table.payloads() {
            keys = keys.saturating_add(1);
            if leases.len() < MAX_DISTINCT_LEASES {
                leases.insert(*lease);
            }
        }
        if !table.next_range() {
            let found = UnknownLeases {
                leases: leases.len() as u64,
                keys,
            };
            return Ok((found, leases));
        }
    }
}

/// Lease ids that puts after a revision name, ascending: what a replay must know to judge its deltas' leases.
pub fn leases_referred_to(db: &Db, after: i64, cancel: &Cancel) -> Result<Vec<i64>> {
    let mut leases = HashSet::new();
    let from = Revision::new(after.saturating_add(1), 0);
    for_each_record(db, Some(from), cancel, |record| {
        let at = record.record_key()?.revision;
        let lease = record.key_value(at)?.lease;
        if lease != 0 && leases.len() < MAX_DISTINCT_LEASES {
            leases.insert(lease);
        }
        Ok(Walk::On)
    })?;
    let mut leases: Vec<i64> = leases.into_iter().collect();
    leases.sort_unstable();
    Ok(leases)
}
