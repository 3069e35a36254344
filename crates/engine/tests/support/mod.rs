//! Sources made up for tests: a base database, deltas behind it, and all of their records as plain data.
#![allow(dead_code, missing_docs, reason = "each test binary uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code"
)]

#[path = "../../../delta/tests/support/mod.rs"]
pub mod delta_support;

use bbolt::check::{CheckOptions, check};
use bbolt::{Builder, Cancel, Db};
use delta::Options;
use delta_support::{Event, write_ebd};
use etcd_data::leases::Lease;
use etcd_data::{MvccOptions, RecordKey, Revision, mvcc_check};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub type Records = Vec<(Vec<u8>, Vec<u8>)>;
pub type Bucket = BTreeMap<Vec<u8>, Vec<u8>>;

pub const LEASE: Lease = Lease {
    id: 0x1234,
    ttl_seconds: 60,
    remaining_ttl_seconds: 7,
};

/// A base up to a place in the history, the rest in deltas, and what etcd would hold of all of it.
pub struct Made {
    pub dir: tempfile::TempDir,
    pub base: PathBuf,
    pub deltas: Vec<PathBuf>,
    pub records: Records,
    pub last: i64,
}

/// Splits the events at the given main revisions: the base holds those up to the first one.
pub fn make(events: &[Event], splits: &[i64]) -> Made {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("base.db");
    let records = records_of(events);
    let first_split = splits.first().copied().unwrap_or(i64::MAX);
    let in_base = |key: &[u8]| RecordKey::parse(key).unwrap().revision.main <= first_split;
    let base_records: Records = records
        .iter()
        .filter(|(key, _)| in_base(key))
        .cloned()
        .collect();
    write_base(&base, &base_records, None);
    let mut deltas = Vec::new();
    for (at, low) in splits.iter().enumerate() {
        let high = splits.get(at + 1).copied().unwrap_or(i64::MAX);
        let part: Vec<Event> = events
            .iter()
            .filter(|event| event.main > *low && event.main <= high)
            .cloned()
            .collect();
        if part.is_empty() {
            continue;
        }
        let path = dir.path().join(format!("{at}.ebd"));
        write_ebd(&path, &part, &Options::default());
        deltas.push(path);
    }
    let last = events.last().map_or(1, |event| event.main);
    Made {
        dir,
        base,
        deltas,
        records,
        last,
    }
}

/// The records that etcd stores for these events.
pub fn records_of(events: &[Event]) -> Records {
    let mut records = Records::new();
    for revision in events.chunk_by(|a, b| a.main == b.main) {
        for (sub, event) in revision.iter().enumerate() {
            let key = RecordKey {
                revision: Revision::new(event.main, sub as i64),
                tombstone: event.delete,
            };
            let mut value = Vec::new();
            event.change().record(&mut value);
            records.push((key.to_bytes(), value));
        }
    }
    records
}

/// A database as an etcd leaves it, with something in every kind of bucket.
pub fn write_base(path: &Path, records: &Records, finished: Option<i64>) {
    let mut appender = Builder::create(path, 4096).unwrap();
    let mut fill = |name: &[u8], records: &Records| {
        appender
            .replace_bucket::<bbolt::Error>(name, |out| {
                records
                    .iter()
                    .try_for_each(|(key, value)| out.put(key, value))
            })
            .unwrap();
    };
    fill(b"key", records);
    let pair = |key: &[u8], value: &[u8]| (key.to_vec(), value.to_vec());
    fill(b"lease", &vec![pair(&LEASE.key(), &LEASE.encode())]);
    for name in [
        "alarm",
        "auth",
        "authRoles",
        "authUsers",
        "cluster",
        "members_removed",
    ] {
        fill(name.as_bytes(), &vec![]);
    }
    fill(
        b"members",
        &vec![pair(b"8e9e05c52164694d", br#"{"id":10276657743932975437}"#)],
    );
    fill(b"something newer", &vec![pair(b"k", b"v")]);
    let mut meta = vec![pair(b"consistent_index", &77u64.to_be_bytes())];
    if let Some(revision) = finished {
        let mark = Revision::new(revision, 0).to_key();
        meta.push(pair(b"finishedCompactRev", &mark));
        meta.push(pair(b"scheduledCompactRev", &mark));
    }
    meta.push(pair(b"term", &5u64.to_be_bytes()));
    fill(b"meta", &meta);
    appender.commit().unwrap();
}

pub fn key_records(path: &Path) -> Records {
    bucket(path, b"key").into_iter().collect()
}

pub fn bucket(path: &Path, name: &[u8]) -> Bucket {
    let db = Db::open(path).unwrap();
    let mut records = Bucket::new();
    let mut scan = db.bucket(name).unwrap().unwrap().scan().unwrap();
    while let Some((key, value)) = scan.next().unwrap() {
        records.insert(key.to_vec(), value.to_vec());
    }
    records
}

/// Structure and history; returns the live keys.
pub fn assert_sound(path: &Path) -> u64 {
    let db = Db::open(path).unwrap();
    let structure = check(&db, &CheckOptions::default(), &Cancel::never(), &|_| {}).unwrap();
    assert_eq!((structure.findings, structure.warnings), (vec![], vec![]));
    assert_eq!(structure.pages, structure.high_water, "no page is free");
    let history = mvcc_check(&db, MvccOptions::default(), &Cancel::never()).unwrap();
    assert_eq!(history.findings.list(), []);
    history.live_keys
}
