//! Hazard 26: an older `snapshot status` opened the file for writing, and the next restore failed its hash. Whatever only
//! reads must leave size, times and content as they were, and work on a file and directory that cannot be written.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

mod fixture;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use bbolt::{Cancel, Db};
use etcd_data::trailer::{MissingTrailer, check_trailer};
use etcd_data::{MvccOptions, hash_kv_latest, inspect, mvcc_check, unknown_leases};
use fixture::Unpacked;

#[test]
fn inspect_verify_and_hash_change_nothing() {
    let file = Unpacked::new("etcd-3.7", "snapshot-auth-alarm.db.gz");
    let path = file.path();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(file.dir(), fs::Permissions::from_mode(0o555)).unwrap();
    let state = || {
        let metadata = path.metadata().unwrap();
        (
            metadata.len(),
            metadata.mtime_nsec(),
            metadata.mtime(),
            metadata.ino(),
            fs::read(&path).unwrap(),
        )
    };
    let before = state();
    let cancel = Cancel::never();
    let db = Db::open(&path).unwrap();
    inspect(&db, &cancel).unwrap();
    mvcc_check(&db, MvccOptions::default(), &cancel).unwrap();
    hash_kv_latest(&db, &cancel).unwrap();
    unknown_leases(&db, &cancel).unwrap();
    check_trailer(&path, MissingTrailer::Refuse, &cancel, &mut |_| {}).unwrap();
    assert!(before == state());
    assert_eq!(
        fs::read_dir(file.dir()).unwrap().count(),
        1,
        "nothing was put beside it"
    );
    fs::set_permissions(file.dir(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_cut_snapshot_is_never_taken_for_a_whole_one() {
    let file = Unpacked::state_of("etcd-3.6");
    let whole = fs::read(file.path()).unwrap();
    let cuts = [
        (32, "no SHA-256 at its end"),
        (1, "it was cut off"),
        (33, "it was cut off"),
        (4096, "does not agree"),
    ];
    for (cut, said) in cuts {
        fs::write(file.path(), &whole[..whole.len() - cut]).unwrap();
        let error = check_trailer(
            &file.path(),
            MissingTrailer::Refuse,
            &Cancel::never(),
            &mut |_| {},
        )
        .unwrap_err();
        assert!(error.to_string().contains(said), "{cut}: {error}");
        assert!(["TRUNCATED", "CHECKSUM"].contains(&error.code()));
    }
    fs::write(file.path(), &whole[..whole.len() - 32]).unwrap();
    let raw = check_trailer(
        &file.path(),
        MissingTrailer::Allow,
        &Cancel::never(),
        &mut |_| {},
    )
    .unwrap();
    assert!(!raw.verified);
    let mut flipped = whole.clone();
    flipped[50_000] ^= 1;
    fs::write(file.path(), &flipped).unwrap();
    let error = check_trailer(
        &file.path(),
        MissingTrailer::Allow,
        &Cancel::never(),
        &mut |_| {},
    )
    .unwrap_err();
    assert_eq!(
        error.code(),
        "CHECKSUM",
        "a wrong trailer is wrong even where a missing one is allowed"
    );
}
