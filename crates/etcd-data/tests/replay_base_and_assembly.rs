//! The base that is replayed on is harmless; of the replay's result only the `key` bucket and its compaction marks remain.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

mod fixture;

use std::collections::BTreeMap;
use std::path::Path;

use bbolt::check::{CheckOptions, check};
use bbolt::{Appender, Cancel, Db};
use etcd_data::leases::{Lease, for_each_lease};
use etcd_data::member_dir::{Cluster, ClusterSpec, write_member_dir};
use etcd_data::replay_base::REPLAY_LEASE_TTL_SECONDS;
use etcd_data::{
    KeyValueRef, MvccOptions, ReplaySeat, Revision, Seat, assemble, inspect, mvcc_check,
    prepare_replay_base, seat, unknown_leases,
};
use fixture::{ETCD_SETS, Unpacked, server::Server};

const NEW_LEASE: i64 = 0x7fff_ffff_ffff_fff0;
const VERSIONS: [&str; 4] = ["3.4.23", "3.5.35", "3.6.16", "3.7.3"];

type Bucket = BTreeMap<Vec<u8>, Vec<u8>>;

fn cluster() -> Cluster {
    spec().resolve().unwrap()
}

fn spec() -> ClusterSpec {
    ClusterSpec::single("m1", "http://127.0.0.1:40101", "etcd-cluster")
}

fn prepared(source: &Path, to: &Path) -> u64 {
    let cluster = cluster();
    let seat = ReplaySeat {
        cluster: &cluster,
        target: None,
        extra_leases: &[NEW_LEASE, 7, 7],
    };
    prepare_replay_base(source, to, &seat, &Cancel::never(), &mut |_| {}).unwrap()
}

#[test]
fn a_replay_base_does_nothing_on_its_own() {
    for set in ETCD_SETS {
        let source = Unpacked::new(set, "snapshot-auth-alarm.db.gz");
        let to = source.dir().join("base.db");
        assert_eq!(
            prepared(&source.path(), &to),
            source.path().metadata().unwrap().len() - 32
        );
        let db = Db::open(&to).unwrap();
        let info = inspect(&db, &Cancel::never()).unwrap();
        assert!(!info.auth_enabled && info.alarms.is_empty(), "{set}");
        assert_eq!(
            (info.consistent_index, info.term, info.members.len()),
            (Some(1), Some(1), 1),
            "{set}"
        );
        let before = inspect(&Db::open(source.path()).unwrap(), &Cancel::never()).unwrap();
        assert_eq!(
            (info.revision, info.last_record, info.leases),
            (before.revision, before.last_record, before.leases + 2)
        );
        for_each_lease(&db, &mut |lease| {
            assert_eq!(
                (lease.ttl_seconds, lease.remaining_ttl_seconds),
                (REPLAY_LEASE_TTL_SECONDS, 0)
            );
            Ok(())
        })
        .unwrap();
        sound(&to);
        let again = prepare_replay_base(
            &source.path(),
            &to,
            &ReplaySeat {
                cluster: &cluster(),
                target: None,
                extra_leases: &[],
            },
            &Cancel::never(),
            &mut |_| {},
        );
        assert_eq!(again.unwrap_err().code(), "EXISTS");
    }
}

/// A real etcd of each version runs on the prepared base, unauthenticated, takes a put on a lease that only a delta knew,
/// compacts, and leaves behind what every etcd leaves. Then the result is assembled, seated and started again.
#[test]
fn the_users_directory_holds_nothing_of_the_replaying_etcd() {
    for (set, version) in ETCD_SETS.into_iter().zip(VERSIONS) {
        let source = Unpacked::new(set, "snapshot-auth-alarm.db.gz");
        let work = tempfile::tempdir().unwrap();
        let replay = work.path().join("replay");
        std::fs::create_dir_all(replay.join("member/snap")).unwrap();
        let db = replay.join("member/snap/db");
        prepared(&source.path(), &db);
        write_member_dir(&replay.join("member"), &spec(), Default::default()).unwrap();
        let base = inspect(&Db::open(source.path()).unwrap(), &Cancel::never()).unwrap();
        let server = Server::start(version, &replay, work.path());
        server
            .ctl(&[
                "put",
                "/replayed",
                "v",
                "--lease",
                &format!("{NEW_LEASE:x}"),
            ])
            .unwrap();
        server.ctl(&["alarm", "disarm"]).unwrap();
        server
            .ctl(&["compaction", "--physical", &base.revision.to_string()])
            .unwrap();
        // A clean stop makes the last batch durable.
        server
            .ctl(&[
                "snapshot",
                "save",
                &work.path().join("after.db").display().to_string(),
            ])
            .unwrap();
        drop(server);

        let replayed = work.path().join("after.db");
        let extra = [Lease::granted(NEW_LEASE, 600)];
        let replayed_key = bucket(&replayed, b"key");
        let cluster = cluster();
        assemble(
            &replayed,
            &source.path(),
            &extra,
            &Seat::new(&cluster),
            &Cancel::never(),
        )
        .unwrap();
        assert_assembled(&replayed, &source.path(), &replayed_key, base.revision);
        starts_again(version, &replayed, work.path(), base.revision + 1);
    }
}

fn assert_assembled(result: &Path, base: &Path, replayed_key: &Bucket, compacted: i64) {
    for name in ["cluster", "alarm", "auth", "authUsers", "authRoles"] {
        assert_eq!(
            bucket(result, name.as_bytes()),
            bucket(base, name.as_bytes()),
            "{name}"
        );
    }
    assert!(&bucket(result, b"key") == replayed_key);
    let (mut leases, mut expected) = (bucket(result, b"lease"), bucket(base, b"lease"));
    assert_eq!(
        leases.remove(NEW_LEASE.to_be_bytes().as_slice()).unwrap(),
        Lease::granted(NEW_LEASE, 600).encode()
    );
    assert_eq!(leases, expected);
    expected = bucket(base, b"meta");
    let mark = Revision::new(compacted, 0).to_key().to_vec();
    for (key, value) in [
        (&b"consistent_index"[..], 1u64.to_be_bytes().to_vec()),
        (b"term", 1u64.to_be_bytes().to_vec()),
        (b"scheduledCompactRev", mark.clone()),
        (b"finishedCompactRev", mark),
    ] {
        expected.insert(key.to_vec(), value);
    }
    assert_eq!(bucket(result, b"meta"), expected);
    assert_eq!(bucket(result, b"members_removed"), Bucket::new());
    sound(result);
    let unknown = unknown_leases(&Db::open(result).unwrap(), &Cancel::never()).unwrap();
    assert_eq!(unknown.keys, 0);
}

fn starts_again(version: &str, db: &Path, work: &Path, revision: i64) {
    let data_dir = work.join("user");
    std::fs::create_dir_all(data_dir.join("member/snap")).unwrap();
    std::fs::copy(db, data_dir.join("member/snap/db")).unwrap();
    write_member_dir(&data_dir.join("member"), &spec(), Default::default()).unwrap();
    let server = Server::start(version, &data_dir, work);
    let root = ["--user", "root:secret"];
    let got = server
        .ctl(&[&root[..], &["get", "/replayed", "-w", "json"]].concat())
        .unwrap();
    assert!(
        got.contains(&format!("\"mod_revision\":{revision}"))
            && got.contains(&NEW_LEASE.to_string()),
        "{got}"
    );
    let alarms = server
        .ctl(&[&root[..], &["alarm", "list"]].concat())
        .unwrap();
    assert!(
        alarms.contains("NOSPACE"),
        "the source's alarm is back: {alarms}"
    );
}

/// Hazard 5: keys on leases that nobody granted are counted.
#[test]
fn keys_on_unknown_leases_are_counted() {
    let file = Unpacked::state_of("etcd-3.5");
    let last = inspect(&Db::open(file.path()).unwrap(), &Cancel::never())
        .unwrap()
        .revision;
    let mut appender = Appender::open(file.path()).unwrap();
    appender
        .extend_bucket::<bbolt::Error>(b"key", |out| {
            for (at, (key, lease)) in
                (1i64..).zip([("a", 91), ("b", 92), ("a", 93), ("c", 92), ("c", 0)])
            {
                let mut value = Vec::new();
                let main = last + at;
                KeyValueRef {
                    key: key.as_bytes(),
                    create_revision: main,
                    mod_revision: main,
                    version: 1,
                    value: b"v",
                    lease,
                }
                .encode(&mut value);
                out.put(&Revision::new(main, 0).to_key(), &value)?;
            }
            Ok(())
        })
        .unwrap();
    appender.commit().unwrap();
    let found = unknown_leases(&Db::open(file.path()).unwrap(), &Cancel::never()).unwrap();
    assert_eq!(
        (found.keys, found.leases),
        (2, 2),
        "a on 93 and b on 92; c hangs on none at its end"
    );
}

#[test]
fn seating_twice_is_the_same_as_once() {
    let file = Unpacked::state_of("etcd-3.7");
    let cluster = cluster();
    let state = |path: &Path| {
        [&b"meta"[..], b"members", b"cluster", b"lease"].map(|name| bucket(path, name))
    };
    seat(&file.path(), &Seat::new(&cluster)).unwrap();
    let once = state(&file.path());
    seat(&file.path(), &Seat::new(&cluster)).unwrap();
    assert_eq!(state(&file.path()), once);
    sound(&file.path());
}

fn sound(path: &Path) {
    let db = Db::open(path).unwrap();
    assert_eq!(
        check(&db, &CheckOptions::default(), &Cancel::never(), &|_| {})
            .unwrap()
            .findings_total,
        0
    );
    assert_eq!(
        mvcc_check(&db, MvccOptions::default(), &Cancel::never())
            .unwrap()
            .findings
            .list(),
        []
    );
}

fn bucket(path: &Path, name: &[u8]) -> Bucket {
    let db = Db::open(path).unwrap();
    let mut records = Bucket::new();
    let mut scan = db.bucket(name).unwrap().unwrap().scan().unwrap();
    while let Some((key, value)) = scan.next().unwrap() {
        records.insert(key.to_vec(), value.to_vec());
    }
    records
}
