//! A write that a crash tore is told from damage as etcd tells it, and only that is cut off.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

mod fixture;

use std::fs;

use etcd_data::wal::repair;
use fixture::wal::{Case, put_request};

#[test]
fn a_changed_byte_in_any_file_is_damage() {
    for sequence in 0..3 {
        let case = Case::new();
        // In the first entry: behind crc and metadata.
        case.edit(sequence, |bytes| bytes[80] ^= 1);
        let problem = case.problem();
        assert!(
            problem.contains("crc is wrong") || problem.contains("is no record"),
            "{problem}"
        );
        assert!(problem.contains(&format!("{sequence:016x}-")), "{problem}");
    }
}

#[test]
fn a_file_cut_short_is_torn_only_when_it_is_the_last() {
    let case = Case::new();
    let used = case.wal.offset();
    case.edit(2, |bytes| bytes.truncate(used - 30));
    let found = case.survey();
    assert_eq!(found.problems, [""; 0]);
    assert!(found.torn.unwrap().in_last_file);

    let case = Case::new();
    let used = case.wal.files[1].1.len();
    case.edit(1, |bytes| bytes.truncate(used - 5));
    let found = case.survey();
    assert_eq!(found.torn, None);
    assert!(
        found.problems[0].contains("not the last file"),
        "{:?}",
        found.problems
    );
}

#[test]
fn an_unwritten_sector_is_torn_and_half_a_sector_is_damage() {
    let mut case = Case::new();
    let at = case.wal.offset();
    case.wal.entry(13, 2, &put_request(3000));
    case.write();
    let sector = (at + 1024).next_multiple_of(512);
    case.edit(2, |bytes| bytes[sector..sector + 512].fill(0));
    let torn = case.survey().torn.unwrap();
    assert_eq!(torn.offset as usize, at);

    case.write();
    case.edit(2, |bytes| bytes[sector..sector + 511].fill(0));
    assert_eq!(case.survey().torn, None);
    assert!(case.problem().contains("crc is wrong"));
}

#[test]
fn repair_cuts_the_tail_and_keeps_a_copy_of_every_try() {
    let mut case = Case::new();
    let at = case.wal.offset();
    case.wal.put(13, 2);
    case.write();
    let wal_dir = case.dir.path().join("wal");
    assert_eq!(repair(&wal_dir, None).unwrap(), None, "nothing is torn");
    for number in 1..=2 {
        case.edit(2, |bytes| {
            bytes.truncate(at);
            bytes.extend_from_slice(&[0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
        });
        let broken = fs::read(case.file(2)).unwrap();
        let repaired = repair(&wal_dir, None).unwrap().unwrap();
        assert_eq!((repaired.kept_bytes as usize, repaired.cut_bytes), (at, 11));
        assert_eq!(fs::read(&repaired.broken_copy).unwrap(), broken);
        let name = repaired.broken_copy.to_string_lossy().into_owned();
        assert!(
            name.ends_with(if number == 1 {
                ".wal.broken"
            } else {
                ".wal.broken-2"
            }),
            "{name}"
        );
        let found = case.survey();
        assert_eq!((found.torn, found.last_index), (None, 12));
        assert_eq!(found.warnings.len(), number, "{:?}", found.warnings);
    }
}

#[test]
fn damage_is_never_repaired() {
    let case = Case::new();
    case.edit(2, |bytes| bytes[80] ^= 1);
    let before = fs::read(case.file(2)).unwrap();
    let error = repair(&case.dir.path().join("wal"), None).unwrap_err();
    assert_eq!(error.code(), "CHECKSUM");
    assert_eq!(fs::read(case.file(2)).unwrap(), before);
}
