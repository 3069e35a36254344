//! First reading, over all files: crc chain, raft state, and the snapshots that etcd may begin with.

use bbolt::Cancel;

use crate::error::Result;
use crate::wal::decoder::{Decoder, Step};
use crate::wal::frame::{ENTRY, METADATA, Record, SNAPSHOT, STATE};
use crate::wal::message::{Entry, HardState, SnapshotMark, WalMetadata};
use crate::wal::names::WalFile;
use crate::wal::survey::{WalSurvey, as_problem};

/// Most raft snapshots of one log; etcd keeps five files, of 10,000 entries or more.
const MAX_MARKS: usize = 1 << 20;
/// Bytes of records between two looks at the cancel flag; a record counts at least [`RECORD_COST_BYTES`].
pub(super) const CANCEL_POLL_BYTES: usize = 8 << 20;
pub(super) const RECORD_COST_BYTES: usize = 256;

/// Returns (index, term) of the snapshots that are committed, in the order of the log.
pub(super) fn read(
    found: &mut WalSurvey,
    max_record_bytes: Option<u64>,
    cancel: &Cancel,
) -> Result<Vec<(u64, u64)>> {
    let files = std::mem::take(&mut found.files);
    let mut decoder = Decoder::new(&files, max_record_bytes);
    let mut beginning = Beginning::of(&files);
    let mut marks = Vec::new();
    let mut unpolled = CANCEL_POLL_BYTES;
    let problem = loop {
        let record = match decoder.step() {
            Ok(Step::Record(record)) => record,
            Ok(Step::End) => break None,
            Ok(Step::Torn(torn)) => {
                let problem = (!torn.in_last_file).then(|| {
                    format!(
                        "WAL file {}: at offset {}: {}, and it is not the last file",
                        torn.file, torn.offset, torn.what
                    )
                });
                found.torn = torn.in_last_file.then_some(torn);
                break problem;
            }
            Err(error) => break Some(as_problem(error)?),
        };
        unpolled = unpolled.saturating_add(record.data.len().max(RECORD_COST_BYTES));
        if unpolled >= CANCEL_POLL_BYTES {
            cancel.check()?;
            unpolled = 0;
        }
        found.records = found.records.saturating_add(1);
        beginning.take(&record);
        if let Err(problem) = take(found, &mut marks, &record) {
            break Some(problem);
        }
    };
    found.begun_by_restore = beginning.by_restore;
    drop(decoder);
    found.files = files;
    found.problems.extend(problem);
    let commit = found.state.map_or(0, |state| state.commit);
    marks.retain(|&(index, _)| index <= commit);
    Ok(marks)
}

/// A restore writes the members and at once the mark of a snapshot behind them; a new etcd goes on with requests.
struct Beginning {
    by_restore: Option<bool>,
    is_over: bool,
}

impl Beginning {
    fn of(files: &[WalFile]) -> Self {
        let is_there = files.first().is_some_and(|file| file.sequence == 0);
        Beginning {
            by_restore: is_there.then_some(false),
            is_over: !is_there,
        }
    }

    fn take(&mut self, record: &Record<'_>) {
        if self.is_over {
            return;
        }
        match record.kind {
            ENTRY => self.is_over = Entry::decode(record.data).is_ok_and(|entry| entry.kind == 0),
            SNAPSHOT if SnapshotMark::decode(record.data).is_ok_and(|mark| mark.index > 0) => {
                self.by_restore = Some(true);
                self.is_over = true;
            }
            _ => {}
        }
    }
}

fn take(
    found: &mut WalSurvey,
    marks: &mut Vec<(u64, u64)>,
    record: &Record<'_>,
) -> Result<(), String> {
    let no = |what: &str| format!("a WAL record is no {what}");
    match record.kind {
        METADATA if found.metadata.is_none() => {
            let metadata = WalMetadata::decode(record.data).map_err(|_| no("metadata"))?;
            found.metadata = Some(metadata);
        }
        STATE => {
            found.state = Some(HardState::decode(record.data).map_err(|_| no("raft state"))?);
        }
        SNAPSHOT => {
            let mark = SnapshotMark::decode(record.data).map_err(|_| no("snapshot mark"))?;
            if marks.len() >= MAX_MARKS {
                return Err(format!("more than {MAX_MARKS} raft snapshots"));
            }
            marks.push((mark.index, mark.term));
            if mark.conf_state.is_some() {
                found.conf_state = mark.conf_state;
            }
        }
        _ => {}
    }
    Ok(())
}
