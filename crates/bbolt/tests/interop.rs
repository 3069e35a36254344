//! Files of real etcds are read, checked and appended to; what is written here passes bbolt's own check.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first thing that is not as said"
)]

mod files;

use bbolt::check::{CheckOptions, check_file};
use bbolt::{Appender, Builder, Cancel, Db};
use files::{NAME, key, put, sample};
use std::path::{Path, PathBuf};
use std::process::Command;

const TRAILER_BYTES: u64 = 32;
const VERSIONS: [&str; 4] = ["3.4", "3.5", "3.6", "3.7"];

#[test]
fn built_files_pass_bbolt_check_at_every_page_size() {
    let dir = tempfile::tempdir().unwrap();
    for page_size in [1024, 4096, 16384, 65536] {
        for records in [0, 1, 5, 40, 3_000] {
            both_checks_pass(&sample(dir.path(), page_size, records));
        }
    }
}

/// One more leaf each time: every shape that the last branches can have occurs.
#[test]
fn no_branch_has_one_child_whatever_the_number_of_leaves() {
    let dir = tempfile::tempdir().unwrap();
    for leaves in 1..130 {
        let path = dir.path().join(leaves.to_string());
        let mut builder = Builder::create(&path, 1024).unwrap();
        put(&mut builder, NAME, 0..leaves, 600);
        builder.commit().unwrap();
        let mut appender = Appender::open(&path).unwrap();
        appender
            .extend_bucket(NAME, |to| to.put(&key(leaves), &[0; 600]))
            .unwrap();
        appender.commit().unwrap();
        our_check_passes(&path);
    }
}

#[test]
fn extended_and_replaced_files_pass_bbolt_check() {
    let dir = tempfile::tempdir().unwrap();
    for page_size in [1024, 4096, 65536] {
        let path = sample(dir.path(), page_size, 2_000);
        for round in 0..6_u64 {
            let mut appender = Appender::open(&path).unwrap();
            let start = 2_000 + round * 500;
            appender
                .extend_bucket(NAME, |to| {
                    (start..start + 500).try_for_each(|index| {
                        to.put(&key(index), &vec![3; (index % 97 * 40) as usize])
                    })
                })
                .unwrap();
            put(&mut appender, b"meta", 0..round * 100, 9);
            appender.commit().unwrap();
            both_checks_pass(&path);
        }
        assert_eq!(count(&path, NAME), 5_000);
        assert_eq!(count(&path, b"meta"), 500);
    }
}

/// Two keys of 32 KiB do not fit a page of 1 KiB: branches overflow, and still none has one child.
#[test]
fn longest_keys_pass_bbolt_check() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut builder = Builder::create(&path, 1024).unwrap();
    builder
        .replace_bucket(NAME, |to| {
            (0..9_u8)
                .try_for_each(|index| to.put(&[index].repeat(bbolt::MAX_KEY_BYTES), &[index; 2000]))
        })
        .unwrap();
    builder.commit().unwrap();
    both_checks_pass(&path);
    assert_eq!(count(&path, NAME), 9);
}

/// So many buckets that the root of all buckets becomes a tree.
#[test]
fn thousand_buckets_pass_bbolt_check() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut builder = Builder::create(&path, 4096).unwrap();
    (0..1_000_u64).for_each(|index| put(&mut builder, &key(index), 0..index % 60, 30));
    builder.commit().unwrap();
    both_checks_pass(&path);
    assert_eq!(Db::open(&path).unwrap().buckets().unwrap().len(), 1_000);
    assert_eq!(count(&path, &key(777)), 777 % 60);
}

#[test]
fn snapshots_of_real_etcds_are_sound_and_stay_so_when_extended() {
    let dir = tempfile::tempdir().unwrap();
    for version in VERSIONS {
        let path = unpack(version, dir.path());
        our_check_passes(&path);
        let db = Db::open(&path).unwrap();
        assert_eq!(
            db.file_len(),
            db.high_water() * u64::from(db.page_size()) + TRAILER_BYTES
        );
        let names: Vec<_> = db
            .buckets()
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert!(
            names.contains(&b"key".to_vec()) && names.contains(&b"meta".to_vec()),
            "{version}"
        );
        let before: Vec<u64> = names.iter().map(|name| count(&path, name)).collect();

        let mut appender = Appender::open(&path).unwrap();
        appender
            .extend_bucket(b"key", |to| {
                (1 << 40..(1 << 40) + 3_000).try_for_each(|main| to.put(&key(main), &[1; 200]))
            })
            .unwrap();
        appender.commit().unwrap();
        both_checks_pass(&path);
        for (name, before) in names.iter().zip(before) {
            let added = if name == b"key" { 3_000 } else { 0 };
            assert_eq!(count(&path, name), before + added, "{version}");
        }
    }
}

fn count(path: &Path, name: &[u8]) -> u64 {
    let db = Db::open(path).unwrap();
    let mut scan = db.bucket(name).unwrap().unwrap().scan().unwrap();
    let mut records = 0;
    while scan.next().unwrap().is_some() {
        records += 1;
    }
    records
}

#[track_caller]
fn our_check_passes(path: &Path) {
    let report = check_file(path, &CheckOptions::default(), &Cancel::never(), &|_| ()).unwrap();
    assert!(
        report.is_ok() && report.warnings.is_empty(),
        "{}: {report:#?}",
        path.display()
    );
}

#[track_caller]
fn both_checks_pass(path: &Path) {
    our_check_passes(path);
    let bbolt = bbolt_binary();
    let output = Command::new(&bbolt).arg("check").arg(path).output();
    let output = output.unwrap_or_else(|error| {
        panic!(
            "{}: {error}; get it with: bash test/servers/etcd.sh bbolt",
            bbolt.display()
        );
    });
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("OK"),
        "{}: {text}",
        path.display()
    );
}

fn bbolt_binary() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache")
    });
    cache.join("etcdbr/bbolt/bbolt")
}

fn unpack(version: &str, dir: &Path) -> PathBuf {
    let fixture = format!(
        "{}/../../test/fixtures/etcd-{version}/snapshot.db.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let packed = std::fs::File::open(&fixture).unwrap_or_else(|error| panic!("{fixture}: {error}"));
    let path = dir.join(version);
    let mut unpacked = std::fs::File::create(&path).unwrap();
    std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut unpacked).unwrap();
    path
}
