//! The proof after a replay: every record above the base is, byte for byte, the one that the deltas say.
//!
//! The replay takes a [`RecordDigest`] over the records it expects and notes it at checkpoints; here the same digest is
//! taken over the file. The first checkpoint that differs bounds the place of the fault.

use bbolt::{Cancel, Db};

use crate::error::{Error, Result};
use crate::record_digest::RecordDigest;
use crate::records::{Walk, for_each_record};
use crate::revision::Revision;

/// Digest over all records above the base up to and with `revision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Main revision that it ends with.
    pub revision: i64,
    /// [`RecordDigest::checkpoint`].
    pub sha256: [u8; 32],
}

/// What the file holds above the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// Records compared.
    pub records: u64,
    /// Last main revision in the file; the base's when nothing is above it.
    pub last_revision: i64,
    /// Digest over all records above the base.
    pub sha256: [u8; 32],
}

/// Compares all records with main > `after`. Checkpoints ascend; the last one must be the file's last revision.
pub fn prove_records(
    db: &Db,
    after: i64,
    checkpoints: &[Checkpoint],
    cancel: &Cancel,
) -> Result<Proof> {
    let mut digest = RecordDigest::new();
    let mut last = after;
    let mut left = checkpoints.iter();
    let mut next = left.next();
    let mut proved = after;
    for_each_record(
        db,
        Some(Revision::new(after.saturating_add(1), 0)),
        cancel,
        |record| {
            let main = record.record_key()?.revision.main;
            if main != last {
                while let Some(checkpoint) = next.filter(|checkpoint| checkpoint.revision < main) {
                    compare(checkpoint, last, proved, &digest)?;
                    proved = checkpoint.revision;
                    next = left.next();
                }
                consecutive(last, main)?;
                last = main;
            }
            digest.update(record.key, record.value);
            Ok(Walk::On)
        },
    )?;
    while let Some(checkpoint) = next {
        compare(checkpoint, last, proved, &digest)?;
        proved = checkpoint.revision;
        next = left.next();
    }
    if last > proved {
        return Err(mismatch(format!(
            "the file goes on to revision {last}, its sources end at {proved}"
        )));
    }
    Ok(Proof {
        records: digest.records(),
        last_revision: last,
        sha256: digest.checkpoint(),
    })
}

/// Digest over all records of the file, whatever their revisions.
pub fn digest_records(db: &Db, cancel: &Cancel) -> Result<RecordDigest> {
    let mut digest = RecordDigest::new();
    for_each_record(db, None, cancel, |record| {
        digest.update(record.key, record.value);
        Ok(Walk::On)
    })?;
    Ok(digest)
}

/// `last` is the file's last main when the checkpoint is due.
fn compare(checkpoint: &Checkpoint, last: i64, proved: i64, digest: &RecordDigest) -> Result<()> {
    if checkpoint.revision != last {
        return Err(mismatch(format!(
            "revision {} of the sources is not in the file, which has {last} there",
            checkpoint.revision
        )));
    }
    if checkpoint.sha256 != digest.checkpoint() {
        return Err(mismatch(format!(
            "records of revisions {} to {last} differ from their sources",
            proved.saturating_add(1)
        )));
    }
    Ok(())
}

fn consecutive(last: i64, main: i64) -> Result<()> {
    let expected = last.saturating_add(1);
    if main == expected {
        return Ok(());
    }
    let before = main.saturating_sub(1);
    Err(Error::RevisionGap {
        what: format!("proof: revisions {expected} to {before} are missing in the result"),
    })
}

fn mismatch(what: String) -> Error {
    Error::Mismatch {
        what: format!("proof: {what}"),
    }
}
