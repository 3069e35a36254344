//! Shapes that bbolt's own check does not look at, or that it never makes, and what the check says about each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

mod files;

use bbolt::check::{CheckOptions, FindingKind as Kind, check_file};
use bbolt::{Cancel, Db};
use files::verdict::{assert_finds, assert_finds_only, assert_ok, report, verdict};
use files::{Raw, key, sample};

#[test]
fn meta1_only_valid_at_16_kib() {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::read(&sample(dir.path(), 16384, 900));
    raw.bytes[..200].fill(0);
    let path = raw.write(dir.path());
    let report = report(&path);
    assert!(report.is_ok());
    assert_eq!(report.warnings[0].kind, Kind::MetaInvalid);
    assert_eq!(Db::open(&path).unwrap().page_size(), 16384);
}

#[test]
fn empty_db() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    bbolt::Builder::create(&path, 4096)
        .unwrap()
        .commit()
        .unwrap();
    assert_ok(&report(&path));
    assert!(Db::open(&path).unwrap().buckets().unwrap().is_empty());
}

#[test]
fn first_key_below_ancestor() {
    let report = verdict(|raw| {
        let leaf = raw.leaves()[4];
        raw.set(leaf, raw.leaf_key_at(leaf, 0), &key(1));
    });
    assert_finds_only(&report, Kind::KeyBelowParent);
}

#[test]
fn key_equals_next_ancestor_key() {
    let report = verdict(|raw| {
        let (leaf, next) = (raw.leaves()[4], raw.leaves()[5]);
        let (count, at) = (usize::from(raw.u16(leaf, 10)), raw.leaf_key_at(next, 0));
        let first = raw.bytes[raw.at(next, at)..][..17].to_vec();
        raw.set(leaf, raw.leaf_key_at(leaf, count - 1), &first);
    });
    assert_finds_only(&report, Kind::KeyAboveParent);
}

#[test]
fn last_leaf_of_a_branch_is_bounded_by_the_ancestor() {
    let report = verdict(|raw| {
        let branch = raw.branches()[0];
        let last = usize::from(raw.u16(branch, 10)) - 1;
        let leaf = raw.u64(branch, 16 + 16 * last + 8);
        let count = usize::from(raw.u16(leaf, 10));
        raw.set(leaf, raw.leaf_key_at(leaf, count - 1), &key(800));
    });
    assert_finds_only(&report, Kind::KeyAboveParent);
}

#[test]
fn empty_key() {
    let report = verdict(|raw| raw.set(raw.leaves()[4], 16 + 8, &0_u32.to_le_bytes()));
    assert_finds(&report, Kind::KeySize);
}

#[test]
fn unknown_element_flags() {
    let report = verdict(|raw| raw.set(raw.leaves()[4], 16, &6_u32.to_le_bytes()));
    assert_finds_only(&report, Kind::ElementFlags);
}

#[test]
fn key_inside_the_element_table() {
    let report = verdict(|raw| raw.set(raw.leaves()[4], 16 + 4, &16_u32.to_le_bytes()));
    assert_finds_only(&report, Kind::ElementOutOfBounds);
}

#[test]
fn bucket_value_of_8_bytes() {
    let report = verdict(|raw| {
        let root = raw.u64(0, 16 + 16);
        raw.set(root, 16 + 12, &8_u32.to_le_bytes());
    });
    assert_finds(&report, Kind::BucketValue);
}

#[test]
fn record_among_the_top_level_buckets() {
    let report = verdict(|raw| raw.set(raw.u64(0, 16 + 16), 16, &0_u32.to_le_bytes()));
    assert_finds_only(&report, Kind::NotABucket);
}

#[test]
fn inline_bucket_with_unsorted_keys() {
    let report = verdict(|raw| {
        let root = raw.u64(0, 16 + 16);
        // The second bucket, "cluster": name, 16 bytes, then a page whose first key follows two elements.
        let value = raw.leaf_key_at(root, 1) + 7;
        raw.set(root, value + 16 + 16 + 32, &key(9));
    });
    assert_finds_only(&report, Kind::InlineBucket);
}

#[test]
fn branch_without_children() {
    assert_finds_only(
        &verdict(|raw| raw.set(raw.branches()[0], 10, &0_u16.to_le_bytes())),
        Kind::EmptyBranch,
    );
}

#[test]
fn branch_with_one_child_is_a_warning() {
    let report = verdict(|raw| raw.set(raw.branches()[0], 10, &1_u16.to_le_bytes()));
    assert!(report.is_ok());
    assert_eq!(report.warnings[0].kind, Kind::SingleChild);
}

#[test]
fn unequal_depth_is_a_warning_and_readable() {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::sample(dir.path());
    // The second child of the root is bypassed: the root points at that branch's first leaf.
    let root = raw.root();
    let below = raw.u64(root, 16 + 16 + 8);
    let leaf = raw.u64(below, 16 + 8);
    raw.set(root, 16 + 16 + 8, &leaf.to_le_bytes());
    let path = raw.write(dir.path());
    let report = report(&path);
    assert!(report.is_ok(), "{report:#?}");
    assert_eq!(report.warnings[0].kind, Kind::UnequalDepth);
    let db = Db::open(&path).unwrap();
    let mut scan = db.bucket(b"key").unwrap().unwrap().scan().unwrap();
    while scan.next().unwrap().is_some() {}
}

#[test]
fn branch_among_leaves_is_a_warning_and_readable() {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::sample(dir.path());
    // A new branch over two leaves takes the place of the first; the second one's element goes.
    let lowest = raw.branches()[0];
    let new = raw.add_pages(1)[0];
    let page = raw.bytes[raw.at(lowest, 0)..][..raw.page_bytes].to_vec();
    raw.set(new, 0, &page);
    raw.set(new, 0, &new.to_le_bytes());
    raw.set(lowest, 16 + 8, &new.to_le_bytes());
    raw.set(lowest, 10, &1_u16.to_le_bytes());
    let path = raw.write(dir.path());
    let report = report(&path);
    assert!(report.is_ok(), "{report:#?}");
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.kind == Kind::UnequalDepth),
        "{report:#?}"
    );
    let db = Db::open(&path).unwrap();
    let mut scan = db.bucket(b"key").unwrap().unwrap().scan().unwrap();
    let mut count = 0;
    while scan.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 900);
}

#[test]
fn findings_are_bounded_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::sample(dir.path());
    let leaves = raw.leaves();
    leaves
        .iter()
        .for_each(|leaf| raw.set(*leaf, 8, &0_u16.to_le_bytes()));
    let options = CheckOptions {
        max_findings: 5,
        threads: 2,
    };
    let report = check_file(raw.write(dir.path()), &options, &Cancel::never(), &|_| ()).unwrap();
    assert_eq!(
        (report.findings.len(), report.findings_total),
        (5, leaves.len() as u64)
    );
}

#[test]
fn cancelled_check_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = sample(dir.path(), 1024, 9000);
    let cancel = Cancel::new();
    let stop = |_| cancel.cancel();
    let error = check_file(&path, &CheckOptions::default(), &cancel, &stop).unwrap_err();
    assert_eq!(error.code(), "CANCELLED");
}
