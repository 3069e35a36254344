//! Bases made up for tests from a history, and what a database holds.
#![allow(dead_code, reason = "each test binary uses its part")]

#[path = "../../../delta/tests/support/mod.rs"]
pub mod support;

use bbolt::check::{CheckOptions, check};
use bbolt::{Appender, Builder, Cancel, Db, Records};
use delta::Options;
use engine::{Appended, DeltaFiles, append};
use etcd_data::leases::Lease;
use etcd_data::member_dir::{Cluster, ClusterSpec};
use etcd_data::{MvccOptions, RecordKey, Revision, Seat, mvcc_check};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use support::{Event, write_ebd};

pub type Bucket = BTreeMap<Vec<u8>, Vec<u8>>;

/// Buckets that etcd 3.6 has, but `key` and `lease`.
const OTHER_BUCKETS: [&str; 8] = [
    "alarm",
    "auth",
    "authRoles",
    "authUsers",
    "cluster",
    "members",
    "members_removed",
    "meta",
];

pub fn small_blocks() -> Options {
    Options {
        block_bytes: 500,
        ..Options::default()
    }
}

pub fn cluster() -> Cluster {
    ClusterSpec::single("m1", "http://127.0.0.1:40101", "etcd-cluster")
        .resolve()
        .unwrap()
}

/// The record that etcd stores for each event.
pub fn records_of(events: &[Event]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut main, mut sub) = (0, 0);
    events
        .iter()
        .map(|event| {
            sub = if event.main == main { sub + 1 } else { 0 };
            main = event.main;
            let key = RecordKey {
                revision: Revision::new(main, sub),
                tombstone: event.delete,
            };
            let mut value = Vec::new();
            event.change().record(&mut value);
            (key.to_bytes(), value)
        })
        .collect()
}

/// A database as etcd would have it after these events.
pub fn write_base(path: &Path, events: &[Event], page_size: u32, leases: &[Lease]) {
    let mut base = Builder::create(path, page_size).unwrap();
    for name in OTHER_BUCKETS {
        base.replace_bucket(name.as_bytes(), |_| Ok::<(), bbolt::Error>(()))
            .unwrap();
    }
    fill(
        &mut base,
        "meta",
        &[(b"consistent_index".to_vec(), vec![0; 8])],
    );
    let records: Vec<_> = leases
        .iter()
        .map(|lease| (lease.key().to_vec(), lease.encode()))
        .collect();
    fill(&mut base, "lease", &records);
    fill(&mut base, "key", &records_of(events));
    base.commit().unwrap();
}

fn fill(to: &mut Appender, name: &str, records: &[(Vec<u8>, Vec<u8>)]) {
    to.replace_bucket(name.as_bytes(), |out: &mut Records<'_>| {
        records
            .iter()
            .try_for_each(|(key, value)| out.put(key, value))
    })
    .unwrap();
}

/// Deltas that are all there already.
pub struct Given {
    paths: VecDeque<PathBuf>,
    /// What counts of all of them.
    pub until: i64,
    pub reached: Vec<i64>,
}

impl Given {
    pub fn new(paths: &[PathBuf]) -> Self {
        Self {
            paths: VecDeque::from(paths.to_vec()),
            until: i64::MAX,
            reached: Vec::new(),
        }
    }
}

impl DeltaFiles for Given {
    fn next_file(&mut self) -> engine::Result<Option<(PathBuf, i64)>> {
        Ok(self.paths.pop_front().map(|path| (path, self.until)))
    }

    fn reached(&mut self, revision: i64) {
        self.reached.push(revision);
    }
}

pub fn append_to(base: &Path, paths: &[PathBuf], until: Option<i64>) -> engine::Result<Appended> {
    let cluster = cluster();
    let mut given = Given::new(paths);
    given.until = until.unwrap_or(i64::MAX);
    append(base, &mut given, &Seat::new(&cluster), &Cancel::never())
}

pub fn ebd(dir: &Path, name: &str, events: &[Event]) -> PathBuf {
    let path = dir.join(name);
    write_ebd(&path, events, &small_blocks());
    path
}

pub fn bucket(path: &Path, name: &str) -> Bucket {
    let db = Db::open(path).unwrap();
    let mut records = Bucket::new();
    let Some(bucket) = db.bucket(name.as_bytes()).unwrap() else {
        return records;
    };
    let mut scan = bucket.scan().unwrap();
    while let Some((key, value)) = scan.next().unwrap() {
        records.insert(key.to_vec(), value.to_vec());
    }
    records
}

/// Structure and content without a finding.
pub fn assert_sound(path: &Path) {
    let db = Db::open(path).unwrap();
    let report = check(&db, &CheckOptions::default(), &Cancel::never(), &|_| {}).unwrap();
    assert_eq!(report.findings_total, 0, "{:?}", report.findings);
    let mvcc = mvcc_check(&db, MvccOptions::default(), &Cancel::never()).unwrap();
    assert_eq!(mvcc.findings.list(), []);
}

pub fn up_to(events: &[Event], last: i64) -> Vec<Event> {
    between(events, 0, last)
}

pub fn between(events: &[Event], first: i64, last: i64) -> Vec<Event> {
    events
        .iter()
        .filter(|event| (first..=last).contains(&event.main))
        .cloned()
        .collect()
}
