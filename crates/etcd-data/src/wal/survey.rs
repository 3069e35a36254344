//! What etcd would make of a WAL directory.

use std::path::Path;

use bbolt::Cancel;

use crate::error::{Error, Result};
use crate::wal::decoder::{Torn, max_record_bytes};
use crate::wal::ledger::Beyond;
use crate::wal::message::{ConfState, HardState, SnapshotMark, WalMetadata};
use crate::wal::names::{WalFile, files_from, list_wal};
use crate::wal::snap_file::{list_snap_files, read_snap_file, snap_db_name};

mod behind_snapshot;
mod whole;

/// What is known about the member from elsewhere.
#[derive(Debug, Clone, Default)]
pub struct SurveyOptions {
    /// Raft index up to which the database has applied the log: its `consistent_index`.
    pub applied: u64,
    /// Term of that entry as the database has it; not before 3.5.
    pub applied_term: Option<u64>,
    /// The database's revision. An entry makes one at most: more of them than entries come from a restore.
    pub revision: i64,
    /// Auth is on or an alarm is raised: any write behind the database may be refused.
    pub guarded: bool,
    /// Minor of the etcd 3 that wrote it; from 7 on it reads no snapshot files, and 4 has shorter records.
    pub minor: Option<u32>,
}

/// What etcd would make of it.
#[derive(Debug, Clone, Default)]
pub struct WalSurvey {
    /// Files of the log, in order.
    pub files: Vec<WalFile>,
    /// Member and cluster; `None` when no record says.
    pub metadata: Option<WalMetadata>,
    /// Raft's own state; `None` for a log without one.
    pub state: Option<HardState>,
    /// Whole records in all files.
    pub records: u64,
    /// The raft snapshot that etcd would begin with; index 0 is none.
    pub start: SnapshotMark,
    /// The log was begun by a restore, with the mark of a raft snapshot before any request; `None` when its first file is
    /// gone.
    pub begun_by_restore: Option<bool>,
    /// The file that holds it, where this etcd reads one.
    pub snap_file: Option<String>,
    /// Set when etcd would take this file, which its leader sent, in place of the database.
    pub snap_db: Option<String>,
    /// Members by the newest raft snapshot that names them; in logs of 3.4 only its file does.
    pub conf_state: Option<ConfState>,
    /// Last entry of the log; the snapshot's index when there is none behind it.
    pub last_index: u64,
    /// Its term.
    pub last_term: u64,
    /// Entries that the database has not applied.
    pub beyond: Beyond,
    /// Set when the log ends in a record that was not written whole. In the last file etcd cuts it off at boot.
    pub torn: Option<Torn>,
    /// Each would keep etcd from starting, or from having all that was written.
    pub problems: Vec<String>,
    /// Odd, but harmless.
    pub warnings: Vec<String>,
}

/// Reads a WAL directory and the raft snapshots of `snap_dir`. `Err` only for what the system refuses, what is beyond
/// a bound, and for cancellation: damage is a finding.
pub fn survey(
    wal_dir: &Path,
    snap_dir: &Path,
    options: &SurveyOptions,
    cancel: &Cancel,
) -> Result<WalSurvey> {
    let names = list_wal(wal_dir)?;
    let mut found = WalSurvey::default();
    for name in names.strange {
        found.warnings.push(format!("{name} is no WAL file"));
    }
    found.files = names.files;
    if found.files.is_empty() {
        found.problems.push("there is no WAL file".to_owned());
        return Ok(found);
    }
    let limit = max_record_bytes(options.minor);
    let marks = whole::read(&mut found, limit, cancel)?;
    choose_start(&mut found, &marks, snap_dir, options)?;
    if found.conf_state.is_none() {
        found.conf_state.clone_from(&found.start.conf_state);
    }
    check_snapshot_db(&mut found, snap_dir, options);
    match files_from(&found.files, found.start.index) {
        Err(reason) => found.problems.push(reason),
        Ok(files) => {
            let files = files.to_vec();
            behind_snapshot::read(&mut found, &files, options, limit, cancel)?;
        }
    }
    Ok(found)
}

/// The newest snapshot that the log knows, that is committed, and (up to 3.6) whose file is sound.
fn choose_start(
    found: &mut WalSurvey,
    marks: &[(u64, u64)],
    snap_dir: &Path,
    options: &SurveyOptions,
) -> Result<()> {
    if options.minor.is_some_and(|minor| minor >= 7) {
        if let Some(&(index, term)) = marks.last() {
            found.start = SnapshotMark {
                index,
                term,
                conf_state: None,
            };
        }
        return Ok(());
    }
    for name in list_snap_files(snap_dir)? {
        match read_snap_file(&snap_dir.join(&name))? {
            Err(wrong) => found
                .warnings
                .push(format!("{name}: {wrong}; etcd sets it aside")),
            Ok(mark) if marks.contains(&(mark.index, mark.term)) => {
                found.start = mark;
                found.snap_file = Some(name);
                return Ok(());
            }
            Ok(_) => found
                .warnings
                .push(format!("{name}: the WAL does not know it as committed")),
        }
    }
    if marks.iter().any(|&(index, _)| index > 0) {
        found.warnings.push(
            "no raft snapshot file fits the WAL: etcd up to 3.6 has to take the whole log again"
                .to_owned(),
        );
    }
    Ok(())
}

/// The database must have reached the snapshot, or the one that came with it must be there.
fn check_snapshot_db(found: &mut WalSurvey, snap_dir: &Path, options: &SurveyOptions) {
    let index = found.start.index;
    if index <= options.applied {
        return;
    }
    let name = snap_db_name(index);
    if snap_dir.join(&name).is_file() {
        found.snap_db = Some(name);
    } else {
        found.problems.push(format!(
            "the database stands at raft index {}, the raft snapshot at {index}: it is an older one, and {name} is not there",
            options.applied
        ));
    }
}

/// Damage becomes a finding; the rest stays an error.
fn as_problem(error: Error) -> Result<String> {
    match error {
        Error::Checksum { what } | Error::Corrupt { what } => Ok(what),
        other => Err(other),
    }
}
