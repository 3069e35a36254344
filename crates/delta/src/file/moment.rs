//! Where in a delta a moment lies, and what a revision of it holds: both for a delta of either format.

use crate::ebd::EbdBlocks;
use crate::error::{Error, InFile, Result};
use crate::file::{DeltaFile, Format, LastEvent, Source};
use bbolt::Cancel;
use std::path::Path;

/// Up to where a delta had arrived at a moment.
///
/// Events count in the order of their revisions, and the first that arrived later ends what had: a revision is within
/// only when all of it and all before it arrived at or before the moment. So where the clock was set back between two
/// events, less is taken, never a later event without an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// First main revision of the delta.
    pub first_revision: i64,
    /// Last main revision of the delta.
    pub last_revision: i64,
    /// The last whole main revision that had arrived, and when its last event did, Unix milliseconds; `None` when the
    /// first one had not.
    pub reached: Option<(i64, i64)>,
    /// Arrival of the first event that was still to come; `None` when all had arrived.
    pub next_ms: Option<i64>,
    /// The farthest that the clock was set back between two events up to there, milliseconds.
    pub set_back_ms: i64,
}

/// Reads the delta through, and checks it, to find what had arrived at `time_ms`. Polls `cancel` at every block.
pub fn moment_of(path: &Path, time_ms: i64, cancel: &Cancel) -> Result<Moment> {
    moment_inner(path, time_ms, cancel).in_file("find a time in", path)
}

fn moment_inner(path: &Path, time_ms: i64, cancel: &Cancel) -> Result<Moment> {
    let mut source = Source::open(path, DeltaFile::open(path)?.format())?;
    let mut found = Search::default();
    source.for_each(cancel, |event| {
        found.step(event.change.kv.mod_revision, event.arrived_ms, time_ms);
        Ok(())
    })?;
    Ok(Moment {
        first_revision: found.first.unwrap_or_default(),
        last_revision: found.last.map_or(0, |(main, _)| main),
        reached: if found.next_ms.is_some() {
            found.whole
        } else {
            found.last
        },
        next_ms: found.next_ms,
        set_back_ms: found.set_back_ms,
    })
}

#[derive(Default)]
struct Search {
    first: Option<i64>,
    /// The revision of the last event, and its arrival.
    last: Option<(i64, i64)>,
    /// The last revision that ended before the first late event.
    whole: Option<(i64, i64)>,
    next_ms: Option<i64>,
    set_back_ms: i64,
}

impl Search {
    fn step(&mut self, main: i64, arrived_ms: i64, time_ms: i64) {
        self.first.get_or_insert(main);
        if self.next_ms.is_none() {
            if self.last.is_some_and(|(last, _)| last != main) {
                self.whole = self.last;
            }
            if arrived_ms > time_ms {
                self.next_ms = Some(arrived_ms);
            }
            if let Some((_, before)) = self.last {
                self.set_back_ms = self.set_back_ms.max(before.saturating_sub(arrived_ms));
            }
        }
        self.last = Some((main, arrived_ms));
    }
}

/// The last event of main revision `main`; `None` when the delta holds none of it.
///
/// Of an `.ebd` only the blocks that hold the revision are read; JSON is read through.
pub fn event_at(path: &Path, main: i64, cancel: &Cancel) -> Result<Option<LastEvent>> {
    let format = DeltaFile::open(path)?.format();
    match format {
        Format::Ebd => event_of_ebd(path, main, cancel),
        Format::Json(_) => event_of_json(path, format, main, cancel),
    }
    .in_file("read a revision of", path)
}

fn event_of_ebd(path: &Path, main: i64, cancel: &Cancel) -> Result<Option<LastEvent>> {
    let mut blocks = EbdBlocks::open(path)?;
    // Revisions ascend, so the last block that begins at or below it ends with its last event, or holds it.
    let Some(place) = blocks
        .index()
        .partition_point(|entry| entry.first_revision <= main)
        .checked_sub(1)
    else {
        return Ok(None);
    };
    cancel.check()?;
    let mut found = None;
    blocks.for_each(place, |event| -> Result<(), Error> {
        if event.change.kv.mod_revision == main {
            found = Some(LastEvent::of(&event.change, event.sub, event.arrived_ms));
        }
        Ok(())
    })?;
    Ok(found)
}

fn event_of_json(
    path: &Path,
    format: Format,
    main: i64,
    cancel: &Cancel,
) -> Result<Option<LastEvent>> {
    let mut source = Source::open(path, format)?;
    let mut found = None;
    source.for_each(cancel, |event| {
        if event.change.kv.mod_revision == main {
            found = Some(LastEvent::of(event.change, event.sub, event.arrived_ms));
        }
        Ok(())
    })?;
    Ok(found)
}
