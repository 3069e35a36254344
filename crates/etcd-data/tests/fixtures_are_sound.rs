//! What real etcds wrote is read without a finding, and says what the server said about itself.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

mod fixture;

use bbolt::{Cancel, Db};
use etcd_data::hash_kv_latest;
use etcd_data::trailer::{MissingTrailer, check_trailer};
use etcd_data::{MvccOptions, inspect, mvcc_check, prove_records, unknown_leases};
use etcd_data::{inspect::last_record_at, prove::Checkpoint};
use fixture::{ETCD_SETS, GARDENER_SETS, Unpacked, keys, reported};

fn all_files() -> Vec<(String, Unpacked)> {
    let states = ETCD_SETS
        .into_iter()
        .chain(GARDENER_SETS)
        .map(|set| (set.to_owned(), Unpacked::state_of(set)));
    let alarmed = ETCD_SETS.into_iter().map(|set| {
        (
            format!("{set} alarmed"),
            Unpacked::new(set, "snapshot-auth-alarm.db.gz"),
        )
    });
    states.chain(alarmed).collect()
}

#[test]
fn no_finding_in_any_fixture() {
    for (name, file) in all_files() {
        let db = Db::open(file.path()).unwrap();
        let report = mvcc_check(&db, MvccOptions::default(), &Cancel::never()).unwrap();
        assert_eq!(report.findings.list(), [], "{name}");
        assert_eq!(report.scans, 1, "{name}");
        let tiny = MvccOptions {
            table_bytes: 1,
            ..MvccOptions::default()
        };
        let again = mvcc_check(&db, tiny, &Cancel::never()).unwrap();
        assert_eq!(
            (again.findings.total(), again.live_keys, again.records),
            (0, report.live_keys, report.records),
            "{name}"
        );
        assert!(
            check_trailer(
                &file.path(),
                MissingTrailer::Refuse,
                &Cancel::never(),
                &mut |_| {}
            )
            .unwrap()
            .verified
        );
    }
}

#[test]
fn revision_and_live_keys_are_those_of_the_server() {
    for set in ETCD_SETS.into_iter().chain(GARDENER_SETS) {
        let file = Unpacked::state_of(set);
        let db = Db::open(file.path()).unwrap();
        let answer = reported(set, "hashkv.json", "HashKV");
        let info = inspect(&db, &Cancel::never()).unwrap();
        assert_eq!(
            Some(info.revision),
            answer["header"]["revision"].as_i64(),
            "{set}"
        );
        assert_eq!(
            Some(info.compact_revision),
            answer["compact_revision"].as_i64(),
            "{set}"
        );
        let report = mvcc_check(&db, MvccOptions::default(), &Cancel::never()).unwrap();
        assert_eq!(report.live_keys, keys(set).len() as u64, "{set}");
        assert_eq!(
            report.last,
            info.last_record.as_ref().map(|last| last.revision),
            "{set}"
        );
        let same = last_record_at(&db, info.revision).unwrap();
        assert_eq!(same, info.last_record, "{set}");
    }
}

#[test]
fn schema_of_the_alarmed_snapshots() {
    for (set, version) in ETCD_SETS.into_iter().zip(["3.4", "3.5", "3.6", "3.7"]) {
        let file = Unpacked::new(set, "snapshot-auth-alarm.db.gz");
        let info = inspect(&Db::open(file.path()).unwrap(), &Cancel::never()).unwrap();
        assert!(info.auth_enabled, "{set}");
        assert_eq!(info.alarms.len(), 1, "{set}");
        assert_eq!(
            (info.alarms[0].kind.as_str(), info.alarms[0].member_id),
            ("NOSPACE", 16501227635492466604),
            "{set}"
        );
        assert_eq!(info.members.len(), 1, "{set}");
        assert_eq!(info.members[0].name, "default", "{set}");
        assert_eq!(
            info.cluster_version.as_deref(),
            Some(format!("{version}.0").as_str()),
            "{set}"
        );
        let expects_mark = ["3.6", "3.7"].contains(&version);
        assert_eq!(
            info.storage_version,
            expects_mark.then(|| format!("{version}.0")),
            "{set}"
        );
        assert!(
            info.leases > 0 && info.term.is_some() == (version != "3.4"),
            "{set}"
        );
        assert!(info.buckets.len() >= 10, "{set}: {:?}", info.buckets);
    }
}

#[test]
fn no_fixture_has_keys_on_unknown_leases() {
    for (name, file) in all_files() {
        let found = unknown_leases(&Db::open(file.path()).unwrap(), &Cancel::never()).unwrap();
        assert_eq!((found.leases, found.keys), (0, 0), "{name}");
    }
}

#[test]
fn a_proof_names_the_first_stretch_that_differs() {
    let file = Unpacked::state_of("gardener-gzip-etcd3.5");
    let db = Db::open(file.path()).unwrap();
    let cancel = Cancel::never();
    let mut digest = etcd_data::RecordDigest::new();
    let mut checkpoints = Vec::new();
    let (mut main, after) = (2000, 2000);
    let mut scan = db
        .bucket(b"key")
        .unwrap()
        .unwrap()
        .scan_from(&etcd_data::Revision::new(after + 1, 0).to_key())
        .unwrap();
    while let Some((key, value)) = scan.next().unwrap() {
        let at = etcd_data::RecordKey::parse(key).unwrap().revision.main;
        if at != main && main % 100 == 0 && main != after {
            checkpoints.push(Checkpoint {
                revision: main,
                sha256: digest.checkpoint(),
            });
        }
        main = at;
        digest.update(key, value);
    }
    checkpoints.push(Checkpoint {
        revision: main,
        sha256: digest.checkpoint(),
    });
    let proof = prove_records(&db, after, &checkpoints, &cancel).unwrap();
    assert_eq!(
        (proof.last_revision, proof.records),
        (main, digest.records())
    );

    let mut wrong = checkpoints.clone();
    wrong[3].sha256[0] ^= 1;
    let error = prove_records(&db, after, &wrong, &cancel).unwrap_err();
    assert_eq!(error.code(), "MISMATCH");
    assert!(
        error.to_string().contains("revisions 2301 to 2400 differ"),
        "{error}"
    );

    let error = prove_records(&db, after, &checkpoints[..5], &cancel).unwrap_err();
    assert!(
        error.to_string().contains("its sources end at 2500"),
        "{error}"
    );
    let beyond = Checkpoint {
        revision: main + 7,
        sha256: [0; 32],
    };
    let error =
        prove_records(&db, after, &[&checkpoints[..], &[beyond]].concat(), &cancel).unwrap_err();
    assert!(
        error.to_string().contains(&format!(
            "revision {} of the sources is not in the file",
            main + 7
        )),
        "{error}"
    );
}

#[test]
fn the_hash_of_a_snapshot_needs_no_server() {
    let file = Unpacked::new("etcd-3.6", "snapshot-auth-alarm.db.gz");
    let hash = hash_kv_latest(&Db::open(file.path()).unwrap(), &Cancel::never()).unwrap();
    assert!(hash.comparable && hash.compact_revision > 0);
}
