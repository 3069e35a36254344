//! Damaged files, one by one, and the kind of finding that each must give. Most of them kill bbolt's own tools.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

mod files;

use bbolt::check::FindingKind as Kind;
use bbolt::{Db, Error};
use files::verdict::{assert_finds, assert_finds_only, assert_ok, report, verdict};
use files::{Raw, key, sample};

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
