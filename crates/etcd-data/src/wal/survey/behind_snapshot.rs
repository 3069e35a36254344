//! Second reading, from the file in which the snapshot lies: the entries that etcd would have, and whether they fit
//! the snapshot, the raft state and the database.

use bbolt::Cancel;

use crate::error::Result;
use crate::wal::decoder::{Decoder, Step};
use crate::wal::frame::{CRC, ENTRY, METADATA, Record, SNAPSHOT, STATE};
use crate::wal::log::Log;
use crate::wal::message::{Entry, SnapshotMark};
use crate::wal::names::WalFile;
use crate::wal::survey::whole::{CANCEL_POLL_BYTES, RECORD_COST_BYTES};
use crate::wal::survey::{SurveyOptions, WalSurvey, as_problem};

pub(super) fn read(
    found: &mut WalSurvey,
    files: &[WalFile],
    options: &SurveyOptions,
    max_record_bytes: Option<u64>,
    cancel: &Cancel,
) -> Result<()> {
    let SnapshotMark { index, term, .. } = found.start;
    let mut reading = Reading {
        start: (index, term),
        log: Log::new(index, term, options.applied, options.guarded),
        metadata: None,
        knows_start: false,
    };
    let mut decoder = Decoder::new(files, max_record_bytes);
    let mut unpolled = 0usize;
    loop {
        let record = match decoder.step() {
            Ok(Step::Record(record)) => record,
            // Damage and torn ends were found by the first reading.
            Ok(_) => break,
            Err(error) => {
                as_problem(error)?;
                break;
            }
        };
        unpolled = unpolled.saturating_add(record.data.len().max(RECORD_COST_BYTES));
        if unpolled >= CANCEL_POLL_BYTES {
            cancel.check()?;
            unpolled = 0;
        }
        if let Err(problem) = reading.take(&record)? {
            found.problems.push(problem);
            break;
        }
    }
    reading.conclude(found, options);
    Ok(())
}

struct Reading {
    start: (u64, u64),
    log: Log,
    metadata: Option<Vec<u8>>,
    knows_start: bool,
}

impl Reading {
    fn take(&mut self, record: &Record<'_>) -> Result<std::result::Result<(), String>> {
        Ok(match record.kind {
            ENTRY => match Entry::decode(record.data) {
                Ok(entry) => return self.log.take(&entry),
                Err(reason) => Err(format!("a WAL record is no raft entry: {reason}")),
            },
            METADATA => self.take_metadata(record.data),
            SNAPSHOT => self.take_mark(record.data),
            STATE | CRC => Ok(()),
            other => Err(format!("a WAL record has the unknown type {other}")),
        })
    }

    fn take_metadata(&mut self, data: &[u8]) -> std::result::Result<(), String> {
        match &self.metadata {
            Some(first) if first != data => {
                Err("WAL files of different members or clusters are mixed".to_owned())
            }
            _ => {
                self.metadata = Some(data.to_vec());
                Ok(())
            }
        }
    }

    fn take_mark(&mut self, data: &[u8]) -> std::result::Result<(), String> {
        let Ok(SnapshotMark { index, term, .. }) = SnapshotMark::decode(data) else {
            return Err("a WAL record is no snapshot mark".to_owned());
        };
        if index == self.start.0 {
            if term != self.start.1 {
                return Err(format!(
                    "the raft snapshot at index {index} is of term {}, the WAL has it with term {term}",
                    self.start.1
                ));
            }
            self.knows_start = true;
        }
        Ok(())
    }

    fn conclude(self, found: &mut WalSurvey, options: &SurveyOptions) {
        let commit = found.state.map_or(0, |state| state.commit);
        let last = self.log.last_index();
        found.last_index = last;
        found.last_term = self.log.last_term();
        found.beyond = self.log.beyond(commit);
        let begun_by_restore = found.begun_by_restore;
        let mut add = |problem: String| found.problems.push(problem);
        if found
            .metadata
            .is_none_or(|metadata| metadata.member_id == 0)
        {
            add("no WAL record names the member".to_owned());
        }
        if !self.knows_start {
            let (index, term) = self.start;
            add(format!(
                "the WAL has no mark of the raft snapshot at index {index}, term {term}"
            ));
        }
        if commit > last {
            add(format!(
                "raft entries {} to {commit} are missing: they are committed and the WAL ends before them",
                last.saturating_add(1)
            ));
        }
        if options.applied > last {
            add(format!(
                "the database has applied raft entry {}, the WAL ends at {last}: it is an older one; etcd would start and silently drop the next {} writes",
                options.applied,
                options.applied - last
            ));
        }
        let made = u64::try_from(options.revision.saturating_sub(1)).unwrap_or(0);
        if made > options.applied && begun_by_restore == Some(false) {
            add(format!(
                "the database is at revision {} and raft index {}: it was restored from a backup, and this WAL is not the one that the restore wrote",
                options.revision, options.applied
            ));
        }
        if let (Some(expected), Some(term)) =
            (options.applied_term, self.log.term_of(options.applied))
            && expected != term
        {
            add(format!(
                "raft entry {} has term {term} in the WAL and term {expected} in the database: they are of different histories",
                options.applied
            ));
        }
    }
}
