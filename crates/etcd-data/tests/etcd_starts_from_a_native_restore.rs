//! A real etcd of the source's version, of every newer one, and of older ones when the target is named, starts from what
//! was restored natively, has the same HashKV, and takes writes at the next revision.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod fixture;

use bbolt::check::{CheckOptions, check};
use bbolt::{Cancel, Db};
use etcd_data::member_dir::{ClusterSpec, Style};
use etcd_data::{RestoreOptions, hash_kv, inspect, restore_snapshot};
use fixture::{Unpacked, server::Server};

const VERSIONS: [(&str, Style); 4] = [
    ("3.4.23", Style::V3_4),
    ("3.5.35", Style::V3_5),
    ("3.6.16", Style::V3_6),
    ("3.7.3", Style::V3_7),
];

#[test]
fn of_the_same_version_and_of_each_newer_one() {
    for (source, (_, of)) in fixture::ETCD_SETS.into_iter().zip(VERSIONS) {
        for (version, target) in VERSIONS.into_iter().filter(|(_, target)| *target >= of) {
            starts(source, version, Some(target), None);
        }
    }
}

#[test]
fn of_an_older_version_when_it_is_named() {
    for (source, version, target) in [
        ("etcd-3.7", "3.6.16", Style::V3_6),
        ("etcd-3.7", "3.5.35", Style::V3_5),
        ("etcd-3.6", "3.5.35", Style::V3_5),
        ("etcd-3.5", "3.4.23", Style::V3_4),
    ] {
        starts(source, version, Some(target), None);
    }
}

#[test]
fn with_a_bumped_revision() {
    for (source, version) in [
        ("etcd-3.4", "3.5.35"),
        ("etcd-3.6", "3.6.16"),
        ("etcd-3.7", "3.7.3"),
    ] {
        starts(source, version, None, Some(1_000_000));
    }
}

/// Hazard 40: the alarm is kept by default and refuses writes; cleared on request, it does not.
#[test]
fn alarms_stay_or_go_as_asked() {
    for (set, (version, _)) in fixture::ETCD_SETS.into_iter().zip(VERSIONS) {
        for clear in [false, true] {
            let snapshot = Unpacked::new(set, "snapshot-auth-alarm.db.gz");
            let mut options = options();
            options.clear_alarms = clear;
            let work = tempfile::tempdir().unwrap();
            let data_dir = work.path().join("d");
            restore_snapshot(&snapshot.path(), &data_dir, &options, &Cancel::never()).unwrap();
            let server = Server::start(version, &data_dir, work.path());
            assert!(
                server
                    .ctl(&["get", "/long/lease"])
                    .unwrap_err()
                    .contains("user name is empty"),
                "{version}: auth is kept"
            );
            let put = server.ctl(&["--user", "root:secret", "put", "/new", "v"]);
            assert_eq!(put.is_ok(), clear, "{version}: {put:?}");
        }
    }
}

fn options() -> RestoreOptions {
    RestoreOptions::new(ClusterSpec::single(
        "m1",
        "http://127.0.0.1:40101",
        "etcd-cluster",
    ))
}

fn starts(set: &str, version: &str, target: Option<Style>, bump: Option<u64>) {
    let snapshot = Unpacked::state_of(set);
    let mut options = options();
    options.target = target;
    options.bump_revision = bump;
    let work = tempfile::tempdir().unwrap();
    let data_dir = work.path().join("d");
    restore_snapshot(&snapshot.path(), &data_dir, &options, &Cancel::never()).unwrap();
    let path = data_dir.join("member/snap/db");
    let db = Db::open(&path).unwrap();
    let structure = check(&db, &CheckOptions::default(), &Cancel::never(), &|_| {}).unwrap();
    assert_eq!(
        structure.findings_total, 0,
        "{set} on {version}: {structure:?}"
    );
    let revision = inspect(&db, &Cancel::never()).unwrap().revision;

    let server = Server::start(version, &data_dir, work.path());
    if bump.is_none() {
        let (hash, at, compact_revision) = server.hash_kv();
        let ours = hash_kv(&db, at, compact_revision, &Cancel::never()).unwrap();
        assert_eq!(
            (hash, at),
            (u64::from(ours.hash), revision),
            "{set} on {version}"
        );
    }
    let put = server
        .ctl(&["put", "/after/restore", "v", "-w", "json"])
        .unwrap_or_else(|e| panic!("{set} on {version}: {e}"));
    assert!(
        put.contains(&format!("\"revision\":{}", revision + 1)),
        "{set} on {version}: {put}"
    );
    let members = server.ctl(&["member", "list"]).unwrap();
    assert_eq!(members.lines().count(), 1, "{set} on {version}: {members}");
    assert!(
        !server
            .ctl(&["lease", "list"])
            .unwrap()
            .contains("found 0 leases"),
        "{set} on {version}"
    );
}
