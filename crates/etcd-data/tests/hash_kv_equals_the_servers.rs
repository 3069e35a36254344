//! HashKV computed from a file equals what the server of that version answered (formats.md C).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

mod fixture;

use bbolt::{Cancel, Db};
use etcd_data::hash_kv::hash_kv_within;
use etcd_data::{Meta, hash_kv, hash_kv_latest};
use fixture::{ETCD_SETS, GARDENER_SETS, Unpacked, reported};

#[test]
fn on_every_fixture() {
    for set in ETCD_SETS.into_iter().chain(GARDENER_SETS) {
        let file = Unpacked::state_of(set);
        let db = Db::open(file.path()).unwrap();
        let answer = reported(set, "hashkv.json", "HashKV");
        let revision = answer["header"]["revision"].as_i64().unwrap();
        let compact_revision = answer["compact_revision"].as_i64().unwrap();
        let computed = hash_kv(&db, revision, compact_revision, &Cancel::never()).unwrap();
        assert_eq!(
            u64::from(computed.hash),
            answer["hash"].as_u64().unwrap(),
            "{set}"
        );
        assert!(computed.comparable, "{set}");
        if Meta::read(&db).unwrap().compact_revision() == compact_revision {
            assert_eq!(
                hash_kv_latest(&db, &Cancel::never()).unwrap(),
                computed,
                "{set}"
            );
        }
        let tiny = hash_kv_within(&db, revision, compact_revision, 1, &Cancel::never()).unwrap();
        assert_eq!(tiny, computed, "{set}: many ranges give the same");
    }
}

#[test]
fn a_compacted_revision_is_refused() {
    let file = Unpacked::state_of("etcd-3.5");
    let db = Db::open(file.path()).unwrap();
    let error = hash_kv(&db, 800, 894, &Cancel::never()).unwrap_err();
    assert_eq!(error.code(), "COMPACTED");
}
