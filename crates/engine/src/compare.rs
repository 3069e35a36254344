//! Whether base and deltas make what a later full holds, record by record.
//!
//! Both are read at once, in bucket order, up to R, the revision of the later full. What a compaction has removed from
//! either cannot be compared: so of the records at or below C, the higher of both compactions, only those count which a
//! compaction at C keeps, without tombstones at C itself, which some versions of etcd keep and others do not. These are
//! the records over which etcd computes HashKV at R and C: when all of them are equal, so are the hashes.
//!
//! Memory: the compaction's table, and 4 bytes for each of its survivors, for both sides.

use crate::compact::{Compaction, Survivors, find_survivors};
use crate::source::{OpenSource, Source};
use crate::{Error, Result};
use bbolt::{Cancel, Scan};
use etcd_data::records::{KEY_BUCKET, RawRecord};
use etcd_data::{KeyValueRef, RecordKey};
use std::path::Path;
use std::slice::Iter;

/// Of a key in a sentence.
const MAX_TOLD_KEY_BYTES: usize = 200;
/// Records between two reports of progress.
const PROGRESS_RECORDS: u64 = 4096;

/// What was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// R.
    pub revision: i64,
    /// C; -1 when neither was ever compacted.
    pub compact_revision: i64,
    /// Records that are equal.
    pub records: u64,
    /// The first one that is not.
    pub difference: Option<Difference>,
}

/// Where two histories part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Main revision.
    pub revision: i64,
    /// A sentence about the record.
    pub what: String,
}

/// Compares base and deltas with the later full's database `later`. REVISION_GAP when they do not reach its revision.
/// `progress` is told how many records have been read, over all passes. Own thread.
pub fn compare_with_later<P: AsRef<Path>>(
    base: &Path,
    deltas: &[P],
    later: &Path,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Comparison> {
    let alone: Source<'_, P> = Source {
        base: later,
        deltas: &[],
        until: None,
    };
    let later = alone.open()?;
    let revision = later.base_revision();
    let made = Source {
        base,
        deltas,
        until: Some(revision),
    }
    .open()?;
    let at = later.meta.removed_up_to().max(made.meta.removed_up_to());
    let kept_of_later = survivors(&later, at, cancel, &progress)?;
    let read = kept_of_later.records_read;
    let kept_of_made = survivors(&made, at, cancel, &|records| {
        progress(read.saturating_add(records));
    })?;
    let read = read.saturating_add(kept_of_made.records_read);
    let mut walk = Lockstep {
        later: Visible::of_later(&later, &kept_of_later)?,
        equal: 0,
        difference: None,
    };
    let mut places = Places::of(&kept_of_made);
    let mut seen = 0u64;
    let walked = made.for_each(cancel, |key, record| {
        seen = seen.saturating_add(1);
        if seen.is_multiple_of(PROGRESS_RECORDS) {
            progress(read.saturating_add(seen));
        }
        match places.is_visible() {
            true => walk.step(key, record),
            false => Ok(()),
        }
    });
    if walk.difference.is_none() {
        walked?;
        walk.end()?;
    }
    Ok(Comparison {
        revision,
        compact_revision: at,
        records: walk.equal,
        difference: walk.difference,
    })
}

fn survivors<P: AsRef<Path>>(
    source: &OpenSource<'_, P>,
    at: i64,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Survivors> {
    if at < 1 {
        return Ok(Survivors::default());
    }
    let compaction = Compaction {
        keeps_tombstones_at: false,
        ..Compaction::at(at)
    };
    find_survivors(source, &compaction, cancel, progress)
}

/// Which records of a run, by their places, are compared.
struct Places<'a> {
    kept: std::iter::Peekable<Iter<'a, u32>>,
    above: u64,
    place: u64,
}

impl<'a> Places<'a> {
    fn of(survivors: &'a Survivors) -> Self {
        Self {
            kept: survivors.places.iter().peekable(),
            above: survivors.above,
            place: 0,
        }
    }

    /// Of the next record.
    fn is_visible(&mut self) -> bool {
        let place = self.place;
        self.place = place.saturating_add(1);
        place >= self.above
            || self
                .kept
                .next_if(|kept| u64::from(**kept) == place)
                .is_some()
    }
}

/// The later full's records, one at a time.
struct Visible<'a> {
    scan: Option<Scan<'a>>,
    places: Places<'a>,
}

impl<'a> Visible<'a> {
    fn of_later<P>(later: &'a OpenSource<'_, P>, kept: &'a Survivors) -> Result<Self> {
        let bucket = later.base.bucket(KEY_BUCKET)?;
        Ok(Self {
            scan: bucket.map(|bucket| bucket.scan()).transpose()?,
            places: Places::of(kept),
        })
    }

    fn next(&mut self) -> Result<Option<RawRecord<'_>>> {
        let Some(scan) = self.scan.as_mut() else {
            return Ok(None);
        };
        // Twice the same read, since what is lent by one that may be passed over cannot be returned.
        while !self.places.is_visible() {
            if scan.next()?.is_none() {
                return Ok(None);
            }
        }
        let found = scan.next()?;
        Ok(found.map(|(key, value)| RawRecord { key, value }))
    }
}

struct Lockstep<'a> {
    later: Visible<'a>,
    equal: u64,
    difference: Option<Difference>,
}

impl Lockstep<'_> {
    /// Ends the walk with an error, which nobody sees, at the first difference.
    fn step(&mut self, key: RecordKey, made: RawRecord<'_>) -> Result<()> {
        let expected = self.later.next()?;
        if expected.is_some_and(|later| later.key == made.key && later.value == made.value) {
            self.equal = self.equal.saturating_add(1);
            return Ok(());
        }
        self.difference = Some(difference(key, made, expected)?);
        Err(Error::Unsupported("the records differ".to_owned()))
    }

    /// Nothing more may be in the later full.
    fn end(&mut self) -> Result<()> {
        if let Some(record) = self.later.next()? {
            self.difference = Some(only_in("the later full", "base and deltas", record)?);
        }
        Ok(())
    }
}

fn difference(
    key: RecordKey,
    made: RawRecord<'_>,
    later: Option<RawRecord<'_>>,
) -> Result<Difference> {
    match later {
        Some(later) if later.key < made.key => only_in("the later full", "base and deltas", later),
        Some(later) if later.key == made.key => Ok(Difference {
            revision: key.revision.main,
            what: format!(
                "{} is {} bytes by base and deltas and {} other ones in the later full",
                told(key, made),
                made.value.len(),
                later.value.len()
            ),
        }),
        _ => only_in("base and deltas", "the later full", made),
    }
}

fn only_in(here: &str, there: &str, record: RawRecord<'_>) -> Result<Difference> {
    let key = record.record_key()?;
    Ok(Difference {
        revision: key.revision.main,
        what: format!("{} is in {here} and not in {there}", told(key, record)),
    })
}

fn told(key: RecordKey, record: RawRecord<'_>) -> String {
    let what = if key.tombstone { "deletion" } else { "record" };
    let user_key = KeyValueRef::decode(record.value).map_or_else(
        |_| "a key that cannot be read".to_owned(),
        |pair| {
            let shown = pair.key.get(..MAX_TOLD_KEY_BYTES).unwrap_or(pair.key);
            format!("\"{}\"", shown.escape_ascii())
        },
    );
    format!("{what} {} of {user_key}", key.revision)
}
