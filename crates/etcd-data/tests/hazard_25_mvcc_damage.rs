//! Hazard 25: bbolt's check says OK, the history is damaged. A record lost, two values swapped, a tombstone without a put,
//! a bit turned over in a value: the structural check stays clean, the mvcc check or HashKV does not.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

mod fixture;

use std::collections::BTreeMap;
use std::path::Path;

use bbolt::check::{CheckOptions, check};
use bbolt::{Appender, Cancel, Db};
use etcd_data::mvcc_check::FindingKind;
use etcd_data::{KeyValueRef, MvccOptions, MvccReport, RecordKey, Revision, hash_kv, mvcc_check};
use fixture::Unpacked;
use proptest::test_runner::{Config, TestRunner};

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

#[test]
fn a_lost_record_in_the_middle() {
    let report = after(&|records| {
        records
            .remove(Revision::new(1200, 0).to_key().as_slice())
            .unwrap();
    });
    let gap = report
        .findings
        .list()
        .iter()
        .find(|finding| finding.kind == FindingKind::Gap)
        .unwrap();
    assert_eq!(gap.detail, "revisions 1200 to 1200 are missing");
    assert_eq!(gap.revision, Some(Revision::new(1201, 0)));
}

#[test]
fn a_lost_change_inside_a_transaction() {
    let report = after(&|records| {
        let inside = records
            .keys()
            .find(|key| {
                matches!(
                    parsed(key).revision,
                    Revision {
                        main: 900..,
                        sub: 1
                    }
                )
            })
            .unwrap()
            .clone();
        records.remove(&inside);
    });
    assert!(kinds(&report).contains(&FindingKind::Gap), "{report:?}");
}

#[test]
fn two_values_swapped() {
    let report = after(&|records| {
        let (a, b) = (
            Revision::new(1000, 0).to_key().to_vec(),
            Revision::new(1005, 0).to_key().to_vec(),
        );
        let (of_a, of_b) = (records[&a].clone(), records[&b].clone());
        records.insert(a, of_b);
        records.insert(b, of_a);
    });
    assert!(
        report
            .findings
            .list()
            .iter()
            .any(|finding| finding.detail.contains("mod_revision is 1005")),
        "{report:?}"
    );
}

#[test]
fn a_tombstone_without_a_put() {
    let report = after(&|records| {
        let last = parsed(records.keys().next_back().unwrap()).revision.main;
        let tombstone = Revision::new(last + 1, 0).to_tombstone_key();
        records.insert(tombstone.to_vec(), b"\x0A\x05never".to_vec());
    });
    assert_eq!(kinds(&report), [FindingKind::Chain]);
    assert!(
        report.findings.list()[0]
            .detail
            .contains("key \"never\": a deletion of a key that did not exist")
    );
}

#[test]
fn a_record_lost_below_the_compaction_breaks_its_keys_chain() {
    let report = after(&|records| {
        let goes_on = |at: &Vec<u8>, key: &[u8]| {
            let newer = records
                .iter()
                .filter(|(newer, _)| *newer > at && !parsed(newer).tombstone);
            newer
                .map(|(_, value)| KeyValueRef::decode(value).unwrap())
                .any(|kv| kv.key == key && kv.version > 1)
        };
        let below = records
            .iter()
            .filter(|(at, _)| parsed(at).revision.main < 800);
        let kept = below
            .map(|(at, value)| (at, KeyValueRef::decode(value).unwrap().key))
            .find(|(at, key)| goes_on(at, key));
        let kept = kept.unwrap().0.clone();
        records.remove(&kept);
    });
    assert!(kinds(&report).contains(&FindingKind::Chain), "{report:?}");
}

/// Every byte of a value that the check cannot judge (the user's own bytes) is at least seen by a hash over all records.
#[test]
fn no_bit_turns_over_unseen_and_nothing_panics() {
    let file = Unpacked::state_of("etcd-3.5");
    let records = read(&file.path());
    // Compact revision -1 leaves no record out.
    let hash_of_all =
        |path: &Path| hash_kv(&Db::open(path).unwrap(), i64::MAX, -1, &Cancel::never());
    let clean = hash_of_all(&file.path()).unwrap();
    let keys: Vec<Vec<u8>> = records.keys().cloned().collect();
    let mut runner = TestRunner::new(Config {
        cases: 60,
        failure_persistence: None,
        ..Config::default()
    });
    let change = (0..keys.len(), proptest::num::usize::ANY, 1u8..=255);
    runner
        .run(&change, |(which, at, flip)| {
            let mut damaged = records.clone();
            let value = damaged.get_mut(&keys[which]).unwrap();
            let at = at % value.len();
            value[at] ^= flip;
            let work = tempfile::tempdir().unwrap();
            let path = work.path().join("db");
            std::fs::copy(file.path(), &path).unwrap();
            write(&path, &damaged);
            let db = Db::open(&path).unwrap();
            let found = mvcc_check(&db, MvccOptions::default(), &Cancel::never())
                .unwrap()
                .findings
                .total();
            let hash = hash_of_all(&path);
            assert!(
                found > 0 || hash.is_err() || hash.unwrap().hash != clean.hash,
                "record {which} byte {at} ^ {flip}"
            );
            Ok(())
        })
        .unwrap();
}

fn after(damage: &dyn Fn(&mut Records)) -> MvccReport {
    let file = Unpacked::state_of("etcd-3.5");
    let mut records = read(&file.path());
    damage(&mut records);
    write(&file.path(), &records);
    let db = Db::open(file.path()).unwrap();
    let structure = check(&db, &CheckOptions::default(), &Cancel::never(), &|_| {}).unwrap();
    assert_eq!(structure.findings_total, 0, "the structure is sound");
    mvcc_check(&db, MvccOptions::default(), &Cancel::never()).unwrap()
}

fn kinds(report: &MvccReport) -> Vec<FindingKind> {
    report
        .findings
        .list()
        .iter()
        .map(|finding| finding.kind)
        .collect()
}

fn parsed(key: &[u8]) -> RecordKey {
    RecordKey::parse(key).unwrap()
}

fn read(path: &Path) -> Records {
    let db = Db::open(path).unwrap();
    let mut records = Records::new();
    let mut scan = db.bucket(b"key").unwrap().unwrap().scan().unwrap();
    while let Some((key, value)) = scan.next().unwrap() {
        records.insert(key.to_vec(), value.to_vec());
    }
    records
}

fn write(path: &Path, records: &Records) {
    let mut appender = Appender::open(path).unwrap();
    appender
        .replace_bucket::<bbolt::Error>(b"key", |out| {
            records
                .iter()
                .try_for_each(|(key, value)| out.put(key, value))
        })
        .unwrap();
    appender.commit().unwrap();
}
