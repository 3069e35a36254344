//! Damaged files, one by one, and the kind of finding that each must give. Most of them kill bbolt's own tools.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

mod files;

use bbolt::check::{CheckOptions, FindingKind as Kind, Report, check_file};
use bbolt::{Cancel, Db, Error};
use files::{Raw, key, sample};
use std::path::Path;

/// What the check finds after `damage`.
fn verdict(damage: impl FnOnce(&mut Raw)) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::sample(dir.path());
    damage(&mut raw);
    report(&raw.write(dir.path()))
}

fn report(path: &Path) -> Report {
    let report = check_file(path, &CheckOptions::default(), &Cancel::never(), &|_| ()).unwrap();
    read_everything(path);
    report
}

/// Must come to an end, whatever it is.
fn read_everything(path: &Path) {
    let Ok(db) = Db::open(path) else { return };
    for (name, _) in db.buckets().unwrap_or_default() {
        let Ok(Some(bucket)) = db.bucket(&name) else {
            continue;
        };
        let _ = (bucket.last(), bucket.first(), bucket.get(&key(5)));
        if let Ok(mut scan) = bucket.scan() {
            while let Ok(Some(_)) = scan.next() {}
        }
    }
}

fn kinds(report: &Report) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = report.findings.iter().map(|finding| finding.kind).collect();
    kinds.dedup();
    kinds
}

#[track_caller]
fn assert_finds(report: &Report, kind: Kind) {
    assert!(
        kinds(report).contains(&kind),
        "expected {kind:?} in {report:#?}"
    );
}

#[track_caller]
fn assert_finds_only(report: &Report, kind: Kind) {
    assert_eq!(kinds(report), [kind], "{report:#?}");
}

#[track_caller]
fn assert_ok(report: &Report) {
    assert!(report.is_ok() && report.warnings.is_empty(), "{report:#?}");
    assert_eq!(report.pages, report.high_water);
}

#[test]
fn ok() {
    assert_ok(&verdict(|_| ()));
}

#[test]
fn ok_at_every_page_size() {
    let dir = tempfile::tempdir().unwrap();
    for page_size in [1024, 4096, 16384, 65536, 1 << 20] {
        assert_ok(&report(&sample(dir.path(), page_size, 3000)));
    }
}

#[test]
fn meta0_bad_is_a_warning() {
    let report = verdict(|raw| raw.set(0, 16 + 48, &[9; 8]));
    assert!(report.is_ok());
    assert_eq!(
        (report.warnings[0].page, report.warnings[0].kind),
        (0, Kind::MetaInvalid)
    );
}

#[test]
fn flip_value_byte_is_invisible() {
    let report = verdict(|raw| {
        let at = raw.leaf_key_at(raw.leaves()[3], 2) + 17 + 30;
        raw.set(raw.leaves()[3], at, &[0xee]);
    });
    assert_ok(&report);
}

#[test]
fn hw_low() {
    assert_finds(
        &verdict(|raw| raw.set_metas(40, raw.pages() - 1)),
        Kind::PageOutOfBounds,
    );
}

#[test]
fn hw_low_cuts_overflow() {
    let report = verdict(|raw| {
        let large = raw
            .with_flags(2)
            .into_iter()
            .rfind(|page| raw.u32(*page, 12) > 0)
            .unwrap();
        raw.set_metas(40, large + 1);
    });
    assert_finds(&report, Kind::PageOutOfBounds);
}

#[test]
fn hw_high() {
    assert_finds_only(
        &verdict(|raw| raw.set_metas(40, raw.pages() + 5)),
        Kind::Truncated,
    );
}

#[test]
fn swap_keys() {
    let report = verdict(|raw| {
        let leaf = raw.leaves()[1];
        let (first, second) = (raw.leaf_key_at(leaf, 1), raw.leaf_key_at(leaf, 2));
        raw.set(leaf, first, &key(41));
        raw.set(leaf, second, &key(40));
    });
    assert_finds(&report, Kind::KeyOrder);
}

#[test]
fn dup_ref() {
    let report = verdict(|raw| {
        let (branch, second) = (raw.branches()[0], raw.u64(raw.branches()[0], 16 + 16 + 8));
        raw.set(branch, 16 + 8, &second.to_le_bytes());
    });
    assert_finds(&report, Kind::MultipleReferences);
}

#[test]
fn inner_cycle() {
    let report = verdict(|raw| {
        let branches = raw.branches();
        let root = raw.root();
        raw.set(branches[1], 16 + 8, &root.to_le_bytes());
    });
    assert_finds(&report, Kind::MultipleReferences);
}

#[test]
fn branch_that_is_its_own_child() {
    let report = verdict(|raw| {
        let root = raw.root();
        raw.set(root, 16 + 8, &root.to_le_bytes());
    });
    assert_finds(&report, Kind::MultipleReferences);
}

#[test]
fn overflow_huge() {
    let report = verdict(|raw| raw.set(raw.leaves()[2], 12, &u32::MAX.to_le_bytes()));
    assert_finds_only(&report, Kind::OverflowOutOfBounds);
}

#[test]
fn overflow_into_a_neighbour() {
    let report = verdict(|raw| raw.set(raw.leaves()[2], 12, &1_u32.to_le_bytes()));
    assert_finds_only(&report, Kind::MultipleReferences);
}

#[test]
fn bad_pgid_self() {
    assert_finds_only(
        &verdict(|raw| raw.set(raw.leaves()[2], 0, &9999_u64.to_le_bytes())),
        Kind::PageId,
    );
}

#[test]
fn bad_flags() {
    assert_finds_only(
        &verdict(|raw| raw.set(raw.leaves()[2], 8, &0x42_u16.to_le_bytes())),
        Kind::PageType,
    );
}

#[test]
fn meta_as_leaf() {
    let report = verdict(|raw| raw.set(raw.branches()[0], 16 + 8, &1_u64.to_le_bytes()));
    assert_finds_only(&report, Kind::PageOutOfBounds);
    assert_finds_only(
        &verdict(|raw| raw.set(raw.leaves()[0], 8, &4_u16.to_le_bytes())),
        Kind::PageType,
    );
}

#[test]
fn child_oob() {
    for child in [0, u64::MAX, 1 << 40] {
        let report = verdict(|raw| raw.set(raw.branches()[0], 16 + 8, &child.to_le_bytes()));
        assert_finds_only(&report, Kind::PageOutOfBounds);
    }
}

#[test]
fn child_at_the_high_water_mark() {
    let report = verdict(|raw| raw.set(raw.branches()[0], 16 + 8, &raw.pages().to_le_bytes()));
    assert_finds_only(&report, Kind::PageOutOfBounds);
}

#[test]
fn cnt_plus() {
    let report = verdict(|raw| {
        let leaf = raw.leaves()[2];
        raw.set(leaf, 10, &(raw.u16(leaf, 10) + 1).to_le_bytes());
    });
    assert_finds_only(&report, Kind::ElementOutOfBounds);
    let report = verdict(|raw| raw.set(raw.leaves()[2], 10, &0xFFFF_u16.to_le_bytes()));
    assert_finds_only(&report, Kind::ElementOutOfBounds);
    let report = verdict(|raw| raw.set(raw.branches()[0], 10, &0xFFFF_u16.to_le_bytes()));
    assert_finds(&report, Kind::ElementOutOfBounds);
}

#[test]
fn trunc_last_page() {
    assert_finds(
        &verdict(|raw| raw.bytes.truncate(raw.bytes.len() - raw.page_bytes)),
        Kind::Truncated,
    );
}

#[test]
fn trunc_half() {
    assert_finds(
        &verdict(|raw| raw.bytes.truncate(raw.bytes.len() / 2)),
        Kind::Truncated,
    );
}

#[test]
fn both_meta_bad() {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::sample(dir.path());
    (0..2).for_each(|page| raw.set(page, 16 + 48, &[9; 8]));
    let path = raw.write(dir.path());
    assert_finds_only(&report(&path), Kind::MetaInvalid);
    let error = Db::open(&path).unwrap_err();
    assert!(
        matches!(error, Error::NoMeta { .. }) && error.to_string().contains("checksum"),
        "{error}"
    );
}

#[test]
fn no_bbolt_file_at_all() {
    let dir = tempfile::tempdir().unwrap();
    for bytes in [&b""[..], &[0; 100], &[0xff; 100_000]] {
        let path = dir.path().join("other");
        std::fs::write(&path, bytes).unwrap();
        assert_finds_only(&report(&path), Kind::MetaInvalid);
        assert_eq!(Db::open(&path).unwrap_err().code(), "CORRUPT");
    }
}

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
