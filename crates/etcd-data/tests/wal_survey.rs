//! What a WAL directory says, and how each kind of damage to it is called.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

mod fixture;

use std::fs;

use bbolt::{Cancel, Db};
use etcd_data::wal::SurveyOptions;
use fixture::ETCD_SETS;
use fixture::wal::{CLUSTER, Case, MEMBER, WalBuilder, put_request, survey_of, unpack_member};

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
            revision: info.revision,
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
fn hazard_29_a_restored_database_beside_an_old_log_is_called_so() {
    let mut case = Case::new();
    fs::remove_file(case.snap()).unwrap();
    case.options = SurveyOptions {
        applied: 1,
        applied_term: Some(1),
        revision: 500,
        ..SurveyOptions::default()
    };
    let problem = case.problem();
    assert!(
        problem.contains("not the one that the restore wrote"),
        "{problem}"
    );

    let mut own = WalBuilder::new();
    own.record(2, b"\x08\x01\x10\x01\x18\x01\x22\x00");
    own.state(1, 1);
    own.snapshot(1, 1);
    own.put(2, 2);
    case.wal = own;
    case.write();
    assert_eq!(case.problem(), "");
    assert_eq!(case.survey().begun_by_restore, Some(true));
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
