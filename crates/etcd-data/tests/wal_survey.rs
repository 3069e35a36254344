//! What a WAL directory says, and how each kind of damage to it is called.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

mod fixture;

use std::fs;
use std::path::{Path, PathBuf};

use bbolt::{Cancel, Db};
use etcd_data::wal::{SurveyOptions, WalSurvey, repair, survey};
use fixture::ETCD_SETS;
use fixture::wal::{CLUSTER, MEMBER, WalBuilder, put_request, snap_file, unpack_member};

struct Case {
    dir: tempfile::TempDir,
    wal: WalBuilder,
    options: SurveyOptions,
}

impl Case {
    /// Three files; the database has applied up to 8 of 12 entries; a raft snapshot at 5.
    fn new() -> Self {
        let mut wal = WalBuilder::new();
        (1..=4).for_each(|index| wal.put(index, 1));
        wal.state(1, 4);
        wal.next_file(5);
        (5..=8).for_each(|index| wal.put(index, 2));
        wal.state(2, 8);
        wal.snapshot(5, 2);
        wal.next_file(9);
        (9..=12).for_each(|index| wal.put(index, 2));
        wal.state(2, 10);
        let case = Case {
            dir: tempfile::tempdir().unwrap(),
            wal,
            options: SurveyOptions {
                applied: 8,
                applied_term: Some(2),
                ..SurveyOptions::default()
            },
        };
        case.write();
        fs::write(case.snap(), snap_file(5, 2)).unwrap();
        case
    }

    fn write(&self) {
        self.wal.write(self.dir.path());
    }

    fn snap(&self) -> PathBuf {
        let name = "0000000000000002-0000000000000005.snap";
        self.dir.path().join("snap").join(name)
    }

    fn file(&self, sequence: usize) -> PathBuf {
        let (index, _) = self.wal.files[sequence];
        let name = format!("{sequence:016x}-{index:016x}.wal");
        self.dir.path().join("wal").join(name)
    }

    fn edit(&self, sequence: usize, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.file(sequence)).unwrap();
        change(&mut bytes);
        fs::write(self.file(sequence), bytes).unwrap();
    }

    fn survey(&self) -> WalSurvey {
        survey_of(self.dir.path(), &self.options)
    }

    fn problem(&self) -> String {
        self.survey().problems.join("; ")
    }
}

fn survey_of(member: &Path, options: &SurveyOptions) -> WalSurvey {
    let (wal, snap) = (member.join("wal"), member.join("snap"));
    survey(&wal, &snap, options, &Cancel::never()).unwrap()
}

#[test]
fn a_sound_log_is_read_from_its_snapshot() {
    let found = Case::new().survey();
    assert_eq!(found.problems, [""; 0]);
    assert_eq!(found.torn, None);
    assert_eq!(found.metadata.unwrap().member_id, MEMBER);
    assert_eq!(found.metadata.unwrap().cluster_id, CLUSTER);
    assert_eq!(
        (found.start.index, found.last_index, found.last_term),
        (5, 12, 2)
    );
    let beyond = found.beyond;
    assert_eq!(
        (
            beyond.entries,
            beyond.least,
            beyond.least_committed,
            beyond.most
        ),
        (4, 4, 2, 4)
    );
}

#[test]
fn the_logs_of_stopped_etcds_are_sound() {
    for set in ETCD_SETS {
        let dir = tempfile::tempdir().unwrap();
        let member = unpack_member(set, dir.path());
        let db = Db::open(member.join("snap/db")).unwrap();
        let info = etcd_data::inspect(&db, &Cancel::never()).unwrap();
        let options = SurveyOptions {
            applied: info.consistent_index.unwrap(),
            applied_term: info.term,
            guarded: true,
            minor: set
                .strip_prefix("etcd-3.")
                .map(|minor| minor.parse().unwrap()),
        };
        let found = survey_of(&member, &options);
        assert_eq!(found.problems, [""; 0], "{set}");
        assert!(found.last_index >= options.applied, "{set}");
        assert!(found.start.index > 1_000, "{set}: {:?}", found.start);
        assert_eq!(found.snap_file.is_some(), set != "etcd-3.7");
        assert_eq!(
            found.metadata.unwrap().member_id,
            info.members[0].id,
            "{set}"
        );
        assert_eq!(found.beyond.most, 0, "{set}: stopped in order");
    }
}

#[test]
fn an_overwritten_tail_counts_once() {
    let mut case = Case::new();
    case.wal.put(11, 3);
    case.write();
    let found = case.survey();
    assert_eq!(
        (found.last_index, found.last_term, found.beyond.entries),
        (11, 3, 3)
    );
}

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

#[test]
fn missing_files_are_named() {
    let case = Case::new();
    fs::remove_file(case.file(1)).unwrap();
    let problem = case.problem();
    assert!(problem.contains("crc is wrong"), "the chain: {problem}");

    let case = Case::new();
    fs::remove_file(case.file(0)).unwrap();
    fs::remove_file(case.file(1)).unwrap();
    let problem = case.problem();
    assert!(
        problem.contains("no WAL file begins at or before raft index"),
        "{problem}"
    );

    let case = Case::new();
    fs::remove_file(case.file(2)).unwrap();
    assert_eq!(case.problem(), "", "the database has all that is left");
    let case = Case {
        options: SurveyOptions {
            applied: 12,
            ..SurveyOptions::default()
        },
        ..Case::new()
    };
    fs::remove_file(case.file(2)).unwrap();
    let problem = case.problem();
    assert!(
        problem.contains("has applied raft entry 12, the WAL ends at 8"),
        "{problem}"
    );
}

#[test]
fn without_its_snapshot_file_a_log_begins_at_the_beginning() {
    let case = Case::new();
    fs::remove_file(case.snap()).unwrap();
    let found = case.survey();
    assert_eq!((found.start.index, found.last_index), (0, 12));
    assert_eq!(found.problems, [""; 0]);
    fs::remove_file(case.file(0)).unwrap();
    let problem = case.problem();
    assert!(problem.contains("no WAL file begins"), "{problem}");
    // 3.7 reads no such file.
    let options = SurveyOptions {
        minor: Some(7),
        ..case.options.clone()
    };
    assert_eq!(survey_of(case.dir.path(), &options).problems, [""; 0]);
}

#[test]
fn a_damaged_snapshot_file_is_set_aside() {
    let case = Case::new();
    let mut bytes = fs::read(case.snap()).unwrap();
    bytes[12] ^= 1;
    fs::write(case.snap(), bytes).unwrap();
    let found = case.survey();
    assert_eq!(found.start.index, 0);
    assert!(
        found.warnings[0].contains("its crc is wrong"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn a_database_older_than_the_snapshot_is_called_so() {
    let mut case = Case::new();
    case.options.applied = 4;
    case.options.applied_term = None;
    let problem = case.problem();
    assert!(
        problem.contains("stands at raft index 4, the raft snapshot at 5"),
        "{problem}"
    );
    fs::write(case.dir.path().join("snap/0000000000000005.snap.db"), b"x").unwrap();
    let found = case.survey();
    assert_eq!(found.problems, [""; 0]);
    assert_eq!(found.snap_db.unwrap(), "0000000000000005.snap.db");
}

#[test]
fn a_database_of_another_history_is_called_so() {
    let mut case = Case::new();
    case.options.applied_term = Some(7);
    let problem = case.problem();
    assert!(problem.contains("different histories"), "{problem}");
}

#[test]
fn committed_entries_that_are_missing_are_counted() {
    let mut case = Case::new();
    case.wal.state(2, 20);
    case.write();
    let problem = case.problem();
    assert!(
        problem.contains("raft entries 13 to 20 are missing"),
        "{problem}"
    );
}

#[test]
fn a_log_with_a_hole_is_refused() {
    let mut case = Case::new();
    case.wal.put(15, 2);
    case.write();
    let problem = case.problem();
    assert!(
        problem.contains("raft entries 13 to 14 are missing"),
        "{problem}"
    );
}

#[test]
fn files_of_two_members_are_not_mixed() {
    let mut case = Case::new();
    case.wal.record(1, b"\x08\x05\x10\x06");
    case.write();
    let problem = case.problem();
    assert!(problem.contains("different members"), "{problem}");
}

#[test]
fn auth_or_an_alarm_takes_the_lower_bound_away() {
    let mut case = Case::new();
    case.options.guarded = true;
    let beyond = case.survey().beyond;
    assert_eq!((beyond.least, beyond.most), (0, 4));
}

#[test]
fn records_of_ten_mib_are_too_long_for_3_4() {
    let mut case = Case::new();
    case.wal.entry(13, 2, &put_request(10 << 20));
    case.write();
    assert_eq!(case.problem(), "");
    case.options.minor = Some(4);
    assert!(
        case.problem().contains("takes less than"),
        "{}",
        case.problem()
    );
}
