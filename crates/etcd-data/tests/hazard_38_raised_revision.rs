//! Hazard 38: a restored etcd counts on above what clients of the lost one have seen, or they keep stale caches.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod fixture;

use std::fs;
use std::path::Path;

use bbolt::{Appender, Cancel, Db};
use etcd_data::meta::{FINISHED_COMPACT, META_BUCKET, SCHEDULED_COMPACT};
use etcd_data::{DbInfo, MvccOptions, Revision, bump_revision, inspect, mvcc_check};
use fixture::Unpacked;

fn info(db: &Path) -> DbInfo {
    inspect(&Db::open(db).unwrap(), &Cancel::never()).unwrap()
}

/// Without the SHA-256 at its end, as it lies in a data directory.
fn database(snapshot: &Unpacked) -> std::path::PathBuf {
    let path = snapshot.path();
    let bytes = info(&path).data_bytes;
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(bytes)
        .unwrap();
    path
}

#[test]
fn all_below_is_compacted_and_no_key_is_lost() {
    for set in fixture::ETCD_SETS {
        let snapshot = Unpacked::state_of(set);
        let db = database(&snapshot);
        let before = info(&db);
        let keys = mvcc_check(
            &Db::open(&db).unwrap(),
            MvccOptions::default(),
            &Cancel::never(),
        );
        assert_eq!(bump_revision(&db, 1_000).unwrap(), before.revision + 1_000);
        let after = info(&db);
        assert_eq!(after.revision, before.revision + 1_000);
        assert_eq!(after.scheduled_compact_revision, after.revision);
        assert_eq!(after.compact_revision, before.compact_revision);
        let last = after.last_record.unwrap();
        assert_eq!(last.revision, Revision::new(after.revision, 0));
        assert!(last.key.is_empty() && !last.tombstone);
        let checked = mvcc_check(
            &Db::open(&db).unwrap(),
            MvccOptions::default(),
            &Cancel::never(),
        );
        let (keys, checked) = (keys.unwrap(), checked.unwrap());
        assert_eq!(checked.findings.total(), 0, "{set}");
        assert_eq!(checked.records, keys.records + 1);
        assert_eq!(checked.live_keys, keys.live_keys);
    }
}

/// etcd compacted a deletion that was its last change: no record is left of the revision it stands at.
#[test]
fn a_compaction_beyond_the_last_record_counts() {
    let snapshot = Unpacked::state_of("etcd-3.6");
    let db = database(&snapshot);
    let last = info(&db).revision;
    let mut appender = Appender::open(&db).unwrap();
    let key = Revision::new(last + 7, 0).to_key();
    appender
        .replace_bucket(META_BUCKET, |out| {
            out.put(b"consistent_index", &9u64.to_be_bytes())?;
            out.put(FINISHED_COMPACT, &key)?;
            out.put(SCHEDULED_COMPACT, &key)
        })
        .unwrap();
    appender.commit().unwrap();
    assert_eq!(info(&db).revision, last + 7);
    assert_eq!(bump_revision(&db, 3).unwrap(), last + 10);
}

#[test]
fn what_63_bits_cannot_hold_is_refused_and_nothing_is_changed() {
    let snapshot = Unpacked::state_of("etcd-3.6");
    let db = database(&snapshot);
    let before = fs::read(&db).unwrap();
    for by in [0, i64::MAX as u64 - 5, i64::MAX as u64, u64::MAX] {
        let refused = bump_revision(&db, by).unwrap_err();
        assert_eq!(refused.code(), "USAGE", "{by}: {refused}");
    }
    assert!(fs::read(&db).unwrap() == before);
}
